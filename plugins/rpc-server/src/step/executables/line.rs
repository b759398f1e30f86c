//! Calls in line at an executable: the one that it works on, and those that it was given ahead of
//! time.
//!
//! An executable that finds its next call when it is done with one needs no wake-up in between.
//! That is worth it for calls that take less than a wake-up or two; and such calls wait behind one
//! another without anybody noticing. Should one take long after all, those behind it are taken
//! back. An executable passes a turnstile before each call, so what was taken back never runs there
//! (spec/call.md, section 6).

use std::time::Duration;

use farcall_base::{ChannelId, Error, ErrorKind, ExecutableId, Instant};
use farcall_idl::interface::{ElementType, Mode, Parameter};
use farcall_wire::Argument;

use crate::state::{Action, Call, CallKey, Executable, InLine, Known, Phase, Pool};
use crate::step::executables::pool::Rank;
use crate::step::{Server, Surroundings};

/// Arrays of a call whose length says nothing about its time.
const SMALL_BYTES: u64 = 64 << 10;
/// Time that the calls of a line may take together.
const LINE_TIME: Duration = Duration::from_micros(200);
/// Calls in a line, however short they are.
const LINE_MAX: usize = 64;
/// An executable with a line strikes our bell seldom: it is looked after this often.
const LOOK_EVERY: Duration = Duration::from_millis(1);
/// Time after which the calls behind the first in line are taken back.
const RECALL_AFTER: Duration = Duration::from_millis(5);
/// How often a call may come back and still run again after its executable ended with it.
const RUNS_AGAIN_MAX: u32 = 2;
/// How often a call may come back from executables before it fails: they end as fast as they are
/// started.
const RETURNS_MAX: u32 = 20;

impl Server {
    /// A call was passed to an executable.
    pub(in crate::step) fn stand_in_line(
        &mut self,
        now: Instant,
        executable: ExecutableId,
        one: InLine,
    ) {
        let brief = self.state.calls.get(&one.key).is_some_and(is_brief);
        let Some(record) = self.state.executables.get_mut(&executable) else { return };
        if record.line.is_empty() {
            record.phase = Phase::Busy;
            record.line.push(now, one);
            if record.line.takes_ahead()
                && brief
                && !record.held
                && let Some(pool) = self.state.queue.get_mut(&record.module)
            {
                pool.add_brief(executable);
            }
        } else {
            record.line.push(now, one);
            self.state.executables.begin_ahead(executable);
        }
    }

    /// The call behind a channel of an executable's connection.
    pub(in crate::step) fn in_line(
        &self,
        executable: ExecutableId,
        channel: ChannelId,
    ) -> Option<CallKey> {
        self.state.executables.get(&executable)?.line.on(channel)
    }

    /// An executable has answered on a channel, or closed that of a call that was taken back: which
    /// call is over?
    pub(in crate::step) fn leave_executable(
        &mut self,
        now: Instant,
        executable: ExecutableId,
        channel: ChannelId,
    ) -> Option<CallKey> {
        let record = self.state.executables.get_mut(&executable)?;
        let over = record.line.leave(now, channel);
        let is_ahead = record.line.len() > 1;
        self.state.executables.end_grace(executable);
        if !is_ahead {
            self.state.executables.end_ahead(executable);
        }
        self.reopen(now, executable);
        over
    }

    /// An executable that has answered everything is free; one that has closed all that was taken
    /// back may begin again.
    fn reopen(&mut self, now: Instant, executable: ExecutableId) {
        let Some(record) = self.state.executables.get_mut(&executable) else { return };
        if record.phase != Phase::Busy || !record.line.may_reopen() {
            return;
        }
        if record.line.reopen()
            && let Some(connection) = record.connection
        {
            self.state.out.act(Action::Resume(connection));
        }
        if record.line.is_empty() {
            self.free(now, executable);
        }
    }

    /// Takes the calls back that an executable has not begun.
    pub(in crate::step) fn recall(&mut self, executable: ExecutableId) {
        let Some(record) = self.state.executables.get_mut(&executable) else { return };
        if let Some(connection) = record.connection
            && record.line.ask_back()
        {
            self.leave_brief(executable);
            self.state.out.act(Action::Recall(executable, connection));
        }
    }

    fn leave_brief(&mut self, executable: ExecutableId) {
        let Some(record) = self.state.executables.get(&executable) else { return };
        if let Some(pool) = self.state.queue.get_mut(&record.module) {
            pool.leave_brief(executable);
        }
    }

    /// An executable's turnstile is shut after `begun` calls: the others are as if they had never
    /// been there.
    pub fn recalled(
        &mut self,
        surroundings: &mut dyn Surroundings,
        executable: ExecutableId,
        begun: u32,
    ) {
        let Some(record) = self.state.executables.get_mut(&executable) else { return };
        let back = record.line.shut(begun);
        if !back.is_empty() {
            // One of these may have been the one that told it.
            record.threads.told = None;
        }
        let running = record.line.back();
        let module = record.module.clone();
        let connection = record.connection;
        self.leave_brief(executable);
        self.state.executables.end_ahead(executable);
        for one in back.into_iter().rev() {
            if let Some(peer) =
                connection.and_then(|connection| self.state.front.peer_mut(connection))
            {
                peer.connection.cancel(one.channel);
            }
            self.come_back(surroundings, one.key);
        }
        self.state.out.touch_all(connection);
        if running
            .and_then(|one| self.state.calls.get(&one.key))
            .is_some_and(|call| call.run.unwanted.is_some())
        {
            self.end_running(surroundings, executable);
        } else {
            self.reopen(surroundings.now(), executable);
        }
        self.serve_pool(surroundings, &module);
    }

