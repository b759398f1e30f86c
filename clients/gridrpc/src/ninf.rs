//! The classic Ninf interface (`include/ninf.h`): what it knows between calls, and where it calls.

mod any;
mod calls;
mod entries;
mod failure;
mod foreign;
mod given;
mod groups;
mod lookup;
mod query;
mod sets;
mod settings;
mod transactions;
mod waiting;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use farcall_client::PerProcess;
use rustc_hash::FxHashMap;

use crate::attributes::HandleAttributes;
use crate::code::{Code, Failure, Number, Outcome};
use crate::context::Context;
use crate::handles::{Handle, Processes};
use crate::pointers::RawHandle;
pub use calls::{call_fortran, enter_call as enter_fortran};

use calls::Stub;
use entries::Entry;
use given::Given;
use groups::Group;
use settings::Settings;

/// What this process knows of Ninf. Nobody begins or ends it: it is there when the first call
/// comes.
#[derive(Default)]
pub struct Ninf {
    context: Mutex<Option<Arc<Context>>>,
    /// Handles of entries that were called before.
    handles: Mutex<FxHashMap<Entry, Arc<Handle>>>,
    pub settings: Mutex<Settings>,
    pub stubs: Given<Stub>,
    pub executables: Given<Stub>,
    /// Those of programs stay: nothing in the interface ends one.
    pub groups: Given<Group>,
    /// Executables by sessions that are under way with them, as addresses.
    pub started: Mutex<FxHashMap<i32, usize>>,
    /// What turns objects of other systems into numbers.
    pub foreign: Mutex<foreign::Functions>,
    /// Transactions whose ends threads wait for.
    pub ending: Mutex<Vec<Arc<transactions::Ending>>>,
}

static NINF: PerProcess<Ninf> = PerProcess::new();

/// What this process knows; a fork starts over.
pub fn ninf() -> &'static Ninf {
    NINF.get(Ninf::default)
}

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn no_program(path: &str, why: &str) -> Failure {
    let words = format!("{path} cannot be run as a stub executable: {why}");
    Failure::new(Code::FunctionNotFound, words).numbered(Number::CantExecuteStub)
}

impl Ninf {
    /// The sessions and servers.
    pub fn context(&self) -> Outcome<Arc<Context>> {
        let mut context = lock(&self.context);
        if let Some(context) = &*context {
            return Ok(context.clone());
        }
        // Ninf knows no configuration file.
        let made = Arc::new(Context::new(None)?);
        *context = Some(made.clone());
        Ok(made)
    }

    /// A handle of the entry, looked up once.
    pub fn handle(&self, text: &str) -> Outcome<Arc<Handle>> {
        let entry = Entry::read(text)?.at_home(&lock(&self.settings));
        self.handle_of(entry)
    }

    /// A handle of the entry with a process of its own.
    pub fn executable(&self, text: &str) -> Outcome<Arc<Handle>> {
        let entry = Entry::read(text)?.at_home(&lock(&self.settings));
        self.bind(&entry, Processes::Own(1))
    }

    fn bind(&self, entry: &Entry, processes: Processes) -> Outcome<Arc<Handle>> {
        let context = self.context()?;
        let mut attributes = HandleAttributes::of(entry.host.clone(), &entry.name);
        attributes.port = entry.port.into();
        let bound = context.handles.bind(&context.servers, &entry.name, &attributes, processes)?;
        Ninf::first(&context, &bound)
    }

    fn first(context: &Context, bound: &[u64]) -> Outcome<Arc<Handle>> {
        let id = bound.first().copied().ok_or_else(|| Failure::other("no handle was created"))?;
        // SAFETY: a struct of our own.
        unsafe { context.handles.find(&RawHandle::new(id)) }
    }

    /// A handle of the one function of the stub executable at this path, which a server of this
    /// process alone runs.
    pub fn program(&self, path: &str) -> Outcome<Arc<Handle>> {
        let full = std::fs::canonicalize(path);
        let full = full.map_err(|error| no_program(path, &error.to_string()))?;
        let entry = Entry { host: full.to_str().map(str::to_owned), port: 0, name: String::new() };
        if let Some(handle) = lock(&self.handles).get(&entry) {
            return Ok(handle.clone());
        }
        let context = self.context()?;
        let server = context.servers.program(full);
        let connection =
            server.connect(None).map_err(|failure| no_program(path, &failure.words))?;
        let routines = connection.client.routines()?;
        let [routine] = &routines[..] else {
            return Err(no_program(
                path,
                &format!("it must have one function, not {}", routines.len()),
            ));
        };
        let attributes = HandleAttributes::of(None, routine.name());
        let bound =
            context.handles.bind_at(&server, routine.name(), &attributes, Processes::Shared)?;
        let handle = Ninf::first(&context, &bound)?;
        lock(&self.handles).insert(entry, handle.clone());
        Ok(handle)
    }

    pub fn handle_of(&self, entry: Entry) -> Outcome<Arc<Handle>> {
        if let Some(handle) = lock(&self.handles).get(&entry) {
            return Ok(handle.clone());
        }
        let handle = self.bind(&entry, Processes::Shared)?;
        lock(&self.handles).insert(entry, handle.clone());
        Ok(handle)
    }
}
