//! How objects end: released, deleted, forgotten, or by themselves.

use farcall_base::{Error, ErrorKind, ExecutableId};
use farcall_services::spawner::{ExitHow, Exited};
use farcall_wire::{Failure, Reply};

use super::copy_of;
use crate::state::{Action, Executable, Phase, ReleaseNumber, Standing};
use crate::step::executables::end::{end_at_start, end_of_routine, end_words};
use crate::step::{Server, Surroundings};

impl Server {
    /// Ends an object: in order where nothing runs on it. Its calls fail with `error`, and nobody
    /// finds it any more.
    pub(in crate::step) fn end_object(
        &mut self,
        surroundings: &mut dyn Surroundings,
        executable: ExecutableId,
        error: &Error,
        release: Option<ReleaseNumber>,
    ) {
        self.state.objects.hide(executable);
        let Some(object) = self.state.objects.get_mut(executable) else { return };
        if let Standing::Ending { releases, .. } = &mut object.standing {
            releases.extend(release);
            return;
        }
        object.owner = None;
        let comes = matches!(object.standing, Standing::Coming).then_some(object.hold);
        let releases = release.into_iter().collect();
        object.standing = Standing::Ending { reason: error.into(), releases, in_order: None };
        for key in std::mem::take(&mut object.line).iter() {
            self.finish(surroundings, key, Err(copy_of(error)));
        }
        let record = self.state.executables.get(&executable);
        let comes = comes.filter(|_| record.is_none_or(|record| !record.loaded));
        // Before the last of its request is gone, and with it who is to be told.
        if let Some(hold) = comes {
            self.one_less_comes(surroundings, hold, error);
        }
        self.end_process(surroundings, executable, error);
    }

    fn end_process(
        &mut self,
        surroundings: &mut dyn Surroundings,
        executable: ExecutableId,
        error: &Error,
    ) {
        let Some(record) = self.state.executables.get(&executable) else {
            return self.object_gone(surroundings, executable, None);
        };
        match (record.phase, record.line.front()) {
            (Phase::Idle { .. }, _) => self.end_in_order(surroundings, executable),
            (_, Some(key)) => self.abort(surroundings, key, copy_of(error)),
            (_, None) => self.stop_executable(executable),
        }
    }

    /// An object that was told to end while a call ran on it: that is over now, and left its
    /// executable alive.
    pub(super) fn end_if_free(
        &mut self,
        surroundings: &dyn Surroundings,
        executable: ExecutableId,
    ) {
        let is_ending =
            self.state.objects.get(executable).is_some_and(|object| object.standing.is_ending());
        let record = self.state.executables.get(&executable);
        if is_ending && record.is_some_and(|record| matches!(record.phase, Phase::Idle { .. })) {
            self.end_in_order(surroundings, executable);
        }
    }

    /// Says goodbye to an executable that runs nothing.
    fn end_in_order(&mut self, surroundings: &dyn Surroundings, executable: ExecutableId) {
        let Some(record) = self.state.executables.get_mut(&executable) else { return };
        let connection = record.connection;
        let Some(peer) = connection.and_then(|connection| self.state.front.peer_mut(connection))
        else {
            return self.stop_executable(executable);
        };
        record.phase = Phase::Ending;
        peer.connection.goodbye(None);
        self.state.out.touch_all(connection);
        self.state.objects.set_end(executable, surroundings.now() + self.state.limits.stop_grace);
    }

    /// An object had its time to end in order.
    pub(in crate::step) fn end_by_force(&mut self, executable: ExecutableId) {
        if self.state.executables.contains_key(&executable) {
            self.state.out.act(Action::Stop { executable, grace: std::time::Duration::ZERO });
        }
    }

    /// The server is to end: so are objects, when they have no call left.
    pub(in crate::step) fn end_free_objects(&mut self, surroundings: &mut dyn Surroundings) {
        let is_busy = |executable: &ExecutableId| {
            self.state
                .executables
                .get(executable)
                .is_some_and(|record| matches!(record.phase, Phase::Busy | Phase::Reserved(_)))
        };
        let free = self.state.objects.iter().filter(|(executable, object)| {
            !object.standing.is_ending() && object.line.is_empty() && !is_busy(executable)
        });
        let free: Vec<ExecutableId> = free.map(|(executable, _)| executable).collect();
        let error = Error::new(ErrorKind::ShuttingDown, "call an object", "its server is stopping");
        for executable in free {
            self.end_object(surroundings, executable, &error, None);
        }
    }

