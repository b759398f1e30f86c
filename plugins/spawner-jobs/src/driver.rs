//! The driver: one thread that waits for requests, launchers and pilots, and does what `step` says.

mod folder;
mod launchers;
mod lines;
mod pilots;
mod program;
mod requests;

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use farcall_base::{Clock, Error, ExecutableId, Result, SystemClock};
use farcall_services::jobs;
use farcall_services::mailbox::{Port, Receiver};
use farcall_services::spawner::Request;
use farcall_wire::{JobStatus, ToPilot};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::gate::OpenGate;
use crate::state::{Number, Settings, State};
use crate::step::{Action, Event, step};
use folder::Folder;
pub(crate) use folder::default_folder;
use launchers::{Gates, Launchers};
use pilots::Pilots;
use requests::{Mailbox, Reports};

/// What arrives in the plugin's mailbox.
pub(crate) enum Message {
    Spawner(Request),
    Jobs(jobs::Request),
    Stop,
}

struct Driver {
    state: State,
    clock: SystemClock,
    mailbox: Mailbox,
    folder: Folder,
    gates: Gates,
    reports: BTreeMap<ExecutableId, Reports>,
    launchers: Launchers,
    pilots: Pilots,
    watcher: Option<Port<Vec<JobStatus>>>,
    events: VecDeque<Event>,
    finished: bool,
}

/// Where an event comes from.
enum Source {
    Mailbox,
    Gate(String),
    Newborn(usize),
    Pilot(Number),
    Launcher(String),
}

pub(crate) fn run(
    settings: Settings,
    mark: String,
    open_gate: OpenGate,
    receiver: Receiver<Message>,
) -> Result<()> {
    let folder = Folder::new(&settings.folder);
    let mut driver = Driver {
        state: State::new(settings, mark),
        clock: SystemClock::new(),
        mailbox: Mailbox { receiver, is_closed: false },
        folder,
        gates: Gates::new(open_gate),
        reports: BTreeMap::new(),
        launchers: Launchers::default(),
        pilots: Pilots::default(),
        watcher: None,
        events: VecDeque::new(),
        finished: false,
    };
    while !driver.finished {
        for source in driver.wait()? {
            driver.collect(source);
            driver.settle();
        }
        driver.end_late();
        driver.events.push_back(Event::Tick);
        driver.settle();
        driver.shut_gates();
        driver.tell_watcher();
    }
    for mut program in driver
        .launchers
        .leaving
        .drain(..)
        .chain(std::mem::take(&mut driver.launchers.running).into_values())
    {
        program.finish();
    }
    driver.gates.opened.clear();
    driver.folder.leave();
    Ok(())
}

