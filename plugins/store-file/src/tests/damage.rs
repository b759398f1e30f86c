//! What is wrong with a store says so: files that are damaged, keys that are wrong, disks that are
//! full.

use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use farcall_base::{Error, ErrorKind};
use farcall_store_battery::{get, put, write};
use redb::{Database, ReadableDatabase, TableDefinition};

use super::{NOTICES, Place, open};

fn refused(place: &Place, kind: ErrorKind, words: &str) -> Error {
    take_notices(place);
    let opened = place.open();
    let error = get(&opened.store, "key").unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(words), "{error}");
    assert!(error.to_string().contains(place.0.to_str().unwrap()), "it says where: {error}");
    assert!(error.advice().is_some(), "it says what to do: {error}");
    // The administrator hears of it once, however often the store is asked.
    get(&opened.store, "key").unwrap_err();
    let told = take_notices(place);
    assert_eq!(told.len(), 1, "{told:?}");
    error
}

/// What the administrator was told of this store since it was asked last.
fn take_notices(place: &Place) -> Vec<String> {
    let here = place.0.to_str().unwrap();
    NOTICES.lock().unwrap().extract_if(.., |notice| notice.contains(here)).collect()
}

fn written(name: &str) -> Place {
    let place = Place::new(name);
    let opened = place.open();
    for number in 0..100 {
        let key = format!("key/{number}");
        write(&opened.store, vec![], vec![put(&key, vec![1; 1000])]).unwrap();
    }
    write(&opened.store, vec![], vec![put("key", "value")]).unwrap();
    place
}

#[test]
fn a_wrong_key_file_is_refused() {
    let place = written("wrong-key");
    let key = place.0.join("key");
    let right = std::fs::read(&key).unwrap();
    std::fs::set_permissions(&key, PermissionsExt::from_mode(0o644)).unwrap();
    refused(&place, ErrorKind::PermissionDenied, "chmod 600");
    std::fs::remove_file(&key).unwrap();
    refused(&place, ErrorKind::NotFound, "put the key file back");
    assert!(!key.exists(), "no other key takes its place");
    farcall_system::key_file::create(&key).unwrap();
    refused(&place, ErrorKind::Damaged, "not the one that the store was written with");
    std::fs::write(&key, right).unwrap();
    assert_eq!(get(&place.open().store, "key").unwrap().unwrap().value, b"value");
}

#[test]
fn a_folder_that_others_may_use_is_refused() {
    let place = written("open");
    std::fs::set_permissions(&place.0, PermissionsExt::from_mode(0o755)).unwrap();
    refused(&place, ErrorKind::PermissionDenied, "chmod 700");
}

#[test]
fn a_damaged_file_is_an_error_and_no_panic_of_the_server() {
    let place = written("damaged");
    let path = place.0.join("store.redb");
    let whole = std::fs::read(&path).unwrap();
    let lengths = [1, 100, whole.len() / 2];
    for length in lengths {
        std::fs::write(&path, &whole[..length]).unwrap();
        let opened = place.open();
        let error = get(&opened.store, "key").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Damaged, "{length} bytes: {error}");
    }
    std::fs::write(&path, vec![b'x'; whole.len()]).unwrap();
    refused(&place, ErrorKind::Damaged, "the file is damaged");
    // Whichever page is destroyed: a right value or an error.
    for page in 0..whole.len() / 4096 {
        std::fs::write(&path, &whole).unwrap();
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.write_all_at(&[0xa5; 4096], page as u64 * 4096).unwrap();
        let opened = place.open();
        match get(&opened.store, "key") {
            Ok(entry) => assert!(entry.is_none_or(|entry| entry.value == b"value"), "{page}"),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Damaged, "page {page}: {error}"),
        }
    }
    std::fs::write(&path, &whole).unwrap();
    assert_eq!(get(&place.open().store, "key").unwrap().unwrap().value, b"value");
}

/// Changes the sealed value of a key behind the store's back.
fn tamper(path: &Path, change: impl Fn(&mut Vec<u8>)) {
    const ENTRIES: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("entries");
    let database = Database::open(path).unwrap();
    let reading = database.begin_read().unwrap();
    let entries = reading.open_table(ENTRIES).unwrap();
    let mut record = entries.get("key").unwrap().unwrap().value().to_vec();
    let other = entries.range("key/1"..).unwrap().next().unwrap().unwrap().1.value().to_vec();
    change(&mut record);
    let record = if record.is_empty() { other } else { record };
    let writing = database.begin_write().unwrap();
    writing.open_table(ENTRIES).unwrap().insert("key", record.as_slice()).unwrap();
    writing.commit().unwrap();
}

#[test]
fn a_value_that_was_changed_or_moved_is_named_and_reported_once() {
    let changes: [fn(&mut Vec<u8>); 3] =
        [|record| *record.last_mut().unwrap() ^= 1, Vec::clear, |record| record.truncate(20)];
    for change in changes {
        let place = written("tampered");
        tamper(&place.0.join("store.redb"), change);
        let opened = place.open();
        for _ in 0..2 {
            let error = get(&opened.store, "key").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Damaged, "{error}");
            assert!(error.to_string().contains("name: key,"), "{error}");
        }
        assert_eq!(take_notices(&place).len(), 1);
        // Others are whole, and it can be written again.
        assert!(get(&opened.store, "key/7").unwrap().is_some());
        write(&opened.store, vec![], vec![put("key", "value")]).unwrap();
        assert_eq!(get(&opened.store, "key").unwrap().unwrap().value, b"value");
    }
}

const FULL: &str = "FARCALL_TEST_FULL_STORE";

#[test]
fn a_full_disk_says_so_and_loses_nothing() {
    if let Some(folder) = std::env::var_os(FULL) {
        return fill(Path::new(&folder));
    }
    let place = Place::new("disk");
    // A limit on the size of files stands in for the disk.
    let status = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 8192; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "tests::damage::a_full_disk_says_so_and_loses_nothing", "--nocapture"])
        .env(FULL, &place.0)
        .status();
    assert!(status.unwrap().success());
}

/// Writes until the disk is full; then what was acknowledged must be there.
fn fill(folder: &Path) {
    let opened = open(folder, "");
    let mut kept = 0;
    let error = loop {
        match write(&opened.store, vec![], vec![put(&format!("{kept}"), vec![3; 300_000])]) {
            Ok(version) => assert!(version.is_some()),
            Err(error) => break error,
        }
        kept += 1;
        assert!(kept < 100, "the disk is full some time");
    };
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
    assert!(error.to_string().contains("the disk with the store is full"), "{error}");
    for number in 0..kept {
        let entry = get(&opened.store, &format!("{number}")).unwrap().unwrap();
        assert_eq!(entry.value, vec![3; 300_000]);
    }
    // It goes on when there is room.
    let gone = farcall_services::store::Change::Delete { key: "0".to_owned() };
    write(&opened.store, vec![], vec![gone]).unwrap();
    assert!(get(&opened.store, "0").unwrap().is_none());
}
