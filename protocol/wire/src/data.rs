//! Data: values that stay at a server (spec/wire.md, section 12).

use std::time::Duration;

use farcall_base::{DataId, Result};
use minicbor::{Decode, Encode};

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

pub(crate) mod id {
    //! An id of data as a CBOR byte string of 16 bytes.
    use farcall_base::DataId;
    use minicbor::decode::Error as DecodeError;
    use minicbor::encode::{Error as EncodeError, Write};
    use minicbor::{Decoder, Encoder};

    pub fn encode<C, W: Write>(
        id: &DataId,
        out: &mut Encoder<W>,
        _: &mut C,
    ) -> Result<(), EncodeError<W::Error>> {
        out.bytes(&id.0)?.ok()
    }

    pub fn decode<C>(input: &mut Decoder<'_>, _: &mut C) -> Result<DataId, DecodeError> {
        let id = input
            .bytes()?
            .try_into()
            .map_err(|_| DecodeError::message("an id of data has 16 bytes"))?;
        Ok(DataId(id))
    }
}

pub(crate) mod ids {
    //! An array of ids of data.
    use farcall_base::DataId;
    use minicbor::decode::Error as DecodeError;
    use minicbor::encode::{Error as EncodeError, Write};
    use minicbor::{Decoder, Encoder};

    pub fn encode<C, W: Write>(
        ids: &[DataId],
        out: &mut Encoder<W>,
        context: &mut C,
    ) -> Result<(), EncodeError<W::Error>> {
        out.array(ids.len() as u64)?;
        ids.iter().try_for_each(|id| super::id::encode(id, out, context))
    }

    pub fn decode<C>(input: &mut Decoder<'_>, _: &mut C) -> Result<Vec<DataId>, DecodeError> {
        let ids = input.array_iter::<minicbor::bytes::ByteArray<16>>()?;
        // Room is made for what comes, not for what was promised.
        ids.map(|id| id.map(|id| DataId(*id))).collect()
    }
}
