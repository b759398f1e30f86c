//! The journal: what happened at this server, one plain value for each event, and its two readers.
//!
//! The audit log has what became of calls, orders and connections. The log has that, and what
//! begins and ends; it takes what its level says.

mod audit;
mod line;
mod log;

use std::sync::Arc;

use farcall_base::{Error, ErrorKind, Result};
use farcall_system::outlet;

use crate::state::AuditRecord;
use crate::{LogLevel, Options};
use audit::{AuditLog, AuditOptions};
pub use line::moment;
use log::{Log, LogOptions};

/// What happened.
pub enum Event {
    /// What became of a call, an order or a connection.
    Record(Arc<AuditRecord>),
    /// Somebody whom a transport turned away.
    Stranger(Error),
    /// Something is wrong with what is kept: how, and in words. In the log only.
    Results(ErrorKind, String),
    /// Something is wrong with how the server is set up: how, and in words. In the log only.
    Setup(ErrorKind, String),
    /// An executable or a connection begins or ends. In the log only.
    Life(Life),
}

/// The start or the end of an executable or a connection.
#[derive(Default)]
pub struct Life {
    /// What the server knows it by: one of both.
    pub executable: Option<u64>,
    pub connection: Option<u64>,
    /// What an executable runs, and its process.
    pub module: Option<String>,
    pub pid: Option<u32>,
    /// Who has a connection, and where they are.
    pub principal: Option<String>,
    pub peer: Option<String>,
    /// In a word, and in more.
    pub outcome: &'static str,
    pub message: Option<String>,
}

/// Takes events, and hands them to its readers.
pub struct Journal {
    audit: Option<AuditLog>,
    log: Option<Log>,
}

impl Journal {
    /// With the readers that the manifest wants.
    ///
    /// # Errors
    /// `System` when one of them cannot begin.
    pub fn open(options: &Options) -> Result<Journal> {
        let audit = AuditOptions::of(options).map(AuditLog::open).transpose()?;
        let log = LogOptions::of(options)
            .map(|options| Log::open(options, outlet::error().waiting()))
            .transpose()?;
        Ok(Journal { audit, log })
    }

    /// Something is wrong with how the server is set up.
    pub fn warn(&self, error: &Error) {
        if let Some(log) = &self.log {
            log.warn(error);
        }
    }

    /// What became of a call, an order or a connection.
    pub fn record(&self, record: Arc<AuditRecord>) {
        if let Some(log) = &self.log {
            log.record(&record);
        }
        if let Some(log) = &self.audit {
            log.record(record);
        }
    }

    /// A transport turned a client away.
    pub fn stranger(&self, reason: Error) {
        if let Some(log) = &self.log {
            log.stranger(&reason);
        }
        if let Some(log) = &self.audit {
            log.stranger(reason);
        }
    }

    /// Something is wrong with what is kept.
    pub fn results(&self, error: &Error) {
        if let Some(log) = &self.log {
            log.results(error);
        }
    }

    /// An executable or a connection begins or ends; what of it is worked out only if it is logged.
    pub fn life(&self, level: LogLevel, life: impl FnOnce() -> Life) {
        if let Some(log) = &self.log {
            log.life(level, life);
        }
    }
}
