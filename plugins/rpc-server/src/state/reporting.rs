//! What the server tells other servers of itself: the calls that ran, and those that metaservers
//! placed here.
//!
//! - Nothing is noted until somebody asks, and nothing more when nobody has asked for a while.
//! - What was noted stands in a line that forgets the oldest; each listener has a place in it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use farcall_base::{ConnectionId, Instant};
use farcall_services::placement::{Placed, PlacedRoutines};
use farcall_wire::RanCall;

/// Calls that are told at a time, and of one routine.
const RUNS_MAX: usize = 1024;
const RUNS_OF_ONE_MAX: u32 = 64;
/// Grants that are told at a time.
const GRANTS_MAX: usize = 4096;
/// Those who ask and are told of calls; others are told how the server is.
const LISTENERS_MAX: usize = 64;
/// Time without a question after which somebody is taken to listen no more.
const LISTENS_FOR: Duration = Duration::from_secs(30);
/// What the last start counts in the mean of all, and the last run in that of its routine.
const LEARNING: f64 = 0.25;
/// Job waits that are remembered.
const JOB_WAITS: usize = 12;

/// Who asks how the server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Listener {
    /// The metaserver of this node.
    OwnMetaserver,
    /// A client.
    Client(ConnectionId),
}

/// A line that forgets the oldest.
struct Line<T> {
    items: VecDeque<T>,
    /// Those that ever stood in it.
    total: u64,
    max: usize,
}

impl<T: Clone> Line<T> {
    fn new(max: usize) -> Line<T> {
        Line { items: VecDeque::new(), total: 0, max }
    }

    fn push(&mut self, item: T) {
        if self.items.len() >= self.max {
            self.items.pop_front();
        }
        self.items.push_back(item);
        self.total += 1;
    }

    /// Those behind a place.
    fn since(&self, place: u64) -> impl Iterator<Item = &T> {
        let first = self.total - self.items.len() as u64;
        let skipped = usize::try_from(place.saturating_sub(first)).unwrap_or(usize::MAX);
        self.items.iter().skip(skipped)
    }
}

/// How far somebody has heard.
#[derive(Clone, Copy, Debug, Default)]
struct Heard {
    at: Instant,
    runs: u64,
    begun: u64,
    arrived: u64,
}

/// What somebody has not heard yet.
#[derive(Debug, Default)]
pub struct News {
    /// Calls that ran, each with its module.
    pub runs: Vec<(Arc<str>, RanCall)>,
    /// Grants whose calls have begun to come.
    pub begun: Vec<u64>,
    /// Those that have all arguments.
    pub arrived: Vec<u64>,
}

/// What is noted for other servers.
pub struct Reporting {
    listens: bool,
    listeners: BTreeMap<Listener, Heard>,
    runs: Line<(Arc<str>, RanCall)>,
    /// Of each routine, how many were noted since somebody asked.
    noted: BTreeMap<[u8; 32], u32>,
    begun: Line<u64>,
    arrived: Line<u64>,
    /// Seconds for each operation, by routine.
    pace: BTreeMap<[u8; 32], f64>,
    start_s: Option<f64>,
    job_waits: VecDeque<f64>,
    placed: Arc<PlacedRoutines>,
}

impl Default for Reporting {
    fn default() -> Reporting {
        Reporting {
            listens: false,
            listeners: BTreeMap::new(),
            runs: Line::new(RUNS_MAX),
            noted: BTreeMap::new(),
            begun: Line::new(GRANTS_MAX),
            arrived: Line::new(GRANTS_MAX),
            pace: BTreeMap::new(),
            start_s: None,
            job_waits: VecDeque::new(),
            placed: Arc::default(),
        }
    }
}

impl Reporting {
    /// Whether anybody is to be told of calls: all that a call looks at.
    #[inline]
    pub(crate) fn listens(&self) -> bool {
        self.listens
    }

    /// What somebody has not heard who asks now; who asks for the first time begins to listen.
    pub(crate) fn hear(&mut self, now: Instant, listener: Listener) -> News {
        self.listeners.retain(|_, heard| now.since(heard.at) < LISTENS_FOR);
        let is_known = self.listeners.contains_key(&listener);
        if !is_known && self.listeners.len() >= LISTENERS_MAX {
            return News::default();
        }
        let new = Heard {
            at: now,
            runs: self.runs.total,
            begun: self.begun.total,
            arrived: self.arrived.total,
        };
        let heard = self.listeners.insert(listener, new).unwrap_or(new);
        self.listens = true;
        self.noted.clear();
        News {
            runs: self.runs.since(heard.runs).cloned().collect(),
            begun: self.begun.since(heard.begun).copied().collect(),
            arrived: self.arrived.since(heard.arrived).copied().collect(),
        }
    }

    /// Somebody is gone, or has not asked for long.
    pub(crate) fn forget(&mut self, now: Instant, gone: Option<ConnectionId>) {
        if !self.listens {
            return;
        }
        self.listeners.retain(|listener, heard| {
            let is_gone = gone.is_some_and(|gone| *listener == Listener::Client(gone));
            !is_gone && now.since(heard.at) < LISTENS_FOR
        });
        if self.listeners.is_empty() {
            self.listens = false;
            (self.runs, self.begun) = (Line::new(RUNS_MAX), Line::new(GRANTS_MAX));
            self.arrived = Line::new(GRANTS_MAX);
            self.noted.clear();
        }
    }

    /// Whether a run of this routine is to be noted.
    pub(crate) fn wants(&self, routine: &[u8; 32]) -> bool {
        self.noted.get(routine).is_none_or(|count| *count < RUNS_OF_ONE_MAX)
    }

