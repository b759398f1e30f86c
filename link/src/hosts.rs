//! The hosts that a certificate names, and whether one of them is meant. Pure.

use std::net::IpAddr;
use std::sync::Arc;

/// What a server's principal begins with; the host follows. No user's name begins so.
pub const SERVER: &str = "server:";

/// The principal of the server on a host.
pub fn server_principal(host: &str) -> String {
    format!("{SERVER}{host}")
}

/// The host in an address `tls://HOST` or `tls://HOST:PORT`, without the brackets around one of IPv6.
pub fn host_of(address: &str) -> &str {
    let rest = address.strip_prefix("tls://").unwrap_or(address).trim_end_matches('/');
    let bracketed = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    if let Some((host, _)) = bracketed {
        return host;
    }
    match rest.split_once(':') {
        Some((host, port)) if !port.contains(':') => host,
        _ => rest,
    }
}

/// Names of the DNS, perhaps for all hosts below one (`*.example`), and addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CertifiedHosts(Arc<[String]>);

impl CertifiedHosts {
    /// Those that a certificate names, in its order.
    pub fn new(hosts: &[String]) -> CertifiedHosts {
        CertifiedHosts(hosts.into())
    }

    /// In the certificate's order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// The first that is one host, in lower case: `*.example` stands for many.
    pub fn first(&self) -> Option<String> {
        self.iter().find(|host| !host.starts_with("*.")).map(str::to_ascii_lowercase)
    }

    /// Whether a client that dials `host` (as it stands in an address, with or without brackets)
    /// would accept the certificate (RFC 9525, section 6): names without regard to case, a star
    /// for exactly one label, and addresses only where the certificate has the address itself.
    pub fn name(&self, host: &str) -> bool {
        let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
        if let Ok(address) = bare.parse::<IpAddr>() {
            return self.iter().any(|known| known.parse() == Ok(address));
        }
        let is_host = !bare.is_empty() && bare == host && !bare.contains('*');
        is_host && self.iter().any(|known| covers(known, bare))
    }
}

fn covers(known: &str, host: &str) -> bool {
    match known.strip_prefix("*.") {
        Some(domain) => host
            .split_once('.')
            .is_some_and(|(label, rest)| !label.is_empty() && rest.eq_ignore_ascii_case(domain)),
        None => known.eq_ignore_ascii_case(host),
    }
}

/// Whether two hosts as people write them are one: addresses by their value, names without regard
/// to case.
pub fn is_same_host(one: &str, other: &str) -> bool {
    match (one.parse::<IpAddr>(), other.parse::<IpAddr>()) {
        (Ok(one), Ok(other)) => one == other,
        _ => one.eq_ignore_ascii_case(other),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn hosts(names: &[&str]) -> CertifiedHosts {
        CertifiedHosts::new(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn a_certificate_names_what_a_client_would_accept() {
        let known = hosts(&["Cluster.example", "*.nodes.example", "10.0.0.1", "fd00::1"]);
        for host in [
            "cluster.example",
            "CLUSTER.EXAMPLE",
            "n1.nodes.example",
            "10.0.0.1",
            "fd00::1",
            "[fd00:0:0::1]",
        ] {
            assert!(known.name(host), "{host}");
        }
        for host in [
            "",
            "example",
            "x.cluster.example",
            "nodes.example",
            ".nodes.example",
            "a.b.nodes.example",
            "*.nodes.example",
            "10.0.0.11",
            "10.0.0",
            "[cluster.example]",
            "fd00::2",
            "cluster.example.evil.org",
        ] {
            assert!(!known.name(host), "{host}");
        }
        // A star covers no address, and nobody names a host with an empty certificate.
        assert!(!hosts(&["*.0.0.1"]).name("10.0.0.1"));
        assert!(!CertifiedHosts::default().name("localhost"));
    }

    #[test]
    fn a_server_is_called_by_the_first_host_that_is_one() {
        assert_eq!(hosts(&["*.example", "B.example", "c"]).first().unwrap(), "b.example");
        assert_eq!(hosts(&["fd00::1", "b"]).first().unwrap(), "fd00::1");
        assert_eq!(hosts(&["*.example"]).first(), None);
        assert_eq!(server_principal("b.example"), "server:b.example");
    }

    #[test]
    fn an_address_has_one_host() {
        for (address, host) in [
            ("tls://a.example:7000", "a.example"),
            ("tls://a.example", "a.example"),
            ("tls://10.0.0.1:7/", "10.0.0.1"),
            ("tls://[fd00::1]:7000", "fd00::1"),
            ("tls://fd00::1", "fd00::1"),
        ] {
            assert_eq!(host_of(address), host);
        }
    }

    #[test]
    fn hosts_are_compared_by_what_they_mean() {
        assert!(is_same_host("A.example", "a.EXAMPLE") && is_same_host("fd00:0::1", "fd00::1"));
        assert!(!is_same_host("a", "b") && !is_same_host("10.0.0.1", "10.0.0.2"));
    }
}
