//! What one end of a connection knows of the calls that it makes (spec/call.md): over one
//! connection, or over several that take one another's place when one is lost. Pure: frames,
//! answers and the time come in; frames, outcomes and errors go out. There is no socket, thread,
//! lock, clock or random number here, so that a client, a plugin that calls other nodes and the
//! simulator run the same decisions.
//!
//! - [`Caller`] has the calls, questions and callbacks of one peer: opening, ending, resuming, kept
//!   calls.
//! - [`Application`] is the program above it: what its calls are, and the memory that their data
//!   move through.
//! - [`Greeting`] is a connection that takes a lost one's place, until its peer has answered.
//! - [`recovery`] decides what becomes of a call when the connection is lost, and when dialing
//!   ends.
//! - [`moving`] decides whether a call that failed may be made at another server.
//! - [`heartbeat`] decides when a silent peer is asked for a sign of life, and when it is given up.
//!
//! `farcall_call` is below it: channels, credit and the order of frames on one connection.

mod announced;
mod application;
mod caller;
pub mod heartbeat;
pub mod moving;
mod news;
mod outcomes;
mod questions;
pub mod recovery;
mod replacement;

pub use announced::Audience;
pub use application::{Application, Reached};
pub use caller::callbacks::{CallbackTimes, Run};
pub use caller::{Caller, OpenCall, Setup, Terms};
pub use replacement::Greeting;