impl Driver {
    fn wait(&self) -> Result<Vec<Source>> {
        let mut sources: Vec<(Source, BorrowedFd<'_>, PollFlags)> = Vec::new();
        if !self.mailbox.is_closed {
            sources.push((Source::Mailbox, self.mailbox.receiver.as_fd(), PollFlags::IN));
        }
        for (launcher, program) in &self.launchers.running {
            sources.extend(
                program
                    .sources()
                    .map(|(fd, flags)| (Source::Launcher(launcher.clone()), fd, flags)),
            );
        }
        for (index, newborn) in self.pilots.newborn.iter().enumerate() {
            sources.extend(
                newborn.stream.readiness().map(|fd| (Source::Newborn(index), fd, PollFlags::IN)),
            );
        }
        for (name, gate) in &self.gates.opened {
            sources
                .extend(gate.readiness().map(|fd| (Source::Gate(name.clone()), fd, PollFlags::IN)));
        }
        for (number, line) in &self.pilots.lines {
            sources.extend(line.readiness().map(|(fd, flags)| (Source::Pilot(*number), fd, flags)));
        }
        let mut waiting: Vec<PollFd<'_>> =
            sources.iter().map(|(_, fd, flags)| PollFd::from_borrowed_fd(*fd, *flags)).collect();
        match poll(&mut waiting, self.patience().as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(Error::system("wait for jobs", errno.into())),
        }
        let hit: Vec<bool> = waiting.iter().map(|waited| !waited.revents().is_empty()).collect();
        let mut ready: Vec<Source> = sources
            .into_iter()
            .zip(hit)
            .filter(|(_, hit)| *hit)
            .map(|((source, _, _), _)| source)
            .collect();
        // From the last on, so that taking one away leaves the places of the others.
        ready.sort_by_key(
            |source| if let Source::Newborn(index) = source { usize::MAX - index } else { 0 },
        );
        Ok(ready)
    }

    fn patience(&self) -> Option<Timespec> {
        let newborn = self.pilots.newborn.iter().map(|newborn| newborn.until);
        let leaving =
            self.launchers.leaving.iter().map(|program| program.next_look(self.clock.now()));
        let due = self.state.next_deadline().into_iter().chain(newborn).chain(leaving).min()?;
        Timespec::try_from(due.since(self.clock.now()) + Duration::from_millis(1)).ok()
    }

    fn collect(&mut self, source: Source) {
        match source {
            Source::Mailbox => self.collect_messages(),
            Source::Gate(name) => self.accept(&name),
            Source::Newborn(index) => self.hear_newborn(index),
            Source::Pilot(number) => self.hear_pilot(number),
            Source::Launcher(name) => self.hear_launcher(&name),
        }
    }

    fn end_late(&mut self) {
        let now = self.clock.now();
        self.pilots.newborn.retain(|newborn| newborn.until > now);
        self.launchers.leaving.retain_mut(|program| !program.has_left(now));
    }

    /// Ports are open only while jobs may come.
    fn shut_gates(&mut self) {
        let state = &self.state;
        let open = self.gates.opened.len();
        self.gates.opened.retain(|launcher, _| state.is_awaiting(launcher));
        if self.gates.opened.is_empty() && open > 0 {
            self.folder.leave();
        }
    }

    fn tell_watcher(&mut self) {
        if !self.state.changed {
            return;
        }
        let told = self.state.told(self.clock.now());
        // One that is too busy is told at the next turn.
        self.state.changed =
            self.watcher.as_ref().is_some_and(|watcher| watcher.try_send(told).is_err());
    }

    fn settle(&mut self) {
        while let Some(event) = self.events.pop_front() {
            for action in step(&mut self.state, self.clock.now(), event) {
                self.perform(action);
            }
        }
    }

    fn perform(&mut self, action: Action) {
        match action {
            Action::ReportFailed { executable, error } => {
                if let Some(Reports { started, exited, .. }) = self.reports.remove(&executable) {
                    exited.withdraw();
                    started.into_iter().for_each(|started| {
                        started.answer(Err(Error::from(farcall_wire::Failure::from(&error))))
                    });
                }
            }
            Action::ReportStarted { executable } => self.report_started(executable),
            Action::DropLine { executable } => drop(self.pilots.executables.remove(&executable)),
            Action::ReportExited(exited) => {
                if let Some(Reports { exited: reply, .. }) = self.reports.remove(&exited.executable)
                {
                    reply.answer(Ok(*exited));
                }
            }
            Action::StartLauncher { launcher } => self.start_launcher(&launcher),
            Action::EndLauncher { launcher } => {
                if let Some(mut program) = self.launchers.running.remove(&launcher) {
                    program.dismiss(self.clock.now());
                    self.launchers.leaving.push(program);
                }
            }
            Action::Prepare { job } => {
                let event = match self.prepare(job) {
                    Ok(()) => Event::Prepared { job },
                    Err(error) => Event::Unprepared { job, error },
                };
                self.events.push_back(event);
            }
            Action::Remove { job } => self.folder.remove(&job),
            Action::Create { job } => self.create(job),
            Action::Tell { launcher, line } => self.tell_launcher(&launcher, &[line]),
            Action::StartAt { pilot, executable } => self.start_at(pilot, executable),
            Action::StopAt { pilot, executable, grace } => {
                let grace_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
                self.tell_pilot(pilot, &ToPilot::Stop { executable: executable.0, grace_ms });
            }
            Action::AskPilot { pilot } => self.tell_pilot(pilot, &ToPilot::Ping),
            Action::EndPilot { pilot } => self.tell_pilot(pilot, &ToPilot::End),
            Action::DropPilot { pilot } => drop(self.pilots.lines.remove(&pilot)),
            Action::Finish => self.finished = true,
        }
    }
}
