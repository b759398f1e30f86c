//! Calls that go on without their opener: how long their outcomes are kept, and how they are taken
//! up again (spec/wire.md, section 7).

use std::time::Duration;

use farcall_base::{CallId, Error, ErrorKind, Result};
use minicbor::{Decode, Encode};

use crate::ids::id;
use crate::message::{Argument, Attribute, Hello, decode, encode};
use crate::request::InterfaceReply;

/// The feature that allows [`KEEP`], [`Resume`], [`crate::Request::Forget`],
/// [`crate::Request::Kept`] and
/// [`crate::Notice::Kept`].
pub const RESUME: &str = "resume";
/// The attribute of an Open whose outcome is to be kept: a [`Keep`]. Critical.
pub const KEEP: &str = "keep";
/// The attribute of an Open with [`KEEP`]: a [`KeptNote`].
pub const NOTE: &str = "note";
/// Bytes of each text of a [`KeptNote`].
pub const NOTE_BYTES_MAX: usize = 200;
/// The attribute of a client's Hello: for how many microseconds its calls are kept if the
/// connection is lost.
pub const KEEP_US: &str = "keep-us";
/// The attribute of a client's Hello that names it: whoever connects under the same name has lost
/// its other connection.
pub const CLIENT: &str = "client";
/// The attribute of a client's Hello: how many connections it had under this name before; not there
/// on the first.
pub const AGAIN: &str = "again";
/// The attribute of a server's Hello that names this run of it: another one keeps no calls but
/// durable ones.
pub const INSTANCE: &str = "instance";

/// How a call's outcome is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Keep {
    /// For how long after the call's end, in microseconds.
    #[n(0)]
    pub after_end_us: u64,
    /// Whether it is to survive the server.
    #[n(1)]
    pub durable: bool,
}

impl Keep {
    /// For how long after the call's end.
    pub fn after_end(&self) -> Duration {
        Duration::from_micros(self.after_end_us)
    }

    /// As an Open says it.
    pub fn attribute(&self) -> Attribute {
        Attribute { name: KEEP.to_owned(), critical: true, value: encode(self) }
    }

    /// What an Open says of it.
    ///
    /// # Errors
    /// `Protocol` for a value that is none.
    pub fn of(attributes: Option<&[Attribute]>) -> Result<Option<Keep>> {
        let found = attributes.and_then(|all| all.iter().find(|attribute| attribute.name == KEEP));
        found.map(|attribute| decode("keep", &attribute.value)).transpose()
    }
}

/// By what people tell a kept call from others: nothing that a server acts on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct KeptNote {
    /// When it was submitted by its client's clock, in microseconds since 1970.
    #[n(0)]
    pub submitted_us: u64,
    /// Its arguments, in short.
    #[n(1)]
    pub arguments: String,
    /// What its caller calls it.
    #[n(2)]
    pub label: String,
}

impl KeptNote {
    /// As an Open says it.
    pub fn attribute(&self) -> Attribute {
        named(NOTE, encode(self))
    }

    /// What an Open or a Resume says.
    ///
    /// # Errors
    /// `Protocol` for a malformed value, `InvalidArgument` for one with too long a text.
    pub fn of(attributes: Option<&[Attribute]>) -> Result<Option<KeptNote>> {
        let found = attributes.and_then(|all| all.iter().find(|attribute| attribute.name == NOTE));
        let Some(found) = found else { return Ok(None) };
        let note: KeptNote = decode("note", &found.value)?;
        note.check()?;
        Ok(Some(note))
    }

    /// # Errors
    /// `InvalidArgument` where a text is longer than [`NOTE_BYTES_MAX`].
    pub fn check(&self) -> Result<()> {
        let longest = self.label.len().max(self.arguments.len());
        if longest <= NOTE_BYTES_MAX {
            return Ok(());
        }
        Err(Error::new(ErrorKind::InvalidArgument, "keep a call", "its label is too long")
            .with("bytes", longest)
            .fix(format!("use a label of at most {NOTE_BYTES_MAX} bytes")))
    }
}

/// The attributes with which a client's Hello asks for its calls to be kept when the connection is
/// lost.
pub fn asks_to_resume(client: [u8; 16], keep: Duration) -> [Attribute; 2] {
    let keep_us = u64::try_from(keep.as_micros()).unwrap_or(u64::MAX);
    [named(CLIENT, client.to_vec()), named(KEEP_US, encode(&keep_us))]
}

