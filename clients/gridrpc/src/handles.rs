//! Handles: a name at a server. Of functions, and of objects.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use farcall_client::{Error, ErrorKind, ObjectId, Routine};
use rustc_hash::FxHashMap;

use crate::attributes::HandleAttributes;
use crate::code::Number;
use crate::code::{Code, Failure, Outcome, is_of_argument};
use crate::connecting::Connection;
use crate::debugging::attach;
use crate::held::Held;
use crate::own::{Own, Turn};
use crate::pointers::RawHandle;
use crate::servers::{Server, Servers};
use crate::within;

/// What a handle is one of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Function,
    Object,
}

impl Kind {
    fn invalid(self) -> Code {
        match self {
            Kind::Function => Code::InvalidFunctionHandle,
            Kind::Object => Code::InvalidObjectHandle,
        }
    }

    fn missing(self) -> Code {
        match self {
            Kind::Function => Code::FunctionNotFound,
            Kind::Object => Code::ClassNotFound,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Kind::Function => "function",
            Kind::Object => "object",
        }
    }
}

/// A handle.
pub struct Handle {
    pub id: u64,
    kind: Kind,
    pub name: String,
    pub server: Arc<Server>,
    pub process: Process,
    pub attributes: HandleAttributes,
    /// How long connecting and looking up took when it was bound.
    pub binding: Binding,
    /// The last error with it.
    last: Mutex<Option<Failure>>,
    timed_out: AtomicBool,
    /// Whether a call has shown that the process which is its own, and no other's, is no more.
    gone: AtomicBool,
    /// Whether its last session has ended well: a process is there for the next one.
    is_warm: AtomicBool,
    /// Whether it was said that calls pass more arguments than there are.
    has_surplus: AtomicBool,
}

/// What a handle's calls run in.
#[derive(Clone)]
pub enum Process {
    /// Whatever is free: the calls are independent.
    Shared,
    /// One of its own where that is free.
    Preferred(Arc<Own>),
    /// One of its own, in the order of the calls: an object, or one of an array.
    Own(Held),
}

impl Process {
    fn held(&self) -> Option<Held> {
        match self {
            Process::Shared => None,
            Process::Preferred(own) => own.held(),
            Process::Own(held) => Some(held.clone()),
        }
    }
}

/// Which processes handles are to have.
#[derive(Clone, Copy, Debug)]
pub enum Processes {
    /// One handle, for whatever process is free.
    Shared,
    /// The same, but with a process of its own at a server that belongs to this program alone.
    Default,
    /// One handle, with a process of its own where the server gives one.
    Preferred,
    /// So many handles, each with a process of its own.
    Own(usize),
}

/// How long binding took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Binding {
    pub connecting: Duration,
    pub looking_up: Duration,
}

/// All handles of a kind.
pub struct Handles {
    kind: Kind,
    known: Mutex<FxHashMap<u64, Arc<Handle>>>,
}

