//! What is said to the shell on the far side, until it becomes a relay. Each line of ours is one
//! command; what it says counts from a random mark on, so that whatever the user's own start-up
//! files print goes by.

use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use farcall_base::{Error, ErrorKind, Result};
use farcall_launcher::far::{self, NOISE_BYTES_MAX};
use farcall_launcher::quoted;
use rustix::event::PollFlags;
use rustix::net::{RecvFlags, SendFlags};

use super::library::Library;
use super::program::{Glibc, Program};
use super::{Errand, Limits, Ssh, ready};

/// Bytes sent at a time of a program that is brought.
const PIECE_BYTES: usize = 256 << 10;
/// Looked at, at a time, of what comes back.
const LOOK_BYTES: usize = 16 << 10;
/// Longest answer; of a longer line the end counts.
const LINE_BYTES_MAX: usize = 16 << 10;
/// What is told of what start-up files print.
const NOISE_BYTES_TOLD: usize = 300;

pub struct Conversation<'a> {
    socket: &'a OwnedFd,
    ssh: &'a Ssh,
    limits: Limits,
    mark: String,
    /// What came of the line that has not ended.
    line: Vec<u8>,
    /// The end of what was printed and is no answer.
    noise: Vec<u8>,
    /// A shell runs our commands there.
    is_met: bool,
}

