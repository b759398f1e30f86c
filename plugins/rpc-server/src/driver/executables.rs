//! What the server has its spawner do, and what it does itself when executables begin and end.

use std::time::Duration;

use farcall_base::{ConnectionId, Error, ErrorKind, ExecutableId, Instant, Result};
use farcall_link::stream::Proof;
use farcall_link::turnstile::Turnstile;
use farcall_services::directory::ExecutableImage;
use farcall_services::spawner::{Exited, Line, SpawnerHandle, Start, Started};

use super::journal::Life;
use super::{Driver, Message, RETRY_AFTER};
use crate::options::LogLevel;
use crate::state::HoldNumber;
use crate::step::Surroundings;

/// What the spawner was too busy to be told.
enum Untold {
    /// To end an executable.
    Stop(ExecutableId, Duration),
    /// To listen to what one writes.
    Listen(ExecutableId),
    /// To say when all of that was told.
    Hush(ExecutableId),
}

/// What the spawner was too busy to be told, and when it is told again.
#[derive(Default)]
pub struct UntoldOrders {
    orders: Vec<Untold>,
    until: Option<Instant>,
}

impl UntoldOrders {
    /// Whether it was told everything.
    pub fn is_empty(&self) -> bool {
        self.orders.is_empty()
    }
}

impl Driver {
    pub(super) fn start(
        &mut self,
        executable: ExecutableId,
        module: String,
        image: ExecutableImage,
        array: Option<HoldNumber>,
    ) {
        let started = self.sender.reply(move |answer| Message::Started(executable, answer));
        let exited =
            self.sender.reply(|answer: Result<Exited>| Message::Exited(answer.map(Box::new)));
        match (started, exited) {
            (Ok(started), Ok(exited)) => {
                self.services.spawner_of_image(&image).start(Start {
                    executable,
                    module,
                    image,
                    array: array.map(|hold| hold.0),
                    started,
                    exited,
                });
            }
            (Err(error), _) | (_, Err(error)) => {
                self.server.executable_failed(&mut self.world, executable, &error)
            }
        }
    }

    pub(super) fn started(&mut self, executable: ExecutableId, started: Started) {
        self.tell(LogLevel::Info, executable, || Life {
            pid: Some(started.pid),
            outcome: "started",
            ..Life::default()
        });
        let pid = started.pid;
        let limits = started.limits;
        let (stream, launched) = match started.line {
            Line::Inherited(descriptor) => {
                ((self.transports.adopt)(descriptor, Proof::Inherited), false)
            }
            Line::Stream(stream) => (Ok(stream), true),
        };
        let added = stream.and_then(|stream| {
            let shares = stream.passes_descriptors();
            let ahead = stream.turnstile().is_some();
            let refused = || {
                Error::new(
                    ErrorKind::System,
                    "start an executable",
                    "its connection cannot be watched",
                )
            };
            self.add(stream).map(|connection| (connection, shares, ahead)).ok_or_else(refused)
        });
        match added {
            Ok((connection, shares, ahead)) => {
                if launched {
                    // It may hold bytes that its socket no longer knows of.
                    self.wires.look_again(connection);
                }
                let now = self.world.now();
                self.server.executable_limited(executable, pid, limits);
                self.server.executable_started(executable, connection, shares, ahead, now);
            }
            Err(error) => self.server.executable_unreachable(executable, error),
        }
    }

    /// There is none: the error says why.
    pub(super) fn not_started(&mut self, executable: ExecutableId, error: &Error) {
        let message = || Some(error.message().to_owned());
        self.tell(LogLevel::Warn, executable, || Life {
            outcome: "failed",
            message: message(),
            ..Life::default()
        });
        self.server.executable_failed(&mut self.world, executable, error);
    }

    pub(super) fn exited(&mut self, exited: &Exited) {
        let outcome = if exited.was_stopped { "stopped" } else { "ended" };
        // One that never came to a call says why: nobody may be left who is told.
        let record =
            self.server.state().executables.get(&exited.executable).filter(|record| !record.loaded);
        let trouble = record
            .and_then(|record| record.trouble.as_ref())
            .map(|error| error.message().to_owned());
        let level = if trouble.is_some() { LogLevel::Warn } else { LogLevel::Info };
        let message = || Some(trouble.unwrap_or_else(|| exited.how.to_string()));
        self.tell(level, exited.executable, || Life {
            outcome,
            message: message(),
            ..Life::default()
        });
        self.take_last_words(exited.executable);
        self.server.executable_exited(&mut self.world, exited);
    }

