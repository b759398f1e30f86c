//! What is said to the shell on the far side, until it becomes a relay. Each line of ours is one command; what it says
//! counts from a random mark on, so that whatever the user's own start-up files print goes by.

use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};

use farcall_base::{Error, ErrorKind, Result};
use rustix::net::SendFlags;

use super::library::Library;
use super::program::Program;
use super::{Limits, Ssh, readable};

/// What may come before the first mark: more is a far side that talks without end.
const NOISE_BYTES_MAX: usize = 1 << 20;
/// Folders in which the program may lie.
const FOLDERS_MAX: usize = 5;
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
    limits: Limits,
    mark: String,
    /// What came behind the last answer.
    rest: Vec<u8>,
}

impl<'a> Conversation<'a> {
    pub fn new(socket: &'a OwnedFd, ssh: &'a Ssh, limits: Limits) -> Conversation<'a> {
        Conversation { socket, ssh, limits, mark: String::new(), rest: Vec::new() }
    }

    /// Holds it, until the far side is a relay: on which host.
    pub fn hold(mut self) -> Result<String> {
        let mut random = [0; 12];
        rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())
            .map_err(|error| Error::system("connect", error.into()))?;
        let hex: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        self.mark = format!("farcall-{hex}");
        let program = Program::own()?;
        let start = self.start();
        // What else is brought goes before that, beside the program.
        let found_so = if self.ssh.brings_library { format!("echo \"{} have\"", self.mark) } else { start.clone() };
        // Each attempt that fails leaves one folder fewer.
        for _ in 0..FOLDERS_MAX {
            let found = self.ask(&program.search(&self.mark, &found_so))?;
            match found.split_once(' ') {
                Some(("need", machine)) => {
                    if self.bring(&program, machine)? {
                        return self.begin(&program, &start);
                    }
                }
                _ if found == "have" => return self.begin(&program, &start),
                Some(("none", why)) => return Err(self.cannot_be_put(why)),
                _ => return self.started(&found),
            }
        }
        Err(self.cannot_be_put("no folder holds it"))
    }

    /// Brings what else is wanted, and has the far side become a relay.
    fn begin(&mut self, program: &Program, start: &str) -> Result<String> {
        if self.ssh.brings_library {
            self.bring_library(&Library::of(program)?)?;
        }
        let started = self.ask(start)?;
        self.started(&started)
    }

    /// Brings what code in interface files is linked with, unless it is there.
    fn bring_library(&mut self, library: &Library) -> Result<()> {
        let no_room = |why: &str| {
            Error::new(ErrorKind::Unavailable, "connect", "the library cannot be put there, beside the program")
                .with("why", why)
                .fix("free space there, or set FARCALL_CACHE there to a folder with room for it")
        };
        let found = self.ask(&library.search(&self.mark))?;
        match found.split_once(' ').unwrap_or((&found, "")) {
            ("have", _) => return Ok(()),
            ("need", _) => {}
            ("none", why) => return Err(no_room(why)),
            _ => return Err(self.nonsense(&found)),
        }
        for file in &library.files {
            self.send(format!("{}\n", Library::take(&self.mark, file)).as_bytes())?;
            if !self.pass(&file.content)? {
                return Err(no_room(&format!("no room for {} bytes", file.content.len())));
            }
        }
        let finished = self.ask(&Library::finish(&self.mark))?;
        if finished == "taken" { Ok(()) } else { Err(no_room("it cannot be moved to its place")) }
    }

    /// A command that becomes a relay, or says why the program cannot run.
    fn start(&self) -> String {
        let (mark, name, linger) = (&self.mark, &self.ssh.name, self.ssh.linger.as_secs());
        let launcher = self.ssh.address.launcher.as_ref();
        let launcher = launcher.map_or(String::new(), |launcher| format!(" --launcher {launcher}"));
        format!(
            "if why=$(\"$farcall\" --version 2>&1); then exec \"$farcall\" relay --mark {mark} --name {name} \
             --linger {linger}{launcher}; else echo \"{mark} alien $(uname -s)-$(uname -m) $farcall:\" $why; exit 1; fi"
        )
    }

    fn started(&self, answer: &str) -> Result<String> {
        match answer.split_once(' ') {
            Some(("relay", host)) => Ok(host.to_owned()),
            Some(("failed", why)) => Err(Error::new(ErrorKind::Unavailable, "connect", why.to_owned())),
            // The next attempt may come to another host of that name, or find that one up.
            Some(("unreachable", why)) => Err(Error::new(ErrorKind::Unreachable, "connect", why.to_owned())),
            Some(("alien", why)) => {
                Err(Error::new(ErrorKind::Unavailable, "connect", format!("Farcall cannot run there: {why}"))
                    .fix("build one for that machine (tools/build-portable.sh), and name it in FARCALL_REMOTE_PROGRAM"))
            }
            _ => Err(self.nonsense(answer)),
        }
    }

    /// Sends a command, and waits for its answer.
    fn ask(&mut self, command: &str) -> Result<String> {
        self.send(format!("{command}\n").as_bytes())?;
        self.answer()
    }

    /// On a blocking socket: whoever stops reading ends with ssh. An `ssh` that has ended is an error, and no SIGPIPE, of which
    /// programs die that are not written in Rust.
    fn send(&self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            match rustix::net::send(self.socket, bytes, SendFlags::NOSIGNAL) {
                Ok(count) => bytes = &bytes[count..],
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(self.lost(&std::io::Error::from(errno).to_string())),
            }
        }
        Ok(())
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
                    self.limits.sign = self.limits.until;
                    return Ok(line[at + self.mark.len()..].trim().to_owned());
                }
            }
            if !readable(self.socket.as_fd(), self.limits.sign) {
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

    /// Sends the program there; false where there is no room for it.
    fn bring(&mut self, program: &Program, machine: &str) -> Result<bool> {
        program.check_machine(machine)?;
        self.send(format!("{}\n", program.take(&self.mark)).as_bytes())?;
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
        Error::new(ErrorKind::Unavailable, "connect", "Farcall cannot be put there: no folder takes it and lets it run")
            .with("folders", why)
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
