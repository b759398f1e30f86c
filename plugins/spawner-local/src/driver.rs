//! The spawner's driver: one thread that waits for requests, outputs and ends of processes, and
//! does what `step` says.

mod asking;
mod copy;
mod descent;
mod environment;
pub mod inspection;
mod leash;
mod meeting;
mod memory_cgroup;
mod output;
mod process;
mod rooms;
mod zygotes;

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::Arc;

use farcall_base::{Clock, Error, ExecutableId, Instant, Result, SystemClock};
use farcall_services::mailbox::{NoMessage, Receiver, Reply};
use farcall_services::spawner::{Exited, Line, Listener, Output, Request, Start, Started};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::state::{Settings, State};
use crate::step::{Action, CommandLine, Event, Load, Signal, step};
use meeting::Meeting;
pub(crate) use memory_cgroup::is_counted as memory_is_counted;
use process::{Process, Reaped};
pub(crate) use rooms::counted_by;
use rooms::{Room, Rooms};
use zygotes::{News, Wanted, ZygoteId, Zygotes};

/// Messages taken before outputs and ends have their turn: a flood of requests must not hide them,
/// nor grow `events`.
const MESSAGES_PER_TURN: usize = 64;
/// Tells zygotes of a room that was made again from those of the one before.
const ROOM_VARIABLE: &str = "FARCALL_ROOM";

/// What arrives in the spawner's mailbox.
pub(crate) enum Message {
    Request(Box<Request>),
    Stop,
}

/// The addresses of a start's two reports.
struct Reports {
    /// Until it was used.
    started: Option<Reply<Started>>,
    exited: Reply<Exited>,
}

struct Driver {
    state: State,
    clock: SystemClock,
    receiver: Receiver<Message>,
    /// Nobody can ask any more: the mailbox has nothing to wait for.
    receiver_closed: bool,
    /// Addresses of starts that `step` has not decided on, by the number of the request.
    asked: BTreeMap<u64, Reports>,
    requests: u64,
    /// Addresses of starts that it decided for.
    reports: BTreeMap<ExecutableId, Reports>,
    running: BTreeMap<ExecutableId, Process>,
    /// Who is told what they write.
    listeners: BTreeMap<ExecutableId, Listener>,
    zygotes: Zygotes,
    rooms: Rooms,
    /// What has happened and `step` has not seen.
    events: VecDeque<Event>,
    finished: bool,
}

/// Where an event comes from.
#[derive(Clone, Copy)]
enum Source {
    Mailbox,
    Output(ExecutableId, Output),
    End(ExecutableId),
    Meeting(ExecutableId),
    Zygote(ZygoteId),
}

pub(crate) fn run(settings: Settings, receiver: Receiver<Message>) -> Result<()> {
    let mut driver = Driver {
        state: State::new(settings),
        clock: SystemClock::new(),
        receiver,
        receiver_closed: false,
        asked: BTreeMap::new(),
        requests: 0,
        reports: BTreeMap::new(),
        running: BTreeMap::new(),
        listeners: BTreeMap::new(),
        zygotes: Zygotes::default(),
        rooms: Rooms::default(),
        events: VecDeque::new(),
        finished: false,
    };
    while !driver.finished {
        for source in driver.wait()? {
            driver.collect(source);
            driver.settle();
        }
        driver.events.push_back(Event::Tick);
        driver.settle();
        driver.zygotes.end_idle(&driver.state.settings, driver.clock.now());
    }
    Ok(())
}

impl Driver {
    /// The sources with something to take, outputs before ends, so that a process is reported with
    /// all that it wrote.
    fn wait(&self) -> Result<Vec<Source>> {
        let sources = self.sources();
        let mut waiting: Vec<PollFd<'_>> = sources
            .iter()
            .map(|(_, descriptor)| PollFd::from_borrowed_fd(*descriptor, PollFlags::IN))
            .collect();
        let idle = self.zygotes.next_end(&self.state.settings);
        let deadline = self.state.next_deadline().into_iter().chain(idle).min();
        let timeout = deadline.map(|deadline| self.time_left(deadline));
        match poll(&mut waiting, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(Error::system("wait for executables", errno.into())),
        }
        let ready = waiting.iter().zip(&sources).filter(|(waited, _)| !waited.revents().is_empty());
        Ok(ready.map(|(_, (source, _))| *source).collect())
    }