    fn tell(&self, level: LogLevel, executable: ExecutableId, life: impl FnOnce() -> Life) {
        let record = self.server.state().executables.get(&executable);
        let module = || record.map(|record| record.module.0.clone());
        self.journal.life(level, || Life {
            executable: Some(executable.0),
            module: module(),
            ..life()
        });
    }

    pub(super) fn listen(&mut self, executable: ExecutableId) {
        let said = self.sender.port(Message::Said);
        match self.sender.reply(move |outcome| Message::Listening(executable, outcome)) {
            Ok(done) => self.spawner_of(executable).listen(executable, said, done),
            Err(error) => self.server.listening(&mut self.world, executable, Err(error)),
        }
    }

    pub(super) fn hush(&mut self, executable: ExecutableId) {
        match self.sender.reply(move |outcome| Message::HeardOut(executable, outcome)) {
            Ok(done) => self.spawner_of(executable).hush(executable, done),
            Err(_) => self.server.heard_out(&mut self.world, executable),
        }
    }

    /// The spawner listens, or cannot; one that is too busy is told again.
    pub(super) fn listening(&mut self, executable: ExecutableId, outcome: Result<()>) {
        match outcome {
            Err(error) if error.is_retryable() => self.postpone(Untold::Listen(executable)),
            outcome => self.server.listening(&mut self.world, executable, outcome),
        }
    }

    /// Everything was told that an executable wrote; a spawner that is too busy is asked again.
    pub(super) fn heard_out(&mut self, executable: ExecutableId, outcome: &Result<()>) {
        match outcome {
            Err(error) if error.is_retryable() => self.postpone(Untold::Hush(executable)),
            _ => self.server.heard_out(&mut self.world, executable),
        }
    }

    fn postpone(&mut self, untold: Untold) {
        self.untold.orders.push(untold);
        self.untold.until.get_or_insert(self.world.now() + RETRY_AFTER);
    }

    /// Tells the spawner what it was too busy to be told, when that may be over.
    pub(super) fn tell_again(&mut self) {
        if self.untold.until.is_none_or(|until| self.world.now() < until) {
            return;
        }
        for untold in std::mem::take(&mut self.untold).orders {
            match untold {
                Untold::Stop(executable, grace) => self.stop(executable, grace),
                Untold::Listen(executable) => self.listen(executable),
                Untold::Hush(executable) => self.hush(executable),
            }
        }
    }

    pub(super) fn turnstile(&self, connection: ConnectionId) -> Option<&Turnstile> {
        self.wires.get(connection)?.link.stream().turnstile()
    }

    /// Nothing begins any more at an executable; the server learns what has.
    pub(super) fn recall(&mut self, executable: ExecutableId, connection: ConnectionId) {
        if let Some(begun) = self.turnstile(connection).map(Turnstile::shut) {
            self.server.recalled(&mut self.world, executable, begun);
        }
    }

    /// An executable has ended: what it sent before counts, and what it had not begun is known now.
    fn take_last_words(&mut self, executable: ExecutableId) {
        let Some(connection) = self.server.connection_of(executable) else { return };
        self.receive(connection);
        while self.wires.stop_looking(connection) {
            self.receive(connection);
        }
        self.close(connection);
    }

    /// Whoever started an executable, or is to.
    fn spawner_of(&self, executable: ExecutableId) -> &SpawnerHandle {
        let record = self.server.state().executables.get(&executable);
        if record.is_some_and(|record| record.launched) {
            self.services.jobs.spawner()
        } else {
            &self.services.spawner
        }
    }

    /// Tells the spawner to end an executable; one that is too busy to listen is told again. One
    /// that is gone has ended its executables itself.
    pub(super) fn stop(&mut self, executable: ExecutableId, grace: Duration) {
        if self
            .spawner_of(executable)
            .stop(executable, grace)
            .is_err_and(|error| error.is_retryable())
        {
            self.postpone(Untold::Stop(executable, grace));
        }
    }
}
