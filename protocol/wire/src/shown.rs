//! What a server tells of itself, made printable before anybody shows it (spec/wire.md, section
//! 11).
//!
//! Names are one line each; warnings, reasons and words of launchers keep their lines. Every field
//! is named here, so that one that is added is thought of.

use farcall_base::{printable, printable_line};

use crate::data::DataStatus;
use crate::kept::{KeptCall, KeptNote};
use crate::message::Notice;
use crate::placement::{
    DroppedAddress, OfferedRoutine, PlaceAnswer, PlacedServer, ReportAnswer, ServerReport,
    ServerState,
};
use crate::request::{InterfaceReply, ModuleReport, Reply};
use crate::status::{JobStatus, ModuleStatus, ObjectStatus, OpenCall, Status, Use};
use crate::transactions::{
    Timeline, TransactionEnd, TransactionReply, TransactionResult, TransactionStatus,
};

/// Messages whose texts people see.
pub trait Shown {
    /// Makes every text in it printable, and every fraction one.
    fn make_printable(&mut self);

    /// The same with every text in it printable.
    #[must_use]
    fn shown(mut self) -> Self
    where
        Self: Sized,
    {
        self.make_printable();
        self
    }
}

fn line(text: &mut String) {
    if let std::borrow::Cow::Owned(spelled) = printable_line(text) {
        *text = spelled;
    }
}

fn lines(text: &mut String) {
    if let std::borrow::Cow::Owned(spelled) = printable(text) {
        *text = spelled;
    }
}

fn all<T: Shown>(list: &mut [T]) {
    list.iter_mut().for_each(Shown::make_printable);
}

impl Shown for Reply {
    fn make_printable(&mut self) {
        match self {
            // What is read of a failure is the error made of it, whose texts are printable, as
            // those of every error.
            Reply::Failed(_) | Reply::Done | Reply::Loaded(_) | Reply::DialBack(_) => {}
            Reply::Interface(one) => one.make_printable(),
            Reply::List(list) => all(list),
            Reply::Modules(list) => all(list),
            Reply::Status(status) => status.make_printable(),
            Reply::Kept(list) => all(list),
            Reply::Data(list) => all(list),
            Reply::Reported(answer) => answer.make_printable(),
            Reply::State(report) => report.make_printable(),
            Reply::Placed(answer) => answer.make_printable(),
            Reply::Servers(list) => all(list),
            Reply::Relay(ticket) => ticket.addresses.iter_mut().for_each(line),
            Reply::Transaction(answer) => answer.make_printable(),
        }
    }
}

impl Shown for Notice {
    fn make_printable(&mut self) {
        match self {
            Notice::Progress(done, words) => {
                // Bars are as wide as it says.
                *done = if done.is_nan() { 0.0 } else { done.clamp(0.0, 1.0) };
                line(words);
            }
            // Bytes of a routine are bytes: whoever writes them to a terminal spells them
            // (`printable_output`).
            Notice::Queued(_) | Notice::Started | Notice::Output(..) | Notice::Kept => {}
        }
    }
}

impl Shown for InterfaceReply {
    fn make_printable(&mut self) {
        // The encoded interface is made printable when it is decoded, after its hash was compared.
        let InterfaceReply { name, interface: _, contract: _, is_placed: _ } = self;
        line(name);
    }
}

impl Shown for ModuleReport {
    fn make_printable(&mut self) {
        let ModuleReport { module, routines: _, warnings, failure: _ } = self;
        line(module);
        lines(warnings);
    }
}

impl Shown for KeptCall {
    fn make_printable(&mut self) {
        let KeptCall { routine, principal, note, .. } = self;
        line(routine);
        line(principal);
        if let Some(KeptNote { submitted_us: _, arguments, label }) = note {
            line(arguments);
            line(label);
        }
    }
}

impl Shown for DataStatus {
    fn make_printable(&mut self) {
        let DataStatus { kind, principal, failure: _, .. } = self;
        [kind, principal].into_iter().for_each(line);
    }
}

