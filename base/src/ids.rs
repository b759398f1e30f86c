//! Typed ids: two numbers of different meaning never mix.

use std::fmt;

/// Names a call for its whole life, on every connection it travels over. Chosen by the caller at random, so that a
/// call can be resumed on another connection (spec/wire.md, "Call ids").
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(pub [u8; 16]);

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "call {self}")
    }
}

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident($inner:ty), $word:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($word, " {}"), self.0)
            }
        }
    };
}

number_id!(
    /// A call's or request's number on one connection; 0 is the connection itself.
    ChannelId(u32),
    "channel"
);
number_id!(
    /// A connection of this process.
    ConnectionId(u64),
    "connection"
);
number_id!(
    /// An executable that this node started or accepted.
    ExecutableId(u64),
    "executable"
);
number_id!(
    /// A piece of shared memory that two ends of one connection both map.
    SegmentId(u32),
    "segment"
);
