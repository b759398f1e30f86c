//! Servers that report over their own connections: what is checked before they are known.

use farcall_base::{ConnectionId, Error, ErrorKind, Instant, Result};
use farcall_services::placement::Asker;
use farcall_wire::{DroppedAddress, ReportAnswer, ServerReport, TOLD_MAX};

use crate::state::{Source, State};

/// Bytes of a server's name, and of an address.
const NAME_MAX: usize = 256;
/// Addresses of one server.
const ADDRESSES_MAX: usize = 8;

impl State {
    /// A server says how it is.
    pub(super) fn handle_report(
        &mut self,
        now: Instant,
        asker: &Asker,
        mut report: ServerReport,
    ) -> Result<ReportAnswer> {
        check_name(&report.name)?;
        self.check_speaks_for(now, asker, &report)?;
        let dropped = drop_addresses(asker, &mut report);
        self.bound(&mut report);
        let name = report.name.clone();
        let answer = self.take(now, Source::Reporter(asker.connection), report);
        match answer {
            Some(answer) => Ok(ReportAnswer { dropped, ..answer }),
            None => Err(Error::new(ErrorKind::LimitExceeded, "join", "too many servers are known")
                .with("server", shown(&name))
                .with("limit", format!("members_max = {}", self.settings.members_max))
                .fix("raise members_max in the options of metaserver, or join another metaserver")
                .retryable()),
        }
    }

    /// The first server of a name keeps it as long as it is there; certificates say for which hosts
    /// somebody speaks.
    fn check_speaks_for(&self, now: Instant, asker: &Asker, report: &ServerReport) -> Result<()> {
        let refused = |message: String, fix: &'static str| {
            let error = Error::new(ErrorKind::PermissionDenied, "join", message);
            Err(error.with("server", shown(&report.name)).fix(fix))
        };
        if !asker.is_own_user && !may_name(asker, &report.name) {
            let message =
                format!("the certificate of \"{}\" is not for this host", asker.principal);
            return refused(
                message,
                "set name and addresses in the options of metaserver to what the certificate names",
            );
        }
        let own = self.own.report.as_ref().map(|own| own.instance);
        let is_self = own.is_some_and(|own| own == report.instance && own != [0; 16]);
        if report.name == self.own.name || is_self {
            return refused("this is the server that it joins".to_owned(), "join another server");
        }
        let Some(known) = self.servers.get(&report.name) else { return Ok(()) };
        let is_same = known.source == Source::Reporter(asker.connection)
            || (known.report.instance == report.instance && report.instance != [0; 16]);
        let is_there = known.lost.is_none() && !self.is_gone(now, known.id);
        if is_same || !is_there {
            return Ok(());
        }
        refused(
            "another server that is there has this name".to_owned(),
            "give each server a name of its own: name in the options of metaserver",
        )
    }

    /// Only so much is taken of what a server says.
    pub(super) fn bound(&self, report: &mut ServerReport) {
        report.runs.truncate(TOLD_MAX);
        report.begun.truncate(4 * TOLD_MAX);
        report.arrived.truncate(4 * TOLD_MAX);
        report.warm.truncate(TOLD_MAX);
        report.metaservers.truncate(ADDRESSES_MAX);
        report.metaservers.retain(|one| is_printable(one));
        for text in [&mut report.host, &mut report.site, &mut report.product] {
            if !text.is_empty() && !is_printable(text) {
                text.clear();
            }
        }
        if let Some(offers) = &mut report.offers {
            offers.truncate(self.settings.routines_of_one_max);
        }
    }

    /// A connection is closed: the servers that were known by it are gone.
    pub(super) fn lose_reporter(&mut self, now: Instant, connection: ConnectionId) {
        let of_it = Source::Reporter(connection);
        let mut lost: Vec<String> = Vec::new();
        for (name, known) in &mut self.servers {
            let was_reported = known.reporters.remove(&connection);
            if !was_reported || known.source != of_it {
                continue;
            }
            match known.reporters.last() {
                Some(other) => known.source = Source::Reporter(*other),
                None => lost.push(name.clone()),
            }
        }
        lost.into_iter().for_each(|name| self.lose(now, &name));
    }
}

/// Drops the addresses that a server must not advertise: each with the reason.
fn drop_addresses(asker: &Asker, report: &mut ServerReport) -> Vec<DroppedAddress> {
    let mut dropped = Vec::new();
    report.addresses.truncate(ADDRESSES_MAX);
    report.addresses.retain(|address| {
        let reason = if !is_printable(address) {
            "it is not text of at most 256 bytes"
        } else if asker.is_own_user || may_name(asker, address) {
            return true;
        } else {
            "the certificate is not for this host"
        };
        dropped.push(DroppedAddress { address: shown(address), reason: reason.to_owned() });
        false
    });
    dropped
}

/// Whether an address is of a host that a certificate names.
fn may_name(asker: &Asker, address: &str) -> bool {
    let Some(rest) = address.strip_prefix("tls://") else { return false };
    let host = rest.trim_end_matches('/').rsplit_once(':').map_or(rest, |(host, _)| host);
    asker.hosts.name(host)
}

fn check_name(name: &str) -> Result<()> {
    if is_printable(name) {
        return Ok(());
    }
    let message = format!("\"{}\" is no name of a server", shown(name));
    Err(Error::new(ErrorKind::InvalidArgument, "join", message)
        .fix("use the address that clients write: at most 256 bytes, without blanks"))
}

fn is_printable(text: &str) -> bool {
    let is_wrong = |c: char| c.is_whitespace() || farcall_base::is_obeyed(c);
    !text.is_empty() && text.len() <= NAME_MAX && !text.contains(is_wrong)
}

/// What a stranger wrote, as an error may repeat it.
pub(super) fn shown(text: &str) -> String {
    text.chars().take(80).flat_map(char::escape_debug).collect()
}
