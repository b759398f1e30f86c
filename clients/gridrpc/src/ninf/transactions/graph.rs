//! A transaction as a graph that the server of its calls runs: what a call writes to memory is a
//! value there, and a call that reads the same memory later takes it. Values never change, so that
//! calls which write to the same memory need not wait for each other.

mod outcome;
mod places;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use farcall_client::{Argument, Begin, CallOptions, Data, Error, PendingCall, Transaction};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::calling::{Laid, lay};
use crate::code::Outcome;
use crate::connecting::Connection;

use super::super::lock;
use super::recording::Step;
use super::{Came, Ending};
use outcome::{Ended, Fetched};
use places::{Place, are_apart};

/// A transaction with fewer calls has nothing that could stay at a server.
const CALLS_MIN: usize = 2;

/// What servers keep for one user unless they are told otherwise, less what others of the user's
/// programs may have there: values, and their bytes. A graph of more may come to a call whose results
/// have no room when others have run already.
const VALUES_MAX: usize = 4_000;
const BYTES_MAX: usize = 384 << 20;

/// A transaction that its server can run.
pub struct Graph<'s> {
    steps: &'s [Step],
    connection: Arc<Connection>,
    transaction: Arc<Transaction>,
    /// By the number of a call: those whose results it takes.
    sources: Vec<BTreeSet<usize>>,
    /// The same: whether it may run twice.
    may_repeat: Vec<bool>,
    /// In the order of the calls that make them.
    results: Vec<Wanted<'s>>,
}

/// Whether servers keep all values of a graph at once: what calls write, and what they read first.
fn has_room(steps: &[Step]) -> bool {
    let mut read = FxHashSet::default();
    let mut written = FxHashSet::default();
    let mut values = 0;
    let mut bytes = 0_usize;
    for step in steps {
        let spans = step.spans.iter().flatten();
        for span in spans.clone().filter(|span| span.read) {
            let place = Place::of(span);
            if !written.contains(&place) && read.insert(place) {
                values += 1;
                bytes = bytes.saturating_add(span.bytes);
            }
        }
        for span in spans.filter(|span| span.written) {
            written.insert(Place::of(span));
            values += 1;
            bytes = bytes.saturating_add(span.bytes);
        }
    }
    values <= VALUES_MAX && bytes <= BYTES_MAX
}

/// A result that the program wants in its memory.
struct Wanted<'s> {
    place: Place<'s>,
    call: usize,
    data: Data,
}

/// A graph in the making.
struct Writing<'s> {
    steps: &'s [Step],
    /// There since the first call.
    begun: Option<(Arc<Connection>, Transaction)>,
    sources: Vec<BTreeSet<usize>>,
    may_repeat: Vec<bool>,
    /// The call and parameter that wrote to memory last.
    last: FxHashMap<Place<'s>, (usize, usize)>,
}

impl<'s> Graph<'s> {
    /// Writes the graph; `None` where the calls are to run from here: they go to several servers,
    /// their server runs no graphs, or these cannot have such calls.
    ///
    /// # Safety
    /// The arguments of all steps are as their interfaces say.
    pub unsafe fn of(steps: &'s [Step], temporary: &BTreeSet<usize>) -> Option<Graph<'s>> {
        if steps.len() < CALLS_MIN || !are_apart(steps) {
            return None;
        }
        let last = FxHashMap::default();
        let mut writing =
            Writing { steps, begun: None, sources: Vec::new(), may_repeat: Vec::new(), last };
        for step in steps {
            // SAFETY: the caller's promise.
            unsafe { writing.add(step) }?;
        }
        writing.finish(temporary)
    }
}

impl<'s> Writing<'s> {
    /// Writes a call down.
    ///
    /// # Safety
    /// As for [`Graph::of`].
    unsafe fn add(&mut self, step: &'s Step) -> Option<()> {
        let call = &step.call;
        let wanted = call.wanted().ok()?;
        // What is wrong with a call is told when it runs from here. SAFETY: the caller's promise.
        let Laid { routine, connection, mut arguments } =
            unsafe { lay(&wanted, call.in_turn()) }.ok()??;
        let interface = routine.interface();
        let mut outputs = interface.parameters.iter().filter(|one| one.mode.is_output());
        // How much comes back is known when the call has run.
        let scope = interface.scope();
        if outputs.any(|one| one.expressions().any(|one| scope.refers_to_output(one))) {
            return None;
        }
        self.is_there(connection).then_some(())?;
        let (_, transaction) = self.begun.as_ref()?;
        let mut sources = BTreeSet::new();
        for span in step.spans.as_ref()? {
            let source = self.last.get(&Place::of(span)).filter(|_| span.read);
            if let Some((source, slot)) = source {
                let slot = u16::try_from(*slot).ok()?;
                let data = transaction.result(*source as u32, slot).ok()?;
                arguments[span.parameter] = Argument::Data(data);
                sources.insert(*source);
            } else if !span.read {
                arguments[span.parameter] = Argument::Unset;
            }
        }
        transaction.call(&routine, arguments, &[]).ok()?;
        let number = self.sources.len();
        for span in step.spans.iter().flatten().filter(|span| span.written && span.bytes > 0) {
            let before = self.last.insert(Place::of(span), (number, span.parameter));
            // Which of two results of one call stays there is not defined.
            before.is_none_or(|(call, _)| call != number).then_some(())?;
        }
        self.sources.push(sources);
        self.may_repeat.push(interface.idempotent);
        Some(())
    }

