//! A command that a job's streams are connected with, and how job and command end: one soon after
//! the other.

use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use farcall_launcher::Ended;

use super::registry::Registry;

/// Time that the other side of a step has to end when one has.
const BRIDGE_GRACE: Duration = Duration::from_secs(5);

/// An error that names what it is about.
pub fn about(path: &str, error: &std::io::Error) -> std::io::Error {
    std::io::Error::new(error.kind(), format!("{path}: {error}"))
}

/// Added to, as several copies may write to one file.
pub fn file(name: Option<&str>) -> std::io::Result<Stdio> {
    let Some(name) = name else { return Ok(Stdio::null()) };
    let opened = File::options().create(true).append(true).open(name);
    opened.map(Stdio::from).map_err(|error| about(name, &error))
}

/// In words.
pub fn how(status: ExitStatus) -> Ended {
    let text = match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, signal) => format!("signal {}", signal.unwrap_or(0)),
    };
    Ended { is_success: status.success(), text }
}

/// Starts the command that a program's streams are connected with, in the program's process group.
/// What it is given is closed here: as long as it is open, neither sees the other's end.
pub fn start_bridge(
    (bridge, group): (&str, i32),
    [from_program, to_program]: [Stdio; 2],
    stderr_file: Option<&str>,
) -> std::io::Result<Child> {
    let mut other = Command::new("/bin/sh");
    other.args(["-c", &format!("exec {bridge}")]).process_group(group);
    other.stdin(from_program).stdout(to_program).stderr(file(stderr_file)?).spawn()
}

/// Waits until the program has ended; when either has, the other soon does.
pub fn wait_for_both(
    key: &str,
    step: &mut Child,
    other: &mut Child,
    registry: &Registry,
) -> std::io::Result<()> {
    let mut late = None;
    while step.try_wait()?.is_none() {
        if other.try_wait()?.is_some() {
            let until = *late.get_or_insert_with(|| Instant::now() + BRIDGE_GRACE);
            if Instant::now() >= until {
                registry.stop(key);
                late = Some(until + BRIDGE_GRACE);
            }
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let until = Instant::now() + BRIDGE_GRACE;
    while other.try_wait()?.is_none() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
