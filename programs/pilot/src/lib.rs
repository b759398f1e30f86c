//! The program of a job (spec/pilot.md). It dials back to the server that asked for the job, by the
//! ticket that this left for it, and starts executables where it is, as a server does on its own
//! host. `farcall pilot` is its command line, and `farcall bridge` that of the other end of its
//! streams.

mod carry;
mod reports;
pub mod streams;
mod ticket;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind as IoErrorKind, IoSlice, IoSliceMut};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use farcall_base::{Clock, Error, ErrorKind, ExecutableId, Instant, Result, SystemClock};
use farcall_executable::image::{listed_folders, loaded_files};
use farcall_kernel::{Manifest, Node, PluginDescription};
use farcall_link::stream::{ByteStream, Proof};
use farcall_services::directory::{ExecutableImage, ImageKind, Trust};
use farcall_services::mailbox::{Receiver, Sender, mailbox};
use farcall_services::spawner::{self, Exited, Line, Said, SpawnerHandle, Start, Started};
use farcall_system::signals::signals;
use farcall_wire::{
    FromPilot, PILOT_MESSAGE_BYTES_MAX, PILOT_VERSION, PilotExecutable, PilotGreeting, PilotHello,
    PilotProgram, PilotStart, ToPilot, encode_pilot, take_pilot,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use carry::Carriers;
use streams::{Ends, pass_on};
use ticket::Ticket;

/// How many executables this host is to run at a time, where its launcher knows.
const SLOTS_VARIABLE: &str = "FARCALL_SLOTS";
/// Messages between this program's threads.
const MESSAGES_MAX: usize = 1 << 16;
const PIECE_BYTES: usize = 64 << 10;
/// Time after which a server behind a launcher is gone that asks nothing: what lies between may not
/// tell. It asks every few seconds; and a laptop that slept for a while finds its jobs again.
const SILENCE_MAX: Duration = Duration::from_secs(1800);
/// What waits to be told to the server.
const OUTBOX_BYTES_MAX: usize = 64 << 20;
/// While so much waits, no more news are taken: executables that write faster than the line carries
/// miss being told, by their own small bound, and nothing else suffers.
const CROWDED_BYTES: usize = 1 << 20;

/// What happens to executables.
enum News {
    Started(ExecutableId, Result<Started>),
    Exited(Result<Exited>),
    /// Everything that an executable and its server had to say was passed on.
    Carried(ExecutableId, Result<()>),
    Said(Said),
    Listening(ExecutableId, Result<()>),
    Hushed(ExecutableId, Result<()>),
}

/// An executable, until both its process and its connection are over.
#[derive(Default)]
struct Running {
    carried: bool,
    exited: Option<Exited>,
}

struct Pilot {
    ticket: Arc<Ticket>,
    line: Box<dyn ByteStream>,
    /// A batch system ends a job by SIGTERM: executables and their folders go then, as by the
    /// server's word.
    signals: OwnedFd,
    inbox: Vec<u8>,
    outbox: Vec<u8>,
    spawner: SpawnerHandle,
    sender: Sender<News>,
    news: Receiver<News>,
    running: BTreeMap<ExecutableId, Running>,
    texts: BTreeMap<u64, Arc<[u8]>>,
    carriers: Arc<Carriers>,
    clock: SystemClock,
    /// When it is gone, unless it says something before.
    silent_until: Option<Instant>,
    ends: bool,
}

/// How a pilot reaches its server.
pub enum Way {
    /// By the network of its host.
    Dial,
    /// Through standard input and output, which the launcher passes on. What goes wrong with these
    /// is told so.
    Streams(fn(&Error)),
}

/// Serves until the server says that it is enough, or is gone. `spawner` starts executables, by
/// options of the ticket's.
///
/// # Errors
/// `NotFound` and `InvalidSource` for the ticket; those of the way to the server.
pub fn pilot(ticket: &Path, way: Way, spawner: PluginDescription) -> Result<()> {
    let streams = match way {
        Way::Dial => None,
        Way::Streams(explain) => Some(begin_streams(explain)?),
    };
    let ticket = Arc::new(Ticket::read(ticket, streams)?);
    let slots = slots()?;
    let mut line = ticket.dial()?;
    // From here on: what dials may wait for long, and has nothing to leave behind.
    let signals = signals()?;
    let hello = PilotHello {
        version: PILOT_VERSION,
        job: ticket.job.clone(),
        slots,
        host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        pid: std::process::id(),
        product: concat!("farcall ", env!("CARGO_PKG_VERSION")).to_owned(),
    };
    greet(&mut *line, &PilotGreeting::Pilot(hello))?;
    let plugins = [spawner];
    let mut manifest = Manifest::of(&plugins)?;
    manifest.override_options("spawner-local", "the ticket", &ticket.options)?;
    let executables = slots.saturating_mul(2).max(16);
    // All may be asked for at once, as for a handle array: to start each, to listen, to leave off
    // and to end it.
    let options = format!(
        "gpus = \"job\"\nexecutables_max = {executables}\nrequests_max = {}",
        executables.saturating_mul(4).max(256)
    );
    manifest.override_options("spawner-local", "farcall pilot", &options)?;
    let node = Node::start(&manifest, &plugins)?;
    let (sender, news) = mailbox(MESSAGES_MAX)?;
    let mut pilot = Pilot {
        ticket,
        line,
        signals,
        inbox: Vec::new(),
        outbox: Vec::new(),
        spawner: node.service::<SpawnerHandle>(spawner::SLOT)?,
        sender,
        news,
        running: BTreeMap::new(),
        texts: BTreeMap::new(),
        carriers: Arc::new(Carriers::begin(MESSAGES_MAX)?),
        silent_until: None,
        clock: SystemClock::new(),
        ends: false,
    };
    pilot.silent_until =
        pilot.ticket.is_through_launcher().then(|| pilot.clock.now() + SILENCE_MAX);
    let outcome = pilot.serve();
    // Executables end with it, whatever they do.
    let stopped = node.stop();
    outcome.and(stopped)
}

/// Takes standard input and output for the connections of this program. Whoever prints something
/// does so to standard error.
fn begin_streams(explain: fn(&Error)) -> Result<Sender<OwnedFd>> {
    let system = |error: std::io::Error| Error::system("start a job", error);
    let input = rustix::stdio::stdin().try_clone_to_owned().map_err(system)?;
    let output = rustix::stdio::stdout().try_clone_to_owned().map_err(system)?;
    let null = File::open("/dev/null").map_err(system)?;
    rustix::stdio::dup2_stdin(&null).map_err(|errno| system(errno.into()))?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr()).map_err(|errno| system(errno.into()))?;
    let (sender, asked) = mailbox(MESSAGES_MAX)?;
    let work = move || {
        if let Err(error) = pass_on(input, output, Ends::Opened(asked)) {
            explain(&error);
        }
    };
    std::thread::Builder::new().name("streams".to_owned()).spawn(work).map_err(system)?;
    Ok(sender)
}

