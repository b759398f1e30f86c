//! Programs that a launcher runs on this host: commands of batch systems, which end soon, and jobs.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use farcall_launcher::{Bridged, Ended, Event, Job, Outcome, Start};
use rustix::process::{Pid, Signal, kill_process_group};

use super::Input;
use super::bridge::{about, file, how, start_bridge, wait_for_both};
use super::registry::Registry;
use super::there;

/// What is kept of the output of a command; a queue of a whole site fits in.
const OUTPUT_BYTES_MAX: u64 = 16 << 20;
/// Time that a command's output has to end when the command has.
const REST: Duration = Duration::from_millis(500);
/// Variables that change what Slurm's commands print or do. Those of a job that this launcher may
/// be part of count, too.
fn is_for_slurm(name: &str) -> bool {
    let kept = ["SLURM_CONF", "SLURM_CLUSTERS"];
    let prefixes = [
        "SLURM_",
        "SQUEUE_",
        "SCANCEL_",
        "SACCT_",
        "SBATCH_WAIT",
        "SBATCH_ARRAY_INX",
        "SBATCH_IGNORE_PBS",
    ];
    !kept.contains(&name) && prefixes.iter().any(|prefix| name.starts_with(prefix))
}

fn without_slurm(command: &mut Command) {
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_for_slurm))
    {
        command.env_remove(name);
    }
}

/// Runs a command in a thread, and says how it went.
pub fn run(number: u64, command: farcall_launcher::Command, sender: &SyncSender<Input>) {
    let at_once = sender.clone();
    let sender = sender.clone();
    let work = move || {
        let outcome = outcome(&command).unwrap_or_else(|error| cannot(&command, &error));
        let _ = sender.send(Input::Event(Event::Ran(number, outcome)));
    };
    if let Err(error) = std::thread::Builder::new().name("command".to_owned()).spawn(work) {
        let outcome = Outcome { words: error.to_string(), status: Some(126), ..Outcome::default() };
        later(at_once, Event::Ran(number, outcome));
    }
}

/// From a place that must not wait for room.
fn later(sender: SyncSender<Input>, event: Event) {
    if let Err(std::sync::mpsc::TrySendError::Full(input)) = sender.try_send(Input::Event(event)) {
        let _ = std::thread::Builder::new().spawn(move || sender.send(input));
    }
}

/// As a shell says it of a command that is not there: 127 is no doubt, nothing was submitted.
fn cannot(command: &farcall_launcher::Command, error: &std::io::Error) -> Outcome {
    let program = command.words.first().map_or("", String::as_str);
    let is_missing = error.kind() == std::io::ErrorKind::NotFound;
    let fix = if is_missing {
        "; check that it is on this host, and in the PATH of noninteractive shells"
    } else {
        ""
    };
    Outcome {
        status: Some(127),
        output: String::new(),
        words: format!("{program} cannot be started: {error}{fix}"),
    }
}

/// Runs a command to its end, or to its limit. Its output is read meanwhile: a pipe holds little.
pub fn outcome(wanted: &farcall_launcher::Command) -> std::io::Result<Outcome> {
    let (program, words) = wanted.words.split_first().ok_or(std::io::ErrorKind::NotFound)?;
    let mut command = Command::new(program);
    command
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    without_slurm(&mut command);
    let mut child = command.spawn()?;
    let until = Instant::now() + wanted.limit;
    let input = child.stdin.take().zip(Some(wanted.input.clone()));
    let (sender, ends) = sync_channel(3);
    let mut begun = 0;
    if let Some((mut stdin, text)) = input {
        // One that reads nothing is no fault of ours.
        std::thread::Builder::new().spawn(move || drop(stdin.write_all(text.as_bytes())))?;
    }
    let outputs = [child.stdout.take().map(boxed), child.stderr.take().map(boxed)];
    for (at, output) in outputs.into_iter().enumerate() {
        let Some(output) = output else { continue };
        let sender = sender.clone();
        begun += 1;
        std::thread::Builder::new().spawn(move || {
            let mut bytes = Vec::new();
            let _ = output.take(OUTPUT_BYTES_MAX).read_to_end(&mut bytes);
            let _ = sender.send((at, String::from_utf8_lossy(&bytes).into_owned()));
        })?;
    }
    let status = wait_until(&mut child, until);
    let mut texts = [String::new(), String::new()];
    let rest = Instant::now() + REST;
    for _ in 0..begun {
        match ends.recv_timeout(rest.saturating_duration_since(Instant::now())) {
            Ok((at, text)) => texts[at] = text,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    let [output, words] = texts;
    Ok(Outcome { status: status.and_then(|status| status.code()), output, words })
}

fn boxed(output: impl Read + Send + 'static) -> Box<dyn Read + Send> {
    Box::new(output)
}

/// Its status; a command that takes too long is ended with all that it started, and has none.
fn wait_until(child: &mut Child, until: Instant) -> Option<ExitStatus> {
    let mut pause = Duration::from_millis(1);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < until => {
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(50));
            }
            _ => {
                end(child, Signal::KILL);
                let _ = child.wait();
                return None;
            }
        }
    }
}

