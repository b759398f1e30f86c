//! Servers that other metaservers name: an answer may have a metaserver in a server's place, which is
//! asked the same then.

use std::sync::Arc;
use std::time::{Duration, Instant};

use farcall_base::{Error, ErrorKind, Result};
use farcall_wire::{
    CallOutcome, PlaceAnswer, PlaceQuestion, PlacedServer, Reply, Request, ServerPresence,
    ServerState, TOLD_MAX,
};

use super::asking::{Answered, late};
use super::finding::Named;
use super::members::MEMBER_MAX;
use super::{View, outcomes, own_host};
use crate::client::Explanation;
use crate::session::{Session, earlier};

/// Metaservers that lead on, one behind another.
const HOPS_MAX: usize = 3;
/// Time that each has for its answer: a call can go elsewhere.
const PATIENCE: Duration = Duration::from_secs(5);

/// Grants for one call of the metaservers on the way to its server, behind that of the one that was
/// asked first.
pub struct Led {
    /// What the first one calls the server that led on.
    pub through: Arc<str>,
    legs: Vec<Leg>,
}

#[derive(Clone)]
struct Leg {
    asked: Arc<Session>,
    grant: u64,
    /// What that one calls the server.
    server: Arc<str>,
}

impl Led {
    /// The grant that the server is told.
    pub fn grant(&self) -> u64 {
        self.legs.last().map_or(0, |leg| leg.grant)
    }

    /// Tells all of them what became of the call; no server: it did not run.
    pub fn tell(&self, outcome: &CallOutcome) {
        for leg in self.legs.iter().filter(|leg| leg.grant != 0) {
            let has_run = !outcome.server.is_empty();
            let server = if has_run { leg.server.to_string() } else { String::new() };
            let told = CallOutcome { grant: leg.grant, server, ..outcome.clone() };
            outcomes::send(&leg.asked, vec![told]);
        }
    }

    /// The call goes elsewhere.
    fn tell_unused(&self) {
        self.tell(&CallOutcome { host: own_host(), ..CallOutcome::default() });
    }
}

/// A question on its way from one metaserver to others.
pub struct Passing<'a> {
    pub question: &'a PlaceQuestion,
    /// Metaservers that it has passed, as the last one told it.
    pub passed: &'a [String],
    /// Servers that the call does not want.
    pub without: &'a [String],
    pub until: Option<Instant>,
}

/// What came of the metaservers that were asked.
pub struct Followed {
    /// All servers, the best first; some may lead on still, which are only wanted if others fail.
    pub servers: Vec<Named>,
    /// Metaservers that named nobody.
    pub without: Vec<String>,
    /// For how long their grants are good for more calls, in microseconds.
    pub valid_us: u64,
}

impl View {
    /// Asks the metaservers among servers that are to have calls, and puts the servers that they name
    /// in their places.
    pub fn follow(
        self: &Arc<View>,
        passing: &Passing<'_>,
        answered: &Answered,
        servers: Vec<Named>,
    ) -> Followed {
        let valid_us = answered.answer.valid_us;
        let mut followed = Followed { servers: Vec::new(), without: Vec::new(), valid_us };
        let mut others = servers.into_iter().peekable();
        while let Some(named) = others.next() {
            if !named.leads || named.calls == 0 {
                followed.servers.push(named);
                continue;
            }
            let Ok((led, valid_us)) = self.led(passing, &named, 1) else {
                followed.without.push(named.server.name.to_string());
                continue;
            };
            if passing.question.calls <= 1 && is_worse(&named, &led, others.peek()) {
                led.iter()
                    .filter_map(|one| one.led.as_ref())
                    .take(1)
                    .for_each(|it| it.tell_unused());
                continue;
            }
            followed.valid_us = followed.valid_us.min(valid_us);
            followed.servers.extend(led);
        }
        followed
    }

    /// The servers that a metaserver names, which is the `hop`th on the way; for how long that is
    /// good for more calls.
    ///
    /// # Errors
    /// It cannot be reached, or knows nobody.
    pub fn led(
        self: &Arc<View>,
        passing: &Passing<'_>,
        named: &Named,
        hop: usize,
    ) -> Result<(Vec<Named>, u64)> {
        let session = named.server.session(self, passing.until)?.ok_or_else(late)?;
        let question = PlaceQuestion {
            calls: named.calls.max(1),
            outcomes: Vec::new(),
            passed: passing.passed.to_vec(),
            without: passing.without.to_vec(),
            ..passing.question.clone()
        };
        let until = earlier(passing.until, Instant::now().checked_add(PATIENCE));
        let answered = self.ask_one(&session, question, until)?;
        let legs = named.led.as_ref().map(|led| led.legs.clone()).unwrap_or_default();
        let through = named.led.as_ref().map_or(&named.server.name, |led| &led.through).clone();
        let mut servers = self.servers_of(&answered, passing.without);
        for one in &mut servers {
            let mut legs = legs.clone();
            let grant = answered.answer.grant;
            let server = one.server.name.clone();
            legs.push(Leg { asked: session.clone(), grant, server });
            one.led = Some(Arc::new(Led { through: through.clone(), legs }));
        }
        let mut valid_us = answered.answer.valid_us;
        let mut all = Vec::new();
        let passing = Passing { passed: &answered.answer.passed, ..*passing };
        for one in servers {
            if !one.leads {
                all.push(one);
            } else if one.calls > 0
                && hop < HOPS_MAX
                && let Ok((led, valid)) = self.led(&passing, &one, hop + 1)
            {
                valid_us = valid_us.min(valid);
                all.extend(led);
            }
        }
        if all.is_empty() { Err(nobody(named)) } else { Ok((all, valid_us)) }
    }
}

