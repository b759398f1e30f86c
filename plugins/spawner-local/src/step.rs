//! The spawner's behaviour: what happened and the time in, what to do out. Pure; tests/golden holds
//! its conversations.

use std::sync::Arc;
use std::time::Duration;

use farcall_base::{Error, ErrorKind, ExecutableId, Instant, Result};
use farcall_idl::interface::is_parallel;
use farcall_services::directory::{ExecutableImage, ImageKind};
use farcall_services::spawner::rules::Rules;
use farcall_services::spawner::{ExitHow, Exited, Output, SOCKET_VARIABLE};
use farcall_wire::Publication;

use crate::ends::of_ranks;
use crate::limits::Limits;
use crate::state::{Executable, Phase, Settings, State};

/// The descriptor on which an executable finds its connection: standard input, which the standard
/// library can hand over without running code of ours between fork and exec.
const SOCKET_NUMBER: &str = "0";

/// What happens to the spawner.
pub(crate) enum Event {
    /// Somebody asks for a start; `request` names the addresses of its reports.
    Start { request: u64, executable: ExecutableId, module: String, image: Box<ExecutableImage> },
    /// Somebody asks for an end.
    Stop { executable: ExecutableId, grace: Duration },
    /// A `Spawn` was done.
    Spawned { executable: ExecutableId },
    /// A `Spawn` failed, and left nothing behind.
    SpawnFailed { executable: ExecutableId, error: Error },
    /// An executable wrote what was taken just after the time `before`. By the time the event is
    /// seen, the call that wrote it may be over and another under way.
    Output { executable: ExecutableId, output: Output, before: Instant, bytes: Vec<u8> },
    /// An executable ended, of itself or because it was stopped while it lived; all that it wrote
    /// was reported before.
    Ended { executable: ExecutableId, how: ExitHow, was_stopped: bool },
    /// Time passed.
    Tick,
    /// The node stops.
    Shutdown,
}

/// What the driver must do, in this order.
pub(crate) enum Action {
    /// Report to the addresses of `request` that it was refused.
    Refuse { request: u64, error: Error },
    /// Start a process and say how that went. The addresses of `request` are now those of
    /// `executable`.
    Spawn { request: u64, executable: ExecutableId, command: Box<CommandLine>, load: Load },
    /// Report that it runs, and hand over its connection.
    ReportStarted { executable: ExecutableId },
    /// Report that it could not be started.
    ReportFailed { executable: ExecutableId, error: Error },
    /// Send a signal to it and all of its process group.
    Signal { executable: ExecutableId, signal: Signal },
    /// Report its end, and forget it.
    ReportExited(Exited),
    /// End: nothing is left.
    Finish,
}

/// How to end a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// SIGTERM.
    Terminate,
    /// SIGKILL.
    Kill,
}

/// A program with its arguments and the variables set for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandLine {
    pub(crate) program: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
    /// The program itself, where `program` prepares its process and hands it over.
    pub(crate) linked: Option<String>,
    /// Whether MPI starts it, several times: its first process dials its connection.
    pub(crate) parallel: bool,
    /// Processes that it starts.
    pub(crate) processes: u32,
    /// The GPUs that are its own; none where it did not ask for some, or nobody names them.
    pub(crate) gpus: Vec<String>,
    /// Whether it asked for some.
    pub(crate) wants_gpus: bool,
    /// What the manifest lets the module use and do.
    pub(crate) limits: Limits,
    /// The same for its processes, as far as it is known without looking at this host.
    pub(crate) rules: Rules,
}

/// What an executable will be told to load: a zygote has it loaded by then.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    pub(crate) module: String,
    text: Arc<[u8]>,
    libraries: Vec<String>,
}

/// Equal if they come from one publication, which is what its text lies in: when a module is
/// published again in the same words, its libraries may be new.
impl PartialEq for Load {
    fn eq(&self, other: &Load) -> bool {
        Arc::ptr_eq(&self.text, &other.text)
    }
}

impl Load {
    fn new(module: String, image: &ExecutableImage) -> Load {
        let libraries = match &image.kind {
            ImageKind::GenericHost { libraries } => libraries.clone(),
            ImageKind::Linked { .. } | ImageKind::Interpreted { .. } => Vec::new(),
        };
        Load { module, text: image.module_text.clone(), libraries }
    }

    /// As the server sends it.
    pub(crate) fn publication(&self) -> Publication {
        Publication { module: self.text.to_vec(), libraries: self.libraries.clone(), object: None }
    }
}

/// Takes one event in.
pub(crate) fn step(state: &mut State, now: Instant, event: Event) -> Vec<Action> {
    match event {
        Event::Start { request, executable, module, image } => {
            let command =
                check_start(state, executable).and_then(|()| equipped(state, &module, &image));
            let load = Load::new(module, &image);
            vec![start(state, request, executable, command.map(|command| (command, load)))]
        }
        Event::Stop { executable, grace } => {
            stop(state, now, executable, grace).into_iter().collect()
        }
        Event::Spawned { executable } => spawned(state, executable),
        Event::SpawnFailed { executable, error } => {
            state.executables.remove(&executable);
            finish_if_done(state, Action::ReportFailed { executable, error })
        }
        Event::Output { executable, output, before, bytes } => {
            push_output(state, before, executable, output, &bytes);
            Vec::new()
        }
        Event::Ended { executable, how, was_stopped } => ended(state, executable, how, was_stopped),
        Event::Tick => kill_overdue(state, now),
        Event::Shutdown => shutdown(state, now),
    }
}

