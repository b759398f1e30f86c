//! Flows alone, without servers and calls: to compare the network with other simulators.

use std::collections::{BTreeMap, BTreeSet};

use farcall_base::{Error, ErrorKind, Result};
use serde::Deserialize;

use super::network::{FlowKey, Network, NewFlow};
use super::time::Time;

/// Links and flows as data.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowPlan {
    link: BTreeMap<String, FlowLink>,
    flow: Vec<FlowOverLinks>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FlowLink {
    bytes_per_s: f64,
    latency_s: f64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FlowOverLinks {
    begins_s: f64,
    bytes: f64,
    links: Vec<String>,
}

impl FlowPlan {
    /// Reads a plan; `name` is what messages call it.
    ///
    /// # Errors
    /// `InvalidSource` for what is no plan, names no link of it, or has a number that is not
    /// positive.
    pub fn read(name: &str, text: &str) -> Result<FlowPlan> {
        let wrong = |what: String| {
            Error::new(ErrorKind::InvalidSource, "read flows", what).with("file", name)
        };
        let plan: FlowPlan = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
        let is_number = |value: f64| value.is_finite() && value > 0.0;
        for (link, it) in &plan.link {
            if !is_number(it.bytes_per_s) || !it.latency_s.is_finite() || it.latency_s < 0.0 {
                return Err(wrong(format!(
                    "link {link}: its rate must be above 0, its latency 0 or more"
                )));
            }
        }
        for (number, flow) in plan.flow.iter().enumerate() {
            let unknown = flow.links.iter().find(|link| !plan.link.contains_key(*link));
            if let Some(unknown) = unknown {
                return Err(wrong(format!("flow {number} passes \"{unknown}\", which is no link")));
            }
            if !is_number(flow.bytes) || !flow.begins_s.is_finite() || flow.links.is_empty() {
                return Err(wrong(format!(
                    "flow {number}: it needs a time, bytes above 0, and at least one link"
                )));
            }
        }
        Ok(plan)
    }
}

/// When each flow of a plan ends, in seconds.
pub fn flows(plan: &FlowPlan) -> Vec<f64> {
    let mut network = Network::default();
    let links: BTreeMap<&str, _> = plan
        .link
        .iter()
        .map(|(name, link)| (name.as_str(), network.add_link(link.bytes_per_s)))
        .collect();
    let latency = |flow: &FlowOverLinks| -> f64 {
        flow.links.iter().map(|link| plan.link[link].latency_s).sum()
    };
    let begin = |flow: &FlowOverLinks| Time::ZERO.after(flow.begins_s + latency(flow));
    let mut waiting: BTreeSet<(Time, FlowKey)> =
        plan.flow.iter().zip(0..).map(|(flow, key)| (begin(flow), key)).collect();
    let mut ends = vec![0.0; plan.flow.len()];
    loop {
        let end = network.next_end();
        let next = waiting.first().copied();
        match (next, end) {
            (Some((begins, key)), end) if end.is_none_or(|(ends, _)| begins < ends) => {
                waiting.pop_first();
                let flow = &plan.flow[key as usize];
                let weight = 1.0 / (2.0 * latency(flow)).max(f64::MIN_POSITIVE);
                let links = flow.links.iter().map(|link| links[link.as_str()]).collect();
                let rate_max = f64::INFINITY;
                network.begin(begins, key, NewFlow { links, bytes: flow.bytes, weight, rate_max });
            }
            (_, Some((time, key))) => {
                network.end(time, key);
                ends[key as usize] = time.seconds();
            }
            (_, None) => return ends,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const TWO: &str = "
[link.thin]
bytes_per_s = 100
latency_s = 0.5
[[flow]]
begins_s = 0
bytes = 100
links = [\"thin\"]
[[flow]]
begins_s = 1
bytes = 300
links = [\"thin\"]";

    #[test]
    fn flows_begin_after_their_latency_and_share_links() {
        // Alone for a second, which is all that the first needs; then the other is alone.
        assert_eq!(flows(&FlowPlan::read("two", TWO).unwrap()), [1.5, 4.5]);
    }

    #[test]
    fn wrong_plans_are_told_what_is_wrong() {
        for (from, to, what) in [
            ("[\"thin\"]\n", "[\"thick\"]\n", "\"thick\", which is no link"),
            ("bytes = 300", "bytes = 0", "flow 1"),
            ("latency_s = 0.5", "latency_s = -1", "link thin"),
            ("begins_s = 1", "begin_s = 1", "unknown field `begin_s`"),
        ] {
            let error = FlowPlan::read("two", &TWO.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
    }
}
