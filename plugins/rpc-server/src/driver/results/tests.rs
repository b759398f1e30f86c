//! The results folder against disks, other users and time.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;
use std::time::Duration;

use farcall_link::memory::HeapRegion;
use farcall_link::strided::Strided;
use farcall_wire::{Argument, CallTimes, Failure, Keep, Open};

use super::folder::since_1970;
use super::restore::restore;
use super::*;
use crate::state::Accepted;
use crate::state::Written;
use crate::step::{Restored, Was};

/// A folder of this test's own, removed with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path =
            std::env::temp_dir().join(format!("farcall-results-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        Scratch(path)
    }

    fn results(&self) -> PathBuf {
        self.0.join("results")
    }

    fn file(&self, id: CallId) -> PathBuf {
        self.results().join(id.to_string())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Memory of the heap.
struct Heap;

impl MemorySource for Heap {
    fn allocate(&self, bytes: usize) -> Result<Arc<dyn Region>> {
        Ok(Arc::new(HeapRegion::new(bytes)?))
    }

    fn adopt(&self, _: std::os::fd::OwnedFd, _: usize) -> Result<Arc<dyn Region>> {
        Err(Error::internal("adopt", "not here"))
    }

    fn check(&self, descriptor: std::os::fd::OwnedFd, _: usize) -> Result<std::os::fd::OwnedFd> {
        Ok(descriptor)
    }
}

const ID: CallId = CallId([7; 16]);
const HOUR: Duration = Duration::from_secs(3600);

fn packing(bytes: &[u8]) -> Packing {
    let region: Arc<dyn Region> = Arc::new(HeapRegion::new(bytes.len()).unwrap());
    Space::of(&*region, 0, bytes.len()).unwrap().bytes().copy_from_slice(bytes);
    Packing::new(region, 0, &Strided::contiguous(bytes.len() as u64)).unwrap()
}

fn head(result: Option<CallResult>, expires: Option<Duration>) -> Head {
    let keep = Keep { after_end_us: HOUR.as_micros() as u64, durable: true };
    let principal = "uid 1".to_owned();
    let routine = "m/scale".to_owned();
    Head { expires, keep, resume: Resume::new(ID), result, principal, routine }
}

fn returned(arrays: &[&[u8]]) -> CallResult {
    let results = arrays.iter().map(|bytes| Argument::Blocks(Some(bytes.len() as u64)));
    CallResult {
        failure: None,
        results: results.collect(),
        times: CallTimes::default(),
        attributes: None,
    }
}

fn write(folder: &Folder, arrays: &[&[u8]]) -> u64 {
    let mut packings: Vec<Packing> = arrays.iter().map(|bytes| packing(bytes)).collect();
    folder
        .store(ID, &head(Some(returned(arrays)), Some(since_1970() + HOUR)), &mut packings)
        .unwrap()
}

fn open(scratch: &Scratch) -> Folder {
    Folder::open(&scratch.results()).unwrap()
}

/// What the next server finds, and what is wrong.
fn found(folder: &mut Folder) -> (Vec<Restored>, Vec<Error>) {
    let found = restore(folder);
    (found.restored, found.wrong)
}

fn is_failed(one: &Restored, words: &str) -> bool {
    let Was::Ended(result) = &one.was else { return false };
    Error::from(result.failure.clone().unwrap()).to_string().contains(words)
}

/// A call that was accepted, with an array among its arguments.
fn accepted(id: CallId, bytes: u64) -> Accepted {
    let keep = Keep { after_end_us: HOUR.as_micros() as u64, durable: true };
    let open = Open {
        remaining_us: Some(60_000_000),
        ..Open::new(
            id,
            "m/scale".to_owned(),
            [3; 32],
            vec![
                Argument::Inline(b"scalar"[..].into()),
                Argument::Blocks(Some(bytes)),
                Argument::Absent,
            ],
        )
    };
    let principal = "uid 1".to_owned();
    let routine = "m/scale".to_owned();
    let written = Written { resume: Resume::new(id), routine, principal, keep };
    let address = "unix 7".to_owned();
    Accepted {
        written,
        open,
        address,
        owns_server: true,
        certificate: None,
        on_object: false,
        has_begun: false,
    }
}

fn accept(folder: &mut Folder, id: CallId, array: &[u8]) {
    let head = AcceptedHead::new(accepted(id, array.len() as u64));
    folder.accept(head, &mut [packing(array)]).unwrap();
}

/// What `read` gives of the arrays.
fn arrays(folder: &Folder) -> Result<Vec<Vec<u8>>> {
    let read = read(folder, ID, true, &Heap)?;
    let Some(region) = read.region else { return Ok(Vec::new()) };
    let of = |(offset, bytes): &(u64, u64)| {
        Space::of(&*region, *offset as usize, *bytes as usize).unwrap().bytes().to_vec()
    };
    Ok(read.places.values().map(of).collect())
}

#[test]
fn what_is_written_is_read_by_the_next_server_and_by_nobody_else() {
    let scratch = Scratch::new("round");
    let one = vec![1; 300_000];
    let other = b"other".to_vec();
    let bytes = write(&open(&scratch), &[&one, &other]);
    let folder = scratch.results();
    let file = scratch.file(ID);
    assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o7777, 0o700);
    assert_eq!(
        (fs::metadata(&file).unwrap().mode() & 0o7777, fs::metadata(&file).unwrap().len()),
        (0o600, bytes)
    );
    let mut folder = open(&scratch);
    let (restored, wrong) = found(&mut folder);
    let [found] = &restored[..] else { panic!("one is kept, and not {}", restored.len()) };
    assert!(wrong.is_empty() && found.id == ID && found.bytes == bytes);
    assert!(matches!(found.was, Was::Stored { failed: false }));
    assert_eq!(
        (found.written.principal.as_str(), found.written.routine.as_str()),
        ("uid 1", "m/scale")
    );
    assert!(found.left <= HOUR && found.left > HOUR - Duration::from_secs(60));
    assert_eq!(arrays(&folder).unwrap(), [one, other]);
    folder.erase(ID).unwrap();
    assert!(!file.exists() && arrays(&folder).unwrap_err().kind() == ErrorKind::NotFound);
}

/// Releases before this one wrote an outcome without an end.
#[test]
fn a_call_that_was_open_when_an_earlier_release_ended_has_failed() {
    let scratch = Scratch::new("open");
    let mut folder = open(&scratch);
    folder.store(ID, &head(None, None), &mut []).unwrap();
    let (restored, wrong) = found(&mut folder);
    assert!(
        wrong.is_empty()
            && restored.len() == 1
            && is_failed(&restored[0], "the server stopped while the call ran")
    );
}

#[test]
fn calls_that_wait_are_found_in_their_order_with_their_arguments() {
    let scratch = Scratch::new("waiting");
    let mut folder = open(&scratch);
    let ids = [9, 3, 7, 1].map(|number| CallId([number; 16]));
    for (index, id) in ids.into_iter().enumerate() {
        accept(&mut folder, id, format!("argument {index}").repeat(40_000).as_bytes());
    }
    for _ in 0..2 {
        drop(folder);
        folder = open(&scratch);
        let (restored, wrong) = found(&mut folder);
        assert!(wrong.is_empty(), "{wrong:?}");
        assert_eq!(restored.iter().map(|one| one.id).collect::<Vec<_>>(), ids);
        for one in &restored {
            let Was::Waiting(call) = &one.was else { panic!("it waits") };
            let known = accepted(one.id, 0);
            assert_eq!(
                (&call.open.arguments[0], call.open.contract),
                (&known.open.arguments[0], [3; 32])
            );
            assert!(call.owns_server && !call.on_object && call.address == "unix 7");
            assert!(call.open.remaining_us.unwrap() <= 60_000_000);
        }
    }
    // Their arguments come as they went, and one more stands behind them.
    let region: Arc<dyn Region> = Arc::new(HeapRegion::new(400_000).unwrap());
    let place = Packing::new(region.clone(), 0, &Strided::contiguous(400_000)).unwrap();
    load(&folder, ids[2], vec![place]).unwrap();
    let read = Space::of(&*region, 0, 400_000).unwrap().bytes().to_vec();
    assert!(read == "argument 2".repeat(40_000).as_bytes());
    accept(&mut folder, ID, b"last");
    assert_eq!(found(&mut folder).0.last().unwrap().id, ID);
}

#[test]
fn what_has_begun_never_waits_again() {
    let scratch = Scratch::new("begun");
    let mut folder = open(&scratch);
    accept(&mut folder, ID, &[1; 300_000]);
    folder.begin(ID).unwrap();
    // The server ends before an executable has it.
    folder.wait_again(ID).unwrap();
    assert!(matches!(found(&mut folder).0[0].was, Was::Waiting(_)));
    folder.begin(ID).unwrap();
    folder.trim(ID);
    let began = scratch.results().join(format!("{ID}.began"));
    assert!(fs::metadata(&began).unwrap().len() < 1000, "nobody needs its arguments any more");
    let (restored, wrong) = found(&mut folder);
    assert!(
        wrong.is_empty()
            && restored.len() == 1
            && is_failed(&restored[0], "the server stopped while the call ran")
    );
    folder.store(ID, &head(Some(returned(&[])), Some(since_1970() + HOUR)), &mut []).unwrap();
    assert!(!began.exists() && scratch.file(ID).exists());
    // Of one that is gone there is nothing to write.
    folder.begin(CallId([8; 16])).unwrap();
    // A call on an object says what it ended with, whether it had begun or not.
    let other = CallId([9; 16]);
    let on_object = Accepted { on_object: true, has_begun: true, ..accepted(other, 5) };
    folder.accept(AcceptedHead::new(on_object), &mut []).unwrap();
    let (restored, wrong) = found(&mut folder);
    assert!(
        wrong.is_empty()
            && restored.iter().any(|one| one.id == other && is_failed(one, "object ended"))
    );
}

#[test]
fn an_outcome_that_cannot_be_stored_says_so() {
    let scratch = Scratch::new("unstored");
    let mut folder = open(&scratch);
    accept(&mut folder, ID, b"argument");
    // A folder in the way fails as a full disk does.
    let in_the_way = scratch.results().join(format!("{ID}.new"));
    fs::create_dir(&in_the_way).unwrap();
    let outcome = head(Some(returned(&[])), Some(since_1970() + HOUR));
    folder.store(ID, &outcome, &mut []).unwrap_err();
    fs::remove_dir(&in_the_way).unwrap();
    let (restored, wrong) = found(&mut folder);
    assert!(
        wrong.is_empty() && restored.len() == 1 && is_failed(&restored[0], "could not be written")
    );
    // It has another outcome when there is room.
    folder.store(ID, &outcome, &mut []).unwrap();
    assert!(matches!(found(&mut folder).0[0].was, Was::Stored { failed: false }));
    assert_eq!(fs::read_dir(scratch.results()).unwrap().count(), 2, "the lock and the outcome");
}

/// Whatever another release wrote stays where it is: that release finds it.
#[test]
fn files_of_other_releases_are_left_alone() {
    let scratch = Scratch::new("release");
    let mut folder = open(&scratch);
    let waiting = CallId([8; 16]);
    write(&folder, &[b"result"]);
    accept(&mut folder, waiting, b"argument");
    let files = [scratch.file(ID), scratch.results().join(format!("{waiting}.waits"))];
    let mut held = Vec::new();
    for file in &files {
        let mut bytes = fs::read(file).unwrap();
        bytes[7] = b'9';
        fs::write(file, &bytes).unwrap();
        held.push(bytes);
    }
    for _ in 0..2 {
        let found = restore(&mut folder);
        assert!(found.restored.is_empty() && found.wrong.len() == 2, "{:?}", found.wrong);
        assert!(found.unreadable.iter().all(|(_, kind)| *kind == ErrorKind::Version));
        assert!(
            found
                .wrong
                .iter()
                .all(|error| error.to_string().contains(&*scratch.results().to_string_lossy()))
        );
        assert_eq!(files.each_ref().map(|file| fs::read(file).unwrap()).to_vec(), held);
    }
}

#[test]
fn what_was_to_be_forgotten_is_and_leftovers_go() {
    let scratch = Scratch::new("late");
    let mut folder = open(&scratch);
    let failed =
        CallResult { failure: Some(Failure::from(&Error::internal("", ""))), ..returned(&[]) };
    folder.store(ID, &head(Some(failed), Some(Duration::from_secs(5))), &mut []).unwrap();
    let leftover = scratch.results().join(format!("{ID}.new"));
    fs::write(&leftover, "half a fi").unwrap();
    fs::write(scratch.results().join("README"), "somebody's").unwrap();
    let (restored, wrong) = found(&mut folder);
    assert!(
        restored.is_empty() && wrong.is_empty() && !scratch.file(ID).exists() && !leftover.exists()
    );
    assert!(scratch.results().join("README").exists());
}

/// Whatever becomes of a byte, the outcome is never another.
#[test]
fn no_damage_is_taken_for_an_outcome() {
    let scratch = Scratch::new("damage");
    let mut folder = open(&scratch);
    write(&folder, &[b"eight by", b"tes and more"]);
    let whole = fs::read(scratch.file(ID)).unwrap();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        fs::write(scratch.file(ID), &bytes).unwrap();
        let error = arrays(&folder).expect_err("a byte is another");
        assert_eq!(error.kind(), ErrorKind::Damaged, "byte {at}: {error}");
    }
    for length in 0..whole.len() {
        fs::write(scratch.file(ID), &whole[..length]).unwrap();
        assert_eq!(arrays(&folder).unwrap_err().kind(), ErrorKind::Damaged, "{length} bytes");
    }
    fs::write(scratch.file(ID), [&whole[..], b"!"].concat()).unwrap();
    assert_eq!(arrays(&folder).unwrap_err().kind(), ErrorKind::Damaged);
    let (restored, wrong) = found(&mut folder);
    assert!(restored.is_empty() && wrong.len() == 1);
    assert!(wrong[0].to_string().contains(&ID.to_string()), "its file is named: {}", wrong[0]);
    assert!(
        scratch.results().join(format!("{ID}.damaged")).exists(),
        "an admin may want to look at it"
    );
    let again = restore(&mut folder);
    assert!(again.wrong.is_empty(), "it is complained about once");
    assert_eq!(
        again.unreadable,
        [(ID, ErrorKind::Damaged)],
        "and whoever asks for it learns why it is not there"
    );
}

