//! A call under way, as programs see it.

mod conditions;
mod farmed;
mod news;
mod nulls;
mod staying;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use farcall_base::{CallId, Error, ErrorKind, Result};
use farcall_wire::Failure;

use crate::argument::{Null, Passed};
use crate::client::{CallOptions, Client};
use crate::contract::Contract;
use crate::results::Outputs;
use crate::routine::Routine;
use crate::session::{CallbackTimes, Session, Stays, Told, Transfer, earlier};
use crate::view::{Apart, Place, Placed, Server, hinting, open_placed, open_there};
use conditions::{audience_of, conditions};
pub(crate) use farmed::Farmed;
pub use news::News;
use staying::Staying;

/// Time after a call's deadline in which the server's own word on it counts still: it says more
/// than ours. Then the caller hears that its time is over, whatever the server does.
const LAST_WORD: Duration = Duration::from_millis(250);

#[cold]
fn early_end() -> Error {
    Error::internal("wait for a call", "a wait without a time limit ended early")
}

/// A call under way. Dropping it asks the server to end the call, unless that is kept, and waits
/// for nothing: the call's arrays are not used any more.
pub struct PendingCall {
    pub(crate) client: Client,
    /// The connection it goes over.
    pub(crate) session: Arc<Session>,
    /// How its server was found, where there are several.
    pub(crate) placed: Option<Placed>,
    /// What is kept of it where it did not run where it was placed.
    pub(crate) apart: Option<Box<Apart>>,
    /// Whether it counts among the calls of the server that was connected to.
    pub(crate) counts: bool,
    pub(crate) number: u64,
    deadline: Option<Instant>,
    pub(crate) contract: Arc<Contract>,
    collected: bool,
    /// Its id, if it goes on without this program.
    id: Option<CallId>,
    /// Why it is over, where the server never said that it goes on without this program, and its
    /// outcome was collected.
    refused: Option<Failure>,
    /// What was passed as NULL.
    nulls: Vec<Null>,
    /// Its results that stay.
    stays: Option<Box<Staying>>,
}

impl PendingCall {
    /// Opens a call; `None` when the server does not take one more within `wait`. A farm's has its
    /// label already, and does not wait for room as long as for a server.
    pub(crate) fn open(
        client: Client,
        contract: &Arc<Contract>,
        mut passed: Passed,
        options: &CallOptions,
        wait: Option<Duration>,
        farmed: Option<Farmed>,
    ) -> Result<Option<PendingCall>> {
        if farmed.is_none() {
            passed.label = options.label.clone();
        }
        contract.fill_left_out(&mut passed.arguments);
        if options.stay.is_any() || passed.has_data() {
            return PendingCall::open_beside_data(
                client,
                contract,
                passed,
                options,
                (wait, farmed),
            );
        }
        let waits = (wait, farmed);
        PendingCall::open_passed(client, contract, passed, options, waits, (None, None))
    }

    /// Opens a call whose arguments are complete: there, if it is known where.
    // Inside its callers, the call is not moved once more.
    #[inline(always)]
    fn open_passed(
        client: Client,
        contract: &Arc<Contract>,
        passed: Passed,
        options: &CallOptions,
        (wait, farmed): (Option<Duration>, Option<Farmed>),
        (stays, there): (Option<Stays>, Option<Place>),
    ) -> Result<Option<PendingCall>> {
        let deadline = options.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let keep = options.keep.map(|keep| client.keep(keep)).transpose()?;
        let audience = audience_of(options, &farmed);
        let conditions = conditions(options, audience, deadline, keep, stays);
        let nulls = passed.nulls();
        let mut asked = Some((passed, conditions));
        let room = farmed.map_or(wait, |farmed| Some(farmed.room));
        let (place, number) = if let Some(place) = there {
            let opened = open_there(&client, contract, &mut asked, &place, room)?;
            let Some(number) = opened else { return Ok(None) };
            (Some(place), number)
        } else if contract.placing.is_some() || options.at.is_some() {
            let opened = open_placed(&client, contract, &mut asked, options, (wait, room))?;
            let Some((place, number)) = opened else { return Ok(None) };
            (Some(place), number)
        } else {
            let opened = client.session().open(contract, &mut asked, None, room)?;
            let Some(number) = opened else { return Ok(None) };
            (None, number)
        };
        let mut call = PendingCall {
            session: client.session().clone(),
            placed: None,
            apart: None,
            counts: false,
            client,
            number,
            deadline,
            contract: contract.clone(),
            collected: false,
            id: keep.map(|(id, _)| id),
            refused: None,
            nulls,
            stays: None,
        };
        if place.is_some() || call.client.view().is_plural() {
            call.begins(place);
        }
        Ok(Some(call))
    }

