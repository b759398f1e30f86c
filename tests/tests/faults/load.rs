//! A caller: a process that makes calls, some of which are kept, and writes down what becomes of
//! them.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use farcall_base::{CallId, Random, SeededRandom};
use farcall_client::idl::interface::Order as Layout;
use farcall_client::{
    Array, CallOptions, Client, ConnectOptions, Error, ErrorKind, Keep, Outputs, PendingCall,
    Result,
};

use crate::journal::{Entry, Journal};

/// Far above what any call needs, with all that strikes meanwhile: what takes longer hangs.
pub const BOUND: Duration = Duration::from_secs(60);
/// Calls under way at a time, and calls that were left to the server.
const DEPTH: usize = 4;
/// Calls that a caller may take with it when it is killed: they are its own, and only those that
/// are kept outlive it.
pub const CALLS_OF_A_CALLER: usize = DEPTH + 1;
/// Of so many calls one is kept.
const KEPT_EVERY: usize = 4;
/// The longest pause before a call, in microseconds: faults are to come to their turn.
const PACE_US: u64 = 4000;
/// A pause after a failure: nobody is to make all its calls while the server is away.
const PAUSE: Duration = Duration::from_millis(2);

/// What one caller is to do, as it is told by its environment.
pub struct Order {
    /// The test that makes the calls.
    pub role: &'static str,
    pub address: String,
    pub token: PathBuf,
    pub journal: PathBuf,
    pub marks: PathBuf,
    pub from: usize,
    pub to: usize,
    pub seed: u64,
    /// More of its environment.
    pub environment: Vec<(&'static str, OsString)>,
}

impl Order {
    /// Of this process, if it is a caller.
    pub fn given(role: &'static str) -> Option<Order> {
        let text = |name: &str| std::env::var(format!("FARCALL_SOAK_{name}")).unwrap();
        let number = |name: &str| text(name).parse::<usize>().unwrap();
        std::env::var_os("FARCALL_SOAK_ADDRESS")?;
        Some(Order {
            role,
            address: text("ADDRESS"),
            token: text("TOKEN").into(),
            journal: text("JOURNAL").into(),
            marks: text("MARKS").into(),
            from: number("FROM"),
            to: number("TO"),
            seed: number("DRAWN") as u64,
            environment: Vec::new(),
        })
    }

    /// A process that does it.
    pub fn spawn(&self) -> Child {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([self.role, "--exact", "--nocapture"]);
        let given = [
            ("ADDRESS", self.address.clone().into()),
            ("TOKEN", self.token.clone().into_os_string()),
            ("JOURNAL", self.journal.clone().into()),
            ("MARKS", self.marks.clone().into()),
            ("FROM", self.from.to_string().into()),
            ("TO", self.to.to_string().into()),
            ("DRAWN", self.seed.to_string().into()),
        ];
        command.envs(given.map(|(name, value)| (format!("FARCALL_SOAK_{name}"), value)));
        command.envs(self.environment.iter().cloned());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    }
}

/// The numbers that a call is given: no two calls have the same.
pub fn numbers(number: usize) -> Vec<f64> {
    let count = if number.is_multiple_of(25) { 20_000 } else { number % 400 };
    (0..count).map(|index| (number + index) as f64).collect()
}

/// What an outcome says of a call.
pub fn judge(number: usize, outcome: Result<Option<Outputs>>) -> Entry {
    match outcome {
        Ok(Some(outputs)) => {
            let x = outputs.array::<f64>("x").unwrap();
            let expected = numbers(number);
            let is_right = x.len() == expected.len()
                && x.iter().zip(&expected).all(|(x, given)| *x == 2.0 * given);
            if is_right { Entry::Right } else { Entry::Broken("a wrong result".into()) }
        }
        Ok(None) => Entry::Broken(format!("it hangs: no outcome within {BOUND:?}")),
        Err(error) if is_expected(&error) => Entry::Failed(format!("{:?} {error}", error.kind())),
        Err(error) => Entry::Broken(format!("{:?} {error}", error.kind())),
    }
}

/// Whether a fault may be told so: the others say that somebody has broken a rule, or that time was
/// not enough.
fn is_expected(error: &Error) -> bool {
    use ErrorKind::{
        ConnectionLost, LimitExceeded, RoutineCrashed, RoutineExited, ShuttingDown, System,
        Unavailable, Unreachable,
    };
    matches!(
        error.kind(),
        ConnectionLost
            | LimitExceeded
            | RoutineCrashed
            | RoutineExited
            | ShuttingDown
            | System
            | Unavailable
            | Unreachable
    )
}

/// Whether it is the connection that failed, and not the call that was asked for.
fn is_of_the_connection(error: &Error) -> bool {
    let of_the_call = error.to_string().contains("the server stopped while the call ran");
    !of_the_call
        && (matches!(error.kind(), ErrorKind::ConnectionLost | ErrorKind::Unreachable)
            || error.is_retryable())
}

/// For how long it is tried again: what may be tried again may as well be the call's own failure.
fn patience(error: &Error) -> Duration {
    if error.kind() == ErrorKind::ConnectionLost { BOUND } else { Duration::from_secs(1) }
}

/// Connects, again and again while the server is away.
pub fn connect(address: &str, token: &std::path::Path) -> Result<Client> {
    let begun = Instant::now();
    // By `ssh`, and on this host, there is none.
    let secret = address.starts_with("farcall:").then(|| token.to_path_buf());
    let options = ConnectOptions { secret, timeout: BOUND, ..ConnectOptions::default() };
    loop {
        match Client::connect_with(&address.parse().unwrap(), &options) {
            Err(_) if begun.elapsed() < BOUND => std::thread::sleep(Duration::from_millis(20)),
            outcome => return outcome,
        }
    }
}

/// The outcome of a call that was left to the server.
pub fn fetch(
    client: &mut Client,
    reconnect: impl Fn() -> Result<Client>,
    number: usize,
    id: CallId,
) -> Entry {
    let begun = Instant::now();
    let options = CallOptions { timeout: Some(BOUND), ..CallOptions::default() };
    loop {
        let outcome = client.fetch(id, &options).and_then(|mut call| call.wait_for(2 * BOUND));
        match outcome {
            Err(error) if is_of_the_connection(&error) && begun.elapsed() < patience(&error) => {
                std::thread::sleep(PAUSE);
                if error.kind() == ErrorKind::ConnectionLost {
                    *client = match reconnect() {
                        Ok(client) => client,
                        Err(error) => {
                            return Entry::Broken(format!("it cannot be fetched: {error}"));
                        }
                    };
                }
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Entry::Broken(format!("lost: it was kept, and is gone: {error}"));
            }
            outcome => return judge(number, outcome),
        }
    }
}

struct Caller<'a> {
    order: &'a Order,
    journal: Journal,
    client: Client,
    /// How often it was made again, and whether it is to be.
    age: usize,
    is_lost: bool,
    under_way: VecDeque<(usize, usize, PendingCall)>,
    left: VecDeque<(usize, CallId)>,
    random: SeededRandom,
}

