//! Ids on the wire: byte strings of 16 bytes, and arrays of them.

use farcall_base::{CallId, DataId, ObjectId, TransactionId};

/// What is named by 16 bytes.
pub(crate) trait Id: Sized {
    /// What is said of other bytes.
    const WRONG: &'static str;

    fn from_bytes(bytes: [u8; 16]) -> Self;
    fn as_bytes(&self) -> &[u8; 16];
}

macro_rules! named_by_16_bytes {
    ($($name:ident: $wrong:literal),*) => {$(
        impl Id for $name {
            const WRONG: &'static str = $wrong;

            fn from_bytes(bytes: [u8; 16]) -> Self {
                $name(bytes)
            }

            fn as_bytes(&self) -> &[u8; 16] {
                &self.0
            }
        }
    )*};
}

named_by_16_bytes!(
    CallId: "a call id has 16 bytes",
    DataId: "an id of data has 16 bytes",
    ObjectId: "an object id has 16 bytes",
    TransactionId: "an id of a transaction has 16 bytes"
);

pub(crate) mod id {
    //! One of them.
    use minicbor::decode::Error as DecodeError;
    use minicbor::encode::{Error as EncodeError, Write};
    use minicbor::{Decoder, Encoder};

    use super::Id;

    pub fn encode<C, W: Write>(
        id: &impl Id,
        out: &mut Encoder<W>,
        _: &mut C,
    ) -> Result<(), EncodeError<W::Error>> {
        out.bytes(id.as_bytes())?.ok()
    }

    pub fn decode<C, T: Id>(input: &mut Decoder<'_>, _: &mut C) -> Result<T, DecodeError> {
        let bytes = input.bytes()?.try_into();
        bytes.map(T::from_bytes).map_err(|_| DecodeError::message(T::WRONG))
    }
}

pub(crate) mod list {
    //! An array of them.
    use minicbor::bytes::ByteArray;
    use minicbor::decode::Error as DecodeError;
    use minicbor::encode::{Error as EncodeError, Write};
    use minicbor::{Decoder, Encoder};

    use super::Id;

    pub fn encode<C, W: Write>(
        ids: &[impl Id],
        out: &mut Encoder<W>,
        context: &mut C,
    ) -> Result<(), EncodeError<W::Error>> {
        out.array(ids.len() as u64)?;
        ids.iter().try_for_each(|id| super::id::encode(id, out, context))
    }

    pub fn decode<C, T: Id>(input: &mut Decoder<'_>, _: &mut C) -> Result<Vec<T>, DecodeError> {
        let ids = input.array_iter::<ByteArray<16>>()?;
        // Room is made for what comes, not for what was promised.
        ids.map(|id| id.map(|id| T::from_bytes(*id))).collect()
    }
}
