//! The battery over a link with delay, a rate and loss, and what only virtual time can show.
#![allow(clippy::unwrap_used)]

use std::io::{ErrorKind, IoSlice, IoSliceMut};
use std::time::Duration;

use farcall_base::{Clock, Instant};
use farcall_link::stream::ByteStream;
use farcall_transport_battery::Rig;

use super::*;

fn rig() -> Rig {
    let network = Network::new(1);
    let plan = LinkPlan {
        delay_us: 300,
        rate_bytes_per_s: 100_000_000,
        loss: 0.001,
        queue_bytes: 256 << 10,
    };
    let maker = network.clone();
    Rig {
        pair: Box::new(move || {
            let pair = maker.pair(plan).unwrap();
            (pair.near, pair.far)
        }),
        pass_time: Box::new(move || advance(&network)),
    }
}

fn advance(network: &Network) {
    if let Some(at) = network.next_event() {
        network.advance_to(at);
    }
}

farcall_transport_battery::stamp!(super::rig);

fn send(stream: &mut Box<dyn ByteStream>, bytes: &[u8]) -> std::io::Result<usize> {
    stream.send(&[IoSlice::new(bytes)], &[])
}

fn receive(stream: &mut Box<dyn ByteStream>) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; 1 << 20];
    let count = stream.receive(&mut [IoSliceMut::new(&mut bytes)], &mut Vec::new())?;
    bytes.truncate(count);
    Ok(bytes)
}

/// Sends `bytes` while reading at the other end; returns when the last one arrived.
fn transfer(network: &Network, plan: LinkPlan, bytes: usize) -> Instant {
    let mut pair = network.pair(plan).unwrap();
    let mut sent = 0;
    let mut got = 0;
    while got < bytes {
        match send(&mut pair.near, &vec![0; bytes - sent]) {
            Ok(count) => sent += count,
            Err(error) => assert!(error.kind() == ErrorKind::WouldBlock && sent <= bytes),
        }
        match receive(&mut pair.far) {
            Ok(arrived) => got += arrived.len(),
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
        }
        if got < bytes {
            advance(network);
        }
    }
    network.now()
}

#[test]
fn delay_and_rate_are_what_the_plan_says() {
    let plan =
        LinkPlan { delay_us: 10_000, rate_bytes_per_s: 1_000_000, loss: 0.0, queue_bytes: 1 << 20 };
    let network = Network::new(1);
    let mut pair = network.pair(plan).unwrap();
    send(&mut pair.near, &[7; 1000]).unwrap();
    let due = Instant(11_000_000);
    assert_eq!(network.next_event(), Some(due), "1 ms on the wire and 10 ms of delay");
    network.advance_to(Instant(due.0 - 1));
    assert_eq!(receive(&mut pair.far).unwrap_err().kind(), ErrorKind::WouldBlock);
    network.advance_to(due);
    assert_eq!(receive(&mut pair.far).unwrap(), [7; 1000]);
    assert_eq!(network.now(), due);
}

#[test]
fn a_window_smaller_than_the_pipe_limits_the_rate() {
    // 100 KB per round trip of 100 ms: 1 MB/s on a link of 100 MB/s, as with TCP.
    let plan = LinkPlan {
        delay_us: 50_000,
        rate_bytes_per_s: 100_000_000,
        loss: 0.0,
        queue_bytes: 100_000,
    };
    let end = transfer(&Network::new(1), plan, 1_000_000);
    let seconds = end.since(Instant(0)).as_secs_f64();
    assert!((0.9..1.2).contains(&seconds), "{seconds} s");
}

#[test]
fn loss_costs_time_and_no_bytes() {
    let plan = LinkPlan { loss: 0.05, ..LinkPlan::default() };
    let network = Network::new(3);
    let end = transfer(&network, plan, 1_000_000);
    let lost = network
        .trace()
        .events()
        .iter()
        .filter(|(_, event)| matches!(event, Event::Lost { .. }))
        .count();
    assert!((15..80).contains(&lost), "{lost} of 685 segments");
    assert!(end.since(Instant(0)) >= Duration::from_millis(200), "a retransmission waits");
}