/// Numbers of handles begin where no counter or pointer of a program is, so that memory which
/// nobody has set is no handle.
static NEXT: AtomicU64 = AtomicU64::new(0xfa2c_a115_0000_0001);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Handles {
    pub fn new(kind: Kind) -> Handles {
        Handles { kind, known: Mutex::default() }
    }

    /// Binds the name at the first of the servers that has it, so many times.
    pub fn bind(
        &self,
        servers: &Servers,
        name: &str,
        attributes: &HandleAttributes,
        wanted: Processes,
    ) -> Outcome<Vec<u64>> {
        let mut failure = None;
        for server in servers.named(attributes.host.as_deref(), attributes.port, name)? {
            let function = servers.function(&server, name);
            let attributes = attributes.completed(server.section.as_ref(), function.as_ref());
            match self.bind_at(&server, name, &attributes, wanted) {
                Ok(all) => return Ok(all),
                Err(error) => failure = Some(telling(failure, error)),
            }
        }
        Err(servers.explained(failure, name))
    }

    /// Binds the name at this server, so many times.
    pub fn bind_at(
        &self,
        server: &Arc<Server>,
        name: &str,
        attributes: &HandleAttributes,
        wanted: Processes,
    ) -> Outcome<Vec<u64>> {
        let debug = server.section.as_ref().and_then(|section| section.debug.as_ref());
        // Whoever looks at a process wants to see the handle's calls there.
        let wanted = match wanted {
            Processes::Shared | Processes::Default if debug.is_some() => Processes::Preferred,
            // As in Ninf-G: routines may count on their static variables.
            Processes::Default if server.runs_stubs() => Processes::Preferred,
            Processes::Default => Processes::Shared,
            wanted => wanted,
        };
        let (binding, all) = self.look_up(server, name, attributes, wanted)?;
        if let Some(debug) = debug {
            let held: Vec<Held> = all.iter().filter_map(Process::held).collect();
            attach(debug, &server.connect(attributes.start_limit())?.client, &held);
        }
        let add = |process| self.add(name, server.clone(), process, attributes, binding);
        Ok(all.into_iter().map(add).collect())
    }

    fn add(
        &self,
        name: &str,
        server: Arc<Server>,
        process: Process,
        attributes: &HandleAttributes,
        binding: Binding,
    ) -> u64 {
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let kind = self.kind;
        let name = name.to_owned();
        let attributes = attributes.clone();
        let last = Mutex::default();
        let timed_out = AtomicBool::new(false);
        let gone = AtomicBool::new(false);
        let is_warm = AtomicBool::new(false);
        let has_surplus = AtomicBool::new(false);
        let handle = Handle {
            id,
            kind,
            name,
            server,
            process,
            attributes,
            binding,
            last,
            timed_out,
            gone,
            is_warm,
            has_surplus,
        };
        lock(&self.known).insert(id, Arc::new(handle));
        id
    }

    /// The handle that the caller's struct names.
    ///
    /// # Safety
    /// NULL, or a struct of the caller's.
    pub unsafe fn find(&self, raw: *const RawHandle) -> Outcome<Arc<Handle>> {
        // SAFETY: the caller's promise; its words may be anything.
        let id = unsafe { raw.as_ref() }.map(|raw| raw.id);
        let found = id.and_then(|id| lock(&self.known).get(&id).cloned());
        found.ok_or_else(|| {
            let what = if raw.is_null() {
                "it is NULL"
            } else {
                "initialize it first, or again after it was destructed"
            };
            Failure::new(
                self.kind.invalid(),
                format!("this is not a {} handle: {what}", self.kind.word()),
            )
        })
    }

    /// The processes that are theirs alone.
    pub fn all_held(&self) -> Vec<Held> {
        lock(&self.known).values().filter_map(|handle| handle.held()).collect()
    }

    pub fn remove(&self, id: u64) {
        lock(&self.known).remove(&id);
    }
}

impl Handles {
    /// Asks a server for a routine, or for a class, and for processes of it: as many places as
    /// there are to be handles.
    fn look_up(
        &self,
        server: &Arc<Server>,
        name: &str,
        attributes: &HandleAttributes,
        wanted: Processes,
    ) -> Outcome<(Binding, Vec<Process>)> {
        let begun = Instant::now();
        let limit = attributes.start_limit();
        let connection = server.connect_to_bind(limit)?;
        let connected = Instant::now();
        let missing = self.kind.missing();
        let found = routine(server, &connection, name, self.kind);
        match self.kind {
            Kind::Function => drop(found?),
            Kind::Object if found.is_ok() => {
                let message =
                    format!("{name} is a routine, not a class; bind a function handle to it");
                return Err(Failure::new(missing, message));
            }
            Kind::Object => {}
        }
        let all = match wanted {
            Processes::Shared | Processes::Default => vec![Process::Shared],
            Processes::Preferred => {
                vec![Process::Preferred(Arc::new(Own::ask(
                    server,
                    &connection,
                    name,
                    attributes.start(),
                )))]
            }
            Processes::Own(0) => Vec::new(),
            Processes::Own(count) => {
                let asked = Held::ask(server, &connection.client, name, count, attributes.start());
                let held = asked.map_err(|error| Failure::of_binding(&error, missing))?;
                // A server tells of a class that it has not when it is to start it.
                if let (Kind::Object, Some(first)) = (self.kind, held.first()) {
                    first.ready().map_err(|error| Failure::of_binding(&error, missing))?;
                }
                held.into_iter().map(Process::Own).collect()
            }
        };
        Ok((Binding { connecting: connected - begun, looking_up: connected.elapsed() }, all))
    }
}

fn routine(
    server: &Server,
    connection: &Arc<Connection>,
    name: &str,
    kind: Kind,
) -> Outcome<Routine> {
    connection.client.routine(name).map_err(|error| {
        server.note(connection, &error);
        Failure::of_binding(&error, kind.missing())
    })
}

/// Whichever of two failures says more to somebody who asked several servers: that one has no such
/// routine says more than that another is not there, and that one could not be started more than
/// either.
pub fn telling(earlier: Option<Failure>, later: Failure) -> Failure {
    match earlier {
        Some(earlier) if later.code == Code::ServerNotFound || earlier.code == Code::OtherError => {
            earlier
        }
        _ => later,
    }
}