    /// It was opened, there or at the server that was connected to.
    #[inline(never)]
    fn begins(&mut self, place: Option<Place>) {
        let Some(place) = place.filter(|place| place.placed.is_some()) else {
            self.client.view().home().count(self.client.view(), true);
            self.counts = true;
            return;
        };
        // As it was opened.
        self.id = self.id.map(|id| hinting(id, place.elsewhere(&self.client)));
        let is_low = place.placed.as_ref().filter(|placed| placed.is_low).map(|it| it.grant);
        self.goes_to(place, false);
        if let Some(grant) = is_low {
            self.client.view().see_to_next(&self.contract, grant);
        }
    }

    /// Takes up a call that was made before, by anybody.
    pub(crate) fn seek(
        client: Client,
        (server, session): (&Arc<Server>, Arc<Session>),
        id: CallId,
        options: &CallOptions,
        patience: Duration,
    ) -> Result<PendingCall> {
        let now = Instant::now();
        let deadline = options.timeout.and_then(|timeout| now.checked_add(timeout));
        let keep = Some((id, None));
        let audience = audience_of(options, &None);
        let conditions = conditions(options, audience, deadline, keep, None);
        let until = earlier(deadline, now.checked_add(patience));
        let late = || {
            Error::new(ErrorKind::TimedOut, "fetch a call", "no answer in time").with("call", id)
        };
        let found = session.seek(id, conditions, until)?.ok_or_else(late)?;
        Ok(PendingCall::taken_up(client, (server, session), (id, found), deadline))
    }

    /// A call that was made before, with this number here.
    fn taken_up(
        client: Client,
        (server, session): (&Arc<Server>, Arc<Session>),
        (id, (number, contract)): (CallId, (u64, Arc<Contract>)),
        deadline: Option<Instant>,
    ) -> PendingCall {
        let mut call = PendingCall {
            client,
            session: session.clone(),
            placed: None,
            apart: None,
            counts: false,
            number,
            deadline,
            contract,
            collected: false,
            id: Some(id),
            refused: None,
            nulls: Vec::new(),
            stays: None,
        };
        if !Arc::ptr_eq(server, call.client.view().home()) {
            let placed = Some(Placed::bound(server.clone()));
            call.goes_to(Place { session, placed }, false);
        }
        call
    }

    /// What [`Client::fetch`] finds the call by, from any process of the same user: of calls that
    /// go on without this program, and of those that were fetched.
    pub fn id(&self) -> Option<CallId> {
        self.id
    }

