//! A network of flows: each link's rate is shared fairly, in virtual time.
//!
//! Shares are max-min fair, weighted by one over the round-trip time, as long TCP streams share a
//! bottleneck (Massoulié, Roberts 2002; SimGrid's CM02 is the same model). Packets do not exist: a
//! flow is as many bytes as are left of it, and the rate that it has now.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use super::time::Time;

/// Less than this of a byte is nothing: what rounding leaves.
const NOTHING: f64 = 1e-6;

/// A link, by its number.
pub type LinkIndex = usize;
/// A flow, by its number.
pub type FlowKey = u64;

/// What begins.
#[derive(Clone, Debug)]
pub struct NewFlow {
    /// Links that it passes; none: it is at once where it goes.
    pub links: Vec<LinkIndex>,
    /// Bytes.
    pub bytes: f64,
    /// Its part of a link against others'.
    pub weight: f64,
    /// What it can have at most, in bytes a second.
    pub rate_max: f64,
}

#[derive(Debug)]
struct Flow {
    links: Vec<LinkIndex>,
    weight: f64,
    rate_max: f64,
    left: f64,
    rate: f64,
    since: Time,
    /// Tells its newest end from older ones.
    epoch: u64,
}

#[derive(Debug)]
struct Link {
    rate: f64,
    flows: BTreeSet<FlowKey>,
}

/// All links and flows.
#[derive(Debug, Default)]
pub struct Network {
    links: Vec<Link>,
    flows: BTreeMap<FlowKey, Flow>,
    ends: BinaryHeap<Reverse<(Time, FlowKey, u64)>>,
    epochs: u64,
}

impl Network {
    /// A link of so many bytes a second.
    pub fn add_link(&mut self, rate: f64) -> LinkIndex {
        self.links.push(Link { rate, flows: BTreeSet::new() });
        self.links.len() - 1
    }

    /// A link becomes wider or thinner.
    pub fn set_rate(&mut self, now: Time, link: LinkIndex, rate: f64) {
        self.links[link].rate = rate;
        self.share(now, vec![link]);
    }

    /// A flow begins.
    pub fn begin(&mut self, now: Time, key: FlowKey, flow: NewFlow) {
        for link in &flow.links {
            self.links[*link].flows.insert(key);
        }
        let links = flow.links.clone();
        let flow = Flow {
            links: flow.links,
            weight: flow.weight,
            rate_max: flow.rate_max,
            left: flow.bytes,
            rate: 0.0,
            since: now,
            epoch: 0,
        };
        self.flows.insert(key, flow);
        if links.is_empty() {
            return self.set_flow_rate(now, key, f64::INFINITY);
        }
        self.share(now, links);
    }

    /// A flow ended, or was given up.
    pub fn end(&mut self, now: Time, key: FlowKey) {
        let Some(flow) = self.flows.remove(&key) else { return };
        for link in &flow.links {
            self.links[*link].flows.remove(&key);
        }
        self.share(now, flow.links);
    }

    /// The flow that ends next, and when.
    pub fn next_end(&mut self) -> Option<(Time, FlowKey)> {
        while let Some(Reverse((time, key, epoch))) = self.ends.peek().copied() {
            if self.flows.get(&key).is_some_and(|flow| flow.epoch == epoch) {
                return Some((time, key));
            }
            self.ends.pop();
        }
        None
    }

    /// Shares again all links that flows of these links pass, directly or through others.
    fn share(&mut self, now: Time, links: Vec<LinkIndex>) {
        let (links, flows) = self.connected(links);
        let mut shares = Shares::new(self, &links, &flows);
        let rates = shares.fill();
        for (key, rate) in rates {
            if self.flows[&key].rate != rate {
                self.set_flow_rate(now, key, rate);
            }
        }
    }

    fn connected(&self, begin: Vec<LinkIndex>) -> (BTreeSet<LinkIndex>, BTreeSet<FlowKey>) {
        let mut links: BTreeSet<LinkIndex> = begin.iter().copied().collect();
        let mut flows = BTreeSet::new();
        let mut open = begin;
        while let Some(link) = open.pop() {
            for key in &self.links[link].flows {
                if !flows.insert(*key) {
                    continue;
                }
                let others = self.flows[key].links.iter().copied();
                open.extend(others.filter(|other| links.insert(*other)));
            }
        }
        (links, flows)
    }

    fn set_flow_rate(&mut self, now: Time, key: FlowKey, rate: f64) {
        self.epochs += 1;
        let epoch = self.epochs;
        let Some(flow) = self.flows.get_mut(&key) else { return };
        if flow.rate > 0.0 && flow.rate.is_finite() {
            flow.left = (flow.left - flow.rate * now.since(flow.since)).max(0.0);
        }
        flow.since = now;
        flow.rate = rate;
        flow.epoch = epoch;
        let seconds = if flow.left < NOTHING { 0.0 } else { flow.left / rate };
        if seconds.is_finite() {
            self.ends.push(Reverse((now.after(seconds), key, epoch)));
        }
    }
}

