//! What a client is told of its call while it waits: how many are before it, that it began, what
//! its routine writes.
//!
//! An executable that runs a call whose output is wanted runs no other. Its spawner listens before
//! the call leaves, and has told everything before the call counts as over. So every byte is told,
//! in order, before the outcome, and nothing of another's call. Only a client that does not read in
//! time misses some, and learns how much.

use farcall_base::{ChannelId, ConnectionId, Error, ExecutableId};
use farcall_services::spawner::{Output, Said};
use farcall_wire::{Attribute, JobStatus, NOTICES, Notice, Open, wants};

use crate::state::{Action, Call, CallKey, Phase, Wants};
use crate::step::executables::pool::Rank;
use crate::step::{Server, Surroundings};

/// Bytes of output in one notice: any peer takes as many.
const PIECE_BYTES: usize = 16 << 10;

impl Wants {
    /// What the opener of a call wants to be told.
    pub(in crate::step) fn of(open: &Open) -> Wants {
        let attribute =
            open.attributes.iter().flatten().find(|attribute| attribute.name == NOTICES);
        let bits = attribute.and_then(|attribute| attribute.value.first()).copied().unwrap_or(0);
        let is_wanted = |bit: u8| bits & bit != 0;
        Wants {
            progress: is_wanted(wants::PROGRESS),
            output: is_wanted(wants::OUTPUT),
            processor_time: is_wanted(wants::PROCESSOR_TIME),
        }
    }
}

impl Wants {
    /// What an executable is to tell of it.
    pub(super) fn of_executable(self) -> Option<Vec<Attribute>> {
        let value = vec![wants::PROCESSOR_TIME];
        self.processor_time
            .then(|| vec![Attribute { name: NOTICES.to_owned(), critical: false, value }])
    }
}

impl Server {
    /// A call came last into its line, if it did not leave that at once.
    pub(in crate::step) fn tell_place(&mut self, key: CallKey) {
        let Some(call) = self.state.calls.get(&key).filter(|call| call.wants.progress) else {
            return;
        };
        let pool = self.state.queue.get(&call.module_key());
        let in_pool = || pool.filter(|pool| pool.last() == Some(key)).map(|pool| pool.count() - 1);
        let before =
            call.on.map_or_else(in_pool, |executable| self.before_at_object(key, executable));
        let Some(before) = before else { return };
        self.notify(key, &Notice::Queued(u32::try_from(before).unwrap_or(u32::MAX)));
        self.tell_wait(key);
    }

    /// A call waits for an executable that a launcher starts elsewhere: how far the job for that
    /// is.
    fn tell_wait(&mut self, key: CallKey) {
        let Some(call) = self.state.calls.get(&key).filter(|call| call.wants.progress) else {
            return;
        };
        let Some(pool) = self.state.queue.get(&call.module_key()) else { return };
        if let Some(words) = waited_for(self.state.executables.jobs.all(), &pool.image.launcher) {
            self.notify(key, &Notice::Progress(0.0, words));
        }
    }

    /// The job that a call waits for, and how it is: `job 12 PENDING, PartitionDown`.
    pub(super) fn job_waited_for(&self, call: &Call) -> Option<String> {
        let pool = self.state.queue.get(&call.module_key())?;
        let waits = call.run.executable.is_none();
        let jobs = self.state.executables.jobs.all();
        let job = next_of(jobs, &pool.image.launcher).filter(|_| waits)?;
        let words = job.text.strip_prefix("waiting: ").unwrap_or(&job.text);
        let words = if words.is_empty() { String::new() } else { format!(", {words}") };
        Some(format!("{} {}{words}", named(job), job.state.to_uppercase()))
    }

    /// Jobs are not as they were before.
    pub(in crate::step) fn tell_waits(&mut self, before: &[JobStatus]) {
        let is_news = |launcher: &str| {
            waited_for(self.state.executables.jobs.all(), launcher) != waited_for(before, launcher)
        };
        let pools = self.state.queue.pools().filter(|(_, pool)| is_news(&pool.image.launcher));
        let calls: Vec<CallKey> = pools.flat_map(|(_, pool)| pool.waiting()).collect();
        for key in calls {
            self.tell_wait(key);
        }
    }

    /// A call is passed on.
    pub(super) fn tell_begin(&mut self, key: CallKey) {
        if self.state.calls.get(&key).is_some_and(|call| call.wants.progress) {
            self.notify(key, &Notice::Started);
        }
    }

    /// Whether a call can be passed to an executable, which is free, only when its spawner listens
    /// to that. Then what others left in its pipes is nobody's any more.
    pub(in crate::step) fn is_to_be_listened_to(
        &mut self,
        key: CallKey,
        executable: ExecutableId,
    ) -> bool {
        let is_wanted = self.state.calls.get(&key).is_some_and(|call| call.wants.output);
        if is_wanted && let Some(record) = self.state.executables.get_mut(&executable) {
            record.phase = Phase::Reserved(key);
            self.state.out.act(Action::Listen(executable));
        }
        is_wanted
    }

    /// The spawner listens to an executable, or cannot.
    pub fn listening(
        &mut self,
        surroundings: &mut dyn Surroundings,
        executable: ExecutableId,
        outcome: Result<(), Error>,
    ) {
        let Some(record) = self.state.executables.get_mut(&executable) else { return };
        let Phase::Reserved(key) = record.phase else { return };
        record.phase = Phase::Busy;
        match outcome {
            Ok(()) if self.state.calls.contains_key(&key) => {
                return self.pass_on(surroundings, key, executable);
            }
            Ok(()) => {}
            Err(error) => self.finish(surroundings, key, Err(error)),
        }
        self.free(surroundings.now(), executable);
        self.serve_next(surroundings, executable);
    }

