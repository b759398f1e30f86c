//! The jobs service: executables that launchers start elsewhere, and the jobs that these run in.

use farcall_wire::JobStatus;

use crate::mailbox::{Port, Reply};
use crate::spawner::SpawnerHandle;

/// What can be asked about jobs.
pub enum Request {
    /// Tell of all jobs now, and again whenever something changes about one. Whoever asked before
    /// is told no more.
    Watch(Port<Vec<JobStatus>>),
    /// End a job with all that runs in it; its executables' ends are reported.
    Cancel {
        /// Which one.
        number: u64,
        /// Told when its launcher was told. `NotFound`.
        done: Reply<()>,
    },
}

/// Sends requests to the spawner that has launchers.
#[derive(Clone)]
pub struct JobsHandle {
    spawner: SpawnerHandle,
    port: Port<Request>,
}

impl JobsHandle {
    /// A handle on whatever serves `port`, and starts executables.
    pub fn new(spawner: SpawnerHandle, port: Port<Request>) -> Self {
        JobsHandle { spawner, port }
    }

    /// Starts and ends executables.
    pub fn spawner(&self) -> &SpawnerHandle {
        &self.spawner
    }

    /// Whether the wish to hear of jobs was taken.
    pub fn watch(&self, watcher: Port<Vec<JobStatus>>) -> bool {
        self.port.try_send(Request::Watch(watcher)).is_ok()
    }

    /// Ends a job; whatever happens arrives at `done`.
    pub fn cancel(&self, number: u64, done: Reply<()>) {
        let Err(refused) = self.port.try_send(Request::Cancel { number, done }) else { return };
        if let Request::Cancel { done, .. } = refused.message {
            done.answer(Err(refused.refusal.error("end a job")));
        }
    }
}
