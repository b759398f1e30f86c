//! Servers that this one dials: reports to metaservers, and questions to members.

use std::time::Duration;

use farcall_base::{Error, ErrorKind, Instant};
use farcall_services::directory::Visible;
use farcall_wire::{
    DIAL_BACK_MAX, InterfaceReply, PLACEMENT, RELAY, RelayToken, Reply, Request, ServerReport,
    StateQuestion,
};

use super::Action;
use super::union::Told;
use crate::milliseconds;
use crate::state::{LinkKind, LinkNumber, LinkState, Source, Standing, State};

/// Reports that follow one another at once, as changes do, have this time between them.
const REPORT_LEAST: Duration = Duration::from_millis(200);
/// Time between two questions to a member.
const ASK_EVERY: Duration = Duration::from_secs(1);
/// Time after which a metaserver that had no room is asked again for clients that it leads here.
const WAIT_AGAIN: Duration = Duration::from_secs(5);
/// Servers that are dialled at a time.
const DIALS_MAX: usize = 32;
/// Calls and grants that wait to be told.
const RUNS_MAX: usize = 1024;
const GRANTS_MAX: usize = 4096;

impl State {
    /// A dialled server greeted.
    pub fn handle_open(&mut self, now: Instant, number: LinkNumber, features: &[String]) {
        if !features.iter().any(|feature| feature == PLACEMENT) {
            let message = "the server is of an older version: it knows nothing of placement";
            let error = Error::new(ErrorKind::Version, "reach a server", message);
            self.out.push_back(Action::Hang(number));
            return self.handle_lost(now, number, &error);
        }
        let Some(link) = self.links.get_mut(number.0) else { return };
        link.open();
        link.last = None;
        let may_wait = link.kind == LinkKind::Join && link.address.starts_with("tls://");
        link.led.dials_back = may_wait && features.iter().any(|feature| feature == RELAY);
        link.led.waits_from = link.led.dials_back.then_some(now);
        self.tick_links(now);
        self.tick_own(now);
    }

    /// A dialled server was not reached, or its connection is lost.
    pub fn handle_lost(&mut self, now: Instant, number: LinkNumber, error: &Error) {
        let Some(link) = self.links.get_mut(number.0) else { return };
        link.lose(now, error.message().to_owned());
        let what = if link.kind == LinkKind::Join { "join it" } else { "ask it how it is" };
        let told = format!("cannot {what}, and tries again: {error}");
        if link.warned.as_ref() != Some(&told) {
            link.warned = Some(told.clone());
            self.out.push_back(Action::Warn(link.address.clone(), told));
        }
        let kind = link.kind;
        let address = link.address.clone();
        let is_of_it = |source| source == Source::Link(number);
        if kind == LinkKind::Member
            && self.servers.get(&address).is_some_and(|known| is_of_it(known.source))
        {
            self.lose(now, &address);
        }
        self.settle(now);
    }

    /// A dialled server answers.
    pub fn handle_reply(&mut self, now: Instant, number: LinkNumber, reply: Reply) {
        let Some(link) = self.links.get_mut(number.0) else { return };
        if let Reply::DialBack(tokens) = reply {
            return self.dial_back(now, number, tokens);
        }
        link.asked = None;
        match (link.kind, reply) {
            (LinkKind::Join, Reply::Reported(answer)) => {
                link.answered();
                link.wants_offers = answer.wants_offers;
                link.wanted = answer.wanted;
                link.wanted.truncate(RUNS_MAX);
                if let Some(dropped) = answer.dropped.first() {
                    let told = format!(
                        "clients are not told of {}: {}; set addresses in farcall.toml",
                        dropped.address, dropped.reason
                    );
                    if link.trouble.as_ref() != Some(&told) {
                        link.trouble = Some(told.clone());
                        self.out.push_back(Action::Warn(link.address.clone(), told));
                    }
                }
                let is_asked = link.wants_offers || self.find_wanted(number);
                if self.links.get(number.0).is_some_and(|link| !link.wanted.is_empty()) {
                    self.own.at = Instant::default();
                    self.tick_own(now);
                } else if is_asked {
                    self.report_to_all(now);
                }
            }
            (LinkKind::Member, Reply::State(report)) => {
                link.answered();
                self.take_member(now, number, *report);
            }
            (_, Reply::Failed(failure)) => {
                self.out.push_back(Action::Hang(number));
                self.handle_lost(now, number, &failure.into());
            }
            _ => {
                let error = Error::new(
                    ErrorKind::Protocol,
                    "reach a server",
                    "it sent the wrong kind of answer",
                );
                self.out.push_back(Action::Hang(number));
                self.handle_lost(now, number, &error);
            }
        }
        self.settle(now);
    }