/// Signals to its process group.
fn end(child: &Child, signal: Signal) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, signal);
    }
}

/// Starts a job in a thread, which says when it runs and when it ended.
pub fn start(key: String, start: Start, sender: &SyncSender<Input>, registry: &Registry) {
    let at_once = sender.clone();
    let own_key = key.clone();
    let sender = sender.clone();
    let registry = registry.clone();
    let work = move || {
        let begun = || {
            let _ = sender.send(Input::Event(Event::Started(key.clone())));
        };
        let ended = match &start {
            Start::Here(job) => here(&key, job, &registry, &begun),
            Start::There(job) => there::run(&key, job, &registry, &begun),
            Start::Bridged(start) => bridged(&key, start, &registry, &begun),
        };
        registry.forget(&key);
        let ended =
            ended.unwrap_or_else(|error| Ended { is_success: false, text: error.to_string() });
        let _ = sender.send(Input::Event(Event::Ended(key.clone(), ended)));
    };
    if let Err(error) = std::thread::Builder::new().name("job".to_owned()).spawn(work) {
        later(at_once, Event::Ended(own_key, Ended { is_success: false, text: error.to_string() }));
    }
}

/// One process with all slots: what it runs of Farcall serves them all.
fn here(key: &str, job: &Job, registry: &Registry, begun: &dyn Fn()) -> std::io::Result<Ended> {
    let program = &job.program;
    let mut command = Command::new(&program.path);
    command.args(&program.arguments);
    command.envs(program.environment.iter().map(|(name, value)| (name, value)));
    command.env("FARCALL_SLOTS", job.shape.slots().to_string());
    command.process_group(0).stdin(Stdio::null());
    command.stdout(file(program.stdout_file.as_deref())?);
    command.stderr(file(program.stderr_file.as_deref())?);
    if let Some(folder) = &program.work_directory {
        command.current_dir(folder);
    }
    let child = command.spawn().map_err(|error| about(&program.path, &error))?;
    registry.add(key, &child);
    begun();
    registry.wait(key, child).map(how)
}

/// A step, and a command here that reads what it prints and prints what it reads.
fn bridged(
    key: &str,
    start: &Bridged,
    registry: &Registry,
    begun: &dyn Fn(),
) -> std::io::Result<Ended> {
    let (program, rest) = start.words.split_first().ok_or(std::io::ErrorKind::NotFound)?;
    let (from_step, to_bridge) = std::io::pipe()?;
    let (from_bridge, to_step) = std::io::pipe()?;
    let mut step = Command::new(program);
    without_slurm(&mut step);
    step.args(rest)
        .envs(start.environment.iter().map(|(name, value)| (name, value)))
        .process_group(0);
    step.stderr(file(start.stderr_file.as_deref())?);
    if let Some(folder) = &start.work_directory {
        step.current_dir(folder);
    }
    let mut child = step
        .stdin(from_bridge)
        .stdout(to_bridge)
        .spawn()
        .map_err(|error| about(program, &error))?;
    // A command holds our ends of the pipes: as long as it is there, neither program sees the
    // other's end.
    drop(step);
    let group = i32::try_from(child.id()).unwrap_or(0);
    registry.add(key, &child);
    let other = start_bridge(
        (&start.bridge, group),
        [from_step.into(), to_step.into()],
        start.stderr_file.as_deref(),
    );
    let mut other = match other {
        Ok(other) => other,
        Err(error) => {
            registry.kill(key);
            registry.wait(key, child)?;
            return Err(about("the bridge", &error));
        }
    };
    begun();
    wait_for_both(key, &mut child, &mut other, registry)?;
    let status = registry.wait(key, child);
    let _ = other.wait();
    status.map(how)
}
