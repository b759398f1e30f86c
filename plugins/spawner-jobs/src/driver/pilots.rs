//! Pilots and the executables that they start: connections that come, what is said on them, and
//! what they are told.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use farcall_base::{Clock, Error, ExecutableId};
use farcall_link::stream::ByteStream;
use farcall_services::directory::{ImageKind, Trust};
use farcall_services::spawner::Output;
use farcall_wire::{FromPilot, PilotExecutable, PilotGreeting, PilotProgram, PilotStart, ToPilot};

use super::Driver;
use super::lines::{self, Greeting, Newborn, PilotLine};
use crate::state::{Number, Place};
use crate::step::Event;

/// Connections taken from a gate in a turn.
pub(super) const ACCEPTS_PER_TURN: usize = 64;

/// Connections that have not said yet what they are, at a time.
pub(super) const NEWBORN_MAX: usize = 1024;

/// Texts of modules that are told apart.
pub(super) const TEXTS_MAX: usize = 256;

/// Connections of pilots and executables.
#[derive(Default)]
pub(super) struct Pilots {
    /// Connections that have not said yet what they are.
    pub(super) newborn: Vec<Newborn>,
    /// Those of pilots.
    pub(super) lines: BTreeMap<Number, PilotLine>,
    /// Those to executables, until `step` has decided.
    pub(super) executables: BTreeMap<ExecutableId, (Box<dyn ByteStream>, PilotExecutable)>,
    /// Texts of modules that pilots were given.
    texts: VecDeque<(Arc<[u8]>, u64)>,
    /// The last number that a pilot or a text got.
    numbers: Number,
}

impl Driver {
    /// Whether the executable is at a pilot, who was told.
    pub(super) fn tell_pilot_of(&mut self, executable: ExecutableId, message: &ToPilot) -> bool {
        let place = self.state.executables.get(&executable).map(|entry| entry.place);
        let Some(Place::Running(pilot) | Place::Starting(pilot)) = place else {
            return false;
        };
        self.tell_pilot(pilot, message);
        true
    }

    pub(super) fn tell_pilot(&mut self, pilot: Number, message: &ToPilot) {
        let Some(line) = self.pilots.lines.get_mut(&pilot) else { return };
        if let Err(why) = line.tell(message) {
            self.lose_pilot(pilot, why);
        }
    }

    fn lose_pilot(&mut self, pilot: Number, why: String) {
        if self.pilots.lines.remove(&pilot).is_some() {
            self.events.push_back(Event::PilotLost { pilot, why });
        }
    }

    pub(super) fn accept(&mut self, name: &str) {
        for _ in 0..ACCEPTS_PER_TURN {
            let Some(gate) = self.gates.opened.get_mut(name) else { return };
            match gate.listener().accept() {
                Ok(Some(stream)) if self.pilots.newborn.len() < NEWBORN_MAX => {
                    let until =
                        self.clock.now() + Duration::from_millis(self.state.settings.greeting_ms);
                    self.pilots.newborn.push(Newborn::new(stream, until));
                    // What it sends may be there already, and decrypted.
                    self.hear_newborn(self.pilots.newborn.len() - 1);
                }
                Ok(Some(_)) => {}
                Ok(None) => return,
                // One that was refused, or vanished.
                Err(_) => {}
            }
        }
    }

    pub(super) fn hear_newborn(&mut self, index: usize) {
        let Some(newborn) = self.pilots.newborn.get_mut(index) else { return };
        match newborn.greet() {
            Greeting::NotYet => {}
            Greeting::Broken => drop(self.pilots.newborn.swap_remove(index)),
            Greeting::Said(greeting) => {
                let newborn = self.pilots.newborn.swap_remove(index);
                self.greeted(newborn.stream, greeting);
            }
        }
    }

    fn greeted(&mut self, stream: Box<dyn ByteStream>, greeting: PilotGreeting) {
        match greeting {
            PilotGreeting::Pilot(hello) => {
                self.pilots.numbers += 1;
                let pilot = self.pilots.numbers;
                self.pilots.lines.insert(pilot, PilotLine::new(stream));
                self.events.push_back(Event::PilotCame { pilot, hello });
                self.settle();
                self.hear_pilot(pilot);
            }
            PilotGreeting::Executable(one) => {
                let executable = ExecutableId(one.executable);
                let job = one.job.clone();
                self.pilots.executables.insert(executable, (stream, one));
                self.events.push_back(Event::LineCame { job, executable });
                self.settle();
            }
        }
    }

