//! Data: values that stay at a server (spec/wire.md, section 12).

mod carrying;
mod copies;
mod listing;
mod made;
mod target;

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use farcall_base::{DataId, Error, ErrorKind, Result};
use farcall_idl::data::DataKind;
use farcall_idl::expression::Expression;
use farcall_idl::interface::{Interface, Order, Parameter, Shape};
use farcall_wire::{Argument as WireArgument, DATA, Failure, Reply, Request};

use crate::argument::Argument;
use crate::client::{CallOptions, Client, ended_early};
use crate::contract::Contract;
use crate::pending::PendingCall;
use crate::results::{Output, Outputs};
use crate::routine::Routine;
use crate::session::Session;
use crate::view::{self, Server};
pub(crate) use carrying::Carrier;
pub(crate) use copies::Brought;
use copies::Copies;
pub(crate) use made::{Made, WeakData};
pub(crate) use target::{Target, bring, target};

/// The parameter of the routines that take and give data.
const VALUE: &str = "value";

/// Data at a server: a value that [`Client::put`] sent there, or a result that stayed
/// ([`CallOptions::stay`]). It never changes. It is an argument like any other, also while the call
/// that makes it has not ended. The server deletes it when the last clone is dropped, unless
/// [`Data::leave`] was called.
#[derive(Clone)]
pub struct Data(Arc<Inner>);

struct Inner {
    client: Client,
    id: DataId,
    kind: DataKind,
    /// As far as they are known here.
    extents: OnceLock<Vec<u64>>,
    /// Where it is: its call may move to another server.
    place: Mutex<Place>,
    /// The number of the call of this program that makes it; 0 for no call.
    call: AtomicU64,
    /// Whether it outlasts this.
    is_left: AtomicBool,
    /// The call of a transaction that makes it.
    made: Option<Made>,
    /// At other servers, for calls that run there. They go with this.
    copies: Copies,
    /// Why it does not come, where it is a copy.
    trouble: OnceLock<Failure>,
}

#[derive(Clone)]
struct Place {
    session: Arc<Session>,
    /// `None` for the server that the client is connected to.
    server: Option<Arc<Server>>,
}

impl Data {
    /// Its id: other processes of the same user find it by that ([`Client::data_of`]).
    pub fn id(&self) -> DataId {
        self.0.id
    }

    /// What it consists of.
    pub fn kind(&self) -> DataKind {
        self.0.kind
    }

    /// Its extents, as far as they are known here: those of a result that the routine itself
    /// decides are not before its call has ended.
    pub fn extents(&self) -> Option<&[u64]> {
        self.0.extents.get().map(Vec::as_slice)
    }

    /// The server that it is at: its name, or the address of the one that is connected to.
    pub fn server(&self) -> String {
        let place = self.place();
        place.server.map_or_else(|| self.0.client.address().to_owned(), |it| it.name.to_string())
    }

    /// The value, as the result `value` of these outputs; waits for the call that makes it.
    ///
    /// # Errors
    /// What that call failed with, `NotFound` when it was deleted, `TimedOut`, `ConnectionLost`.
    pub fn fetch(&self, options: &CallOptions) -> Result<Outputs> {
        self.start_fetch(options)?.wait()
    }

    /// The same, while the program goes on.
    ///
    /// # Errors
    /// As [`Data::fetch`], as far as they are known at once.
    pub fn start_fetch(&self, options: &CallOptions) -> Result<PendingCall> {
        self.check_begun("fetch data")?;
        let place = self.place();
        let server = place.server.unwrap_or_else(|| self.0.client.view().home().clone());
        PendingCall::fetch(self, (&server, place.session), options)
    }

    /// Deletes it now. Calls that have it already go on with it.
    ///
    /// # Errors
    /// `TimedOut`, `ConnectionLost`.
    pub fn delete(&self) -> Result<()> {
        self.check_begun("delete data")?;
        self.leave();
        self.0.copies.clear();
        delete(&self.place().session, vec![self.0.id])
    }

    /// Has the server keep it when this is dropped: for its lease, or until it is deleted. A result
    /// of a transaction stays with that, which is left, too.
    pub fn leave(&self) {
        if let Some(made) = &self.0.made {
            made.run.leave();
        }
        self.0.is_left.store(true, Ordering::Relaxed);
    }

    /// Refuses data of another type than a parameter's.
    pub(crate) fn check_kind(&self, parameter: &Parameter) -> Result<()> {
        let kind = self.0.kind;
        let Some(needed) = DataKind::of_parameter(parameter) else { return Ok(()) };
        if (kind.element, kind.rank) == (needed.element, needed.rank) {
            return Ok(());
        }
        let shown = |kind: DataKind| {
            let plural = if kind.rank == 1 { "" } else { "s" };
            format!("{}, {} dimension{plural}", kind.element.name(), kind.rank)
        };
        Err(wrong(parameter, "data has another type than the parameter")
            .with("data", shown(kind))
            .with("needed", shown(needed))
            .fix("pass data of that type and number of dimensions"))
    }

