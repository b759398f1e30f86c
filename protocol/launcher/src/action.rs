//! What a launcher has done for it, and what it hears of that.

use std::time::Duration;

use farcall_base::Instant;

use crate::job::Job;
use crate::request::Request;

/// A program that ends by itself, and soon: one of Slurm's commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// What it reads.
    pub input: String,
    /// It is ended when it takes longer.
    pub limit: Duration,
}

/// How a [`Command`] went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Its exit status; `None` when it was ended, by a signal or for its time, or never began.
    pub status: Option<i32>,
    /// What it printed, and what it complained of.
    pub output: String,
    /// See `output`.
    pub words: String,
}

/// A program that runs for as long as its job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// On this host.
    Here(Box<Job>),
    /// On the host that the job names, by `ssh`.
    There(Box<Job>),
    /// A command here, the output of which is the input of another (given to the shell), and the
    /// other way round.
    Bridged(Box<Bridged>),
}

/// See [`Start::Bridged`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bridged {
    /// The command.
    pub words: Vec<String>,
    /// Its variables, beside those of this launcher.
    pub environment: Vec<(String, String)>,
    /// The other.
    pub bridge: String,
    /// What the standard error of both is added to.
    pub stderr_file: Option<String>,
    /// Where the command runs.
    pub work_directory: Option<String>,
}

impl Bridged {
    /// The command that starts the program of `job`, for as many slots, and what the job says of
    /// it.
    pub(crate) fn new(job: &Job, bridge: &str, words: Vec<String>, slots: u32) -> Bridged {
        let mut environment = job.program.environment.clone();
        environment.push(("FARCALL_SLOTS".to_owned(), slots.to_string()));
        let stderr_file = job.program.stderr_file.clone();
        let work_directory = job.program.work_directory.clone();
        Bridged { words, environment, bridge: bridge.to_owned(), stderr_file, work_directory }
    }
}

/// How a [`Start`] ended, or that it could not begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Whether that is a success.
    pub is_success: bool,
    /// In words for people.
    pub text: String,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Print a line on standard output.
    Reply(String),
    /// Print a line on standard error.
    Notice(String),
    /// Run a command, and say how it went ([`Event::Ran`]).
    Run(u64, Command),
    /// Start a program under a name of its own; say when it runs, and when it ended.
    Start(String, Start),
    /// Have that program end by itself, ...
    Stop(String),
    /// ... or end it, with all that it started.
    Kill(String),
    /// Everything is over: end. True when nothing may be left behind.
    End(bool),
}

/// What happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// Nobody will ask for anything any more, or somebody wants this launcher to end.
    Closed,
    /// A command has ended.
    Ran(u64, Outcome),
    /// A program runs.
    Started(String),
    /// A program has ended, or could not be started.
    Ended(String, Ended),
    /// Time has passed.
    Woken,
}

/// A launcher: requests and events in, actions out.
pub trait Launcher {
    /// Takes a request.
    fn handle_request(&mut self, now: Instant, request: Request);
    /// Takes an event.
    fn handle_event(&mut self, now: Instant, event: Event);
    /// What is to be done next, in this order.
    fn poll_action(&mut self) -> Option<Action>;
    /// When it wants to be woken, at the latest.
    fn wake(&self) -> Option<Instant>;
}
