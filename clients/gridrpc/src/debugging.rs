//! Debugging (`debug*`): a debugger in a terminal of its own, attached to each process that a
//! handle gets on this host.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use farcall_client::Client;
use farcall_configuration::config::Debug;

use crate::held::Held;
use crate::log::{self, Group, Level};

/// Time for the server to tell which process an object has.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often is looked whether a debugger holds its process by now, and how often in a row it must:
/// while it attaches, it takes stops for its own.
const LOOK: Duration = Duration::from_millis(50);
const LOOKS: u32 = 4;

/// Attaches a debugger to each of these. That one cannot be is told of, and the program goes on.
pub fn attach(wanted: &Debug, client: &Client, held: &[Held]) {
    for held in held {
        if let Err(words) = attach_to(wanted, client, held) {
            log::write(Group::Internal, Level::Error, &format!("debug: {}: {words}", held.name()));
        }
    }
}

fn attach_to(wanted: &Debug, client: &Client, held: &Held) -> Result<(), String> {
    held.ready().map_err(|error| error.to_string())?;
    let status = client.status(PATIENCE).map_err(|error| error.to_string())?;
    let object = status.objects.iter().find(|object| object.id == held.id);
    let pid =
        object.and_then(|object| object.pid).ok_or("its server does not report its process")?;
    let program =
        program_of(pid).ok_or("only processes of this user on this host can be debugged")?;
    if wanted.busy_loop {
        // It waits until the debugger lets it go on.
        signal(pid, libc::SIGSTOP);
    }
    let mut command = Command::new(&wanted.terminal);
    if let Some(display) = &wanted.display {
        command.args(["-display", display]).env("DISPLAY", display);
    }
    command.arg("-e").arg(&wanted.debugger).arg(&program).arg(pid.to_string());
    let started = command.stdin(Stdio::null()).spawn().map_err(|error| {
        if wanted.busy_loop {
            signal(pid, libc::SIGCONT);
        }
        format!("cannot start {}: {error}; see debug_terminal", wanted.terminal)
    })?;
    let stopped = wanted.busy_loop.then_some((pid, program));
    let watch = move || attend(started, stopped);
    let _ = std::thread::Builder::new().name("farcall-debugger".to_owned()).spawn(watch);
    Ok(())
}

/// Waits for the end of a terminal: whoever closes it leaves no dead process behind. A process that
/// is stopped goes on once a debugger holds it, which then has it go on when its user says so: a
/// stop would be passed on, and it would stand still again and again. It goes on, too, when the
/// terminal ends, with or without a debugger.
fn attend(mut terminal: Child, stopped: Option<(u32, PathBuf)>) {
    let Some((pid, program)) = stopped else { return drop(terminal.wait()) };
    let mut held = 0;
    while matches!(terminal.try_wait(), Ok(None)) {
        if held < LOOKS {
            held = if is_traced(pid) { held + 1 } else { 0 };
            if held == LOOKS {
                signal(pid, libc::SIGCONT);
            }
        }
        std::thread::sleep(LOOK);
    }
    // Unless its number is another's by now.
    if program_of(pid) == Some(program) {
        signal(pid, libc::SIGCONT);
    }
}

/// Whether a debugger has the process and holds it: state `t`, tracing stop (proc(5)).
fn is_traced(pid: u32) -> bool {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    text.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('t'))
}

/// The program of a process, where that is this user's own and on this host.
fn program_of(pid: u32) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/exe")).ok()
}

fn signal(pid: u32, signal: i32) {
    if let Ok(pid) = i32::try_from(pid) {
        // SAFETY: the system refuses what is not this user's.
        unsafe { libc::kill(pid, signal) };
    }
}
