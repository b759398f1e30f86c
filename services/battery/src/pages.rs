//! Reads: order, pages, prefixes.

use farcall_services::store::{Change, StoreHandle, VALUE_BYTES_MAX};

use super::{Open, put, read, read_all, write};

fn write_many(store: &StoreHandle, changes: Vec<Change>) {
    for part in changes.chunks(50) {
        write(store, vec![], part.to_vec()).expect("it writes");
    }
}

pub(super) fn pages_are_in_order_and_complete(open: Open<'_>) {
    let opened = open();
    let store = &opened.store;
    let mut keys: Vec<String> = (0..230).map(|number| format!("pages/{}", number * 7)).collect();
    write_many(store, keys.iter().rev().map(|key| put(key, key.as_str())).collect());
    write_many(store, vec![put("pages", "x"), put("pages0", "x"), put("page", "x")]);
    keys.sort_unstable();
    for limit in [1000, 230, 229, 100, 7] {
        let all = read_all(store, "pages/", limit).expect("it reads");
        assert!(all.iter().all(|entry| entry.key.as_bytes() == entry.value));
        let read: Vec<&str> = all.iter().map(|entry| entry.key.as_str()).collect();
        assert_eq!(read, keys, "with {limit} on a page");
    }
    let page = |prefix, after, limit| {
        let page = read(store, prefix, after, limit).expect("it reads");
        page.into_iter().map(|entry| entry.key).collect::<Vec<_>>()
    };
    assert_eq!(page("pages/", None, 2), keys[..2]);
    assert_eq!(page("pages/", Some(&keys[1]), 2), keys[2..4]);
    // What is named as the last one need not be there, nor begin so.
    assert_eq!(page("pages/", Some("pages/0zzz"), 1), keys[1..2]);
    assert_eq!(page("pages/", Some("a"), 1), keys[..1]);
    assert_eq!(page("pages/", Some("z"), 1), Vec::<String>::new());
    assert_eq!(page("pages/", None, 0), Vec::<String>::new());
    assert_eq!(page("pages/none", None, 9), Vec::<String>::new());
    assert_eq!(page("page", None, 2), ["page", "pages"]);
    write(store, vec![], vec![Change::DeleteAll { prefix: "page".to_owned() }])
        .expect("it deletes");
}

pub(super) fn large_values_come_on_several_pages(open: Open<'_>) {
    let opened = open();
    let store = &opened.store;
    let keys: Vec<String> = (0..20).map(|number| format!("large-pages/{number:02}")).collect();
    for (number, key) in keys.iter().enumerate() {
        let value = vec![number as u8; VALUE_BYTES_MAX];
        write(store, vec![], vec![put(key, value)]).expect("it writes");
    }
    let first = read(store, "large-pages/", None, 1000).expect("it reads");
    assert!((1..20).contains(&first.len()), "{} MiB do not come at once", first.len());
    let all = read_all(store, "large-pages/", 1000).expect("it reads");
    assert_eq!(all.iter().map(|entry| entry.key.as_str()).collect::<Vec<_>>(), keys);
    for (number, entry) in all.iter().enumerate() {
        assert!(entry.value == vec![number as u8; VALUE_BYTES_MAX], "value {number}");
    }
    let gone = vec![Change::DeleteAll { prefix: "large-pages/".to_owned() }];
    write(store, vec![], gone).expect("it deletes");
}