    pub(super) fn hear_pilot(&mut self, pilot: Number) {
        let Some(line) = self.pilots.lines.get_mut(&pilot) else { return };
        let (messages, end) = line.exchange();
        if !messages.is_empty() {
            self.events.push_back(Event::PilotSaid { pilot });
        }
        for message in messages {
            self.pilot_said(pilot, message);
        }
        if let Some(why) = end {
            self.lose_pilot(pilot, why);
        }
    }

    fn pilot_said(&mut self, pilot: Number, message: FromPilot) {
        match message {
            FromPilot::Failed { executable, failure } => {
                let executable = ExecutableId(executable);
                let error = Error::from(failure);
                self.events.push_back(Event::PilotFailed { pilot, executable, error });
            }
            FromPilot::Exited(exited) => {
                let exited = lines::exited(exited, self.clock.now());
                self.events.push_back(Event::PilotReaped { pilot, exited });
            }
            FromPilot::Said { executable, output, bytes, lost } => {
                let output = if output == 1 { Output::Stdout } else { Output::Stderr };
                let reports = self.reports.get_mut(&ExecutableId(executable));
                if let Some(listener) = reports.and_then(|reports| reports.listener.as_mut()) {
                    listener.miss(lost);
                    listener.tell(output, &bytes);
                }
            }
            FromPilot::Listening { executable, failure } => {
                let reports = self.reports.get_mut(&ExecutableId(executable));
                if let Some(reply) = reports.and_then(|reports| reports.listening.pop_front()) {
                    reply.answer(failure.map_or(Ok(()), |failure| Err(Error::from(failure))));
                }
            }
            FromPilot::Hushed { executable, failure } => {
                let reports = self.reports.get_mut(&ExecutableId(executable));
                if let Some(reports) = reports
                    && let Some(reply) = reports.hushing.pop_front()
                {
                    if let Some(listener) = reports.listener.take() {
                        listener.finish();
                    }
                    reply.answer(failure.map_or(Ok(()), |failure| Err(Error::from(failure))));
                }
            }
            FromPilot::Pong => {}
        }
    }

    pub(super) fn start_at(&mut self, pilot: Number, executable: ExecutableId) {
        let Some(entry) = self.state.executables.get(&executable) else { return };
        let module = entry.module.clone();
        let image = entry.image.clone();
        let text = self.pilots.text_number(&image.module_text);
        let Some(line) = self.pilots.lines.get_mut(&pilot) else { return };
        let fresh = line.texts.insert(text);
        let start = PilotStart {
            executable: executable.0,
            module,
            program: program_of(&image.kind),
            environment: image.environment.clone(),
            backend: image.backend.clone(),
            ranks: image.ranks,
            resources: image.resources.into(),
            is_owners: image.trust == Trust::Owner,
            module_text: if fresh { image.module_text.to_vec() } else { Vec::new() },
            text,
        };
        self.tell_pilot(pilot, &ToPilot::Start(Box::new(start)));
    }
}

impl Pilots {
    /// Tells one publication's text from another's: executables of one share what they loaded.
    fn text_number(&mut self, text: &Arc<[u8]>) -> u64 {
        if let Some((_, number)) = self.texts.iter().find(|(known, _)| Arc::ptr_eq(known, text)) {
            return *number;
        }
        if self.texts.len() >= TEXTS_MAX {
            self.texts.pop_front();
        }
        self.numbers += 1;
        self.texts.push_back((text.clone(), self.numbers));
        self.numbers
    }
}

fn program_of(kind: &ImageKind) -> PilotProgram {
    match kind.clone() {
        ImageKind::GenericHost { libraries } => PilotProgram::Host { libraries },
        ImageKind::Linked { path } => PilotProgram::Linked { path },
        ImageKind::Interpreted { program, arguments, readable } => {
            PilotProgram::Interpreted { program, arguments, readable }
        }
    }
}
