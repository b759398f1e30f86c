//! What the results folder has of the calls of an earlier server.

use std::time::Duration;

use farcall_base::{CallId, Error, ErrorKind, Result};
use farcall_wire::{CallResult, CallTimes};

use super::file::Head;
use super::folder::{Folder, Stage, since_1970};
use crate::state::Written;
use crate::step::{Restored, Was};

/// What was found.
#[derive(Default)]
pub struct Found {
    /// Calls, those that wait in their order.
    pub restored: Vec<Restored>,
    /// What is wrong with the rest, with the files' names.
    pub wrong: Vec<Error>,
    /// The calls of which that is, and how.
    pub unreadable: Vec<(CallId, ErrorKind)>,
}

/// Reads what an earlier server left. What was to be forgotten by now is; what cannot be read is
/// put aside, but for what another release wrote, which stays as it is.
pub fn restore(folder: &mut Folder) -> Found {
    let (calls, damaged) = folder.list();
    let mut found = Found::default();
    found.unreadable.extend(damaged.into_iter().map(|id| (id, ErrorKind::Damaged)));
    let mut waiting = Vec::new();
    for (id, stages) in calls {
        // The last stage is the truth; what was before it is gone when that is on the disk.
        let Some(stage) = stages.last().copied() else { continue };
        let one = match stage {
            Stage::Over => restore_outcome(folder, id),
            _ => restore_accepted(folder, id, stage),
        };
        match one {
            Ok(Some((order, one))) if matches!(one.was, Was::Waiting(_)) => {
                waiting.push((order, one))
            }
            Ok(one) => found.restored.extend(one.map(|(_, one)| one)),
            Err(error) => {
                let file = folder.place(id, stage);
                if error.kind() == ErrorKind::Damaged {
                    folder.put_aside(id, stage);
                }
                found.unreadable.push((id, error.kind()));
                found.wrong.push(error.with("file", file.display()));
            }
        }
    }
    waiting.sort_by_key(|(order, _)| *order);
    if let Some((last, _)) = waiting.last() {
        folder.continue_after(*last);
    }
    found.restored.extend(waiting.into_iter().map(|(_, one)| one));
    found
}

fn restore_outcome(folder: &Folder, id: CallId) -> Result<Option<(u64, Restored)>> {
    let (file, head) = folder.read(id)?;
    let bytes = file.metadata().map_err(|error| Error::system("read a result", error))?.len();
    let now = since_1970();
    let Some(expires) = head.expires else {
        // Earlier releases wrote so that a call was open, and kept no arguments.
        let was = Was::Ended(ended("the server stopped while the call ran"));
        return Ok(Some((0, restored(id, written(head), was, None, 0))));
    };
    if expires <= now {
        let _ = folder.erase(id);
        return Ok(None);
    }
    let failed = head.result.as_ref().is_some_and(|result| result.failure.is_some());
    // A clock that was set back keeps nothing for longer than was asked for.
    let left = (expires - now).min(head.keep.after_end());
    Ok(Some((0, restored(id, written(head), Was::Stored { failed }, Some(left), bytes))))
}

fn restore_accepted(folder: &Folder, id: CallId, stage: Stage) -> Result<Option<(u64, Restored)>> {
    let (_, mut head, left) = folder.read_accepted(id, stage)?;
    if stage == Stage::Waits {
        head.check_arrays(left)?;
    }
    let bytes = head.array_bytes();
    if let Some(at) = head.deadline {
        // A clock that was set back gives no more time than there was.
        let left = u64::try_from(at.saturating_sub(since_1970()).as_micros()).unwrap_or(u64::MAX);
        let known = head.accepted.open.remaining_us.unwrap_or(u64::MAX);
        head.accepted.open.remaining_us = Some(left.min(known));
    }
    let on_object = head.accepted.on_object;
    let Written { resume, routine, principal, keep } = &head.accepted.written;
    let copy = Written {
        resume: resume.clone(),
        routine: routine.clone(),
        principal: principal.clone(),
        keep: *keep,
    };
    let was = match stage {
        Stage::Waits => Was::Waiting(Box::new(head.accepted)),
        Stage::Unstored => Was::Ended(never_stored()),
        _ if on_object => {
            Was::Ended(ended("the server stopped, and the call's object ended with it"))
        }
        _ => Was::Ended(ended("the server stopped while the call ran")),
    };
    Ok(Some((head.order, restored(id, copy, was, None, bytes))))
}

fn written(head: Head) -> Written {
    let Head { resume, routine, principal, keep, .. } = head;
    Written { resume, routine, principal, keep }
}

fn restored(
    id: CallId,
    written: Written,
    was: Was,
    left: Option<Duration>,
    bytes: u64,
) -> Restored {
    let left = left.unwrap_or(written.keep.after_end());
    Restored { id, written: Box::new(written), was, bytes, left }
}

/// What becomes of a call that had begun when the server ended.
fn ended(why: &'static str) -> CallResult {
    let error = Error::new(ErrorKind::ShuttingDown, "run a routine", why)
        .fix("submit it again if it may run twice: it may have run partly or completely");
    failed(&error)
}

/// What becomes of one that was over, and whose outcome nobody could write down.
fn never_stored() -> CallResult {
    let message = "it had finished, but its outcome could not be written to the results directory \
        before the server stopped";
    let error = Error::new(ErrorKind::LimitExceeded, "keep a result", message)
        .fix("free disk space for the server's results; submit the call again if it may run twice");
    failed(&error)
}

fn failed(error: &Error) -> CallResult {
    CallResult {
        failure: Some(error.into()),
        results: Vec::new(),
        times: CallTimes::default(),
        attributes: None,
    }
}
