//! The results folder's thread: nobody else waits for the disk.

mod file;
mod folder;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use farcall_base::{CallId, ChannelId, ConnectionId, Error, ErrorKind, Result};
use farcall_call::{Place, Side};
use farcall_interfaces::mailbox::Reply;
use farcall_interfaces::memory::{MemorySource, Region, Space};
use farcall_interfaces::packing::Packing;
use farcall_wire::{Argument, CallResult, Resume};

use self::file::{ArrayReader, Head};
use self::folder::{Folder, since_1970};
use super::{Driver, Message};
use crate::Options;
use crate::state::{Finished, OwnMemory, ResultsOrder, Written};
use crate::step::{ReadBack, ReadMemory, Restored, Surroundings, result_memory};

/// Alignment of arrays that are read.
const ALIGNMENT: u64 = 64;

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
    /// [`crate::step::Server::stored`].
    Stored(CallId, Result<u64>),
    /// [`crate::step::Server::read_back`].
    Fetched(CallId, (ConnectionId, ChannelId), Result<Box<Read>>),
}

enum Job {
    Record(CallId, Box<Head>, Reply<()>),
    Store(CallId, Box<Head>, Vec<Packing>, Reply<u64>),
    Fetch(CallId, bool, Arc<dyn MemorySource>, Reply<Box<Read>>),
    Erase(CallId),
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
    /// Starts the thread, with what the folder has from an earlier server, and what is wrong there. A folder that is not
    /// there is made when it is needed.
    ///
    /// # Errors
    /// Why nothing can be kept there.
    pub fn open(path: &Path, calls_max: usize) -> Result<(Results, Vec<Restored>, Vec<Error>)> {
        let (mut folder, mut restored, mut wrong) = (None, Vec::new(), Vec::new());
        if path.exists() {
            let opened = Folder::open(path)?;
            (restored, wrong) = opened.restore(calls_max);
            folder = Some(opened);
        }
        let (sender, receiver) = channel();
        let mut worker = Worker { path: path.to_owned(), folder };
        let thread = std::thread::Builder::new().name("farcall-results".into()).spawn(move || worker.run(&receiver));
        let thread = thread.map_err(|error| Error::system("keep results", error))?;
        Ok((Results { sender: Some(sender), thread: Some(thread) }, restored, wrong))
    }

    fn tell(&self, job: Job) {
        // The thread ends with the sender: a job that is lost answers its reply.
        if let Some(sender) = &self.sender {
            let _ = sender.send(job);
        }
    }
}

/// The folder of the manifest, or the user's own for a server that listens there. `None`: results are kept nowhere.
pub fn folder_of(options: &Options) -> Option<PathBuf> {
    match options.results_dir.as_str() {
        "off" => None,
        "" => {
            let named = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
            let state = named("XDG_STATE_HOME").or_else(|| Some(named("HOME")?.join(".local").join("state")))?;
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
    let short: String = all.chars().rev().take(40).collect::<Vec<_>>().into_iter().rev().map(plain).collect();
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
                Job::Record(id, head, reply) => {
                    let written = self.folder().and_then(|folder| folder.write(id, &head, &mut []));
                    reply.answer(written.map(|_| ()));
                }
                Job::Store(id, head, mut arrays, reply) => {
                    reply.answer(self.folder().and_then(|folder| folder.write(id, &head, &mut arrays)));
                }
                Job::Fetch(id, describe, source, reply) => {
                    reply.answer(self.folder().and_then(|folder| read(folder, id, describe, &*source)));
                }
                Job::Erase(id) => {
                    if let Some(folder) = &self.folder {
                        folder.erase(id);
                    }
                }
            }
        }
    }

    fn folder(&mut self) -> Result<&Folder> {
        if self.folder.is_none() {
            self.folder = Some(Folder::open(&self.path)?);
        }
        self.folder.as_ref().ok_or_else(|| Error::internal("keep a result", "the folder is not open"))
    }
}

fn read(folder: &Folder, id: CallId, describe: bool, source: &dyn MemorySource) -> Result<Box<Read>> {
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
        let bytes = usize::try_from(end)
            .map_err(|_| Error::new(ErrorKind::LimitExceeded, "read a result", "it exceeds the address space"))?;
        let memory = source.allocate(bytes)?;
        let mut reader = ArrayReader::new();
        for (offset, bytes) in places.values() {
            reader.read(&mut file, Space::of(&*memory, *offset as usize, *bytes as usize)?.bytes())?;
        }
        reader.check(&mut file)?;
        region = Some(memory);
    }
    let none = || Error::internal("read a result", "its call is open");
    let resume = if describe { head.resume } else { Resume::new(id) };
    Ok(Box::new(Read { resume, result: head.result.ok_or_else(none)?, region, places }))
}

