//! The classic Ninf interface (`include/ninf.h`): what it knows between calls, and where it calls.

mod any;
mod calls;
mod entries;
mod failure;
mod sets;
mod settings;
mod transactions;
mod waiting;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use farcall_client::PerProcess;
use rustc_hash::FxHashMap;

use crate::attributes::HandleAttributes;
use crate::code::{Failure, Outcome};
use crate::context::Context;
use crate::handles::{Handle, Processes, RawHandle};
use entries::Entry;
use settings::Settings;

/// What this process knows of Ninf. Nobody begins or ends it: it is there when the first call comes.
#[derive(Default)]
pub struct Ninf {
    context: Mutex<Option<Arc<Context>>>,
    /// Handles of entries that were called before.
    handles: Mutex<FxHashMap<Entry, Arc<Handle>>>,
    pub settings: Mutex<Settings>,
    /// Executables by sessions that are under way, as addresses.
    pub executables: Mutex<FxHashMap<i32, usize>>,
}

static NINF: PerProcess<Ninf> = PerProcess::new();

/// What this process knows; a fork begins anew.
pub fn ninf() -> &'static Ninf {
    NINF.get(Ninf::default)
}

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
        let id = bound.first().copied().ok_or_else(|| Failure::other("no handle was made"))?;
        // SAFETY: a struct of our own.
        unsafe { context.handles.find(&RawHandle::new(id)) }
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
