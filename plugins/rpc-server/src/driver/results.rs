//! The results folder's thread: nobody else waits for the disk.

mod accepted;
mod file;
mod folder;
mod restore;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use farcall_base::{CallId, ChannelId, ConnectionId, Error, ErrorKind, ExecutableId, Result};
use farcall_call::{Place, Side};
use farcall_link::memory::{MemorySource, Region, Space};
use farcall_link::packing::Packing;
use farcall_services::mailbox::Reply;
use farcall_wire::{Argument, CallResult, Resume};

use self::accepted::AcceptedHead;
use self::file::{ArrayReader, Head};
use self::folder::{Folder, Stage, since_1970};
use self::restore::Found;
use super::{Driver, Message};
use crate::Options;
use crate::state::{Action, CallKey, Finished, OwnMemory, ResultsOrder, Written};
use crate::step::{ReadBack, ReadMemory, SlotMemory, Surroundings, result_memory};

/// Alignment of arrays that are read.
const ALIGNMENT: u64 = 64;
/// Time after which a folder that could not be opened is tried again: another server may have had
/// it, which ends now.
const REOPEN_AFTER: Duration = Duration::from_secs(2);

/// What was read of a call.
pub struct Read {
    resume: Resume,
    result: CallResult,
    /// The region that its arrays lie in, if it has any.
    region: Option<Arc<dyn Region>>,
    /// Each array's offset and length in it.
    places: BTreeMap<u16, (u64, u64)>,
}

/// What a message from the thread says.
pub enum ResultsNews {
    /// [`crate::step::Server::recorded`].
    Recorded(CallId, Result<()>),
    /// [`crate::step::Server::begun`].
    Begun(CallId, ExecutableId, Result<()>),
    /// [`crate::step::Server::loaded_arguments`].
    Loaded(CallKey, Result<()>),
    /// [`crate::step::Server::erased`].
    Erased((ConnectionId, ChannelId), Result<()>),
    /// [`crate::step::Server::stored`].
    Stored(CallId, Result<u64>),
    /// [`crate::step::Server::read_back`].
    Fetched(CallId, (ConnectionId, ChannelId), Result<Box<Read>>),
}

enum Job {
    Record(Box<AcceptedHead>, Vec<Packing>, Reply<()>),
    Begin(CallId, Reply<()>),
    Trim(CallId),
    WaitAgain(CallId),
    Load(CallId, Vec<Packing>, Reply<()>),
    Store(CallId, Box<Head>, Vec<Packing>, Reply<u64>),
    Fetch(CallId, bool, Arc<dyn MemorySource>, Reply<Box<Read>>),
    Erase(CallId, Option<Reply<()>>),
}

