//! Handshakes under way, and which of them ends when there are too many.
//!
//! The address with the most of them loses one: first one that has said nothing, then the oldest.
//! Addresses from which somebody completed a handshake not long ago have a share of their own, so
//! that a crowd of strangers at many addresses does not push out those who come every day.
//! Addresses of IPv6 count by their first 64 bits: whoever has one has all of its network.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use farcall_base::Crowd;
use rustls::server::UnbufferedServerConnection;

use crate::handshake::Handshake;
use crate::relayed::Opening;

/// Of the table, what known addresses keep: one place in so many.
const KNOWN_SHARE: usize = 4;
/// Known addresses at most; the one that was here longest ago is forgotten.
const KNOWN_MAX: usize = 1024;
/// Time for which an address stays known.
const KNOWN_FOR: Duration = Duration::from_secs(24 * 3600);

/// Whoever connected and is not handed over.
pub struct PendingHandshake {
    pub socket: OwnedFd,
    pub peer: SocketAddr,
    pub until: Instant,
    pub opening: Opening,
    /// The host of the metaserver that led it here, if one did.
    pub led_by: Option<Box<str>>,
    pub handshake: Box<Handshake<UnbufferedServerConnection>>,
}

/// How far one has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    /// Nothing came.
    Silent,
    /// Something came, but no whole greeting.
    Speaking,
    /// Its greeting was one of TLS, and was answered.
    Answered,
}

/// The table.
pub struct PendingHandshakes {
    handshakes_max: usize,
    /// In order of age, and of the times until which they may last.
    table: BTreeMap<u64, PendingHandshake>,
    strangers: Crowd<IpAddr, Stage>,
    known: Crowd<IpAddr, Stage>,
    /// Addresses that completed a handshake, and when.
    recent: BTreeMap<IpAddr, Instant>,
}

impl PendingHandshakes {
    pub fn new(handshakes_max: usize) -> Self {
        let (table, recent) = Default::default();
        PendingHandshakes {
            handshakes_max,
            table,
            strangers: Crowd::default(),
            known: Crowd::default(),
            recent,
        }
    }

    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// When the first one's time is over.
    pub fn next_end(&self) -> Option<Instant> {
        self.table.first_key_value().map(|(_, pending)| pending.until)
    }

    /// Enters one that has said nothing; returns the one that goes for it, if there is no room.
    pub fn begin(&mut self, number: u64, pending: PendingHandshake) -> Option<PendingHandshake> {
        let evicted = if self.table.len() >= self.handshakes_max { self.evict() } else { None };
        self.put(number, pending, Stage::Silent);
        evicted
    }

    /// Enters one again from which something came.
    pub fn go_on(&mut self, number: u64, pending: PendingHandshake) {
        let answered = pending.handshake.engine().negotiated_cipher_suite().is_some();
        self.put(number, pending, if answered { Stage::Answered } else { Stage::Speaking });
    }

    pub fn take(&mut self, number: u64) -> Option<PendingHandshake> {
        let pending = self.table.remove(&number)?;
        let _ = self.strangers.remove(number) || self.known.remove(number);
        Some(pending)
    }

    /// Takes those out whose time is over.
    pub fn take_late(&mut self, now: Instant) -> Vec<PendingHandshake> {
        let late = self.table.iter().take_while(|(_, pending)| pending.until <= now);
        let late: Vec<u64> = late.map(|(number, _)| *number).collect();
        late.into_iter().filter_map(|number| self.take(number)).collect()
    }

    /// Somebody at this address completed a handshake.
    pub fn completed(&mut self, peer: SocketAddr, now: Instant) {
        self.recent.insert(network(peer), now);
        if self.recent.len() > KNOWN_MAX {
            let oldest = self.recent.iter().min_by_key(|(_, at)| **at).map(|(address, _)| *address);
            oldest.map(|address| self.recent.remove(&address));
        }
    }

    fn put(&mut self, number: u64, pending: PendingHandshake, stage: Stage) {
        let address = network(pending.peer);
        let is_known = self.recent.get(&address).is_some_and(|at| at.elapsed() < KNOWN_FOR);
        let crowd = if is_known { &mut self.known } else { &mut self.strangers };
        crowd.insert(number, address, stage);
        self.table.insert(number, pending);
    }

    /// Takes out the one that goes when there is no room.
    pub fn evict(&mut self) -> Option<PendingHandshake> {
        let has_more_than_its_share = self.known.len() > self.handshakes_max / KNOWN_SHARE;
        let crowd = if has_more_than_its_share || self.strangers.is_empty() {
            &mut self.known
        } else {
            &mut self.strangers
        };
        let number = crowd.evict()?;
        self.table.remove(&number)
    }
}

/// What counts as one address: an address of IPv4, also in the form of IPv6, or a network of 64
/// bits.
fn network(peer: SocketAddr) -> IpAddr {
    match peer.ip().to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        address => address,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_ipv6_count_by_network() {
        let one = |text: &str| network(text.parse().unwrap());
        assert_eq!(one("[2001:db8:1:2:3::4]:5"), one("[2001:db8:1:2:ffff::]:6"));
        assert_ne!(one("[2001:db8:1:2:3::4]:5"), one("[2001:db8:1:3:3::4]:5"));
        assert_eq!(one("[::ffff:192.0.2.1]:5"), one("192.0.2.1:7"));
        assert_ne!(one("192.0.2.1:5"), one("192.0.2.2:5"));
    }

    #[test]
    fn addresses_that_were_here_are_remembered_and_bounded() {
        let mut pending = PendingHandshakes::new(8);
        let now = Instant::now();
        for number in 0..KNOWN_MAX as u32 + 10 {
            let address = IpAddr::from(number.to_be_bytes());
            pending
                .completed(SocketAddr::new(address, 1), now + Duration::from_nanos(number.into()));
        }
        assert_eq!(pending.recent.len(), KNOWN_MAX);
        assert!(!pending.recent.contains_key(&IpAddr::from([0, 0, 0, 9])));
    }
}