impl Driver {
    /// Opens the results folder. Where that cannot be, calls that are to survive the server are refused, and the log says
    /// why.
    pub(super) fn open_results(&mut self) {
        let Some(path) = folder_of(&self.options) else { return };
        match Results::open(&path, self.options.results_max) {
            Ok((results, restored, wrong)) => {
                self.results = Some(results);
                let now = self.world.now();
                self.server.restore(restored, now);
                wrong.iter().for_each(|error| self.complain(error));
            }
            Err(error) => {
                self.server.has_no_folder();
                self.complain(&error);
            }
        }
    }

    fn complain(&self, error: &Error) {
        if let Some(log) = &self.log {
            log.stranger(error);
        }
    }

    /// What the server wants done in the results folder.
    pub(super) fn order_results(&mut self, order: ResultsOrder) {
        match order {
            ResultsOrder::Record(written) => {
                let (id, head) = (written.resume.call, head_of(*written, None));
                match self.sender.reply(move |done| Message::Results(ResultsNews::Recorded(id, done))) {
                    Ok(reply) => self.tell_results(Job::Record(id, head, reply)),
                    Err(error) => self.server.recorded(&mut self.world, id, Err(error)),
                }
            }
            ResultsOrder::Store(written, finished) => {
                let id = finished.id;
                let arrays = match self.arrays_of(&finished) {
                    Ok(arrays) => arrays,
                    Err(error) => return self.stored(id, Err(error)),
                };
                let head = head_of(*written, Some(&finished.result));
                match self.sender.reply(move |done| Message::Results(ResultsNews::Stored(id, done))) {
                    Ok(reply) => self.tell_results(Job::Store(id, head, arrays, reply)),
                    Err(error) => self.stored(id, Err(error)),
                }
                self.server.stores(&mut self.world, finished);
            }
            ResultsOrder::Fetch { call, principal, client, describe } => {
                let source = self.world.source_of(&principal);
                match self.sender.reply(move |read| Message::Results(ResultsNews::Fetched(call, client, read))) {
                    Ok(reply) => self.tell_results(Job::Fetch(call, describe, source, reply)),
                    Err(error) => self.server.read_back(&mut self.world, call, client, Err(error)),
                }
            }
            ResultsOrder::Erase(id) => self.tell_results(Job::Erase(id)),
        }
    }

    fn tell_results(&self, job: Job) {
        if let Some(results) = &self.results {
            results.tell(job);
        }
    }

    fn stored(&mut self, id: CallId, outcome: Result<u64>) {
        if let Err(error) = &outcome {
            self.complain(error);
        }
        self.server.stored(&mut self.world, id, outcome);
    }

    /// The arrays of an outcome, to be written one after the other.
    fn arrays_of(&self, finished: &Finished) -> Result<Vec<Packing>> {
        let results = finished.result.results.iter().enumerate();
        let blocks = results.filter(|(_, argument)| matches!(argument, Argument::Blocks(Some(1..))));
        let gone = || Error::internal("keep a result", "its memory is gone");
        blocks
            .map(|(slot, _)| {
                let place = Place { channel: ChannelId(0), side: Side::Results, slot: slot as u16, offset: 0 };
                let memory = result_memory(finished, &place).ok_or_else(gone)?;
                let region = self.world.region(memory.memory).ok_or_else(gone)?;
                Packing::new(region, memory.base as usize, &memory.array)
            })
            .collect()
    }

    /// What the results folder's thread has done.
    pub(super) fn results_news(&mut self, news: ResultsNews) {
        match news {
            ResultsNews::Recorded(id, outcome) => self.server.recorded(&mut self.world, id, outcome),
            ResultsNews::Stored(id, outcome) => self.stored(id, outcome),
            ResultsNews::Fetched(id, client, read) => {
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

fn head_of(written: Written, result: Option<&CallResult>) -> Box<Head> {
    let Written { resume, routine, principal, keep } = written;
    let expires = result.map(|_| since_1970().saturating_add(keep.after_end()));
    Box::new(Head { expires, keep, resume, result: result.cloned(), principal, routine })
}
