//! A connection to a server, as programs see it.

mod administration;
mod keeping;
mod options;
mod placement;

use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use farcall_base::{Error, ErrorKind, Result};
use farcall_link::compression::Compression;
use farcall_link::stream::ByteStream;
use farcall_peer::Audience;
use farcall_wire::Request;
use rustc_hash::FxHashMap;

use crate::address::Address;
use crate::contract::Contract;
use crate::dial::{self, ConnectOptions, Patience, Reached};
use crate::listed::{self, Coming};
use crate::private::PrivateServer;
use crate::routine::Routine;
use crate::session::{CallbackTimes, Session, Transfer, compressing};
use crate::standard_streams::keep_standard_streams;
use crate::view::{Dialing, View};
pub(crate) use keeping::forget_at;
pub use options::{CallOptions, Keep};
pub use placement::Explanation;

/// A connection to a server. Clones share it; it is closed with the last.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
}

struct Shared {
    view: Arc<View>,
    address: String,
    routines: Mutex<FxHashMap<String, Arc<Contract>>>,
    /// The private server of a list; it ends when all else is dropped.
    root: Option<PrivateServer>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(roll) = self.view.roll() {
            roll.finish(self.view.home_session());
        }
    }
}

impl Client {
    /// Connects to `address`; without one to `$FARCALL_SERVER`, and without that to this user's
    /// default server.
    ///
    /// # Errors
    /// `InvalidArgument` for no address, `Unreachable`, `PermissionDenied`, `Version`.
    pub fn connect(address: Option<&str>) -> Result<Client> {
        let found = Address::given_or_default(address)?;
        let connected = Self::connect_to(&found, None, Duration::from_secs(30));
        connected.map_err(|error| found.explain(error, address))
    }

    /// Ends the connection for all who share it, and those that it has to other servers: calls that
    /// run end with `ConnectionLost`, data and transactions as if all that names them were dropped.
    /// Nothing can be done with it afterwards. Without this, it ends with the last of its clients,
    /// routines, calls, data and transactions.
    pub fn close(&self) {
        self.view().close();
    }

    /// Connects within `timeout`, which is the client's for looking routines up, too. `secret` is
    /// the file that shows who we are: over TCP the server's token, by default
    /// `$FARCALL_TOKEN_FILE`; over TLS the user's certificate and key, by default
    /// `$FARCALL_CREDENTIALS` or `~/.config/farcall/credentials.pem`.
    ///
    /// # Errors
    /// As [`Client::connect`], and `TimedOut`.
    pub fn connect_to(
        address: &Address,
        secret: Option<PathBuf>,
        timeout: Duration,
    ) -> Result<Client> {
        Self::connect_with(
            address,
            &ConnectOptions { secret, timeout, ..ConnectOptions::default() },
        )
    }

    /// Connects in the way that `options` say. If the connection is lost later on, calls that are
    /// under way wait while it is made again, and go on as if nothing had happened; no call runs
    /// twice by that.
    ///
    /// # Errors
    /// As [`Client::connect_to`].
    pub fn connect_with(address: &Address, options: &ConnectOptions) -> Result<Client> {
        if let Address::List(list) = address {
            return listed::begin(list, options);
        }
        keep_standard_streams();
        let compression = dial::given_compression()?;
        let begin = Instant::now();
        let is_ssh = matches!(address, Address::Ssh(_));
        let patience = options.greeting();
        let reached = dial::reach(address, options, compression)?;
        // The time is for reaching and greeting together. What ssh asks the user for is not the
        // server's.
        let left =
            if is_ssh { options.greeting() } else { patience.saturating_sub(begin.elapsed()) };
        let patience = Patience { greeting: left, answers: options.timeout, until: options.until };
        let dialing = Dialing { options: options.clone(), home: Some(address.clone()), roll: None };
        let client = Self::greet(reached, patience, compression, dialing)?;
        if let Some(heartbeat) = options.heartbeat {
            client.set_heartbeat(heartbeat);
        }
        Ok(client)
    }

    /// Speaks over a stream that already exists.
    ///
    /// # Errors
    /// As [`Client::connect_to`].
    pub fn over(
        stream: Box<dyn ByteStream>,
        token: Option<Vec<u8>>,
        address: String,
        timeout: Duration,
    ) -> Result<Client> {
        let compression = dial::given_compression()?;
        let hello = dial::hello(token, compressing::offered(&*stream, compression));
        let options = ConnectOptions { timeout, ..ConnectOptions::default() };
        Self::greet(
            Reached { stream, hello, way_back: None, name: address },
            Patience { greeting: timeout, answers: timeout, until: None },
            compression,
            Dialing { options, home: None, roll: None },
        )
    }

