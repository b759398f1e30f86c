//! What executables say of themselves.

use minicbor::{Decode, Encode};

/// The feature that allows [`Reply::Loaded`](crate::Reply::Loaded), and a Cancel to an executable whose code asks for it.
pub const POLLED_CANCEL: &str = "polled-cancel";

/// What the code of a module can do that was loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Loaded {
    /// It asks whether its call was cancelled.
    #[n(1)]
    pub asks: bool,
}