/// Does what this process is for.
pub fn make_calls(order: &Order) {
    let client = connect(&order.address, &order.token).unwrap_or_else(|error| panic!("{error}"));
    let mut caller = Caller {
        order,
        journal: Journal::open(&order.journal),
        client,
        age: 0,
        is_lost: false,
        under_way: VecDeque::new(),
        left: VecDeque::new(),
        random: SeededRandom::new(order.seed ^ order.from as u64),
    };
    for number in order.from..order.to {
        caller.make_room(DEPTH - 1);
        std::thread::sleep(Duration::from_micros(caller.random.next() % PACE_US));
        caller.begin(number);
    }
    caller.make_room(0);
}

impl Caller<'_> {
    /// Waits for the first calls until no more than so many are left of either kind.
    fn make_room(&mut self, most: usize) {
        while self.under_way.len() > most {
            let (number, age, mut call) = self.under_way.pop_front().unwrap();
            let outcome = call.wait_for(2 * BOUND);
            self.is_lost |= age == self.age && outcome.as_ref().is_err_and(is_of_the_connection);
            self.journal.write(number, &judge(number, outcome));
        }
        while self.left.len() > most {
            let (number, id) = self.left.pop_front().unwrap();
            let order = self.order;
            let entry =
                fetch(&mut self.client, || connect(&order.address, &order.token), number, id);
            self.journal.write(number, &entry);
            // One that is not forgotten now ends with its time.
            let _ = self.client.forget_call(id);
        }
    }

    fn begin(&mut self, number: usize) {
        if std::mem::take(&mut self.is_lost) {
            self.client = connect(&self.order.address, &self.order.token)
                .unwrap_or_else(|error| panic!("{error}"));
            self.age += 1;
        }
        self.journal.write(number, &Entry::Begun);
        let is_kept = number % KEPT_EVERY == KEPT_EVERY - 1;
        let made = self
            .start(number, is_kept)
            .and_then(|call| if is_kept { self.leave(number, call) } else { Ok(Some(call)) });
        match made {
            Ok(Some(call)) => self.under_way.push_back((number, self.age, call)),
            Ok(None) => {}
            Err(error) => {
                self.is_lost = is_of_the_connection(&error);
                self.journal.write(number, &judge(number, Err(error)));
                std::thread::sleep(PAUSE);
            }
        }
    }

    fn start(&mut self, number: usize, is_kept: bool) -> Result<PendingCall> {
        let keep = Keep { after_end: Duration::from_secs(86_400), durable: true };
        let options = CallOptions {
            timeout: Some(BOUND),
            keep: is_kept.then_some(keep),
            ..CallOptions::default()
        };
        // Some take a while, so that faults strike while they run.
        let pause_us = if self.random.next().is_multiple_of(2) {
            (self.random.next() % 8000) as i64
        } else {
            0
        };
        let x = numbers(number);
        let elements = [x.len() as u64];
        let arguments = [
            ("number", (number as i64).into()),
            ("pause_us", pause_us.into()),
            ("file", self.order.marks.to_str().unwrap().into()),
            ("x", Array::shared(Arc::new(x), &elements, Layout::Row).into()),
        ];
        self.client.routine("faults/run")?.start(arguments, &options)
    }

    /// Leaves a call to the server, as who goes away would.
    fn leave(&mut self, number: usize, mut call: PendingCall) -> Result<Option<PendingCall>> {
        if !call.wait_kept(Some(BOUND))? {
            return Err(Error::new(
                ErrorKind::TimedOut,
                "keep a call",
                "the server does not say that it does",
            ));
        }
        // One that was refused is over.
        match call.wait_for(Duration::ZERO)? {
            Some(outputs) => self.journal.write(number, &judge(number, Ok(Some(outputs)))),
            None => {
                let id = call.id().unwrap();
                self.journal.write(number, &Entry::Kept(id));
                self.left.push_back((number, id));
            }
        }
        Ok(None)
    }
}
