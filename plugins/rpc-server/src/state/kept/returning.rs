//! Clients that may come back when their connection is lost: which of their calls have certainly
//! not run.
//!
//! - A client stands here from its first Hello until it leaves in order, or for as long as its
//!   calls are kept.
//! - Of a client that stands here, and has since its first connection, every call all of whose
//!   arguments came is open, held or kept for it, or stands in `gone`; or the client has shown that
//!   it has the outcome.
//! - `due` has exactly the times of those that are away, and `away` the same by principal.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use farcall_base::{CallId, ConnectionId, Instant};

/// A client: the name that it gave itself, and its principal.
pub type ClientKey = Arc<([u8; 16], String)>;

/// Clients that are away and remembered, and how many of these may be one principal's: whoever
/// connects and goes, again and again, has no one else's forgotten.
const AWAY_MAX: usize = 4096;
const AWAY_OF_ONE_MAX: usize = AWAY_MAX / 2;
/// Calls of one client that are remembered as gone.
const GONE_MAX: usize = 4096;

#[derive(Default)]
struct Client {
    /// The connection that it has.
    connection: Option<ConnectionId>,
    /// When it is forgotten, while it has none.
    until: Option<Instant>,
    /// Whether nothing is known of calls that it may have made.
    unsure: bool,
    /// Calls that ran, wholly or not, and whose outcomes it cannot have any more.
    gone: HashSet<CallId>,
}

/// All of them.
#[derive(Default)]
pub struct Returning {
    clients: BTreeMap<ClientKey, Client>,
    due: BTreeSet<(Instant, ClientKey)>,
    away: BTreeMap<String, BTreeSet<(Instant, ClientKey)>>,
}

