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
mod tests;
