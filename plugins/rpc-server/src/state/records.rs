//! Records for the logs.

use std::sync::Arc;

use farcall_base::{CallId, Error};
use farcall_wire::CallTimes;

use super::Caller;

/// Which records of what became of calls, connections and orders are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Records {
    /// None.
    None,
    /// All but those of calls that returned.
    Failures,
    /// All.
    All,
}

/// What became of a call, of an order, or of a connection.
#[derive(Debug)]
pub struct AuditRecord {
    /// Whose it was.
    pub caller: Arc<Caller>,
    /// The call; without it and an order, a connection was refused.
    pub call: Option<AuditedCall>,
    /// The order, in words.
    pub order: Option<String>,
    /// Why it failed or was refused.
    pub failure: Option<Error>,
}

/// A call in the audit log.
#[derive(Debug)]
pub struct AuditedCall {
    /// Its id; `None` where only its interface was asked for.
    pub id: Option<CallId>,
    /// The call that made it, if a routine did.
    pub parent: Option<CallId>,
    /// Full name of the routine, as far as it is known.
    pub routine: String,
    /// When it was queued, started and finished, since it came.
    pub times: CallTimes,
    /// Bytes of its arguments, strings not counted.
    pub bytes_in: u64,
    /// Bytes of its results, strings not counted.
    pub bytes_out: u64,
}
