//! Writes: conditions, versions, deletions, bounds, and many writers at a time.

use farcall_base::ErrorKind;
use farcall_services::store::{
    CHANGES_MAX, Change, Condition, KEY_BYTES_MAX, LeaseId, StoreHandle, VALUE_BYTES_MAX,
    WRITE_BYTES_MAX,
};

use super::{Open, get, put, put_leased, read_all, write};

const THREADS: u64 = 8;
const INCREMENTS: u64 = 25;

fn absent(key: &str) -> Condition {
    Condition::Absent(key.to_owned())
}

pub(super) fn compare_and_set(open: Open<'_>) {
    let opened = open();
    let store = &opened.store;
    let key = "compare-and-set/key";
    assert_eq!(get(store, key).expect("it reads"), None);
    let first = write(store, vec![absent(key)], vec![put(key, "one")]).expect("it writes");
    let first = first.expect("there was none");
    assert_eq!(write(store, vec![absent(key)], vec![put(key, "two")]).expect("it answers"), None);
    let entry = get(store, key).expect("it reads").expect("it is there");
    assert_eq!((entry.value.as_slice(), entry.version), (&b"one"[..], first));
    let is_first = || vec![Condition::Is(key.to_owned(), first)];
    let second = write(store, is_first(), vec![put(key, "")]).expect("it writes");
    let second = second.expect("it is the first");
    assert!(second > first, "versions grow");
    assert_eq!(write(store, is_first(), vec![put(key, "three")]).expect("it answers"), None);
    let entry = get(store, key).expect("it reads").expect("it is there");
    assert_eq!((entry.value.as_slice(), entry.version), (&b""[..], second));
    // A key that went and came back is another one.
    write(store, vec![], vec![Change::Delete { key: key.to_owned() }]).expect("it deletes");
    let is_second = vec![Condition::Is(key.to_owned(), second)];
    assert_eq!(write(store, is_second, vec![put(key, "four")]).expect("it answers"), None);
    let third = write(store, vec![absent(key)], vec![put(key, [0, 255, 10])]).expect("it writes");
    assert!(third.expect("there was none") > second);
    let entry = get(store, key).expect("it reads").expect("it is there");
    assert_eq!(entry.value, [0, 255, 10]);
}

pub(super) fn all_conditions_hold_or_nothing_is_written(open: Open<'_>) {
    let opened = open();
    let store = &opened.store;
    let version = write(store, vec![], vec![put("conditions/a", "a"), put("conditions/ü", "b")]);
    let version = version.expect("it writes").expect("without conditions");
    let all = read_all(store, "conditions/", 10).expect("it reads");
    let shown: Vec<_> = all.iter().map(|entry| (entry.key.as_str(), entry.version)).collect();
    assert_eq!(shown, [("conditions/a", version), ("conditions/ü", version)]);
    let is_there = || Condition::Is("conditions/a".to_owned(), version);
    let changes = || {
        vec![
            put("conditions/c", "c"),
            Change::Delete { key: "conditions/a".to_owned() },
            Change::DeleteAll { prefix: "conditions/ü".to_owned() },
        ]
    };
    let no = write(store, vec![is_there(), absent("conditions/ü")], changes());
    assert_eq!(no.expect("it answers"), None);
    assert_eq!(read_all(store, "conditions/", 10).expect("it reads"), all, "nothing is written");
    let yes = write(store, vec![is_there(), absent("conditions/c")], changes());
    assert!(yes.expect("it writes").is_some());
    let left = read_all(store, "conditions/", 10).expect("it reads");
    assert_eq!(left.iter().map(|entry| entry.key.as_str()).collect::<Vec<_>>(), ["conditions/c"]);
    // A question alone: no changes.
    let asked = write(store, vec![absent("conditions/a")], vec![]);
    assert!(asked.expect("it answers").is_some());
}

pub(super) fn deletion(open: Open<'_>) {
    let opened = open();
    let store = &opened.store;
    let keys = ["deletion/a", "deletion/a/1", "deletion/a/2", "deletion/a0", "deletion/b"];
    write(store, vec![], keys.iter().map(|key| put(key, *key)).collect()).expect("it writes");
    let delete = |change| write(store, vec![], vec![change]).expect("it deletes");
    delete(Change::DeleteAll { prefix: "deletion/a/".to_owned() });
    delete(Change::Delete { key: "deletion/absent".to_owned() });
    let left = || read_all(store, "deletion/", 10).expect("it reads");
    let keys = |entries: &[farcall_services::store::Entry]| {
        entries.iter().map(|entry| entry.key.clone()).collect::<Vec<_>>()
    };
    assert_eq!(keys(&left()), ["deletion/a", "deletion/a0", "deletion/b"]);
    delete(Change::Delete { key: "deletion/a".to_owned() });
    assert_eq!(keys(&left()), ["deletion/a0", "deletion/b"]);
    let twice = vec![
        Change::Delete { key: "deletion/b".to_owned() },
        Change::DeleteAll { prefix: "deletion/".to_owned() },
    ];
    assert!(write(store, vec![], twice).expect("it deletes").is_some());
    assert_eq!(left(), []);
}

