//! Transactions: calls that are written down first, with results of earlier ones as arguments, and
//! then run at the server as one graph (spec/transactions.md).

mod arguments;
mod begin;
mod inputs;
mod listing;
mod recording;
mod run;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use farcall_base::{DataId, Error, ErrorKind, Result, TransactionId};
use farcall_wire::TransactionRequest;
use farcall_wire::{Reply, Request, TRANSACTIONS, TransactionEnd};

use crate::argument::Argument;
use crate::client::{Client, ended_early};
use crate::data::Data;
use crate::routine::Routine;
use crate::session::Session;
pub use begin::Begin;
pub use listing::TimedCall;
use recording::{Recording, Wanted};
pub(crate) use run::{Phase, Run};

/// So long a question may stand whose answer comes when something has ended.
const FOR_EVER: Duration = Duration::from_secs(1 << 32);

/// Calls that run at the server as one graph. They are written down by [`Transaction::call`], and
/// run from [`Transaction::begin`] on. When this and all its results are dropped, the server ends
/// the transaction, unless it is kept ([`Begin::keep`]) or left ([`Transaction::leave`]).
///
/// ```no_run
/// use farcall_client::{Argument, Array, Begin, Client, Transaction};
///
/// # fn solve(client: &Client, a: &[f64], b: &[f64]) -> farcall_client::Result<()> {
/// let transaction = Transaction::new(client)?;
/// let factors = transaction
///     .call_named(&client.routine("dgetrf")?, [("a", Array::columns(a, &[9, 9]).into())])?;
/// let lu = transaction.result(factors, 2)?;
/// let pivots = transaction.result(factors, 4)?;
/// let b = Array::columns(b, &[9, 1]);
/// let arguments = [("a", Argument::from(&lu)), ("ipiv", (&pivots).into()), ("b", b.into())];
/// let solved = transaction.call_named(&client.routine("dgetrs")?, arguments)?;
/// let x = transaction.result(solved, 6)?;
/// transaction.begin(&Begin::default())?;
/// println!("{:?}", x.fetch(&Default::default())?.array::<f64>("value")?);
/// # Ok(())
/// # }
/// ```
pub struct Transaction {
    client: Client,
    run: Arc<Run>,
    state: Mutex<State>,
}

enum State {
    /// It is being written down.
    Written(Box<Recording>),
    /// The server has it, or had nothing to do.
    Begun(Wanted),
    /// Why it did not begin.
    Refused(String),
    /// It was ended before it began.
    Dropped,
    /// It was ended.
    Ended,
}

impl Transaction {
    /// An empty one, for the server that the client is connected to.
    ///
    /// # Errors
    /// `Version` from a server that runs none.
    pub fn new(client: &Client) -> Result<Transaction> {
        check_feature(client.session()).map_err(|error| error.with("server", client.address()))?;
        let id = TransactionId(client.session().random());
        Ok(Transaction {
            client: client.clone(),
            run: Arc::new(Run::new(client, id)),
            state: Mutex::new(State::Written(Box::default())),
        })
    }

    /// Its id: other processes of the same user find it and its results by that.
    pub fn id(&self) -> TransactionId {
        self.run.id
    }

    /// Writes a call down, with one argument for each parameter; its number. Arguments are values,
    /// arrays, data, and results of earlier calls ([`Transaction::result`]). Arrays are copied.
    /// `after` are calls that must have returned before.
    ///
    /// # Errors
    /// `InvalidArgument` for what does not fit the interface, or no transaction can have.
    pub fn call(
        &self,
        routine: &Routine,
        arguments: Vec<Argument<'_>>,
        after: &[u32],
    ) -> Result<u32> {
        let mut state = self.lock();
        let recording = state.written("add a call to a transaction")?;
        recording.call(&self.client, &self.run, &routine.contract, arguments, after)
    }

    /// The same with named arguments.
    ///
    /// # Errors
    /// As [`Transaction::call`].
    pub fn call_named<'n, 'a>(
        &self,
        routine: &Routine,
        arguments: impl IntoIterator<Item = (&'n str, Argument<'a>)>,
    ) -> Result<u32> {
        self.call(routine, routine.by_name(arguments)?, &[])
    }

    /// What a call makes for a parameter: an argument for later calls, and from
    /// [`Transaction::begin`] on data at the server. If it still exists by then, the server keeps
    /// it, as after [`Transaction::want`].
    ///
    /// # Errors
    /// `NotFound` for what is no such result, or was not wanted by then.
    pub fn result(&self, call: u32, slot: u16) -> Result<Data> {
        match &mut *self.lock() {
            State::Written(recording) => recording.result(&self.client, &self.run, call, slot),
            State::Begun(wanted) => wanted.result(&self.client, &self.run, call, slot),
            other => Err(other.unusable("read a result of a transaction")),
        }
    }

