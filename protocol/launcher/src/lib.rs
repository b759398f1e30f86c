//! The launcher's side of the text protocol in spec/launcher.md: pure, without sockets, processes
//! or a clock.
//!
//! [`Requests`] cuts what comes in into requests; a [`Launcher`] takes them, and what its actions led to, and says what is
//! to be done. [`Processes`] starts each job as a process of its own, here or behind `ssh`;
//! [`Batch`] speaks to the commands of a batch system.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod action;
mod batch;
pub mod far;
mod job;
mod jobs;
mod processes;
mod request;
pub mod shell;

pub use action::{Action, Bridged, Command, Ended, Event, Launcher, Outcome, Start};
pub use batch::{Batch, SYSTEMS, Settings, System, system};
pub use job::{Backend, COUNT_MAX, Job, Program, Resources, Shape};
pub use processes::{Processes, Where};
pub use request::{
    ATTRIBUTES_MAX, ID_BYTES_MAX, LINE_BYTES_MAX, REQUEST_BYTES_MAX, Request, Requests,
};
pub use shell::quoted;

#[cfg(test)]
mod golden;
