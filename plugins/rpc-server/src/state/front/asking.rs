//! Clients' questions that other plugins are to answer: all share the mailboxes of this server, so
//! nobody may fill these.
//!
//! A connection is not read while it has as many as half of what there may be, or while all have
//! what there may be and it has one. Each of its answers is a reason to look again.

use std::collections::BTreeMap;

use farcall_base::ConnectionId;

/// Those that wait for an answer.
#[derive(Debug)]
pub struct Asking {
    max: usize,
    all: usize,
    by_connection: BTreeMap<ConnectionId, usize>,
}

impl Asking {
    /// Where so many may wait at a time.
    pub fn new(max: usize) -> Asking {
        Asking { max, all: 0, by_connection: BTreeMap::new() }
    }

    /// A connection asks.
    pub fn begin(&mut self, connection: ConnectionId) {
        self.all += 1;
        *self.by_connection.entry(connection).or_insert(0) += 1;
    }

    /// It is answered, if it is still there.
    pub fn end(&mut self, connection: ConnectionId) {
        let Some(own) = self.by_connection.get_mut(&connection) else { return };
        *own -= 1;
        self.all -= 1;
        if *own == 0 {
            self.by_connection.remove(&connection);
        }
    }

    /// A connection is gone.
    pub fn forget(&mut self, connection: ConnectionId) {
        self.all -= self.by_connection.remove(&connection).unwrap_or(0);
    }

    /// Whether a connection waits for answers before it may ask more.
    pub fn is_full(&self, connection: ConnectionId) -> bool {
        let waits = |own: &usize| self.all >= self.max || *own >= self.max.div_ceil(2);
        self.all > 0 && self.by_connection.get(&connection).is_some_and(waits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_fills_the_mailboxes_and_others_can_ask() {
        let mut asking = Asking::new(8);
        let [one, two, three] = [1, 2, 3].map(ConnectionId);
        for _ in 0..4 {
            assert!(!asking.is_full(one));
            asking.begin(one);
        }
        assert!(asking.is_full(one) && !asking.is_full(two));
        (0..4).for_each(|_| asking.begin(two));
        assert!(asking.is_full(one) && asking.is_full(two));
        assert!(!asking.is_full(three), "who has asked nothing may ask");
        asking.end(one);
        assert!(!asking.is_full(one) && asking.is_full(two));
        asking.forget(two);
        asking.end(two);
        assert!(!asking.is_full(two));
        (0..3).for_each(|_| asking.end(one));
        assert_eq!((asking.all, asking.by_connection.len()), (0, 0));
    }
}
