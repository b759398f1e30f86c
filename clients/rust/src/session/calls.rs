//! What programs want of a connection: answers to questions, calls, news of them and their ends.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use farcall_base::{Error, ErrorKind, Resources, Result};
use farcall_peer::Audience;
use farcall_wire::{Notice, RESOURCES, Reply, Request};

use super::ending::forked;
use super::flight::{Came, too_late};
use super::{Conditions, Returned, Session, earlier};
use crate::argument::Passed;
use crate::clock::{now, until};
use crate::contract::Contract;
use crate::marshal::ResultCopy;
use crate::results::{Outputs, TimesHere};

/// Time without a byte leaving after which a started call is left to whoever waits later.
const STALL: Duration = Duration::from_millis(100);

/// What is told of a call.
#[derive(Debug)]
pub enum Told {
    /// It goes on.
    Notice(Notice),
    /// Its outcome is there.
    Over,
}

impl Session {
    /// Asks the server, or goes on waiting for what was asked before. `None` when there is no
    /// answer after `wait`: then the question stands, until it is as old as the client's patience.
    pub fn ask(&self, request: &Request, wait: Option<Duration>) -> Result<Option<Reply>> {
        self.ask_for(request, wait, self.patience)
    }

    /// The same with a patience of its own.
    pub fn ask_for(
        &self,
        request: &Request,
        wait: Option<Duration>,
        patience: Duration,
    ) -> Result<Option<Reply>> {
        let patience = self.at_most(patience);
        let until = wait.and_then(|wait| Instant::now().checked_add(wait));
        loop {
            let (question, expires) = self.put(request, patience)?;
            if wait == Some(Duration::ZERO) {
                self.process()?;
            }
            match self.wait_until(earlier(until, Some(expires)), |core| {
                core.caller.take_answer(question)
            })? {
                Some(Some(reply)) => return Ok(Some(reply)),
                // Another thread that asked the same has taken it.
                Some(None) => {}
                None if expires <= Instant::now() => {
                    self.lock().caller.drop_question(question);
                    return Err(Error::new(
                        ErrorKind::TimedOut,
                        "ask the server",
                        "no answer in time",
                    )
                    .with("timeout", format!("{} s", patience.as_secs_f64()))
                    .fix(
                        "try again when the server is less busy, or connect with a larger timeout=",
                    ));
                }
                None => return Ok(None),
            }
        }
    }

    fn put(&self, request: &Request, patience: Duration) -> Result<(u64, Instant)> {
        let mut core = self.enter();
        core.check_alive()?;
        let (question, expires) = core.caller.ask(request, patience, now())?;
        self.advance(&mut core);
        Ok((question, until(expires)))
    }

    /// Asks the server, and waits for nothing: [`Session::answer`] has the answer some time, or
    /// [`Session::forget`] wants none.
    pub fn begin(&self, request: &Request) -> Result<u64> {
        self.begin_for(request, self.patience)
    }

    /// The same with a patience of its own.
    pub fn begin_for(&self, request: &Request, patience: Duration) -> Result<u64> {
        let mut core = self.enter();
        core.check_alive()?;
        let (question, _) = core.caller.ask(request, self.at_most(patience), now())?;
        core.caller.keep_question(question);
        self.advance(&mut core);
        Ok(question)
    }

    /// The answer to a question that was begun, once; `None` past the deadline.
    pub fn answer(&self, question: u64, deadline: Option<Instant>) -> Result<Option<Reply>> {
        match self
            .wait_until(earlier(deadline, self.until), |core| core.caller.take_answer(question))?
        {
            Some(Some(reply)) => Ok(Some(reply)),
            Some(None) => {
                self.lock().check_alive()?;
                Err(Error::internal("ask the server", "the answer was already fetched"))
            }
            None => Ok(None),
        }
    }

    /// Nobody wants the answer any more.
    pub fn forget(&self, question: u64) {
        self.lock().caller.drop_question(question);
    }

    /// Bytes that nobody else has, as far as chance goes.
    pub fn random(&self) -> [u8; 16] {
        self.lock().caller.random()
    }

    /// Refuses to ask a server for what it does not know of.
    pub fn check_resources(&self, operation: &'static str, asked: Resources) -> Result<()> {
        if asked.is_empty() || self.has_feature(RESOURCES) {
            return Ok(());
        }
        let message = "this server does not know of cores, memory, gpus and wall_time of a call";
        Err(Error::new(ErrorKind::Version, operation, message)
            .with("resources", asked)
            .fix("start a newer version of Farcall there, or leave them out"))
    }

