//! The processes of a run's members.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use farcall_base::{Error, ErrorKind, Result, printable_line, printable_output};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

/// Lines of what a member said last that an error has.
const LINES: usize = 5;
/// Bytes of a line that are kept.
const LINE_BYTES_MAX: usize = 400;
/// For a process whose stream has ended to end.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a member said last on its standard error.
type Words = Arc<Mutex<VecDeque<String>>>;

struct Member {
    process: Child,
    words: Words,
    reader: Option<JoinHandle<()>>,
}

/// The members of one run. Whatever becomes of it, none outlives this.
#[derive(Default)]
pub struct Members {
    all: Vec<Member>,
}

impl Members {
    /// Starts one more; gives the stream to it.
    pub fn start(
        &mut self,
        program: &OsString,
        arguments: &[OsString],
        variables: &[(&str, String)],
    ) -> Result<UnixStream> {
        let failed = |error| Error::system("start a member", error);
        // The other end has to outlast the program's start. Nothing else is started meanwhile.
        let flags = SocketFlags::empty();
        let (own, other) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)
            .map_err(|error| failed(error.into()))?;
        rustix::io::fcntl_setfd(&own, rustix::io::FdFlags::CLOEXEC)
            .map_err(|error| failed(error.into()))?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stderr(Stdio::piped());
        command.env("FARCALL_RUN", format!("virtual:{}", other.as_raw_fd()));
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        let mut process = command.spawn().map_err(|error| no_program(program, error))?;
        let words = Words::default();
        let said = process.stderr.take();
        let reader = said.map(|said| {
            let words = words.clone();
            std::thread::spawn(move || pass_on(said, &words))
        });
        self.all.push(Member { process, words, reader });
        Ok(UnixStream::from(own))
    }

    /// How a member ended, and what it said last; ends it if it has not.
    pub fn ended(&mut self, rank: usize) -> Option<(Option<ExitStatus>, String)> {
        let member = self.all.get_mut(rank)?;
        let until = Instant::now() + PATIENCE;
        let status = loop {
            match member.process.try_wait() {
                Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(5)),
                status => break status.ok().flatten(),
            }
        };
        let _ = member.process.kill();
        let _ = member.process.wait();
        if let Some(reader) = member.reader.take() {
            let _ = reader.join();
        }
        let words = member.words.lock().unwrap_or_else(PoisonError::into_inner);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        Some((status, words.join(" / ")))
    }

    /// The processes' ids, so that another thread can end them.
    pub fn ids(&self) -> Vec<u32> {
        self.all.iter().map(|member| member.process.id()).collect()
    }

    /// Waits until all have ended by themselves; the first that failed.
    pub fn wait(&mut self) -> Option<(usize, ExitStatus)> {
        let ends = self.all.iter_mut().map(|member| member.process.wait().ok());
        let ends: Vec<Option<ExitStatus>> = ends.collect();
        let mut ends = ends.into_iter().enumerate();
        ends.find_map(|(rank, status)| Some((rank, status.filter(|status| !status.success())?)))
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        for member in &mut self.all {
            let _ = member.process.kill();
        }
        for member in &mut self.all {
            let _ = member.process.wait();
            if let Some(reader) = member.reader.take() {
                let _ = reader.join();
            }
        }
    }
}

/// What a status means, for people.
pub fn shown(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("it exited with {code}"),
        (None, Some(signal)) => format!("it was killed by signal {signal}"),
        (None, None) => "it ended".to_owned(),
    }
}

/// Passes on what a member says on its standard error, and keeps the last lines.
fn pass_on(said: ChildStderr, words: &Words) {
    let mut said = BufReader::new(said);
    let mut line = Vec::new();
    while said.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
        let _ = std::io::stderr().write_all(printable_output(&line).as_bytes());
        let mut kept = words.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == LINES {
            kept.pop_front();
        }
        line.truncate(LINE_BYTES_MAX);
        kept.push_back(printable_line(String::from_utf8_lossy(&line).trim_end()).into_owned());
        line.clear();
    }
}

fn no_program(program: &OsString, failed: std::io::Error) -> Error {
    Error::new(ErrorKind::NotFound, "start a member", "the program does not start")
        .with("program", program.display())
        .fix("pass the path of an executable file, such as ./sor")
        .source(failed)
}
