//! What is said to the shell on the far side, until it becomes a relay. Each line of ours is one command; what it says
//! counts from a random mark on, so that whatever the user's own start-up files print goes by.

use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

use farcall_base::{Error, ErrorKind, Result};

use super::program::Program;
use super::{Ssh, readable};

/// What may come before the first mark: more is a far side that talks without end.
const NOISE_BYTES_MAX: usize = 1 << 20;
/// Bytes sent at a time of a program that is brought.
const PIECE_BYTES: usize = 256 << 10;

/// The command that `ssh` is given: whatever the user's shell is, it becomes one that reads its commands line by line.
/// `read` takes no byte beyond a line, so that what follows one is for the command itself.
pub fn command() -> String {
    "exec /bin/sh -c 'while IFS= read -r line; do eval \"$line\"; done'".to_owned()
}

pub struct Conversation<'a> {
    socket: &'a OwnedFd,
    ssh: &'a Ssh,
    until: Instant,
    mark: String,
    /// What came behind the last answer.
    rest: Vec<u8>,
}

impl<'a> Conversation<'a> {
    pub fn new(socket: &'a OwnedFd, ssh: &'a Ssh, until: Instant) -> Conversation<'a> {
        Conversation { socket, ssh, until, mark: String::new(), rest: Vec::new() }
    }

    /// Holds it, until the far side is a relay: on which host.
    pub fn hold(mut self) -> Result<String> {
        let mut random = [0; 12];
        rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())
            .map_err(|error| Error::system("connect", error.into()))?;
        let hex: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        self.mark = format!("farcall-{hex}");
        let program = Program::own()?;
        let found = self.ask(&program.search(&self.mark))?;
        match found.split_once(' ') {
            Some(("have", _)) => {}
            Some(("need", machine)) => self.bring(&program, machine)?,
            Some(("none", why)) => return Err(self.cannot_run(why)),
            _ => return Err(self.nonsense(&found)),
        }
        let linger = self.ssh.linger.as_secs();
        let started = self
            .ask(&format!("exec \"$farcall\" relay --mark {} --name {} --linger {linger}", self.mark, self.ssh.name))?;
        match started.split_once(' ') {
            Some(("relay", host)) => Ok(host.to_owned()),
            Some(("failed", why)) => Err(Error::new(ErrorKind::Unavailable, "connect", why.to_owned())),
            _ => Err(self.nonsense(&started)),
        }
    }

    /// Sends a command, and waits for its answer.
    fn ask(&mut self, command: &str) -> Result<String> {
        self.send(format!("{command}\n").as_bytes())?;
        self.answer()
    }

    fn send(&self, bytes: &[u8]) -> Result<()> {
        // A blocking socket: whoever stops reading ends with ssh.
        let mut file = std::fs::File::from(self.socket.try_clone().map_err(|error| Error::system("connect", error))?);
        file.write_all(bytes).map_err(|error| self.lost(&error.to_string()))
    }

    /// The next line that begins with the mark, without it.
    fn answer(&mut self) -> Result<String> {
        let mut file = std::fs::File::from(self.socket.try_clone().map_err(|error| Error::system("connect", error))?);
        let mut noise = 0;
        loop {
            while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                let line = String::from_utf8_lossy(&line);
                // A start-up file may have printed something without a line's end before it.
                if let Some(at) = line.find(&self.mark) {
                    return Ok(line[at + self.mark.len()..].trim().to_owned());
                }
            }
            if !readable(self.socket.as_fd(), self.until) {
                return Err(Error::new(ErrorKind::TimedOut, "connect", "the far side did not answer in time")
                    .fix("see whether `ssh` alone works there, or give it more time"));
            }
            // Byte by byte: what follows the relay's mark is the stream's.
            let mut byte = [0];
            match file.read(&mut byte) {
                Ok(1..) => self.rest.push(byte[0]),
                Ok(0) => return Err(self.lost("it ended")),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.lost(&error.to_string())),
            }
            noise += 1;
            if noise > NOISE_BYTES_MAX {
                let message = "the far side prints without end before its shell begins";
                return Err(Error::new(ErrorKind::Unavailable, "connect", message)
                    .fix("have its start-up files print nothing where there is no terminal"));
            }
        }
    }

    /// Sends the program there.
    fn bring(&mut self, program: &Program, machine: &str) -> Result<()> {
        program.check_machine(machine)?;
        self.send(format!("{}\n", program.take(&self.mark)).as_bytes())?;
        let sent = program.content().chunks(PIECE_BYTES).try_for_each(|piece| self.send(piece));
        // What could not be sent was not wanted any more: the answer says why.
        let done = self.answer().or_else(|error| sent.and(Err(error)))?;
        match done.split_once(' ') {
            Some(("taken", _)) => Ok(()),
            Some(("failed", why)) => Err(self.cannot_run(why)),
            _ => Err(self.nonsense(&done)),
        }
    }

    fn cannot_run(&self, why: &str) -> Error {
        Error::new(ErrorKind::Unavailable, "connect", format!("Farcall cannot be put there: {why}"))
            .fix("free space in its home folder, or set FARCALL_CACHE there to a folder whose programs may run")
    }

    fn nonsense(&self, answer: &str) -> Error {
        Error::new(ErrorKind::Protocol, "connect", "the far side answers something else")
            .with("answer", answer.chars().take(200).collect::<String>())
    }

    fn lost(&self, why: &str) -> Error {
        Error::new(ErrorKind::Unreachable, "connect", format!("ssh gave no connection: {why}"))
            .fix("see whether `ssh` alone reaches that host")
    }
}
