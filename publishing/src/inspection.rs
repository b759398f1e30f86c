//! Processes that look into a file before it is published. Each loads code of whoever wrote the
//! file, so its time and its words are bounded, and all that it started ends with it.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use farcall_base::{Error, ErrorKind, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

pub use farcall_executable::build::Giver;

/// Time in which code must be loaded: each of its executables spends that again.
const TIME_MAX: Duration = Duration::from_secs(30);
/// How often to look whether anybody still wants to know.
const LOOK: Duration = Duration::from_millis(200);
/// What such a process may say: its answer, and words of its own.
const OUTPUT_BYTES_MAX: usize = 4 << 20;
const WORDS_BYTES_MAX: usize = 16 << 10;
/// Bytes taken from a pipe at a time: as much as it holds by default.
const READ_BYTES: usize = 64 << 10;

/// What came of a process.
pub struct Finished {
    /// How it ended.
    pub status: ExitStatus,
    /// Its answer.
    pub output: Vec<u8>,
    /// What it wrote for people.
    pub words: String,
}

impl Finished {
    /// The last it said.
    pub fn last_line(&self) -> String {
        last_line(&self.words)
    }
}

/// Runs a process, the first of its group, to its end with `input`. Kills the group when it takes
/// too long, when its giver has gone, and when it leaves others behind.
///
/// # Errors
/// `NotFound` without the program, `TimedOut`, `Cancelled` without the giver.
pub fn finish(command: &mut Command, input: &[u8], giver: &Giver) -> Result<Finished> {
    finish_within(TIME_MAX, command, input, giver)
}

fn finish_within(
    time_max: Duration,
    command: &mut Command,
    input: &[u8],
    giver: &Giver,
) -> Result<Finished> {
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            Error::new(ErrorKind::NotFound, "inspect a file", "there is no such program")
        }
        _ => Error::system("inspect a file", error),
    };
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(failed)?;
    let group = Pid::from_child(&child);
    let mut pipes = Pipes::of(&mut child, input);
    let ending = pipes.attend(group, time_max, giver);
    // It is not reaped yet, so no other group has its number.
    let _ = kill_process_group(group, Signal::KILL);
    let status = child.wait().map_err(failed)?;
    // What it said last. A process that left the group may hold the pipes open: nobody waits for
    // that.
    pipes.take();
    let words = String::from_utf8_lossy(&pipes.words).into_owned();
    let stopped = |kind, message| {
        Err(Error::new(kind, "inspect a file", message).with("it said", last_line(&words)))
    };
    match ending? {
        Ending::Itself => Ok(Finished { status, output: pipes.output, words }),
        Ending::Late => {
            stopped(ErrorKind::TimedOut, format!("not loaded after {} s", time_max.as_secs_f32()))
        }
        Ending::Unwanted => stopped(ErrorKind::Cancelled, "it is no longer needed".to_owned()),
    }
}

/// Why a process is no longer waited for.
enum Ending {
    Itself,
    Late,
    Unwanted,
}

/// Our ends of a process's pipes, none of which ever makes us wait, and what went through them.
struct Pipes<'a> {
    stdin: Option<ChildStdin>,
    input: &'a [u8],
    stdout: Option<ChildStdout>,
    output: Vec<u8>,
    stderr: Option<ChildStderr>,
    words: Vec<u8>,
}

