//! Data: values that stay at a server (spec/wire.md, section 12).

use std::time::Duration;

use farcall_base::{DataId, Result};
use minicbor::{Decode, Encode};

use crate::ids::id;
use crate::message::{Attribute, Failure, Open, decode, encode};

/// The feature that allows data as arguments and results, [`crate::Request::Data`] and
/// [`crate::Request::DeleteData`].
pub const DATA: &str = "data";
/// The attribute of an Open that makes data: for how many microseconds it stays when its client's
/// connection has ended.
pub const LEASE: &str = "lease";
/// Data that one answer tells of.
pub const DATA_SHOWN_MAX: usize = 1000;

/// The attribute of an Open whose data stays for so long when its client's connection has ended.
pub fn lease_attribute(lease: Duration) -> Attribute {
    let lease_us = u64::try_from(lease.as_micros()).unwrap_or(u64::MAX);
    Attribute { name: LEASE.to_owned(), critical: true, value: encode(&lease_us) }
}

/// For how long data that a call makes stays when its client's connection has ended.
///
/// # Errors
/// `Protocol` for a value that is not a number.
pub fn lease_of(open: &Open) -> Result<Duration> {
    let found = open.attributes.iter().flatten().find(|attribute| attribute.name == LEASE);
    let lease_us = found.map(|attribute| decode("lease", &attribute.value)).transpose()?;
    Ok(Duration::from_micros(lease_us.unwrap_or(0)))
}

/// How far data is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum DataState {
    /// The call that makes it has not ended.
    #[n(0)]
    Coming,
    /// It is there.
    #[n(1)]
    There,
    /// It will never be: the call failed.
    #[n(2)]
    Failed,
}

impl DataState {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            DataState::Coming => "coming",
            DataState::There => "there",
            DataState::Failed => "failed",
        }
    }
}

/// Data, as a server tells of it.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub struct DataStatus {
    /// Its id.
    #[cbor(n(1), with = "id")]
    pub id: DataId,
    /// How far it is.
    #[n(2)]
    pub state: DataState,
    /// The routine that its call takes it from a client with, which says its type
    /// (`data:double:2:row`).
    #[n(3)]
    pub kind: String,
    /// Its extents, as far as they are known.
    #[n(4)]
    pub extents: Vec<u64>,
    /// Bytes that count for it.
    #[n(5)]
    pub bytes: u64,
    /// Microseconds until it is deleted, where its client is not connected.
    #[n(6)]
    pub left_us: Option<u64>,
    /// Whose it is.
    #[n(7)]
    pub principal: String,
    /// Why it will never be there.
    #[n(8)]
    pub failure: Option<Failure>,
}