    fn place(&self) -> Place {
        lock(&self.0.place).clone()
    }

    /// The server that has it.
    fn holder(&self) -> Arc<Server> {
        self.place().server.unwrap_or_else(|| self.0.client.view().home().clone())
    }

    /// The same, for a call that goes there.
    pub(crate) fn open_place(&self) -> view::Place {
        let Place { session, server } = self.place();
        view::Place { session, placed: server.map(view::Placed::bound) }
    }

    /// A call of this program makes it, over this connection.
    pub(crate) fn is_made_at(
        &self,
        session: &Arc<Session>,
        server: Option<Arc<Server>>,
        call: u64,
    ) {
        *lock(&self.0.place) = Place { session: session.clone(), server };
        self.0.call.store(call, Ordering::Relaxed);
    }

    /// Whether a call of this program is about to make it: its server may not know of it yet.
    fn is_being_made(&self) -> bool {
        let call = self.0.call.load(Ordering::Relaxed);
        call != 0 && self.place().session.is_under_way(call)
    }

    /// Its extents are known.
    pub(crate) fn has_extents(&self, extents: Vec<u64>) {
        let _ = self.0.extents.set(extents);
    }
}

impl fmt::Debug for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} ({}) at {}", self.0.id, self.0.kind, self.server())
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if !self.is_left.load(Ordering::Relaxed) {
            let session = self.place.get_mut().unwrap_or_else(PoisonError::into_inner);
            session.session.drop_data(self.id);
        }
    }
}

impl From<&Data> for Argument<'_> {
    fn from(data: &Data) -> Self {
        Argument::Data(data.clone())
    }
}

fn lock(place: &Mutex<Place>) -> MutexGuard<'_, Place> {
    place.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Which results of a call stay at its server.
#[derive(Clone, Debug, Default)]
pub enum Stay {
    /// None.
    #[default]
    Nothing,
    /// All arrays of numbers and characters for which no place was given, but those that always
    /// have one element: they are single numbers to most languages.
    All,
    /// Those of these parameters.
    These(Arc<[String]>),
}

impl Stay {
    /// Whether any results may stay.
    #[inline]
    pub(crate) fn is_any(&self) -> bool {
        !matches!(self, Stay::Nothing)
    }

    /// Names the results of a call that stay.
    pub(crate) fn results(
        &self,
        client: &Client,
        interface: &Interface,
        has_place: impl Fn(usize) -> bool,
    ) -> Result<Vec<(usize, Data)>> {
        let named: &[String] = match self {
            Stay::Nothing => return Ok(Vec::new()),
            Stay::All => &[],
            Stay::These(names) => names,
        };
        check_feature(client.session())?;
        let mut all = Vec::new();
        for (index, parameter) in interface.parameters.iter().enumerate() {
            let is_named = named.contains(&parameter.name);
            let kind = DataKind::of_parameter(parameter).filter(|_| parameter.mode.is_output());
            match kind {
                _ if !is_named && !named.is_empty() => {}
                Some(_) if has_place(index) && is_named => {
                    return Err(wrong(parameter, "a result cannot stay and go to an array"));
                }
                Some(kind) if !has_place(index) && (is_named || !is_single(parameter)) => {
                    all.push((index, Data::new(client, kind)));
                }
                None if is_named => {
                    return Err(wrong(parameter, "only results that are arrays of numbers stay"));
                }
                _ => {}
            }
        }
        let unknown = named
            .iter()
            .find(|name| !interface.parameters.iter().any(|parameter| parameter.name == **name));
        match unknown {
            None => Ok(all),
            Some(name) => {
                let message = format!("{} has no result \"{name}\"", interface.full_name());
                let names: Vec<&str> = interface
                    .parameters
                    .iter()
                    .filter(|one| one.mode.is_output())
                    .map(|one| one.name.as_str())
                    .collect();
                Err(Error::new(ErrorKind::InvalidArgument, "call", message)
                    .fix(format!("its results are {}", names.join(", "))))
            }
        }
    }
}

fn wrong(parameter: &Parameter, message: &'static str) -> Error {
    Error::new(ErrorKind::InvalidArgument, "call", message).with("parameter", &parameter.name)
}

fn check_feature(session: &Session) -> Result<()> {
    if session.has_feature(DATA) {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Version, "keep data at a server", "this server does not keep data")
        .fix("start a newer version of Farcall there"))
}