#[test]
fn nothing_overtakes_a_lost_segment() {
    let network = Network::new(11);
    let plan = LinkPlan { loss: 0.2, delay_us: 10, ..LinkPlan::default() };
    let mut pair = network.pair(plan).unwrap();
    // One segment each, so that the trace tells which one was lost first.
    (0..20).for_each(|_| assert_eq!(send(&mut pair.near, &[0; 1460]).unwrap(), 1460));
    let trace = network.trace();
    let first_loss =
        trace.events().iter().position(|(_, event)| matches!(event, Event::Lost { .. })).unwrap();
    assert!(
        (2..15).contains(&first_loss),
        "a seed whose first loss is in the middle, not {first_loss}"
    );
    network.advance_to(Instant(100_000_000));
    assert_eq!(
        receive(&mut pair.far).unwrap().len(),
        (first_loss - 1) * 1460,
        "what came before the lost one"
    );
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_does_not() {
    let run = |seed| {
        let network = Network::new(seed);
        transfer(&network, LinkPlan { loss: 0.02, ..LinkPlan::default() }, 300_000);
        transfer(&network, LinkPlan { loss: 0.1, delay_us: 7, ..LinkPlan::default() }, 100_000);
        network.trace()
    };
    assert_eq!(run(5), run(5));
    assert_eq!(run(5).fingerprint(), run(5).fingerprint());
    assert_ne!(run(5).fingerprint(), run(6).fingerprint());
}

#[test]
fn one_links_traffic_does_not_change_anothers_luck() {
    let plan = LinkPlan { loss: 0.1, ..LinkPlan::default() };
    let losses = |busy: bool| {
        let network = Network::new(9);
        let mut first = network.pair(plan).unwrap();
        let mut second = network.pair(plan).unwrap();
        if busy {
            send(&mut first.near, &[0; 50_000]).unwrap();
        }
        send(&mut second.near, &[0; 50_000]).unwrap();
        let of_second = |(_, event): &(Instant, Event)| match event {
            Event::Lost { link, .. } => *link == second.link,
            _ => false,
        };
        network.trace().events().iter().copied().filter(of_second).collect::<Vec<_>>()
    };
    assert!(!losses(true).is_empty());
    assert_eq!(losses(true), losses(false));
}

#[test]
fn a_crash_resets_both_ends_and_loses_what_was_under_way() {
    let network = Network::new(1);
    let mut pair = network.pair(LinkPlan::default()).unwrap();
    send(&mut pair.near, b"read").unwrap();
    advance(&network);
    send(&mut pair.near, b"lost").unwrap();
    network.crash(pair.link);
    network.crash(pair.link);
    for stream in [&mut pair.near, &mut pair.far] {
        assert_eq!(receive(stream).unwrap_err().kind(), ErrorKind::ConnectionReset);
        assert_eq!(send(stream, b"x").unwrap_err().kind(), ErrorKind::ConnectionReset);
    }
    while network.next_event().is_some() {
        advance(&network);
    }
    let crashes = network
        .trace()
        .events()
        .iter()
        .filter(|(_, event)| matches!(event, Event::Crashed { .. }))
        .count();
    assert_eq!(crashes, 1);
}

#[test]
fn a_link_that_loses_everything_breaks_in_the_end() {
    let network = Network::new(1);
    let mut pair = network.pair(LinkPlan { loss: 0.999_999, ..LinkPlan::default() }).unwrap();
    send(&mut pair.near, b"never").unwrap();
    send(&mut pair.near, b"arrives").unwrap();
    while network.next_event().is_some() {
        advance(&network);
    }
    assert_eq!(receive(&mut pair.far).unwrap_err().kind(), ErrorKind::ConnectionReset);
    let minutes = network.now().since(Instant(0)).as_secs_f64() / 60.0;
    assert!((0.5..10.0).contains(&minutes), "{minutes} min");
}

#[test]
fn what_is_sent_into_silence_arrives_when_it_ends() {
    let network = Network::new(1);
    let mut pair = network.pair(LinkPlan::default()).unwrap();
    send(&mut pair.near, b"before").unwrap();
    let until = Instant(0) + Duration::from_secs(3);
    network.silence(pair.link, until);
    send(&mut pair.near, b"after").unwrap();
    send(&mut pair.far, b"back").unwrap();
    network.advance_to(Instant(0) + Duration::from_secs(1));
    assert_eq!(receive(&mut pair.far).unwrap(), b"before");
    network.advance_to(until);
    assert_eq!(receive(&mut pair.far).unwrap_err().kind(), ErrorKind::WouldBlock);
    network.advance_to(until + Duration::from_secs(1));
    assert_eq!(receive(&mut pair.far).unwrap(), b"after");
    assert_eq!(receive(&mut pair.near).unwrap(), b"back");
}

#[test]
fn a_link_becomes_slower() {
    let took = |rate| {
        let network = Network::new(1);
        let mut pair = network.pair(LinkPlan::default()).unwrap();
        network.set_rate(pair.link, rate);
        send(&mut pair.near, &[0; 100_000]).unwrap();
        while network.next_event().is_some() {
            advance(&network);
        }
        network.now().since(Instant(0)).as_secs_f64()
    };
    let fast = took(1_000_000);
    let slow = took(100_000);
    assert!((0.09..0.11).contains(&fast), "{fast} s");
    assert!((0.9..1.1).contains(&slow), "{slow} s");
}

#[test]
fn impossible_plans_are_refused() {
    let network = Network::new(1);
    for plan in [
        LinkPlan { loss: 1.0, ..LinkPlan::default() },
        LinkPlan { loss: f64::NAN, ..LinkPlan::default() },
        LinkPlan { loss: -0.1, ..LinkPlan::default() },
        LinkPlan { queue_bytes: 0, ..LinkPlan::default() },
    ] {
        assert!(network.pair(plan).is_err(), "{plan:?}");
    }
}

#[test]
fn heap_memory_has_a_limit_and_adopts_nothing() {
    use farcall_link::memory::MemorySource;
    let memory = HeapMemory::new(1000);
    assert_eq!(memory.allocate(1000).unwrap().bytes(), 1000);
    assert!(memory.allocate(1001).is_err());
    assert!(memory.adopt(std::io::pipe().unwrap().0.into(), 10).is_err());
}
