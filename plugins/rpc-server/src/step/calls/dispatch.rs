//! Calls on their way to executables and back.

use std::time::Duration;

use farcall_base::{ChannelId, ConnectionId, Error, ErrorKind, ExecutableId, Instant, Result};
use farcall_wire::{Argument, CallResult, CallTimes};

use crate::state::{AllowedBy, Call, CallKey, FREE_BYTES, Finished, InLine, PeerKind};
use crate::step::calls::files;
use crate::step::calls::translate::{answer, check_announced, failed, layout_after};
use crate::step::executables::line::is_small;
use crate::step::{Server, Surroundings};

impl Server {
    /// Passes a call to an executable.
    pub(in crate::step) fn dispatch(
        &mut self,
        surroundings: &mut dyn Surroundings,
        key: CallKey,
        executable: ExecutableId,
    ) -> Result<()> {
        let now = surroundings.now();
        let gone = || Error::internal("pass a call on", "its executable has ended");
        let connection =
            self.state.executables.get(&executable).and_then(|e| e.connection).ok_or_else(gone)?;
        let shares = self.state.front.peer(connection).ok_or_else(gone)?.shares_memory;
        self.check_wall_time(key, executable)?;
        let open = self.translate(surroundings, key, executable, shares)?;
        self.tell_begin(key);
        let peer = self.state.front.peer_mut(connection).ok_or_else(gone)?;
        let channel = peer.connection.open(&open)?;
        self.state.out.touch(connection);
        let client = self.state.calls.get(&key).and_then(|call| Some(call.client?.0));
        self.stand_in_line(now, executable, InLine { key, channel, client });
        if let Some(call) = self.state.calls.get_mut(&key) {
            call.times.started = now;
            call.run.executable = Some(executable);
        }
        let by_module =
            self.state.executables.get(&executable).and_then(|e| e.limits.call_seconds_max);
        // It begins at once, or within milliseconds (`step/executables/line.rs`).
        self.state.calls.allow(now, key, by_module.map(Duration::from_secs));
        Ok(())
    }

    /// Refuses what asks for more time than the server allows its module: it would end in the middle.
    fn check_wall_time(&self, key: CallKey, executable: ExecutableId) -> Result<()> {
        let asked = self.state.calls.get(&key).and_then(|call| call.times.wall_time);
        let record = self.state.executables.get(&executable);
        let most = record.and_then(|record| record.limits.call_seconds_max);
        let (Some(asked), Some(most)) = (asked, most) else { return Ok(()) };
        if asked <= Duration::from_secs(most) {
            return Ok(());
        }
        let message = format!(
            "{} s were requested as wall_time, and limits.call_seconds_max is {most}",
            asked.as_secs_f64()
        );
        Err(Error::new(ErrorKind::LimitExceeded, "run a routine", message)
            .fix("ask for less, or raise limits.call_seconds_max in the server's farcall.toml"))
    }

    /// The error of a call that timed out.
    pub(in crate::step) fn too_late(&self, at: Instant, key: CallKey) -> Error {
        let call = self.state.calls.get(&key);
        let allowed = call.and_then(|call| call.times.allowed);
        let allowed = allowed.filter(|allowed| allowed.until == at);
        let Some(allowed) = allowed.filter(|allowed| allowed.by == AllowedBy::Module) else {
            let words = call.map_or_else(
                || "timed out".to_owned(),
                |call| timed_out(call, at, self.job_waited_for(call)),
            );
            let error = Error::new(ErrorKind::TimedOut, "run a routine", words);
            return match allowed {
                Some(allowed) if allowed.by == AllowedBy::WallTime => error
                    .with("wall_time", rounded(allowed.time))
                    .fix("raise wall_time=; time in the queue does not count"),
                Some(allowed) => error
                    .with("run_timeout", rounded(allowed.time))
                    .fix("raise run_timeout=; time in the queue does not count"),
                None => error.fix("raise timeout="),
            };
        };
        Error::new(
            ErrorKind::LimitExceeded,
            "run a routine",
            "it ran longer than the server allows for its module",
        )
        .with("limits.call_seconds_max", allowed.time.as_secs())
        .fix("reduce the size of the problem, or raise the limit in the server's farcall.toml")
    }

