//! A launcher, which speaks the text protocol of spec/launcher.md on its standard streams and
//! starts jobs: as processes of this host, on hosts that `ssh` reaches, or by a batch system. What is
//! decided is decided in `farcall_launcher`; here are the streams, the processes and the clock.
//! `farcall launch` is its command line.

mod bridge;
mod guard;
mod program;
mod registry;
mod there;

use std::io::{Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use farcall_base::{Clock, Error, Result, SystemClock, printable};
use farcall_launcher::{
    Action, Batch, Event, Launcher, Processes, Requests, Settings, Where, system,
};
use farcall_system::outlet;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use guard::Guard;
pub use guard::guard;
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
pub enum Place {
    /// As processes of this host.
    Local,
    /// On hosts that the user's own `ssh` reaches.
    Ssh,
    /// Wherever the batch system of this name puts them, as jobs of this user.
    Batch {
        /// One of [`farcall_launcher::SYSTEMS`].
        system: String,
        /// Empty: nobody's name is known.
        user: String,
        /// What differs between launchers and sites.
        settings: Settings,
    },
}

/// A name that no other launcher has, for its jobs in a queue.
///
/// # Errors
/// `System` when there is no randomness.
pub fn fresh_name() -> Result<String> {
    Ok(format!("farcall-{}", there::random_hex()?))
}

/// What comes from outside.
enum Input {
    /// Of standard input.
    Bytes(Vec<u8>),
    /// See `Event`.
    Event(Event),
}

/// Serves requests until standard input ends, a signal comes or `EXIT` is asked for; whether
/// nothing was left behind.
///
/// # Errors
/// `System` when it cannot begin.
pub fn launch(place: Place) -> Result<bool> {
    let (sender, inputs) = sync_channel(EVENTS_MAX);
    listen(&sender)?;
    let mut guard = None;
    let launcher: Box<dyn Launcher> = match place {
        Place::Local => Box::new(Processes::new(Where::Here)),
        Place::Ssh => Box::new(Processes::new(Where::There)),
        Place::Batch { system: name, user, settings } => {
            let system = system(&name, &user).ok_or_else(|| no_system(&name))?;
            guard = Some(Guard::begin(&name, &settings.name)?);
            Box::new(Batch::new(system, settings))
        }
    };
    let requests = Requests::default();
    let registry = Registry::new();
    let desk = Desk { launcher, requests, clock: SystemClock::new(), sender, registry, guard };
    Ok(desk.serve(&inputs))
}

fn no_system(name: &str) -> Error {
    Error::internal("launch", format!("there is no batch system \"{name}\""))
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
            let wait = self
                .launcher
                .wake()
                .map_or(IDLE, |at| if at > now { at.since(now) } else { Duration::ZERO });
            let input = match inputs.recv_timeout(wait.min(IDLE)) {
                Ok(input) => input,
                Err(RecvTimeoutError::Timeout) => Input::Event(Event::Woken),
                // Nobody is left who could say anything: this cannot be, since `self` holds a
                // sender.
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
                Action::Notice(line) => {
                    say(&mut outlet::error().patient(NOTICE_MAX), &printable(&line))
                }
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