fn start(
    state: &mut State,
    request: u64,
    executable: ExecutableId,
    command: Result<(CommandLine, Load)>,
) -> Action {
    match command {
        Ok((command, load)) => {
            state.insert(executable, command.parallel, command.gpus.clone());
            Action::Spawn { request, executable, command: Box::new(command), load }
        }
        Err(error) => Action::Refuse { request, error },
    }
}

fn check_start(state: &State, executable: ExecutableId) -> Result<()> {
    let refused = |kind, message: String| Error::new(kind, "start an executable", message);
    if state.closing {
        return Err(refused(ErrorKind::ShuttingDown, "the node is stopping".to_string()));
    }
    if state.executables.contains_key(&executable) {
        return Err(refused(
            ErrorKind::Internal,
            format!("executable {executable} is running already"),
        ));
    }
    let limit = state.settings.executables_max;
    if state.executables.len() >= limit {
        let error =
            refused(ErrorKind::LimitExceeded, format!("{limit} executables are already running"));
        return Err(error
            .fix(
                "try again after one has ended, or raise executables_max in the configuration file",
            )
            .retryable());
    }
    Ok(())
}

/// What starts it, with the GPUs that its calls ask for.
fn equipped(state: &State, module: &str, image: &ExecutableImage) -> Result<CommandLine> {
    let mut command = command_line(&state.settings, module, image)?;
    let running = state.executables.values();
    command.gpus = state.settings.host.gpus_for(&image.resources, command.processes, running)?;
    Ok(command)
}

pub(crate) fn command_line(
    settings: &Settings,
    module: &str,
    image: &ExecutableImage,
) -> Result<CommandLine> {
    let (program, arguments) =
        settings.host_command.split_first().expect("an empty one was refused");
    let environment = environment(settings, image);
    environment.iter().try_for_each(check_variable)?;
    let mut arguments = arguments.to_vec();
    let linked = match &image.kind {
        ImageKind::Linked { path: program } | ImageKind::Interpreted { program, .. } => {
            Some(program.clone())
        }
        ImageKind::GenericHost { .. } => None,
    };
    let limits = settings.limits_of(module).given(&image.resources, &settings.host)?;
    let parallel = is_parallel(&image.backend);
    let mut processes = 1;
    match &linked {
        Some(path) if parallel => {
            arguments.push("--run".to_string());
            processes = limits.ranks(image.ranks)?;
            arguments.extend(launcher(settings, processes, path)?);
        }
        // The host holds the process to its rules; the linked code begins when it is loaded.
        Some(path) => arguments.extend(["--run".to_string(), path.clone()]),
        // All hosts are one program: what tells them apart in a list of processes is this. A linked
        // one has a path.
        None if parallel => {
            let error = Error::new(
                ErrorKind::Unavailable,
                "start an executable",
                "MPI can start only linked programs",
            );
            return Err(error.fix("publish its interface file again"));
        }
        None if !module.is_empty() => arguments.push(module.to_string()),
        None => {}
    }
    if let ImageKind::Interpreted { arguments: own, .. } = &image.kind {
        arguments.extend(own.iter().cloned());
    }
    let rules = limits.rules(image);
    Ok(CommandLine {
        program: program.clone(),
        arguments,
        environment,
        linked,
        parallel,
        processes,
        gpus: Vec::new(),
        wants_gpus: image.resources.gpus.is_some_and(|gpus| gpus > 0),
        limits,
        rules,
    })
}

/// What starts `ranks` processes of a program.
fn launcher(settings: &Settings, ranks: u32, program: &str) -> Result<Vec<String>> {
    if settings.mpi_command.is_empty() {
        let error = Error::new(
            ErrorKind::Unavailable,
            "start an executable",
            "this server does not start MPI routines",
        );
        return Err(error.fix("set mpi_command in its farcall.toml: [\"mpirun\"]"));
    }
    let own = ["-np".to_string(), ranks.to_string()].into_iter();
    // Each process is confined before it becomes the program.
    let own = own
        .chain(settings.host_command.iter().cloned())
        .chain(["--rank".to_string(), program.to_string()]);
    Ok(settings.mpi_command.iter().cloned().chain(own).collect())
}

/// What lets others see at once what a routine writes: libgfortran keeps it until a unit is closed
/// otherwise.
const UNBUFFERED: (&str, &str) = ("GFORTRAN_UNBUFFERED_PRECONNECTED", "y");

