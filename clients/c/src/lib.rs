//! The C ABI of Farcall: thin entries over the Rust client (spec/c-abi.md).
//!
//! `include/farcall.h` declares each entry with its ownership, lifetime and thread-safety; that
//! text is the contract, and every `unsafe` here leans on it. An entry checks pointers for NULL,
//! text for UTF-8 and numbers for their range, catches panics, and turns `farcall_base::Error` into
//! an object. Whatever it does beyond that belongs into the client.

#![allow(clippy::missing_safety_doc)] // farcall.h says what callers promise

mod argument;
mod boundary;
mod call;
mod client;
mod data;
mod element;
mod error;
mod farm;
mod form;
mod hold;
mod keeping;
mod map;
mod native;
mod passing;
mod place;
mod placement;
mod published;
mod results;
mod routine;
mod server;
mod spans;
mod streams;
mod strings;
mod tagged;
mod transaction;

pub use boundary::c_text;
pub use call::{Places, Prepared};
pub use client::{ClientObject, connect_inside};
pub use error::ErrorObject;
pub use form::Form;
pub use native::{check_count, prepare};
pub use passing::passing;
pub use spans::{Span, WholeArray, spans};
pub use strings::allocated;
pub use tagged::TaggedValue;
