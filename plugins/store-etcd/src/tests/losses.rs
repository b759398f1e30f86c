//! Members that are killed: the leader under load, and so many that none can lead.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use farcall_base::{ErrorKind, Result};
use farcall_services::store::{Condition, StoreHandle};
use farcall_store_battery::{get, lease, put, put_leased, read_all, until, watch, write};

use super::open;
use farcall_store_battery::etcd::Cluster;

const KEY: &str = "losses/counter";

/// What became of increments.
#[derive(Default)]
struct Counts {
    done: AtomicU64,
    unknown: AtomicU64,
    refused: AtomicU64,
}

/// One more, by compare-and-set. Whether it was done.
fn increment(store: &StoreHandle, log: &str) -> Result<bool> {
    let Some(entry) = get(store, KEY)? else { return Ok(false) };
    let value: u64 = String::from_utf8_lossy(&entry.value).parse().unwrap();
    let condition = vec![Condition::Is(KEY.to_owned(), entry.version)];
    let changes = vec![put(KEY, (value + 1).to_string()), put(&format!("{log}/{value}"), "x")];
    Ok(write(store, condition, changes)?.is_some())
}

#[test]
fn a_killed_leader_costs_no_write_and_no_lease() {
    let Some(mut cluster) = Cluster::begin(3) else { return };
    let opened = open(&cluster, "");
    let store = &opened.store;
    let mut told = watch(store, "losses/");
    write(store, vec![], vec![put(KEY, "0")]).unwrap();
    let held = lease(store, Duration::from_secs(4)).unwrap();
    write(store, vec![], vec![put_leased("leased", "x", held)]).unwrap();
    let counts = Counts::default();
    let is_over = AtomicBool::new(false);
    let mut gap = Duration::ZERO;
    std::thread::scope(|scope| {
        for thread in 0..6 {
            let counts = &counts;
            let is_over = &is_over;
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    let count = match increment(store, &format!("losses/log{thread}")) {
                        Ok(true) => &counts.done,
                        Ok(false) => continue,
                        Err(error) if error.is_retryable() => &counts.refused,
                        Err(error) => {
                            assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
                            &counts.unknown
                        }
                    };
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for _ in 0..2 {
            std::thread::sleep(Duration::from_secs(2));
            let leader = cluster.await_leader();
            let before = counts.done.load(Ordering::Relaxed);
            let begin = Instant::now();
            cluster.kill(leader);
            until("writes go on", || counts.done.load(Ordering::Relaxed) > before + 20);
            gap = gap.max(begin.elapsed());
            cluster.start(leader);
        }
        std::thread::sleep(Duration::from_secs(1));
        is_over.store(true, Ordering::Relaxed);
    });
    let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
    let value: u64 =
        String::from_utf8(get(store, KEY).unwrap().unwrap().value).unwrap().parse().unwrap();
    println!(
        "two leaders killed: {} increments done, {} unknown, {} refused; no write for {gap:?}",
        of(&counts.done),
        of(&counts.unknown),
        of(&counts.refused)
    );
    assert!(value >= of(&counts.done) && value <= of(&counts.done) + of(&counts.unknown));
    // Each increment wrote one line, under the value that it found.
    let logged = read_all(store, "losses/log", 1000).unwrap().len() as u64;
    assert_eq!(logged, value, "no increment was done twice");
    assert!(get(store, "leased").unwrap().is_some(), "the lease was kept");
    // The watch went on at the members that were left, and missed nothing.
    let last = farcall_services::store::Changed::Put("losses/end".to_owned());
    write(store, vec![], vec![put("losses/end", "x")]).unwrap();
    let mut heard = 0;
    loop {
        let changed = told.receive_timeout(Duration::from_secs(60)).unwrap();
        heard += u64::from(format!("{changed:?}").contains("losses/log"));
        if changed == last {
            break;
        }
    }
    assert!(heard >= value, "{heard} of {value} changes were told");
}

#[test]
fn without_quorum_it_is_unavailable_in_time_and_goes_on_later() {
    let Some(mut cluster) = Cluster::begin(3) else { return };
    let opened = open(&cluster, "patience_ms = 3000\nattempt_ms = 1000");
    let store = &opened.store;
    let version = write(store, vec![], vec![put("key", "1")]).unwrap().unwrap();
    cluster.kill(0);
    cluster.kill(1);
    let unavailable = |answer: Result<()>, may_be_done: bool| {
        let error = answer.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert_eq!(error.is_retryable(), !may_be_done, "{error}");
        assert!(error.to_string().contains(&cluster.endpoints()[0]), "{error}");
    };
    let begin = Instant::now();
    unavailable(get(store, "key").map(drop), true);
    assert!(begin.elapsed() < Duration::from_secs(6), "{:?}", begin.elapsed());
    let condition = vec![Condition::Is("key".to_owned(), version)];
    unavailable(write(store, condition, vec![put("key", "2")]).map(drop), true);
    // With no member at all, nothing was done.
    cluster.kill(2);
    until("old connections are known to be closed", || {
        let error = write(store, vec![], vec![put("other", "x")]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        error.is_retryable()
    });
    (0..3).for_each(|index| cluster.start(index));
    cluster.await_leader();
    let entry = get(store, "key").unwrap().unwrap();
    assert!(entry.value == b"1" || entry.value == b"2");
    assert!(write(store, vec![], vec![put("key", "3")]).unwrap().is_some());
    assert!(get(store, "other").unwrap().is_none());
}