impl Shown for TransactionReply {
    fn make_printable(&mut self) {
        match self {
            TransactionReply::Over(TransactionEnd { failed: _, failures: _ }) => {}
            TransactionReply::List(list) => {
                for TransactionStatus { principal, failure: _, .. } in list {
                    line(principal);
                }
            }
            TransactionReply::Timeline(timeline) => {
                let Timeline { calls: _, servers, routines, rows: _ } = &mut **timeline;
                servers.iter_mut().chain(routines).for_each(line);
            }
            TransactionReply::Results(results) => {
                for TransactionResult { routine, parameter, .. } in &mut results.rows {
                    line(routine);
                    line(parameter);
                }
            }
        }
    }
}

impl Shown for Status {
    fn make_printable(&mut self) {
        let Status { product, calls, uses, modules, objects, kept, jobs, .. } = self;
        line(product);
        all(calls);
        all(uses);
        all(modules);
        all(objects);
        kept.iter_mut().for_each(|list| all(list));
        jobs.iter_mut().for_each(|list| all(list));
    }
}

impl Shown for OpenCall {
    fn make_printable(&mut self) {
        let OpenCall { id: _, principal, peer, routine, stage: _, age_ns: _ } = self;
        [principal, peer, routine].into_iter().for_each(line);
    }
}

impl Shown for Use {
    fn make_printable(&mut self) {
        let Use { principal, routine, .. } = self;
        [principal, routine].into_iter().for_each(line);
    }
}

impl Shown for ModuleStatus {
    fn make_printable(&mut self) {
        let ModuleStatus { module, .. } = self;
        line(module);
    }
}

impl Shown for ObjectStatus {
    fn make_printable(&mut self) {
        let ObjectStatus { principal, name, reason, .. } = self;
        [principal, name].into_iter().for_each(line);
        reason.iter_mut().for_each(line);
    }
}

impl Shown for JobStatus {
    fn make_printable(&mut self) {
        let JobStatus { launcher, id, state, text, hosts, .. } = self;
        [launcher, id, state, text].into_iter().chain(hosts).for_each(line);
    }
}

impl Shown for ServerReport {
    fn make_printable(&mut self) {
        let ServerReport {
            name,
            addresses,
            host,
            site,
            offers,
            interfaces,
            warm,
            metaservers,
            product,
            ..
        } = self;
        [name, host, site, product].into_iter().for_each(line);
        addresses.iter_mut().chain(warm).chain(metaservers).for_each(line);
        offers.iter_mut().for_each(|list| all(list));
        interfaces.iter_mut().for_each(|list| all(list));
    }
}

impl Shown for OfferedRoutine {
    fn make_printable(&mut self) {
        let OfferedRoutine { name, contract: _, in_jobs: _, hops: _ } = self;
        line(name);
    }
}

impl Shown for ReportAnswer {
    fn make_printable(&mut self) {
        let ReportAnswer { wants_offers: _, wanted: _, dropped } = self;
        for DroppedAddress { address, reason } in dropped {
            line(address);
            line(reason);
        }
    }
}

impl Shown for PlaceAnswer {
    fn make_printable(&mut self) {
        let PlaceAnswer { grant: _, valid_us: _, servers, metaservers, passed } = self;
        all(servers);
        metaservers.iter_mut().chain(passed).for_each(line);
    }
}

impl Shown for PlacedServer {
    fn make_printable(&mut self) {
        let PlacedServer { name, addresses, host, note, .. } = self;
        [name, host, note].into_iter().chain(addresses).for_each(line);
    }
}