/// The thread. What it was told is done when this is dropped.
pub struct Results {
    /// As many jobs wait as calls are kept, which is bounded; none has arrays of its own.
    sender: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Results {
    fn drop(&mut self) {
        drop(self.sender.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Results {
    /// Starts the thread, with what the folder has from an earlier server, and what is wrong there.
    /// A folder that is not there is made when it is needed.
    ///
    /// # Errors
    /// Why nothing can be kept there.
    pub fn open(path: &Path) -> Result<(Results, Found)> {
        let (mut folder, mut found) = (None, Found::default());
        if path.exists() {
            let mut opened = Folder::open(path)?;
            found = restore::restore(&mut opened);
            folder = Some(opened);
        }
        let (sender, receiver) = channel();
        let mut worker = Worker { path: path.to_owned(), folder };
        let thread = std::thread::Builder::new()
            .name("farcall-results".into())
            .spawn(move || worker.run(&receiver));
        let thread = thread.map_err(|error| Error::system("keep results", error))?;
        Ok((Results { sender: Some(sender), thread: Some(thread) }, found))
    }

    fn tell(&self, job: Job) {
        // The thread ends with the sender: a job that is lost answers its reply.
        if let Some(sender) = &self.sender {
            let _ = sender.send(job);
        }
    }
}

/// The folder of the manifest, or the user's own for a server that listens there. `None`: results
/// are kept nowhere.
pub fn folder_of(options: &Options) -> Option<PathBuf> {
    match options.results_dir.as_str() {
        "off" => None,
        "" => {
            let named =
                |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
            let state = named("XDG_STATE_HOME")
                .or_else(|| Some(named("HOME")?.join(".local").join("state")))?;
            Some(state.join("farcall").join("results").join(server_name(&options.listen)))
        }
        path => Some(path.into()),
    }
}

/// What tells a user's servers from each other, as a file's name.
fn server_name(listen: &[String]) -> String {
    if listen.is_empty() {
        return "default".to_owned();
    }
    let all = listen.join(" ");
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    let short: String =
        all.chars().rev().take(40).collect::<Vec<_>>().into_iter().rev().map(plain).collect();
    format!("{short}-{:016x}", xxhash_rust::xxh3::xxh3_64(all.as_bytes()))
}

struct Worker {
    path: PathBuf,
    folder: Option<Folder>,
}

impl Worker {
    fn run(&mut self, jobs: &Receiver<Job>) {
        while let Ok(job) = jobs.recv() {
            match job {
                Job::Record(head, mut arrays, reply) => {
                    reply
                        .answer(self.folder().and_then(|folder| folder.accept(*head, &mut arrays)));
                }
                Job::Begin(id, reply) => {
                    reply.answer(self.folder().and_then(|folder| folder.begin(id)))
                }
                Job::Trim(id) => self.folder.iter().for_each(|folder| folder.trim(id)),
                // Nobody is there any more who could be told.
                Job::WaitAgain(id) => {
                    self.folder.iter().for_each(|folder| drop(folder.wait_again(id)))
                }
                Job::Load(id, arrays, reply) => {
                    reply.answer(self.folder().and_then(|folder| load(folder, id, arrays)));
                }
                Job::Store(id, head, mut arrays, reply) => {
                    reply.answer(
                        self.folder().and_then(|folder| folder.store(id, &head, &mut arrays)),
                    );
                }
                Job::Fetch(id, describe, source, reply) => {
                    reply.answer(
                        self.folder().and_then(|folder| read(folder, id, describe, &*source)),
                    );
                }
                Job::Erase(id, reply) => {
                    let erased = self.folder.as_ref().map_or(Ok(()), |folder| folder.erase(id));
                    if let Some(reply) = reply {
                        reply.answer(erased);
                    }
                }
            }
        }
    }

    /// The folder; a new one where somebody removed it.
    fn folder(&mut self) -> Result<&mut Folder> {
        if self.folder.as_ref().is_some_and(|folder| !folder.is_in_place()) {
            self.folder = None;
        }
        if self.folder.is_none() {
            self.folder = Some(Folder::open(&self.path)?);
        }
        self.folder
            .as_mut()
            .ok_or_else(|| Error::internal("keep a result", "the folder is not open"))
    }
}

/// Reads the arrays among the arguments of a call that waits into their places.
fn load(folder: &Folder, id: CallId, arrays: Vec<Packing>) -> Result<()> {
    if arrays.is_empty() {
        return Ok(());
    }
    let (mut file, head, left) = folder.read_accepted(id, Stage::Waits)?;
    head.check_arrays(left)?;
    let mut reader = ArrayReader::new();
    for mut array in arrays {
        while array.left() > 0 {
            let mut space = array.space(usize::MAX)?;
            let length = space.length();
            reader.read(&mut file, space.bytes())?;
            array.arrived(length)?;
        }
    }
    reader.check(&mut file)
}

fn read(
    folder: &Folder,
    id: CallId,
    describe: bool,
    source: &dyn MemorySource,
) -> Result<Box<Read>> {
    read_file(folder, id, describe, source)
        .map_err(|error| error.with("file", folder.place(id, Stage::Over).display()))
}

fn read_file(
    folder: &Folder,
    id: CallId,
    describe: bool,
    source: &dyn MemorySource,
) -> Result<Box<Read>> {
    let (mut file, head) = folder.read(id)?;
    let mut places = BTreeMap::new();
    let mut end: u64 = 0;
    for (slot, bytes) in head.arrays() {
        let offset = end.checked_next_multiple_of(ALIGNMENT).unwrap_or(u64::MAX);
        places.insert(slot, (offset, bytes));
        end = offset.saturating_add(bytes);
    }
    let mut region = None;
    if !places.is_empty() {
        let bytes = usize::try_from(end).map_err(|_| {
            Error::new(ErrorKind::LimitExceeded, "read a result", "it exceeds the address space")
        })?;
        let memory = source.allocate(bytes)?;
        let mut reader = ArrayReader::new();
        for (offset, bytes) in places.values() {
            reader
                .read(&mut file, Space::of(&*memory, *offset as usize, *bytes as usize)?.bytes())?;
        }
        reader.check(&mut file)?;
        region = Some(memory);
    }
    let none = || Error::internal("read a result", "its call is open");
    let resume = if describe { head.resume } else { Resume::new(id) };
    Ok(Box::new(Read { resume, result: head.result.ok_or_else(none)?, region, places }))
}

impl Driver {
    /// Opens the results folder. Where that cannot be, calls that are to survive the server are
    /// refused, the log says why, and it is tried again.
    pub(super) fn open_results(&mut self) {
        let Some(path) = folder_of(&self.options) else { return };
        let now = self.world.now();
        let is_first = self.results_again.is_none();
        match Results::open(&path) {
            Ok((results, found)) => {
                (self.results, self.results_again) = (Some(results), None);
                self.server.has_folder(true);
                self.server.restore(found.restored, found.unreadable, now);
                found.wrong.iter().for_each(|error| self.complain(error));
            }
            Err(error) => {
                self.results_again = Some(now + REOPEN_AFTER);
                self.server.has_folder(false);
                if is_first {
                    self.complain(&error);
                }
            }
        }
    }

    /// Tries a folder again that could not be opened.
    pub(super) fn look_for_results(&mut self) {
        if self.results_again.is_some_and(|at| at <= self.world.now()) {
            self.open_results();
        }
    }

    fn complain(&self, error: &Error) {
        self.journal.results(error);
    }

    /// What the server wants done in the results folder.
    pub(super) fn order_results(&mut self, order: ResultsOrder) {
        match order {
            ResultsOrder::Record(accepted, key) => {
                let (id, has_begun) = (accepted.open.call, accepted.has_begun);
                let arrays = if has_begun { Ok(Vec::new()) } else { self.arguments_of(key) };
                let reply = self
                    .sender
                    .reply(move |done| Message::Results(ResultsNews::Recorded(id, done)));
                match arrays.and_then(|arrays| Ok((arrays, reply?))) {
                    Ok((arrays, reply)) => {
                        self.tell_results(Job::Record(
                            Box::new(AcceptedHead::new(*accepted)),
                            arrays,
                            reply,
                        ));
                    }
                    Err(error) => self.server.recorded(&mut self.world, id, Err(error)),
                }
            }
            ResultsOrder::Begin(id, executable) => {
                match self
                    .sender
                    .reply(move |done| Message::Results(ResultsNews::Begun(id, executable, done)))
                {
                    Ok(reply) => self.tell_results(Job::Begin(id, reply)),
                    Err(error) => self.server.begun(&mut self.world, id, executable, Err(error)),
                }
            }
            ResultsOrder::Load(id, key) => {
                let reply =
                    self.sender.reply(move |done| Message::Results(ResultsNews::Loaded(key, done)));
                match self.arguments_of(key).and_then(|arrays| Ok((arrays, reply?))) {
                    Ok((arrays, reply)) => self.tell_results(Job::Load(id, arrays, reply)),
                    Err(error) => self.server.loaded_arguments(&mut self.world, key, Err(error)),
                }
            }
            ResultsOrder::Store { written, finished, left } => self.store(*written, finished, left),
            ResultsOrder::Fetch { call, principal, client, describe } => {
                let source = self.world.source_of(&principal);
                match self
                    .sender
                    .reply(move |read| Message::Results(ResultsNews::Fetched(call, client, read)))
                {
                    Ok(reply) => self.tell_results(Job::Fetch(call, describe, source, reply)),
                    Err(error) => self.server.read_back(&mut self.world, call, client, Err(error)),
                }
            }
            ResultsOrder::Erase(id, None) => self.tell_results(Job::Erase(id, None)),
            ResultsOrder::Erase(id, Some(client)) => {
                match self
                    .sender
                    .reply(move |done| Message::Results(ResultsNews::Erased(client, done)))
                {
                    Ok(reply) => self.tell_results(Job::Erase(id, Some(reply))),
                    Err(error) => self.server.erased(client.0, client.1, Err(error)),
                }
            }
        }
    }

    fn store(&mut self, written: Written, finished: Arc<Finished>, left: Duration) {
        let id = finished.id;
        let head = head_of(written, &finished.result, left);
        let reply = self.sender.reply(move |done| Message::Results(ResultsNews::Stored(id, done)));
        match self.arrays_of(&finished).and_then(|arrays| Ok((arrays, reply?))) {
            Ok((arrays, reply)) => self.tell_results(Job::Store(id, head, arrays, reply)),
            Err(error) => self.stored(id, Err(error)),
        }
        self.server.stores(&mut self.world, finished);
    }

    /// The server ends: what it decided is written down, and what it has not begun is as if nobody
    /// had thought of it.
    pub(super) fn end_results(&mut self) {
        while let Some(action) = self.server.poll_action() {
            if let Action::Results(order) = action {
                self.order_results(order);
            }
        }
        self.server
            .about_to_begin()
            .into_iter()
            .for_each(|id| self.tell_results(Job::WaitAgain(id)));
    }

    fn tell_results(&self, job: Job) {
        if let Some(results) = &self.results {
            results.tell(job);
        }
    }

    fn stored(&mut self, id: CallId, outcome: Result<u64>) {
        let error =
            outcome.as_ref().err().map(|error| Error::from(farcall_wire::Failure::from(error)));
        let is_news = self.server.stored(&mut self.world, id, outcome);
        if let Some(error) = error.filter(|_| is_news) {
            self.complain(&error.with("call", id));
        }
    }

    /// The arrays among the arguments of a call, one after the other.
    fn arguments_of(&self, key: CallKey) -> Result<Vec<Packing>> {
        self.server.argument_memory(key).iter().map(|place| self.packing(place)).collect()
    }

    fn packing(&self, place: &SlotMemory) -> Result<Packing> {
        let gone = || Error::internal("keep a result", "its memory has been released");
        Packing::new(
            self.world.region(place.memory).ok_or_else(gone)?,
            place.base as usize,
            &place.array,
        )
    }

    /// The arrays of an outcome, to be written one after the other.
    fn arrays_of(&self, finished: &Finished) -> Result<Vec<Packing>> {
        let results = finished.result.results.iter().enumerate();
        let blocks =
            results.filter(|(_, argument)| matches!(argument, Argument::Blocks(Some(1..))));
        let gone = || Error::internal("keep a result", "its memory has been released");
        blocks
            .map(|(slot, _)| {
                let place = Place {
                    channel: ChannelId(0),
                    side: Side::Results,
                    slot: slot as u16,
                    offset: 0,
                };
                self.packing(&result_memory(finished, &place).ok_or_else(gone)?)
            })
            .collect()
    }

    /// What the results folder's thread has done.
    pub(super) fn results_news(&mut self, news: ResultsNews) {
        match news {
            ResultsNews::Recorded(id, outcome) => {
                self.server.recorded(&mut self.world, id, outcome)
            }
            ResultsNews::Stored(id, outcome) => self.stored(id, outcome),
            ResultsNews::Begun(id, executable, outcome) => {
                let trims = outcome.is_ok();
                self.server.begun(&mut self.world, id, executable, outcome);
                if trims && self.server.has_begun(&id) {
                    self.tell_results(Job::Trim(id));
                }
            }
            ResultsNews::Loaded(key, outcome) => {
                if let Err(error) = &outcome {
                    self.complain(error);
                }
                self.server.loaded_arguments(&mut self.world, key, outcome);
            }
            ResultsNews::Erased((connection, channel), outcome) => {
                self.server.erased(connection, channel, outcome)
            }
            ResultsNews::Fetched(id, client, read) => {
                if let Err(error) = &read {
                    self.complain(error);
                }
                let fetched = read.map(|read| self.fetched_of(*read));
                self.server.read_back(&mut self.world, id, client, fetched);
            }
        }
    }

    fn fetched_of(&mut self, read: Read) -> ReadBack {
        let places = read.places;
        let memory = read.region.map(|region| {
            let (identity, bytes) = (region.identity(), region.bytes() as u64);
            let offsets = places.iter().map(|(slot, (offset, _))| (*slot, *offset)).collect();
            let lengths = places.iter().map(|(slot, (_, length))| (*slot, *length)).collect();
            let memory = OwnMemory { id: self.world.keep(region), identity, bytes, offsets };
            ReadMemory { memory, bytes: lengths }
        });
        ReadBack { resume: read.resume, result: read.result, memory }
    }
}

fn head_of(written: Written, result: &CallResult, left: Duration) -> Box<Head> {
    let Written { resume, routine, principal, keep } = written;
    let expires = Some(since_1970().saturating_add(left));
    Box::new(Head { expires, keep, resume, result: Some(result.clone()), principal, routine })
}
