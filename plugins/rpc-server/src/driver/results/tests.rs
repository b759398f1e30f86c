//! The results folder against disks, other users and time.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;
use std::time::Duration;

use farcall_interfaces::memory::HeapRegion;
use farcall_interfaces::strided::Strided;
use farcall_wire::{CallTimes, Failure, Keep};

use super::*;

/// A folder of this test's own, removed with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("farcall-results-{}-{name}", std::process::id()));
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
    let (principal, routine) = ("uid 1".to_owned(), "m/scale".to_owned());
    Head { expires, keep, resume: Resume::new(ID), result, principal, routine }
}

fn returned(arrays: &[&[u8]]) -> CallResult {
    let results = arrays.iter().map(|bytes| Argument::Blocks(Some(bytes.len() as u64)));
    CallResult { failure: None, results: results.collect(), times: CallTimes::default(), attributes: None }
}

fn write(folder: &Folder, arrays: &[&[u8]]) -> u64 {
    let mut packings: Vec<Packing> = arrays.iter().map(|bytes| packing(bytes)).collect();
    folder.write(ID, &head(Some(returned(arrays)), Some(since_1970() + HOUR)), &mut packings).unwrap()
}

fn open(scratch: &Scratch) -> Folder {
    Folder::open(&scratch.results()).unwrap()
}

/// What `read` gives of the arrays.
fn arrays(folder: &Folder) -> Result<Vec<Vec<u8>>> {
    let read = read(folder, ID, true, &Heap)?;
    let Some(region) = read.region else { return Ok(Vec::new()) };
    let of =
        |(offset, bytes): &(u64, u64)| Space::of(&*region, *offset as usize, *bytes as usize).unwrap().bytes().to_vec();
    Ok(read.places.values().map(of).collect())
}

#[test]
fn what_is_written_is_read_by_the_next_server_and_by_nobody_else() {
    let scratch = Scratch::new("round");
    let (one, other) = (vec![1; 300_000], b"other".to_vec());
    let bytes = write(&open(&scratch), &[&one, &other]);
    let (folder, file) = (scratch.results(), scratch.file(ID));
    assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o7777, 0o700);
    assert_eq!((fs::metadata(&file).unwrap().mode() & 0o7777, fs::metadata(&file).unwrap().len()), (0o600, bytes));
    let folder = open(&scratch);
    let (restored, wrong) = folder.restore(10);
    let [found] = &restored[..] else { panic!("one is kept, and not {}", restored.len()) };
    assert!(wrong.is_empty() && found.id == ID && !found.failed && found.bytes == bytes);
    assert_eq!((found.principal.as_str(), found.routine.as_str()), ("uid 1", "m/scale"));
    assert!(found.left <= HOUR && found.left > HOUR - Duration::from_secs(60));
    assert_eq!(arrays(&folder).unwrap(), [one, other]);
    folder.erase(ID);
    assert!(!file.exists() && arrays(&folder).unwrap_err().kind() == ErrorKind::NotFound);
}

#[test]
fn a_call_that_was_open_when_the_server_ended_reads_as_such() {
    let scratch = Scratch::new("open");
    open(&scratch).write(ID, &head(None, None), &mut []).unwrap();
    for _ in 0..2 {
        let folder = open(&scratch);
        let (restored, wrong) = folder.restore(10);
        assert!(wrong.is_empty() && restored.len() == 1 && restored[0].failed);
        let failure = read(&folder, ID, false, &Heap).unwrap().result.failure.unwrap();
        assert!(Error::from(failure).to_string().contains("the server ended while it ran"));
    }
}

