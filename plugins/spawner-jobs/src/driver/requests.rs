//! What arrives in the mailbox, and what those who asked are told.

use std::collections::VecDeque;

use farcall_base::{Error, ErrorKind, ExecutableId};
use farcall_services::jobs;
use farcall_services::mailbox::{NoMessage, Receiver, Reply};
use farcall_services::spawner::{
    ExecutableLimits, Exited, Line, Listener, Request, Start, Started,
};
use farcall_wire::ToPilot;

use super::{Driver, Message};
use crate::step::Event;

/// The plugin's mailbox.
pub(super) struct Mailbox {
    pub(super) receiver: Receiver<Message>,
    pub(super) is_closed: bool,
}

/// Messages taken before others have their turn.
pub(super) const MESSAGES_PER_TURN: usize = 256;

/// Who is told of an executable.
pub(super) struct Reports {
    pub(super) started: Option<Reply<Started>>,
    pub(super) exited: Reply<Exited>,
    pub(super) listener: Option<Listener>,
    pub(super) listening: VecDeque<Reply<()>>,
    pub(super) hushing: VecDeque<Reply<()>>,
}

impl Driver {
    pub(super) fn collect_messages(&mut self) {
        for _ in 0..MESSAGES_PER_TURN {
            match self.mailbox.receiver.try_receive() {
                Ok(Message::Spawner(request)) => self.request(request),
                Ok(Message::Jobs(jobs::Request::Watch(watcher))) => {
                    self.watcher = Some(watcher);
                    self.state.changed = true;
                }
                Ok(Message::Jobs(jobs::Request::Cancel { number, done })) => {
                    let known = self.state.jobs.contains_key(&number);
                    let unknown = || {
                        Error::new(
                            ErrorKind::NotFound,
                            "end a job",
                            format!("there is no job {number}"),
                        )
                    };
                    self.events.push_back(Event::Cancel { number });
                    done.answer(if known {
                        Ok(())
                    } else {
                        Err(unknown().fix("farcall jobs lists them"))
                    });
                }
                Ok(Message::Stop) => self.events.push_back(Event::Shutdown),
                Err(NoMessage::Empty) => return,
                Err(NoMessage::Closed) => {
                    self.mailbox.is_closed = true;
                    self.events.push_back(Event::Shutdown);
                    return;
                }
            }
        }
    }

    pub(super) fn request(&mut self, request: Request) {
        match request {
            Request::Start(start) => {
                let Start { executable, module, image, array, started, exited } = *start;
                if self.reports.contains_key(&executable) {
                    exited.withdraw();
                    return started
                        .answer(Err(Error::internal("start an executable", "it already exists")));
                }
                let (listening, hushing) = Default::default();
                let reports =
                    Reports { started: Some(started), exited, listener: None, listening, hushing };
                self.reports.insert(executable, reports);
                self.events.push_back(Event::Start { executable, module, image, array });
            }
            Request::Stop { executable, grace } => {
                self.events.push_back(Event::Stop { executable, grace })
            }
            Request::Listen { executable, listener, done } => {
                let asked =
                    self.tell_pilot_of(executable, &ToPilot::Listen { executable: executable.0 });
                match self.reports.get_mut(&executable).filter(|_| asked) {
                    Some(reports) => {
                        reports.listener = Some(Listener::new(executable, listener));
                        reports.listening.push_back(done);
                    }
                    None => done.answer(Ok(())),
                }
            }
            Request::Hush { executable, done } => {
                let asked =
                    self.tell_pilot_of(executable, &ToPilot::Hush { executable: executable.0 });
                match self.reports.get_mut(&executable).filter(|_| asked) {
                    Some(reports) => reports.hushing.push_back(done),
                    None => done.answer(Ok(())),
                }
            }
        }
    }

    pub(super) fn report_started(&mut self, executable: ExecutableId) {
        let Some((stream, one)) = self.pilots.executables.remove(&executable) else { return };
        let Some(reports) = self.reports.get_mut(&executable) else { return };
        let limits = ExecutableLimits {
            memory_max: one.memory_max.map(farcall_base::Bytes),
            call_seconds_max: one.call_seconds_max,
            threads_are_free: false,
            takes_calls_until: self.state.takes_calls_until(executable),
        };
        let started = Started { executable, line: Line::Stream(stream), pid: one.pid, limits };
        if let Some(reply) = reports.started.take() {
            reply.answer(Ok(started));
        }
    }
}