/// One sharing of some links among some flows: progressive filling.
struct Shares<'n> {
    network: &'n Network,
    /// What is left of each link, and the weights of flows that have no rate yet.
    links: BTreeMap<LinkIndex, (f64, f64)>,
    open: BTreeSet<FlowKey>,
}

impl<'n> Shares<'n> {
    fn new(
        network: &'n Network,
        links: &BTreeSet<LinkIndex>,
        flows: &BTreeSet<FlowKey>,
    ) -> Shares<'n> {
        let weights = |link: LinkIndex| {
            network.links[link].flows.iter().map(|key| network.flows[key].weight).sum()
        };
        let links =
            links.iter().map(|link| (*link, (network.links[*link].rate, weights(*link)))).collect();
        Shares { network, links, open: flows.clone() }
    }

    fn fill(&mut self) -> Vec<(FlowKey, f64)> {
        let mut rates = Vec::with_capacity(self.open.len());
        while !self.open.is_empty() {
            let (level, bottleneck) = self.tightest();
            let fixed = self.limited(level, bottleneck);
            for key in fixed {
                let flow = &self.network.flows[&key];
                let rate = (level * flow.weight).min(flow.rate_max);
                self.fix(key, rate);
                rates.push((key, rate));
            }
        }
        rates
    }

    /// The link whose flows get least for their weight, and how much that is.
    fn tightest(&self) -> (f64, LinkIndex) {
        let levels = self.links.iter().filter(|(_, (_, weight))| *weight > 1e-12);
        let levels = levels.map(|(link, (left, weight))| (left.max(0.0) / weight, *link));
        let least = levels.min_by(|a, b| a.0.total_cmp(&b.0));
        least.expect("a flow passes a link")
    }

    /// Those that have their rate at this level: flows that cannot have more; where there are none,
    /// those of the tightest link.
    fn limited(&self, level: f64, bottleneck: LinkIndex) -> Vec<FlowKey> {
        let flow = |key: &FlowKey| &self.network.flows[key];
        let is_capped = |key: &&FlowKey| flow(key).rate_max < level * flow(key).weight;
        let capped: Vec<FlowKey> = self.open.iter().filter(is_capped).copied().collect();
        if !capped.is_empty() {
            return capped;
        }
        let own = &self.network.links[bottleneck].flows;
        own.intersection(&self.open).copied().collect()
    }

    fn fix(&mut self, key: FlowKey, rate: f64) {
        self.open.remove(&key);
        let flow = &self.network.flows[&key];
        for link in &flow.links {
            if let Some((left, weight)) = self.links.get_mut(link) {
                *left -= rate;
                *weight -= flow.weight;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(links: &[LinkIndex], bytes: f64) -> NewFlow {
        NewFlow { links: links.to_vec(), bytes, weight: 1.0, rate_max: f64::INFINITY }
    }

    /// When each flow ends, in the order of their ends.
    fn ends(network: &mut Network) -> Vec<(FlowKey, f64)> {
        let mut ends = Vec::new();
        while let Some((time, key)) = network.next_end() {
            network.end(time, key);
            ends.push((key, (time.seconds() * 1e3).round() / 1e3));
        }
        ends
    }

    #[test]
    fn two_flows_share_a_link_and_the_rest_has_all_of_it() {
        let mut network = Network::default();
        let link = network.add_link(100.0);
        network.begin(Time::ZERO, 1, flow(&[link], 100.0));
        network.begin(Time::ZERO, 2, flow(&[link], 300.0));
        assert_eq!(ends(&mut network), [(1, 2.0), (2, 4.0)]);
    }

    #[test]
    fn weights_and_own_limits_count() {
        let mut network = Network::default();
        let link = network.add_link(100.0);
        network.begin(Time::ZERO, 1, NewFlow { weight: 3.0, ..flow(&[link], 75.0) });
        network.begin(Time::ZERO, 2, flow(&[link], 25.0));
        assert_eq!(ends(&mut network), [(1, 1.0), (2, 1.0)]);
        network.begin(Time::ZERO, 3, NewFlow { rate_max: 10.0, ..flow(&[link], 10.0) });
        network.begin(Time::ZERO, 4, flow(&[link], 90.0));
        assert_eq!(ends(&mut network), [(3, 1.0), (4, 1.0)]);
    }

    #[test]
    fn a_flow_over_two_links_has_what_the_tighter_one_leaves() {
        let mut network = Network::default();
        let wide = network.add_link(100.0);
        let thin = network.add_link(10.0);
        network.begin(Time::ZERO, 1, flow(&[wide, thin], 10.0));
        network.begin(Time::ZERO, 2, flow(&[wide], 180.0));
        assert_eq!(ends(&mut network), [(1, 1.0), (2, 1.9)]);
    }

    #[test]
    fn a_link_that_becomes_thinner_in_the_middle_delays_what_is_left() {
        let mut network = Network::default();
        let link = network.add_link(100.0);
        network.begin(Time::ZERO, 1, flow(&[link], 100.0));
        network.set_rate(Time::ZERO.after(0.5), link, 10.0);
        assert_eq!(ends(&mut network), [(1, 5.5)]);
    }
}