fn slots() -> Result<u32> {
    let Some(text) = std::env::var_os(SLOTS_VARIABLE).filter(|text| !text.is_empty()) else {
        return Ok(1);
    };
    let text = text.to_string_lossy();
    text.trim().parse().ok().filter(|slots| (1..=16_384).contains(slots)).ok_or_else(|| {
        Error::new(
            ErrorKind::InvalidArgument,
            "start a job",
            format!(
                "{text:?} is not a number \
            of executables"
            ),
        )
        .with("variable", SLOTS_VARIABLE)
        .fix(
            "the launcher must set it to the number of executables for this host, or leave \
                it unset",
        )
    })
}

/// Sends the first message of a connection.
fn greet(line: &mut dyn ByteStream, greeting: &PilotGreeting) -> Result<()> {
    let mut bytes = encode_pilot(greeting)?;
    while !bytes.is_empty() {
        match line.send(&[IoSlice::new(&bytes)], &[]) {
            Ok(count) => drop(bytes.drain(..count)),
            Err(error) if error.kind() == IoErrorKind::WouldBlock => {
                let descriptor = line.readiness().ok_or_else(|| {
                    Error::internal("connect to the server", "nothing to wait on")
                })?;
                let _ = poll(&mut [PollFd::from_borrowed_fd(descriptor, PollFlags::OUT)], None);
            }
            Err(error) if error.kind() == IoErrorKind::Interrupted => {}
            Err(error) => return Err(lost(error)),
        }
    }
    Ok(())
}

