//! Keeps a connection to a server of a list, asks it how it is, and tells the private server.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use farcall_base::{Error, ErrorKind, Result};
use farcall_wire::{Reply, ReportAnswer, Request, ServerReport, StateQuestion};

use super::arriving::Roll;
use crate::session::Session;
use crate::view::{Server, View, is_gone, places};

/// Time between two questions: while this client has calls there, and else.
const BUSY_PAUSE: Duration = Duration::from_millis(200);
const PAUSE: Duration = Duration::from_secs(1);
/// Time until a server is tried again that could not be reached: at first, and at most.
const RETRY: Duration = Duration::from_secs(2);
const RETRY_MAX: Duration = Duration::from_secs(60);
/// One wait: nobody holds the client for longer.
const WAIT: Duration = Duration::from_millis(500);
/// Time for an answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// Questions for interfaces without a pause.
const ROUNDS_MAX: u32 = 64;
/// Time in which what a server publishes is to be found.
const KNOWN_MAX: Duration = Duration::from_secs(2);
const KNOWN_PAUSE: Duration = Duration::from_millis(20);

/// Time in which the private server tells its directory of all that it was told.
const COUNTED: Duration = Duration::from_millis(300);

/// Has a thread attend to a server as long as the client is there.
///
/// # Errors
/// No thread can be had.
pub fn attend(view: &Arc<View>, roll: &Arc<Roll>, index: usize) -> Result<()> {
    let mut attendant = Attendant {
        roll: roll.clone(),
        index,
        server: roll.server(index).clone(),
        last: None,
        known: None,
        wanted: Vec::new(),
        offered: BTreeMap::new(),
        rounds: 0,
        is_there: false,
        retry: RETRY,
    };
    let view = Arc::downgrade(view);
    let thread = std::thread::Builder::new().name("farcall-listed".to_owned());
    let attends = move || attendant.run(&view);
    thread.spawn(attends).map(drop).map_err(|error| Error::system("start a thread", error))
}

struct Attendant {
    roll: Arc<Roll>,
    index: usize,
    server: Arc<Server>,
    /// What it said last, without what it publishes.
    last: Option<ServerReport>,
    /// The revision of what it publishes, if that was told.
    known: Option<u64>,
    wanted: Vec<[u8; 32]>,
    /// What it publishes: names and contracts.
    offered: BTreeMap<String, [u8; 32]>,
    rounds: u32,
    is_there: bool,
    retry: Duration,
}

/// What is found of what a server publishes.
enum Found {
    All,
    Some,
    /// All names, and some of them in another version.
    OtherVersions,
}

/// What is next.
enum Next {
    /// The same, at once.
    Again,
    /// The next question, after this time.
    After(Duration),
}

impl Attendant {
    fn run(&mut self, view: &Weak<View>) {
        let mut is_last = false;
        loop {
            let Some(view) = view.upgrade() else { return };
            let next = self.attend_once(&view);
            if let Err(error) = &next {
                self.is_there = false;
                self.roll.is_away(self.index, error);
            }
            drop(view);
            match next {
                Ok(Next::Again) => {}
                Ok(Next::After(pause)) => self.roll.rest(self.index, pause, &mut is_last),
                Err(_) => {
                    self.roll.rest(self.index, self.retry, &mut is_last);
                    self.retry = (self.retry * 2).min(RETRY_MAX);
                }
            }
        }
    }

    fn attend_once(&mut self, view: &Arc<View>) -> Result<Next> {
        let until = Instant::now().checked_add(WAIT);
        let session = match self.server.session(view, until) {
            Ok(Some(session)) => session,
            Ok(None) => return Ok(Next::Again),
            Err(error) => return Err(self.lose(view, error)),
        };
        if !places(&session) {
            let message = "it runs an older version of Farcall, which does not say how it is";
            let error = Error::new(ErrorKind::Version, "connect", message);
            return Err(error.fix("install this version there, or connect to it alone"));
        }
        match self.ask(&session) {
            Ok(Some(report)) => self.pass_on(view, report),
            Ok(None) => Ok(Next::Again),
            // Silence is seen by the private server, too.
            Err(error) if error.kind() == ErrorKind::TimedOut => Ok(Next::Again),
            Err(error) => Err(self.lose(view, error)),
        }
    }

