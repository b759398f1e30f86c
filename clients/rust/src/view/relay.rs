//! The way to a server that cannot be reached from here: through a metaserver, which leads there and
//! passes bytes on. TLS runs inside, from end to end.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use farcall_base::{Error, ErrorKind, Result};
use farcall_wire::{RELAY, RelayTicket, Reply, Request};

use super::View;
use super::asking::late;
use crate::address::Address;
use crate::session::Session;

/// The host of a server's name, by which its certificate is judged; nothing where it has none.
pub fn host_of(name: &str) -> Option<String> {
    let rest = name.strip_prefix("tls://")?.trim_end_matches('/');
    let host = match rest.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => rest,
    };
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    (!host.is_empty()).then(|| host.to_owned())
}

/// A socket that leads to the server of this name, and where it goes, for people.
///
/// # Errors
/// Why no metaserver leads there.
pub fn lead(view: &Weak<View>, name: &str, time: Duration) -> Result<(OwnedFd, String)> {
    let gone = || Error::new(ErrorKind::ConnectionLost, "connect", "the client is closed");
    let view = view.upgrade().ok_or_else(gone)?;
    let until = Instant::now() + time;
    let mut trouble = None;
    for (session, addresses) in view.relays() {
        let led = view.ticket(&session, name, until).and_then(|ticket| {
            let addresses = addresses.iter().chain(&ticket.addresses);
            dial(addresses.map(String::as_str), &ticket, until)
        });
        match led {
            Ok(led) => return Ok(led),
            Err(error) => trouble = trouble.or(Some(error)),
        }
    }
    Err(trouble.unwrap_or_else(|| {
        Error::new(ErrorKind::Unreachable, "connect", "no metaserver that is reached leads there")
    }))
}

impl View {
    /// Whether a metaserver is connected that may lead to other servers.
    pub fn has_relays(&self) -> bool {
        !self.relays().is_empty()
    }

    /// Connections to those, and their addresses.
    fn relays(&self) -> Vec<(Arc<Session>, Vec<String>)> {
        let home = self.dialing.home.as_ref().and_then(|address| match address {
            Address::Tls { host, port } => Some(shown(host, *port)),
            _ => None,
        });
        let home = (self.home_session.clone(), home.into_iter().collect());
        let others = self.other_askers().into_iter().filter_map(|asker| {
            let session = asker.connection()?;
            Some((session, asker.addresses()))
        });
        let all = std::iter::once(home).chain(others);
        all.filter(|(session, _)| !session.is_lost() && session.has_feature(RELAY)).collect()
    }

    /// Has a metaserver lead to a server.
    fn ticket(&self, session: &Arc<Session>, name: &str, until: Instant) -> Result<RelayTicket> {
        let question = session.begin(&Request::Relay(name.to_owned()))?;
        match session.answer(question, Some(until))? {
            Some(Reply::Relay(ticket)) => Ok(ticket),
            Some(Reply::Failed(failure)) => Err(failure.into()),
            Some(_) => Err(Error::new(
                ErrorKind::Protocol,
                "connect",
                "the metaserver sent the wrong kind of answer",
            )),
            None => {
                session.forget(question);
                Err(late())
            }
        }
    }
}

fn dial<'a>(
    addresses: impl Iterator<Item = &'a str>,
    ticket: &RelayTicket,
    until: Instant,
) -> Result<(OwnedFd, String)> {
    let mut trouble = None;
    for address in addresses {
        let Ok(Address::Tls { host, port }) = address.parse() else { continue };
        let left = until.saturating_duration_since(Instant::now());
        match farcall_transport_tls::reach_stream(&host, port, &ticket.token, left) {
            Ok(socket) => return Ok((socket, format!("through {address}"))),
            Err(error) => trouble = trouble.or(Some(error)),
        }
    }
    Err(trouble.unwrap_or_else(|| {
        let message = "the metaserver that leads to the server has no address for TLS";
        Error::new(ErrorKind::Unreachable, "connect", message)
            .fix("start it with --listen tls://HOST:PORT")
    }))
}

fn shown(host: &str, port: u16) -> String {
    match host.contains(':') {
        true => format!("tls://[{host}]:{port}"),
        false => format!("tls://{host}:{port}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_judged_by_the_host_of_the_name() {
        let cases = [
            ("tls://b.example:7070", Some("b.example")),
            ("tls://b.example", Some("b.example")),
            ("tls://[::1]:7070", Some("::1")),
            ("tls://[::1]", Some("::1")),
            ("tls://", None),
            ("unix:/run/x", None),
            ("b", None),
        ];
        for (name, host) in cases {
            assert_eq!(host_of(name).as_deref(), host, "{name}");
        }
    }
}
