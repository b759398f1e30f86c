//! For tests: messages that wait on the way from each member to each other one, and are delivered in any
//! order that keeps that of each way.

use std::collections::VecDeque;

use farcall_base::{Random, SeededRandom};

use crate::{Destination, Outbox, Rank, Sites};

pub(crate) struct Ways {
    pub(crate) sites: Sites,
    pub(crate) random: SeededRandom,
    /// Messages inside sites, and between them; a multicast counts once for each site.
    pub(crate) sent: [usize; 2],
    ways: Vec<VecDeque<Vec<u8>>>,
}

impl Ways {
    pub(crate) fn new(sites: &Sites, seed: u64) -> Ways {
        let members = sites.members() as usize;
        let ways = vec![VecDeque::new(); members * members];
        let random = SeededRandom::new(seed);
        Ways { sites: sites.clone(), random, sent: [0; 2], ways }
    }

    /// Any number below another one.
    pub(crate) fn any(&mut self, below: usize) -> usize {
        (self.random.next() % below as u64) as usize
    }

    pub(crate) fn any_rank(&mut self) -> Rank {
        Rank(self.any(self.sites.members() as usize) as u32)
    }

    pub(crate) fn send(&mut self, from: Rank, out: &mut Outbox) {
        for (to, bytes) in out.take() {
            let to: Vec<Rank> = match to {
                Destination::Member(rank) => vec![rank],
                Destination::Site(site) => self.sites.ranks(site).collect(),
                Destination::All => self.sites.all().collect(),
            };
            let mut sites: Vec<u32> = to.iter().map(|to| self.sites.of(*to)).collect();
            sites.dedup();
            for site in sites {
                self.sent[usize::from(site != self.sites.of(from))] += 1;
            }
            for to in to.into_iter().filter(|to| *to != from) {
                let way = from.0 as usize * self.sites.members() as usize + to.0 as usize;
                self.ways[way].push_back(bytes.clone());
            }
        }
    }

    /// How many ways have messages.
    pub(crate) fn full(&self) -> usize {
        self.ways.iter().filter(|way| !way.is_empty()).count()
    }

    /// Takes the oldest message of any way: its sender, its receiver, and its bytes.
    pub(crate) fn take(&mut self) -> Option<(Rank, Rank, Vec<u8>)> {
        let full: Vec<usize> =
            (0..self.ways.len()).filter(|way| !self.ways[*way].is_empty()).collect();
        if full.is_empty() {
            return None;
        }
        let way = full[self.any(full.len())];
        let members = self.sites.members() as usize;
        let [from, to] = [way / members, way % members].map(|rank| Rank(rank as u32));
        Some((from, to, self.ways[way].pop_front()?))
    }
}