    /// An executable ends that was kept for a call: that is the first in line again.
    pub(in crate::step) fn give_back(&mut self, executable: ExecutableId, phase: Phase) {
        let Phase::Reserved(key) = phase else { return };
        if self.state.calls.get(&key).is_some_and(|call| call.on.is_some()) {
            return self.return_to_object(key, executable);
        }
        self.wait_in_pool(key, Rank::First);
    }

    /// Whether a call that was answered is over only when the spawner has told all that its routine
    /// wrote.
    pub(super) fn is_to_be_heard_out(
        &mut self,
        executable: ExecutableId,
        channel: ChannelId,
    ) -> bool {
        let wanted = self.in_line(executable, channel).and_then(|key| self.state.calls.get(&key));
        let Some(record) =
            self.state.executables.get_mut(&executable).filter(|record| record.hushing.is_none())
        else {
            return false;
        };
        let is_wanted = wanted.is_some_and(|call| call.wants.output);
        if is_wanted {
            record.hushing = Some(channel);
            self.state.out.act(Action::Hush(executable));
        }
        is_wanted
    }

    /// An executable wrote something: it is told to the client whose call it runs, if he wants to
    /// know.
    pub fn said(&mut self, said: &Said) {
        let front =
            self.state.executables.get(&said.executable).and_then(|record| record.line.front());
        let Some(key) = front else { return };
        let Some(call) = self.state.calls.get_mut(&key).filter(|call| call.wants.output) else {
            return;
        };
        call.run.output_lost += said.lost;
        for bytes in said.bytes.chunks(PIECE_BYTES) {
            self.tell_output(key, said.output, bytes);
        }
    }

    fn tell_output(&mut self, key: CallKey, output: Output, bytes: &[u8]) {
        let Some(lost) = self.state.calls.get(&key).map(|call| call.run.output_lost) else {
            return;
        };
        if lost > 0 && !self.notify(key, &Notice::Output(output as u8, left_out(lost))) {
            return self.lose(key, bytes.len());
        }
        if let Some(call) = self.state.calls.get_mut(&key) {
            call.run.output_lost = 0;
        }
        if !self.notify(key, &Notice::Output(output as u8, bytes.to_vec())) {
            self.lose(key, bytes.len());
        }
    }

    fn lose(&mut self, key: CallKey, bytes: usize) {
        if let Some(call) = self.state.calls.get_mut(&key) {
            call.run.output_lost += bytes as u64;
        }
    }

    /// The spawner has told all that an executable wrote in a call that wants it.
    pub fn heard_out(&mut self, surroundings: &mut dyn Surroundings, executable: ExecutableId) {
        let hushing =
            self.state.executables.get_mut(&executable).and_then(|record| record.hushing.take());
        let Some(channel) = hushing else { return };
        self.call_over(surroundings, executable, channel);
    }

    /// A call is over: how much its client missed at the end is told even if he does not read, as
    /// the outcome is.
    pub(super) fn tell_missed(&mut self, key: CallKey) {
        let Some(call) = self.state.calls.get_mut(&key).filter(|call| call.run.output_lost > 0)
        else {
            return;
        };
        let note = Notice::Output(
            Output::Stderr as u8,
            left_out(std::mem::take(&mut call.run.output_lost)),
        );
        if let Some((connection, channel)) = call.client
            && let Some(peer) = self.state.front.peer_mut(connection)
        {
            self.state.out.touch(connection);
            peer.connection.last_notice(channel, &note);
        }
    }

    /// False if the client does not read.
    pub(in crate::step) fn notify(&mut self, key: CallKey, notice: &Notice) -> bool {
        let client = self.state.calls.get(&key).and_then(|call| call.client);
        client.is_none_or(|(connection, channel)| self.notify_client(connection, channel, notice))
    }

    /// The same of a call that has ended, whose outcome was not sent yet.
    pub(in crate::step) fn notify_client(
        &mut self,
        connection: ConnectionId,
        channel: ChannelId,
        notice: &Notice,
    ) -> bool {
        let Some(peer) = self.state.front.peer_mut(connection) else { return true };
        self.state.out.touch(connection);
        peer.connection.notice(channel, notice)
    }
}

/// The next job of a launcher that has not come, in words; `None` for calls that no launcher has to
/// do with.
fn waited_for(jobs: &[JobStatus], launcher: &str) -> Option<String> {
    let job = next_of(jobs, launcher)?;
    let how = if job.text.is_empty() { &job.state } else { &job.text };
    Some(format!("waits for {} of {launcher}: {how}", named(job)))
}

/// The next job of a launcher that has not come.
fn next_of<'a>(jobs: &'a [JobStatus], launcher: &str) -> Option<&'a JobStatus> {
    let has_come = |job: &JobStatus| job.state == "ending" || !job.hosts.is_empty();
    jobs.iter().find(|job| job.launcher == launcher && !has_come(job))
}

fn named(job: &JobStatus) -> String {
    if job.id.is_empty() { "a job".to_owned() } else { format!("job {}", job.id) }
}

fn left_out(lost: u64) -> Vec<u8> {
    format!(
        "\n[farcall: {lost} bytes are left out here: they arrived faster than they were read]\n"
    )
    .into_bytes()
}