impl Handle {
    /// The routine, or the method of a class, as its server has it now.
    pub fn routine(&self, method: Option<&str>) -> Outcome<(Routine, Arc<Connection>)> {
        self.check_time()?;
        let connection = self.server.connect(self.attributes.start_limit())?;
        let found = match method {
            None => routine(&self.server, &connection, &self.name, self.kind),
            Some(method) => {
                let class = match &self.process {
                    Process::Own(held) => held.name(),
                    Process::Shared | Process::Preferred(_) => &self.name,
                };
                routine(&self.server, &connection, &format!("{class}.{method}"), Kind::Function)
            }
        };
        Ok((found?, connection))
    }

    fn check_time(&self) -> Outcome<()> {
        if self.timed_out.load(Ordering::Relaxed) {
            let message = format!(
                "{}: a call with this handle timed out; initialize the handle again",
                self.name
            );
            return Err(Failure::new(self.kind.invalid(), message));
        }
        Ok(())
    }

    /// Where its next call is to run: on this object, and, where that takes one call at a time, for
    /// this turn.
    pub fn take(&self, connection: &Connection) -> Outcome<(Option<ObjectId>, Option<Turn>)> {
        match &self.process {
            Process::Shared => Ok((None, None)),
            Process::Own(held) => {
                within::check(held.id, &self.name)?;
                Ok((Some(held.id), None))
            }
            Process::Preferred(own) => {
                let turn = own.take(connection)?;
                Ok((turn.as_ref().map(|turn| turn.id), turn))
            }
        }
    }

    /// The processes that are its own.
    pub fn held(&self) -> Option<Held> {
        self.process.held()
    }

    /// A call's failure: that an object's process is gone makes its handle useless.
    pub fn failed(&self, error: Error) -> Failure {
        let gone = error.kind() == ErrorKind::NotFound && !is_of_argument(&error);
        if gone || matches!(error.kind(), ErrorKind::RoutineCrashed | ErrorKind::RoutineExited) {
            self.gone.store(true, Ordering::Relaxed);
        }
        let held = match &self.process {
            Process::Own(held) if gone => held,
            // It ended between two calls; the next one has another.
            Process::Preferred(_) if gone => {
                return self.noted(Failure::new(Code::SessionFailed, error.to_string()));
            }
            // It was there when the handle was bound.
            _ if gone => return self.noted(Failure::from(error).numbered(Number::StubRemoved)),
            _ => return self.noted(error.into()),
        };
        // One that never began is one that never was; why is what its caller wants to know.
        let never_began =
            held.is_ready().err().filter(|reason| reason.kind() != ErrorKind::NotFound);
        self.noted(match never_began {
            Some(reason) => Failure::of_binding(&reason, self.kind.missing()),
            None => {
                Failure::new(self.kind.invalid(), error.to_string()).numbered(Number::StubRemoved)
            }
        })
    }

    /// Whether its process takes calls.
    pub fn is_ready(&self) -> Outcome<bool> {
        self.check_time()?;
        let ready = match &self.process {
            Process::Own(_) if self.gone.load(Ordering::Relaxed) => {
                let message = format!(
                    "{}: the handle's process ended; initialize the handle again",
                    self.name
                );
                return Err(Failure::new(self.kind.invalid(), message));
            }
            Process::Own(held) => held.is_ready(),
            Process::Preferred(own) => own.is_ready(),
            Process::Shared => return self.routine(None).map(|_| true),
        };
        ready.map_err(|error| Failure::of_binding(&error, self.kind.missing()))
    }

    /// Has it serve on after a call that took too long.
    pub fn forgive(&self) {
        self.timed_out.store(false, Ordering::Relaxed);
    }

    /// Notes how a session with it has ended.
    pub fn note_end(&self, failure: Option<&Failure>) {
        self.is_warm.store(failure.is_none(), Ordering::Relaxed);
    }

    /// Whether its next session need not wait for a process to start.
    pub fn is_warm(&self) -> bool {
        self.is_warm.load(Ordering::Relaxed)
    }

    /// Whether a call passes more arguments than there are for the first time.
    pub fn is_first_surplus(&self) -> bool {
        !self.has_surplus.swap(true, Ordering::Relaxed)
    }

    /// Keeps a failure as the handle's last one.
    pub fn noted(&self, failure: Failure) -> Failure {
        if failure.code == Code::Timeout {
            self.timed_out.store(true, Ordering::Relaxed);
        }
        *lock(&self.last) = Some(failure.clone());
        failure
    }

    /// The last failure with it.
    pub fn last(&self) -> Option<Failure> {
        lock(&self.last).clone()
    }
}