    /// A call comes back from an executable, to be passed to another: it is the first in its
    /// module's line again.
    pub(super) fn come_back(&mut self, surroundings: &mut dyn Surroundings, key: CallKey) {
        self.state.calls.stop_clock(key);
        let Some(call) = self.state.calls.get_mut(&key) else { return };
        call.run.executable = None;
        call.run.returns += 1;
        let too_often = (call.run.returns > RETURNS_MAX).then(|| {
            Error::new(
                ErrorKind::Unavailable,
                "run a routine",
                "its executables exit before they start the call",
            )
            .with("executables", call.run.returns)
            .fix("see the server's log for the reason")
            .retryable()
        });
        if let Some(error) = call.run.unwanted.take().or(too_often) {
            return self.finish(surroundings, key, Err(error));
        }
        let on = call.on;
        self.end_inside(surroundings, key);
        match on {
            Some(executable) => self.return_to_object(key, executable),
            None => self.wait_in_pool(key, Rank::First),
        }
    }

    /// A call is to end that stands in an executable's line.
    pub(in crate::step) fn take_from_line(
        &mut self,
        surroundings: &mut dyn Surroundings,
        executable: ExecutableId,
        key: CallKey,
        error: Error,
    ) {
        if let Some(call) = self.state.calls.get_mut(&key) {
            call.run.unwanted.get_or_insert(error);
        }
        match self.state.executables.get(&executable) {
            // Whether it has begun says the turnstile.
            Some(record)
                if record.line.takes_ahead()
                    && !record.line.is_shut()
                    && (record.line.len() > 1 || record.asks) =>
            {
                self.recall(executable);
            }
            _ => self.end_running(surroundings, executable),
        }
    }

    /// When lines must be looked after.
    pub(in crate::step) fn next_look(&self) -> Option<Instant> {
        self.state.executables.ahead().map(|record| record.line.next_look(LOOK_EVERY)).min()
    }

    /// Takes answers that were not announced, and calls back that wait behind one that takes long.
    pub(in crate::step) fn look_after_lines(&mut self, now: Instant) {
        let mut slow = Vec::new();
        let out = &mut self.state.out;
        self.state.executables.each_ahead(|executable, record| {
            if record.line.front_since() + RECALL_AFTER <= now {
                slow.push(executable);
            } else if let Some(connection) = record.connection
                && record.line.next_look(LOOK_EVERY) <= now
            {
                record.line.looked(now);
                out.act(Action::Look(connection));
            }
        });
        slow.into_iter().for_each(|executable| self.recall(executable));
    }

    fn channels_max(&self, record: &Executable) -> usize {
        let peer = record.connection.and_then(|connection| self.state.front.peer(connection));
        peer.and_then(|peer| peer.connection.peer())
            .map_or(1, |hello| hello.limits.channels_max as usize)
    }

    /// The executable of a pool that takes this call ahead of time.
    pub(super) fn with_room_ahead(&self, pool: &Pool, key: CallKey) -> Option<ExecutableId> {
        let call = self.state.calls.get(&key)?;
        // One that another call waits for might come to stand behind that one.
        if !is_brief(call) || call.nesting.depth > 0 {
            return None;
        }
        let processors = call.run.share.processors;
        let depth = line_depth(call.routine.typical()?);
        let room = |executable: &&ExecutableId| {
            let record =
                self.state.executables.get(executable).filter(|record| record.phase == Phase::Busy);
            record.is_some_and(|record| {
                record.line.len() < depth.min(self.channels_max(record))
                    && processors <= record.processors
            })
        };
        pool.brief().iter().find(room).copied()
    }
}

/// Whether a call that ended with its executable may run again, unseen by its client: it may by its
/// interface, and all that it was given is as it was.
pub(super) fn may_run_again(call: &Call) -> bool {
    let interface = &call.routine.routine.interface;
    let mut given = interface.parameters.iter().zip(&call.open.arguments);
    let works_on_it = |parameter: &Parameter| {
        parameter.mode == Mode::InOut && parameter.element != ElementType::Filename
    };
    let intact =
        given.all(|(parameter, argument)| !works_on_it(parameter) || !lies_in_memory(argument));
    interface.idempotent
        && intact
        && (call.client.is_some() || call.keep.is_some())
        && call.run.returns < RUNS_AGAIN_MAX
}

fn lies_in_memory(argument: &Argument) -> bool {
    matches!(argument, Argument::Blocks(_) | Argument::Shared(..))
}

/// Whether a call's time is that of its routine with little data.
pub(in crate::step) fn is_small(call: &Call) -> bool {
    call.layout.array_bytes() <= SMALL_BYTES
}

/// Whether calls of a routine are so short that others may wait behind them.
pub(in crate::step) fn is_short(known: &Known) -> bool {
    known.typical().is_some_and(|typical| typical * 2 <= LINE_TIME)
}

/// Whether others may wait behind this call, and it behind others.
fn is_brief(call: &Call) -> bool {
    // An executable runs calls in the order in which they are complete: those that are so at once
    // keep theirs.
    let complete =
        call.open.arguments.iter().all(|argument| !matches!(argument, Argument::Blocks(_)));
    // That such a call begins is written down before it does: not before it is its turn.
    let durable = call.keep.is_some_and(|keep| keep.durable);
    is_short(&call.routine) && complete && is_small(call) && !call.wants.output && !durable
}

fn line_depth(typical: Duration) -> usize {
    let depth = LINE_TIME.as_nanos() / typical.as_nanos().max(1);
    usize::try_from(depth).unwrap_or(LINE_MAX).min(LINE_MAX)
}