fn lost(error: std::io::Error) -> Error {
    Error::new(ErrorKind::ConnectionLost, "serve a job", format!("the server is gone: {error}"))
        .source(error)
}

impl Pilot {
    fn serve(&mut self) -> Result<()> {
        self.receive()?;
        while !self.ends {
            self.send()?;
            self.wait()?;
            self.receive()?;
            self.take_news();
        }
        Ok(())
    }

    fn wait(&mut self) -> Result<()> {
        let descriptor = self
            .line
            .readiness()
            .ok_or_else(|| Error::internal("serve a job", "nothing to wait on"))?;
        let room = if self.outbox.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
        let waiting = PollFd::from_borrowed_fd(descriptor, PollFlags::IN | room);
        let left = self.silent_until.map(|until| until.since(self.clock.now()));
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        let signals = PollFd::new(&self.signals, PollFlags::IN);
        let mut watched = [waiting, signals, PollFd::new(&self.news, PollFlags::IN)];
        let count = if self.is_crowded() { 2 } else { 3 };
        let polled = poll(&mut watched[..count], left.as_ref());
        self.ends |= !watched[1].revents().is_empty();
        match polled {
            Ok(0) => {
                let message = format!("the server asked nothing for {} s", SILENCE_MAX.as_secs());
                Err(Error::new(ErrorKind::ConnectionLost, "serve a job", message))
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(errno) => Err(Error::system("wait for the server", errno.into())),
        }
    }

    fn send(&mut self) -> Result<()> {
        while !self.outbox.is_empty() {
            match self.line.send(&[IoSlice::new(&self.outbox)], &[]) {
                Ok(count) => drop(self.outbox.drain(..count)),
                Err(error) if error.kind() == IoErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == IoErrorKind::Interrupted => {}
                Err(error) => return Err(lost(error)),
            }
        }
        Ok(())
    }

    fn receive(&mut self) -> Result<()> {
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            match self.line.receive(&mut [IoSliceMut::new(&mut piece)], &mut Vec::new()) {
                Ok(0) => {
                    self.ends = true;
                    return Ok(());
                }
                Ok(count) => {
                    self.inbox.extend(&piece[..count]);
                    self.silent_until = self.silent_until.map(|_| self.clock.now() + SILENCE_MAX);
                }
                Err(error) if error.kind() == IoErrorKind::WouldBlock => break,
                Err(error) if error.kind() == IoErrorKind::Interrupted => {}
                Err(error) => return Err(lost(error)),
            }
        }
        while let Some(message) = take_pilot(&mut self.inbox, PILOT_MESSAGE_BYTES_MAX)? {
            self.obey(message)?;
        }
        Ok(())
    }

    fn tell(&mut self, message: &FromPilot) {
        match encode_pilot(message) {
            Ok(bytes) if self.outbox.len() + bytes.len() <= OUTBOX_BYTES_MAX => {
                self.outbox.extend(bytes)
            }
            // A server that takes nothing is as good as gone.
            _ => self.ends = true,
        }
    }

