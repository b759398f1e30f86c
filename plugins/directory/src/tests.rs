//! Tests of the whole plugin through its handle, and of the table invariants under random requests.

use std::time::Duration;

use farcall_base::{ErrorKind, Random, SeededRandom};
use farcall_kernel::{Manifest, Node, Options};
use farcall_services::directory::{Reach, Request, Response, Visible};
use farcall_services::mailbox::mailbox;

use super::*;
use crate::golden::publication;
use crate::state::State;
use crate::step::{Action, Event, step};

const PATIENCE: Duration = Duration::from_secs(20);

fn resolve(name: &str) -> Request {
    Request::Resolve { name: name.to_string(), visible: Visible::All, reach: Reach::Here }
}

#[test]
fn options_text_says_the_defaults_and_names_every_key() {
    let options = Options::from_text("options.toml", plugin().options).unwrap();
    assert_eq!(options.read::<Limits>().unwrap(), Limits::default());
    let shown = format!("{:?}", Limits::default());
    let keys = shown.matches(':').count();
    assert_eq!(plugin().options.lines().filter(|line| line.contains(" = ")).count(), keys);
}

#[test]
fn limits_that_let_nothing_be_published_are_refused() {
    for key in [
        "modules_max",
        "routines_max",
        "names_per_routine_max",
        "interface_bytes_max",
        "requests_max",
        "watches_max",
    ] {
        let options =
            |value: u32| Options::from_text("farcall.toml", &format!("{key} = {value}")).unwrap();
        let error = (plugin().construct)(&options(0)).err().unwrap().to_string();
        assert!(
            error.contains(&format!("{key} is 0")) && error.contains("set at least 1"),
            "{error}"
        );
        assert!((plugin().construct)(&options(1)).is_ok(), "{key}");
    }
}

#[test]
fn serves_through_its_handle_until_the_node_stops() {
    let node = Node::start(&Manifest::of(&[plugin()]).unwrap(), &[plugin()]).unwrap();
    let directory: DirectoryHandle = node.service(SLOT).unwrap();
    let publish = Request::Publish(publication("lapack", &["dgesv"]));
    assert!(matches!(directory.ask_and_wait(publish, PATIENCE), Ok(Response::Published(_))));
    let found = directory.ask_and_wait(resolve("dgesv"), PATIENCE);
    assert!(matches!(found, Ok(Response::Resolved(routine)) if routine.module.generation == 1));
    node.stop().unwrap();
    let error = directory.ask_and_wait(resolve("dgesv"), PATIENCE).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ShuttingDown, "a handle may outlive its directory");
}

#[test]
fn a_change_is_known_before_its_publisher_hears_of_it() {
    let node = Node::start(&Manifest::of(&[plugin()]).unwrap(), &[plugin()]).unwrap();
    let directory: DirectoryHandle = node.service(SLOT).unwrap();
    let revision = |answer| match answer {
        Ok(Response::Changed { revision }) => revision,
        other => panic!("{other:?}"),
    };
    let (sender, mut receiver) = mailbox(8).unwrap();
    let mut known = 0;
    for round in 1..=3 {
        directory.ask(Request::Watch { revision: known }, sender.reply(|answer| answer).unwrap());
        let publish = Request::Publish(publication("lapack", &["dgesv"]));
        directory.ask_and_wait(publish, PATIENCE).unwrap();
        known = revision(receiver.try_receive().expect("it is in the mailbox already"));
        assert_eq!(known, round);
    }
    // Who missed a change hears of it at once; who waits when the directory ends is told.
    assert_eq!(revision(directory.ask_and_wait(Request::Watch { revision: 1 }, PATIENCE)), 3);
    directory.ask(Request::Watch { revision: 3 }, sender.reply(|answer| answer).unwrap());
    node.stop().unwrap();
    assert_eq!(receiver.try_receive().unwrap().unwrap_err().kind(), ErrorKind::ShuttingDown);
}

#[test]
fn a_wrong_option_is_refused_by_name() {
    let options = Options::from_text("farcall.toml", "routine_max = 3").unwrap();
    let error = (plugin().construct)(&options).err().unwrap();
    assert_eq!(error.advice(), Some("did you mean \"routines_max\"?"));
}

#[test]
fn hostile_names_are_repeated_bounded_and_escaped() {
    let mut state = State::new(Limits::default());
    // An escape sequence that clears the terminal of whoever reads the error, and a megabyte of
    // name.
    let hostile = format!("\x1b[2J{}", "x".repeat(1 << 20));
    let publish = Request::Publish(publication(&hostile, &[]));
    for request in [publish, Request::Withdraw { module: hostile.clone() }, resolve(&hostile)] {
        let Some(Action::Answer { answer, .. }) =
            step(&mut state, Event::Asked { number: 1, request }).pop()
        else {
            panic!("every request has an answer")
        };
        let message = answer.unwrap_err().to_string();
        assert!(message.len() < 300 && !message.contains('\x1b'), "{message}");
    }
}

/// Names from a tiny set, so that modules collide, replace one another and grow ambiguous all the
/// time.
fn random_request(random: &mut SeededRandom) -> Request {
    let name =
        |random: &mut SeededRandom| ["a", "b", "c", "d"][(random.next() % 4) as usize].to_string();
    let module = ["", "x", "y", "z"][(random.next() % 4) as usize];
    match random.next() % 5 {
        0 | 1 => {
            let routine = format!("{}({})", name(random), name(random));
            Request::Publish(publication(module, &[routine.as_str(), name(random).as_str()]))
        }
        2 => Request::Withdraw { module: module.to_string() },
        3 => Request::Resolve {
            name: format!("{module}/{}", name(random)),
            visible: Visible::All,
            reach: Reach::Everywhere,
        },
        _ => Request::Resolve { name: name(random), visible: Visible::All, reach: Reach::Here },
    }
}

#[test]
fn the_index_always_agrees_with_the_modules() {
    let mut random = SeededRandom::new(7);
    let mut state = State::new(Limits { modules_max: 3, routines_max: 5, ..Limits::default() });
    for number in 0..20_000 {
        let request = random_request(&mut random);
        step(&mut state, Event::Asked { number, request });
        let mut listed: Vec<String> = state
            .routines()
            .flat_map(|routine| {
                let interface = routine.routine.interface.clone();
                std::iter::once(interface.name).chain(interface.aliases)
            })
            .collect();
        let seen = state.seen(&Visible::All, Reach::Here);
        let indexed: usize = seen.bare_names().map(|name| seen.routines_called(name).len()).sum();
        assert_eq!(listed.len(), indexed, "each name of each routine is in the index once");
        listed.sort();
        listed.dedup();
        assert!(seen.bare_names().eq(listed.iter().map(String::as_str)));
        assert!(state.routines().count() <= 5 && seen.module_names().count() <= 3);
    }
}
