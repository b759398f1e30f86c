//! Streams through a metaserver, to servers that clients cannot reach (spec/wire.md, section 11.1).

use minicbor::{Decode, Encode};

/// The feature that allows [`crate::Request::Relay`], [`crate::Request::DialBack`] and their
/// answers.
pub const RELAY: &str = "relay";

/// What a connection to a metaserver begins with that is one end of a relayed stream. The token
/// follows, and then whatever the other end is to have. No record of TLS begins with these bytes.
pub const RELAY_PREFACE: [u8; 8] = *b"FARELAY\x01";

/// Bytes of [`RELAY_PREFACE`] and a token.
pub const RELAY_HEAD_BYTES: usize = RELAY_PREFACE.len() + RelayToken::BYTES;

/// Streams that one answer to [`crate::Request::DialBack`] tells of.
pub const DIAL_BACK_MAX: usize = 64;

/// Shows that a connection is one end of a relayed stream. Good once, and for a short time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(transparent)]
pub struct RelayToken(#[cbor(n(0), with = "minicbor::bytes")] pub [u8; RelayToken::BYTES]);

impl RelayToken {
    /// Its length.
    pub const BYTES: usize = 32;

    /// What its connection begins with.
    pub fn head(&self) -> [u8; RELAY_HEAD_BYTES] {
        let mut head = [0; RELAY_HEAD_BYTES];
        head[..RELAY_PREFACE.len()].copy_from_slice(&RELAY_PREFACE);
        head[RELAY_PREFACE.len()..].copy_from_slice(&self.0);
        head
    }
}

/// Nobody who reads a log is to have it.
impl std::fmt::Debug for RelayToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RelayToken(…)")
    }
}

/// How a client reaches a server through the metaserver that answers.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct RelayTicket {
    /// For the client's end.
    #[n(1)]
    pub token: RelayToken,
    /// Where the metaserver takes it, beside the address where the client has reached it.
    #[n(2)]
    pub addresses: Vec<String>,
}