/// The same of a call that waits: it never runs with other arguments.
#[test]
fn no_damage_is_taken_for_a_call() {
    let scratch = Scratch::new("damaged-call");
    let mut folder = open(&scratch);
    accept(&mut folder, ID, b"eight by");
    let file = scratch.results().join(format!("{ID}.waits"));
    let whole = fs::read(&file).unwrap();
    let runs = |folder: &mut Folder| {
        let waits = matches!(found(folder).0.first(), Some(Restored { was: Was::Waiting(_), .. }));
        waits && load(folder, ID, vec![packing(&[0; 8])]).is_ok()
    };
    assert!(runs(&mut folder));
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        fs::write(&file, &bytes).unwrap();
        assert!(!runs(&mut folder), "byte {at}");
    }
    for length in 0..whole.len() {
        fs::write(&file, &whole[..length]).unwrap();
        assert!(!runs(&mut folder), "{length} bytes");
    }
}

#[test]
fn the_outcome_of_one_call_is_not_taken_for_anothers() {
    let scratch = Scratch::new("swap");
    let folder = open(&scratch);
    write(&folder, &[b"result"]);
    let other = CallId([8; 16]);
    fs::rename(scratch.file(ID), scratch.file(other)).unwrap();
    assert_eq!(read(&folder, other, true, &Heap).err().unwrap().kind(), ErrorKind::Damaged);
}

