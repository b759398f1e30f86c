//! Jobs on other hosts, which the user's own `ssh` reaches: one `ssh` for each, for as long as it
//! runs.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use farcall_base::Error;
use farcall_launcher::{Ended, Job, far};

use super::bridge::{how, start_bridge, wait_for_both};
use super::registry::Registry;

/// The variable that names another `ssh`.
const NO_CONNECTION: &str = "ssh did not connect";
const SSH_VARIABLE: &str = "FARCALL_SSH";
/// Time until a job runs, with what is copied for it.
const BEGIN: Duration = Duration::from_secs(120);
/// What may be printed before an answer.
const NOISE_BYTES_MAX: u64 = far::NOISE_BYTES_MAX as u64;
/// Read of its output at a time.
const LINES_BYTES: usize = 8 << 10;
/// What is kept of the last words of an `ssh`.
const WORDS_BYTES_MAX: usize = 4096;
/// Time that its last words have to come when it has ended.
const WORDS: Duration = Duration::from_millis(500);

/// 32 digits that nobody guesses.
pub fn random_hex() -> farcall_base::Result<String> {
    let mut random = [0; 16];
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())
        .map_err(|error| Error::system("draw a random number", error.into()))?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn other(text: impl Into<String>) -> std::io::Error {
    std::io::Error::other(text.into())
}

/// Runs a job, from the connection to its end.
pub fn run(key: &str, job: &Job, registry: &Registry, begun: &dyn Fn()) -> std::io::Result<Ended> {
    let mark = random_hex().map_err(|error| other(error.to_string()))?;
    let mut talk = Talk::begin(key, job, &format!("farcall-{mark}"), registry)?;
    let ended = talk.meet().and_then(|()| match &job.bridge {
        Some(bridge) => talk.join(job, bridge, begun).map(|()| None),
        None => talk.hold(job, begun).map(Some),
    });
    // Its input ends with the entry of the registry; then so does what runs there.
    registry.stop(key);
    let words = talk.words;
    let status = registry.wait(key, talk.child)?;
    let said = || words.recv_timeout(WORDS).ok().filter(|said| !said.is_empty());
    match ended {
        Ok(Some(ended)) => Ok(ended),
        // An ssh ends as the program did that it ran.
        Ok(None) => {
            let mut ended = how(status);
            said()
                .filter(|_| !ended.is_success)
                .iter()
                .for_each(|said| ended.text += &format!(": {said}"));
            Ok(ended)
        }
        Err(error) => {
            Err(other(format!("{error} (ssh: {})", said().unwrap_or_else(|| how(status).text))))
        }
    }
}

/// A shell on the far side.
struct Talk<'a> {
    key: &'a str,
    registry: &'a Registry,
    mark: String,
    child: Child,
    lines: Receiver<String>,
    /// What `ssh` said on standard error, once it has ended.
    words: Receiver<String>,
    /// Its standard output, when the program's own bytes follow.
    output: Receiver<BufReader<ChildStdout>>,
    until: Instant,
    /// The far side has said something.
    heard: bool,
}

impl<'a> Talk<'a> {
    fn begin(
        key: &'a str,
        job: &Job,
        mark: &str,
        registry: &'a Registry,
    ) -> std::io::Result<Talk<'a>> {
        let program = std::env::var_os(SSH_VARIABLE)
            .filter(|name| !name.is_empty())
            .unwrap_or_else(|| "ssh".into());
        let mut command = Command::new(program);
        // Nobody is there to answer a question.
        command.args(["-T", "-o", "BatchMode=yes"]);
        if job.port > 0 {
            command.args(["-p", &job.port.to_string()]);
        }
        command.args(["--", &job.hostname, &far::shell(mark)]).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child =
            command.spawn().map_err(|error| other(format!("ssh cannot be started: {error}")))?;
        let (Some(input), Some(output), Some(errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(other("ssh has no standard streams"));
        };
        registry.add_far(key, &child, input);
        let (sender, lines) = sync_channel(64);
        let own = mark.to_owned();
        let is_bridged = job.bridge.is_some();
        let (rest, output_after) = sync_channel(1);
        // What is read behind the last line would be missing in the program's own bytes.
        let output = BufReader::with_capacity(if is_bridged { 1 } else { LINES_BYTES }, output);
        std::thread::Builder::new().spawn(move || {
            let mut is_last = false;
            let output = read_marked(output, &own, |line| {
                is_last = is_bridged && line.starts_with("started");
                sender.send(line).is_ok() && !is_last
            });
            // Otherwise it is closed here: whoever talks without end hears so.
            if is_last {
                let _ = rest.send(output);
            }
        })?;
        let (sender, words) = sync_channel(1);
        std::thread::Builder::new().spawn(move || drop(sender.send(last_words(errors))))?;
        Ok(Talk {
            key,
            registry,
            mark: mark.to_owned(),
            child,
            lines,
            words,
            output: output_after,
            until: Instant::now() + BEGIN,
            heard: false,
        })
    }

    fn hold(&mut self, job: &Job, begun: &dyn Fn()) -> std::io::Result<Ended> {
        if job.program.staging {
            self.stage(job)?;
        }
        self.say(&far::run(job), &["started"])?;
        begun();
        // As long as the job takes.
        let Ok(line) = self.lines.recv() else { return Err(other("the connection was lost")) };
        let Some(ended) = line.strip_prefix("ended ") else { return Err(other(line)) };
        let (status, words) = ended.split_once(' ').unwrap_or((ended, ""));
        let Ok(status) = status.trim().parse::<i32>() else { return Err(other(line)) };
        let how = if (129..=192).contains(&status) {
            format!("signal {}", status - 128)
        } else {
            format!("exit status {status}")
        };
        let words = words.trim();
        let text = if words.is_empty() { how } else { format!("{how}: {words}") };
        Ok(Ended { is_success: status == 0, text })
    }

