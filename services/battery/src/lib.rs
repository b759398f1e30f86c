//! What every store must do: one battery of tests for all that fill the slot `store`.

mod changes;
pub mod etcd;
mod lasting;
mod pages;

use std::any::Any;
use std::time::{Duration, Instant};

use farcall_base::Result;
use farcall_services::mailbox::{Receiver, Reply, mailbox, question};
use farcall_services::store::{
    Change, Changed, Condition, Entry, LeaseId, Request, StoreHandle, Version,
};

/// Time in which any store answers, also on a machine with other work.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A store that is open. Dropped, it ends as with its process.
pub struct Opened {
    /// How it is asked.
    pub store: StoreHandle,
    /// What keeps it open.
    pub keeper: Box<dyn Any>,
}

/// Opens the store under test. It is called again when what it gave before was dropped, and then
/// finds what was written.
pub type Open<'a> = &'a dyn Fn() -> Opened;

/// One test.
pub type Test = fn(Open<'_>);

/// All tests with their names. Each uses keys that begin with its name.
pub const TESTS: [(&str, Test); 11] = [
    ("compare-and-set", changes::compare_and_set),
    ("conditions", changes::all_conditions_hold_or_nothing_is_written),
    ("deletion", changes::deletion),
    ("bounds", changes::requests_beyond_the_bounds_are_refused),
    ("largest", changes::the_largest_value_fits),
    ("counter", changes::threads_lose_no_increment),
    ("pages", pages::pages_are_in_order_and_complete),
    ("large-pages", pages::large_values_come_on_several_pages),
    ("reopened", lasting::what_is_written_outlasts_the_process),
    ("leases", lasting::leases_end_with_their_process),
    ("watch", lasting::a_watch_hears_of_each_change),
];

/// Runs all tests on one store.
pub fn run(open: Open<'_>) {
    for (name, test) in TESTS {
        let begin = Instant::now();
        test(open);
        println!("{name}: {:?}", begin.elapsed());
    }
}

/// Asks and waits.
///
/// # Errors
/// The store's.
pub fn ask<T: Send + 'static>(
    store: &StoreHandle,
    request: impl FnOnce(Reply<T>) -> Request,
) -> Result<T> {
    let (reply, answer) = question()?;
    store.ask(request(reply));
    answer.wait(PATIENCE)
}

/// Writes.
///
/// # Errors
/// The store's.
pub fn write(
    store: &StoreHandle,
    conditions: Vec<Condition>,
    changes: Vec<Change>,
) -> Result<Option<Version>> {
    ask(store, |reply| Request::Write { conditions, changes, reply })
}

/// Reads one page.
///
/// # Errors
/// The store's.
pub fn read(
    store: &StoreHandle,
    prefix: &str,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<Entry>> {
    let prefix = prefix.to_owned();
    let after = after.map(str::to_owned);
    ask(store, |reply| Request::Read { prefix, after, limit, reply })
}

/// Reads all pages.
///
/// # Errors
/// The store's.
pub fn read_all(store: &StoreHandle, prefix: &str, limit: usize) -> Result<Vec<Entry>> {
    let mut all: Vec<Entry> = Vec::new();
    loop {
        let after = all.last().map(|entry| entry.key.clone());
        let page = read(store, prefix, after.as_deref(), limit)?;
        if page.is_empty() {
            return Ok(all);
        }
        assert!(page.len() <= limit, "a page has at most as many entries as were asked for");
        all.extend(page);
    }
}

/// The value of one key.
///
/// # Errors
/// The store's.
pub fn get(store: &StoreHandle, key: &str) -> Result<Option<Entry>> {
    Ok(read(store, key, None, 1)?.into_iter().find(|entry| entry.key == key))
}

/// Begins a lease.
///
/// # Errors
/// The store's.
pub fn lease(store: &StoreHandle, time: Duration) -> Result<LeaseId> {
    ask(store, |reply| Request::Lease { time, reply })
}

/// A put without a lease.
pub fn put(key: &str, value: impl Into<Vec<u8>>) -> Change {
    Change::Put { key: key.to_owned(), value: value.into(), lease: None }
}

/// A put under a lease.
pub fn put_leased(key: &str, value: impl Into<Vec<u8>>, lease: LeaseId) -> Change {
    Change::Put { key: key.to_owned(), value: value.into(), lease: Some(lease) }
}

/// Watches, and waits until the watch has begun.
pub fn watch(store: &StoreHandle, prefix: &str) -> Receiver<Changed> {
    let (sender, mut inbox) = mailbox(1000).expect("there are descriptors");
    store.watch(prefix, sender.port(|changed| changed)).expect("the store takes a watch");
    let first = inbox.receive_timeout(PATIENCE);
    assert_eq!(first, Ok(Changed::Lost), "a watch begins with that");
    inbox
}

/// Waits until something holds.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < PATIENCE, "{what} within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Writes without conditions, `under_way` at a time, for about `time`. Gives the writes of a second.
pub fn writes_per_second(store: &StoreHandle, under_way: usize, time: Duration) -> f64 {
    let (sender, mut inbox) = mailbox(under_way).expect("there are descriptors");
    let begin = Instant::now();
    let send = |number: usize| {
        let key = format!("rate/{:04}", number % 1000);
        let reply = sender.reply(|answer: Result<Option<Version>>| answer).expect("there is room");
        let changes = vec![put(&key, vec![7; 200])];
        store.ask(Request::Write { conditions: vec![], changes, reply });
    };
    (0..under_way).for_each(send);
    let mut done = 0;
    while begin.elapsed() < time {
        let answer = inbox.receive_timeout(PATIENCE).expect("an answer comes");
        answer.expect("it writes");
        done += 1;
        send(done + under_way);
    }
    let rate = done as f64 / begin.elapsed().as_secs_f64();
    for _ in 0..under_way {
        drop(inbox.receive_timeout(PATIENCE).expect("an answer comes"));
    }
    rate
}