/// The attribute with which a client's Hello says that so many connections of it were lost.
pub fn comes_again(times: u64) -> Attribute {
    named(AGAIN, encode(&times))
}

/// The attribute with which a server's Hello names this run of it.
pub fn instance(name: [u8; 16]) -> Attribute {
    named(INSTANCE, name.to_vec())
}

fn named(name: &str, value: Vec<u8>) -> Attribute {
    Attribute { name: name.to_owned(), critical: false, value }
}

/// What a Hello says of its sender's connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lasting {
    /// Which client it is.
    pub client: Option<[u8; 16]>,
    /// How long its calls are to be kept when the connection is lost.
    pub keep: Option<Duration>,
    /// How many connections of the same client were before this one.
    pub again: u64,
    /// Which run of a server it is.
    pub instance: Option<[u8; 16]>,
}

impl Lasting {
    /// Reads the attributes of a Hello.
    ///
    /// # Errors
    /// `Protocol` for values that are none.
    pub fn of(hello: &Hello) -> Result<Lasting> {
        let mut lasting = Lasting::default();
        for attribute in &hello.attributes {
            match attribute.name.as_str() {
                CLIENT => lasting.client = Some(name_of(attribute)?),
                INSTANCE => lasting.instance = Some(name_of(attribute)?),
                AGAIN => lasting.again = decode("again", &attribute.value)?,
                KEEP_US => {
                    lasting.keep = Some(Duration::from_micros(decode("keep-us", &attribute.value)?))
                }
                _ => {}
            }
        }
        Ok(lasting)
    }
}

fn name_of(attribute: &Attribute) -> Result<[u8; 16]> {
    attribute.value.as_slice().try_into().map_err(|_| {
        Error::new(ErrorKind::Protocol, "connect", "a 16-byte name has the wrong length")
            .with("attribute", &attribute.name)
    })
}

/// Takes a call up again; the answer says what the call was, where that is asked.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub struct Resume {
    /// Which call.
    #[cbor(n(1), with = "id")]
    pub call: CallId,
    /// The number of the first frame that is wanted of the outcome: 0, since all of it is sent
    /// again.
    #[n(2)]
    pub next_sequence: u32,
    /// Extras.
    #[n(3)]
    pub attributes: Option<Vec<Attribute>>,
    /// Whether the answer is to have the keys below.
    #[n(4)]
    pub describe: Option<bool>,
    /// The interface that the call was made with.
    #[n(5)]
    pub interface: Option<InterfaceReply>,
    /// Its arguments, as far as they were inline; the others Absent.
    #[n(6)]
    pub arguments: Option<Vec<Argument>>,
}

impl Resume {
    /// A question for a call, or the shortest answer.
    pub fn new(call: CallId) -> Resume {
        Resume {
            call,
            next_sequence: 0,
            attributes: None,
            describe: None,
            interface: None,
            arguments: None,
        }
    }
}

/// How far a kept call has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum KeptState {
    /// It waits for an executable.
    #[n(0)]
    Waiting,
    /// An executable has it.
    #[n(1)]
    Running,
    /// It returned.
    #[n(2)]
    Returned,
    /// It failed.
    #[n(3)]
    Failed,
}

impl KeptState {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            KeptState::Waiting => "waiting",
            KeptState::Running => "running",
            KeptState::Returned => "returned",
            KeptState::Failed => "failed",
        }
    }
}

/// A call whose outcome is kept, or will be.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct KeptCall {
    /// Its id.
    #[cbor(n(1), with = "id")]
    pub id: CallId,
    /// What, in full.
    #[n(2)]
    pub routine: String,
    /// How far.
    #[n(3)]
    pub state: KeptState,
    /// Bytes that are kept, or set aside while it runs.
    #[n(4)]
    pub bytes: u64,
    /// Time until it is forgotten, in microseconds; of one that runs, counted from its end.
    #[n(5)]
    pub left_us: u64,
    /// Whether it survives the server.
    #[n(6)]
    pub durable: bool,
    /// Whose.
    #[n(7)]
    pub principal: String,
    /// What its client said of it.
    #[n(8)]
    pub note: Option<KeptNote>,
}
