//! The simulated network: what is sent arrives later (spec/wide-area.md, section 10, 2 and 3).

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

use farcall_wide_engines::{Destination, Rank, Sites};

use crate::hub::Traffic;
use crate::model::{Between, Inside, Model, time_of};

/// A message that arrives at a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// When, in nanoseconds.
    pub time: u64,
    /// Who sent it.
    pub from: Rank,
    /// Who gets it.
    pub to: Rank,
    /// What it is.
    pub message: Arc<[u8]>,
}

/// What is taken at one time is taken by the sender, its number of messages, and the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    time: u64,
    from: Rank,
    number: u64,
    to: u32,
}

#[derive(Debug)]
enum Event {
    /// It has come to the gateway of the sender's site.
    Leaves { to: Destination, site: u32 },
    /// It has come to the gateway of another site.
    Enters { to: Destination, site: u32 },
    /// It has come to a member.
    Arrives,
}

#[derive(Debug)]
struct Timed {
    key: Key,
    event: Event,
    message: Arc<[u8]>,
}

impl PartialEq for Timed {
    fn eq(&self, other: &Timed) -> bool {
        self.key == other.key
    }
}

impl Eq for Timed {}

impl PartialOrd for Timed {
    fn partial_cmp(&self, other: &Timed) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timed {
    fn cmp(&self, other: &Timed) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

/// The adapters, gateways and links of a run, and what is on its way.
#[derive(Debug)]
pub struct Network {
    model: Model,
    /// Until when each is busy: members' adapters, ...
    adapters: Vec<u64>,
    /// ... gateways, ...
    gateways: Vec<u64>,
    /// ... and links, by pair of sites.
    links: Vec<u64>,
    events: BinaryHeap<Reverse<Timed>>,
    /// Messages that each member has sent, and when the last one arrives at each receiver: a multicast
    /// may take longer than a message that is sent after it, and is not overtaken.
    sent: Vec<u64>,
    last: HashMap<(Rank, u32), u64>,
    traffic: Traffic,
}

impl Network {
    /// One on which nothing travels.
    pub fn new(model: Model) -> Network {
        let members = model.sites.members() as usize;
        let sites = model.sites.count() as usize;
        Network {
            adapters: vec![0; members],
            gateways: vec![0; sites],
            links: vec![0; sites * sites],
            events: BinaryHeap::new(),
            sent: vec![0; members],
            last: HashMap::new(),
            traffic: Traffic::default(),
            model,
        }
    }

    /// What it costs.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// What was sent so far.
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// A member puts a message on its way. Times of one member never go back.
    pub fn send(&mut self, time: u64, from: Rank, to: Destination, message: Vec<u8>) {
        let message: Arc<[u8]> = message.into();
        let own = self.sites().of(from);
        match to {
            Destination::Member(rank) if self.sites().of(rank) == own => {
                self.send_inside(time, from, Some(rank), &message);
            }
            Destination::Member(rank) => {
                let site = self.sites().of(rank);
                self.send_out(time, from, to, site, &message);
            }
            Destination::Site(site) if site == own => self.send_inside(time, from, None, &message),
            Destination::Site(site) => self.send_out(time, from, to, site, &message),
            Destination::All => {
                for site in (0..self.sites().count()).filter(|site| *site != own) {
                    self.send_out(time, from, Destination::Site(site), site, &message);
                }
                if self.sites().size(own) > 1 {
                    self.send_inside(time, from, None, &message);
                }
            }
        }
    }

    /// The time of what happens next.
    pub fn next_time(&self) -> Option<u64> {
        self.events.peek().map(|Reverse(next)| next.key.time)
    }

    /// Lets happen what happens next; gives what has arrived.
    pub fn step(&mut self) -> Option<Delivery> {
        let Reverse(Timed { key, event, message }) = self.events.pop()?;
        let Key { time, from, .. } = key;
        match event {
            Event::Arrives => {
                return Some(Delivery { time, from, to: Rank(key.to), message });
            }
            Event::Leaves { to, site } => {
                let own = self.sites().of(from);
                let out = self.model.gateways[own as usize].out;
                let left = serve(&mut self.gateways[own as usize], time, out);
                let Between { latency, rate } = self.model.between[own as usize][site as usize];
                let link = own as usize * self.gateways.len() + site as usize;
                let gone = serve(&mut self.links[link], left, time_of(message.len(), rate));
                let key = Key { time: gone.saturating_add(latency), ..key };
                self.push(key, Event::Enters { to, site }, message);
            }
            Event::Enters { to, site } => {
                let into = self.model.gateways[site as usize].into;
                let entered = serve(&mut self.gateways[site as usize], time, into);
                match to {
                    Destination::Member(rank) => {
                        self.arrive(Key { time: entered, to: rank.0, ..key }, message);
                    }
                    _ => {
                        self.traffic.inside(&message);
                        let time =
                            entered.saturating_add(self.model.inside[site as usize].multicast);
                        self.arrive_at_all(Key { time, ..key }, site, &message);
                    }
                }
            }
        }
        None
    }

    fn sites(&self) -> &Sites {
        &self.model.sites
    }

    /// The adapter of a member sends a message; when it has, and the message's key then.
    fn depart(&mut self, time: u64, from: Rank, bytes: usize) -> Key {
        let rate = self.model.inside[self.sites().of(from) as usize].rate;
        let time = serve(&mut self.adapters[from.0 as usize], time, time_of(bytes, rate));
        let number = self.sent[from.0 as usize];
        self.sent[from.0 as usize] += 1;
        Key { time, from, number, to: 0 }
    }

    /// To one member of the own site, or to all others there.
    fn send_inside(&mut self, time: u64, from: Rank, to: Option<Rank>, message: &Arc<[u8]>) {
        self.traffic.inside(message);
        let key = self.depart(time, from, message.len());
        let site = self.sites().of(from);
        let Inside { latency, multicast, .. } = self.model.inside[site as usize];
        match to {
            Some(to) => {
                let time = key.time.saturating_add(latency);
                self.arrive(Key { time, to: to.0, ..key }, message.clone());
            }
            None => {
                let time = key.time.saturating_add(multicast);
                self.arrive_at_all(Key { time, ..key }, site, message);
            }
        }
    }

    fn send_out(&mut self, time: u64, from: Rank, to: Destination, site: u32, message: &Arc<[u8]>) {
        self.traffic.between(message);
        let key = self.depart(time, from, message.len());
        self.push(key, Event::Leaves { to, site }, message.clone());
    }

    fn arrive_at_all(&mut self, key: Key, site: u32, message: &Arc<[u8]>) {
        for rank in self.sites().ranks(site).filter(|rank| *rank != key.from) {
            self.arrive(Key { to: rank.0, ..key }, message.clone());
        }
    }

    fn arrive(&mut self, mut key: Key, message: Arc<[u8]>) {
        let last = self.last.entry((key.from, key.to)).or_default();
        key.time = key.time.max(*last);
        *last = key.time;
        self.push(key, Event::Arrives, message);
    }

    fn push(&mut self, key: Key, event: Event, message: Arc<[u8]>) {
        self.events.push(Reverse(Timed { key, event, message }));
    }
}

/// One server that serves in the order of arrival: when it has served this.
fn serve(busy: &mut u64, time: u64, takes: u64) -> u64 {
    *busy = time.max(*busy).saturating_add(takes);
    *busy
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::model::{Gateway, MessageCost};

    const US: u64 = 1000;

    /// The paper's clusters.
    fn network(sites: &str) -> Network {
        let sites = Sites::read(sites).unwrap();
        let count = sites.count() as usize;
        let inside = Inside { latency: 20 * US, multicast: 65 * US, rate: 26_000_000 };
        let between = Between { latency: 350 * US, rate: 566_250 };
        Network::new(Model {
            message: vec![MessageCost { time: 80 * US, rate: 0 }; count],
            inside: vec![inside; count],
            gateways: vec![Gateway { out: 200 * US, into: 800 * US }; count],
            between: vec![vec![between; count]; count],
            kernels: Vec::new(),
            sites,
        })
    }

    fn arrivals(network: &mut Network) -> Vec<(u64, u32)> {
        let mut all = Vec::new();
        while network.next_time().is_some() {
            all.extend(network.step().map(|it| (it.time, it.to.0)));
        }
        all
    }

    #[test]
    fn a_message_between_sites_passes_two_gateways_and_a_link() {
        let mut network = network("2+2");
        network.send(0, Rank(0), Destination::Member(Rank(1)), Vec::new());
        network.send(0, Rank(0), Destination::Member(Rank(3)), Vec::new());
        assert_eq!(arrivals(&mut network), [(20 * US, 1), (1350 * US, 3)]);
        // 5663 bytes take 10.001 ms at 566,250 bytes a second, and 218 us to the gateway.
        network.send(5_000 * US, Rank(0), Destination::Member(Rank(3)), vec![0; 5663]);
        assert_eq!(arrivals(&mut network), [(5_000_000 + 217_808 + 1_350_000 + 10_000_884, 3)]);
        assert_eq!(network.traffic().between_bytes, 5663);
    }

    #[test]
    fn a_multicast_is_not_overtaken() {
        let mut network = network("2+2");
        for site in [0, 1] {
            network.send(0, Rank(0), Destination::Site(site), vec![site as u8]);
            network.send(1, Rank(0), Destination::Member(Rank(2 * site + 1)), vec![9]);
        }
        let mut arrived = Vec::new();
        while network.next_time().is_some() {
            arrived.extend(network.step().map(|it| (it.to.0, it.message[0])));
        }
        let at = |rank| -> Vec<u8> {
            arrived.iter().filter(|(to, _)| *to == rank).map(|(_, one)| *one).collect()
        };
        assert_eq!(at(1), [0, 9]);
        assert_eq!(at(3), [1, 9]);
    }

    #[test]
    fn a_gateway_serves_one_message_after_the_other() {
        let mut network = network("2+2");
        for _ in 0..3 {
            network.send(0, Rank(0), Destination::Member(Rank(2)), Vec::new());
        }
        let times: Vec<u64> = arrivals(&mut network).into_iter().map(|(time, _)| time).collect();
        assert_eq!(times, [1350 * US, 2150 * US, 2950 * US]);
    }

    #[test]
    fn a_multicast_passes_each_link_once() {
        let mut network = network("2+2+3");
        network.send(0, Rank(1), Destination::All, vec![0; 26]);
        let arrived = arrivals(&mut network);
        let ranks: Vec<u32> = arrived.iter().map(|(_, rank)| *rank).collect();
        assert_eq!(ranks, [0, 2, 3, 4, 5, 6]);
        let traffic = network.traffic();
        assert_eq!((traffic.between_messages, traffic.inside_messages), (2, 3));
        assert_eq!((traffic.between_bytes, traffic.inside_bytes), (52, 78));
    }
}