    /// Waits until the server has said that the call goes on without this program, for at most
    /// `timeout`; false if it has not by then. True, too, for a call that returned before: nothing
    /// of it can be lost. Until then its id is nobody's.
    ///
    /// # Errors
    /// Why it is over, if the server never said so: `ConnectionLost` where that stands still, its
    /// refusal, `TimedOut` when the call's own time is over.
    pub fn wait_kept(&mut self, timeout: Option<Duration>) -> Result<bool> {
        let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        if !self.collected {
            let is_kept = self.session.wait_kept(self.number, earlier(until, self.deadline))?;
            self.refused = self.session.refusal(self.number);
            if !is_kept && self.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                return Err(self.not_kept_in_time());
            }
            if !is_kept {
                return Ok(false);
            }
        }
        self.refused.clone().map_or(Ok(true), |failure| Err(failure.into()))
    }

    fn not_kept_in_time(&self) -> Error {
        Error::new(
            ErrorKind::TimedOut,
            "submit a call",
            "timed out before the server confirmed that it keeps the call",
        )
        .with("routine", &self.contract.name)
        .fix("raise timeout=; `farcall kept` shows whether the server has the call")
    }

    /// What it calls.
    pub fn routine(&self) -> Routine {
        Routine { client: self.client.clone(), contract: self.contract.clone() }
    }

    /// Sees the call on its way, as far as the server takes it.
    pub(crate) fn push(self) -> PendingCall {
        self.session.push(self.deadline);
        self
    }

    /// The call's number, as [`Client::next_finished`] tells it.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whether the call is over; never waits.
    ///
    /// # Errors
    /// The call's own error if it failed: then it is collected.
    pub fn poll(&mut self) -> Result<Option<Outputs>> {
        self.client.process()?;
        self.collect(Some(Instant::now()))
    }

    /// Waits for at most `timeout`.
    ///
    /// # Errors
    /// As [`PendingCall::poll`].
    pub fn wait_for(&mut self, timeout: Duration) -> Result<Option<Outputs>> {
        self.collect(Instant::now().checked_add(timeout))
    }

    /// Until when to wait with that deadline: for the server's own word, too, if the
    /// deadline comes first. Who only looks waits for nothing.
    fn patience(&self, until: Option<Instant>) -> Option<Instant> {
        let Some(deadline) = self.deadline else { return until };
        let last = deadline.checked_add(LAST_WORD).unwrap_or(deadline);
        let waits = until.is_none_or(|until| until > Instant::now());
        let reaches_deadline = until.is_none_or(|until| until >= deadline);
        if waits && reaches_deadline { Some(last) } else { earlier(until, Some(last)) }
    }

    fn collect(&mut self, until: Option<Instant>) -> Result<Option<Outputs>> {
        if self.collected {
            return Err(Error::new(
                ErrorKind::NotFound,
                "wait for a call",
                "its results were already collected",
            ));
        }
        let until = self.patience(until);
        let outcome = if self.is_beside() {
            self.outcome_beside(until)?
        } else {
            self.session.wait(self.number, until)?
        };
        match outcome {
            Some(mut outcome) => {
                self.collected = true;
                if let Ok(outputs) = &mut outcome {
                    outputs.server = Some(self.server());
                }
                if let Err(error) = &outcome
                    && self.id.is_some()
                    && !self.session.was_kept(self.number)
                {
                    self.refused = Some(error.into());
                }
                if outcome.as_ref().is_err_and(|error| error.kind() == ErrorKind::InterfaceChanged)
                {
                    self.client.forget(&self.contract);
                }
                match outcome {
                    Ok(outputs) => Ok(Some(self.with_data(outputs))),
                    Err(error) => Err(self.of_data(self.with_nulls(error))),
                }
            }
            None if self.deadline.is_some_and(|deadline| deadline <= Instant::now()) => {
                self.collected = true;
                if self.id.is_some() && !self.session.was_kept(self.number) {
                    self.refused = Some((&self.not_kept_in_time()).into());
                }
                self.session.abandon(self.number);
                Err(self.out_of_time())
            }
            None => Ok(None),
        }
    }

    /// Whether it may move, or others of the client's calls run at other servers.
    #[inline]
    pub(crate) fn is_beside(&self) -> bool {
        self.placed.is_some() || self.apart.is_some() || self.has_beside()
    }

    /// The server that has it.
    fn server(&self) -> Arc<Server> {
        let server = self.placed.as_ref().map(|placed| &placed.server);
        server.unwrap_or_else(|| self.client.view().home()).clone()
    }

    /// Whether others of the client's calls run at other servers.
    #[inline]
    pub(crate) fn has_beside(&self) -> bool {
        let view = self.client.view();
        view.is_plural() && {
            let own = self.placed.as_ref().map(|placed| &placed.server);
            view.has_beside(own.map_or(0, |server| server.under_way.load(Ordering::Relaxed)))
        }
    }

    /// Waits for what the server tells of the call, of what was asked for when it was made, for at
    /// most `timeout`: `None` if nothing came by then. All there is comes before [`News::Over`];
    /// then the outcome is to be collected.
    ///
    /// # Errors
    /// `ConnectionLost`.
    pub fn next_news(&mut self, timeout: Option<Duration>) -> Result<Option<News>> {
        if self.collected {
            return Ok(Some(News::Over));
        }
        if timeout == Some(Duration::ZERO) {
            self.client.process()?;
        }
        let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let last =
            self.deadline.map(|deadline| deadline.checked_add(LAST_WORD).unwrap_or(deadline));
        match self.told_within(earlier(until, last))? {
            Some(Told::Notice(notice)) => Ok(Some(News::of(notice))),
            Some(Told::Over) => Ok(Some(News::Over)),
            // Collecting reports that it timed out.
            None if last.is_some_and(|last| last <= Instant::now()) => Ok(Some(News::Over)),
            None => Ok(None),
        }
    }

    /// How many bytes of its arrays have moved so far; all zero when nothing moves any more. Never
    /// waits, and costs nothing while nobody asks: from time to time between two
    /// [`PendingCall::next_news`], say.
    pub fn transfer(&self) -> Transfer {
        self.session.transfer(self.number).unwrap_or_default()
    }

    /// What its callbacks took so far.
    pub fn callbacks(&self) -> CallbackTimes {
        self.session.callback_times(self.number)
    }

    /// Waits for the end.
    ///
    /// # Errors
    /// Whatever became of the call.
    pub fn wait(mut self) -> Result<Outputs> {
        self.wait_in_place()
    }

    /// The same, of a call that is dropped later: it is not moved.
    ///
    /// # Errors
    /// As [`PendingCall::wait`].
    #[inline]
    pub fn wait_in_place(&mut self) -> Result<Outputs> {
        match self.collect(None) {
            Ok(Some(outputs)) => Ok(outputs),
            Ok(None) => Err(early_end()),
            Err(error) => Err(error),
        }
    }

    /// Asks the server to end the call; its outcome is still to be collected.
    ///
    /// # Errors
    /// `ConnectionLost`.
    pub fn cancel(&self) -> Result<()> {
        if self.placed.is_some() || self.apart.is_some() {
            return self.client.cancel(self.number);
        }
        self.session.cancel(self.number)
    }
}

impl Drop for PendingCall {
    fn drop(&mut self) {
        if self.counts || self.placed.is_some() || self.apart.is_some() {
            self.leaves();
        }
        let is_left = || self.id.is_some() && self.session.leave(self.number);
        if !self.collected && !is_left() {
            // Whoever drops a call wants neither its results nor its error, but its memory back.
            self.session.abandon(self.number);
        }
        if self.id.is_some() {
            self.session.forget_kept(self.number);
        }
        if !self.contract.callbacks.is_empty() {
            self.session.forget_callbacks(self.number);
        }
    }
}