impl View {
    /// What metaservers say of their best servers takes the place of what was foreseen of them. One
    /// that does not answer stays as it is.
    pub fn ask_leading(self: &Arc<View>, question: &PlaceQuestion, answer: &mut PlaceAnswer) {
        let until = Instant::now().checked_add(PATIENCE);
        let passing =
            PlaceQuestion { passed: std::mem::take(&mut answer.passed), ..question.clone() };
        let mut has_led = false;
        for row in answer.servers.iter_mut().filter(|row| row.leads && !row.excluded) {
            let server = self.server(&row.name, &row.addresses, &row.host);
            let Ok(Ok(Some(session))) = server.map(|server| server.session(self, until)) else {
                continue;
            };
            let Ok(Answered { answer, .. }) = self.ask_one(&session, passing.clone(), until) else {
                continue;
            };
            let Some(best) = answer.servers.into_iter().find(|one| !one.excluded) else { continue };
            let note = format!("a metaserver: on {}", best.name);
            let PlacedServer { name, addresses, host, calls, .. } = std::mem::take(row);
            *row = PlacedServer { name, addresses, host, calls, note, leads: true, ..best };
            row.is_self = false;
            has_led = true;
        }
        if has_led {
            let total = Explanation::total_s;
            answer.servers.sort_by(|one, other| {
                (one.excluded.cmp(&other.excluded)).then(total(one).total_cmp(&total(other)))
            });
            for (index, row) in answer.servers.iter_mut().enumerate() {
                row.calls = u32::from(index == 0 && !row.excluded);
            }
        }
    }
}

impl View {
    /// The servers of metaservers among these, and of those behind them. One that does not answer is
    /// asked itself where all are, and told to be silent there.
    pub(super) fn add_led(self: &Arc<View>, states: &mut Vec<ServerState>) {
        let until = Instant::now().checked_add(MEMBER_MAX);
        let mut next = 0;
        while next < states.len().min(TOLD_MAX) {
            let state = &states[next];
            next += 1;
            if !state.leads || state.presence == ServerPresence::Gone {
                continue;
            }
            let server = self.server(&state.name, &state.addresses, &own_host());
            let Ok(Ok(Some(session))) = server.map(|server| server.session(self, until)) else {
                continue;
            };
            let Ok(led) = states_of(&session, Some(MEMBER_MAX)) else { continue };
            for one in led.into_iter().filter(|one| !one.is_self) {
                let is_known = states.iter().any(|known| known.name == one.name);
                if !is_known && !self.home.is_called(&one.name) && states.len() < TOLD_MAX {
                    states.push(one);
                }
            }
        }
    }
}

/// The servers that one knows.
pub fn states_of(asker: &Session, wait: Option<Duration>) -> Result<Vec<ServerState>> {
    match asker.ask(&Request::Servers(own_host(), String::new()), wait)? {
        None => Err(late()),
        Some(Reply::Servers(servers)) => Ok(servers),
        Some(Reply::Failed(failure)) => Err(failure.into()),
        _ => Err(Error::new(
            ErrorKind::Protocol,
            "ask for the servers",
            "the server sent the wrong kind of answer",
        )),
    }
}

fn nobody(named: &Named) -> Error {
    let message = "the metaserver knows no server that takes it";
    Error::new(ErrorKind::NotFound, "call", message).with("server", &named.server.name)
}

/// Whether a metaserver offers much less than was foreseen, and the next server more.
fn is_worse(named: &Named, led: &[Named], next: Option<&Named>) -> bool {
    let predicted =
        |named: &Named| named.predicted.as_ref().map(|it| (it.phases.total_s(), it.error_s));
    let (Some((foreseen, error)), Some((offered, _)), Some((other, _))) =
        (predicted(named), led.first().and_then(predicted), next.and_then(predicted))
    else {
        return false;
    };
    offered > foreseen + error && other < offered
}
