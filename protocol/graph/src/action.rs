//! What the owner of a transaction is to do, and what it says of calls that ended.

use farcall_base::ErrorKind;

use crate::{CallNumber, DataNumber, ServerNumber};

/// Something to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Have the program send a value to a server.
    Send {
        /// Which.
        data: DataNumber,
        /// Where to.
        to: ServerNumber,
    },
    /// Have a server fetch a value from another one, as soon as it is there.
    Move {
        /// Which.
        data: DataNumber,
        /// Where it is, or is being made.
        from: ServerNumber,
        /// Where to.
        to: ServerNumber,
    },
    /// Open a call. Its arguments may still be on their way, or be made on that server.
    Open {
        /// Which.
        call: CallNumber,
        /// Where.
        server: ServerNumber,
        /// How often it was opened before.
        attempt: u32,
        /// Values that nobody else needs: it may work in their place.
        last_uses: Vec<DataNumber>,
    },
    /// End a run of a call. If it has not begun, say so by `handle_failed`: a call that may not run
    /// twice waits for that.
    Cancel {
        /// Which.
        call: CallNumber,
        /// Where.
        server: ServerNumber,
        /// Which time it is.
        attempt: u32,
    },
    /// Delete a value that nobody needs any more.
    Delete {
        /// Which.
        data: DataNumber,
        /// Where.
        server: ServerNumber,
    },
    /// Compare what a server from before a restart has with what is to be there. Calls are asked for
    /// by their ids; they go on, have ended, or are unknown. Values that are not there, results of
    /// calls that returned meanwhile included, are reported as gone, or as not moved if they were on
    /// their way. Whatever else of this transaction is on that server is ended or deleted.
    TakeUp {
        /// Which server.
        server: ServerNumber,
        /// Calls that are open there, with the attempt.
        calls: Vec<(CallNumber, u32)>,
        /// Values that are there or come there.
        data: Vec<DataNumber>,
    },
    /// A call has ended.
    Ended {
        /// Which.
        call: CallNumber,
        /// How.
        outcome: Ended,
    },
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It returned, there.
    Returned(ServerNumber),
    /// It failed.
    Failed(Failure),
    /// A call that it waits for failed, or what that made is lost: the first such call.
    NotRun(CallNumber),
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Its kind.
    pub kind: ErrorKind,
    /// For people.
    pub message: String,
    /// Whether the routine may have run.
    pub has_run: bool,
}
