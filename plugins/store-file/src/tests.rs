//! The store in a file as others use it: through its node.

mod damage;
mod killed;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use farcall_base::ErrorKind;
use farcall_kernel::{Manifest, Node};
use farcall_services::store::{Change, SLOT, StoreHandle};
use farcall_store_battery as battery;
use farcall_store_battery::{Opened, get, put, read, write};

/// A folder of one test, removed at its end.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let path =
            std::env::temp_dir().join(format!("farcall-store-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Place(path)
    }

    fn open(&self) -> Opened {
        open(&self.0, "")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

static NOTICES: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn open(folder: &Path, options: &str) -> Opened {
    let plugin = super::plugin(|options| {
        super::construct(options, |notice| NOTICES.lock().unwrap().push(notice.to_owned()))
    });
    let text = format!(
        "[[plugin]]\nname = \"store-file\"\nslot = \"store\"\n[plugin.options]\nfolder = {:?}\n\
        {options}\n",
        folder.to_str().unwrap()
    );
    let node = Node::start(&Manifest::parse("test", &text).unwrap(), &[plugin]).unwrap();
    Opened { store: node.service::<StoreHandle>(SLOT).unwrap(), keeper: Box::new(node) }
}

#[test]
fn it_does_what_every_store_does() {
    let place = Place::new("battery");
    battery::run(&|| place.open());
}

#[test]
fn nothing_is_on_the_disk_before_something_is_kept() {
    use std::os::unix::fs::MetadataExt;
    let place = Place::new("lazy");
    let opened = place.open();
    assert!(!place.0.exists());
    assert!(read(&opened.store, "", None, 10).unwrap().is_empty());
    assert!(!place.0.exists(), "to look for something makes no file");
    write(&opened.store, vec![], vec![put("key", "a secret value")]).unwrap();
    assert_eq!(read(&opened.store, "", None, 10).unwrap().len(), 1);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(&place.0), 0o700);
    for name in ["store.redb", "key", "lock"] {
        assert_eq!(mode(&place.0.join(name)), 0o600, "{name}");
    }
    assert!(!opened.store.is_shared());
    assert!(opened.store.name().contains(place.0.to_str().unwrap()));
    drop(opened);
    let bytes = std::fs::read(place.0.join("store.redb")).unwrap();
    assert!(!bytes.windows(8).any(|part| part == b"a secret"), "values are encrypted");
}

#[test]
fn a_second_process_is_refused_until_the_first_has_ended() {
    let place = Place::new("second");
    let first = place.open();
    write(&first.store, vec![], vec![put("key", "value")]).unwrap();
    let second = place.open();
    let error = write(&second.store, vec![], vec![put("key", "other")]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    let text = error.to_string();
    assert!(text.contains("another process uses the directory of the store"), "{text}");
    assert!(text.contains(place.0.to_str().unwrap()) && text.contains("folder of store-file"));
    drop(first);
    assert_eq!(get(&second.store, "key").unwrap().unwrap().value, b"value");
}

#[test]
fn a_full_store_says_so_and_takes_deletions() {
    let place = Place::new("full");
    let opened = open(&place.0, "bytes_max = 1000");
    write(&opened.store, vec![], vec![put("one", vec![0; 900])]).unwrap();
    let error = write(&opened.store, vec![], vec![put("two", vec![0; 900])]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
    assert!(error.to_string().contains("bytes_max of store-file"), "{error}");
    drop(opened);
    // What is there is counted again, and not from zero.
    let opened = open(&place.0, "bytes_max = 1000");
    assert!(write(&opened.store, vec![], vec![put("two", vec![0; 900])]).is_err());
    let swap = vec![Change::Delete { key: "one".to_owned() }, put("two", vec![0; 900])];
    assert!(write(&opened.store, vec![], swap).unwrap().is_some());
    assert_eq!(read(&opened.store, "", None, 10).unwrap().len(), 1);
}

#[test]
fn writes_that_wait_go_to_the_disk_together() {
    let place = Place::new("rate");
    let opened = place.open();
    let time = Duration::from_secs(1);
    let alone = battery::writes_per_second(&opened.store, 1, time);
    let many = battery::writes_per_second(&opened.store, 32, time);
    println!("writes per second: {alone:.0} one after the other, {many:.0} with 32 at a time");
    assert!(many > 2.0 * alone, "{many} and {alone}");
}