#[test]
fn links_and_pipes_are_not_followed() {
    let scratch = Scratch::new("links");
    let folder = open(&scratch);
    write(&folder, &[b"result"]);
    let elsewhere = scratch.0.join("elsewhere");
    fs::rename(scratch.file(ID), &elsewhere).unwrap();
    symlink(&elsewhere, scratch.file(ID)).unwrap();
    assert!(arrays(&folder).is_err());
    // What is written replaces the link, and not what it points to.
    let before = fs::read(&elsewhere).unwrap();
    symlink(&elsewhere, scratch.results().join(format!("{ID}.new"))).unwrap();
    write(&folder, &[b"another"]);
    assert!(fs::read(&elsewhere).unwrap() == before && arrays(&folder).unwrap() == [b"another"]);
    fs::remove_file(scratch.file(ID)).unwrap();
    let pipe = std::ffi::CString::new(scratch.file(ID).to_str().unwrap()).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &*pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .unwrap();
    assert_eq!(arrays(&folder).unwrap_err().kind(), ErrorKind::Damaged);
}

#[test]
fn a_folder_that_others_may_use_or_another_server_uses_is_refused() {
    let scratch = Scratch::new("folder");
    let folder = open(&scratch);
    let error = Folder::open(&scratch.results()).err().unwrap();
    assert!(
        error.kind() == ErrorKind::Unavailable && error.to_string().contains("another process"),
        "{error}"
    );
    drop(folder);
    for mode in [0o770, 0o707, 0o750] {
        fs::set_permissions(scratch.results(), fs::Permissions::from_mode(mode)).unwrap();
        let error = Folder::open(&scratch.results()).err().unwrap();
        assert!(
            error.kind() == ErrorKind::PermissionDenied && error.to_string().contains("chmod 700"),
            "{error}"
        );
    }
    fs::set_permissions(scratch.results(), fs::Permissions::from_mode(0o700)).unwrap();
    let link = scratch.0.join("link");
    symlink(scratch.results(), &link).unwrap();
    assert!(Folder::open(&link).is_err());
    assert!(found(&mut open(&scratch)).0.is_empty());
}

