//! The end-to-end tests, in one program: what takes time to link is linked once, and tests that
//! wait do so side by side.

#![allow(clippy::unwrap_used)]

mod access;
mod alarms;
mod alive;
mod asked;
mod astray;
mod battery;
mod bridge;
mod callbacks;
mod cancel;
mod cli;
mod code;
mod confined;
mod copies;
mod crowds;
mod cut_off;
mod disk;
mod false_reports;
mod files;
mod given;
mod hostile;
mod jobs;
mod kept;
mod killed;
mod lapack;
mod limits;
mod lists;
mod loading;
mod lost;
mod lying;
mod metaservers;
mod mpi;
mod nested;
mod network;
mod ng;
mod numbers;
mod objects;
mod order;
mod output;
mod placed;
mod placement;
mod plugins;
mod private;
mod publishers;
mod reconnect;
mod refused;
mod relayed;
mod republish;
mod rights;
mod roles;
mod ssh;
mod trouble;
mod watch;
mod zygotes;