    /// An executable of an object has ended.
    pub(in crate::step) fn object_exited(
        &mut self,
        surroundings: &mut dyn Surroundings,
        exited: &Exited,
        record: Executable,
    ) {
        let error = match record.trouble {
            Some(error) => error,
            None if !record.loaded => end_at_start(exited, &record.module),
            None => {
                let how = if exited.was_stopped {
                    "was ended to stop a call on it".to_owned()
                } else {
                    end_words(exited)
                };
                let message = format!("the object has ended: its executable {how}");
                Error::new(ErrorKind::NotFound, "call an object", message).fix("create a new one")
            }
        };
        let problem = self.problem_of_end(surroundings, exited, &record.limits);
        self.object_lost(surroundings, exited.executable, &error, problem);
    }

    /// What went wrong when an object was to end in order.
    fn problem_of_end(
        &self,
        surroundings: &dyn Surroundings,
        exited: &Exited,
        limits: &farcall_services::spawner::ExecutableLimits,
    ) -> Option<Failure> {
        let object = self.state.objects.get(exited.executable)?;
        let Standing::Ending { in_order: Some(until), .. } = object.standing else { return None };
        if exited.how == ExitHow::Status(0) {
            return None;
        }
        let error = if exited.was_stopped && until <= surroundings.now() {
            Error::new(
                ErrorKind::TimedOut,
                "end an object",
                "it took longer than the server allows",
            )
            .with("stop_grace_ms", self.state.limits.stop_grace.as_millis())
            .fix("do less in _finalize, or raise the limit in the server's farcall.toml")
        } else {
            let began = farcall_base::Instant(
                until.0.saturating_sub(self.state.limits.stop_grace.as_nanos() as u64),
            );
            end_of_routine(exited, began, *limits)
        };
        Some(Failure::from(&error.with("object", object.id)))
    }

    /// An object's executable is gone, or could not be started.
    pub(in crate::step) fn object_lost(
        &mut self,
        surroundings: &mut dyn Surroundings,
        executable: ExecutableId,
        error: &Error,
        problem: Option<Failure>,
    ) {
        let Some(object) = self.state.objects.get_mut(executable) else { return };
        match object.standing {
            Standing::Coming => {
                let hold = object.hold;
                self.fail_hold(surroundings, hold, error);
            }
            Standing::Ready => {
                object.standing = Standing::Ended(Failure::from(error));
                for key in std::mem::take(&mut object.line).iter() {
                    self.finish(surroundings, key, Err(copy_of(error)));
                }
            }
            Standing::Ending { .. } => self.object_gone(surroundings, executable, problem),
            Standing::Ended(_) => {}
        }
        self.start_held(surroundings.now());
    }

    /// Nothing is left of an object that was told to end.
    fn object_gone(
        &mut self,
        surroundings: &mut dyn Surroundings,
        executable: ExecutableId,
        problem: Option<Failure>,
    ) {
        let Some(object) = self.state.objects.remove(executable) else { return };
        let Standing::Ending { reason, releases, .. } = object.standing else { return };
        // One that came back from its executable when that ended.
        for key in object.line.iter() {
            self.finish(surroundings, key, Err(Error::from(reason.clone())));
        }
        for number in releases {
            if let Some(release) = self.state.objects.release_mut(number) {
                release.left = release.left.saturating_sub(1);
                release.problem = release.problem.take().or_else(|| problem.clone());
            }
            self.tell_release(number);
        }
    }

    /// Answers who wanted objects to end, if they all have.
    pub(in crate::step) fn tell_release(&mut self, number: ReleaseNumber) {
        if self.state.objects.release(number).is_none_or(|release| release.left > 0) {
            return;
        }
        let Some(release) = self.state.objects.end_release(number) else { return };
        let (connection, channel) = release.asked;
        match (release.is_order, release.problem) {
            (true, problem) => self.obeyed(
                connection,
                channel,
                problem.map_or(Ok(Vec::new()), |one| Err(one.into())),
            ),
            (false, None) => self.reply(connection, channel, &Reply::Done),
            (false, Some(problem)) => self.reply(connection, channel, &Reply::Failed(problem)),
        }
    }
}