    /// Opens a call, and takes what was asked for; returns its number, which is `number` where that
    /// is given. Waits for another to end while as many are open as the server takes: `None` when
    /// there is no room after `wait`. What was asked for is left where nothing was opened.
    #[inline(always)]
    pub fn open(
        &self,
        contract: &Arc<Contract>,
        asked: &mut Option<(Passed, Conditions)>,
        number: Option<u64>,
        wait: Option<Duration>,
    ) -> Result<Option<u64>> {
        let until = wait.and_then(|wait| Instant::now().checked_add(wait));
        let mut deadline = None;
        let mut is_farmed = false;
        if let Some((_, conditions)) = asked {
            if let Some(asked) = conditions.special().and_then(|special| special.resources) {
                self.check_resources("call", asked)?;
            }
            if let Some(call) = self.within() {
                conditions.special_mut().within = Some(call);
            }
            deadline = conditions.deadline;
            is_farmed = conditions.announced.is_farm();
            if is_farmed {
                self.tell_farm(conditions.announced, true);
            }
        }
        if wait == Some(Duration::ZERO) && !self.enter().caller.has_room() {
            self.process()?;
        }
        let opened = self.wait_until(earlier(until, deadline), |core| {
            let (passed, conditions) =
                if core.is_up() && core.caller.has_room() { asked.take() } else { None }?;
            Some(core.open(contract.clone(), passed, conditions, number))
        })?;
        let late = deadline.is_some_and(|deadline| deadline <= Instant::now());
        let Some(number) = opened.or_else(|| late.then(|| Err(too_late(contract)))).transpose()?
        else {
            return Ok(None);
        };
        let mut core = self.lock();
        let is_expected = is_farmed
            || !core.reader.is_reading && core.caller.has_finished() && !self.events.is_watched();
        if !(is_expected && core.may_gather(number, contract, is_farmed)) {
            self.advance(&mut core);
        }
        Ok(Some(number))
    }

    /// A farm is told of its calls from now on, or no more.
    pub fn tell_farm(&self, farm: Audience, is_told: bool) {
        self.lock().caller.tell_farm(farm, is_told);
    }

    /// Appends the numbers of all calls of a farm of which there is something to tell; receives
    /// nothing.
    pub fn take_farmed(&self, farm: Audience, told: &mut VecDeque<u64>) {
        self.lock().caller.take_farmed(farm, told);
    }

    /// Whether a call has not ended, as far as what has arrived tells.
    pub fn is_under_way(&self, number: u64) -> bool {
        let _ = self.process();
        !self.lock().caller.is_over(number)
    }

    /// Calls that wait for others to leave with them leave now.
    pub fn send_gathered(&self) {
        let mut core = self.lock();
        if !core.gathering.is_empty() {
            self.advance(&mut core);
        }
    }

    /// Sends on as long as the server takes it, at most until the deadline: so a started call is on
    /// its way before its caller turns to something else. What is left leaves while somebody waits.
    pub fn push(&self, deadline: Option<Instant>) {
        loop {
            let sent = {
                let core = self.lock();
                if core.link.bytes_queued() == 0 {
                    return;
                }
                core.sent()
            };
            let until = earlier(Some(Instant::now() + STALL), deadline);
            // Whatever ends the connection is the outcome of the call, and collected as such.
            let pushed =
                self.wait_until(until, |core| (core.link.bytes_queued() == 0).then_some(()));
            let over = deadline.is_some_and(|deadline| deadline <= Instant::now());
            if !matches!(pushed, Ok(None)) || over || self.lock().sent() == sent {
                return;
            }
        }
    }

    /// Waits for a call's end. `None` when the deadline passed first; the call goes on.
    #[inline(always)]
    pub fn wait(&self, number: u64, deadline: Option<Instant>) -> Result<Option<Result<Outputs>>> {
        let taken = self.wait_and_run(number, deadline, |caller| caller.take_finished(number))?;
        // Nothing is locked meanwhile: a copy takes longer than others can wait for the connection.
        Ok(taken.map(|outcome| outcome.and_then(|came| self.complete(came))))
    }

    /// The same for callers that seldom wait: [`Session::wait`] is part of what calls it.
    #[inline(never)]
    pub fn wait_apart(
        &self,
        number: u64,
        deadline: Option<Instant>,
    ) -> Result<Option<Result<Outputs>>> {
        self.wait(number, deadline)
    }

    /// Copies results to where their owner wants them.
    #[inline(always)]
    fn complete(&self, came: Came) -> Result<Outputs> {
        if self.is_foreign() && !came.copies.is_empty() {
            // Memory of calls stays with the process that made them.
            return Err(forked());
        }
        came.copies.into_iter().try_for_each(ResultCopy::make)?;
        Ok(came.outputs)
    }

    /// Waits for news of a call, or its end. News come first; `None` when the deadline passed.
    pub fn next_news(&self, number: u64, deadline: Option<Instant>) -> Result<Option<Told>> {
        self.wait_and_run(number, deadline, |caller| {
            let news = caller.take_news(number).map(Told::Notice);
            news.or_else(|| caller.is_over(number).then_some(Told::Over))
        })
    }

    /// The arguments of a call that was placed and has failed, once.
    pub fn take_back(&self, number: u64) -> Option<Returned> {
        self.lock().caller.application_mut().take_back(number)
    }

    /// What a call took here whose transfers were measured, once.
    pub fn take_times(&self, number: u64) -> Option<TimesHere> {
        self.lock().caller.application_mut().take_times(number)
    }

    /// Gives a call up that nobody waits for any more: the server is asked to end it, and its
    /// memory is the caller's again. Waits for nothing.
    pub fn abandon(&self, number: u64) {
        let mut core = self.enter();
        core.caller.abandon(number);
        core.caller.application_mut().forget(number);
        core.settle();
        self.advance(&mut core);
    }

    /// Asks the server to end a call.
    pub fn cancel(&self, number: u64) -> Result<()> {
        let mut core = self.enter();
        core.caller.cancel(number);
        core.caller.application_mut().cancel(number);
        self.advance(&mut core);
        core.check_alive()
    }
}
