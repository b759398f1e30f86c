//! Connections that dial in: those that have not said what they are, and those of pilots.

use std::collections::BTreeSet;
use std::io::{ErrorKind, IoSlice, IoSliceMut};
use std::os::fd::BorrowedFd;
use std::time::Duration;

use farcall_base::{ExecutableId, Instant};
use farcall_link::stream::{ByteStream, Proof};
use farcall_services::spawner::{ExitHow, Exited, OutputTail};
use farcall_wire::{
    FromPilot, PILOT_GREETING_BYTES_MAX, PILOT_MESSAGE_BYTES_MAX, PilotExited, PilotGreeting,
    PilotPiece, ToPilot, encode_pilot, take_pilot,
};
use rustix::event::PollFlags;

/// What waits to be told to one pilot, at most.
const OUTBOX_BYTES_MAX: usize = 64 << 20;
/// What is taken of one pilot in a turn.
const TURN_BYTES_MAX: usize = 1 << 20;
const PIECE_BYTES: usize = 64 << 10;
/// Kept of each output of an executable that has ended.
const TAIL_LINES_MAX: usize = 20;
const TAIL_BYTES_MAX: usize = 4096;

/// A connection that has not said yet what it is.
pub(super) struct Newborn {
    pub(super) stream: Box<dyn ByteStream>,
    pub(super) until: Instant,
    said: Vec<u8>,
}

/// How far it has come.
pub(super) enum Greeting {
    NotYet,
    Broken,
    Said(PilotGreeting),
}

impl Newborn {
    pub(super) fn new(stream: Box<dyn ByteStream>, until: Instant) -> Newborn {
        Newborn { stream, until, said: Vec::new() }
    }

    /// Reads its first message, and not a byte beyond: those may be an executable's.
    pub(super) fn greet(&mut self) -> Greeting {
        loop {
            let wanted = match self.said.first_chunk::<4>() {
                None => 4,
                Some(head) => 4 + u32::from_le_bytes(*head) as usize,
            };
            if wanted > PILOT_GREETING_BYTES_MAX {
                return Greeting::Broken;
            }
            if self.said.len() == wanted && wanted > 4 {
                return self.read();
            }
            let mut piece = vec![0; wanted - self.said.len()];
            match receive(&mut *self.stream, &mut piece) {
                Ok(Some(count)) if count > 0 => self.said.extend(&piece[..count]),
                Ok(Some(_)) | Err(_) => return Greeting::Broken,
                Ok(None) => return Greeting::NotYet,
            }
        }
    }

    /// A certificate is for the job that it names, and no other.
    fn read(&mut self) -> Greeting {
        let greeting = take_pilot::<PilotGreeting>(&mut self.said, PILOT_GREETING_BYTES_MAX);
        let Ok(Some(greeting)) = greeting else { return Greeting::Broken };
        let job = match &greeting {
            PilotGreeting::Pilot(hello) => &hello.job,
            PilotGreeting::Executable(one) => &one.job,
        };
        let own = rustix::process::geteuid().as_raw();
        match &self.stream.peer().proof {
            Proof::Certificate { name } if name == job => Greeting::Said(greeting),
            Proof::User { uid, .. } if *uid == own => Greeting::Said(greeting),
            _ => Greeting::Broken,
        }
    }
}

/// `None` where nothing is there.
fn receive(stream: &mut dyn ByteStream, piece: &mut [u8]) -> std::io::Result<Option<usize>> {
    match stream.receive(&mut [IoSliceMut::new(piece)], &mut Vec::new()) {
        Ok(count) => Ok(Some(count)),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The connection of a pilot.
pub(super) struct PilotLine {
    stream: Box<dyn ByteStream>,
    inbox: Vec<u8>,
    outbox: Vec<u8>,
    /// Texts of modules that it has.
    pub(super) texts: BTreeSet<u64>,
}

impl PilotLine {
    pub(super) fn new(stream: Box<dyn ByteStream>) -> PilotLine {
        PilotLine { stream, inbox: Vec::new(), outbox: Vec::new(), texts: BTreeSet::new() }
    }

    pub(super) fn readiness(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        let room = if self.outbox.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
        Some((self.stream.readiness()?, PollFlags::IN | room))
    }

    /// Tells it something, now or when there is room; why that cannot be.
    pub(super) fn tell(&mut self, message: &ToPilot) -> Result<(), String> {
        let bytes = encode_pilot(message).map_err(|error| error.to_string())?;
        if self.outbox.len() + bytes.len() > OUTBOX_BYTES_MAX {
            return Err("it stopped reading its input".to_owned());
        }
        self.outbox.extend(bytes);
        self.send().map_err(|error| error.to_string())
    }

    fn send(&mut self) -> std::io::Result<()> {
        while !self.outbox.is_empty() {
            match self.stream.send(&[IoSlice::new(&self.outbox)], &[]) {
                Ok(count) => drop(self.outbox.drain(..count)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Sends what waits and takes what came; with it, why the connection is over, if it is.
    pub(super) fn exchange(&mut self) -> (Vec<FromPilot>, Option<String>) {
        let mut end = self.send().err().map(|error| error.to_string());
        let mut taken = 0;
        let mut piece = vec![0; PIECE_BYTES];
        // A stream that decrypts is to be emptied: its socket does not know of what it holds.
        while end.is_none() && taken < TURN_BYTES_MAX + PILOT_MESSAGE_BYTES_MAX {
            match receive(&mut *self.stream, &mut piece) {
                Ok(None) => break,
                Ok(Some(0)) => end = Some("its connection ended".to_owned()),
                Ok(Some(count)) => {
                    self.inbox.extend(&piece[..count]);
                    taken += count;
                }
                Err(error) => end = Some(error.to_string()),
            }
        }
        let mut messages = Vec::new();
        loop {
            match take_pilot(&mut self.inbox, PILOT_MESSAGE_BYTES_MAX) {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => return (messages, end),
                Err(error) => return (messages, Some(error.to_string())),
            }
        }
    }
}

/// An end as it is reported here.
pub(super) fn exited(told: PilotExited, now: Instant) -> Exited {
    let tail = |pieces: Vec<PilotPiece>| {
        let mut tail = OutputTail::new(TAIL_LINES_MAX, TAIL_BYTES_MAX);
        for piece in pieces {
            let age = Duration::from_micros(piece.age_us);
            tail.push(
                Instant(now.0.saturating_sub(u64::try_from(age.as_nanos()).unwrap_or(u64::MAX))),
                &piece.bytes,
            );
        }
        tail
    };
    let how = match (told.status, told.signal) {
        (Some(status), _) => ExitHow::Status(status),
        (None, Some(number)) => ExitHow::of_signal(number, told.core),
        (None, None) => ExitHow::Lost,
    };
    let executable = ExecutableId(told.executable);
    let was_stopped = told.was_stopped;
    Exited {
        executable,
        how,
        rank: told.rank,
        was_stopped,
        stderr: tail(told.stderr),
        stdout: tail(told.stdout),
    }
}
