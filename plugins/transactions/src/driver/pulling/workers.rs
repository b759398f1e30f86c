//! The threads that pull.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use farcall_base::{ErrorKind, Result};
use farcall_services::mailbox::Reply;
use farcall_services::transactions::Pulled;
use farcall_services::transports::TransportsHandle;
use farcall_wire::PullRequest;

use super::{Limits, Part, Source};

/// Threads that wait for more, with their connections.
const IDLE_MAX: usize = 16;
/// For how long they do.
const IDLE: Duration = Duration::from_secs(3);

/// What a thread is to do.
pub(super) struct Job {
    pub(super) pull: Box<PullRequest>,
    pub(super) part: Part,
    pub(super) reply: Reply<Pulled>,
}

/// The threads that pull.
#[derive(Default)]
pub(super) struct Workers {
    /// Those that wait for more to do.
    idle: Mutex<Vec<Idle>>,
    numbers: AtomicU64,
}

struct Idle {
    /// Where the source is that it is connected to.
    addresses: Vec<String>,
    jobs: Sender<Job>,
    /// Tells it from others.
    number: u64,
}

impl Workers {
    /// Has a thread pull: one that is connected to the source, or a new one.
    pub(super) fn take(self: &Arc<Self>, transports: TransportsHandle, limits: Limits, job: Job) {
        let connected = {
            let mut idle = self.lock();
            let found = idle.iter().rposition(|one| one.addresses == job.pull.addresses);
            found.map(|index| idle.swap_remove(index).jobs)
        };
        let mut job = job;
        if let Some(jobs) = connected {
            match jobs.send(job) {
                Ok(()) => return,
                Err(unsent) => job = unsent.0,
            }
        }
        let workers = self.clone();
        // Where no thread can be started, the reply says so as it is dropped.
        let _ = std::thread::Builder::new()
            .name("pull".to_owned())
            .spawn(move || workers.work(&transports, &limits, job));
    }

    /// What a thread does.
    fn work(&self, transports: &TransportsHandle, limits: &Limits, mut job: Job) {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let mut source = None;
        loop {
            let Job { pull, part, reply } = job;
            let outcome = pull_from(&mut source, transports, &pull, limits);
            // A pull that is asked for because this value is here finds room, and this thread.
            drop(part);
            let more = source.is_some().then(|| self.wait(pull.addresses, number)).flatten();
            reply.answer(outcome);
            match more.and_then(|more| self.next(&more, number)) {
                Some(next) => job = next,
                None => break,
            }
        }
        if let Some(source) = source {
            source.line.leave();
        }
    }

    /// This thread may be sent more, where not too many wait already.
    fn wait(&self, addresses: Vec<String>, number: u64) -> Option<Receiver<Job>> {
        let mut idle = self.lock();
        (idle.len() < IDLE_MAX).then(|| {
            let (jobs, more) = channel();
            idle.push(Idle { addresses, jobs, number });
            more
        })
    }

    /// What it is sent in time.
    fn next(&self, more: &Receiver<Job>, number: u64) -> Option<Job> {
        match more.recv_timeout(IDLE) {
            Ok(job) => Some(job),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => {
                let mut idle = self.lock();
                let index = idle.iter().position(|one| one.number == number);
                index.map(|index| idle.swap_remove(index));
                drop(idle);
                // Nothing more comes where that was still there; else it comes at this moment.
                more.recv().ok()
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Idle>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Pulls over the connection that there is, or over a new one: the source may have ended the former
/// while nothing was asked of it.
fn pull_from(
    source: &mut Option<Source>,
    transports: &TransportsHandle,
    pull: &PullRequest,
    limits: &Limits,
) -> Result<Pulled> {
    if let Some(mut used) = source.take() {
        let before = used.line.progress();
        match used.pull(pull, limits) {
            Ok(told) => {
                *source = Some(used);
                return told;
            }
            Err(error) => {
                let is_lost = error.kind() == ErrorKind::ConnectionLost;
                if !is_lost || used.line.progress() != before {
                    return Err(error);
                }
            }
        }
    }
    let mut fresh = Source::dial(transports, pull, limits)?;
    let told = fresh.pull(pull, limits)?;
    *source = Some(fresh);
    told
}