    /// A call ran.
    pub(crate) fn ran(&mut self, module: Arc<str>, run: RanCall) {
        *self.noted.entry(run.routine).or_default() += 1;
        let pace = run.seconds / run.amount.max(1.0);
        if self.pace.len() >= RUNS_MAX && !self.pace.contains_key(&run.routine) {
            self.pace.clear();
        }
        let known = self.pace.entry(run.routine).or_insert(pace);
        *known += (pace - *known) * LEARNING;
        self.runs.push((module, run));
    }

    /// How long a call of so much work runs, where the routine ran before.
    pub(crate) fn expected_s(&self, routine: &[u8; 32], amount: f64) -> Option<f64> {
        self.pace.get(routine).map(|pace| pace * amount.max(1.0))
    }

    /// A call came that a metaserver placed here.
    pub(crate) fn begun(&mut self, grant: u64) {
        self.begun.push(grant);
    }

    /// All its arguments are here.
    pub(crate) fn arrived(&mut self, grant: u64) {
        self.arrived.push(grant);
    }

    /// An executable took so long to start.
    pub(crate) fn started(&mut self, took: Duration) {
        let took = took.as_secs_f64();
        self.start_s = Some(self.start_s.map_or(took, |known| known + (took - known) * LEARNING));
    }

    /// How long one takes.
    pub(crate) fn start_s(&self) -> f64 {
        self.start_s.unwrap_or(0.0)
    }

    /// A job waited so long before it ran.
    pub(crate) fn job_waited(&mut self, waited: Duration) {
        if self.job_waits.len() >= JOB_WAITS {
            self.job_waits.pop_front();
        }
        self.job_waits.push_back(waited.as_secs_f64());
    }

    /// How long jobs wait: the median of the last ones.
    pub(crate) fn job_wait_s(&self) -> Option<f64> {
        let mut waits: Vec<f64> = self.job_waits.iter().copied().collect();
        waits.sort_by(f64::total_cmp);
        waits.get(waits.len() / 2).copied()
    }

    /// Others publish these.
    pub(crate) fn set_placed(&mut self, placed: Arc<PlacedRoutines>) {
        self.placed = placed;
    }

    /// Whether others publish anything.
    pub(crate) fn leads(&self) -> bool {
        !self.placed.is_empty()
    }

    /// Whether others publish a routine.
    pub(crate) fn placed(&self, full_name: &str, contract: &[u8; 32]) -> Option<Placed> {
        self.placed.get(full_name)?.get(contract).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(routine: u8) -> RanCall {
        RanCall {
            routine: [routine; 32],
            sizes: 0,
            amount: 10.0,
            threads: 1,
            seconds: 1.0,
            waited_s: 0.0,
            grant: None,
        }
    }

    #[test]
    fn each_listener_hears_everything_once_and_nobody_of_the_time_before() {
        let mut reporting = Reporting::default();
        let own = Listener::OwnMetaserver;
        let client = Listener::Client(ConnectionId(7));
        assert!(!reporting.listens());
        assert!(reporting.hear(Instant(1), own).runs.is_empty() && reporting.listens());
        reporting.ran("lapack".into(), run(1));
        reporting.begun(9);
        assert!(reporting.hear(Instant(2), client).runs.is_empty(), "it did not listen yet");
        let news = reporting.hear(Instant(3), own);
        assert_eq!((news.runs.len(), news.begun), (1, vec![9]));
        reporting.ran("lapack".into(), run(1));
        assert_eq!(reporting.hear(Instant(4), client).runs.len(), 1);
        assert_eq!(reporting.hear(Instant(5), own).runs.len(), 1);
        assert!(reporting.hear(Instant(6), own).runs.is_empty());
    }

    #[test]
    fn nobody_listens_any_more_who_left_or_has_not_asked_for_long() {
        let mut reporting = Reporting::default();
        let client = Listener::Client(ConnectionId(7));
        reporting.hear(Instant(1), client);
        reporting.forget(Instant(2), Some(ConnectionId(8)));
        assert!(reporting.listens());
        reporting.forget(Instant(3), Some(ConnectionId(7)));
        assert!(!reporting.listens());
        reporting.hear(Instant(4), client);
        reporting.forget(Instant(4) + LISTENS_FOR, None);
        assert!(!reporting.listens());
    }

    #[test]
    fn of_many_calls_some_are_noted_and_the_line_forgets_the_oldest() {
        let mut reporting = Reporting::default();
        reporting.hear(Instant(1), Listener::OwnMetaserver);
        for _ in 0..RUNS_OF_ONE_MAX {
            assert!(reporting.wants(&[1; 32]));
            reporting.ran("m".into(), run(1));
        }
        assert!(!reporting.wants(&[1; 32]) && reporting.wants(&[2; 32]));
        for grant in 0..2 * GRANTS_MAX as u64 {
            reporting.arrived(grant);
        }
        let news = reporting.hear(Instant(2), Listener::OwnMetaserver);
        assert_eq!(news.arrived.len(), GRANTS_MAX);
        assert_eq!(news.arrived[0], GRANTS_MAX as u64);
        assert!(reporting.wants(&[1; 32]), "the next report has room again");
    }

    #[test]
    fn of_waits_of_jobs_the_median_is_told() {
        let mut reporting = Reporting::default();
        assert_eq!(reporting.job_wait_s(), None);
        for seconds in [1, 100, 2] {
            reporting.job_waited(Duration::from_secs(seconds));
        }
        assert_eq!(reporting.job_wait_s(), Some(2.0));
    }
}
