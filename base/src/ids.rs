//! Typed ids: two numbers of different meaning never mix.

use std::fmt;
use std::str::FromStr;

use crate::{Error, ErrorKind, Result, printable};

/// Names a call for its whole life, on every connection it travels over. Chosen by the caller at
/// random, so that a call can be resumed on another connection (spec/wire.md, "Call ids").
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(pub [u8; 16]);

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for CallId {
    type Err = Error;

    /// Reads what [`CallId`] shows: 32 hexadecimal digits.
    fn from_str(text: &str) -> Result<CallId> {
        let wrong = || {
            Error::new(
                ErrorKind::InvalidArgument,
                "read a call's id",
                format!("\"{}\" is not an id", printable(text)),
            )
            .fix("pass the 32 hexadecimal digits that `farcall kept` shows")
        };
        let is_hex = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u128::from_str_radix(text, 16).ok().filter(|_| is_hex).ok_or_else(wrong)?;
        Ok(CallId(number.to_be_bytes()))
    }
}

impl fmt::Debug for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "call {self}")
    }
}

/// Names data: a value that stays at a server. Chosen at random by the opener of the call that makes
/// it, so that later calls can name it before it is there (spec/wire.md, "Data"). No call has the
/// id of data.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DataId(pub [u8; 16]);

impl DataId {
    /// The id under which a Resume takes it up.
    pub fn as_call(self) -> CallId {
        CallId(self.0)
    }
}

impl fmt::Display for DataId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for DataId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "data {self}")
    }
}

/// As [`DataId`] is shown: 32 hexadecimal digits.
impl FromStr for DataId {
    type Err = Error;

    fn from_str(text: &str) -> Result<DataId> {
        text.parse().map(|CallId(id)| DataId(id)).map_err(|error: Error| {
            Error::new(ErrorKind::InvalidArgument, "read an id of data", error.message().to_owned())
                .fix("pass the 32 hexadecimal digits that `farcall data` shows")
        })
    }
}

/// Names a transaction. Chosen at random by the client that begins it (spec/wire.md, "Transactions").
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TransactionId(pub [u8; 16]);

impl fmt::Display for TransactionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for TransactionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "transaction {self}")
    }
}

/// As [`TransactionId`] is shown: 32 hexadecimal digits.
impl FromStr for TransactionId {
    type Err = Error;

    fn from_str(text: &str) -> Result<TransactionId> {
        text.parse().map(|CallId(id)| TransactionId(id)).map_err(|error: Error| {
            let message = error.message().to_owned();
            Error::new(ErrorKind::InvalidArgument, "read a transaction's id", message)
                .fix("pass the 32 hexadecimal digits that `farcall transactions` shows")
        })
    }
}

/// Names a held executable: an object, or one of an array of function handles. Twelve bytes that
/// whoever holds it has chosen at random, then its index among those that were asked for together,
/// little-endian.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId(pub [u8; 16]);

impl ObjectId {
    /// The first of those whose ids begin with these bytes.
    pub fn first(random: [u8; 12]) -> ObjectId {
        let mut id = [0; 16];
        id[..12].copy_from_slice(&random);
        ObjectId(id)
    }

    /// Its index.
    pub fn index(self) -> u32 {
        let [.., a, b, c, d] = self.0;
        u32::from_le_bytes([a, b, c, d])
    }

    /// The one so many behind this one, if indexes go so far.
    pub fn after(self, steps: u32) -> Option<ObjectId> {
        let mut id = self;
        id.0[12..].copy_from_slice(&self.index().checked_add(steps)?.to_le_bytes());
        Some(id)
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "object {self}")
    }
}

/// As [`ObjectId`] is shown: 32 hexadecimal digits.
impl FromStr for ObjectId {
    type Err = Error;

    fn from_str(text: &str) -> Result<ObjectId> {
        let wrong = || {
            Error::new(
                ErrorKind::InvalidArgument,
                "read an object's id",
                format!("\"{}\" is not an id", printable(text)),
            )
            .fix("pass the 32 hexadecimal digits that `farcall objects` shows")
        };
        let is_hex = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u128::from_str_radix(text, 16).ok().filter(|_| is_hex).ok_or_else(wrong)?;
        Ok(ObjectId(number.to_be_bytes()))
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

#[cfg(test)]
mod tests {
    use super::ObjectId;

    #[test]
    fn ids_of_objects_count_up_and_read_as_they_are_shown() {
        let first = ObjectId::first([7; 12]);
        let last = first.after(258).expect("there is room");
        assert_eq!((first.index(), last.index()), (0, 258));
        assert_eq!(last.to_string(), "07070707070707070707070702010000");
        assert_eq!(last.to_string().parse::<ObjectId>().ok(), Some(last));
        assert_eq!(last.after(u32::MAX), None);
        for wrong in
            ["", "07", "+7070707070707070707070702010000", "07070707070707070707070702010000f"]
        {
            assert!(wrong.parse::<ObjectId>().is_err(), "{wrong}");
        }
    }
}
