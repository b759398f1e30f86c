//! A transaction as it travels and is journaled: calls of routines, what they are called with, and
//! which results are wanted (spec/transactions.md, section 4). No arrays: inputs are named.

use farcall_base::{DataId, Error, ErrorKind, Result};
use minicbor::{Decode, Encode};

/// A transaction, as its client writes it down.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Message {
    /// Routines that calls name by their index here.
    #[n(1)]
    pub routines: Vec<RoutineName>,
    /// Arrays that the client gives.
    #[n(2)]
    pub inputs: Vec<Input>,
    /// Calls. Each stands behind those whose results it is called with.
    #[n(3)]
    pub calls: Vec<CallMessage>,
    /// Results that the client wants.
    #[n(4)]
    pub results: Vec<WantedResult>,
}

/// A routine.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct RoutineName {
    /// In full: `module/name`.
    #[n(0)]
    pub name: String,
    /// Hash of the interface that the client called it with.
    #[n(1)]
    #[cbor(with = "minicbor::bytes")]
    pub contract: [u8; 32],
}

/// An array that the client has, or has put at a server.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Input {
    /// Its id, at whatever server it comes to.
    #[n(0)]
    #[cbor(with = "data_id")]
    pub name: DataId,
    /// Its type, as the routine that takes it: `data:double:2:row` (spec/wire.md, section 12).
    #[n(1)]
    pub kind: String,
    /// Its extents.
    #[n(2)]
    pub extents: Vec<u64>,
}

/// A call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct CallMessage {
    /// Index of its routine.
    #[n(0)]
    pub routine: u32,
    /// One for each parameter, those that take nothing included.
    #[n(1)]
    pub arguments: Vec<Argument>,
    /// Numbers of calls that must have returned before, whose results it is not called with.
    #[n(2)]
    pub after: Vec<u32>,
}

/// What a parameter gets.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(flat)]
pub enum Argument {
    /// Nothing: a result, or an argument that was left out.
    #[n(0)]
    Absent,
    /// A NULL pointer.
    #[n(1)]
    Null,
    /// A short value, in the byte order of this machine.
    #[n(2)]
    Inline(
        #[n(0)]
        #[cbor(with = "minicbor::bytes")]
        Vec<u8>,
    ),
    /// An input, by its number.
    #[n(3)]
    Input(#[n(0)] u32),
    /// What an earlier call makes: its number, and the number of the parameter there.
    #[n(4)]
    Result(#[n(0)] u32, #[n(1)] u16),
}

/// A result that the client wants.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct WantedResult {
    /// Number of the call.
    #[n(0)]
    pub call: u32,
    /// Number of the parameter.
    #[n(1)]
    pub slot: u16,
    /// The id under which the client asks for it.
    #[n(2)]
    #[cbor(with = "data_id")]
    pub name: DataId,
}

impl Message {
    /// The bytes that travel.
    pub fn encode(&self) -> Vec<u8> {
        minicbor::to_vec(self).expect("memory can be written to")
    }

    /// Reads what [`Message::encode`] wrote.
    ///
    /// # Errors
    /// `Protocol`, with the place of the mistake.
    pub fn decode(bytes: &[u8]) -> Result<Message> {
        decode_whole(bytes).map_err(|detail| {
            let message = format!("the client sent a malformed transaction: {detail}");
            Error::new(ErrorKind::Protocol, "take a transaction", message)
                .fix("the client is faulty, or not Farcall: use one of this version")
        })
    }
}

/// One value, and nothing behind it.
pub(crate) fn decode_whole<'b, T: Decode<'b, ()>>(
    bytes: &'b [u8],
) -> std::result::Result<T, String> {
    let mut decoder = minicbor::Decoder::new(bytes);
    let value = decoder.decode().map_err(|error| error.to_string())?;
    match bytes.len() - decoder.position() {
        0 => Ok(value),
        more => Err(format!("{more} bytes follow its end")),
    }
}

mod data_id {
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
        let id = input.bytes()?.try_into();
        id.map(DataId).map_err(|_| DecodeError::message("an id of data has 16 bytes"))
    }
}
