//! Tests of the store in memory: what its clock decides. The rest is in the battery of all stores.

use std::time::Duration;

use farcall_base::{ErrorKind, Instant};

use super::MemoryStore;
use crate::mailbox::mailbox;
use crate::store::{Change, Changed, Condition, LeaseId};

const SECOND: Duration = Duration::from_secs(1);

fn put(key: &str, lease: Option<LeaseId>) -> Vec<Change> {
    vec![Change::Put { key: key.to_owned(), value: b"value".to_vec(), lease }]
}

#[test]
fn a_lease_that_is_not_kept_ends_with_its_keys() {
    let mut store = MemoryStore::new(1000);
    let start = Instant(0);
    let lease = store.lease(start, SECOND * 2).unwrap();
    store.write(start, &[], put("leased", Some(lease))).unwrap();
    store.write(start, &[], put("stays", None)).unwrap();
    store.keep(start + SECOND, lease).unwrap();
    assert_eq!(store.next_tick(), Some(start + SECOND * 3));
    assert_eq!(store.read(start + SECOND * 2, "", None, 9).unwrap().len(), 2);
    let left = store.read(start + SECOND * 3, "", None, 9).unwrap();
    assert_eq!(left.iter().map(|entry| entry.key.as_str()).collect::<Vec<_>>(), ["stays"]);
    assert_eq!(store.keep(start, lease).unwrap_err().kind(), ErrorKind::NotFound);
    let late = store.write(start, &[], put("leased", Some(lease))).unwrap_err();
    assert!(late.kind() == ErrorKind::NotFound && late.is_retryable(), "{late}");
}

#[test]
fn a_key_that_is_put_again_leaves_its_lease() {
    let mut store = MemoryStore::new(1000);
    let lease = store.lease(Instant(0), SECOND).unwrap();
    store.write(Instant(0), &[], put("key", Some(lease))).unwrap();
    store.write(Instant(0), &[], put("key", None)).unwrap();
    store.end(lease);
    assert_eq!(store.read(Instant(0), "key", None, 1).unwrap().len(), 1);
}

#[test]
fn a_full_store_refuses_and_has_room_again() {
    let mut store = MemoryStore::new(20);
    let now = Instant(0);
    store.write(now, &[], put("one", None)).unwrap();
    store.write(now, &[], put("two", None)).unwrap();
    let error = store.write(now, &[], put("three", None)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
    let mut swap = put("six", None);
    swap.push(Change::DeleteAll { prefix: "t".to_owned() });
    assert!(store.write(now, &[Condition::Absent("six".to_owned())], swap).unwrap().is_some());
}

#[test]
fn a_watch_that_was_full_is_told_to_read_again() {
    let mut store = MemoryStore::new(1000);
    let (sender, mut inbox) = mailbox::<Changed>(2).unwrap();
    store.watch("k".to_owned(), sender.port(|changed| changed));
    for key in ["k1", "other", "k2", "k3"] {
        store.write(Instant(0), &[], put(key, None)).unwrap();
    }
    let mut told = || std::iter::from_fn(|| inbox.try_receive().ok()).collect::<Vec<_>>();
    assert_eq!(told(), [Changed::Lost, Changed::Put("k1".to_owned())]);
    store.tick(Instant(0));
    assert_eq!(told(), [Changed::Lost]);
    store.write(Instant(0), &[], vec![Change::DeleteAll { prefix: "k".to_owned() }]).unwrap();
    assert_eq!(told(), [Changed::Gone("k1".to_owned()), Changed::Gone("k2".to_owned())]);
}
