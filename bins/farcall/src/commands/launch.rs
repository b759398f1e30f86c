//! `farcall launch`: a launcher, which speaks the text protocol of spec/launcher.md on its standard streams. What is decided
//! is decided in `farcall_launcher`; here are the streams, the processes and the clock.

mod guard;
mod program;
mod registry;
mod there;

use std::io::{Read, Write};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use clap::{Args, ValueEnum};
use farcall_base::{Clock, Error, Result, SystemClock, printable};
use farcall_launcher::{Action, Event, Launcher, Processes, Requests, Settings, Slurm, Where};
use farcall_system::outlet;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use guard::Guard;
use registry::Registry;

/// Events that wait to be looked at; whoever has one more waits.
const EVENTS_MAX: usize = 256;
/// Bytes read of requests at a time.
const PIECE_BYTES: usize = 16 << 10;
/// Longest time without a look at the clock.
const IDLE: Duration = Duration::from_secs(3600);
/// Time that a reply waits for its reader; one that takes nothing for so long is gone.
const REPLY_MAX: Duration = Duration::from_secs(10);
/// The same of a notice, which is for people.
const NOTICE_MAX: Duration = Duration::from_millis(300);

/// Where jobs run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// As processes of this host
    Local,
    /// On hosts that the user's own ssh reaches
    Ssh,
    /// Wherever Slurm puts them
    Slurm,
}

#[derive(Args)]
pub struct LaunchArguments {
    /// Where jobs run
    #[arg(value_enum)]
    kind: Kind,
    /// Slurm: the shortest time between two looks at the queue, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = seconds)]
    interval_min: f64,
    /// Slurm: the longest time between two looks at the queue, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0, value_parser = seconds)]
    interval_max: f64,
    /// Slurm: for how long a job that was just submitted may be missing in the queue, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0, value_parser = seconds)]
    settle: f64,
    /// Slurm: for how long one of its commands may take, in seconds; half of that where it only looks
    #[arg(long, value_name = "SECONDS", default_value_t = 120.0, value_parser = seconds)]
    limit: f64,
    /// Slurm: cancel the waiting jobs of this name when standard input ends
    #[arg(long, value_name = "NAME", hide = true)]
    guard: Option<String>,
}

fn seconds(text: &str) -> std::result::Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.01..=86_400.0).contains(number));
    number.ok_or_else(|| "a number of seconds from 0.01 to 86400 is wanted".to_owned())
}

/// What comes from outside.
pub enum Input {
    /// Of standard input.
    Bytes(Vec<u8>),
    /// See `Event`.
    Event(Event),
}

/// Serves requests until standard input ends, a signal comes or `EXIT` is asked for.
pub fn launch(arguments: &LaunchArguments) -> Result<ExitCode> {
    if let Some(name) = &arguments.guard {
        guard::guard(name);
        return Ok(ExitCode::SUCCESS);
    }
    let (sender, inputs) = sync_channel(EVENTS_MAX);
    listen(&sender)?;
    let mut guard = None;
    let launcher: Box<dyn Launcher> = match arguments.kind {
        Kind::Local => Box::new(Processes::new(Where::Here)),
        Kind::Ssh => Box::new(Processes::new(Where::There)),
        Kind::Slurm => {
            let settings = slurm_settings(arguments)?;
            guard = Some(Guard::begin(&settings.name)?);
            Box::new(Slurm::new(settings))
        }
    };
    let (requests, registry) = (Requests::default(), Registry::new());
    let desk = Desk { launcher, requests, clock: SystemClock::new(), sender, registry, guard };
    Ok(if desk.serve(&inputs) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn slurm_settings(arguments: &LaunchArguments) -> Result<Settings> {
    let mut settings = Settings::new(format!("farcall-{}", there::random_hex()?));
    settings.interval_min = Duration::from_secs_f64(arguments.interval_min);
    settings.interval_max = Duration::from_secs_f64(arguments.interval_max.max(arguments.interval_min));
    settings.settle = Duration::from_secs_f64(arguments.settle);
    settings.limit = Duration::from_secs_f64(arguments.limit);
    Ok(settings)
}

/// Standard input and signals, each with a thread that waits for them.
fn listen(sender: &SyncSender<Input>) -> Result<()> {
    let system = |error| Error::system("launch", error);
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP]).map_err(system)?;
    let of_signals = sender.clone();
    let heard = move || {
        for _ in signals.forever() {
            let _ = of_signals.send(Input::Event(Event::Closed));
        }
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(heard).map_err(system)?;
    let of_input = sender.clone();
    let read = move || {
        let mut input = std::io::stdin();
        let mut buffer = vec![0; PIECE_BYTES];
        loop {
            let sent = match input.read(&mut buffer) {
                Ok(count @ 1..) => of_input.send(Input::Bytes(buffer[..count].to_vec())),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                _ => {
                    let _ = of_input.send(Input::Event(Event::Closed));
                    return;
                }
            };
            if sent.is_err() {
                return;
            }
        }
    };
    std::thread::Builder::new().name("requests".to_owned()).spawn(read).map(drop).map_err(system)
}

struct Desk {
    launcher: Box<dyn Launcher>,
    requests: Requests,
    clock: SystemClock,
    sender: SyncSender<Input>,
    registry: Registry,
    guard: Option<Guard>,
}

impl Desk {
    /// Whether nothing was left behind.
    fn serve(mut self, inputs: &Receiver<Input>) -> bool {
        loop {
            if let Some(is_clean) = self.act() {
                self.registry.kill_all();
                // Where something may be left, it goes on trying.
                self.guard.take().filter(|_| is_clean).into_iter().for_each(Guard::dismiss);
                return is_clean;
            }
            let now = self.clock.now();
            let wait = self.launcher.wake().map_or(IDLE, |at| if at > now { at.since(now) } else { Duration::ZERO });
            let input = match inputs.recv_timeout(wait.min(IDLE)) {
                Ok(input) => input,
                Err(RecvTimeoutError::Timeout) => Input::Event(Event::Woken),
                // Nobody is left who could say anything: this cannot be, since `self` holds a sender.
                Err(RecvTimeoutError::Disconnected) => Input::Event(Event::Closed),
            };
            let now = self.clock.now();
            match input {
                Input::Bytes(bytes) => {
                    for request in self.requests.handle_bytes(&bytes) {
                        self.launcher.handle_request(now, request);
                    }
                }
                Input::Event(event) => self.launcher.handle_event(now, event),
            }
        }
    }

    /// Does all that is to be done; says so when that was the last.
    fn act(&mut self) -> Option<bool> {
        while let Some(action) = self.launcher.poll_action() {
            let is_read = match action {
                Action::Reply(line) => say(&mut outlet::output().patient(REPLY_MAX), &line),
                Action::Notice(line) => say(&mut outlet::error().patient(NOTICE_MAX), &printable(&line)),
                Action::Run(number, command) => {
                    program::run(number, command, &self.sender);
                    true
                }
                Action::Start(key, start) => {
                    program::start(key, start, &self.sender, &self.registry);
                    true
                }
                Action::Stop(key) => {
                    self.registry.stop(&key);
                    true
                }
                Action::Kill(key) => {
                    self.registry.kill(&key);
                    true
                }
                Action::End(is_clean) => return Some(is_clean),
            };
            if !is_read {
                // Nobody listens any more: the same as if nobody asked.
                self.launcher.handle_event(self.clock.now(), Event::Closed);
            }
        }
        None
    }
}

fn say(output: &mut impl Write, line: &str) -> bool {
    output.write_all(format!("{line}\r\n").as_bytes()).and_then(|()| output.flush()).is_ok()
}