    /// Has the server keep a result; the id under which it does.
    ///
    /// # Errors
    /// As [`Transaction::result`].
    pub fn want(&self, call: u32, slot: u16) -> Result<DataId> {
        let mut state = self.lock();
        let recording = state.written("want a result of a transaction")?;
        recording.want(&self.client, call, slot)
    }

    /// Whether it is still written down.
    pub fn is_written(&self) -> bool {
        matches!(&*self.lock(), State::Written(_))
    }

    /// Has the server keep it when this and its results are dropped: as long as the connection
    /// lasts, or until it is ended.
    pub fn leave(&self) {
        self.run.leave();
    }

    /// Waits until all calls have ended, for at most `timeout`: how, or `None` if they have not.
    ///
    /// # Errors
    /// `NotFound` when it was ended, `ConnectionLost`.
    pub fn wait(&self, timeout: Option<Duration>) -> Result<Option<TransactionEnd>> {
        if !self.is_at_server("wait for a transaction")? {
            return Ok(Some(TransactionEnd::default()));
        }
        self.run.wait(timeout)
    }

    /// Whether all calls have ended: asks the server, unless that is known.
    ///
    /// # Errors
    /// As [`Transaction::wait`].
    pub fn is_over(&self) -> Result<bool> {
        const OPERATION: &str = "ask for a transaction";
        if !self.is_at_server(OPERATION)? || self.run.is_over() {
            return Ok(true);
        }
        let found = self.client.transactions_of(&[self.id()])?;
        let status = found.first().ok_or_else(|| listing::not_found(OPERATION, self.id()))?;
        Ok(status.is_over)
    }

    /// When and where its calls ran, so far.
    ///
    /// # Errors
    /// `NotFound` when it was ended, `ConnectionLost`.
    pub fn timeline(&self) -> Result<Vec<TimedCall>> {
        match self.is_at_server("read the timeline of a transaction")? {
            true => self.client.timeline(self.id()),
            false => Ok(Vec::new()),
        }
    }

    /// Ends it: calls that are open are cancelled, and its results are deleted. One that was not
    /// begun never begins.
    ///
    /// # Errors
    /// `TimedOut`, `ConnectionLost`.
    pub fn end(&self) -> Result<()> {
        let mut state = self.lock();
        let ended = match &*state {
            State::Written(_) | State::Dropped => State::Dropped,
            State::Begun(_) | State::Refused(_) | State::Ended => State::Ended,
        };
        let before = std::mem::replace(&mut *state, ended);
        drop(state);
        match before {
            State::Begun(_) if self.run.phase() == Phase::Begun => {
                self.run.ends();
                self.client.end_transactions(vec![self.id()])
            }
            _ => {
                self.run.drops();
                Ok(())
            }
        }
    }

    /// Whether the server has it; it does not have an empty one.
    fn is_at_server(&self, operation: &'static str) -> Result<bool> {
        match &*self.lock() {
            State::Begun(_) => Ok(self.run.phase() == Phase::Begun),
            other => Err(other.unusable(operation)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        // Results may outlive it, and say so.
        self.run.drops();
    }
}

impl State {
    fn written(&mut self, operation: &'static str) -> Result<&mut Recording> {
        match self {
            State::Written(recording) => Ok(recording),
            other => Err(other.unusable(operation)),
        }
    }

    /// Why nothing can be done with it.
    fn unusable(&self, operation: &'static str) -> Error {
        let wrong = |message: &str, fix: &'static str| {
            Error::new(ErrorKind::InvalidArgument, operation, message.to_owned()).fix(fix)
        };
        match self {
            State::Written(_) => not_begun(operation),
            State::Begun(_) => {
                wrong("the transaction has begun", "begin another one for more calls")
            }
            State::Refused(why) => {
                wrong("the transaction was not begun", "write the transaction down again")
                    .with("why", why)
            }
            State::Dropped => wrong(
                "the transaction did not begin: it was ended before, or its block ended with an \
                 exception",
                "write the transaction down again",
            ),
            State::Ended => wrong("the transaction was ended", "begin another one"),
        }
    }
}

fn not_begun(operation: &'static str) -> Error {
    Error::new(ErrorKind::InvalidArgument, operation, "the transaction has not begun")
        .fix("do it behind the end of the transaction's block")
}

fn check_feature(session: &Session) -> Result<()> {
    if session.has_feature(TRANSACTIONS) {
        return Ok(());
    }
    let message = "this server is too old for transactions";
    Err(Error::new(ErrorKind::Version, "use transactions", message)
        .fix("start a newer version of Farcall there"))
}

/// Asks about transactions.
fn ask(session: &Session, request: TransactionRequest) -> Result<Reply> {
    check_feature(session)?;
    match session.ask(&Request::Transaction(request), None)? {
        Some(Reply::Failed(failure)) => Err(failure.into()),
        Some(answer) => Ok(answer),
        None => Err(ended_early()),
    }
}

/// When waiting ends.
fn deadline(timeout: Option<Duration>) -> Option<Instant> {
    timeout.and_then(|timeout| Instant::now().checked_add(timeout))
}
