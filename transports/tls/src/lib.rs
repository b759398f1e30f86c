//! TLS transport: TLS 1.3 over TCP, where both ends show a certificate of one private authority.
//!
//! rustls does the handshake and the records; this crate moves bytes between it and a socket that
//! never blocks, and says in words what is wrong with a certificate. A stream exists only when both
//! ends have proved who they are: who fails never reaches the server behind the listener.

mod certificate;
mod choice;
mod config;
mod connect;
mod credentials;
mod engine;
mod handshake;
mod listener;
mod pending;
mod private_file;
mod records;
mod refusal;
mod relayed;
mod revocation;
mod socket;
mod stream;

pub use certificate::{Certificate, Role, date, is_host, is_name, is_server_name};
pub use choice::files_at;
pub use connect::{connect, connect_over, connect_through, reach_port, reach_stream};
pub use credentials::{AuthorityFile, Credentials, Whose, default_credentials};
pub use listener::{Listener, ListenerLimits};
pub use revocation::ServerFiles;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
