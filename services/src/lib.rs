//! What plugins offer one another: bounded mailboxes, and for each service its messages and the
//! handle that sends them.
//!
//! Messages own what they hold and never hold array bytes: a plugin may move to another thread, or
//! to a process of its own.

pub mod directory;
pub mod fetcher;
pub mod jobs;
pub mod mailbox;
pub mod placement;
pub mod spawner;
pub mod status;
pub mod store;
pub mod transactions;
pub mod transports;
