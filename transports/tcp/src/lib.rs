//! TCP transport with a token, on loopback only: beyond it, strangers could read along, and TLS is
//! spoken.
//!
//! A port of this machine is open to all its users, so the kernel proves nothing about who connects
//! (as it does for a Unix socket): the client's Hello must carry a [`Token`] that only the owner of
//! its file could read.

mod connect;
mod listener;
mod loopback;
mod stream;
mod token;

pub use connect::connect;
pub use listener::Listener;
pub use stream::from_descriptor;
pub use token::Token;

#[cfg(test)]
mod tests;