    /// The outcome's head came from the executable; results that are arrays may still come, in the
    /// extents it gives.
    pub(in crate::step) fn call_resulted(
        &mut self,
        surroundings: &mut dyn Surroundings,
        executable: ExecutableId,
        channel: ChannelId,
        mut result: Box<CallResult>,
    ) -> Result<()> {
        self.await_results(surroundings.now(), executable, channel, &result.results);
        let limit = self.state.limits.call_bytes_max;
        let call = self.in_line(executable, channel).and_then(|key| self.state.calls.get_mut(&key));
        let Some(call) = call else { return Ok(()) };
        match layout_after(call, &result.results) {
            Ok(Some(layout)) if result.failure.is_none() => call.layout = layout,
            Err(error) if result.failure.is_none() => result.failure = Some((&error).into()),
            _ => {}
        }
        if result.failure.is_none() {
            check_announced(call, &result.results)?;
            if let Err(error) = files::make_room(call, &result.results, limit, surroundings) {
                result.failure = Some((&error).into());
            }
        }
        call.run.results = Some(result);
        Ok(())
    }

    /// An executable that a launcher started sends large results when it is their turn.
    fn await_results(
        &mut self,
        now: Instant,
        executable: ExecutableId,
        channel: ChannelId,
        results: &[Argument],
    ) {
        let is_launched =
            self.state.executables.get(&executable).is_some_and(|record| record.launched);
        // Files may be of a length that nobody knows.
        let length = |argument: &Argument| match argument {
            Argument::Blocks(length) => length.unwrap_or(u64::MAX),
            _ => 0,
        };
        if is_launched && results.iter().map(length).fold(0, u64::saturating_add) > FREE_BYTES {
            self.state.executables.passing.wait((executable, channel));
            self.let_results_come(now);
        }
    }

    /// Has those send whose turn it is.
    pub(in crate::step) fn let_results_come(&mut self, now: Instant) {
        while let Some((executable, channel)) = self.state.executables.passing.next(now) {
            let connection =
                self.state.executables.get(&executable).and_then(|record| record.connection);
            let Some(connection) = connection else { continue };
            if let Some(peer) = self.state.front.peer_mut(connection) {
                peer.connection.grant(channel, u64::MAX);
                self.state.out.touch(connection);
            }
        }
    }

    /// The executable's answer is complete.
    pub(in crate::step) fn call_finished(
        &mut self,
        surroundings: &mut dyn Surroundings,
        executable: ExecutableId,
        channel: ChannelId,
    ) {
        self.state.executables.passing.came((executable, channel));
        self.let_results_come(surroundings.now());
        if !self.is_to_be_heard_out(executable, channel) {
            self.call_over(surroundings, executable, channel);
        }
    }

    /// All that is to be known of a call is known.
    pub(super) fn call_over(
        &mut self,
        surroundings: &mut dyn Surroundings,
        executable: ExecutableId,
        channel: ChannelId,
    ) {
        let now = surroundings.now();
        if let Some(key) = self.leave_executable(now, executable, channel) {
            self.answered(surroundings, key);
        }
        self.serve_next(surroundings, executable);
    }

    fn answered(&mut self, surroundings: &mut dyn Surroundings, key: CallKey) {
        let Some(call) = self.state.calls.get_mut(&key) else { return };
        let Some(result) = call.run.results.take() else { return };
        let ran_ns = result.times.finished_ns.saturating_sub(result.times.started_ns);
        if is_small(call) {
            call.routine.learn(ran_ns);
        }
        let executable = call.run.executable;
        let has_failed = result.failure.is_some();
        if self.state.queue.needs_run_times() && result.failure.is_none() {
            self.state.queue.times.observe(call, ran_ns as f64 * 1e-9);
        }
        if has_failed {
            self.tell_threads_again(executable);
        } else {
            self.learn_threads(key, ran_ns);
        }
        let Some(call) = self.state.calls.get_mut(&key) else { return };
        // What was to end has ended, however its routine put it.
        let outcome = match (call.run.unwanted.take(), result.failure) {
            (Some(unwanted), _) => Err(unwanted),
            (None, Some(failure)) => Err(Error::from(failure)),
            (None, None) => Ok((result.results, result.times)),
        };
        self.finish(surroundings, key, outcome);
    }

    /// Gives the client the outcome and forgets the call.
    pub(in crate::step) fn finish(
        &mut self,
        surroundings: &mut dyn Surroundings,
        key: CallKey,
        outcome: Result<(Vec<Argument>, CallTimes)>,
    ) {
        self.end_inside(surroundings, key);
        self.tell_missed(key);
        self.settle_turn(key, &outcome, surroundings.now());
        let Some(mut call) = self.state.calls.remove(key) else { return };
        self.finish_inside(call.nesting.parent, key);
        self.settle_stays(surroundings, (key, &mut call), &outcome);
        match (call.run.executable, call.on) {
            (Some(_), _) => {}
            (None, Some(executable)) => {
                self.leave_object_line(surroundings, key, &call, executable)
            }
            (None, None) => self.leave_line(key, &call),
        }
        let result = outcome.and_then(|(results, times)| answer(&call, results, times));
        let result = result.unwrap_or_else(|error| failed(&call, &error, surroundings.now()));
        self.count_end(&call, &result);
        self.audit_end(&call, &result);
        if self.state.reporting.listens() {
            self.note_run(&call, &result.times);
        }
        let client = call.client;
        if let Some((connection, channel)) = client
            && let Some(PeerKind::Client { calls, .. }) = self.kind_mut(connection)
        {
            calls.remove(channel);
        }
        let id = call.id;
        let waits_since = surroundings.now();
        self.put_away(
            surroundings,
            client,
            Finished {
                id,
                call: Some(call),
                files: None,
                value: None,
                written: None,
                result,
                waits_since,
            },
        );
        self.wake_calls(surroundings);
    }