    fn obey(&mut self, message: ToPilot) -> Result<()> {
        match message {
            ToPilot::Start(start) => self.start(*start),
            ToPilot::Stop { executable, grace_ms } => {
                // One that is too busy to listen ends it when this program ends.
                let _ =
                    self.spawner.stop(ExecutableId(executable), Duration::from_millis(grace_ms));
                Ok(())
            }
            ToPilot::Listen { executable } => {
                let executable = ExecutableId(executable);
                let said = self.sender.port(News::Said);
                let done =
                    self.sender.reply(move |outcome| News::Listening(executable, outcome))?;
                self.spawner.listen(executable, said, done);
                Ok(())
            }
            ToPilot::Hush { executable } => {
                let executable = ExecutableId(executable);
                let done = self.sender.reply(move |outcome| News::Hushed(executable, outcome))?;
                self.spawner.hush(executable, done);
                Ok(())
            }
            ToPilot::End => {
                self.ends = true;
                Ok(())
            }
            ToPilot::Ping => {
                self.tell(&FromPilot::Pong);
                Ok(())
            }
        }
    }

    fn start(&mut self, start: PilotStart) -> Result<()> {
        let executable = ExecutableId(start.executable);
        if !start.module_text.is_empty() {
            self.texts.insert(start.text, start.module_text.into());
        }
        let text = self.texts.get(&start.text).cloned().unwrap_or_else(|| Arc::from([]));
        let kind = match start.program {
            PilotProgram::Host { libraries } => ImageKind::GenericHost { libraries },
            PilotProgram::Linked { path } => ImageKind::Linked { path },
            PilotProgram::Interpreted { program, arguments, readable } => {
                ImageKind::Interpreted { program, arguments, readable }
            }
        };
        let environment = start.environment;
        let backend = start.backend;
        let launcher = String::new();
        let ranks = start.ranks;
        let resources = start.resources.read().unwrap_or_default();
        let trust = if start.is_owners { Trust::Owner } else { Trust::Confined };
        // As the files of this host are.
        let readable = loaded_files(&kind);
        let listed = listed_folders(&kind);
        let image = ExecutableImage {
            kind,
            readable,
            listed,
            trust,
            environment,
            backend,
            ranks,
            resources,
            launcher,
            // The server counts.
            executables_max: 0,
            module_text: text,
        };
        let started = self.sender.reply(move |answer| News::Started(executable, answer))?;
        let exited = self.sender.reply(News::Exited)?;
        self.running.insert(executable, Running::default());
        let module = start.module;
        self.spawner.start(Start { executable, module, image, array: None, started, exited });
        Ok(())
    }

    fn is_crowded(&self) -> bool {
        self.outbox.len() >= CROWDED_BYTES
    }

    /// Gives an executable a connection of its own to the server.
    fn carry(&mut self, executable: ExecutableId, started: Started) {
        let Line::Inherited(near) = started.line else { return };
        let greeting = PilotGreeting::Executable(PilotExecutable {
            job: self.ticket.job.clone(),
            executable: executable.0,
            pid: started.pid,
            memory_max: started.limits.memory_max.map(|memory| memory.0),
            call_seconds_max: started.limits.call_seconds_max,
        });
        let ticket = self.ticket.clone();
        let Ok(done) = self.sender.reply(move |outcome| News::Carried(executable, outcome)) else {
            return;
        };
        let carriers = self.carriers.clone();
        let work = move || {
            let near = farcall_transport_unix::from_descriptor(near, Proof::Inherited);
            let joined = near.and_then(|near| {
                let mut far = ticket.dial()?;
                greet(&mut *far, &greeting)?;
                Ok((near, far))
            });
            match joined {
                Ok((near, far)) => carriers.carry(near, far, done),
                Err(error) => done.answer(Err(error)),
            }
        };
        let thread =
            std::thread::Builder::new().name("dial".to_owned()).stack_size(256 << 10).spawn(work);
        if thread.is_err() {
            // The answer that was dropped says so.
            let _ = self.spawner.stop(executable, Duration::ZERO);
        }
    }

    fn carried(&mut self, executable: ExecutableId, outcome: Result<()>) {
        if outcome.is_err() {
            // Nothing leads to it any more.
            let _ = self.spawner.stop(executable, Duration::ZERO);
        }
        if let Some(running) = self.running.get_mut(&executable) {
            running.carried = true;
        }
        self.report_if_over(executable);
    }
}