    /// Connects the program's streams with a command here, until both have ended.
    fn join(&mut self, job: &Job, bridge: &str, begun: &dyn Fn()) -> std::io::Result<()> {
        if job.program.staging {
            self.stage(job)?;
        }
        self.say(&far::run_bridged(job), &["started"])?;
        let output = self
            .output
            .recv_timeout(WORDS)
            .map_err(|_| other("the connection was lost"))?
            .into_inner();
        let input = self.registry.take_input(self.key).ok_or_else(|| other("cancelled"))?;
        let group = i32::try_from(self.child.id()).unwrap_or(0);
        let mut bridge = start_bridge((bridge, group), [output.into(), input.into()], None)?;
        begun();
        let joined = wait_for_both(self.key, &mut self.child, &mut bridge, self.registry);
        self.registry.kill(self.key);
        let _ = bridge.wait();
        joined
    }

    /// Copies the program, unless it is there, and the ticket.
    fn stage(&mut self, job: &Job) -> std::io::Result<()> {
        let content = read(&job.program.path)?;
        let digest = format!("{:032x}", farcall_link::content::digest(&content));
        let mut attempts = 0;
        while self.say(&far::find_program(&digest, content.len(), far::HAVE), &["have", "need"])?
            == "need"
        {
            if self.take(&far::take_program(content.len()), &content, &["taken", "failed"])?
                == "taken"
            {
                break;
            }
            attempts += 1;
            if attempts == far::ATTEMPTS_MAX {
                return Err(other("no directory there can hold the program"));
            }
        }
        let Some(ticket) = job.program.ticket() else { return Ok(()) };
        let content = read(ticket)?;
        self.say(&far::make_folder(), &["made"])?;
        self.take(&far::take_ticket(content.len()), &content, &["taken"]).map(drop)
    }

    /// Waits for the shell, which start-up files may have replaced by another (see
    /// [`far::NUDGE_SECONDS`]).
    fn meet(&mut self) -> std::io::Result<()> {
        let soon = Instant::now() + Duration::from_secs(far::NUDGE_SECONDS);
        match self.line(soon)? {
            Some(line) => self.check(&line, &[far::READY]).map(drop),
            None => self.say(&far::shell(&self.mark), &[far::READY]).map(drop),
        }
    }

    /// Sends a command, and waits for one of these answers.
    fn say(&mut self, command: &str, wanted: &[&str]) -> std::io::Result<String> {
        self.take(command, b"", wanted)
    }

    /// Sends a command with the bytes that it takes, and waits for one of these answers.
    fn take(&mut self, command: &str, content: &[u8], wanted: &[&str]) -> std::io::Result<String> {
        self.send(command.as_bytes())?;
        self.pass(content)?;
        self.answer(wanted)
    }

    fn send(&self, line: &[u8]) -> std::io::Result<()> {
        self.pass(line)?;
        self.pass(b"\n")
    }

    fn pass(&self, bytes: &[u8]) -> std::io::Result<()> {
        let mut input = self.registry.input(self.key).ok_or_else(|| other("cancelled"))?;
        input.write_all(bytes).map_err(|error| match self.heard {
            true => other(format!("the connection was lost: {error}")),
            // An ssh that ended at once is seen here or where its answer is read.
            false => other(NO_CONNECTION),
        })
    }

    fn answer(&mut self, wanted: &[&str]) -> std::io::Result<String> {
        loop {
            let Some(line) = self.line(self.until)? else {
                self.registry.kill(self.key);
                return Err(other("the host did not answer in time"));
            };
            // One that was asked twice may say so twice.
            if line != far::READY || wanted.contains(&far::READY) {
                return self.check(&line, wanted);
            }
        }
    }

    /// What is said next behind the mark; `None` when the time is over.
    fn line(&mut self, until: Instant) -> std::io::Result<Option<String>> {
        let line = match self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => return Ok(None),
            Err(RecvTimeoutError::Disconnected) => return Err(other(NO_CONNECTION)),
        };
        self.heard = true;
        Ok(Some(line))
    }

    fn check(&self, line: &str, wanted: &[&str]) -> std::io::Result<String> {
        let word = line.split(' ').next().unwrap_or_default();
        if wanted.contains(&word) {
            Ok(word.to_owned())
        } else {
            Err(other(format!("the far side says: {line}")))
        }
    }
}

fn read(path: &str) -> std::io::Result<Vec<u8>> {
    std::fs::read(path).map_err(|error| other(format!("{path}: {error}")))
}

/// Passes on what stands behind the mark in each line, until the stream ends or says too much.
fn read_marked<R: BufRead>(output: R, mark: &str, mut pass: impl FnMut(String) -> bool) -> R {
    let mut output = output.take(NOISE_BYTES_MAX);
    let mut line = Vec::new();
    while let Ok(1..) = output.read_until(b'\n', &mut line) {
        let text = String::from_utf8_lossy(&line);
        if let Some(at) = text.find(mark) {
            if !pass(text[at + mark.len()..].trim().to_owned()) {
                break;
            }
            output.set_limit(NOISE_BYTES_MAX);
        }
        line.clear();
    }
    output.into_inner()
}

/// The end of what it said, in one line.
fn last_words(mut errors: impl Read) -> String {
    let mut kept = Vec::new();
    let mut buffer = [0; 1024];
    while let Ok(count @ 1..) = errors.read(&mut buffer) {
        kept.extend_from_slice(&buffer[..count]);
        let surplus = kept.len().saturating_sub(WORDS_BYTES_MAX);
        kept.drain(..surplus);
    }
    let text = String::from_utf8_lossy(&kept).into_owned();
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}