    /// A call has ended: its user pays for how long it ran, and not for how long it was expected to.
    fn settle_turn(
        &mut self,
        key: CallKey,
        outcome: &Result<(Vec<Argument>, CallTimes)>,
        now: Instant,
    ) {
        let Some(call) = self.state.calls.get(&key) else { return };
        let seconds = match (call.run.executable, outcome) {
            (None, _) => 0.0,
            (Some(_), Ok((_, times))) => {
                times.finished_ns.saturating_sub(times.started_ns) as f64 * 1e-9
            }
            (Some(_), Err(_)) => now.since(call.times.started).as_secs_f64(),
        };
        self.state.settle_share(key, seconds);
    }

    /// The driver sent frames of a connection: calls whose last result frame left are forgotten.
    pub fn settle(&mut self, surroundings: &mut dyn Surroundings, connection: ConnectionId) {
        self.settle_callbacks(surroundings, connection);
        self.count_answers(connection);
        self.settle_large(surroundings, connection);
        if !self.state.calls.is_sending() {
            return;
        }
        if let Some(peer) = self.state.front.peer_mut(connection).filter(|peer| peer.has_sent) {
            (peer.moved, peer.has_sent) = (surroundings.now(), false);
        }
        let channels: Vec<ChannelId> = self.state.calls.channels_sending(connection).collect();
        for channel in channels {
            let open = self
                .state
                .front
                .peer_mut(connection)
                .is_some_and(|peer| peer.connection.is_open(channel));
            if open {
                continue;
            }
            if let Some(sent) = self.state.calls.sent((connection, channel)) {
                self.let_go(surroundings, sent);
            }
        }
    }

    /// Ends a call early, for `error`: at once if it has not begun, with its executable if it runs.
    pub(in crate::step) fn abort(
        &mut self,
        surroundings: &mut dyn Surroundings,
        key: CallKey,
        error: Error,
    ) {
        match self.state.calls.get(&key).map(|call| call.run.executable) {
            Some(Some(executable)) => self.take_from_line(surroundings, executable, key, error),
            Some(None) => self.finish(surroundings, key, Err(error)),
            None => {}
        }
    }

    /// The client is gone: nobody wants the call's outcome.
    pub(in crate::step) fn client_gone(
        &mut self,
        surroundings: &mut dyn Surroundings,
        key: CallKey,
    ) {
        let Some(call) = self.state.calls.get_mut(&key) else { return };
        call.client = None;
        if self.goes_on_alone(key) {
            return;
        }
        let error =
            Error::new(ErrorKind::ConnectionLost, "run a routine", "its client has disconnected");
        self.abort(surroundings, key, error);
    }
}

/// How long a call took until it timed out, how much of that it spent in the queue and running, and
/// which job it waited for.
fn timed_out(call: &Call, at: Instant, job: Option<String>) -> String {
    let total = rounded(at.since(call.times.accepted));
    let runs = call.run.executable.is_some();
    let left = if runs { call.times.started } else { at };
    let has_arrived = call.arguments.complete && call.arguments.fetching == 0;
    let job = job.map_or(String::new(), |job| format!(" ({job})"));
    let queued = rounded(left.since(call.times.queued));
    let ran = rounded(at.since(left));
    if !has_arrived {
        format!("timed out after {total}")
    } else if queued == total {
        format!("timed out after {total}, all of it in the queue{job}")
    } else if ran == total {
        format!("timed out after {total}, all of it running")
    } else if runs {
        format!("timed out after {total}, {queued} of it in the queue and {ran} running")
    } else {
        format!("timed out after {total}, {queued} of it in the queue{job}")
    }
}

/// A time as people read it: `30 s`, `1.5 s`, `20 ms`.
fn rounded(time: Duration) -> String {
    match time.as_millis() {
        milliseconds @ ..100 => format!("{milliseconds} ms"),
        milliseconds => format!("{} s", ((milliseconds + 50) / 100) as f64 / 10.0),
    }
}
