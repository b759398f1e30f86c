//! What cancels the waiting jobs of a launcher for a batch system that is killed: a process of its own,
//! which sees the end of the launcher's pipe, and ends without a word where the launcher ended in
//! order.
//!
//! Jobs that run are left alone: their programs serve on without a launcher, and end with their
//! server.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use farcall_base::{Error, Result};
use farcall_launcher::{Command as Wanted, system};

use super::program::outcome;

/// For how long it looks: an `sbatch` that the launcher left behind may still bring a job, ...
const AT_LEAST: Duration = Duration::from_secs(30);
/// ... and a controller that does not answer is asked again.
const AT_MOST: Duration = Duration::from_secs(900);
/// Time of each of its commands.
const COMMAND: Duration = Duration::from_secs(60);
/// Time that it has to end when it is told to.
const LEAVES: Duration = Duration::from_secs(2);
const PAUSE_MIN: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_secs(15);

/// A guard that waits for the launcher's end.
pub struct Guard {
    child: Child,
    pipe: ChildStdin,
}

impl Guard {
    /// Starts one for the jobs of this name in that batch system.
    ///
    /// # Errors
    /// When no process can be started.
    pub fn begin(system: &str, name: &str) -> Result<Guard> {
        let failed = |error| Error::system("watch over a launcher", error);
        // Not in the launcher's process group, with which it is killed; and nobody waits for its
        // outputs.
        let mut child = Command::new("/proc/self/exe")
            .args(["launch", system, "--guard", name])
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(failed)?;
        let pipe = child
            .stdin
            .take()
            .ok_or_else(|| Error::internal("watch over a launcher", "it has no input"))?;
        Ok(Guard { child, pipe })
    }

    /// Nothing is left to do for it.
    pub fn dismiss(mut self) {
        // One that is gone needs no word.
        let _ = self.pipe.write_all(b".");
        let until = Instant::now() + LEAVES;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// The guard's own work.
pub fn guard(system_name: &str, name: &str) {
    let Some(system) = system(system_name, "") else { return };
    let mut input = std::io::stdin();
    loop {
        match input.read(&mut [0]) {
            Ok(0) => break,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            _ => return,
        }
    }
    let begun = Instant::now();
    let mut pause = PAUSE_MIN;
    while begun.elapsed() < AT_MOST {
        let _ = outcome(&within(system.cancel_waiting(name)));
        // Where there is no such command, there is no batch system any more.
        let Ok(left) = outcome(&within(system.list_waiting(name))) else { return };
        if left.status == Some(0) && left.output.trim().is_empty() && begun.elapsed() >= AT_LEAST {
            return;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

fn within(command: Wanted) -> Wanted {
    Wanted { limit: COMMAND, ..command }
}