impl<'a> Pipes<'a> {
    fn of(child: &mut Child, input: &'a [u8]) -> Pipes<'a> {
        let stdin = child.stdin.take();
        let stdout = child.stdout.take();
        let stderr = child.stderr.take();
        Pipes { stdin, input, stdout, output: Vec::new(), stderr, words: Vec::new() }
    }

    /// Serves the pipes until the process has ended, or must.
    fn attend(&mut self, process: Pid, time_max: Duration, giver: &Giver) -> Result<Ending> {
        let failed = |errno: Errno| Error::system("watch a process", errno.into());
        let pidfd = pidfd_open(process, PidfdFlags::empty()).map_err(failed)?;
        self.unblock().map_err(failed)?;
        let end = Instant::now() + time_max;
        loop {
            let mut watched = vec![PollFd::new(&pidfd, PollFlags::IN)];
            watched.extend(self.stdin.iter().map(|pipe| PollFd::new(pipe, PollFlags::OUT)));
            watched.extend(self.stdout.iter().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
            watched.extend(self.stderr.iter().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
            let time = Timespec { tv_sec: 0, tv_nsec: i64::from(LOOK.subsec_nanos()) };
            match poll(&mut watched, Some(&time)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(failed(errno)),
            }
            if watched[0].revents().contains(PollFlags::IN) {
                return Ok(Ending::Itself);
            }
            if Instant::now() >= end || giver.is_late() {
                return Ok(Ending::Late);
            }
            if giver.is_gone() {
                return Ok(Ending::Unwanted);
            }
            self.give();
            self.take();
        }
    }

    fn unblock(&self) -> rustix::io::Result<()> {
        let outputs =
            [self.stdout.as_ref().map(AsFd::as_fd), self.stderr.as_ref().map(AsFd::as_fd)];
        let all = outputs.into_iter().chain([self.stdin.as_ref().map(AsFd::as_fd)]).flatten();
        all.into_iter().try_for_each(|pipe| rustix::io::ioctl_fionbio(pipe, true))
    }

    /// As much of the input as it takes now; at its end, or when nobody reads it, the pipe is
    /// closed.
    fn give(&mut self) {
        let Some(pipe) = &mut self.stdin else { return };
        match pipe.write(self.input) {
            Ok(count) => self.input = &self.input[count..],
            Err(error) if is_passing(&error) => return,
            Err(_) => self.input = &[],
        }
        if self.input.is_empty() {
            self.stdin = None;
        }
    }

    /// What lies in the pipes now.
    fn take(&mut self) {
        take(&mut self.stdout, &mut self.output, OUTPUT_BYTES_MAX);
        take(&mut self.stderr, &mut self.words, WORDS_BYTES_MAX);
    }
}

/// One pipe's content, of which so many bytes are kept in all; a pipe that ended is closed.
fn take(pipe: &mut Option<impl Read>, kept: &mut Vec<u8>, bytes_max: usize) {
    let Some(open) = pipe else { return };
    let mut bytes = vec![0; READ_BYTES];
    match open.read(&mut bytes) {
        Ok(count) if count > 0 => {
            kept.extend_from_slice(&bytes[..count.min(bytes_max - kept.len())])
        }
        Err(error) if is_passing(&error) => {}
        _ => *pipe = None,
    }
}

fn is_passing(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::Interrupted)
}

fn last_line(words: &str) -> String {
    words.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("nothing").to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::os::unix::process::CommandExt;
    use std::sync::Arc;

    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).process_group(0);
        command
    }

    #[test]
    fn what_goes_in_comes_out_whatever_its_size() {
        let input = vec![b'x'; 1 << 20];
        let finished =
            finish(&mut shell("cat; echo first >&2; echo last >&2"), &input, &Giver::default())
                .unwrap();
        assert!(finished.status.success() && finished.output == input);
        assert_eq!(finished.last_line(), "last");
        assert!(
            finish(&mut shell("exit 3"), &input, &Giver::default()).unwrap().status.code()
                == Some(3)
        );
    }

    #[test]
    fn time_and_giver_end_what_does_not_end_itself_and_what_it_started() {
        let script = "sleep 1000 & echo $! >&2; sleep 1000";
        let gone = Giver { there: Some(Arc::downgrade(&Arc::new(()))), until: None };
        let cases = [
            (Duration::from_millis(400), Giver::default(), ErrorKind::TimedOut),
            (TIME_MAX, gone, ErrorKind::Cancelled),
        ];
        for (time_max, giver, kind) in cases {
            let begin = Instant::now();
            let error = finish_within(time_max, &mut shell(script), b"", &giver).err().unwrap();
            assert!(error.kind() == kind && begin.elapsed() < Duration::from_secs(20), "{error}");
            let pid = &error.context().iter().find(|(key, _)| key == "it said").unwrap().1;
            // A zombie that nobody reaps is as good as gone.
            let status =
                || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let ended = || status().is_empty() || status().contains(") Z ");
            let waited = (0..100)
                .take_while(|_| !ended())
                .inspect(|_| std::thread::sleep(Duration::from_millis(20)));
            assert!(waited.count() < 100, "{}", status());
        }
    }

    #[test]
    fn what_it_says_is_kept_up_to_a_limit_and_the_rest_passes() {
        let flood = |redirected: &str| format!("head -c 20000000 /dev/zero {redirected}; exit 4");
        let finished = finish(&mut shell(&flood("")), b"", &Giver::default()).unwrap();
        assert_eq!((finished.status.code(), finished.output.len()), (Some(4), OUTPUT_BYTES_MAX));
        let finished = finish(&mut shell(&flood(">&2")), b"", &Giver::default()).unwrap();
        assert_eq!((finished.status.code(), finished.words.len()), (Some(4), WORDS_BYTES_MAX));
    }

    #[test]
    fn a_process_that_left_the_group_holds_nobody_up() {
        let begin = Instant::now();
        let finished =
            finish(&mut shell("setsid sleep 25 & sleep 0.2"), b"", &Giver::default()).unwrap();
        assert!(finished.status.success() && begin.elapsed() < Duration::from_secs(20));
    }
}
