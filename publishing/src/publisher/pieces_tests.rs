//! Publications in pieces: whole files, limits, and senders that go away.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::*;

const ID: [u8; 16] = [7; 16];

fn piece(name: &str, content: &str) -> PublishedPiece {
    PublishedPiece { publication: ID, name: name.into(), content: content.into() }
}

/// A folder for a store, and what is in it.
fn store(name: &str) -> (std::path::PathBuf, Store) {
    let folder = std::env::temp_dir().join(format!("farcall-pieces-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    let (store, _) = Store::open(Some(folder.clone()));
    (folder, store)
}

fn count(folder: &Path) -> usize {
    fs::read_dir(folder).map_or(0, Iterator::count)
}

#[test]
fn pieces_are_files_in_their_order() {
    let (folder, mut store) = store("order");
    let mut uploads = Uploads::default();
    let giver = Arc::new(());
    let from = Arc::downgrade(&giver);
    for one in [piece("a.py", "x ="), piece("a.py", " 1"), piece("b/c.py", ""), piece("d", "y")] {
        uploads.take(&mut store, one, (&from, "me"), 100).unwrap();
    }
    assert!(uploads.complete(&ID, "you").is_err(), "another principal's");
    let (placed, first) = uploads.complete(&ID, "me").unwrap();
    assert_eq!((first.as_str(), fs::read(&placed.main).unwrap()), ("a.py", b"x = 1".to_vec()));
    let files = placed.main.parent().unwrap();
    assert_eq!(fs::read(files.join("b/c.py")).unwrap(), b"");
    assert_eq!(fs::read(files.join("d")).unwrap(), b"y");
    assert!(uploads.complete(&ID, "me").is_err(), "once");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_is_too_much_or_leads_elsewhere_leaves_nothing_behind() {
    let (folder, mut store) = store("limit");
    let mut uploads = Uploads::default();
    let giver = Arc::new(());
    let from = Arc::downgrade(&giver);
    uploads.take(&mut store, piece("a.py", "12345"), (&from, "me"), 8).unwrap();
    let error = uploads.take(&mut store, piece("a.py", "6789"), (&from, "me"), 8).unwrap_err();
    assert!(error.to_string().contains("more than 8 bytes (limit: call_bytes_max)"), "{error}");
    assert_eq!(count(&folder), 0);
    for name in ["../a.py", "/a.py", ""] {
        assert!(uploads.take(&mut store, piece(name, "x"), (&from, "me"), 8).is_err());
    }
    uploads.take(&mut store, piece("a.py", "1"), (&from, "me"), 8).unwrap();
    assert!(uploads.take(&mut store, piece("a.py", "2"), (&from, "you"), 8).is_err());
    assert_eq!(count(&folder), 1, "what is mine stays");
    assert!(uploads.take(&mut store, piece("../b", "2"), (&from, "me"), 8).is_err());
    assert_eq!(count(&folder), 0);
    let _ = fs::remove_dir_all(folder);
}

#[test]
fn senders_that_go_away_leave_nothing_behind() {
    let (folder, mut store) = store("gone");
    let mut uploads = Uploads::default();
    let giver = Arc::new(());
    uploads.take(&mut store, piece("a", "x"), (&Arc::downgrade(&giver), "me"), 8).unwrap();
    assert_eq!(uploads.patience(), LOOK_EVERY);
    uploads.look(&mut store);
    assert_eq!(count(&folder), 1);
    drop(giver);
    uploads.look(&mut store);
    assert_eq!((count(&folder), uploads.patience()), (0, Duration::MAX));
    let _ = fs::remove_dir_all(folder);
}
