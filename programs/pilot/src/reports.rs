//! What a pilot tells the server of its executables.

use std::time::Duration;

use farcall_base::{Clock, ExecutableId};
use farcall_services::mailbox::NoMessage;
use farcall_services::spawner::{ExitHow, Exited, Output, OutputTail, Said};
use farcall_wire::{Failure, FromPilot, PilotExited, PilotPiece};

use super::{News, Pilot};

impl Pilot {
    pub(super) fn take_news(&mut self) {
        while !self.is_crowded() {
            match self.news.try_receive() {
                Ok(News::Started(executable, Ok(started))) => self.carry(executable, started),
                Ok(News::Started(executable, Err(error))) => {
                    self.running.remove(&executable);
                    self.tell(&FromPilot::Failed {
                        executable: executable.0,
                        failure: Failure::from(&error),
                    });
                }
                Ok(News::Carried(executable, outcome)) => self.carried(executable, outcome),
                Ok(News::Exited(Ok(exited))) => self.exited(exited),
                Ok(News::Exited(Err(_))) => self.ends = true,
                Ok(News::Said(said)) => self.said(said),
                Ok(News::Listening(executable, outcome)) => {
                    let failure = outcome.err().map(|error| Failure::from(&error));
                    self.tell(&FromPilot::Listening { executable: executable.0, failure });
                }
                Ok(News::Hushed(executable, outcome)) => {
                    let failure = outcome.err().map(|error| Failure::from(&error));
                    self.tell(&FromPilot::Hushed { executable: executable.0, failure });
                }
                Err(NoMessage::Empty | NoMessage::Closed) => return,
            }
        }
    }

    pub(super) fn exited(&mut self, exited: Exited) {
        let executable = exited.executable;
        if let Some(running) = self.running.get_mut(&executable) {
            running.exited = Some(exited);
        }
        self.report_if_over(executable);
    }

    /// The last words of an executable come before the report of its end.
    pub(super) fn report_if_over(&mut self, executable: ExecutableId) {
        let over = self
            .running
            .get(&executable)
            .is_some_and(|running| running.carried && running.exited.is_some());
        let exited = if over {
            self.running.remove(&executable).and_then(|running| running.exited)
        } else {
            None
        };
        let Some(exited) = exited else { return };
        let now = self.clock.now();
        let pieces = |tail: &OutputTail| {
            let piece = |(age, bytes): (Duration, Vec<u8>)| PilotPiece {
                age_us: u64::try_from(age.as_micros()).unwrap_or(u64::MAX),
                bytes,
            };
            tail.aged(now).into_iter().map(piece).collect()
        };
        let (status, signal, core) = match exited.how {
            ExitHow::Status(status) => (Some(status), None, false),
            ExitHow::Signal { number, core, .. } => (None, Some(number), core),
            ExitHow::Lost => (None, None, false),
        };
        self.tell(&FromPilot::Exited(PilotExited {
            executable: executable.0,
            status,
            signal,
            core,
            was_stopped: exited.was_stopped,
            stdout: pieces(&exited.stdout),
            stderr: pieces(&exited.stderr),
            rank: exited.rank,
        }));
    }

    pub(super) fn said(&mut self, said: Said) {
        let output = match said.output {
            Output::Stdout => 1,
            Output::Stderr => 2,
        };
        let executable = said.executable.0;
        let bytes = said.bytes;
        let lost = said.lost;
        self.tell(&FromPilot::Said { executable, output, bytes, lost });
    }
}
