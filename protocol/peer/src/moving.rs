//! What becomes of a call that was placed on a server and failed there: whether it may be made at
//! another one.

use farcall_base::{Error, ErrorKind};

use crate::application::Reached;

/// What is known of a call that failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Failed {
    /// How far it came.
    pub reached: Reached,
    /// Whether nothing that was passed can have changed.
    pub is_intact: bool,
    /// Whether it timed out.
    pub is_late: bool,
    /// Whether it may run twice, and nobody notices.
    pub may_run_twice: bool,
}

/// Whether a call that ended so may be made at another server: nothing of it has run, or it may run
/// twice.
pub fn may_move(error: &Error, call: Failed) -> bool {
    use ErrorKind::{
        Cancelled, ConnectionLost, InterfaceChanged, NotFound, PermissionDenied, ShuttingDown,
        TimedOut, Unavailable, Unreachable,
    };
    let is_ended = call.is_late || call.reached.is_cancelled;
    if is_ended || matches!(error.kind(), Cancelled | TimedOut) {
        return false;
    }
    let is_lost = matches!(error.kind(), ConnectionLost | ShuttingDown);
    if !call.reached.has_left && (is_lost || error.kind() == InterfaceChanged) {
        return true;
    }
    if is_lost && !error.is_retryable() {
        return call.may_run_twice && call.is_intact;
    }
    let is_refusal =
        matches!(error.kind(), NotFound | PermissionDenied | InterfaceChanged | Unreachable)
            || error.kind() == Unavailable && error.is_retryable();
    // Of a connection that ended nobody can say how far the call came.
    let is_refused = call.reached.is_told && (is_refusal || error.is_retryable());
    is_refused && !error.has_begun() && call.is_intact
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [ErrorKind; 8] = [
        ErrorKind::Cancelled,
        ErrorKind::ConnectionLost,
        ErrorKind::NotFound,
        ErrorKind::PermissionDenied,
        ErrorKind::RoutineCrashed,
        ErrorKind::ShuttingDown,
        ErrorKind::TimedOut,
        ErrorKind::Unavailable,
    ];

    fn error(kind: ErrorKind) -> Error {
        Error::new(kind, "call", "no")
    }

    fn failed(bits: u8) -> Failed {
        let bit = |bit: u8| bits & (1 << bit) != 0;
        Failed {
            reached: Reached {
                has_left: bit(0),
                is_answered: bit(1),
                is_told: bit(2),
                is_cancelled: bit(6),
            },
            is_intact: bit(3),
            is_late: bit(4),
            may_run_twice: bit(5),
        }
    }

    /// All that may be known of a call that is lost: it moves only where it cannot have run, or may
    /// run twice; and never after it timed out or was cancelled.
    #[test]
    fn no_call_runs_at_two_servers_that_may_not() {
        for call in (0..128).map(failed) {
            for kind in KINDS {
                let moves = may_move(&error(kind), call);
                let is_lost = matches!(kind, ErrorKind::ConnectionLost | ErrorKind::ShuttingDown);
                let is_ended = call.is_late || call.reached.is_cancelled;
                assert!(!(moves && is_ended), "{kind:?} {call:?}");
                if is_lost && call.reached.has_left {
                    let may = call.may_run_twice && call.is_intact && !is_ended;
                    assert_eq!(moves, may, "{kind:?} {call:?}");
                }
                if matches!(kind, ErrorKind::RoutineCrashed | ErrorKind::Cancelled) {
                    assert!(!moves, "{kind:?} {call:?}");
                }
            }
        }
    }

    /// A server's own word that it does not take a call, and nothing of that has changed.
    #[test]
    fn a_call_that_a_server_refuses_goes_to_another_one() {
        let told = Reached { has_left: true, is_told: true, ..Reached::default() };
        let call = Failed { reached: told, is_intact: true, ..Failed::default() };
        assert!(may_move(&error(ErrorKind::NotFound), call));
        assert!(may_move(&error(ErrorKind::LimitExceeded).retryable(), call));
        assert!(!may_move(&error(ErrorKind::LimitExceeded), call));
        assert!(!may_move(&error(ErrorKind::NotFound), Failed { is_intact: false, ..call }));
    }
}