pub(super) fn requests_beyond_the_bounds_are_refused(open: Open<'_>) {
    let opened = open();
    let store = &opened.store;
    let refused = |conditions: Vec<Condition>, changes: Vec<Change>| {
        let error = write(store, conditions, changes).expect_err("it passes a bound");
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    };
    let many = |count: usize| (0..count).map(|n| put(&format!("bounds/{n:03}"), "x")).collect();
    assert!(write(store, vec![], many(CHANGES_MAX)).expect("it writes").is_some());
    refused(vec![], many(CHANGES_MAX + 1));
    refused(vec![absent("bounds/x"); CHANGES_MAX + 1], vec![]);
    assert!(
        write(store, vec![absent("bounds/x"); CHANGES_MAX], vec![]).expect("it asks").is_some()
    );
    let longest = "bounds/".to_owned() + &"k".repeat(KEY_BYTES_MAX - 7);
    assert!(write(store, vec![], vec![put(&longest, "x")]).expect("it writes").is_some());
    assert_eq!(get(store, &longest).expect("it reads").expect("it is there").value, b"x");
    refused(vec![], vec![put(&(longest + "k"), "x")]);
    refused(vec![], vec![put("", "x")]);
    refused(vec![], vec![Change::DeleteAll { prefix: String::new() }]);
    refused(vec![], vec![put("bounds/twice", "x"), put("bounds/twice", "y")]);
    let gone = Change::DeleteAll { prefix: "bounds/tw".to_owned() };
    refused(vec![], vec![put("bounds/twice", "x"), gone]);
    let half = vec![0; WRITE_BYTES_MAX / 2 + 1];
    refused(vec![], vec![put("bounds/1", half.clone()), put("bounds/2", half)]);
    let no_lease = vec![put_leased("bounds/leased", "x", LeaseId(987_654_321))];
    let error = write(store, vec![], no_lease).expect_err("there is no such lease");
    assert!(error.kind() == ErrorKind::NotFound && error.is_retryable(), "{error}");
    assert_eq!(get(store, "bounds/leased").expect("it reads"), None);
}

pub(super) fn the_largest_value_fits(open: Open<'_>) {
    let opened = open();
    let store = &opened.store;
    let value: Vec<u8> = (0..VALUE_BYTES_MAX).map(|index| (index * 7 % 251) as u8).collect();
    write(store, vec![], vec![put("largest/key", value.clone())]).expect("it writes");
    let read = get(store, "largest/key").expect("it reads").expect("it is there");
    assert!(read.value == value, "it came back as it was");
    let error = write(store, vec![], vec![put("largest/key", vec![0; VALUE_BYTES_MAX + 1])]);
    let error = error.expect_err("it is one byte too large");
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    let most = vec![
        put("largest/key", value.clone()),
        put("largest/other", vec![1; WRITE_BYTES_MAX - VALUE_BYTES_MAX]),
    ];
    write(store, vec![], most).expect("all values of a write fit");
    write(store, vec![], vec![Change::DeleteAll { prefix: "largest/".to_owned() }])
        .expect("it deletes");
}

/// One more, by compare-and-set.
fn increment(store: &StoreHandle, key: &str) {
    loop {
        let entry = get(store, key).expect("it reads").expect("it is there");
        let value: u64 = String::from_utf8_lossy(&entry.value).parse().expect("it is a number");
        let condition = vec![Condition::Is(key.to_owned(), entry.version)];
        let next = (value + 1).to_string();
        if write(store, condition, vec![put(key, next)]).expect("it writes").is_some() {
            return;
        }
    }
}

pub(super) fn threads_lose_no_increment(open: Open<'_>) {
    let opened = open();
    let key = "counter/value";
    write(&opened.store, vec![], vec![put(key, "0")]).expect("it writes");
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            let store = opened.store.clone();
            scope.spawn(move || (0..INCREMENTS).for_each(|_| increment(&store, key)));
        }
    });
    let entry = get(&opened.store, key).expect("it reads").expect("it is there");
    assert_eq!(entry.value, (THREADS * INCREMENTS).to_string().into_bytes());
}
