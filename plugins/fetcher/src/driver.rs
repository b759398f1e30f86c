//! The fetcher's driver: takes questions, starts a thread for each array that is fetched, delivers
//! the answers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use farcall_base::Result;
use farcall_services::fetcher::{Fetched, Question};
use farcall_services::mailbox::{Receiver, Reply, Sender};

use crate::fetch::World;
use crate::source::Rules;
use crate::state::{Job, State};
use crate::step::{Action, Event, step};

/// What arrives in the fetcher's mailbox.
pub(crate) enum Message {
    Question(Question),
    Ended(u64, Result<Fetched>),
    Stop,
}

pub(crate) fn run(
    mut state: State,
    world: World,
    sender: &Sender<Message>,
    mut receiver: Receiver<Message>,
) -> Result<()> {
    let world = Arc::new(world);
    let rules = Arc::new(state.rules.clone());
    let mut replies: BTreeMap<u64, Reply<Fetched>> = BTreeMap::new();
    let mut last = 0;
    while let Ok(message) = receiver.receive_timeout(Duration::MAX) {
        let event = match message {
            Message::Question(Question { wanted, reply }) => {
                last += 1;
                replies.insert(last, reply);
                Event::Asked { number: last, wanted }
            }
            Message::Ended(number, outcome) => {
                answer(&mut replies, number, outcome);
                Event::Ended
            }
            Message::Stop => Event::Stop,
        };
        let mut next = Some(event);
        while let Some(event) = next.take() {
            match step(&mut state, event) {
                Some(Action::Fetch(job)) => {
                    let number = job.number;
                    if let Err(error) = begin(job, &world, &rules, sender) {
                        answer(&mut replies, number, Err(error));
                        next = Some(Event::Ended);
                    }
                }
                Some(Action::Refuse { number, error }) => answer(&mut replies, number, Err(error)),
                Some(Action::Finish) => return Ok(()),
                None => {}
            }
        }
    }
    Ok(())
}

fn answer(replies: &mut BTreeMap<u64, Reply<Fetched>>, number: u64, outcome: Result<Fetched>) {
    if let Some(reply) = replies.remove(&number) {
        reply.answer(outcome);
    }
}

/// Fetches in a thread of its own, which ends within the time that the options give an array. A
/// thread that cannot be started drops the address of its outcome, and that reports it.
fn begin(job: Job, world: &Arc<World>, rules: &Arc<Rules>, sender: &Sender<Message>) -> Result<()> {
    let number = job.number;
    let reply = sender.reply(move |outcome| Message::Ended(number, outcome))?;
    let world = world.clone();
    let rules = rules.clone();
    let work = move || reply.answer(world.fetch(&job, &rules));
    drop(std::thread::Builder::new().name("fetcher".to_owned()).spawn(work));
    Ok(())
}
