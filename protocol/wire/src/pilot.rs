//! What a server and a pilot tell one another: a pilot is the process that a batch job runs, and
//! starts executables where it is (spec/pilot.md).
//!
//! A message is its length, four bytes little-endian, and its CBOR. The first one on a connection
//! says what the connection is: a pilot's own, or an executable's, behind which follow the
//! executable's own bytes.

use farcall_base::{Error, ErrorKind, Result};
use minicbor::{Decode, Encode};

use crate::message::Failure;
use crate::resources::AskedResources;

/// Longest message: the text of a large module.
pub const PILOT_MESSAGE_BYTES_MAX: usize = 16 << 20;
/// Longest first message of a connection: nobody has shown yet who he is.
pub const PILOT_GREETING_BYTES_MAX: usize = 4096;
/// The version of these messages.
pub const PILOT_VERSION: u32 = 1;

/// The first message of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum PilotGreeting {
    /// A pilot.
    #[n(1)]
    Pilot(#[n(0)] PilotHello),
    /// An executable that a pilot has started; its own bytes follow.
    #[n(2)]
    Executable(#[n(0)] PilotExecutable),
}

/// Who a pilot is.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct PilotHello {
    /// [`PILOT_VERSION`].
    #[n(1)]
    pub version: u32,
    /// The job that it is part of.
    #[n(2)]
    pub job: String,
    /// Executables that it may run at a time.
    #[n(3)]
    pub slots: u32,
    /// Its host, for people.
    #[n(4)]
    pub host: String,
    /// Its process there.
    #[n(5)]
    pub pid: u32,
    /// Program and version, for people.
    #[n(6)]
    pub product: String,
}

/// Whose bytes follow.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct PilotExecutable {
    /// The job.
    #[n(1)]
    pub job: String,
    /// Which executable.
    #[n(2)]
    pub executable: u64,
    /// Its process on its host.
    #[n(3)]
    pub pid: u32,
    /// Private memory that it may use, in bytes.
    #[n(4)]
    pub memory_max: Option<u64>,
    /// Time of one call, in seconds.
    #[n(5)]
    pub call_seconds_max: Option<u64>,
}

/// What a server tells a pilot.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum ToPilot {
    /// Start an executable.
    #[n(1)]
    Start(#[n(0)] Box<PilotStart>),
    /// End one; `grace_ms` between asking and killing it.
    #[n(2)]
    Stop {
        /// Which one.
        #[n(0)]
        executable: u64,
        /// In milliseconds.
        #[n(1)]
        grace_ms: u64,
    },
    /// Tell what it writes from now on.
    #[n(3)]
    Listen {
        /// Which one.
        #[n(0)]
        executable: u64,
    },
    /// Tell the rest of it, then that this was all.
    #[n(4)]
    Hush {
        /// Which one.
        #[n(0)]
        executable: u64,
    },
    /// End, with all executables.
    #[n(5)]
    End,
    /// Are you there?
    #[n(6)]
    Ping,
}

/// A start.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub struct PilotStart {
    /// The server's name for it.
    #[n(1)]
    pub executable: u64,
    /// Its module.
    #[n(2)]
    pub module: String,
    /// What runs it.
    #[n(3)]
    pub program: PilotProgram,
    /// Variables set for it.
    #[n(4)]
    pub environment: Vec<(String, String)>,
    /// `normal`, `MPI`, …
    #[n(5)]
    pub backend: String,
    /// The module's routines, as an executable reads them; empty where the pilot had this `text`
    /// before.
    #[cbor(n(6), with = "minicbor::bytes")]
    pub module_text: Vec<u8>,
    /// Tells one publication's text from another's.
    #[n(7)]
    pub text: u64,
    /// Processes that run each call, of an image that MPI starts; 0: as many as the options say.
    #[n(8)]
    pub ranks: u32,
    /// Whether it is the code of the server's owner, on a server of the owner's own: it is not
    /// confined.
    #[n(9)]
    pub is_owners: bool,
    /// What it is given.
    #[n(10)]
    pub resources: AskedResources,
}