/// A disk without room: what was there stays, and nothing half is left.
#[test]
fn a_write_that_fails_leaves_what_was_there() {
    let scratch = Scratch::new("full");
    let folder = open(&scratch);
    folder.store(ID, &head(None, None), &mut []).unwrap();
    // A folder in the way fails as a disk does, once the name is to be given; no test fills a real
    // one.
    fs::create_dir(scratch.results().join(format!("{ID}.new"))).unwrap();
    assert!(
        folder.store(ID, &head(Some(returned(&[])), Some(since_1970() + HOUR)), &mut []).is_err()
    );
    assert!(folder.read(ID).unwrap().1.result.is_none());
    let full = folder::disk_error(Error::system("", std::io::Error::from_raw_os_error(28)));
    assert!(full.kind() == ErrorKind::LimitExceeded && full.is_retryable(), "{full}");
}

#[test]
fn servers_of_one_user_have_folders_of_their_own() {
    let name = |listen: &[&str]| {
        server_name(&listen.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>())
    };
    assert_eq!(name(&[]), "default");
    let one = name(&["unix:/run/a/b.sock"]);
    let other = name(&["unix:/run/a-b.sock"]);
    assert_ne!(one, other);
    assert!(one.starts_with("unix--run-a-b-sock-") && !one.contains('/'), "{one}");
}

/// Somebody removes the folder of a server that runs: it makes another, and says so of nothing that
/// was lost.
#[test]
fn a_folder_that_was_removed_is_made_again() {
    let scratch = Scratch::new("removed");
    let mut worker = Worker { path: scratch.results(), folder: None };
    write(worker.folder().unwrap(), &[b"result"]);
    fs::remove_dir_all(scratch.results()).unwrap();
    assert_eq!(arrays(worker.folder().unwrap()).unwrap_err().kind(), ErrorKind::NotFound);
    write(worker.folder().unwrap(), &[b"another"]);
    assert_eq!(arrays(worker.folder().unwrap()).unwrap(), [b"another"]);
    // Another one in its place is no reason to write into the old one.
    fs::rename(scratch.results(), scratch.0.join("old")).unwrap();
    fs::create_dir(scratch.results()).unwrap();
    fs::set_permissions(scratch.results(), fs::Permissions::from_mode(0o700)).unwrap();
    write(worker.folder().unwrap(), &[b"third"]);
    assert!(scratch.file(ID).exists());
}