    fn sources(&self) -> Vec<(Source, BorrowedFd<'_>)> {
        let mut sources = Vec::with_capacity(1 + 3 * self.running.len());
        if !self.receiver_closed {
            sources.push((Source::Mailbox, self.receiver.as_fd()));
        }
        for (executable, process) in &self.running {
            sources.extend(
                process.pipes().map(|(output, pipe)| (Source::Output(*executable, output), pipe)),
            );
            sources
                .extend(process.awaited().map(|meeting| (Source::Meeting(*executable), meeting)));
            sources.extend(process.end().map(|end| (Source::End(*executable), end)));
        }
        sources.extend(self.zygotes.sources().map(|(zygote, link)| (Source::Zygote(zygote), link)));
        sources
    }

    fn time_left(&self, deadline: Instant) -> Timespec {
        let left = deadline.since(self.clock.now());
        Timespec::try_from(left).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 })
    }

    fn collect(&mut self, source: Source) {
        match source {
            Source::Mailbox => self.collect_messages(),
            Source::Output(executable, output) => {
                self.collect_output(executable, output);
            }
            Source::End(executable) => self.collect_end(executable),
            Source::Meeting(executable) => self.meet(executable),
            Source::Zygote(zygote) => {
                self.zygotes.collect(&self.state.settings, self.clock.now(), zygote)
            }
        }
    }

    /// The first process of MPI's may have come.
    fn meet(&mut self, executable: ExecutableId) {
        let Some(process) = self.running.get_mut(&executable) else { return };
        match process.meet() {
            Ok(false) => {}
            Ok(true) => self.events.push_back(Event::Spawned { executable }),
            // Nothing will come of it; its end is seen.
            Err(_) => process.signal(Signal::Kill),
        }
    }

    fn collect_messages(&mut self) {
        for _ in 0..MESSAGES_PER_TURN {
            match self.receiver.try_receive() {
                Ok(Message::Request(request)) => self.collect_request(*request),
                Ok(Message::Stop) => self.events.push_back(Event::Shutdown),
                Err(NoMessage::Empty) => break,
                Err(NoMessage::Closed) => {
                    // As good as being told to stop.
                    self.receiver_closed = true;
                    self.events.push_back(Event::Shutdown);
                    break;
                }
            }
        }
    }

    fn collect_request(&mut self, request: Request) {
        match request {
            Request::Start(start) => self.collect_start(*start),
            Request::Stop { executable, grace } => {
                self.events.push_back(Event::Stop { executable, grace })
            }
            Request::Listen { executable, listener, done } => {
                self.listen(executable, listener);
                done.answer(Ok(()));
            }
            Request::Hush { executable, done } => {
                self.hush(executable);
                done.answer(Ok(()));
            }
        }
    }

    fn collect_start(&mut self, start: Start) {
        let Start { executable, module, image, started, exited, .. } = start;
        self.requests += 1;
        self.asked.insert(self.requests, Reports { started: Some(started), exited });
        self.events.push_back(Event::Start {
            request: self.requests,
            executable,
            module,
            image: Box::new(image),
        });
    }

    /// Ends the rest of the process's group, and reaps it or has it reaped.
    fn collect_end(&mut self, executable: ExecutableId) {
        let Some(process) = self.running.get_mut(&executable) else { return };
        match process.reap() {
            Reaped::NotYet => {}
            Reaped::Done(how) => self.report_end(executable, how),
            Reaped::By(zygote, pid) => self.zygotes.reap(zygote, executable, pid),
        }
    }

    fn hear(&mut self, news: News) {
        match news {
            News::Born(executable, process) => {
                self.running.insert(executable, *process);
                self.pin(executable);
                self.events.push_back(Event::Spawned { executable });
            }
            News::Failed(executable, error) => {
                self.events.push_back(Event::SpawnFailed { executable, error })
            }
            News::Refused(wanted) => self.spawn(&wanted),
            News::Reaped(executable, how) => self.report_end(executable, how),
        }
    }

    /// Lets `step` see all events, and does what it says.
    fn settle(&mut self) {
        loop {
            while let Some(news) = self.zygotes.news() {
                self.hear(news);
            }
            let Some(event) = self.events.pop_front() else { return };
            for action in step(&mut self.state, self.clock.now(), event) {
                self.perform(action);
            }
        }
    }

    fn perform(&mut self, action: Action) {
        match action {
            Action::Refuse { request, error } => {
                self.asked.remove(&request).expect("starts are asked").fail(error)
            }
            Action::Spawn { request, executable, command, load } => {
                let reports = self.asked.remove(&request).expect("starts are asked");
                self.reports.insert(executable, reports);
                self.start(executable, command, load);
            }
            Action::ReportStarted { executable } => self.report_started(executable),
            Action::ReportFailed { executable, error } => {
                self.running.remove(&executable);
                self.reports.remove(&executable).expect("a spawn has its reports").fail(error);
            }
            Action::Signal { executable, signal } => match self.running.get_mut(&executable) {
                Some(process) => process.signal(signal),
                None if signal == Signal::Kill => self.zygotes.give_up(executable),
                None => {}
            },
            Action::ReportExited(exited) => self.report_exited(exited),
            Action::Finish => self.finished = true,
        }
    }

    fn start(&mut self, executable: ExecutableId, mut command: Box<CommandLine>, load: Load) {
        match self.rooms.enter(&load.module, &command.limits) {
            Ok(room) if command.parallel => self.start_by_mpi(executable, command, room),
            // Each has GPUs of its own, which no two children of a zygote could have.
            Ok(room) if !command.gpus.is_empty() => {
                self.spawn(&Wanted { executable, command, room, meeting: None });
            }
            Ok(room) => {
                // A zygote is confined to its room, and so are its children: in a room that was
                // made again it is of no use.
                if self.rooms.remade > 0 {
                    command
                        .environment
                        .push((ROOM_VARIABLE.to_owned(), self.rooms.remade.to_string()));
                }
                let now = self.clock.now();
                let wanted = Wanted { executable, command, room, meeting: None };
                self.zygotes.start(&self.state.settings, now, wanted, load);
            }
            Err(error) => self.events.push_back(Event::SpawnFailed { executable, error }),
        }
    }

    /// No zygote is a launcher.
    fn start_by_mpi(
        &mut self,
        executable: ExecutableId,
        mut command: Box<CommandLine>,
        room: Arc<Room>,
    ) {
        let launcher = self.state.settings.mpi_command.first().map_or("", String::as_str);
        let program = command.linked.as_ref().map_or(Path::new(""), Path::new);
        match Meeting::new(launcher, (program, &command.rules.found), &room) {
            Ok(meeting) => {
                // For the launcher's children, that name leads to the launcher.
                let own = command
                    .arguments
                    .iter_mut()
                    .filter(|argument| *argument == process::OWN_PROGRAM);
                own.for_each(|argument| *argument = meeting.host().display().to_string());
                if let (Some(copy), Some(named)) = (meeting.program(), command.arguments.last_mut())
                {
                    *named = copy.display().to_string();
                }
                self.spawn(&Wanted { executable, command, room, meeting: Some(Arc::new(meeting)) });
            }
            Err(error) => self.events.push_back(Event::SpawnFailed { executable, error }),
        }
    }

    /// Starts a process without a zygote.
    fn spawn(&mut self, wanted: &Wanted) {
        let executable = wanted.executable;
        let event = match Process::launch(wanted, &self.state.settings) {
            Ok(process) => {
                let comes_later = process.awaited().is_some();
                self.running.insert(executable, process);
                self.pin(executable);
                if comes_later {
                    return;
                }
                Event::Spawned { executable }
            }
            Err(error) => Event::SpawnFailed { executable, error },
        };
        self.events.push_back(event);
    }

    /// Gives an executable processors that no other has, as long as there are any.
    fn pin(&mut self, executable: ExecutableId) {
        let taken: Vec<usize> = self.running.values().filter_map(Process::place).collect();
        let free = (0..=taken.len()).find(|place| !taken.contains(place)).unwrap_or(0);
        if let Some(process) = self.running.get_mut(&executable) {
            process.pin(free, &self.state.settings);
        }
    }

    fn report_started(&mut self, executable: ExecutableId) {
        let reports = self.reports.get_mut(&executable);
        let process = self.running.get_mut(&executable);
        let (Some(reports), Some(process)) = (reports, process) else { return };
        let (Some(started), Some(stream)) = (reports.started.take(), process.take_stream()) else {
            return;
        };
        let pid = process.pid();
        let limits = process.limits();
        started.answer(Ok(Started { executable, line: Line::Inherited(stream), pid, limits }));
    }

    fn report_exited(&mut self, exited: Exited) {
        self.running.remove(&exited.executable);
        if let Some(reports) = self.reports.remove(&exited.executable) {
            reports.exited.answer(Ok(exited));
        }
    }
}

impl Reports {
    /// The start failed, so that no end will be reported.
    fn fail(self, error: Error) {
        self.exited.withdraw();
        if let Some(started) = self.started {
            started.answer(Err(error));
        }
    }
}
