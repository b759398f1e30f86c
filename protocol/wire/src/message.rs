//! Control messages: CBOR maps with integer keys (spec/wire.md, section 4). Unknown keys are
//! skipped; what must not be skipped travels as a critical [`Attribute`].

use std::convert::Infallible;

use farcall_base::{CallId, DataId, Error, ErrorKind, Result};
use minicbor::encode::Write;
use minicbor::{Decode, Encode};

pub use crate::failure::Failure;
pub use crate::greeting::{
    ByteOrder, CONTROL_BYTES_MAX, Goodbye, HELLO_BYTES_MAX, Hello, HelloLimits, Role,
};
use crate::ids::id;
pub use crate::request::{
    ADMINISTRATION, InterfaceReply, ModuleReport, NESTED_CALLS, OBJECTS, Order, Publication, Reply,
    Request, URLS,
};

/// Messages up to about this size are the frequent ones.
pub(crate) const SMALL_BYTES: usize = 224;

/// Most arguments or results in one message. Slots are 16 bits wide, and a real routine has a few
/// dozen at most.
pub const ARGUMENTS_MAX: usize = 1024;

/// Encodes a message.
pub fn encode<T: Encode<()>>(message: &T) -> Vec<u8> {
    encode_into(Vec::new(), message)
}

/// [`encode`] in memory that was used before.
pub fn encode_into<T: Encode<()>>(mut used: Vec<u8>, message: &T) -> Vec<u8> {
    used.clear();
    // Room for a small call, so that it is written in one piece of heap.
    used.reserve(SMALL_BYTES);
    let mut body = Body(used);
    minicbor::encode(message, &mut body).expect("encoding into memory cannot fail");
    body.0
}

/// What a message is written to. The encoder writes byte by byte: into a plain `Vec` each is a call
/// of a function and one of `memcpy`, which took as long as all the rest.
struct Body(Vec<u8>);

impl Write for Body {
    type Error = Infallible;

    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> std::result::Result<(), Infallible> {
        match *bytes {
            [byte] => self.0.push(byte),
            _ => self.0.extend_from_slice(bytes),
        }
        Ok(())
    }
}

/// Decodes a message; the whole body must be one value.
///
/// # Errors
/// `Protocol`, naming what was being read and the offset.
pub fn decode<'b, T: Decode<'b, ()>>(what: &'static str, body: &'b [u8]) -> Result<T> {
    let malformed = |detail: String| {
        Error::new(
            ErrorKind::Protocol,
            "read a frame",
            format!("the peer sent a malformed {what} message: {detail}"),
        )
        .fix("the peer is faulty, hostile or not Farcall; the connection is closed")
    };
    let mut decoder = minicbor::Decoder::new(body);
    let message = decoder.decode().map_err(|error| malformed(error.to_string()))?;
    match decoder.position() {
        end if end == body.len() => Ok(message),
        end => Err(malformed(format!("{} bytes follow its end", body.len() - end))),
    }
}

/// A named extra. Unknown critical ones are refused, others skipped.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Attribute {
    /// Its name, from the registry in spec/wire.md, section 6.
    #[n(0)]
    pub name: String,
    /// Whether a receiver that does not know it must refuse.
    #[n(1)]
    pub critical: bool,
    /// Its value, as the registry says.
    #[n(2)]
    #[cbor(with = "minicbor::bytes")]
    pub value: Vec<u8>,
}

/// The attribute of an Open that says what its opener wants to be told of the call while it is
/// under way.
pub const NOTICES: &str = "notices";

/// The bits of the one byte that [`NOTICES`] has.
pub mod wants {
    /// Notices on its place in the queue, its begin and its progress.
    pub const PROGRESS: u8 = 1;
    /// Notices with what its routine writes.
    pub const OUTPUT: u8 = 2;
    /// The processor time of its routine, with its outcome: [`super::CallTimes::processor_ns`].
    pub const PROCESSOR_TIME: u8 = 4;
}

/// The attribute of an Open that names the object whose call it is: its id.
pub const ON: &str = "on";

/// The attribute of an Open with the number of processes that MPI is to start for the call; it says
/// nothing to a routine that MPI does not start.
pub const RANKS: &str = "ranks";

/// Refuses unknown critical attributes.
///
/// # Errors
/// `Version`, naming the attribute.
pub fn check_attributes(attributes: &[Attribute], known: &[&str]) -> Result<()> {
    match attributes.iter().find(|a| a.critical && !known.contains(&a.name.as_str())) {
        None => Ok(()),
        Some(attribute) => Err(Error::new(
            ErrorKind::Version,
            "read a message",
            format!(
                "the peer requires \"{}\", which this version does not support",
                display_name(&attribute.name)
            ),
        )
        .fix("use the same version of Farcall at both ends")),
    }
}

/// A stranger's name for a thing, short and without control characters: it ends up in logs and on
/// terminals.
fn display_name(name: &str) -> String {
    name.chars().take(64).flat_map(char::escape_debug).collect()
}

/// Bytes of an argument inside its message. Those of one number lie in the value itself: a small
/// call has a handful.
pub type InlineBytes = smallvec::SmallVec<[u8; 16]>;

