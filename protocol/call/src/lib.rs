//! Client and server call state machines (spec/call.md). Pure: frames in, frames and events out.
//!
//! One [`Connection`] serves clients, servers and executables alike, because either end may open a
//! call. It never holds array bytes: it says which slot of which call the next bytes belong to, and
//! which bytes to send next.

mod channel;
mod channels;
mod connection;
mod event;
mod greeting;
mod incoming;
mod outgoing;

pub use channels::Channels;
pub use connection::{ANSWERS_BYTES_MAX, CLOGGED_BYTES, Connection, Setup};
pub use event::{Event, Place, Side, Transmit};
