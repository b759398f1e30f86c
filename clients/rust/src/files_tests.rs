//! Files that are read, made and replaced, and what is said of those that cannot be.

#![allow(clippy::unwrap_used)]

use std::os::unix::fs::symlink;

use super::*;

/// A folder of this test's own, removed with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path =
            std::env::temp_dir().join(format!("farcall-files-{name}-{}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

/// What travels of a content.
fn travelling(content: &[u8]) -> Vec<u8> {
    ContentReader::of_bytes(content.to_vec()).inline().unwrap().to_vec()
}

fn receive(path: &Path, travelling: &[u8]) -> Result<Received> {
    let mut coming = Coming::one(&Target::file(bytes(path))?, travelling.len() as u64)?;
    let mut done = 0;
    while done < travelling.len() {
        let mut space = coming.space(7)?;
        let count = space.length();
        space.bytes().copy_from_slice(&travelling[done..done + count]);
        coming.arrived(count)?;
        done += count;
    }
    match coming.finish()? {
        Came::One(received) => Ok(received),
        Came::Several(_) => panic!("one file"),
    }
}

fn put(path: &Path, content: &[u8]) {
    let Received::File(beside, count) = receive(path, &travelling(content)).unwrap() else {
        panic!("a file")
    };
    assert_eq!(count, content.len() as u64);
    beside.replace().unwrap();
    assert_eq!(std::fs::read(path).unwrap(), content);
}

#[test]
fn a_file_is_made_and_replaced_with_the_permissions_that_it_had() {
    let folder = Folder::new("replaced");
    let path = folder.file("result");
    put(&path, b"first");
    std::fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    put(&path, b"the second, which is longer");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(folder.names(), ["result"], "nothing is left beside it");
}

#[test]
fn what_a_link_leads_to_is_replaced() {
    let folder = Folder::new("link");
    std::fs::write(folder.file("real"), "old").unwrap();
    symlink(folder.file("real"), folder.file("link")).unwrap();
    put(&folder.file("link"), b"new");
    assert!(folder.file("link").is_symlink());
    assert_eq!(std::fs::read(folder.file("real")).unwrap(), b"new");
}

#[test]
fn a_file_stays_when_what_came_is_damaged_or_not_wanted_any_more() {
    let folder = Folder::new("stays");
    let path = folder.file("result");
    std::fs::write(&path, "old").unwrap();
    let mut wrong = travelling(b"new");
    wrong[0] ^= 1;
    assert_eq!(receive(&path, &wrong).err().unwrap().kind(), ErrorKind::Damaged);
    drop(receive(&path, &travelling(b"new")).unwrap());
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
    assert_eq!(folder.names(), ["result"]);
}

#[test]
fn files_that_cannot_be_read_or_written_are_named() {
    let folder = Folder::new("wrong");
    std::fs::write(folder.file("plain"), "").unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, folder.file("pipe"), rustix::fs::Mode::RUSR).unwrap();
    let read = |name: &str| SentFile::open(0, bytes(&folder.file(name))).map(|_| ()).unwrap_err();
    let write = |name: &str| Target::file(bytes(&folder.file(name))).map(|_| ()).unwrap_err();
    let cases = [
        (read("missing"), ErrorKind::NotFound, "check that it exists"),
        (read("."), ErrorKind::InvalidArgument, "it is a folder"),
        (read("pipe"), ErrorKind::InvalidArgument, "not a regular file"),
        (write("missing/result"), ErrorKind::NotFound, "create its directory first"),
        (write("plain/result"), ErrorKind::NotFound, "create its directory first"),
        (write("."), ErrorKind::InvalidArgument, "it is a folder"),
        (write("pipe"), ErrorKind::InvalidArgument, "not a regular file"),
    ];
    for (error, kind, part) in cases {
        let text = error.to_string();
        assert!(error.kind() == kind && text.contains(part) && text.contains("file: /"), "{text}");
    }
    let error = SentFile::open(0, b"").map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
}

#[test]
fn a_full_disk_is_told_by_the_file_and_leaves_the_old_one() {
    let folder = Folder::new("full");
    let path = folder.file("result");
    std::fs::write(&path, "old").unwrap();
    let mut content = Content::new(&Target::file(bytes(&path)).unwrap(), 108).unwrap();
    let Into::File(beside) = &mut content.into else { panic!("a file") };
    beside.file = OpenOptions::new().write(true).open("/dev/full").unwrap();
    content.take(&travelling(&[1; 100]));
    let text = content.finish().err().unwrap().to_string();
    assert!(
        text.contains("No space left") && text.contains("result") && text.contains("another disk"),
        "{text}"
    );
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
    assert_eq!(folder.names(), ["result"]);
}

#[test]
fn a_file_that_the_kernel_makes_up_is_read_to_its_end() {
    let content = std::fs::read("/proc/version").unwrap();
    assert!(!content.is_empty() && Path::new("/proc/version").metadata().unwrap().len() == 0);
    let sent = SentFile::open(0, b"/proc/version").unwrap().reader().inline().unwrap().to_vec();
    assert_eq!(sent, travelling(&content));
    let folder = Folder::new("ordinary");
    for bytes_of_it in [0, 1, 5000] {
        std::fs::write(folder.file("file"), vec![7; bytes_of_it]).unwrap();
        let file = File::open(folder.file("file")).unwrap();
        assert!(!is_made_up(&file, bytes_of_it as u64).unwrap());
        // One that says more than it has, as those of /sys do.
        assert!(is_made_up(&file, bytes_of_it as u64 + 1).unwrap());
    }
    let file =
        File::options().read(true).write(true).create_new(true).open(folder.file("long")).unwrap();
    file.set_len(MADE_UP_BYTES_MAX + 1).unwrap();
    let error = all_of(&file, &folder.file("long")).unwrap_err();
    assert!(
        error.kind() == ErrorKind::LimitExceeded && error.to_string().contains("copy it"),
        "{error}"
    );
}
