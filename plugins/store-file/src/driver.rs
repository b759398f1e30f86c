//! The driver: takes all requests that wait, and gives them to the file as one batch. The only part
//! that waits.

mod file;
mod folder;

use std::collections::BTreeSet;
use std::time::Duration;

use farcall_base::{Error, ErrorKind, Result};
use farcall_services::mailbox::{NoMessage, Park, Receiver, Reply};
use farcall_services::store::{
    Change, Changed, Entry, Request, Version, Watches, check_key, check_lease, check_prefix,
    check_write,
};
use farcall_wire::Failure;

use crate::options::Settings;
use crate::state::State;
use file::{Answer, StoreFile, Work, guarded};

/// Bytes of values with which a batch is large enough: the memory of a commit is bounded.
const BATCH_BYTES: usize = 16 << 20;
/// Time after which a watch whose mailbox was full is told again.
const TELL_AGAIN: Duration = Duration::from_millis(50);
/// Keys of damaged values that are remembered, so that each is reported once.
const REPORTED_MAX: usize = 1000;

/// What arrives.
pub enum Message {
    Asked(Request),
    Stop,
}

/// Where the answers of a batch go.
enum Asker {
    Write(Reply<Option<Version>>),
    Read(Reply<Vec<Entry>>),
}

impl Asker {
    fn refuse(self, error: Error) {
        match self {
            Asker::Write(reply) => reply.answer(Err(error)),
            Asker::Read(reply) => reply.answer(Err(error)),
        }
    }
}

/// The driver.
pub struct Driver {
    settings: Settings,
    inbox: Receiver<Message, Park>,
    notice: fn(&str),
    state: State,
    /// Open since the first request that was not only a look at what is not there.
    file: Option<StoreFile>,
    watches: Watches,
    reported: BTreeSet<String>,
}

impl Driver {
    pub fn new(settings: Settings, inbox: Receiver<Message, Park>, notice: fn(&str)) -> Driver {
        Driver {
            state: State::new(settings.bytes_max),
            settings,
            inbox,
            notice,
            file: None,
            watches: Watches::default(),
            reported: BTreeSet::new(),
        }
    }

    /// Runs until told to stop.
    pub fn run(mut self) -> Result<()> {
        loop {
            let time = if self.watches.is_owing() { TELL_AGAIN } else { Duration::MAX };
            let mut next = match self.inbox.receive_timeout(time) {
                Err(NoMessage::Closed) => return Ok(()),
                other => other.ok(),
            };
            let mut batch = Vec::new();
            let mut bytes = 0;
            let mut is_over = false;
            while let Some(message) = next {
                match message {
                    Message::Stop => is_over = true,
                    Message::Asked(request) => bytes += self.take(request, &mut batch),
                }
                let has_room = bytes < BATCH_BYTES && !is_over;
                next = if has_room { self.inbox.try_receive().ok() } else { None };
            }
            if !batch.is_empty() {
                self.serve(batch);
            }
            self.watches.settle();
            if is_over {
                return Ok(());
            }
        }
    }

    /// Answers what needs no file, and puts the rest into the batch. Gives the bytes of its values.
    fn take(&mut self, request: Request, batch: &mut Vec<(Work, Asker)>) -> usize {
        match request {
            Request::Write { conditions, changes, reply } => {
                match check_write(&conditions, &changes) {
                    Ok(()) => {
                        let bytes = changes.iter().map(bytes_of).sum();
                        batch.push((Work::Write { conditions, changes }, Asker::Write(reply)));
                        return bytes;
                    }
                    Err(error) => reply.answer(Err(error)),
                }
            }
            Request::Read { prefix, after, limit, reply } => {
                let checked =
                    check_prefix(&prefix).and_then(|()| after.as_deref().map_or(Ok(()), check_key));
                match checked {
                    Ok(()) => {
                        batch.push((Work::Read { prefix, after, limit }, Asker::Read(reply)));
                    }
                    Err(error) => reply.answer(Err(error)),
                }
            }
            Request::Lease { time, reply } => {
                reply.answer(check_lease(time).map(|()| self.state.lease()));
            }
            Request::Watch { prefix, port } if self.watches.count() < self.settings.watches_max => {
                self.watches.add(prefix, port);
            }
            Request::Watch { prefix, .. } => (self.notice)(&format!(
                "the store has too many watches, and refuses one of \"{prefix}\"; raise watches_max \
                of store-file in farcall.toml"
            )),
        }
        0
    }

    /// Does all of a batch, or nothing of it.
    fn serve(&mut self, batch: Vec<(Work, Asker)>) {
        let (work, askers): (Vec<Work>, Vec<Asker>) = batch.into_iter().unzip();
        let before = self.state.numbers;
        let mut told = Vec::new();
        match self.work(work, &mut told) {
            Ok(answers) => {
                for (answer, asker) in answers.into_iter().zip(askers) {
                    self.answer(answer, asker);
                }
                told.iter().for_each(|changed| self.watches.tell(changed));
            }
            Err(error) => {
                self.state.numbers = before;
                // It is opened again, and read as it is: what went wrong may have left more than we
                // know.
                let file = self.file.take();
                let _ = guarded(|| {
                    drop(file);
                    Ok(())
                });
                self.report(&error);
                let failure = Failure::from(&error);
                askers.into_iter().for_each(|asker| asker.refuse(failure.clone().into()));
            }
        }
    }

    fn work(&mut self, work: Vec<Work>, told: &mut Vec<Changed>) -> Result<Vec<Answer>> {
        let is_read = work.iter().all(|one| matches!(one, Work::Read { .. }));
        let file = match &mut self.file {
            Some(file) => file,
            // To look for what was kept makes no file.
            None if is_read && !folder::has_table(&self.settings) => {
                return Ok(work.iter().map(|_| Answer::Read(Ok(Vec::new()))).collect());
            }
            None => {
                let opened = StoreFile::open(&self.settings);
                let (file, numbers) = opened.inspect_err(|error| self.report_once(error))?;
                self.state.numbers = numbers;
                self.file.insert(file)
            }
        };
        file.serve(&mut self.state, work, told)
    }

    fn answer(&mut self, answer: Answer, asker: Asker) {
        match (answer, asker) {
            (Answer::Write(answer), Asker::Write(reply)) => reply.answer(answer),
            (Answer::Read(answer), Asker::Read(reply)) => {
                answer.as_ref().err().into_iter().for_each(|error| self.report(error));
                reply.answer(answer);
            }
            (_, asker) => asker.refuse(Error::internal("ask the store", "an answer is another's")),
        }
    }

    /// Says once for each value that it is damaged.
    fn report(&mut self, error: &Error) {
        if error.kind() == ErrorKind::Damaged {
            self.report_once(error);
        }
    }

    fn report_once(&mut self, error: &Error) {
        let text = error.to_string();
        if self.reported.len() < REPORTED_MAX && self.reported.insert(text.clone()) {
            (self.notice)(&text);
        }
    }
}

fn bytes_of(change: &Change) -> usize {
    if let Change::Put { value, .. } = change { value.len() } else { 0 }
}
