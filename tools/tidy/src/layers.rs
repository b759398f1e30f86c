//! The layer table: which room may use which (docs/decisions/0006-layer-table.md).

use crate::metadata::{Edge, Kind, Package};
use crate::tree::Violation;

/// A row of the table: a room and the rooms that it may use.
struct Row {
    room: &'static str,
    may_use: &'static [&'static str],
    reason: &'static str,
}

const TABLE: &[Row] = &[
    Row { room: "base", may_use: &["base"], reason: "base stands on the standard library alone" },
    Row {
        room: "protocol",
        may_use: &["base", "protocol"],
        reason: "protocol crates are pure: no sockets, no clock",
    },
    Row {
        room: "system",
        may_use: &["base"],
        reason: "what the operating system gives knows nothing of Farcall",
    },
    Row {
        room: "link",
        may_use: &["base", "protocol", "link"],
        reason: "a link knows frames and memory; it knows no service, transport or process",
    },
    Row {
        room: "services",
        may_use: &["base", "protocol", "link", "services"],
        reason: "a service knows the words that are spoken, not who speaks them",
    },
    Row {
        room: "messaging",
        may_use: &["base", "protocol", "system", "services"],
        reason: "messaging carries what members say; it knows no thing, program or client",
    },
    Row {
        room: "native",
        may_use: &["base", "protocol", "link"],
        reason: "machine code is called for executables and for clients, and knows neither",
    },
    Row {
        room: "transports",
        may_use: &["base", "protocol", "system", "link"],
        reason: "a transport is one byte stream; it knows no service, no other transport, plugin \
            or client",
    },
    Row {
        room: "kernel",
        may_use: &["base", "protocol", "system", "services", "kernel"],
        reason: "the kernel loads plugins by service and names none; no byte stream passes it",
    },
    Row {
        room: "plugins",
        may_use: &["base", "protocol", "system", "link", "services", "kernel"],
        reason: "a plugin uses the kernel's plugin API and services, never another plugin or a \
            transport",
    },
    Row {
        room: "executable",
        may_use: &["base", "protocol", "system", "link", "services", "native", "transports"],
        reason: "an executable is a peer that speaks the wire: it needs no kernel, plugin or \
            client",
    },
    Row {
        room: "clients",
        may_use: &[
            "base",
            "protocol",
            "system",
            "link",
            "native",
            "transports",
            "messaging",
            "clients",
        ],
        reason: "a client never contains the kernel, a plugin, their services or an executable",
    },
    Row {
        room: "publishing",
        may_use: &[
            "base",
            "protocol",
            "system",
            "services",
            "plugins",
            "transports",
            "executable",
            "clients",
        ],
        reason: "publishing makes modules for a server's plugins; it starts no server",
    },
    Row {
        room: "programs",
        may_use: &[
            "base",
            "protocol",
            "system",
            "link",
            "services",
            "kernel",
            "transports",
            "messaging",
            "executable",
            "clients",
        ],
        reason: "a program is given its plugins, and has no command line of its own",
    },
    Row {
        room: "routines",
        may_use: &["clients"],
        reason: "published routines are users of Farcall",
    },
    Row {
        room: "examples",
        may_use: &["clients"],
        reason: "an example shows what a user of Farcall writes",
    },
    Row { room: "apps", may_use: &["clients"], reason: "an application is a user of Farcall" },
];

/// Rooms at the top: they may use anything, and nothing may use them.
const TOP: &[&str] = &["sim", "bins", "bench", "tests", "tools"];

/// What any crate's tests may use beside its row: the transport without sockets or time, ...
const TEST_TRANSPORT: &str = "transports/simulated";

/// ... and a battery: the tests that every implementation of one interface runs.
const BATTERY: &str = "/battery";

fn room(folder: &str) -> &str {
    folder.split('/').next().expect("split yields at least one piece")
}

/// Every edge that the table does not allow.
pub fn violations(packages: &[Package]) -> Vec<Violation> {
    packages
        .iter()
        .flat_map(|package| package.edges.iter().filter_map(|edge| forbidden(package, edge)))
        .collect()
}

fn forbidden(package: &Package, edge: &Edge) -> Option<Violation> {
    let reason = if TOP.contains(&room(&edge.to)) {
        "nothing may depend on sim, bins, bench, tests or tools".to_string()
    } else if TOP.contains(&room(&package.folder)) || is_for_tests(edge) {
        return None;
    } else {
        rule_broken(room(&package.folder), room(&edge.to))?
    };
    let place = format!("{}/Cargo.toml", package.folder);
    let advice = "move the shared part to a room that both may use, or pass it as a message";
    Some(Violation::new(place, format!("{} -> {}: {reason}; {advice}", package.folder, edge.to)))
}

fn is_for_tests(edge: &Edge) -> bool {
    edge.kind == Kind::Development && (edge.to == TEST_TRANSPORT || edge.to.ends_with(BATTERY))
}

fn rule_broken(from: &str, to: &str) -> Option<String> {
    let Some(row) = TABLE.iter().find(|row| row.room == from) else {
        return Some(format!("room {from} is not in the layer table"));
    };
    (!row.may_use.contains(&to)).then(|| row.reason.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(from: &str, to: &str, kind: Kind) -> Vec<String> {
        let package = Package {
            name: "x".into(),
            folder: from.into(),
            description: String::new(),
            targets: Vec::new(),
            edges: vec![Edge { to: to.into(), kind }],
        };
        violations(&[package]).into_iter().map(|violation| violation.problem).collect()
    }

    #[test]
    fn a_forbidden_edge_is_named_with_its_rule() {
        let found = edge("plugins/a", "plugins/b", Kind::Normal);
        assert!(found[0].starts_with("plugins/a -> plugins/b: a plugin uses"), "{found:?}");
        assert_eq!(edge("protocol/wire", "link", Kind::Normal).len(), 1);
        assert_eq!(edge("clients/rust", "services", Kind::Normal).len(), 1);
        assert_eq!(edge("clients/rust", "kernel", Kind::Normal).len(), 1);
        assert_eq!(
            edge("attic/x", "base", Kind::Normal).len(),
            1,
            "an unknown room is no free room"
        );
    }

    #[test]
    fn nothing_depends_on_the_top_rooms() {
        assert_eq!(edge("bins/farcall", "sim", Kind::Normal).len(), 1);
        assert_eq!(edge("kernel", "tests", Kind::Development).len(), 1);
    }

    #[test]
    fn allowed_edges_pass() {
        assert!(edge("bins/farcall", "plugins/a", Kind::Normal).is_empty());
        assert!(edge("executable", "native", Kind::Normal).is_empty());
        assert!(edge("plugins/a", "kernel", Kind::Normal).is_empty());
    }

    #[test]
    fn only_tests_may_use_batteries_and_the_simulated_transport() {
        assert!(edge("transports/tcp", "transports/battery", Kind::Development).is_empty());
        assert_eq!(edge("transports/tcp", "transports/battery", Kind::Normal).len(), 1);
        assert!(edge("protocol/call", TEST_TRANSPORT, Kind::Development).is_empty());
        assert_eq!(edge("protocol/call", TEST_TRANSPORT, Kind::Normal).len(), 1);
        assert_eq!(edge("protocol/call", "transports/tcp", Kind::Development).len(), 1);
    }
}