    /// How the server is; nothing if it has not answered yet.
    fn ask(&mut self, session: &Arc<Session>) -> Result<Option<ServerReport>> {
        let question =
            StateQuestion { known: self.known, wanted: self.wanted.clone(), asker: None };
        match session.ask_for(&Request::State(question), Some(WAIT), PATIENCE)? {
            None => Ok(None),
            Some(Reply::State(report)) => Ok(Some(*report)),
            Some(Reply::Failed(failure)) => Err(failure.into()),
            Some(_) => {
                let message = "it sent the wrong kind of answer";
                Err(Error::new(ErrorKind::Protocol, "ask how a server is", message))
            }
        }
    }

    /// Tells the private server.
    fn pass_on(&mut self, view: &Arc<View>, mut report: ServerReport) -> Result<Next> {
        report.name = self.server.name.to_string();
        // The client reaches it, and nobody else.
        report.addresses = Vec::new();
        report.metaservers = Vec::new();
        if let Some(offers) = &report.offers {
            self.roll.versions.publishes(&self.server.name, offers);
            self.offered = offers.iter().map(|one| (one.name.clone(), one.contract)).collect();
        }
        let revision = report.revision;
        let last = ServerReport {
            offers: None,
            interfaces: None,
            runs: Vec::new(),
            begun: Vec::new(),
            arrived: Vec::new(),
            ..report.clone()
        };
        let Some(answer) = self.report(view, report)? else { return Ok(Next::After(PAUSE)) };
        self.last = Some(last);
        self.known = (!answer.wants_offers).then_some(revision);
        self.wanted = answer.wanted;
        let is_whole = self.known.is_some() && self.wanted.is_empty();
        if !is_whole && self.rounds < ROUNDS_MAX {
            self.rounds += 1;
            return Ok(Next::Again);
        }
        self.rounds = 0;
        if !self.is_there {
            self.wait_until_found(view);
            self.is_there = true;
            self.retry = RETRY;
            self.roll.came(self.index);
        }
        let is_busy = self.server.under_way.load(Ordering::Relaxed) > 0;
        Ok(Next::After(if is_busy { BUSY_PAUSE } else { PAUSE }))
    }

    /// What the private server wants to know; nothing where that is gone: calls go on then with
    /// what was known last.
    fn report(&self, view: &Arc<View>, report: ServerReport) -> Result<Option<ReportAnswer>> {
        let request = Request::Report(Box::new(report));
        match view.home_session().ask_for(&request, None, PATIENCE) {
            Ok(Some(Reply::Reported(answer))) => Ok(Some(answer)),
            Ok(Some(Reply::Failed(failure))) => Err(failure.into()),
            Ok(_) => Err(Error::internal("report a server", "the answer is of the wrong kind")),
            Err(error) if is_gone(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Waits until routines are found that it publishes.
    fn wait_until_found(&self, view: &Arc<View>) {
        let until = Instant::now() + KNOWN_MAX;
        while Instant::now() < until {
            match self.found(view) {
                Found::All => return,
                // Which version more servers have is known when all of them were counted.
                Found::OtherVersions => return std::thread::sleep(COUNTED),
                Found::Some => std::thread::sleep(KNOWN_PAUSE),
            }
        }
    }

    fn found(&self, view: &Arc<View>) -> Found {
        let asked = view.home_session().ask_for(&Request::List, None, PATIENCE);
        let Ok(Some(Reply::List(all))) = asked else { return Found::All };
        let all: BTreeMap<&str, [u8; 32]> =
            all.iter().map(|one| (one.name.as_str(), one.contract)).collect();
        let mut found = Found::All;
        for (name, contract) in &self.offered {
            match all.get(name.as_str()) {
                None => return Found::Some,
                Some(known) if known != contract => found = Found::OtherVersions,
                Some(_) => {}
            }
        }
        found
    }

    /// It is gone: no call is placed there until it says how it is.
    fn lose(&mut self, view: &Arc<View>, error: Error) -> Error {
        (self.known, self.wanted) = (None, Vec::new());
        if let Some(last) = self.last.take() {
            let _ = self.report(view, ServerReport { draining: true, ..last });
        }
        error
    }
}
