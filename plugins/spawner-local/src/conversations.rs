//! Random conversations with `step` against what its actions promise. The seed is in the message of
//! a failure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use farcall_base::{Error, ErrorKind, ExecutableId, Instant, Random, SeededRandom};
use farcall_services::directory::{ExecutableImage, ImageKind, Trust};
use farcall_services::spawner::{ExitHow, Output};

use crate::state::{Settings, State};
use crate::step::{Action, Event, Signal, step};

const EXECUTABLES_MAX: usize = 3;

/// A driver that starts nothing, and notes what it was told.
#[derive(Default)]
struct World {
    /// Told to spawn, and not yet said how that went.
    starting: BTreeSet<ExecutableId>,
    /// Running, with the signals they got.
    running: BTreeMap<ExecutableId, Vec<Signal>>,
    asked: BTreeSet<u64>,
    finished: bool,
}

impl World {
    fn perform(&mut self, action: Action) {
        assert!(!self.finished, "nothing is done after the end");
        match action {
            Action::Refuse { request, .. } => {
                assert!(self.asked.remove(&request), "one decision per start")
            }
            Action::Spawn { request, executable, .. } => {
                assert!(self.asked.remove(&request), "one decision per start");
                assert!(
                    self.starting.insert(executable) && !self.running.contains_key(&executable)
                );
                assert!(self.starting.len() + self.running.len() <= EXECUTABLES_MAX);
            }
            Action::ReportStarted { executable } => assert!(self.running.contains_key(&executable)),
            Action::ReportFailed { executable, .. } => {
                assert!(!self.running.contains_key(&executable))
            }
            Action::Signal { executable, signal } => {
                // A signal to one that is only starting reaches nobody; `spawned` makes up for it.
                let Some(signals) = self.running.get_mut(&executable) else { return };
                assert!(!signals.contains(&Signal::Kill), "a kill is the last");
                signals.push(signal);
            }
            Action::ReportExited(exited) => assert!(!self.running.contains_key(&exited.executable)),
            Action::Finish => {
                assert!(self.running.is_empty() && self.starting.is_empty());
                self.finished = true;
            }
        }
    }
}

fn start(request: u64, executable: ExecutableId) -> Event {
    let kind = ImageKind::Linked { path: "/x".to_string() };
    let image = ExecutableImage {
        readable: Vec::new(),
        listed: Vec::new(),
        trust: Trust::Confined,
        kind,
        environment: Vec::new(),
        backend: String::new(),
        ranks: 0,
        resources: Default::default(),
        launcher: String::new(),
        executables_max: 0,
        module_text: Arc::from([]),
    };
    Event::Start { request, executable, module: String::new(), image: Box::new(image) }
}

/// Something that may happen in this world; also what is said of executables that are not there.
fn random_event(random: &mut SeededRandom, world: &mut World, request: u64) -> Event {
    let executable = ExecutableId(random.next() % 5);
    match random.next() % 8 {
        0 | 1 => {
            world.asked.insert(request);
            start(request, executable)
        }
        2 => Event::Stop { executable, grace: Duration::from_millis(random.next() % 50) },
        3 if world.starting.remove(&executable) => {
            world.running.insert(executable, Vec::new());
            Event::Spawned { executable }
        }
        4 if world.starting.remove(&executable) => Event::SpawnFailed {
            executable,
            error: Error::new(ErrorKind::Unavailable, "start", "no"),
        },
        5 if world.running.remove(&executable).is_some() => ended(executable),
        6 => Event::Output {
            executable,
            output: Output::Stderr,
            before: Instant(0),
            bytes: vec![b'x'; 9],
        },
        7 if random.next().is_multiple_of(40) => Event::Shutdown,
        _ => Event::Tick,
    }
}

#[test]
fn promises_hold_in_random_conversations() {
    for seed in 0..300 {
        let mut random = SeededRandom::new(seed);
        let mut state =
            State::new(Settings { executables_max: EXECUTABLES_MAX, ..Settings::default() });
        let mut world = World::default();
        for request in 0..400 {
            let event = random_event(&mut random, &mut world, request);
            step(&mut state, Instant(request * 10_000_000), event)
                .into_iter()
                .for_each(|action| world.perform(action));
            assert!(world.asked.is_empty(), "seed {seed}: a start without a decision");
            let known: BTreeSet<_> =
                world.starting.iter().chain(world.running.keys()).copied().collect();
            assert!(
                known.iter().eq(state.executables.keys()),
                "seed {seed}: the table has lost an executable"
            );
            if world.finished {
                break;
            }
        }
        end(&mut state, &mut world, seed);
    }
}

/// Whatever came before, a shutdown and enough time kill all that does not end by itself, and then
/// it is over.
fn end(state: &mut State, world: &mut World, seed: u64) {
    let late = Instant(u64::MAX / 2);
    for executable in std::mem::take(&mut world.starting) {
        world.running.insert(executable, Vec::new());
        step(state, late, Event::Spawned { executable })
            .into_iter()
            .for_each(|action| world.perform(action));
    }
    if !world.finished {
        step(state, late, Event::Shutdown).into_iter().for_each(|action| world.perform(action));
    }
    let later = late + Duration::from_secs(3600);
    step(state, later, Event::Tick).into_iter().for_each(|action| world.perform(action));
    let killed = |signals: &Vec<Signal>| signals.last() == Some(&Signal::Kill);
    assert!(
        world.running.values().all(killed),
        "seed {seed}: one would live on: {:?}",
        world.running
    );
    for executable in world.running.keys().copied().collect::<Vec<_>>() {
        world.running.remove(&executable);
        step(state, later, ended(executable)).into_iter().for_each(|action| world.perform(action));
    }
    assert!(world.finished, "seed {seed}");
}

fn ended(executable: ExecutableId) -> Event {
    Event::Ended { executable, how: ExitHow::Status(0), was_stopped: false }
}
