//! One run.

use std::ffi::OsString;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use farcall_base::{Error, ErrorKind, Result};
use farcall_messaging_virtual::{Hub, Model};
use farcall_platform::Platform;

use crate::members::{Members, shown};
use crate::report::Report;

/// Whether things know the sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tiers {
    /// The paper's original programs.
    Off,
    /// The layer with sites in mind.
    On,
    /// On where there are several sites.
    Auto,
}

/// A run in virtual time, before it begins.
#[derive(Clone, Debug)]
pub struct Run {
    /// The program, and its arguments.
    pub program: OsString,
    /// Those of each member.
    pub arguments: Vec<OsString>,
    /// Sites, links and costs.
    pub platform: Platform,
    /// Whether things know the sites.
    pub tiers: Tiers,
    /// What members draw at random is drawn from it [default: the platform's].
    pub seed: Option<u64>,
    /// Real time after which the run is ended.
    pub timeout: Option<Duration>,
}

impl Run {
    /// Starts all members, and waits for their end.
    ///
    /// # Errors
    /// Whatever ends the run early, once, with the `member` and its last words: `NotFound` for a program that
    /// does not start, `TimedOut`, and what [`Hub::run`] says.
    pub fn virtually(&self) -> Result<Report> {
        let model = Model::of(&self.platform)?;
        let sites = model.sites.count();
        let has_tiers = match self.tiers {
            Tiers::Off => false,
            Tiers::On => true,
            Tiers::Auto => sites > 1,
        };
        let sizes: Vec<String> =
            self.platform.sites().iter().map(|site| site.members.to_string()).collect();
        let mut members = Members::default();
        let mut streams = Vec::new();
        for rank in model.sites.all() {
            let costs = model.costs_of(rank);
            let variables = [
                ("FARCALL_RUN_RANK", rank.0.to_string()),
                ("FARCALL_RUN_SITES", sizes.join("+")),
                ("FARCALL_RUN_TIERS", if has_tiers { "on" } else { "off" }.to_owned()),
                ("FARCALL_RUN_SEED", self.seed.unwrap_or(self.platform.seed()).to_string()),
                ("FARCALL_RUN_COSTS", costs),
            ];
            let stream = members.start(&self.program, &self.arguments, &variables)?;
            let other = stream.try_clone();
            streams.push((other.map_err(|error| Error::system("start a member", error))?, stream));
        }
        let clock = Clock::start(self.timeout, members.ids());
        let finished = Hub::new(model, streams).run();
        let is_late = clock.stop();
        match finished {
            Ok(_) | Err(_) if is_late => Err(self.late()),
            Ok(finished) => match members.wait() {
                None => Ok(Report { finished, members: self.platform.members(), sites }),
                Some((rank, status)) => {
                    let message = format!("a member failed at its end: {}", shown(status));
                    let error = Error::new(ErrorKind::RoutineFailed, "run a program", message);
                    Err(error.with("member", rank))
                }
            },
            Err(error) => Err(of_member(error, &mut members)),
        }
    }

    fn late(&self) -> Error {
        Error::new(ErrorKind::TimedOut, "run a program", "it had not ended in time")
            .with("seconds", self.timeout.unwrap_or_default().as_secs_f64())
            .fix("give it more time by --timeout")
    }
}

/// What is known of the member that ended a run.
fn of_member(error: Error, members: &mut Members) -> Error {
    if error.kind() != ErrorKind::ConnectionLost {
        return error;
    }
    let rank = error.context().iter().find(|(key, _)| key == "member");
    let rank = rank.and_then(|(_, rank)| rank.parse::<usize>().ok());
    let Some((rank, (status, words))) = rank.and_then(|rank| Some((rank, members.ended(rank)?)))
    else {
        return error;
    };
    let how = status.map_or("it left its run, and does not end".to_owned(), shown);
    let has_failed = status.is_some_and(|status| !status.success());
    let (kind, fix) = match has_failed {
        true => (ErrorKind::RoutineCrashed, "start it alone to see what it does"),
        false => (
            ErrorKind::RoutineExited,
            "join the run, and end by leaving it: farcall_wide::main does both",
        ),
    };
    let message = format!("a member ended before it left the run: {how}");
    let error = Error::new(kind, "run a program", message).with("member", rank);
    let error = if words.is_empty() { error } else { error.with("it said last", words) };
    error.fix(fix)
}

/// Ends all members when their time has passed.
struct Clock {
    state: Arc<(Mutex<State>, Condvar)>,
    thread: Option<std::thread::JoinHandle<()>>,
}

#[derive(Default)]
struct State {
    is_stopped: bool,
    is_late: bool,
}

impl Clock {
    fn start(timeout: Option<Duration>, ids: Vec<u32>) -> Clock {
        let state = Arc::new((Mutex::new(State::default()), Condvar::new()));
        let thread = timeout.map(|timeout| {
            let state = state.clone();
            std::thread::spawn(move || {
                let (lock, changed) = &*state;
                let guard = lock.lock().unwrap_or_else(PoisonError::into_inner);
                let waited = changed.wait_timeout_while(guard, timeout, |state| !state.is_stopped);
                let (mut guard, _) = waited.unwrap_or_else(PoisonError::into_inner);
                if !guard.is_stopped {
                    guard.is_late = true;
                    ids.iter().for_each(|id| end(*id));
                }
            })
        });
        Clock { state, thread }
    }

    /// Whether the time had passed.
    fn stop(mut self) -> bool {
        let (lock, changed) = &*self.state;
        lock.lock().unwrap_or_else(PoisonError::into_inner).is_stopped = true;
        changed.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        lock.lock().unwrap_or_else(PoisonError::into_inner).is_late
    }
}

fn end(id: u32) {
    let id = i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(id) = id {
        // It is this process's child and was not waited for: the number is still its own.
        let _ = rustix::process::kill_process(id, rustix::process::Signal::KILL);
    }
}
