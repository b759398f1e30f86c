//! Routines that are kept at hand, and what was learned of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use farcall_idl::callback::CallbackType;
use farcall_idl::data::DataKind;
use farcall_idl::encode::call_hash;
use farcall_idl::sizer::Sizer;
use farcall_services::directory::PublishedRoutine;

use super::{ModuleKey, Variant};
use crate::counters::{Counters, NameNumber};

/// A routine that is kept at hand, and what was learned of it.
pub struct Known {
    /// What the directory says.
    pub published: Arc<PublishedRoutine>,
    /// `module/name`.
    pub name: String,
    /// Its module.
    pub module_key: ModuleKey,
    /// What callers open its calls with that may leave out arrays, where it does not read some.
    call_hash: Option<[u8; 32]>,
    /// The sizes of its calls.
    pub sizer: Sizer,
    /// The functions that its callers pass, by parameter.
    pub callbacks: Vec<(usize, Arc<CallbackType>)>,
    /// Which it is in the counts.
    pub counted: NameNumber,
    /// Whether the server answers it itself, for data.
    pub is_data: bool,
    /// Typical time of its calls with little data, in nanoseconds; 0 while unknown.
    run_ns: AtomicU64,
    /// Whether it was measured with one thread, and with all.
    is_measured: [AtomicBool; 2],
    /// Whether the log says that it wants more processors than there are.
    is_in_log: AtomicBool,
}

impl Known {
    /// A routine of which nothing was learned yet.
    pub fn new(published: Arc<PublishedRoutine>, counters: &mut Counters) -> Known {
        let interface = &published.routine.interface;
        let name = interface.full_name();
        let sizer = Sizer::new(interface);
        let has_conditions = interface.parameters.iter().any(|one| one.given.is_some());
        let call_hash = has_conditions.then(|| call_hash(interface));
        let module_key = Arc::new((
            published.module.name.clone(),
            published.module.generation,
            Variant::default(),
        ));
        let counted = counters.routine(&name);
        let callbacks = CallbackType::all(interface);
        let is_data = DataKind::of_routine(&name).is_some();
        Known {
            is_data,
            callbacks,
            name,
            module_key,
            call_hash,
            sizer,
            counted,
            published,
            run_ns: AtomicU64::new(0),
            is_measured: Default::default(),
            is_in_log: AtomicBool::new(false),
        }
    }

    /// Whether a call was made for this interface. A caller that knows nothing of conditions on
    /// arrays gives them all.
    pub fn is_called_with(&self, contract: &[u8; 32]) -> bool {
        self.published.contract == *contract || self.call_hash.as_ref() == Some(contract)
    }

    /// Typical time of its calls with little data, where one has been seen.
    pub fn typical(&self) -> Option<Duration> {
        Some(self.run_ns.load(Ordering::Relaxed))
            .filter(|known| *known > 0)
            .map(Duration::from_nanos)
    }

    /// Whether the log does not yet say what is wrong with it; it does from now on.
    pub fn is_news_to_log(&self) -> bool {
        !self.is_in_log.swap(true, Ordering::Relaxed)
    }

    /// It was measured with so many threads.
    pub fn measured(&self, threads: u32) {
        self.is_measured[usize::from(threads > 1)].store(true, Ordering::Relaxed);
    }

    /// Whether it was with one thread, and with several.
    pub fn is_measured(&self) -> [bool; 2] {
        [0, 1].map(|which| self.is_measured[which].load(Ordering::Relaxed))
    }

    /// A call with little data took that long.
    pub fn learn(&self, nanoseconds: u64) {
        let before = self.run_ns.load(Ordering::Relaxed);
        let after = if before == 0 { nanoseconds } else { before - before / 4 + nanoseconds / 4 };
        self.run_ns.store(after.max(1), Ordering::Relaxed);
    }
}

impl std::ops::Deref for Known {
    type Target = PublishedRoutine;

    fn deref(&self) -> &PublishedRoutine {
        &self.published
    }
}