impl Data {
    fn new(client: &Client, kind: DataKind) -> Data {
        Data::named(client, DataId(client.session().random()), kind)
    }

    /// Data at the server that was connected to, which is deleted when this is dropped.
    pub(crate) fn named(client: &Client, id: DataId, kind: DataKind) -> Data {
        Data(Arc::new(Inner::new(client, id, kind)))
    }
}

impl Inner {
    fn new(client: &Client, id: DataId, kind: DataKind) -> Inner {
        Inner {
            client: client.clone(),
            id,
            kind,
            extents: OnceLock::new(),
            place: Mutex::new(Place { session: client.session().clone(), server: None }),
            call: AtomicU64::new(0),
            is_left: AtomicBool::new(false),
            made: None,
            copies: Copies::default(),
            trouble: OnceLock::new(),
        }
    }
}

fn delete(session: &Session, ids: Vec<DataId>) -> Result<()> {
    match session.ask(&Request::DeleteData(ids), None)? {
        Some(Reply::Done) => Ok(()),
        Some(Reply::Failed(failure)) => Err(failure.into()),
        Some(_) => Err(wrong_answer()),
        None => Err(ended_early()),
    }
}

pub(crate) fn wrong_answer() -> Error {
    Error::new(ErrorKind::Protocol, "ask for data", "the server sent the wrong kind of answer")
}

impl Client {
    /// Sends an array to the server, where it stays as data.
    ///
    /// # Errors
    /// `InvalidArgument` for what is not an array with a shape, `LimitExceeded` where there is no room for
    /// it, `Version` for a server that keeps no data.
    pub fn put<'a>(&self, array: impl Into<Argument<'a>>, options: &CallOptions) -> Result<Data> {
        let argument = array.into();
        let place = match &argument {
            Argument::Array(view) => Some(&view.place),
            _ => None,
        };
        let shape = place.and_then(|place| Some((place, place.shape.as_ref()?)));
        let (place, (counts, strides)) = shape.ok_or_else(|| {
            Error::new(ErrorKind::InvalidArgument, "put data", "it is not an array with a shape")
                .fix("pass an array")
        })?;
        let order = storage_order(counts, strides);
        let kind = DataKind::new(place.element, counts.len(), order).ok_or_else(|| {
            let message = "data cannot be such an array";
            Error::new(ErrorKind::InvalidArgument, "put data", message)
                .with("elements", place.element.name())
                .with("dimensions", counts.len())
                .fix("pass an array of numbers or characters with 1 to 15 dimensions")
        })?;
        let contract = Arc::new(Contract::local(kind.interface()));
        let routine = Routine { client: self.clone(), contract };
        let stay = Stay::These(Arc::from([VALUE.to_owned()]));
        let options = CallOptions { stay, ..options.clone() };
        let outputs = routine.call_with([(VALUE, argument)], &options)?;
        match outputs.get(VALUE)? {
            Output::Data(data) => Ok(data.clone()),
            _ => Err(wrong_answer()),
        }
    }
}

pub(crate) fn not_found(operation: &'static str, id: DataId, server: impl fmt::Display) -> Error {
    Error::new(ErrorKind::NotFound, operation, "the server has no such data")
        .with("data", id)
        .with("server", server)
        .fix("put it again: it was deleted, or its lease has ended; `farcall data` lists yours")
}

/// The same of a result of a call of a transaction.
pub(crate) fn result_not_found(id: DataId, server: impl fmt::Display, call: u32) -> Error {
    not_found("fetch data", id, server).with("call", call).fix(
        "make the call again: its result was deleted, or the transaction was ended; \
         `farcall transactions` lists yours",
    )
}

/// Which storage order an array has that lies so.
pub(crate) fn storage_order(counts: &[u64], strides: &[i64]) -> Order {
    let mut step = None;
    for (count, stride) in counts.iter().zip(strides).filter(|(count, _)| **count > 1) {
        let _ = count;
        if step.is_some_and(|before: i64| before > stride.abs()) {
            return Order::Row;
        }
        step = Some(stride.abs());
    }
    let is_column = counts.iter().filter(|count| **count > 1).count() > 1;
    if is_column { Order::Column } else { Order::Row }
}

/// Whether a parameter is an array, as data is.
pub(crate) fn is_array(parameter: &Parameter) -> bool {
    matches!(parameter.shape, Shape::Array { .. })
}

/// Whether a parameter always has one element.
fn is_single(parameter: &Parameter) -> bool {
    let Shape::Array { dimensions, .. } = &parameter.shape else { return false };
    dimensions.iter().all(|dimension| dimension.size == Expression::Integer(1))
}

/// The id of data, as a message names it.
pub(crate) fn wire(data: &Data) -> WireArgument {
    WireArgument::Data(data.id())
}