    /// Of the interfaces that a metaserver wants, those that others publish go with the next report;
    /// whether there are any.
    fn find_wanted(&mut self, number: LinkNumber) -> bool {
        let Some(link) = self.links.get_mut(number.0) else { return false };
        let wanted = std::mem::take(&mut link.wanted);
        let mut found = std::mem::take(&mut link.interfaces);
        self.add_interfaces(&wanted, &mut found, &Visible::All);
        let Some(link) = self.links.get_mut(number.0) else { return false };
        let is_found = |contract: &[u8; 32]| found.iter().any(|one| one.contract == *contract);
        link.wanted = wanted.into_iter().filter(|contract| !is_found(contract)).collect();
        link.interfaces = found;
        !link.interfaces.is_empty()
    }

    /// A metaserver has clients for this server, which it is to dial.
    fn dial_back(&mut self, now: Instant, number: LinkNumber, mut tokens: Vec<RelayToken>) {
        let Some(link) = self.links.get_mut(number.0).filter(|link| link.led.dials_back) else {
            return;
        };
        if tokens.is_empty() {
            // Too many others wait there.
            link.led.waits_from = Some(now + WAIT_AGAIN);
            return;
        }
        tokens.truncate(DIAL_BACK_MAX);
        self.out.push_back(Action::DialBack(link.address.clone(), tokens));
        self.out.push_back(Action::Ask(number, Box::new(Request::DialBack)));
    }

    /// A member says how it is.
    fn take_member(&mut self, now: Instant, number: LinkNumber, mut report: ServerReport) {
        let own = self.own.report.as_ref().map(|own| own.instance);
        if own.is_some_and(|own| own == report.instance && own != [0; 16]) {
            let error =
                Error::new(ErrorKind::InvalidArgument, "reach a server", "it is this server");
            self.out.push_back(Action::Hang(number));
            return self.handle_lost(now, number, &error);
        }
        let Some(link) = self.links.get_mut(number.0) else { return };
        report.name.clone_from(&link.address);
        // It was reached there; what else it listens on may be of a network of its own.
        report.addresses = vec![link.address.clone()];
        self.bound(&mut report);
        let answer = self.take(now, Source::Link(number), report);
        let Some(link) = self.links.get_mut(number.0) else { return };
        match answer {
            Some(answer) => {
                let has_more = answer.wants_offers || !answer.wanted.is_empty();
                link.wanted = answer.wanted;
                link.last = if has_more { None } else { link.last };
            }
            None => link.trouble = Some("too many servers are known".to_owned()),
        }
        self.tick_links(now);
    }

    /// What happened on the own node is told to each metaserver that it reports to.
    pub(super) fn pass_on(&mut self, report: &ServerReport, interfaces: &[InterfaceReply]) {
        let joins =
            self.links.iter_mut().filter(|link| link.kind == LinkKind::Join && link.is_open());
        for link in joins {
            keep_last(&mut link.runs, &report.runs, RUNS_MAX);
            keep_last(&mut link.begun, &report.begun, GRANTS_MAX);
            keep_last(&mut link.arrived, &report.arrived, GRANTS_MAX);
            let wanted = std::mem::take(&mut link.wanted);
            let (given, left): (Vec<_>, Vec<_>) = wanted.into_iter().partition(|contract| {
                interfaces.iter().any(|interface| interface.contract == *contract)
            });
            let is_given = |interface: &&InterfaceReply| given.contains(&interface.contract);
            link.interfaces.extend(interfaces.iter().filter(is_given).cloned());
            // What the own node does not have, it did not offer.
            link.wanted = if interfaces.is_empty() { left } else { Vec::new() };
        }
    }

    /// Reports to each metaserver that is to hear of something now.
    pub(super) fn report_to_all(&mut self, now: Instant) {
        for number in 0..self.links.len() {
            let link = &self.links[number];
            if link.kind != LinkKind::Join || !link.is_open() || link.asked.is_some() {
                continue;
            }
            let Some(mut report) = self.report_for(now, link) else { continue };
            let link = &mut self.links[number];
            if !link.wants_offers {
                report.offers = None;
            }
            let interfaces = std::mem::take(&mut link.interfaces);
            report.interfaces = (!interfaces.is_empty()).then_some(interfaces);
            report.runs = std::mem::take(&mut link.runs);
            report.begun = std::mem::take(&mut link.begun);
            report.arrived = std::mem::take(&mut link.arrived);
            link.told = (report.busy, report.calls, report.draining);
            (link.asked, link.last) = (Some(now), Some(now));
            let request = Request::Report(Box::new(report));
            self.out.push_back(Action::Ask(LinkNumber(number), Box::new(request)));
        }
    }

    /// What a metaserver is to hear now.
    fn report_for(&self, now: Instant, link: &LinkState) -> Option<ServerReport> {
        let own = self.own.report.as_ref()?;
        let every = milliseconds(self.settings.report_ms);
        let told = Told { visible: &Visible::All, instance: None, name: &link.address };
        let others = self.told_of(now, &told);
        let mut report = self.with_numbers((**own).clone(), &others);
        if !is_due(now, link, &report, every) {
            return None;
        }
        if link.address.starts_with("tls://") {
            // Clients of other hosts have no use for this one's sockets.
            report.addresses.retain(|address| !address.starts_with("unix:"));
        }
        Some(self.with_offers(report, &others, &told))
    }

