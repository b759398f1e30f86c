//! The driver: one thread that waits for requests, launchers and pilots, and does what `step` says.

mod folder;
mod lines;
mod program;

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use farcall_base::{Clock, Error, ErrorKind, ExecutableId, Result, SystemClock};
use farcall_link::stream::ByteStream;
use farcall_services::jobs;
use farcall_services::mailbox::{NoMessage, Port, Receiver, Reply};
use farcall_services::spawner::{
    ExecutableLimits, Exited, Line, Listener, Output, Request, Start, Started,
};
use farcall_wire::{
    FromPilot, JobStatus, PilotExecutable, PilotGreeting, PilotProgram, PilotStart, ToPilot,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::gate::{Gate, GateWish, OpenGate};
use crate::request;
use crate::state::{Number, Settings, State};
use crate::step::{Action, Event, step};
use folder::Folder;
pub(crate) use folder::default_folder;
use lines::{Greeting, Newborn, PilotLine};
use program::{Program, Said};

/// Messages taken before others have their turn.
const MESSAGES_PER_TURN: usize = 256;
/// Connections taken from a gate in a turn.
const ACCEPTS_PER_TURN: usize = 64;
/// Connections that have not said yet what they are, at a time.
const NEWBORN_MAX: usize = 1024;
/// Texts of modules that are told apart.
const TEXTS_MAX: usize = 256;

/// What arrives in the plugin's mailbox.
pub(crate) enum Message {
    Spawner(Request),
    Jobs(jobs::Request),
    Stop,
}

/// Who is told of an executable.
struct Reports {
    started: Option<Reply<Started>>,
    exited: Reply<Exited>,
    listener: Option<Listener>,
    listening: VecDeque<Reply<()>>,
    hushing: VecDeque<Reply<()>>,
}

struct Driver {
    state: State,
    clock: SystemClock,
    receiver: Receiver<Message>,
    receiver_closed: bool,
    open_gate: OpenGate,
    folder: Folder,
    gates: BTreeMap<String, Box<dyn Gate>>,
    reports: BTreeMap<ExecutableId, Reports>,
    programs: BTreeMap<String, Program>,
    /// Launchers that are to end, or have.
    leaving: Vec<Program>,
    newborn: Vec<Newborn>,
    pilots: BTreeMap<Number, PilotLine>,
    /// Connections to executables that came, until `step` has decided.
    lines: BTreeMap<ExecutableId, (Box<dyn ByteStream>, PilotExecutable)>,
    texts: VecDeque<(Arc<[u8]>, u64)>,
    numbers: Number,
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
        receiver,
        receiver_closed: false,
        open_gate,
        folder,
        gates: BTreeMap::new(),
        reports: BTreeMap::new(),
        programs: BTreeMap::new(),
        leaving: Vec::new(),
        newborn: Vec::new(),
        pilots: BTreeMap::new(),
        lines: BTreeMap::new(),
        texts: VecDeque::new(),
        numbers: 0,
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
    for mut program in
        driver.leaving.drain(..).chain(std::mem::take(&mut driver.programs).into_values())
    {
        program.finish();
    }
    driver.gates.clear();
    driver.folder.leave();
    Ok(())
}

impl Driver {
    fn wait(&self) -> Result<Vec<Source>> {
        let mut sources: Vec<(Source, BorrowedFd<'_>, PollFlags)> = Vec::new();
        if !self.receiver_closed {
            sources.push((Source::Mailbox, self.receiver.as_fd(), PollFlags::IN));
        }
        for (launcher, program) in &self.programs {
            sources.extend(
                program
                    .sources()
                    .map(|(fd, flags)| (Source::Launcher(launcher.clone()), fd, flags)),
            );
        }
        for (index, newborn) in self.newborn.iter().enumerate() {
            sources.extend(
                newborn.stream.readiness().map(|fd| (Source::Newborn(index), fd, PollFlags::IN)),
            );
        }
        for (name, gate) in &self.gates {
            sources
                .extend(gate.readiness().map(|fd| (Source::Gate(name.clone()), fd, PollFlags::IN)));
        }
        for (number, line) in &self.pilots {
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
        let newborn = self.newborn.iter().map(|newborn| newborn.until);
        let leaving = self.leaving.iter().map(|program| program.next_look(self.clock.now()));
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

    fn collect_messages(&mut self) {
        for _ in 0..MESSAGES_PER_TURN {
            match self.receiver.try_receive() {
                Ok(Message::Spawner(request)) => self.request(request),
                Ok(Message::Jobs(jobs::Request::Watch(watcher))) => {
                    self.watcher = Some(watcher);
                    self.state.changed = true;
                }
                Ok(Message::Jobs(jobs::Request::Cancel { number, done })) => {
                    let known = self.state.jobs.contains_key(&number);
                    let unknown = || {
                        Error::new(
                            ErrorKind::NotFound,
                            "end a job",
                            format!("there is no job {number}"),
                        )
                    };
                    self.events.push_back(Event::Cancel { number });
                    done.answer(if known {
                        Ok(())
                    } else {
                        Err(unknown().fix("farcall jobs lists them"))
                    });
                }
                Ok(Message::Stop) => self.events.push_back(Event::Shutdown),
                Err(NoMessage::Empty) => return,
                Err(NoMessage::Closed) => {
                    self.receiver_closed = true;
                    self.events.push_back(Event::Shutdown);
                    return;
                }
            }
        }
    }

    fn request(&mut self, request: Request) {
        match request {
            Request::Start(start) => {
                let Start { executable, module, image, started, exited } = *start;
                if self.reports.contains_key(&executable) {
                    exited.withdraw();
                    return started
                        .answer(Err(Error::internal("start an executable", "it already exists")));
                }
                let (listening, hushing) = Default::default();
                let reports =
                    Reports { started: Some(started), exited, listener: None, listening, hushing };
                self.reports.insert(executable, reports);
                self.events.push_back(Event::Start { executable, module, image });
            }
            Request::Stop { executable, grace } => {
                self.events.push_back(Event::Stop { executable, grace })
            }
            Request::Listen { executable, listener, done } => {
                let asked =
                    self.tell_pilot_of(executable, &ToPilot::Listen { executable: executable.0 });
                match self.reports.get_mut(&executable).filter(|_| asked) {
                    Some(reports) => {
                        reports.listener = Some(Listener::new(executable, listener));
                        reports.listening.push_back(done);
                    }
                    None => done.answer(Ok(())),
                }
            }
            Request::Hush { executable, done } => {
                let asked =
                    self.tell_pilot_of(executable, &ToPilot::Hush { executable: executable.0 });
                match self.reports.get_mut(&executable).filter(|_| asked) {
                    Some(reports) => reports.hushing.push_back(done),
                    None => done.answer(Ok(())),
                }
            }
        }
    }

    /// Whether the executable is at a pilot, who was told.
    fn tell_pilot_of(&mut self, executable: ExecutableId, message: &ToPilot) -> bool {
        let place = self.state.executables.get(&executable).map(|entry| entry.place);
        let Some(crate::state::Place::Running(pilot) | crate::state::Place::Starting(pilot)) =
            place
        else {
            return false;
        };
        self.tell_pilot(pilot, message);
        true
    }

    fn tell_pilot(&mut self, pilot: Number, message: &ToPilot) {
        let Some(line) = self.pilots.get_mut(&pilot) else { return };
        if let Err(why) = line.tell(message) {
            self.lose_pilot(pilot, why);
        }
    }

    fn lose_pilot(&mut self, pilot: Number, why: String) {
        if self.pilots.remove(&pilot).is_some() {
            self.events.push_back(Event::PilotLost { pilot, why });
        }
    }

    fn accept(&mut self, name: &str) {
        for _ in 0..ACCEPTS_PER_TURN {
            let Some(gate) = self.gates.get_mut(name) else { return };
            match gate.listener().accept() {
                Ok(Some(stream)) if self.newborn.len() < NEWBORN_MAX => {
                    let until =
                        self.clock.now() + Duration::from_millis(self.state.settings.greeting_ms);
                    self.newborn.push(Newborn::new(stream, until));
                    // What it sends may be there already, and decrypted.
                    self.hear_newborn(self.newborn.len() - 1);
                }
                Ok(Some(_)) => {}
                Ok(None) => return,
                // One that was refused, or vanished.
                Err(_) => {}
            }
        }
    }

    fn hear_newborn(&mut self, index: usize) {
        let Some(newborn) = self.newborn.get_mut(index) else { return };
        match newborn.greet() {
            Greeting::NotYet => {}
            Greeting::Broken => drop(self.newborn.swap_remove(index)),
            Greeting::Said(greeting) => {
                let newborn = self.newborn.swap_remove(index);
                self.greeted(newborn.stream, greeting);
            }
        }
    }

    fn greeted(&mut self, stream: Box<dyn ByteStream>, greeting: PilotGreeting) {
        match greeting {
            PilotGreeting::Pilot(hello) => {
                self.numbers += 1;
                let pilot = self.numbers;
                self.pilots.insert(pilot, PilotLine::new(stream));
                self.events.push_back(Event::PilotCame { pilot, hello });
                self.settle();
                self.hear_pilot(pilot);
            }
            PilotGreeting::Executable(one) => {
                let executable = ExecutableId(one.executable);
                let job = one.job.clone();
                self.lines.insert(executable, (stream, one));
                self.events.push_back(Event::LineCame { job, executable });
                self.settle();
            }
        }
    }

    fn hear_pilot(&mut self, pilot: Number) {
        let Some(line) = self.pilots.get_mut(&pilot) else { return };
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
                let (executable, error) = (ExecutableId(executable), Error::from(failure));
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

    fn hear_launcher(&mut self, name: &str) {
        let Some(program) = self.programs.get_mut(name) else { return };
        for said in program.exchange() {
            let launcher = name.to_owned();
            match said {
                Said::Answer(line) => self.events.push_back(Event::Answered { launcher, line }),
                Said::Notice(line) => {
                    self.fetch_last_words(&line);
                    self.events.push_back(Event::Noticed { launcher, line });
                }
                Said::Ended(how) => {
                    if let Some(program) = self.programs.remove(name) {
                        self.leaving.push(program);
                    }
                    return self.events.push_back(Event::LauncherEnded { launcher, how });
                }
            }
        }
    }

    /// What a job wrote before its end says more than how it ended.
    fn fetch_last_words(&mut self, notice: &str) {
        let mut words = notice.split(' ');
        let (Some("STATUS_NOTIFY"), Some(id), Some("DONE" | "FAILED")) =
            (words.next(), words.next(), words.next())
        else {
            return;
        };
        if let Some(job) = self.state.jobs.values_mut().find(|job| job.id.as_deref() == Some(id)) {
            job.said = self.folder.output_of(&job.name);
        }
    }

    fn end_late(&mut self) {
        let now = self.clock.now();
        self.newborn.retain(|newborn| newborn.until > now);
        self.leaving.retain_mut(|program| !program.has_left(now));
    }

    /// Ports are open only while jobs may come.
    fn shut_gates(&mut self) {
        let (state, open) = (&self.state, self.gates.len());
        self.gates.retain(|launcher, _| state.is_awaiting(launcher));
        if self.gates.is_empty() && open > 0 {
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
            Action::DropLine { executable } => drop(self.lines.remove(&executable)),
            Action::ReportExited(exited) => {
                if let Some(Reports { exited: reply, .. }) = self.reports.remove(&exited.executable)
                {
                    reply.answer(Ok(*exited));
                }
            }
            Action::StartLauncher { launcher } => self.start_launcher(&launcher),
            Action::EndLauncher { launcher } => {
                if let Some(mut program) = self.programs.remove(&launcher) {
                    program.dismiss(self.clock.now());
                    self.leaving.push(program);
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
            Action::DropPilot { pilot } => drop(self.pilots.remove(&pilot)),
            Action::Finish => self.finished = true,
        }
    }

    fn report_started(&mut self, executable: ExecutableId) {
        let Some((stream, one)) = self.lines.remove(&executable) else { return };
        let Some(reports) = self.reports.get_mut(&executable) else { return };
        let limits = ExecutableLimits {
            memory_max: one.memory_max.map(farcall_base::Bytes),
            call_seconds_max: one.call_seconds_max,
        };
        let started = Started { executable, line: Line::Stream(stream), pid: one.pid, limits };
        if let Some(reply) = reports.started.take() {
            reply.answer(Ok(started));
        }
    }

    fn start_launcher(&mut self, launcher: &str) {
        let settings = self.state.settings.launcher(launcher).unwrap_or_default();
        match Program::start(&settings.command) {
            Ok(program) => drop(self.programs.insert(launcher.to_owned(), program)),
            Err(error) => {
                let how = error.to_string();
                self.events.push_back(Event::LauncherEnded { launcher: launcher.to_owned(), how });
            }
        }
    }

    fn tell_launcher(&mut self, launcher: &str, lines: &[String]) {
        let Some(program) = self.programs.get_mut(launcher) else { return };
        program.tell(lines);
        self.hear_launcher(launcher);
    }

    /// Makes a job's folder, with its ticket inside.
    fn prepare(&mut self, number: Number) -> Result<()> {
        let gone = || Error::internal("prepare a job", "it is gone");
        let job = self.state.jobs.get(&number).ok_or_else(gone)?;
        let (name, launcher) = (job.name.clone(), job.kind.launcher.clone());
        let settings = self.state.settings.launcher(&launcher).ok_or_else(gone)?;
        if !self.gates.contains_key(&launcher) {
            let folder = self.folder.prepare()?;
            let wish = GateWish {
                folder: &folder,
                dial: self.state.settings.dial(&launcher),
                listen: settings.listen.as_deref().unwrap_or("0.0.0.0"),
                reached_at: &settings.reached_at,
            };
            self.gates.insert(launcher.clone(), (self.open_gate)(&wish)?);
        }
        let gate = self.gates.get_mut(&launcher).ok_or_else(gone)?;
        let options = self.state.settings.pilot_options.lines();
        let options: String = options.map(|line| format!("option {line}\n")).collect();
        let ticket = format!("farcall-ticket 1\njob {name}\n{options}{}", gate.ticket(&name)?);
        self.folder.make(&name, &ticket)
    }

    fn create(&mut self, number: Number) {
        let Some(job) = self.state.jobs.get(&number) else { return };
        let Some(settings) = self.state.settings.launcher(&job.kind.launcher) else { return };
        let program = match settings.program.as_str() {
            "" => std::env::current_exe().unwrap_or_else(|_| "farcall".into()),
            program => program.into(),
        };
        let own = || rustix::system::uname().nodename().to_string_lossy().into_owned();
        let host = if settings.host.is_empty() { own() } else { settings.host.clone() };
        let files = request::Files {
            program: &program,
            folder: &self.folder.of(&job.name),
            ticket: &self.folder.ticket_of(&job.name),
            output: &self.folder.output_file_of(&job.name),
            host: &host,
            bridge: self.gates.get(&job.kind.launcher).and_then(|gate| gate.bridge()),
        };
        let lines = request::create(number, job, &settings, &files);
        let launcher = job.kind.launcher.clone();
        self.tell_launcher(&launcher, &lines);
    }

    fn start_at(&mut self, pilot: Number, executable: ExecutableId) {
        let Some(entry) = self.state.executables.get(&executable) else { return };
        let (module, image) = (entry.module.clone(), entry.image.clone());
        let text = self.text_number(&image.module_text);
        let Some(line) = self.pilots.get_mut(&pilot) else { return };
        let fresh = line.texts.insert(text);
        let start = PilotStart {
            executable: executable.0,
            module,
            program: program_of(&image.kind),
            environment: image.environment.clone(),
            backend: image.backend.clone(),
            ranks: image.ranks,
            is_owners: image.trust == farcall_services::directory::Trust::Owner,
            module_text: if fresh { image.module_text.to_vec() } else { Vec::new() },
            text,
        };
        self.tell_pilot(pilot, &ToPilot::Start(start));
    }

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

fn program_of(kind: &farcall_services::directory::ImageKind) -> PilotProgram {
    use farcall_services::directory::ImageKind;
    match kind.clone() {
        ImageKind::GenericHost { libraries } => PilotProgram::Host { libraries },
        ImageKind::Linked { path } => PilotProgram::Linked { path },
        ImageKind::Interpreted { program, arguments, readable } => {
            PilotProgram::Interpreted { program, arguments, readable }
        }
    }
}
