//! A kept transaction whose client has gone, over three metaservers that share a store of three members
//! of etcd. Again and again one metaserver and one member are killed. All calls return once, since no
//! server with calls is lost; the results are found by another client, and nothing stays.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use farcall_base::{Random, SeededRandom, TransactionId};
use farcall_client::{Client, Data, Result};
use farcall_store_battery::etcd::Cluster;
use farcall_system::key_file;

use crate::graphs::{self, CHAIN, GROUP, Load, Verdict, Writer};
use crate::load::BOUND;
use crate::several::{self, World};

const METASERVERS: usize = 3;
/// How long those that were killed are gone; and every third metaserver, so that another one takes
/// the transaction up when the lease has ended.
const GONE: Duration = Duration::from_secs(1);
const GONE_LONG: Duration = Duration::from_secs(6);
/// Between two strikes: a metaserver takes what another one ran up in about as much.
const STRIKES: Duration = Duration::from_secs(5);
/// Calls that run at a time, about: what a strike costs is known from it.
const AT_ONCE: u64 = 6;
const DAY: Duration = Duration::from_secs(86_400);

/// How often somebody was killed, and the longest time in which no call ran.
#[derive(Default)]
struct Struck {
    metaservers: usize,
    members: usize,
}

/// What a metaserver has in its manifest: the store, and a lease that ends soon.
fn store(cluster: &Cluster) -> String {
    let key = cluster.folder().join("store-key");
    key_file::create(&key).unwrap();
    format!(
        "[[plugin]]\nname = \"store-etcd\"\nslot = \"store\"\n[plugin.options]\n\
         endpoints = {:?}\nkey_file = {key:?}\nplain_http = true\n",
        cluster.endpoints()
    )
}

/// Begins the transaction, and leaves.
fn begin(world: &World, groups: usize, load: Load, seed: u64) -> Result<TransactionId> {
    let client = world.client(0)?;
    let random = SeededRandom::new(seed + 1);
    let marks = world.marks_file().to_str().unwrap().to_owned();
    let mut writer = Writer { marks, client: &client, random, load };
    let written = writer.begin(0..groups)?;
    written.transaction.leave();
    Ok(written.transaction.id())
}

fn strike(
    world: &World,
    cluster: &mut Cluster,
    is_over: &AtomicBool,
    mut random: SeededRandom,
) -> Struck {
    let mut struck = Struck::default();
    let mut next = Instant::now() + STRIKES / 4;
    while !is_over.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(20));
        if Instant::now() < next {
            continue;
        }
        // The first one began the transaction.
        let metaserver = match struck.metaservers {
            0 => 0,
            _ => (random.next() % METASERVERS as u64) as usize,
        };
        let member = (random.next() % 3) as usize;
        let gone = if struck.metaservers % 3 == 2 { GONE_LONG } else { GONE };
        world.kill_node_for(metaserver, gone, || {
            cluster.kill(member);
            std::thread::sleep(GONE);
            cluster.start(member);
        });
        struck.metaservers += 1;
        struck.members += 1;
        next = Instant::now() + STRIKES - GONE;
    }
    struck
}

/// Waits for the end of the transaction, as any metaserver tells it; the longest time in which no
/// call ran.
fn wait(world: &World, id: TransactionId, calls: usize) -> (bool, Duration) {
    let mut last = (0, Instant::now());
    let mut pause = Duration::ZERO;
    let mut node = 0;
    loop {
        std::thread::sleep(Duration::from_millis(20));
        let ran = world.marks().len();
        if ran != last.0 {
            pause = pause.max(if last.0 > 0 { last.1.elapsed() } else { Duration::ZERO });
            last = (ran, Instant::now());
        }
        if last.1.elapsed() > 2 * BOUND {
            return (false, pause);
        }
        if ran < calls {
            continue;
        }
        node = (node + 1) % METASERVERS;
        let told = world.try_client(node).and_then(|client| client.transactions());
        if told.is_ok_and(|all| all.iter().any(|one| one.id == id && one.is_over)) {
            return (true, pause);
        }
    }
}

/// What the metaserver that has the transaction knows of its calls, and their results.
fn results(client: &Client, id: TransactionId) -> Result<Vec<Data>> {
    let wanted = client.transaction_results(id)?;
    let ids: Vec<_> = wanted.iter().map(|one| one.data).collect();
    Ok(client.data_of_all(&ids)?.into_iter().flatten().collect())
}

/// Runs so many calls while one metaserver and one member of etcd are killed again and again.
pub fn hold(calls: usize, lasts: Duration, seed: u64) {
    let Some(mut cluster) = Cluster::begin(3) else { return };
    let store = store(&cluster);
    let world = World::with(calls, METASERVERS, &|_| store.clone());
    world.settle();
    let groups = calls / GROUP / CHAIN * CHAIN;
    let all = groups * GROUP;
    // Half of the calls take no time, and the others half of the longest.
    let pause_us = 4 * AT_ONCE * lasts.as_micros() as u64 / all as u64;
    let load = Load { large: 2_000, pause_us, keep: Some(DAY) };
    let id = begin(&world, groups, load, seed).unwrap();
    let is_over = AtomicBool::new(false);
    let began = Instant::now();
    let (struck, (has_ended, pause)) = std::thread::scope(|scope| {
        let ended = scope.spawn(|| {
            let ended = wait(&world, id, all);
            is_over.store(true, Ordering::Relaxed);
            ended
        });
        let struck = strike(&world, &mut cluster, &is_over, SeededRandom::new(seed));
        (struck, ended.join().unwrap())
    });
    let took = began.elapsed();
    let mut verdict = Verdict::new(load);
    match has_ended {
        true => judge(&world, id, groups, &mut verdict),
        false => verdict.wrong.push(format!("it hangs\n{}", world.logs())),
    }
    if verdict.failed > 0 {
        verdict.wrong.push(format!("{} calls failed", verdict.failed));
    }
    let Struck { metaservers, members } = struck;
    let sum = format!(
        "{all} kept calls in {took:.1?}: {metaservers} metaservers and {members} members of etcd \
         killed, longest pause {pause:.1?}, {} runs, {} returned, {} failed; {} wrong",
        world.marks().values().sum::<usize>(),
        verdict.returned,
        verdict.failed,
        verdict.wrong.len()
    );
    println!("{sum}");
    let wrong = verdict.wrong;
    let shown: Vec<&str> = wrong.iter().take(20).map(String::as_str).collect();
    assert!(
        wrong.is_empty() && metaservers > 0,
        "FARCALL_SOAK_SEED={seed} FARCALL_SOAK_CALLS={calls}: {sum}\n  {}",
        shown.join("\n  ")
    );
}

/// Another client looks at what became of it, and ends it.
fn judge(world: &World, id: TransactionId, groups: usize, verdict: &mut Verdict) {
    let marks = world.marks();
    let client = world.client_of_all(METASERVERS).unwrap();
    let timeline = client.timeline(id).unwrap();
    let results = results(&client, id).unwrap();
    if results.len() != groups {
        verdict.wrong.push(format!("{} of {groups} results are there", results.len()));
    }
    if timeline.len() == groups * GROUP && results.len() == groups {
        verdict.judge_all((0, &timeline), &results, &marks);
    }
    drop(results);
    if let Err(error) = client.end_transactions(vec![id]) {
        verdict.wrong.push(format!("it cannot be ended: {error}"));
    }
    graphs::look_for_data(world, &client, METASERVERS + several::SERVERS, verdict);
    drop(client);
    verdict.wrong.extend(several::left_behind(world));
}
