//! The launcher's side of the text protocol in spec/launcher.md: pure, without sockets, processes
//! or a clock.
//!
//! [`Requests`] cuts what comes in into requests; a [`Launcher`] takes them, and what its actions led to, and says what is
//! to be done. [`Processes`] starts each job as a process of its own, here or behind `ssh`;
//! [`Slurm`] speaks to Slurm's commands.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod action;
pub mod far;
mod job;
mod jobs;
mod processes;
mod request;
mod shell;
mod slurm;

pub use action::{Action, Bridged, Command, Ended, Event, Launcher, Outcome, Start};
pub use job::{Backend, COUNT_MAX, Job, Program, Resources, Shape};
pub use processes::{Processes, Where};
pub use request::{
    ATTRIBUTES_MAX, ID_BYTES_MAX, LINE_BYTES_MAX, REQUEST_BYTES_MAX, Request, Requests,
};
pub use shell::quoted;
pub use slurm::{Settings, Slurm, cancel_waiting, list_waiting};

#[cfg(test)]
mod golden;