    fn greet(
        reached: Reached,
        patience: Patience,
        compression: Compression,
        dialing: Dialing,
    ) -> Result<Client> {
        let (session, address) = dial::greet(reached, patience, compression, 1)?;
        Ok(Client::of_session(session, &address, dialing))
    }

    /// Over a connection that is there.
    pub(crate) fn of_session(session: Arc<Session>, address: &str, dialing: Dialing) -> Client {
        let view = View::new(session, address, dialing);
        Client::of(view, address.to_owned(), None)
    }

    /// Whether this is a client of a list, whose own server ends with it.
    pub(crate) fn has_list(&self) -> bool {
        self.shared.root.is_some()
    }

    /// Of a view, at an address; `root` ends with it.
    pub(crate) fn of(view: Arc<View>, address: String, root: Option<PrivateServer>) -> Client {
        let shared = Shared { view, address, routines: Mutex::default(), root };
        Client { shared: Arc::new(shared) }
    }

    /// The server of the routine that this process runs, over a connection that ends with the call:
    /// see `farcall_running_server` of the C interface.
    ///
    /// # Errors
    /// As [`Client::connect_to`].
    pub fn inside_call(stream: Box<dyn ByteStream>) -> Result<Client> {
        let client = Self::over(
            stream,
            None,
            "the server of the running call".to_owned(),
            Duration::from_secs(30),
        )?;
        client.session().ends_with(|| {
            Error::new(
                ErrorKind::ConnectionLost,
                "use the running server",
                "the call that requested it has ended",
            )
            .fix("request the running server again in every call")
        });
        Ok(client)
    }

    /// Another time than `$FARCALL_HEARTBEAT` (by default 30 s) after which a server is given up
    /// that is silent while somebody waits for it; zero: never.
    pub fn set_heartbeat(&self, limit: Duration) {
        self.session().set_heartbeat(limit);
    }

    /// Another choice than `$FARCALL_COMPRESSION` (by default `auto`) for what this client sends
    /// from now on. What it is sent is the server's choice (`compression` in its manifest); whoever
    /// connects with `off` is sent nothing compressed, and sends nothing compressed ever after.
    pub fn set_compression(&self, compression: Compression) {
        self.session().set_compression(compression);
    }

    /// The same for arrays of at least so many bytes; others leave as they are.
    pub fn set_compression_from(&self, compression: Compression, bytes: u64) {
        self.session().set_compressed_from(bytes);
        self.session().set_compression(compression);
    }

    /// Where the server is.
    pub fn address(&self) -> &str {
        &self.shared.address
    }

    /// The connection to the server that was connected to.
    pub(crate) fn session(&self) -> &Arc<Session> {
        self.shared.view.home_session()
    }

    /// The servers that its calls may go to.
    pub(crate) fn view(&self) -> &Arc<View> {
        &self.shared.view
    }

    /// A routine by `module/name`, by a name that is unique, or by an alias; its interface is
    /// fetched once. Waits for as long as the client's timeout.
    ///
    /// # Errors
    /// `NotFound` with the nearest names, `Ambiguous` with the full ones, `TimedOut`,
    /// `ConnectionLost`.
    pub fn routine(&self, name: &str) -> Result<Routine> {
        self.find(name, None)?.ok_or_else(ended_early)
    }

    /// The same for waiting in pieces: `None` when the server has not answered after `wait`. The
    /// question stands, and who asks for the same name again goes on waiting for the same answer.
    ///
    /// # Errors
    /// As [`Client::routine`]: `TimedOut` when the client's timeout has passed since the question
    /// was first asked.
    pub fn routine_within(&self, name: &str, wait: Duration) -> Result<Option<Routine>> {
        self.find(name, Some(wait))
    }

    fn find(&self, name: &str, wait: Option<Duration>) -> Result<Option<Routine>> {
        let known = self.known().get(name).cloned();
        if let Some(contract) = known {
            return Ok(Some(Routine { client: self.clone(), contract }));
        }
        let told = |error: Error| error.with("server", self.address());
        let asker = self.view().asker();
        let found = loop {
            let reply = asker.ask(&Request::Interface(name.to_owned()), wait).map_err(told)?;
            let Some(reply) = reply else { return Ok(None) };
            match (Contract::of_reply(reply), self.view().roll()) {
                // A server of the list that publishes it may still be coming.
                (Err(error), Some(roll)) if error.kind() == ErrorKind::NotFound => {
                    match roll.wait_for_one(wait, asker.patience()) {
                        Coming::One => {}
                        Coming::Later => return Ok(None),
                        Coming::Nobody => return Err(told(error)),
                    }
                }
                (found, _) => break found,
            }
        };
        let contract = Arc::new(found.map_err(told)?);
        if let Some(roll) = self.view().roll().filter(|_| !name.contains('@')) {
            roll.versions.uses(&contract.name, &contract.hash);
        }
        self.known().insert(name.to_owned(), contract.clone());
        Ok(Some(Routine { client: self.clone(), contract }))
    }

