//! A process that is killed in the middle of its writes: all that it was told is kept is there.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use farcall_base::Result;
use farcall_services::mailbox::mailbox;
use farcall_services::store::{Request, Version};
use farcall_store_battery::{PATIENCE, get, put};

use super::{Place, open};

const FOLDER: &str = "FARCALL_TEST_KILLED_STORE";
const FIRST: &str = "FARCALL_TEST_KILLED_FIRST";
const UNDER_WAY: u64 = 32;

#[test]
fn every_acknowledged_write_outlasts_kill_9() {
    if std::env::var_os(FOLDER).is_some() {
        return write_until_killed();
    }
    let place = Place::new("killed");
    let mut first = 0;
    for round in 0..5_u64 {
        let acknowledged = run_and_kill(&place, first, Duration::from_millis(150 + 90 * round));
        assert!(!acknowledged.is_empty(), "something was written in round {round}");
        let opened = place.open();
        for number in &acknowledged {
            let entry = get(&opened.store, &format!("killed/{number}")).unwrap();
            assert_eq!(entry.unwrap().value, value(*number), "write {number} of round {round}");
        }
        println!("round {round}: {} writes, all there", acknowledged.len());
        first = acknowledged.iter().max().unwrap() + UNDER_WAY + 1;
    }
}

/// The numbers of the writes that a process was told are kept, before it was killed.
fn run_and_kill(place: &Place, first: u64, time: Duration) -> Vec<u64> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tests::killed::every_acknowledged_write_outlasts_kill_9", "--nocapture"])
        .env(FOLDER, &place.0)
        .env(FIRST, first.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut acknowledged = Vec::new();
    let mut begin = None;
    for line in lines {
        let Some(number) = line.unwrap().strip_prefix("kept ").and_then(|text| text.parse().ok())
        else {
            continue;
        };
        acknowledged.push(number);
        if begin.get_or_insert_with(Instant::now).elapsed() > time {
            // SIGKILL. What it wrote to the pipe before is still read.
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    acknowledged
}

fn value(number: u64) -> Vec<u8> {
    number.to_le_bytes().repeat(1 + number as usize % 500)
}

fn write_until_killed() {
    let opened = open(std::env::var_os(FOLDER).unwrap().as_ref(), "");
    let first: u64 = std::env::var(FIRST).unwrap().parse().unwrap();
    let (sender, mut inbox) = mailbox(UNDER_WAY as usize).unwrap();
    let send = |number: u64| {
        let told = move |answer: Result<Option<Version>>| (number, answer);
        let reply = sender.reply(told).unwrap();
        let changes = vec![put(&format!("killed/{number}"), value(number))];
        opened.store.ask(Request::Write { conditions: vec![], changes, reply });
    };
    (first..first + UNDER_WAY).for_each(send);
    for next in first + UNDER_WAY.. {
        let (number, answer) = inbox.receive_timeout(PATIENCE).unwrap();
        assert!(answer.unwrap().is_some());
        // The line begins on its own: the harness prints before it.
        println!("\nkept {number}");
        send(next);
    }
}