#[test]
fn what_was_to_be_forgotten_is_and_leftovers_go() {
    let scratch = Scratch::new("late");
    let folder = open(&scratch);
    let failed = CallResult { failure: Some(Failure::from(&Error::internal("", ""))), ..returned(&[]) };
    folder.write(ID, &head(Some(failed), Some(Duration::from_secs(5))), &mut []).unwrap();
    let leftover = scratch.results().join(format!("{ID}.new"));
    fs::write(&leftover, "half a fi").unwrap();
    fs::write(scratch.results().join("README"), "somebody's").unwrap();
    let (restored, wrong) = folder.restore(10);
    assert!(restored.is_empty() && wrong.is_empty() && !scratch.file(ID).exists() && !leftover.exists());
    assert!(scratch.results().join("README").exists());
}

#[test]
fn more_than_may_be_kept_is_left_alone() {
    let scratch = Scratch::new("many");
    let folder = open(&scratch);
    for number in 0..3 {
        let id = CallId([number; 16]);
        let head = Head { resume: Resume::new(id), ..head(Some(returned(&[])), Some(since_1970() + HOUR)) };
        folder.write(id, &head, &mut []).unwrap();
    }
    let (restored, wrong) = folder.restore(2);
    assert!(restored.len() == 2 && wrong.len() == 1 && wrong[0].to_string().contains("results_max"));
}

/// Whatever becomes of a byte, the outcome is never another.
#[test]
fn no_damage_is_taken_for_an_outcome() {
    let scratch = Scratch::new("damage");
    let folder = open(&scratch);
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
    let (restored, wrong) = folder.restore(10);
    assert!(restored.is_empty() && wrong.len() == 1);
    assert!(scratch.results().join(format!("{ID}.damaged")).exists(), "an admin may want to look at it");
    assert!(folder.restore(10).1.is_empty(), "it is complained about once");
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
    rustix::fs::mknodat(rustix::fs::CWD, &*pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    assert_eq!(arrays(&folder).unwrap_err().kind(), ErrorKind::Damaged);
}

#[test]
fn a_folder_that_others_may_use_or_another_server_uses_is_refused() {
    let scratch = Scratch::new("folder");
    let folder = open(&scratch);
    let error = Folder::open(&scratch.results()).err().unwrap();
    assert!(error.kind() == ErrorKind::Unavailable && error.to_string().contains("another server"), "{error}");
    drop(folder);
    for mode in [0o770, 0o707, 0o750] {
        fs::set_permissions(scratch.results(), fs::Permissions::from_mode(mode)).unwrap();
        let error = Folder::open(&scratch.results()).err().unwrap();
        assert!(error.kind() == ErrorKind::PermissionDenied && error.to_string().contains("chmod 700"), "{error}");
    }
    fs::set_permissions(scratch.results(), fs::Permissions::from_mode(0o700)).unwrap();
    let link = scratch.0.join("link");
    symlink(scratch.results(), &link).unwrap();
    assert!(Folder::open(&link).is_err());
    assert!(open(&scratch).restore(1).0.is_empty());
}

/// A disk without room: what was there stays, and nothing half is left.
#[test]
fn a_write_that_fails_leaves_what_was_there() {
    let scratch = Scratch::new("full");
    let folder = open(&scratch);
    folder.write(ID, &head(None, None), &mut []).unwrap();
    // A folder in the way fails as a disk does, once the name is to be given; no test fills a real one.
    fs::create_dir(scratch.results().join(format!("{ID}.new"))).unwrap();
    assert!(folder.write(ID, &head(Some(returned(&[])), Some(since_1970() + HOUR)), &mut []).is_err());
    assert!(folder.read(ID).unwrap().1.result.is_none());
    let full = folder::disk_error(Error::system("", std::io::Error::from_raw_os_error(28)));
    assert!(full.kind() == ErrorKind::LimitExceeded && full.is_retryable(), "{full}");
}

#[test]
fn servers_of_one_user_have_folders_of_their_own() {
    let name = |listen: &[&str]| server_name(&listen.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>());
    assert_eq!(name(&[]), "default");
    let (one, other) = (name(&["unix:/run/a/b.sock"]), name(&["unix:/run/a-b.sock"]));
    assert_ne!(one, other);
    assert!(one.starts_with("unix--run-a-b-sock-") && !one.contains('/'), "{one}");
}
