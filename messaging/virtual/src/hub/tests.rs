//! Runs whose members are threads of the test.

use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;

use farcall_wide_engines::Sites;

use super::*;
use crate::member::{Arrival, VirtualMember};
use crate::model::{Between, Gateway, Inside, MessageCost};

const US: u64 = 1000;

pub(crate) fn model(sites: &str) -> Model {
    let sites = Sites::read(sites).unwrap();
    let count = sites.count() as usize;
    let inside = Inside { latency: 20 * US, multicast: 65 * US, rate: 26_000_000 };
    let between = Between { latency: 350 * US, rate: 566_250 };
    Model {
        message: vec![MessageCost { time: 80 * US, rate: 0 }; count],
        inside: vec![inside; count],
        gateways: vec![Gateway { out: 200 * US, into: 800 * US }; count],
        between: vec![vec![between; count]; count],
        kernels: Vec::new(),
        sites,
    }
}

/// What came, and when.
#[derive(Default)]
struct Came(Vec<(Rank, Vec<u8>)>);

impl Arrival for Came {
    fn arrive(&mut self, from: Rank, message: &[u8]) -> Result<Vec<(Destination, Vec<u8>)>> {
        self.0.push((from, message.to_vec()));
        Ok(Vec::new())
    }
}

type Program = fn(Rank, &mut VirtualMember<UnixStream>) -> Result<()>;

fn run(sites: &str, program: Program) -> Result<Finished> {
    let model = model(sites);
    let mut streams = Vec::new();
    let mut threads: Vec<JoinHandle<Result<()>>> = Vec::new();
    for rank in model.sites.all() {
        let (mine, other) = UnixStream::pair().unwrap();
        streams.push((mine.try_clone().unwrap(), mine));
        let cost = MessageCost { time: 80 * US, rate: 0 };
        threads.push(std::thread::spawn(move || {
            let mut member = VirtualMember::join(other.try_clone().unwrap(), other, cost)?;
            let outcome = program(rank, &mut member);
            member.end(outcome.err().map(|error| error.to_string()))
        }));
    }
    let finished = Hub::new(model, streams).run();
    threads.into_iter().for_each(|thread| drop(thread.join().unwrap()));
    finished
}

fn there_and_back(rank: Rank, member: &mut VirtualMember<UnixStream>) -> Result<()> {
    let mut came = Came::default();
    let partner = Rank(1 - rank.0);
    if rank.0 == 0 {
        member.settle(&mut came)?;
        member.send(Destination::Member(partner), vec![])?;
    }
    while came.0.is_empty() {
        member.wait(&mut came, "a message")?;
    }
    if rank.0 == 1 {
        member.send(Destination::Member(partner), vec![])?;
    } else {
        member.answer("it came back")?;
    }
    Ok(())
}

#[test]
fn a_message_there_and_back_takes_what_the_platform_says() {
    // Each message: 80 us to send, the way, 80 us to receive.
    let inside = run("2", there_and_back).unwrap();
    assert_eq!((inside.time, inside.answer.as_deref()), (360 * US, Some("it came back")));
    let between = run("1+1", there_and_back).unwrap();
    assert_eq!((between.time, between.traffic.between_messages), (2 * (160 + 1350) * US, 2));
    assert_eq!(run("1+1", there_and_back).unwrap().trace, between.trace);
    assert_ne!(inside.trace, between.trace);
}

#[test]
fn messages_lengthen_the_work_of_a_member() {
    let finished = run("2", |rank, member| {
        let mut came = Came::default();
        if rank.0 == 0 {
            for _ in 0..3 {
                member.settle(&mut came)?;
                member.send(Destination::Member(Rank(1)), vec![1])?;
            }
            return Ok(());
        }
        member.work(10_000 * US);
        member.settle(&mut came)?;
        assert_eq!(came.0.len(), 3, "they came meanwhile");
        Ok(())
    });
    let finished = finished.unwrap();
    assert_eq!((finished.time, finished.work), (10_240 * US, 10_000 * US));
}

#[test]
fn members_that_wait_for_one_another_are_named() {
    let error = run("2+1", |rank, member| match rank.0 {
        1 => Ok(()),
        _ => loop {
            member.wait(&mut Came::default(), "a message of nobody")?;
        },
    });
    let text = error.unwrap_err().to_string();
    assert!(text.contains("0 waits for a message of nobody"), "{text}");
    assert!(text.contains("2 waits for") && !text.contains("1 waits for"), "{text}");
}

#[test]
fn a_member_that_goes_ends_the_run() {
    let error = run("2", |rank, member| match rank.0 {
        0 => member.wait(&mut Came::default(), "nothing"),
        _ => Err(Error::internal("compute", "it cannot")),
    });
    let text = error.unwrap_err().to_string();
    assert!(text.contains("it cannot") && text.contains("member: 1"), "{text}");
}

#[test]
fn members_that_disagree_are_told() {
    let error = run("2", |rank, member| {
        member.declare(Declared {
            number: ThingNumber(1),
            name: "rows".into(),
            description: format!("halo of {} bytes", 8 + rank.0),
        })
    });
    let text = error.unwrap_err().to_string();
    assert!(text.contains("halo of 8 bytes") && text.contains("halo of 9 bytes"), "{text}");
}