    /// When a dialled server is to be looked at.
    pub(super) fn next_link(&self) -> Option<Instant> {
        let patience = milliseconds(self.settings.patience_ms);
        let dials = self.links.iter().filter(|link| matches!(link.standing, Standing::Dials(_)));
        let may_dial = dials.count() < DIALS_MAX;
        let due = self.links.iter().filter_map(|link| match (link.standing, link.asked) {
            (Standing::Waits(until), _) => may_dial.then_some(until),
            (Standing::Dials(since), _) => Some(since + patience + patience),
            (Standing::Open, Some(asked)) => Some(asked + patience),
            (Standing::Open, None) if link.kind == LinkKind::Member => {
                Some(link.last.map_or(Instant::default(), |last| last + ASK_EVERY))
            }
            (Standing::Open, None) => None,
        });
        let waits = self.links.iter().filter_map(|link| link.led.waits_from);
        due.chain(waits).min()
    }

    pub(super) fn tick_links(&mut self, now: Instant) {
        let patience = milliseconds(self.settings.patience_ms);
        let dials = self.links.iter().filter(|link| matches!(link.standing, Standing::Dials(_)));
        let mut may_dial = DIALS_MAX.saturating_sub(dials.count());
        for number in 0..self.links.len() {
            let link = &mut self.links[number];
            if link.led.waits_from.is_some_and(|from| from <= now) {
                link.led.waits_from = None;
                let ask = Action::Ask(LinkNumber(number), Box::new(Request::DialBack));
                self.out.push_back(ask);
            }
            match (link.standing, link.asked) {
                (Standing::Waits(until), _) if until <= now && may_dial > 0 => {
                    may_dial -= 1;
                    link.standing = Standing::Dials(now);
                    let dial = Action::Dial(LinkNumber(number), link.address.clone());
                    self.out.push_back(dial);
                }
                (Standing::Dials(since), _) if now.since(since) >= patience * 2 => {
                    self.give_up(now, LinkNumber(number), "it did not greet in time");
                }
                (Standing::Open, Some(asked)) if now.since(asked) >= patience => {
                    self.give_up(now, LinkNumber(number), "it did not answer in time");
                }
                (Standing::Open, None) if is_to_be_asked(now, link) => {
                    self.ask_member(now, LinkNumber(number));
                }
                _ => {}
            }
        }
    }

    fn give_up(&mut self, now: Instant, number: LinkNumber, why: &'static str) {
        self.out.push_back(Action::Hang(number));
        self.handle_lost(now, number, &Error::new(ErrorKind::TimedOut, "reach a server", why));
    }

    fn ask_member(&mut self, now: Instant, number: LinkNumber) {
        let Some(link) = self.links.get_mut(number.0) else { return };
        (link.asked, link.last) = (Some(now), Some(now));
        let wanted = std::mem::take(&mut link.wanted);
        let asker = self.own.report.as_ref().map(|own| own.instance);
        let known = self.servers.get(&link.address);
        let known =
            known.filter(|known| known.source == Source::Link(number) && known.lost.is_none());
        let known = known.and_then(|known| known.revision);
        let request = Request::State(StateQuestion { known, wanted, asker });
        self.out.push_back(Action::Ask(number, Box::new(request)));
    }
}

/// Whether a metaserver is to hear of the own node: now and then, and when much has changed.
fn is_due(now: Instant, link: &LinkState, own: &ServerReport, every: Duration) -> bool {
    let Some(last) = link.last else { return true };
    let since = now.since(last);
    let (busy, calls, draining) = link.told;
    let share = f64::from(own.processors.max(1)) * 0.25;
    let is_other = (own.busy - busy).abs() >= share.max(1.0)
        || own.calls.abs_diff(calls) as f64 >= share.max(1.0)
        || own.draining != draining;
    let has_news = !link.begun.is_empty() || !link.arrived.is_empty();
    let is_asked = link.wants_offers || !link.interfaces.is_empty();
    since >= every || is_asked || (since >= REPORT_LEAST && (is_other || has_news))
}

pub(super) fn keep_last<T: Clone>(kept: &mut Vec<T>, new: &[T], max: usize) {
    kept.extend_from_slice(new);
    let surplus = kept.len().saturating_sub(max);
    kept.drain(..surplus);
}

/// Whether a member is to be asked how it is.
fn is_to_be_asked(now: Instant, link: &LinkState) -> bool {
    let is_old = |last: Instant| now.since(last) >= ASK_EVERY;
    link.kind == LinkKind::Member && link.last.is_none_or(is_old)
}