impl<'a> Conversation<'a> {
    pub fn new(
        socket: &'a OwnedFd,
        ssh: &'a Ssh,
        limits: Limits,
        mark: String,
    ) -> Conversation<'a> {
        Conversation {
            socket,
            ssh,
            limits,
            mark,
            line: Vec::new(),
            noise: Vec::new(),
            is_met: false,
        }
    }

    /// Holds it, until the host's shell has become a relay: on which host.
    pub fn hold(mut self) -> Result<String> {
        self.meet()?;
        let program = Program::choose(|| self.glibc())?;
        let start = self.start();
        let config = self.ssh.settings.config();
        // What else is brought goes before that, beside the program.
        let brings = self.ssh.brings_library || config.is_some();
        let found_so = if brings { far::HAVE } else { &start };
        for _ in 0..far::ATTEMPTS_MAX {
            let found =
                self.ask(&far::find_program(program.digest(), program.content().len(), found_so))?;
            match found.split_once(' ') {
                Some(("need", machine)) => {
                    if self.bring(&program, machine)? {
                        return self.begin(&program, &start, config);
                    }
                }
                _ if found == "have" => return self.begin(&program, &start, config),
                Some(("none", why)) => return Err(self.cannot_be_put(why)),
                _ => return self.started(&found),
            }
        }
        Err(self.cannot_be_put("it is in no directory"))
    }

    /// Waits for the shell, which start-up files may have replaced by another.
    fn meet(&mut self) -> Result<()> {
        let soon = Instant::now() + Duration::from_secs(far::NUDGE_SECONDS);
        let mut line = self.next_line(soon.min(self.limits.sign))?;
        if line.is_none() {
            self.send(format!("{}\n", far::shell(&self.mark)).as_bytes())?;
            line = self.next_line(self.limits.sign)?;
        }
        let line = line.ok_or_else(|| {
            self.not_met(
                ErrorKind::TimedOut,
                "the host did not answer in time: no shell ran a command",
            )
        })?;
        self.is_met = true;
        if line == far::READY { Ok(()) } else { Err(self.nonsense(&line)) }
    }

    /// The C library of the host, where it says one.
    fn glibc(&mut self) -> Result<Option<Glibc>> {
        let answer = self.ask(far::GLIBC)?;
        Ok(answer.strip_prefix("glibc").and_then(Glibc::of_line))
    }

    /// Brings what else is wanted, and has the host become a relay.
    fn begin(&mut self, program: &Program, start: &str, config: Option<&str>) -> Result<String> {
        if self.ssh.brings_library {
            self.bring_library(&Library::of(program)?)?;
        }
        if let Some(config) = config {
            self.bring_config(config)?;
        }
        let started = self.ask(start)?;
        self.started(&started)
    }

    /// Brings what code in interface files is linked with, unless it is there.
    fn bring_library(&mut self, library: &Library) -> Result<()> {
        let no_room = |why: &str| {
            Error::new(
                ErrorKind::Unavailable,
                "connect",
                "the library cannot be copied to the \
                host",
            )
            .with("why", why)
            .fix(
                "free disk space there, or set FARCALL_CACHE there to a directory with \
                    enough space",
            )
        };
        let found = self.ask(&library.search())?;
        match found.split_once(' ').unwrap_or((&found, "")) {
            ("have", _) => return Ok(()),
            ("need", _) => {}
            ("none", why) => return Err(no_room(why)),
            _ => return Err(self.nonsense(&found)),
        }
        for file in &library.files {
            self.send(format!("{}\n", Library::take(file)).as_bytes())?;
            if !self.pass(&file.content)? {
                return Err(no_room(&format!("no room for {} bytes", file.content.len())));
            }
        }
        let finished = self.ask(&Library::finish())?;
        if finished == "taken" { Ok(()) } else { Err(no_room("it cannot be moved to its place")) }
    }

    /// Brings a configuration file, to beside the one that is kept: the relay compares them.
    fn bring_config(&mut self, config: &str) -> Result<()> {
        let command = far::take_config(&self.ssh.name, config.len());
        self.send(format!("{command}\n").as_bytes())?;
        if self.pass(config.as_bytes())? {
            return Ok(());
        }
        let message = "the configuration file cannot be copied to the host";
        Err(Error::new(ErrorKind::Unavailable, "connect", message)
            .fix("free disk space there, and check that ~/.config can be written to"))
    }

    /// A command that becomes a relay, or says why the program cannot run.
    fn start(&self) -> String {
        let name = &self.ssh.name;
        let linger = self.ssh.linger.as_secs();
        let launcher = self.ssh.address.launcher.as_ref();
        let launcher = launcher.map_or(String::new(), |launcher| format!(" --launcher {launcher}"));
        let settings = self.ssh.settings.arguments();
        let errand = match self.ssh.errand {
            Errand::Relay => {
                let address = quoted(&self.ssh.address.to_string());
                format!("relay --linger {linger} --address {address}{settings}")
            }
            Errand::Settings => "config show".to_owned(),
        };
        format!(
            "if why=$(\"$program\" --version 2>&1); then exec \"$program\" {errand} --mark \"$mark\" \
             --name {name}{launcher}; else echo \"$mark alien $(uname \
             -s)-$(uname -m) $program:\" $why; exit 1; fi"
        )
    }

    fn started(&self, answer: &str) -> Result<String> {
        match answer.split_once(' ') {
            Some(("relay", host)) => Ok(host.to_owned()),
            Some(("failed", why)) => {
                Err(Error::new(ErrorKind::Unavailable, "connect", why.to_owned()))
            }
            // The next attempt may come to another host of that name, or find that one up.
            Some(("unreachable", why)) => {
                Err(Error::new(ErrorKind::Unreachable, "connect", why.to_owned()))
            }
            Some(("alien", why)) => Err(Error::new(
                ErrorKind::Unavailable,
                "connect",
                format!(
                    "Farcall cannot run \
                    there: {why}"
                ),
            )
            .fix(
                "build it for that machine (make dist), and set \
                        FARCALL_REMOTE_PROGRAM to it",
            )),
            _ => Err(self.nonsense(answer)),
        }
    }

    /// Sends a command, and waits for its answer.
    fn ask(&mut self, command: &str) -> Result<String> {
        self.send(format!("{command}\n").as_bytes())?;
        self.answer()
    }

    /// Waits for a far side that does not read until the time is over. An `ssh` that has ended is
    /// an error, and no SIGPIPE, of which programs die that are not written in Rust.
    fn send(&self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            match rustix::net::send(self.socket, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(count) => bytes = &bytes[count..],
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN)
                    if ready(self.socket.as_fd(), PollFlags::OUT, self.limits.until) => {}
                Err(rustix::io::Errno::AGAIN) => {
                    let message = "the host stopped reading, and the time limit passed";
                    return Err(Error::new(ErrorKind::TimedOut, "connect", message)
                        .fix("check that `ssh` alone works there"));
                }
                Err(errno) => return Err(self.lost(&std::io::Error::from(errno).to_string())),
            }
        }
        Ok(())
    }

    fn answer(&mut self) -> Result<String> {
        loop {
            match self.next_line(self.limits.sign)? {
                // One that was asked twice may say so twice.
                Some(line) if line == far::READY => {}
                Some(line) => return Ok(line),
                None => {
                    return Err(Error::new(
                        ErrorKind::TimedOut,
                        "connect",
                        "the host did not answer in time",
                    )
                    .fix("check that `ssh` alone works there"));
                }
            }
        }
    }

    /// What stands behind the mark in the next line that has it; `None` when the time is over.
    fn next_line(&mut self, until: Instant) -> Result<Option<String>> {
        let mut noise = 0;
        while noise <= NOISE_BYTES_MAX {
            if !ready(self.socket.as_fd(), PollFlags::IN, until) {
                return Ok(None);
            }
            noise += self.take_bytes()?;
            if self.line.last() != Some(&b'\n') {
                let surplus = self.line.len().saturating_sub(LINE_BYTES_MAX);
                self.line.drain(..surplus);
                continue;
            }
            let line = String::from_utf8_lossy(&self.line);
            // A start-up file may have printed something without a line's end before it.
            let said =
                line.find(&self.mark).map(|at| line[at + self.mark.len()..].trim().to_owned());
            if said.is_some() {
                self.limits.sign = self.limits.until;
                self.line.clear();
                return Ok(said);
            }
            self.keep_noise();
        }
        let message = "the host prints too much text before its shell starts";
        Err(Error::new(ErrorKind::Unavailable, "connect", message)
            .fix("change its startup files to print nothing without a terminal"))
    }

    /// Takes what is there, and how many bytes that is: whole lines without a mark, or up to the
    /// end of one that has it. What follows the relay's line is the stream's.
    fn take_bytes(&mut self) -> Result<usize> {
        let mut buffer = [0; LOOK_BYTES];
        let failed = |errno: rustix::io::Errno| std::io::Error::from(errno).to_string();
        let came = match rustix::net::recv(self.socket, &mut buffer, RecvFlags::PEEK) {
            Ok((0, _)) => return Err(self.ended()),
            Ok((count, _)) => &buffer[..count],
            Err(rustix::io::Errno::INTR) => return Ok(0),
            Err(errno) => return Err(self.lost(&failed(errno))),
        };
        let had = self.line.len();
        self.line.extend_from_slice(came);
        let mark =
            self.line.windows(self.mark.len()).position(|bytes| bytes == self.mark.as_bytes());
        let is_end = |byte: &u8| *byte == b'\n';
        let end = match mark {
            Some(at) => self.line[at..].iter().position(is_end).map(|end| at + end),
            None => self.line.iter().rposition(is_end),
        };
        let count = end.map_or(self.line.len(), |end| end + 1) - had;
        self.line.truncate(had + count);
        // They are there: it takes as many.
        rustix::net::recv(self.socket, &mut buffer[..count], RecvFlags::WAITALL)
            .map(|_| count)
            .map_err(|errno| self.lost(&failed(errno)))
    }

    /// Keeps the end of what was printed: where nothing else comes, it may be the reason.
    fn keep_noise(&mut self) {
        self.noise.append(&mut self.line);
        let surplus = self.noise.len().saturating_sub(NOISE_BYTES_TOLD);
        self.noise.drain(..surplus);
    }

    /// Sends the program there; false where there is no room for it.
    fn bring(&mut self, program: &Program, machine: &str) -> Result<bool> {
        program.check_machine(machine)?;
        self.send(format!("{}\n", far::take_program(program.content().len())).as_bytes())?;
        self.pass(program.content())
    }

    /// Sends the bytes that a command takes; false where there is no room for them.
    fn pass(&mut self, content: &[u8]) -> Result<bool> {
        let sent = content.chunks(PIECE_BYTES).try_for_each(|piece| self.send(piece));
        // What could not be sent was not wanted any more: the answer says why.
        let done = self.answer().or_else(|error| sent.and(Err(error)))?;
        match done.as_str() {
            "taken" => Ok(true),
            "failed" => Ok(false),
            _ => Err(self.nonsense(&done)),
        }
    }

    fn cannot_be_put(&self, why: &str) -> Error {
        Error::new(
            ErrorKind::Unavailable,
            "connect",
            "Farcall cannot be copied there: no directory has space and allows programs to run",
        )
        .with("folders", why)
        .fix(
            "free disk space in its home directory, or set FARCALL_CACHE there to a directory \
                that allows programs to run",
        )
    }

    fn nonsense(&self, answer: &str) -> Error {
        Error::new(ErrorKind::Protocol, "connect", "the host sent an unexpected answer")
            .with("answer", answer.chars().take(200).collect::<String>())
    }

    /// Its output has ended.
    fn ended(&mut self) -> Error {
        self.keep_noise();
        if self.is_met {
            self.lost("it ended")
        } else {
            self.not_met(
                ErrorKind::Unreachable,
                "the host ended the connection without running a command",
            )
        }
    }

    /// There is no shell that runs commands.
    fn not_met(&self, kind: ErrorKind, why: &str) -> Error {
        let error = Error::new(kind, "connect", why).fix(
            "check that `ssh HOST echo yes` prints yes and exits; if not, check what the startup \
            files there (.bashrc, .cshrc, ...) read or run without a terminal, and whether the \
            account may run commands",
        );
        let printed = String::from_utf8_lossy(&self.noise);
        let lines: Vec<&str> =
            printed.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        if lines.is_empty() {
            error
        } else {
            error.with("it printed", lines.join("; ").replace(char::is_control, ""))
        }
    }

    fn lost(&self, why: &str) -> Error {
        Error::new(ErrorKind::Unreachable, "connect", format!("ssh did not connect: {why}"))
            .fix("check that `ssh` alone reaches that host")
    }
}