/// Later ones win: our own, the manifest, then the module, then what an executable needs to find
/// its connection.
fn environment(settings: &Settings, image: &ExecutableImage) -> Vec<(String, String)> {
    let manifest = settings.environment.iter().map(|(name, value)| (name.clone(), value.clone()));
    let socket = (SOCKET_VARIABLE.to_string(), SOCKET_NUMBER.to_string());
    let unbuffered = (UNBUFFERED.0.to_string(), UNBUFFERED.1.to_string());
    std::iter::once(unbuffered)
        .chain(manifest)
        .chain(image.environment.iter().cloned())
        .chain([socket])
        .collect()
}

fn check_variable((name, value): &(String, String)) -> Result<()> {
    if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
        let message = format!("{name:?} cannot be set as an environment variable");
        return Err(Error::new(ErrorKind::InvalidArgument, "start an executable", message));
    }
    Ok(())
}

/// One that was to end before it was there gets its signal now: the first one may have reached
/// nobody.
fn spawned(state: &mut State, executable: ExecutableId) -> Vec<Action> {
    let Some(entry) = state.executables.get_mut(&executable) else { return Vec::new() };
    entry.started = true;
    let signal = match entry.phase {
        Phase::Starting | Phase::Running => {
            entry.phase = Phase::Running;
            None
        }
        Phase::Stopping { .. } => Some(Signal::Terminate),
        Phase::Killed => Some(Signal::Kill),
    };
    let signal = signal.map(|signal| Action::Signal { executable, signal });
    std::iter::once(Action::ReportStarted { executable }).chain(signal).collect()
}

/// A second stop may shorten the time that the first one gave, never lengthen it.
fn stop(
    state: &mut State,
    now: Instant,
    executable: ExecutableId,
    grace: Duration,
) -> Option<Action> {
    let entry = state.executables.get_mut(&executable)?;
    // A launcher that is killed says nothing of its processes.
    let grace = if entry.parallel && !grace.is_zero() { grace.max(LAUNCHER_GRACE) } else { grace };
    let kill_at = now + grace;
    let (phase, signal) = match entry.phase {
        Phase::Killed => return None,
        _ if grace.is_zero() => (Phase::Killed, Some(Signal::Kill)),
        Phase::Stopping { kill_at: earlier } => {
            (Phase::Stopping { kill_at: earlier.min(kill_at) }, None)
        }
        Phase::Starting | Phase::Running => (Phase::Stopping { kill_at }, Some(Signal::Terminate)),
    };
    entry.phase = phase;
    signal.map(|signal| Action::Signal { executable, signal })
}

/// Open MPI's launcher gives the others a second to end, and takes some more.
const LAUNCHER_GRACE: Duration = Duration::from_secs(4);

fn push_output(
    state: &mut State,
    at: Instant,
    executable: ExecutableId,
    output: Output,
    bytes: &[u8],
) {
    let Some(entry) = state.executables.get_mut(&executable) else { return };
    match output {
        Output::Stdout => entry.stdout.push(at, bytes),
        Output::Stderr => entry.stderr.push(at, bytes),
    }
}

fn ended(
    state: &mut State,
    executable: ExecutableId,
    how: ExitHow,
    was_stopped: bool,
) -> Vec<Action> {
    let Some(Executable { started, parallel, stderr, stdout, .. }) =
        state.executables.remove(&executable)
    else {
        return Vec::new();
    };
    let (how, rank) = if parallel { of_ranks(how, &stderr.text()) } else { (how, None) };
    if parallel && !started {
        return finish_if_done(
            state,
            Action::ReportFailed { executable, error: never_came(how, &stderr.text()) },
        );
    }
    finish_if_done(
        state,
        Action::ReportExited(Exited { executable, how, rank, was_stopped, stderr, stdout }),
    )
}

/// MPI's launcher ended before a first process came.
fn never_came(how: ExitHow, said: &str) -> Error {
    let ended = if matches!(how, ExitHow::Status(_)) { "" } else { "was " };
    let message = format!("MPI's launcher {ended}{how} before the first process connected");
    let error = Error::new(ErrorKind::Unavailable, "start an executable", message);
    let error = if said.trim().is_empty() { error } else { error.with("stderr", said.trim_end()) };
    error.fix("see its output, and try it by hand: mpirun -np 2 true")
}

fn finish_if_done(state: &State, action: Action) -> Vec<Action> {
    match state.closing && state.executables.is_empty() {
        true => vec![action, Action::Finish],
        false => vec![action],
    }
}

fn kill_overdue(state: &mut State, now: Instant) -> Vec<Action> {
    let mut actions = Vec::new();
    for (executable, entry) in &mut state.executables {
        if matches!(entry.phase, Phase::Stopping { kill_at } if kill_at <= now) {
            entry.phase = Phase::Killed;
            actions.push(Action::Signal { executable: *executable, signal: Signal::Kill });
        }
    }
    actions
}

fn shutdown(state: &mut State, now: Instant) -> Vec<Action> {
    state.closing = true;
    if state.executables.is_empty() {
        return vec![Action::Finish];
    }
    let grace = state.settings.stop_grace();
    let running: Vec<ExecutableId> = state.executables.keys().copied().collect();
    running.into_iter().filter_map(|executable| stop(state, now, executable, grace)).collect()
}
