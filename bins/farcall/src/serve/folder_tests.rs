//! Which folders a private server removes at its start, and which it must leave alone.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;

use super::*;

/// A folder of the test's own, for the folders it makes.
struct Base(PathBuf);

impl Base {
    fn new(name: &str) -> Base {
        let path =
            std::env::temp_dir().join(format!("farcall-folders-{name}-{}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Base(path)
    }

    /// The folder of a server that was killed while it served.
    fn dead(&self, name: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o700)).unwrap();
        fs::write(path.join(LOCK), "").unwrap();
        drop(UnixListener::bind(path.join(SOCKET)).unwrap());
        path
    }
}

impl Drop for Base {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn what_a_killed_server_left_goes() {
    let base = Base::new("dead");
    let whole = base.dead("farcall-4000000-0");
    for kept in [PUBLISHED, STORE] {
        fs::create_dir(whole.join(kept)).unwrap();
        fs::write(whole.join(kept).join("file"), "").unwrap();
    }
    // Killed while it was starting: between the making of the folder, the lock and the socket.
    let [empty, locked] = ["farcall-4000000-1", "farcall-4000000-2"].map(|name| base.dead(name));
    for file in [empty.join(SOCKET), empty.join(LOCK), locked.join(SOCKET)] {
        fs::remove_file(file).unwrap();
    }
    let binding = base.dead("farcall-4000001-0");
    fs::rename(binding.join(SOCKET), binding.join(".f4000001")).unwrap();
    let own = PrivateFolder::make(&base.0).unwrap();
    remove_dead(&base.0);
    for path in [whole, empty, locked, binding] {
        assert!(!path.exists(), "{} stays", path.display());
    }
    assert!(own.path.join(LOCK).exists(), "a living server's folder stays");
    drop(own);
    assert_eq!(fs::read_dir(&base.0).unwrap().count(), 0, "a server that ends leaves nothing");
}

#[test]
fn a_folder_stays_while_its_server_lives() {
    let base = Base::new("living");
    let serving = base.dead("farcall-4000000-0");
    let lock = File::open(serving.join(LOCK)).unwrap();
    rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
    // Another server is about to take the lock of this one, or to judge it.
    let starting = base.dead("farcall-4000000-1");
    let folder = File::open(&starting).unwrap();
    rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive).unwrap();
    remove_dead(&base.0);
    assert!(serving.join(SOCKET).exists() && starting.join(SOCKET).exists());
    drop((lock, folder));
    remove_dead(&base.0);
    assert!(!serving.exists() && !starting.exists());
}

#[test]
fn what_is_not_ours_stays() {
    let base = Base::new("foreign");
    let mut all: Vec<PathBuf> = [
        "farcall-4000000",
        "farcall-4000000-",
        "farcall-a-0",
        "farcall-1-2-3",
        "x-farcall-1-2",
        "farcall-unix-1",
    ]
    .map(|name| base.dead(name))
    .into();
    let open = base.dead("farcall-4000000-1");
    fs::set_permissions(&open, PermissionsExt::from_mode(0o755)).unwrap();
    let used = base.dead("farcall-4000000-2");
    fs::write(used.join("thesis.txt"), "").unwrap();
    let disguised = base.dead("farcall-4000000-3");
    fs::remove_file(disguised.join(SOCKET)).unwrap();
    fs::write(disguised.join(SOCKET), "no socket").unwrap();
    let nested = base.dead("farcall-4000000-4");
    fs::remove_file(nested.join(LOCK)).unwrap();
    fs::create_dir(nested.join(LOCK)).unwrap();
    let link = base.0.join("farcall-4000000-5");
    std::os::unix::fs::symlink(base.dead("elsewhere"), &link).unwrap();
    let file = base.0.join("farcall-4000000-6");
    fs::write(&file, "").unwrap();
    all.extend([open, used, disguised, nested, link, file]);
    if rustix::process::geteuid().is_root() {
        let foreign = base.dead("farcall-4000000-7");
        std::os::unix::fs::chown(&foreign, Some(65534), None).unwrap();
        all.push(foreign);
    }
    remove_dead(&base.0);
    for path in all {
        assert!(path.symlink_metadata().is_ok(), "{} is gone", path.display());
        assert!(!path.is_dir() || path.join(SOCKET).exists(), "{} is emptied", path.display());
    }
    assert!(base.0.join("elsewhere").join(SOCKET).exists());
}

#[test]
fn a_folder_that_is_removed_while_it_is_made_is_made_anew() {
    let base = Base::new("race");
    let path = base.0.join("farcall-4000000-0");
    assert!(claim(&path).unwrap().is_none(), "gone before it was opened");
    DirBuilder::new().mode(0o700).create(&path).unwrap();
    let judge = File::open(&path).unwrap();
    rustix::fs::flock(&judge, FlockOperation::NonBlockingLockExclusive).unwrap();
    let maker = std::thread::spawn({
        let path = path.clone();
        move || claim(&path).unwrap().is_none()
    });
    std::thread::sleep(std::time::Duration::from_millis(50));
    fs::remove_dir(&path).unwrap();
    drop(judge);
    assert!(maker.join().unwrap(), "gone while it waited for the folder's lock");
}
