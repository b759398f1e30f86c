//! What an opener asks to be given for its call, or the executables that it holds (spec/wire.md,
//! section 6; spec/call.md, section 12).

use std::time::Duration;

use farcall_base::{Bytes, Result};
use minicbor::{Decode, Encode};

use crate::message::{Attribute, Open, decode, encode};

/// The attribute of an Open that asks for resources. Critical: an acceptor that does not know it
/// would run the call with less. Also the feature that allows [`crate::HoldRequest`] to ask.
pub const RESOURCES: &str = "resources";

/// What is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct AskedResources {
    /// Processors of each process.
    #[n(1)]
    pub cores: Option<u32>,
    /// Memory of each process, in bytes.
    #[n(2)]
    pub memory_bytes: Option<u64>,
    /// GPUs of each process.
    #[n(3)]
    pub gpus: Option<u32>,
    /// How long one run takes at most, in microseconds.
    #[n(4)]
    pub wall_time_us: Option<u64>,
}

impl From<farcall_base::Resources> for AskedResources {
    fn from(asked: farcall_base::Resources) -> AskedResources {
        let microseconds = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        AskedResources {
            cores: asked.cores,
            memory_bytes: asked.memory.map(|memory| memory.0),
            gpus: asked.gpus,
            wall_time_us: asked.wall_time.map(microseconds),
        }
    }
}

impl AskedResources {
    /// The same in units.
    ///
    /// # Errors
    /// `InvalidArgument` for a value that nobody can be given.
    pub fn read(self) -> Result<farcall_base::Resources> {
        let asked = farcall_base::Resources {
            cores: self.cores,
            memory: self.memory_bytes.map(Bytes),
            gpus: self.gpus,
            wall_time: self.wall_time_us.map(Duration::from_micros),
        };
        asked.check()
    }
}

/// The attribute that asks for these.
pub fn resources_attribute(asked: farcall_base::Resources) -> Attribute {
    let value = encode(&AskedResources::from(asked));
    Attribute { name: RESOURCES.to_owned(), critical: true, value }
}

/// What an Open asks for; nothing without the attribute.
///
/// # Errors
/// `Protocol` for a value that is no map of these; `InvalidArgument` as [`AskedResources::read`].
pub fn resources_of(open: &Open) -> Result<farcall_base::Resources> {
    let mut all = open.attributes.iter().flatten();
    let Some(found) = all.find(|attribute| attribute.name == RESOURCES) else {
        return Ok(farcall_base::Resources::default());
    };
    decode::<AskedResources>(RESOURCES, &found.value)?.read()
}
