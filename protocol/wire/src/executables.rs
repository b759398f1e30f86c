//! What executables say of themselves, and the calls that they open.

use minicbor::{Decode, Encode};

use crate::message::Attribute;

/// The feature that allows [`Reply::Loaded`](crate::Reply::Loaded), and a Cancel to an executable
/// whose code asks for it.
pub const POLLED_CANCEL: &str = "polled-cancel";

/// What the code of a module can do that was loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Loaded {
    /// It asks whether its call was cancelled.
    #[n(1)]
    pub asks: bool,
    /// It can be told how many threads its libraries are to run.
    #[n(2)]
    pub threads: Option<bool>,
}

/// The attribute of an Open to an executable: how many threads the libraries of its routine run
/// from then on.
pub const THREADS: &str = "threads";

/// The attribute that sets a number of threads.
pub fn threads_attribute(count: u32) -> Attribute {
    Attribute { name: THREADS.to_owned(), critical: false, value: crate::message::encode(&count) }
}

/// The number of threads that an Open sets, if it sets one.
pub fn threads_of(attributes: Option<&[Attribute]>) -> Option<u32> {
    let attribute = attributes?.iter().find(|attribute| attribute.name == THREADS)?;
    minicbor::decode(&attribute.value).ok()
}

/// The attribute of an Open to an executable: segments that it unmaps before it answers, since the
/// results in them are to change no more.
pub const GIVES_UP: &str = "gives-up";

/// The attribute that names segments that are given up.
pub fn gives_up_attribute(segments: &[u32]) -> Attribute {
    let value = crate::message::encode(&segments.to_vec());
    Attribute { name: GIVES_UP.to_owned(), critical: false, value }
}

/// The segments that an Open has its executable give up.
pub fn gives_up(attributes: Option<&[Attribute]>) -> Vec<u32> {
    let attribute = attributes.into_iter().flatten().find(|attribute| attribute.name == GIVES_UP);
    attribute.and_then(|attribute| minicbor::decode(&attribute.value).ok()).unwrap_or_default()
}

/// The feature that allows an acceptor to open calls of an opener's functions, inside the call that
/// they were passed to.
pub const CALLBACKS: &str = "callbacks";
/// The attribute of an Open that calls a function which was passed to the call `parent`: which
/// parameter it is.
pub const CALLBACK: &str = "callback";

/// The attribute that names a callback.
pub fn callback_attribute(slot: u16) -> Attribute {
    Attribute { name: CALLBACK.to_owned(), critical: true, value: crate::message::encode(&slot) }
}

/// Which parameter of its parent an Open calls, if it is a callback's.
pub fn callback_slot(attributes: Option<&[Attribute]>) -> Option<u16> {
    let attribute = attributes?.iter().find(|attribute| attribute.name == CALLBACK)?;
    minicbor::decode(&attribute.value).ok()
}
