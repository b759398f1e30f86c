//! A launcher's process: lines to its standard input, lines from its outputs, and its end.

use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use farcall_base::{Error, Instant, Result};
use rustix::event::PollFlags;
use rustix::process::{Pid, Signal, kill_process_group};

/// Longest line of a launcher.
const LINE_BYTES_MAX: usize = 64 << 10;
/// What waits to be told to it.
const OUTBOX_BYTES_MAX: usize = 4 << 20;
/// What is taken of it in a turn.
const TURN_BYTES_MAX: usize = 256 << 10;
/// Time that it has to end its jobs and itself, once its standard input is closed
/// (spec/launcher.md, section 3).
const GRACE: Duration = Duration::from_secs(200);
/// How long a server that ends waits for it.
const LAST_WAIT: Duration = Duration::from_secs(3);
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Words of it that are kept, for the day that it ends.
const WORDS_BYTES_MAX: usize = 400;

/// What a launcher said.
pub(super) enum Said {
    Answer(String),
    Notice(String),
    Ended(String),
}

/// One pipe from it.
struct Lines<P> {
    pipe: Option<P>,
    bytes: Vec<u8>,
}

impl<P: Read + AsFd> Lines<P> {
    /// Whole lines that came; false where one is too long.
    fn take(&mut self, lines: &mut Vec<String>) -> bool {
        let mut piece = [0; 8192];
        let mut taken = 0;
        while let Some(pipe) = &mut self.pipe {
            match pipe.read(&mut piece) {
                Ok(0) => self.pipe = None,
                Ok(count) => {
                    self.bytes.extend(&piece[..count]);
                    taken += count;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => self.pipe = None,
            }
            if taken >= TURN_BYTES_MAX {
                break;
            }
        }
        while let Some(end) = self.bytes.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.bytes.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            lines.push(line.trim_end_matches(['\n', '\r']).to_owned());
        }
        self.bytes.len() <= LINE_BYTES_MAX
    }
}

pub(super) struct Program {
    child: Child,
    stdin: Option<ChildStdin>,
    outbox: Vec<u8>,
    stdout: Lines<ChildStdout>,
    stderr: Lines<ChildStderr>,
    words: String,
    /// When it is killed.
    kill_at: Option<Instant>,
    is_left_alone: bool,
}

impl Program {
    pub(super) fn start(command: &[String]) -> Result<Program> {
        let (program, arguments) =
            command.split_first().map_or(("", &[][..]), |(program, rest)| (program.as_str(), rest));
        let failed = |error| Error::system("start a launcher", error).with("program", program);
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take();
        let stderr = child.stderr.take();
        let program = Program {
            child,
            stdin,
            outbox: Vec::new(),
            stdout: Lines { pipe: stdout, bytes: Vec::new() },
            stderr: Lines { pipe: stderr, bytes: Vec::new() },
            words: String::new(),
            kill_at: None,
            is_left_alone: false,
        };
        for pipe in program.pipes() {
            rustix::io::ioctl_fionbio(pipe, true).map_err(|errno| failed(errno.into()))?;
        }
        Ok(program)
    }

    fn pipes(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let stdin = self.stdin.as_ref().map(AsFd::as_fd);
        let stdout = self.stdout.pipe.as_ref().map(AsFd::as_fd);
        stdin.into_iter().chain(stdout).chain(self.stderr.pipe.as_ref().map(AsFd::as_fd))
    }

    pub(super) fn sources(&self) -> impl Iterator<Item = (BorrowedFd<'_>, PollFlags)> {
        let stdin = self
            .stdin
            .as_ref()
            .filter(|_| !self.outbox.is_empty())
            .map(|pipe| (pipe.as_fd(), PollFlags::OUT));
        let stdout = self.stdout.pipe.as_ref().map(|pipe| (pipe.as_fd(), PollFlags::IN));
        let stderr = self.stderr.pipe.as_ref().map(|pipe| (pipe.as_fd(), PollFlags::IN));
        stdin.into_iter().chain(stdout).chain(stderr)
    }

    /// Tells it lines, now or when there is room.
    pub(super) fn tell(&mut self, lines: &[String]) {
        for line in lines {
            self.outbox.extend(line.as_bytes());
            self.outbox.extend(b"\r\n");
        }
    }

    fn send(&mut self) {
        while let Some(stdin) = &mut self.stdin
            && !self.outbox.is_empty()
        {
            match stdin.write(&self.outbox) {
                Ok(count) => drop(self.outbox.drain(..count)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => self.stdin = None,
            }
        }
    }

    /// Sends what waits and takes what it said, its end last.
    pub(super) fn exchange(&mut self) -> Vec<Said> {
        self.send();
        let mut answers = Vec::new();
        let mut notices = Vec::new();
        // A job's name comes as a notice, and its answer may come at the same time.
        let bounded = self.stdout.take(&mut answers) & self.stderr.take(&mut notices);
        for words in notices.iter().filter(|line| !line.contains("_NOTIFY ")) {
            self.words = words.chars().take(WORDS_BYTES_MAX).collect();
        }
        let mut said: Vec<Said> = answers.into_iter().map(Said::Answer).collect();
        said.extend(notices.into_iter().map(Said::Notice));
        let crowded = self.outbox.len() > OUTBOX_BYTES_MAX;
        if !bounded || crowded {
            self.stdin = None;
            self.kill();
            let how = if crowded {
                "it does not read its input"
            } else {
                "it wrote a line that is too long"
            };
            said.push(Said::Ended(how.to_owned()));
        } else if self.stdout.pipe.is_none() {
            said.push(Said::Ended(self.end_words()));
        }
        said
    }

    /// How it ended, as far as that is known at once.
    fn end_words(&mut self) -> String {
        self.stdin = None;
        let status = self.child.try_wait().ok().flatten();
        let how = status.map_or_else(
            || "it closed its standard output".to_owned(),
            |status| format!("it ended ({status})"),
        );
        if self.words.is_empty() { how } else { format!("{how}: {}", self.words) }
    }

    fn kill(&self) {
        if let Ok(pid) = i32::try_from(self.child.id())
            && let Some(group) = Pid::from_raw(pid)
        {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }

    /// It is to cancel its jobs, and end.
    pub(super) fn dismiss(&mut self, now: Instant) {
        self.send();
        self.stdin = None;
        self.kill_at.get_or_insert(now + GRACE);
    }

    pub(super) fn next_look(&self, now: Instant) -> Instant {
        now + LOOK_EVERY
    }

    /// Whether its process is no more; one that takes its time is killed.
    pub(super) fn has_left(&mut self, now: Instant) -> bool {
        self.stdin = None;
        if now >= *self.kill_at.get_or_insert(now + GRACE) {
            self.kill();
        }
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// The server ends. A launcher that takes its time to end its jobs does so without it.
    pub(super) fn finish(&mut self) {
        self.stdin = None;
        let begun = std::time::Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && begun.elapsed() < LAST_WAIT {
            std::thread::sleep(LOOK_EVERY);
        }
        self.is_left_alone = true;
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if !self.is_left_alone && matches!(self.child.try_wait(), Ok(None)) {
            self.kill();
            let _ = self.child.wait();
        }
    }
}
