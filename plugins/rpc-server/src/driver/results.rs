//! The results folder's thread: nobody else waits for the disk.

mod accepted;
mod file;
mod folder;
mod orders;
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

use farcall_base::{
    CallId, ChannelId, ConnectionId, Error, ErrorKind, ExecutableId, Instant, Result,
};
use farcall_link::memory::{MemorySource, Region, Space};
use farcall_link::packing::Packing;
use farcall_services::mailbox::Reply;
use farcall_wire::{CallResult, Resume};

use self::accepted::AcceptedHead;
use self::file::{ArrayReader, Head};
use self::folder::{Folder, Stage};
use self::restore::Found;
use crate::Options;
use crate::state::CallKey;

/// Alignment of arrays that are read.
const ALIGNMENT: u64 = 64;
/// Time after which a folder that could not be opened is tried again: another server may have had
/// it, which ends now.
const REOPEN_AFTER: Duration = Duration::from_secs(2);

/// The folder, if there is one.
#[derive(Default)]
pub struct ResultsFolder {
    open: Option<Results>,
    /// When one that could not be opened is tried again.
    pub again: Option<Instant>,
}

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
        let mut folder = None;
        let mut found = Found::default();
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
        "" => state_folder("results", options),
        path => Some(path.into()),
    }
}

/// A folder of a server's in its user's state: of what it keeps beyond its end.
pub fn state_folder(what: &str, options: &Options) -> Option<PathBuf> {
    Some(user_state_folder()?.join(what).join(server_name(&options.listen)))
}

/// Where what servers keep beyond their ends lies, for this user.
pub fn user_state_folder() -> Option<PathBuf> {
    let named = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state =
        named("XDG_STATE_HOME").or_else(|| Some(named("HOME")?.join(".local").join("state")))?;
    Some(state.join("farcall"))
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
