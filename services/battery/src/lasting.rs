//! What outlasts a process, what ends with it, and what others hear of it.

use std::time::Duration;

use farcall_services::mailbox::Receiver;
use farcall_services::store::{Change, Changed, Condition};

use super::{Open, PATIENCE, get, lease, put, put_leased, read_all, until, watch, write};

pub(super) fn what_is_written_outlasts_the_process(open: Open<'_>) {
    let opened = open();
    let key = "reopened/key";
    let version = write(&opened.store, vec![], vec![put(key, "value")]).expect("it writes");
    let version = version.expect("without conditions");
    drop(opened);
    let opened = open();
    let entry = get(&opened.store, key).expect("it reads").expect("it is there");
    assert_eq!((entry.value.as_slice(), entry.version), (&b"value"[..], version));
    let is_it = vec![Condition::Is(key.to_owned(), version)];
    let next = write(&opened.store, is_it, vec![put(key, "next")]).expect("it writes");
    assert!(next.expect("it is the same version") > version);
}

pub(super) fn leases_end_with_their_process(open: Open<'_>) {
    let opened = open();
    let time = Duration::from_secs(2);
    let held = lease(&opened.store, time).expect("it gives a lease");
    let other = lease(&opened.store, time).expect("it gives another");
    assert_ne!(held, other);
    let changes = vec![
        put_leased("leases/held", "x", held),
        put_leased("leases/kept", "x", held),
        put("leases/plain", "x"),
    ];
    write(&opened.store, vec![], changes).expect("it writes");
    // A key that is put again without its lease stays.
    write(&opened.store, vec![], vec![put("leases/kept", "y")]).expect("it writes");
    std::thread::sleep(time * 2);
    let is_there = get(&opened.store, "leases/held").expect("it reads").is_some();
    assert!(is_there, "the store keeps leases while the process lives");
    drop(opened);
    let opened = open();
    until("a leased key goes", || get(&opened.store, "leases/held").expect("it reads").is_none());
    let left = read_all(&opened.store, "leases/", 10).expect("it reads");
    let left: Vec<&str> = left.iter().map(|entry| entry.key.as_str()).collect();
    assert_eq!(left, ["leases/kept", "leases/plain"]);
    let late = write(&opened.store, vec![], vec![put_leased("leases/late", "x", held)]);
    assert!(late.is_err(), "a lease ends with its process");
}

/// What a watch says until it says this; it may say things twice.
fn said_until(inbox: &mut Receiver<Changed>, last: &Changed) -> Vec<Changed> {
    let mut said: Vec<Changed> = Vec::new();
    loop {
        let changed = inbox.receive_timeout(PATIENCE).expect("a change is told");
        let is_last = changed == *last;
        if said.last() != Some(&changed) {
            said.push(changed);
        }
        if is_last {
            return said;
        }
    }
}

pub(super) fn a_watch_hears_of_each_change(open: Open<'_>) {
    let opened = open();
    let store = &opened.store;
    write(store, vec![], vec![put("watch/before", "x")]).expect("it writes");
    let mut inbox = watch(store, "watch/");
    let mut narrow = watch(store, "watch/b");
    let none = vec![Condition::Absent("watch/before".to_owned())];
    assert_eq!(write(store, none, vec![put("watch/no", "x")]).expect("it answers"), None);
    for changes in [
        vec![put("watch/a", "1")],
        vec![put("watched", "1")],
        vec![put("watch/b", "1"), Change::Delete { key: "watch/before".to_owned() }],
        vec![Change::DeleteAll { prefix: "watch/a".to_owned() }],
        vec![put("watch/end", "1")],
        vec![put("watch/bend", "1")],
    ] {
        write(store, vec![], changes).expect("it writes");
    }
    let said = said_until(&mut inbox, &Changed::Put("watch/end".to_owned()));
    let expected = |changed: &str, key: &str| match changed {
        "put" => Changed::Put(format!("watch/{key}")),
        _ => Changed::Gone(format!("watch/{key}")),
    };
    assert_eq!(said[0], expected("put", "a"));
    // The order within one write is the store's.
    for one in [expected("put", "b"), expected("gone", "before")] {
        assert!(said[1..3].contains(&one), "{said:?}");
    }
    assert_eq!(said[3..], [expected("gone", "a"), expected("put", "end")]);
    let said = said_until(&mut narrow, &Changed::Put("watch/bend".to_owned()));
    assert_eq!(said.len(), 3, "{said:?}");
}