    fn known(&self) -> MutexGuard<'_, FxHashMap<String, Arc<Contract>>> {
        self.shared.routines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A contract that is known already, of those that are meant.
    pub(crate) fn known_as(&self, is_meant: impl Fn(&Contract) -> bool) -> Option<Arc<Contract>> {
        self.known().values().find(|contract| is_meant(contract)).cloned()
    }

    /// Asks for this interface again when it is looked up again, by whatever name.
    pub(crate) fn forget(&self, contract: &Contract) {
        self.known().retain(|_, known| known.name != contract.name);
    }

    /// Every routine, in order of the full names. Waits for as long as the client's timeout.
    ///
    /// # Errors
    /// `ConnectionLost`, `TimedOut`.
    pub fn routines(&self) -> Result<Vec<Routine>> {
        self.list(None)?.ok_or_else(ended_early)
    }

    /// The same for waiting in pieces, as [`Client::routine_within`].
    ///
    /// # Errors
    /// As [`Client::routines`].
    pub fn routines_within(&self, wait: Duration) -> Result<Option<Vec<Routine>>> {
        self.list(Some(wait))
    }

    fn list(&self, wait: Option<Duration>) -> Result<Option<Vec<Routine>>> {
        let Some(reply) = self.session().ask(&Request::List, wait)? else { return Ok(None) };
        let routine = |contract| Routine { client: self.clone(), contract: Arc::new(contract) };
        Ok(Some(Contract::all_of_reply(reply)?.into_iter().map(routine).collect()))
    }

    /// Array bytes of results that this program copied on their way, because they came in one piece
    /// with the head of a frame: a thousandth of them at most. For tests and measurements.
    pub fn bytes_copied(&self) -> u64 {
        self.session().bytes_copied()
    }

    /// A descriptor that is readable when [`Client::process`] or [`Client::next_finished`] has
    /// something to do: for event loops. It belongs to the client.
    pub fn events(&self) -> BorrowedFd<'_> {
        self.view().watch_all();
        self.session().events()
    }

    /// Handles what has arrived, without waiting.
    ///
    /// # Errors
    /// None today: a lost connection is reported by the calls that it ends.
    pub fn process(&self) -> Result<()> {
        if self.view().is_plural() { self.view().process() } else { self.session().process() }
    }

    /// Whether the connection is gone, as far as what has arrived tells, and no other server is
    /// connected that takes its calls. Never waits.
    pub fn is_lost(&self) -> bool {
        let is_lost = self.session().process().is_err() || self.session().is_lost();
        is_lost && !self.view().has_others()
    }

    /// Asks the server to end the call of this number
    /// ([`PendingCall::number`](crate::PendingCall::number)), while its owner waits for it or not.
    /// Its outcome is still to be collected; a call that is over stays as it is.
    ///
    /// # Errors
    /// `ConnectionLost`.
    pub fn cancel(&self, number: u64) -> Result<()> {
        self.view().cancel_search(number);
        self.view().session_of(number).cancel(number)
    }

    /// How far the arrays of a call are, by its number: asked of a thread that does not wait for it.
    pub fn transfer(&self, number: u64) -> Transfer {
        self.view().session_of(number).transfer(number).unwrap_or_default()
    }

    /// What the callbacks of a call took so far, as [`Client::transfer`].
    pub fn callback_times(&self, number: u64) -> CallbackTimes {
        self.view().session_of(number).callback_times(number)
    }

    /// Waits for the end of a call that was started with [`CallOptions::announced`]; `None` after
    /// `timeout`.
    ///
    /// # Errors
    /// `ConnectionLost` when no call is left and the connection is gone.
    pub fn next_finished(&self, timeout: Option<Duration>) -> Result<Option<u64>> {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        self.next_finished_of(Audience::EVERYBODY, deadline)
    }

    /// The same of the calls that this audience is told of.
    pub(crate) fn next_finished_of(
        &self,
        audience: Audience,
        deadline: Option<Instant>,
    ) -> Result<Option<u64>> {
        if !self.view().is_plural() {
            match self.session().next_finished_alone(audience, deadline, self.view().plural())? {
                Some(None) => {}
                Some(Some(number)) => return Ok(Some(number)),
                None => return Ok(None),
            }
        }
        self.view().next_finished(audience, deadline)
    }
}

pub(crate) fn ended_early() -> Error {
    Error::internal("ask the server", "the wait for the answer ended early")
}