    /// Whether all calls so far go over this connection, and its server runs graphs.
    fn is_there(&mut self, connection: Arc<Connection>) -> bool {
        if let Some((first, _)) = &self.begun {
            return first.key == connection.key;
        }
        let transaction = Transaction::new(&connection.client).ok();
        self.begun = transaction.map(|transaction| (connection, transaction));
        self.begun.is_some()
    }

    /// Names the results that the program wants.
    fn finish(self, temporary: &BTreeSet<usize>) -> Option<Graph<'s>> {
        let Writing { steps, begun, sources, may_repeat, last } = self;
        let (connection, transaction) = begun?;
        let mut last: Vec<_> = last.into_iter().collect();
        last.retain(|(place, _)| !temporary.contains(&place.start));
        last.sort_unstable_by_key(|(_, made_by)| *made_by);
        let wanted = |(place, (call, slot)): (Place<'s>, (usize, usize))| {
            let data = transaction.result(call as u32, u16::try_from(slot).ok()?).ok()?;
            Some(Wanted { place, call, data })
        };
        let results = last.into_iter().map(wanted).collect::<Option<Vec<_>>>()?;
        let transaction = Arc::new(transaction);
        let graph = Graph { steps, connection, transaction, sources, may_repeat, results };
        (has_room(steps) || graph.can_always_go_on()).then_some(graph)
    }
}

impl Graph<'_> {
    /// Has it run, waits for all its calls, and takes the results. Calls run from here for whose
    /// results the server had no room. `None` where nothing has run.
    ///
    /// # Safety
    /// Results may be written to where the arguments of the calls say.
    pub unsafe fn run(&self, ending: &Arc<Ending>) -> Option<Outcome<Came>> {
        *lock(&ending.graph) = Some(self.transaction.clone());
        // SAFETY: the caller's promise.
        let came = unsafe { self.run_until_over(ending) };
        *lock(&ending.graph) = None;
        came
    }

    /// # Safety
    /// As for [`Graph::run`].
    unsafe fn run_until_over(&self, ending: &Arc<Ending>) -> Option<Outcome<Came>> {
        let id = self.transaction.id();
        let log = &self.connection.log;
        log.write(|| format!("transaction {id} of {} calls begins", self.steps.len()));
        let fetch = |wanted: &Wanted<'_>| wanted.data.start_fetch(&CallOptions::default());
        let fetch_all = || self.results.iter().map(fetch).collect::<Vec<_>>();
        let begun = self.transaction.begin_and(&Begin::default(), fetch_all);
        let fetches = match begun {
            Ok(fetches) => fetches.unwrap_or_default(),
            Err(error) if !self.transaction.may_have_run() => {
                log.write(|| format!("transaction {id} does not begin: {error}"));
                return None;
            }
            Err(error) => return Some(Ok(self.lost(error))),
        };
        let ended = match self.wait(fetches) {
            Ok(ended) => ended,
            Err(failure) => return Some(Err(failure)),
        };
        log.write(|| format!("transaction {id} ends: {}", ended.in_words()));
        // SAFETY: the caller's promise.
        Some(unsafe { ended.settle(self, ending) })
    }

    /// Which results a call makes.
    fn results_of(&self, call: usize) -> Range<usize> {
        let before = |limit: usize| self.results.partition_point(|wanted| wanted.call < limit);
        before(call)..before(call + 1)
    }

    /// Waits for all results, and for the end of all calls.
    fn wait(&self, fetches: Vec<farcall_client::Result<PendingCall>>) -> Outcome<Ended> {
        let mut fetched = Vec::with_capacity(fetches.len());
        for (wanted, fetch) in self.results.iter().zip(fetches) {
            fetched.push(match fetch {
                Ok(pending) => self.collect(wanted, pending)?,
                Err(error) => Err(error),
            });
        }
        let end = self.transaction.wait(None).map(Option::unwrap_or_default);
        Ok(Ended { fetched, end })
    }

    /// Waits for one result.
    fn collect(&self, wanted: &Wanted<'_>, mut pending: PendingCall) -> Outcome<Fetched> {
        let step = &self.steps[wanted.call];
        outcome::collect(&step.call, &self.connection, &mut pending)
    }

    /// It is not known what has run.
    fn lost(&self, error: Error) -> Came {
        let handle = &self.steps[0].call.handle;
        handle.server.note(&self.connection, &error);
        Came { failures: vec![handle.failed(error)], kept_back: 0, dropped: 0, missed: 0 }
    }
}
