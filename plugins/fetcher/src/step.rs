//! Event to actions: who may have what, and when. Pure.

use farcall_base::{Error, ErrorKind};
use farcall_services::fetcher::Wanted;

use crate::state::{Job, State};

/// What happened.
pub(crate) enum Event {
    /// Somebody wants an array.
    Asked { number: u64, wanted: Wanted },
    /// One is fetched, or could not be.
    Ended,
    /// The node stops.
    Stop,
}

/// What the driver is to do.
#[derive(Debug)]
pub(crate) enum Action {
    /// Fetch an array; tell [`Event::Ended`].
    Fetch(Job),
    /// Answer at once.
    Refuse { number: u64, error: Error },
    /// End.
    Finish,
}

pub(crate) fn step(state: &mut State, event: Event) -> Option<Action> {
    match event {
        Event::Asked { number, wanted } => match state.rules.locate(&wanted.url, &wanted.principal)
        {
            Ok(location) => admit(state, Job { number, location, wanted }),
            Err(error) => Some(Action::Refuse { number, error }),
        },
        Event::Ended => {
            state.fetching -= 1;
            let next = state.waiting.pop_front()?;
            state.fetching += 1;
            Some(Action::Fetch(next))
        }
        Event::Stop => Some(Action::Finish),
    }
}

fn admit(state: &mut State, job: Job) -> Option<Action> {
    if state.fetching < state.limits.at_once_max {
        state.fetching += 1;
        return Some(Action::Fetch(job));
    }
    if state.waiting.len() >= state.limits.waiting_max {
        let error = Error::new(
            ErrorKind::LimitExceeded,
            "fetch an array",
            "too many arrays are waiting to be fetched",
        )
        .with("waiting_max", state.limits.waiting_max)
        .fix("try again later, or raise waiting_max of the fetcher in farcall.toml")
        .retryable();
        return Some(Action::Refuse { number: job.number, error });
    }
    state.waiting.push_back(job);
    None
}
