//! The own node: it is asked how it is as long as anybody wants to know, and is a server as others
//! are.

use std::time::Duration;

use farcall_base::{Error, Instant, Result};
use farcall_services::placement::{Asker, Request};
use farcall_wire::{ServerReport, StateQuestion};

use super::Action;
use crate::state::{LinkKind, Parked, QuestionNumber, Source, State};

/// How old the own node's word may be when a question is answered.
const FRESH: Duration = Duration::from_secs(2);
/// Time between two questions to it: it reports to others, or not.
const ASK_TO_REPORT: Duration = Duration::from_millis(200);
const ASK: Duration = Duration::from_secs(1);
/// Time in which it answers.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time after the last question for which it is asked on.
const STAYS_AWAKE: Duration = Duration::from_secs(10);

impl State {
    /// Answers a question, now or when the own node has said how it is.
    pub(super) fn ask_when_fresh(
        &mut self,
        now: Instant,
        number: QuestionNumber,
        asker: Asker,
        request: Request,
    ) {
        // Who asks for the servers at its end wants what it did to be learned for the next.
        let is_last_word =
            matches!(request, Request::Servers { .. }) && !self.settings.learned_file.is_empty();
        let is_fresh = now.since(self.own.at) <= FRESH && !is_last_word;
        if self.own.report.is_some() && is_fresh {
            return self.answer(now, number, &asker, request);
        }
        self.parked.push_back(Parked { number, asker, request });
        self.ask_own(now);
    }

    pub(super) fn ask_own(&mut self, now: Instant) {
        if self.own.asked.is_some() {
            return;
        }
        self.own.asked = Some(now);
        let joins = self.links.iter().filter(|link| link.kind == LinkKind::Join && link.is_open());
        let mut wanted: Vec<[u8; 32]> = joins.flat_map(|link| link.wanted.clone()).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let known = self.servers.get(&self.own.name).and_then(|own| own.revision);
        self.out.push_back(Action::AskOwn(StateQuestion { known, wanted, asker: None }));
    }

    /// The own node says how it is, or cannot.
    pub fn handle_own(&mut self, now: Instant, answer: Result<Box<ServerReport>>) {
        self.own.asked = None;
        match answer {
            Ok(report) => self.take_own(now, report),
            // It is stopping, or has too much to do: what is known of it is a little older.
            Err(error) => self.answer_parked(now, Some(&error)),
        }
        self.settle(now);
    }

    fn take_own(&mut self, now: Instant, mut report: Box<ServerReport>) {
        let settings = &self.settings;
        if !settings.addresses.is_empty() {
            report.addresses.clone_from(&settings.addresses);
        }
        if !settings.name.is_empty() {
            report.name.clone_from(&settings.name);
        } else if report.name.is_empty() {
            report.name = report.addresses.first().cloned().unwrap_or_default();
        }
        report.site.clone_from(&settings.site);
        report.metaservers.clone_from(&settings.join);
        self.own.name.clone_from(&report.name);
        self.own.at = now;
        let interfaces = report.interfaces.take().unwrap_or_default();
        self.pass_on(&report, &interfaces);
        self.take(now, Source::Own, (*report).clone());
        self.own.report = Some(report);
        self.report_to_all(now);
        self.answer_parked(now, None);
    }

    fn answer_parked(&mut self, now: Instant, trouble: Option<&Error>) {
        for Parked { number, asker, request } in std::mem::take(&mut self.parked) {
            match trouble.filter(|_| self.own.report.is_none()) {
                None => self.answer(now, number, &asker, request),
                Some(error) => {
                    let why = farcall_wire::Failure::from(error);
                    self.out.push_back(Action::Answer(number, Err(why.into())));
                }
            }
        }
    }

    /// When it is to be asked.
    pub(super) fn next_own(&self) -> Option<Instant> {
        if let Some(asked) = self.own.asked {
            return Some(asked + PATIENCE);
        }
        self.is_awake().then(|| self.own.at + self.own_pause())
    }

    fn own_pause(&self) -> Duration {
        let reports =
            |link: &crate::state::LinkState| link.kind == LinkKind::Join && link.is_open();
        if self.links.iter().any(reports) { ASK_TO_REPORT } else { ASK }
    }

    pub(super) fn tick_own(&mut self, now: Instant) {
        if self.own.wanted.is_some_and(|wanted| now.since(wanted) > STAYS_AWAKE) {
            self.own.wanted = None;
        }
        if self.own.asked.is_some_and(|asked| now.since(asked) > PATIENCE) {
            self.own.asked = None;
        }
        let is_due = now.since(self.own.at) >= self.own_pause() || self.own.report.is_none();
        if self.is_awake() && is_due {
            self.ask_own(now);
        }
    }
}