/// A program that runs routines.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum PilotProgram {
    /// The generic host with shared libraries.
    #[n(1)]
    Host {
        /// In their order.
        #[n(0)]
        libraries: Vec<String>,
    },
    /// A program linked for the module.
    #[n(2)]
    Linked {
        /// Its absolute path.
        #[n(0)]
        path: String,
    },
    /// An interpreter.
    #[n(3)]
    Interpreted {
        /// Its absolute path.
        #[n(0)]
        program: String,
        /// What leads it to the source.
        #[n(1)]
        arguments: Vec<String>,
        /// What it reads.
        #[n(2)]
        readable: Vec<String>,
    },
}

/// What a pilot tells its server.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum FromPilot {
    /// An executable could not be started.
    #[n(1)]
    Failed {
        /// Which one.
        #[n(0)]
        executable: u64,
        /// Why.
        #[n(1)]
        failure: Failure,
    },
    /// One has ended.
    #[n(2)]
    Exited(#[n(0)] PilotExited),
    /// A piece of what one wrote.
    #[n(3)]
    Said {
        /// Which one.
        #[n(0)]
        executable: u64,
        /// 1 or 2.
        #[n(1)]
        output: u8,
        /// What.
        #[cbor(n(2), with = "minicbor::bytes")]
        bytes: Vec<u8>,
        /// Bytes before these that are not told.
        #[n(3)]
        lost: u64,
    },
    /// It is listened to.
    #[n(4)]
    Listening {
        /// Which one.
        #[n(0)]
        executable: u64,
        /// Why not.
        #[n(1)]
        failure: Option<Failure>,
    },
    /// All was told.
    #[n(5)]
    Hushed {
        /// Which one.
        #[n(0)]
        executable: u64,
        /// Why not.
        #[n(1)]
        failure: Option<Failure>,
    },
    /// I am there.
    #[n(6)]
    Pong,
}

/// An end.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct PilotExited {
    /// Which one.
    #[n(1)]
    pub executable: u64,
    /// Its status; `None` if a signal ended it, or nobody knows.
    #[n(2)]
    pub status: Option<i32>,
    /// The signal that ended it.
    #[n(3)]
    pub signal: Option<i32>,
    /// Whether a core file was written.
    #[n(4)]
    pub core: bool,
    /// Whether it lived when it was first stopped.
    #[n(5)]
    pub was_stopped: bool,
    /// The end of what it wrote to standard output, by pieces with their age in microseconds.
    #[n(6)]
    pub stdout: Vec<PilotPiece>,
    /// The same of standard error.
    #[n(7)]
    pub stderr: Vec<PilotPiece>,
    /// Which rank it was that ended, where that was said.
    #[n(8)]
    pub rank: Option<u32>,
}

/// What an executable wrote at a time.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct PilotPiece {
    /// How long ago it was taken, in microseconds.
    #[n(0)]
    pub age_us: u64,
    /// What.
    #[cbor(n(1), with = "minicbor::bytes")]
    pub bytes: Vec<u8>,
}

/// The bytes of a message, its length first.
///
/// # Errors
/// `LimitExceeded` for one that is too long.
pub fn encode_pilot<T: Encode<()>>(message: &T) -> Result<Vec<u8>> {
    let body = crate::message::encode(message);
    if body.len() > PILOT_MESSAGE_BYTES_MAX {
        let message = format!("a message of {} bytes is too long for a pilot", body.len());
        return Err(Error::new(ErrorKind::LimitExceeded, "tell a pilot", message));
    }
    let mut bytes = Vec::with_capacity(4 + body.len());
    bytes.extend((body.len() as u32).to_le_bytes());
    bytes.extend(body);
    Ok(bytes)
}

/// Takes the first whole message out of `bytes`; `None` while it is not whole.
///
/// # Errors
/// `Protocol` for one longer than `most`, or that is none.
pub fn take_pilot<T>(bytes: &mut Vec<u8>, most: usize) -> Result<Option<T>>
where
    T: for<'b> Decode<'b, ()>,
{
    let broken = |message: String| Error::new(ErrorKind::Protocol, "hear a pilot", message);
    let Some(head) = bytes.first_chunk::<4>() else { return Ok(None) };
    let length = u32::from_le_bytes(*head) as usize;
    if length > most {
        return Err(broken(format!("a message of {length} bytes is longer than {most}")));
    }
    let Some(body) = bytes.get(4..4 + length) else { return Ok(None) };
    let message =
        minicbor::decode(body).map_err(|error| broken(format!("a message is damaged: {error}")))?;
    bytes.drain(..4 + length);
    Ok(Some(message))
}