impl Returning {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.clients.is_empty()
    }

    /// A client says Hello, for the first time or `again`; returns the connection that it has lost,
    /// if that is open.
    pub fn arrived(
        &mut self,
        key: &ClientKey,
        connection: ConnectionId,
        again: bool,
    ) -> Option<ConnectionId> {
        let unknown = || Client { unsure: again, ..Client::default() };
        let client = self.clients.entry(key.clone()).or_insert_with(unknown);
        let until = client.until.take();
        let before = client.connection.replace(connection);
        until.into_iter().for_each(|until| self.is_back(until, key));
        before
    }

    /// It said goodbye, or is not to come back.
    pub fn left(&mut self, key: &ClientKey, connection: ConnectionId) {
        if self.clients.get(key).is_some_and(|client| client.connection == Some(connection)) {
            self.clients.remove(key);
        }
    }

    /// Its connection is lost; it is remembered until then.
    pub fn lost(&mut self, key: &ClientKey, connection: ConnectionId, until: Instant) {
        let Some(client) =
            self.clients.get_mut(key).filter(|client| client.connection == Some(connection))
        else {
            return;
        };
        (client.connection, client.until) = (None, Some(until));
        self.due.insert((until, key.clone()));
        let away = self.away.entry(key.1.clone()).or_default();
        away.insert((until, key.clone()));
        let forgotten =
            if away.len() > AWAY_OF_ONE_MAX { away.first().cloned() } else { self.one_too_many() };
        if let Some((until, first)) = forgotten {
            self.is_back(until, &first);
            self.clients.remove(&first);
        }
    }

    /// Where more are away than may be: the oldest of the principal that has the most of them.
    fn one_too_many(&self) -> Option<(Instant, ClientKey)> {
        let most = || self.away.values().max_by_key(|away| away.len())?.first().cloned();
        if self.due.len() > AWAY_MAX { most() } else { None }
    }

    /// It is away no longer.
    fn is_back(&mut self, until: Instant, key: &ClientKey) {
        let entry = (until, key.clone());
        self.due.remove(&entry);
        if let Some(away) = self.away.get_mut(&key.1) {
            away.remove(&entry);
            if away.is_empty() {
                self.away.remove(&key.1);
            }
        }
    }

    /// A call of its ran, or began to, and nothing is kept of it.
    pub fn is_gone(&mut self, key: &ClientKey, call: CallId) {
        let Some(client) = self.clients.get_mut(key) else { return };
        if client.gone.len() < GONE_MAX {
            client.gone.insert(call);
        } else {
            client.unsure = true;
        }
    }

    /// Whether a call that is neither open nor kept has certainly not run.
    pub fn never_ran(&self, key: &ClientKey, call: &CallId) -> bool {
        self.clients.get(key).is_some_and(|client| !client.unsure && !client.gone.contains(call))
    }

    /// When the next one is forgotten.
    pub fn next_due(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Forgets those whose time is over.
    pub fn expire(&mut self, now: Instant) {
        while let Some((at, key)) = self.due.first().cloned().filter(|(at, _)| *at <= now) {
            self.is_back(at, &key);
            self.clients.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const CALL: CallId = CallId([7; 16]);

    fn key(number: u8) -> ClientKey {
        Arc::new(([number; 16], "anna".to_owned()))
    }

    fn at(seconds: u64) -> Instant {
        Instant::default() + Duration::from_secs(seconds)
    }

    #[test]
    fn what_never_came_has_not_run() {
        let mut all = Returning::default();
        let one = key(1);
        assert_eq!(all.arrived(&one, ConnectionId(1), false), None);
        assert_eq!(
            all.arrived(&one, ConnectionId(2), true),
            Some(ConnectionId(1)),
            "the first is lost"
        );
        assert!(all.never_ran(&one, &CALL));
        all.lost(&one, ConnectionId(1), at(1));
        assert_eq!(all.next_due(), None, "its end is old news");
        all.lost(&one, ConnectionId(2), at(30));
        all.expire(at(29));
        assert_eq!(all.arrived(&one, ConnectionId(3), true), None);
        assert!(all.never_ran(&one, &CALL) && all.next_due().is_none());
        all.is_gone(&one, CALL);
        assert!(!all.never_ran(&one, &CALL) && all.never_ran(&one, &CallId([8; 16])));
    }

    #[test]
    fn of_a_client_that_was_forgotten_nothing_is_known() {
        let mut all = Returning::default();
        let one = key(1);
        all.arrived(&one, ConnectionId(1), false);
        all.lost(&one, ConnectionId(1), at(30));
        all.expire(at(30));
        assert!(all.is_empty());
        // However often it comes back from then on.
        for connection in 2..5 {
            all.arrived(&one, ConnectionId(connection), true);
            assert!(!all.never_ran(&one, &CALL));
            all.lost(&one, ConnectionId(connection), at(60));
        }
        assert!(!all.never_ran(&key(2), &CALL), "nor of one that nobody has seen");
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut all = Returning::default();
        let one = key(1);
        all.arrived(&one, ConnectionId(1), false);
        for call in 0..=GONE_MAX {
            all.is_gone(&one, CallId((call as u128).to_le_bytes()));
        }
        assert_eq!(all.clients[&one].gone.len(), GONE_MAX);
        assert!(!all.never_ran(&one, &CallId([255; 16])), "more are gone than are known");
        for number in 0..AWAY_MAX as u64 + 10 {
            let key = Arc::new(([9; 16], number.to_string()));
            all.arrived(&key, ConnectionId(number), false);
            all.lost(&key, ConnectionId(number), at(number));
        }
        assert_eq!((all.due.len(), all.clients.len()), (AWAY_MAX, AWAY_MAX + 1));
    }

    #[test]
    fn who_has_the_most_away_loses_its_oldest() {
        let mut all = Returning::default();
        let goes = |all: &mut Returning, name: u64, principal: &str| {
            let key = Arc::new((u128::from(name).to_le_bytes(), principal.to_owned()));
            all.arrived(&key, ConnectionId(name), false);
            all.lost(&key, ConnectionId(name), at(name));
            key
        };
        let anna: Vec<ClientKey> = (0..10).map(|name| goes(&mut all, name, "anna")).collect();
        let count = AWAY_MAX as u64 + 100;
        let mallory: Vec<ClientKey> =
            (100..100 + count).map(|name| goes(&mut all, name, "mallory")).collect();
        assert!(anna.iter().all(|key| all.never_ran(key, &CALL)), "somebody else's came later");
        assert_eq!(all.away["mallory"].len(), AWAY_OF_ONE_MAX);
        assert!(
            !all.never_ran(&mallory[0], &CALL)
                && all.never_ran(mallory.last().unwrap_or(&anna[0]), &CALL)
        );
        // Together with a third one's there are too many: the two that have the most lose them.
        (10_000..10_000 + AWAY_MAX as u64 / 2).for_each(|name| drop(goes(&mut all, name, "carl")));
        assert_eq!(all.due.len(), AWAY_MAX);
        assert!(anna.iter().all(|key| all.never_ran(key, &CALL)));
        all.expire(at(1 << 30));
        assert!(all.is_empty() && all.due.is_empty() && all.away.is_empty());
    }

    #[test]
    fn who_leaves_in_order_is_forgotten() {
        let mut all = Returning::default();
        let one = key(1);
        all.arrived(&one, ConnectionId(1), false);
        all.left(&one, ConnectionId(9));
        assert!(!all.is_empty(), "that was another connection");
        all.left(&one, ConnectionId(1));
        assert!(all.is_empty());
    }
}
