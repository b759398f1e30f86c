//! How a connection begins and ends: who each end is and what it accepts, and why it leaves
//! (spec/wire.md, section 4).

use minicbor::{Decode, Encode};

use crate::failure::Failure;
use crate::message::Attribute;

/// Longest control body a receiver accepts unless its Hello says otherwise.
pub const CONTROL_BYTES_MAX: u32 = 1 << 20;

/// Longest Hello, and longest control body before it, whatever the limits: the sender is still a
/// stranger.
pub const HELLO_BYTES_MAX: u32 = 1 << 16;

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum Role {
    /// Opens calls.
    #[n(0)]
    Client,
    /// Takes calls and has them run.
    #[n(1)]
    Server,
    /// Runs routines.
    #[n(2)]
    Executable,
}

/// Byte order of the sender's arrays and inline values; the receiver makes right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum ByteOrder {
    /// Least significant byte first.
    #[n(0)]
    Little,
    /// Most significant byte first.
    #[n(1)]
    Big,
}

impl ByteOrder {
    /// This machine's.
    pub const NATIVE: ByteOrder =
        if cfg!(target_endian = "big") { ByteOrder::Big } else { ByteOrder::Little };
}

/// What the sender of a Hello accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct HelloLimits {
    /// Longest control body, in bytes.
    #[n(1)]
    pub control_bytes_max: u32,
    /// Longest body of one data frame, in bytes.
    #[n(2)]
    pub data_bytes_max: u32,
    /// Calls and requests open at once on this connection.
    #[n(3)]
    pub channels_max: u32,
    /// Data bytes that a call may send before any Window arrives.
    #[n(4)]
    pub initial_credit: u64,
    /// Largest sum of a call's arrays, in bytes.
    #[n(5)]
    pub call_bytes_max: u64,
    /// Shared segments at once.
    #[n(6)]
    pub segments_max: u32,
}

impl Default for HelloLimits {
    fn default() -> Self {
        HelloLimits {
            control_bytes_max: CONTROL_BYTES_MAX,
            data_bytes_max: 4 << 20,
            channels_max: 4096,
            initial_credit: 1 << 20,
            call_bytes_max: 1 << 40,
            segments_max: 1024,
        }
    }
}

/// The first frame of each end.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Hello {
    /// What the sender is.
    #[n(1)]
    pub role: Role,
    /// Order of the bytes in its data.
    #[n(2)]
    pub byte_order: ByteOrder,
    /// Product and version, for people: `farcall 0.1.0`.
    #[n(3)]
    pub product: String,
    /// Optional abilities, from the registry in spec/wire.md, section 6.
    #[n(4)]
    pub features: Vec<String>,
    /// What it accepts.
    #[n(5)]
    pub limits: HelloLimits,
    /// Identity of the host, so that two ends learn whether they can share memory: boot id and the
    /// like.
    #[n(6)]
    pub host: String,
    /// Who the sender says it is; believed only as far as the transport or the token proves it.
    #[n(7)]
    pub principal: Option<String>,
    /// Proof where the transport gives none: the token of a TCP server.
    #[n(8)]
    #[cbor(with = "minicbor::bytes")]
    pub token: Option<Vec<u8>>,
    /// Extras.
    #[n(9)]
    pub attributes: Vec<Attribute>,
}

/// The last frame.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Goodbye {
    /// Why, unless all is well.
    #[n(1)]
    pub failure: Option<Failure>,
}