impl Shown for ServerState {
    fn make_printable(&mut self) {
        let ServerState { name, addresses, product, note, .. } = self;
        [name, product, note].into_iter().chain(addresses).for_each(line);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{RelayTicket, RelayToken};

    const MARK: &str = "x\u{1b}]0;y\u{7}\u{9b}\u{202e}\u{2028}";

    fn text() -> String {
        MARK.to_owned()
    }

    fn kept() -> KeptCall {
        KeptCall {
            id: farcall_base::CallId([0; 16]),
            routine: text(),
            state: crate::KeptState::Running,
            bytes: 0,
            left_us: 0,
            durable: false,
            principal: text(),
            note: Some(KeptNote { submitted_us: 0, arguments: text(), label: text() }),
        }
    }

    fn answer() -> ReportAnswer {
        let dropped = DroppedAddress { address: text(), reason: text() };
        ReportAnswer { dropped: vec![dropped], ..ReportAnswer::default() }
    }

    fn server() -> ServerReport {
        let offer = OfferedRoutine { name: text(), contract: [0; 32], in_jobs: false, hops: None };
        ServerReport {
            name: text(),
            addresses: vec![text()],
            host: text(),
            site: text(),
            offers: Some(vec![offer]),
            interfaces: None,
            warm: vec![text()],
            metaservers: vec![text(), text()],
            product: text(),
            ..ServerReport::default()
        }
    }

    fn placed() -> PlaceAnswer {
        let server = PlacedServer {
            name: text(),
            addresses: vec![text()],
            host: text(),
            note: text(),
            ..PlacedServer::default()
        };
        PlaceAnswer { servers: vec![server], metaservers: vec![text()], ..PlaceAnswer::default() }
    }

    fn known() -> ServerState {
        ServerState {
            name: text(),
            addresses: vec![text()],
            product: text(),
            note: text(),
            ..ServerState::default()
        }
    }

    fn object() -> ObjectStatus {
        ObjectStatus {
            id: farcall_base::ObjectId([0; 16]),
            principal: text(),
            name: text(),
            state: crate::ObjectState::Idle,
            calls: 0,
            waiting: 0,
            age_ns: 0,
            lease_left_ns: None,
            pid: None,
            reason: Some(text()),
        }
    }

    fn status() -> Status {
        let call = OpenCall {
            id: farcall_base::CallId([0; 16]),
            principal: text(),
            peer: text(),
            routine: text(),
            stage: crate::Stage::Running,
            age_ns: 0,
        };
        let job = JobStatus {
            launcher: text(),
            id: text(),
            state: text(),
            text: text(),
            hosts: vec![text()],
            ..JobStatus::default()
        };
        Status {
            product: text(),
            calls: vec![call],
            uses: vec![Use { principal: text(), routine: text(), ..Use::default() }],
            modules: vec![ModuleStatus { module: text(), ..ModuleStatus::default() }],
            objects: vec![object()],
            kept: Some(vec![kept()]),
            jobs: Some(vec![job]),
            ..Status::default()
        }
    }

    /// Every text of every answer, wherever it stands: the `Debug` form of what is shown has no
    /// marker in it.
    #[test]
    fn no_text_of_an_answer_is_obeyed() {
        let interface = InterfaceReply {
            name: text(),
            interface: Vec::new(),
            contract: [0; 32],
            is_placed: Some(true),
        };
        let report = ModuleReport { module: text(), routines: 0, warnings: text(), failure: None };
        let ticket = RelayTicket { token: RelayToken([0; 32]), addresses: vec![text()] };
        let replies = [
            (Reply::Status(Box::new(status())), 19),
            (Reply::Kept(vec![kept()]), 4),
            (Reply::Interface(interface.clone()), 1),
            (Reply::List(vec![interface]), 1),
            (Reply::Modules(vec![report]), 2),
            (Reply::Reported(answer()), 2),
            (Reply::State(Box::new(server())), 9),
            (Reply::Placed(Box::new(placed())), 5),
            (Reply::Servers(vec![known()]), 4),
            (Reply::Relay(ticket), 1),
        ];
        const WRITTEN: &str = "x\\\\x1b]0;y\\\\x07\\\\x9b\\\\u{202e}\\\\u{2028}";
        for (reply, texts) in replies {
            // In the Debug form a backslash of ours is doubled, and one of a marker that stayed is
            // not.
            let shown = format!("{:?}", reply.shown());
            assert!(!shown.replace("\\\\", "").contains("\\u{"), "{shown}");
            assert_eq!(shown.matches(WRITTEN).count(), texts, "{shown}");
        }
    }

    #[test]
    fn no_notice_is_obeyed() {
        for (given, shown) in [(f64::NAN, 0.0), (f64::INFINITY, 1.0), (-1e300, 0.0), (0.25, 0.25)] {
            assert_eq!(
                Notice::Progress(given, String::new()).shown(),
                Notice::Progress(shown, String::new())
            );
        }
        assert_eq!(
            Notice::Progress(0.5, "a\u{1b}\nb".into()).shown(),
            Notice::Progress(0.5, "a\\x1b\\nb".into())
        );
    }
}
