//! Hostile bytes give transactions or errors, never a panic, and no transaction that never ends.

use farcall_base::{ErrorKind, Instant, Random, Result, SeededRandom};
use farcall_golden::fuzz_rounds;
use farcall_graph::{Action, CallNumber, Failure, Graph, Limits, Place, ServerNumber, Transaction};

use crate::judge;
use crate::message::message;
use crate::plain::Plain;
use crate::world::random_graph;

fn below(random: &mut SeededRandom, count: usize) -> usize {
    (random.next() % count.max(1) as u64) as usize
}

/// Flipped, removed, repeated, or overwritten by what lengths look like.
fn mutate(random: &mut SeededRandom, bytes: &mut Vec<u8>, most: usize) {
    const LENGTHS: [u8; 9] = [0x00, 0x1b, 0x5f, 0x9f, 0xbf, 0xff, 0x9b, 0x5b, 0xf6];
    for _ in 0..=below(random, most) {
        if bytes.is_empty() {
            return;
        }
        let at = below(random, bytes.len());
        match below(random, 6) {
            0 => bytes[at] ^= 1 << below(random, 8),
            1 => bytes[at] = LENGTHS[below(random, LENGTHS.len())],
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(at..(at + 8).min(bytes.len()))),
            // Small numbers become other small numbers: rows that are sound, and wrong.
            4 => bytes[at] = below(random, 24) as u8,
            _ => bytes.extend_from_within(at..),
        }
    }
}

fn noise(random: &mut SeededRandom) -> Vec<u8> {
    let length = below(random, 80);
    (0..length).map(|_| random.next() as u8).collect()
}

#[test]
fn mutated_messages() {
    let rounds = fuzz_rounds(10_000);
    let mut read = 0;
    for seed in 0..rounds {
        let mut random = SeededRandom::new(seed);
        let mut bytes = message().encode();
        mutate(&mut random, &mut bytes, 4);
        read += u64::from(judge::message(&bytes));
    }
    // Were nearly all refused, or hardly any, the mutations would prove little.
    assert!((rounds / 20..rounds / 10 * 9).contains(&read), "{read} were read");
}

#[test]
fn random_bytes_as_messages_and_records() {
    let graph = random_graph::new(1, 5, true);
    for seed in 0..fuzz_rounds(20_000) {
        let bytes = noise(&mut SeededRandom::new(seed));
        judge::message(&bytes);
        // A record, as far as its version.
        for start in [&[][..], &[0x82, 0x01], &[0x82, 0x01, 0xa5, 0x01]] {
            let bytes = [start, &bytes].concat();
            assert!(restore(&graph, &[bytes]).is_err(), "seed {seed}");
        }
    }
}

fn restore(graph: &Graph, records: &[Vec<u8>]) -> Result<Transaction> {
    let records = records.iter().map(Vec::as_slice);
    let mean = |_: CallNumber| 1.0;
    Transaction::restore(
        Instant(9),
        graph.clone(),
        Limits::default(),
        mean,
        |_| 0.1,
        records,
        |server| server,
    )
}

/// Servers that know nothing from before, run each call at once, and refuse or lose some.
fn drive(transaction: &mut Transaction, random: &mut SeededRandom, steps: usize) {
    let mut now = 10;
    for server in 1..=3 {
        transaction.handle_server(Instant(now), ServerNumber(server), 2);
    }
    for _ in 0..steps {
        now += 50_000_000;
        let at = Instant(now);
        transaction.place(at, &Plain);
        transaction.hurry(at, &Plain);
        let Some(action) = transaction.poll_action() else {
            // Other servers from before do not come back.
            (0..300).for_each(|server| match server {
                1..=3 => {}
                _ => transaction.handle_lost(at, ServerNumber(server)),
            });
            transaction.place(at, &Plain);
            if transaction.is_over() {
                return;
            }
            continue;
        };
        react(transaction, at, action, random);
    }
}

fn react(transaction: &mut Transaction, at: Instant, action: Action, random: &mut SeededRandom) {
    match action {
        Action::Send { data, to } => transaction.handle_moved(at, data, to),
        Action::Move { data, from, to } => {
            // What a value's place from before says may be wrong.
            let has = transaction.places(data).any(|place| place == Place::Server(from));
            match has && random.next().is_multiple_of(2) {
                true => transaction.handle_moved(at, data, to),
                false => transaction.handle_not_moved(at, data, to),
            }
        }
        Action::Open { call, server, attempt, .. } => match random.next() % 8 {
            0 => {
                let message = "full".to_owned();
                let kind = ErrorKind::LimitExceeded;
                let failure = Failure { kind, message, has_run: false };
                transaction.handle_failed(at, call, server, attempt, failure);
            }
            _ => transaction.handle_returned(at, call, server, attempt),
        },
        Action::TakeUp { server, calls, data } => {
            for (call, attempt) in calls {
                transaction.handle_unknown(at, call, server, attempt);
            }
            for data in data {
                transaction.handle_gone(at, data, Place::Server(server));
                transaction.handle_not_moved(at, data, server);
            }
        }
        Action::Cancel { .. } | Action::Delete { .. } | Action::Ended { .. } => {}
    }
}

/// What is read of a damaged record may be wrong, but it ends.
#[test]
fn mutated_records() {
    let rounds = fuzz_rounds(4_000);
    let mut read = 0;
    for seed in 0..rounds {
        let mut random = SeededRandom::new(seed);
        let graph = random_graph::new(seed % 50, 12, seed % 3 > 0);
        let limits = Limits::default();
        let mut transaction = Transaction::new(Instant(1), graph.clone(), limits, |_| 1.0, |_| 0.1);
        drive(&mut transaction, &mut random, seed as usize % 60);
        let mut bytes = transaction.record_all();
        mutate(&mut random, &mut bytes, 2);
        let Ok(mut transaction) = restore(&graph, &[bytes]) else { continue };
        read += 1;
        drive(&mut transaction, &mut random, 3_000);
        assert!(transaction.is_over(), "seed {seed} does not end: {transaction:#?}");
    }
    assert!((rounds / 20..rounds / 10 * 9).contains(&read), "{read} were read");
}