/// One argument or one result (spec/wire.md, section 5).
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(flat)]
pub enum Argument {
    /// Not referenced in this call, or not wanted back.
    #[n(0)]
    Absent,
    /// A NULL pointer.
    #[n(1)]
    Null,
    /// The bytes themselves, in the sender's byte order. Zero bytes: an array of zero length.
    #[n(2)]
    Inline(#[cbor(n(0), with = "inline_bytes")] InlineBytes),
    /// Data frames with the argument's slot carry it, packed in storage order. `None`: length
    /// unknown, ended by END.
    #[n(3)]
    Blocks(#[n(0)] Option<u64>),
    /// It lies in shared memory, whole and unpacked: segment, offset, length.
    #[n(4)]
    Shared(#[n(0)] u32, #[n(1)] u64, #[n(2)] u64),
    /// Data at the receiver's.
    #[n(5)]
    Data(#[cbor(n(0), with = "id")] DataId),
    /// The receiver fetches it from there.
    #[n(6)]
    Url(#[n(0)] String),
    /// An array of strings or files' contents; `None` is a NULL pointer.
    #[n(7)]
    Texts(#[n(0)] Vec<Option<minicbor::bytes::ByteVec>>),
}

/// Opens a call.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub struct Open {
    /// The call's id, on every connection.
    #[cbor(n(1), with = "id")]
    pub call: CallId,
    /// `module/name`.
    #[n(2)]
    pub routine: String,
    /// Contract hash of the interface that the opener marshalled with.
    #[cbor(n(3), with = "minicbor::bytes")]
    pub contract: [u8; 32],
    /// One per parameter of the interface; OUT and WORK ones Absent.
    #[n(4)]
    pub arguments: Vec<Argument>,
    /// How the opener wants its results, one per parameter: `Shared` to have it put there, `Absent`
    /// for none, `Blocks(None)` to have it sent, inline if short, `Data` to have it stay. `None`: all
    /// of them sent.
    #[n(11)]
    pub wanted: Option<Vec<Argument>>,
    /// Time left until the deadline, in microseconds.
    #[n(5)]
    pub remaining_us: Option<u64>,
    /// Data bytes of results that may come before any Window; the opener has room for all by
    /// default.
    #[n(6)]
    pub result_credit: Option<u64>,
    /// The running call that this one is part of (callbacks, hierarchical calls).
    #[n(7)]
    pub parent: Option<minicbor::bytes::ByteVec>,
    /// On whose behalf, where the connection carries several principals.
    #[n(8)]
    pub principal: Option<String>,
    /// W3C trace context.
    #[n(9)]
    pub trace: Option<String>,
    /// Extras.
    #[n(10)]
    pub attributes: Option<Vec<Attribute>>,
}

impl Open {
    /// A call of `routine` with these arguments, and nothing else said of it.
    #[inline]
    pub fn new(
        call: CallId,
        routine: String,
        contract: [u8; 32],
        arguments: Vec<Argument>,
    ) -> Open {
        Open {
            call,
            routine,
            contract,
            arguments,
            wanted: None,
            remaining_us: None,
            result_credit: None,
            parent: None,
            principal: None,
            trace: None,
            attributes: None,
        }
    }
}

/// When things happened, in nanoseconds since the server accepted the call's Open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Encode, Decode)]
#[cbor(map)]
pub struct CallTimes {
    /// All arguments were there and the call stood in the queue.
    #[n(1)]
    pub queued_ns: u64,
    /// The routine began.
    #[n(2)]
    pub started_ns: u64,
    /// The routine ended.
    #[n(3)]
    pub finished_ns: u64,
    /// For how long its process computed, on all processors, meanwhile; where that was asked for.
    #[n(4)]
    pub processor_ns: Option<u64>,
}

/// The outcome of a call.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
#[cbor(map)]
pub struct CallResult {
    /// Why it failed; `None` when it returned.
    #[n(1)]
    pub failure: Option<Failure>,
    /// One per parameter; IN and WORK ones Absent. Empty on failure.
    #[n(2)]
    pub results: Vec<Argument>,
    /// When.
    #[n(3)]
    pub times: CallTimes,
    /// Extras.
    #[n(4)]
    pub attributes: Option<Vec<Attribute>>,
}

/// Credit and acknowledgement, both absolute, so that a repeated one does no harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Window {
    /// Data bytes that the receiver of this message may have sent in all on this channel.
    #[n(1)]
    pub credit: u64,
    /// The next sequence number that its sender expects: everything before is safe.
    #[n(2)]
    pub next_sequence: u32,
}

/// News of a running call.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[cbor(flat)]
pub enum Notice {
    /// The server has the call; this many are before it.
    #[n(0)]
    Queued(#[n(0)] u32),
    /// The routine began.
    #[n(1)]
    Started,
    /// Fraction done, and a word on it.
    #[n(2)]
    Progress(#[n(0)] f64, #[n(1)] String),
    /// A piece of the routine's output: 1 stdout, 2 stderr.
    #[n(3)]
    Output(#[n(0)] u8, #[cbor(n(1), with = "minicbor::bytes")] Vec<u8>),
    /// From now on the call goes on without its opener, as its attribute [`crate::KEEP`] says.
    #[n(4)]
    Kept,
}

/// Announces a piece of shared memory; the descriptor rides with this frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Share {
    /// Its number, chosen by the sender.
    #[n(1)]
    pub segment: u32,
    /// Its size; the memory is sealed against shrinking below it.
    #[n(2)]
    pub bytes: u64,
}

mod inline_bytes {
    //! Inline bytes as a CBOR byte string.
    use super::InlineBytes;
    use minicbor::decode::Error as DecodeError;
    use minicbor::encode::{Error as EncodeError, Write};
    use minicbor::{Decoder, Encoder};

    pub fn encode<C, W: Write>(
        bytes: &InlineBytes,
        out: &mut Encoder<W>,
        _: &mut C,
    ) -> Result<(), EncodeError<W::Error>> {
        out.bytes(bytes)?.ok()
    }

    pub fn decode<C>(input: &mut Decoder<'_>, _: &mut C) -> Result<InlineBytes, DecodeError> {
        Ok(InlineBytes::from_slice(input.bytes()?))
    }
}
