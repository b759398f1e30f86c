//! Whether a process was started by this one: what a server starts has its user, and is not its
//! owner for that.
//!
//! A routine's process cannot leave its process group and comes to its zygote when it loses its
//! parent, so that it, or the leader of its group, descends from the server however often it forks.
//! What an MPI's launcher started can lose all of these; but like every process of a module it has
//! given up new privileges, and has more filters of system calls than its server, for good. A shell
//! beside the server has as many as that.

use std::fs;

/// Steps up to the first process of a system; more is a circle that changes under the reader.
const STEPS_MAX: usize = 4096;

/// Parent and process group of a process (proc(5)); `None` where there is no such process.
fn parent_and_group(pid: u32) -> Option<(u32, u32)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Behind the name, which may hold anything: state, parent, group.
    let mut words = text.rsplit_once(')')?.1.split_whitespace().skip(1);
    Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

/// Whether `pid` was started by this process, or by what this process started. A process that is
/// gone by now is nobody's owner either.
pub fn was_started_here(pid: u32) -> bool {
    was_started_by(std::process::id(), pid)
}

fn was_started_by(server: u32, pid: u32) -> bool {
    if pid == 0 || pid == server {
        // Of another namespace, or ourselves.
        return false;
    }
    let Some((_, group)) = parent_and_group(pid) else { return true };
    let Some((privileges_are_given_up, filters)) = limits_of(pid) else { return true };
    let comes_from_here = || descends(server, pid) || (group != pid && descends(server, group));
    let has_more_filters = || limits_of(server).is_some_and(|(_, own)| filters > own);
    privileges_are_given_up && (has_more_filters() || comes_from_here())
}

fn descends(server: u32, pid: u32) -> bool {
    let mut current = pid;
    for _ in 0..STEPS_MAX {
        match parent_and_group(current) {
            Some((parent, _)) if parent == server => return true,
            Some((parent, _)) if parent > 0 => current = parent,
            // One of the line has ended meanwhile: its children have another parent by now.
            None if current != pid => current = pid,
            _ => return false,
        }
    }
    // Whoever changes that fast is no person at a shell.
    true
}

/// Whether a process has given up new privileges, and how many filters of system calls it has; no
/// number before Linux 5.9.
fn limits_of(pid: u32) -> Option<(bool, u32)> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let value = |name: &str| {
        status.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u32>().ok())
    };
    Some((value("NoNewPrivs:") == Some(1), value("Seccomp_filters:").unwrap_or(0)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    use super::*;

    /// A shell that has given up new privileges, and prints the number of a process that it leaves
    /// behind.
    fn orphan(script: &str) -> (std::process::Child, u32) {
        let mut shell = Command::new("setpriv");
        shell.args(["--no-new-privs", "/bin/sh", "-c", script]).stdout(Stdio::piped());
        let mut shell = shell.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(shell.stdout.take().unwrap()).read_line(&mut line).unwrap();
        (shell, line.trim().parse().unwrap())
    }

    #[test]
    fn children_and_grandchildren_are_started_here_and_parents_are_not() {
        if Command::new("setpriv").arg("--version").output().is_err() {
            return;
        }
        let (mut shell, child) = orphan("sleep 30 & echo $!; wait");
        assert!(was_started_here(shell.id()) && was_started_here(child));
        assert!(was_started_by(shell.id(), child));
        let own = std::process::id();
        assert!(!was_started_here(own) && !was_started_here(std::os::unix::process::parent_id()));
        assert!(!was_started_by(child, own) && !was_started_here(1));
        rustix::process::kill_process(
            rustix::process::Pid::from_raw(child as i32).unwrap(),
            rustix::process::Signal::KILL,
        )
        .unwrap();
        shell.wait().unwrap();
        assert!(was_started_here(child), "whoever is gone owns nothing");
    }

    #[test]
    fn a_program_of_the_owners_keeps_its_privileges() {
        let mut own = Command::new("sleep").arg("30").spawn().unwrap();
        assert!(!was_started_here(own.id()), "it was not started by the server's own spawner");
        own.kill().unwrap();
        own.wait().unwrap();
    }
}
