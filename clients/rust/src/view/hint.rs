//! The id of a kept call hints at its server, so that a fetch goes straight there.

use farcall_base::CallId;

/// Where in an id the hint stands. The first bytes are random, since people type those alone.
const AT: usize = 14;

/// What stands there for a server of this name; 0 is the server that was connected to.
pub fn hint(server: &str) -> [u8; 2] {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let hash =
        server.bytes().fold(BASIS, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
    let folded = hash ^ hash >> 32;
    let folded = folded ^ folded >> 16;
    (folded as u16).max(1).to_be_bytes()
}

/// The id of a call that goes there; `None`: to the server that was connected to.
pub fn hinting(mut id: CallId, server: Option<&str>) -> CallId {
    id.0[AT..].copy_from_slice(&server.map_or([0; 2], hint));
    id
}

/// Whether it hints at another server than the one that was connected to.
pub fn is_elsewhere(id: CallId) -> bool {
    id.0[AT..] != [0; 2]
}

/// Whether it hints at the server of this name.
pub fn is_at(id: CallId, server: &str) -> bool {
    id.0[AT..] == hint(server)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_hints_at_its_server_and_stays_random_before() {
        let id = CallId([7; 16]);
        let there = hinting(id, Some("tls://b:7070"));
        assert_eq!(there.0[..AT], id.0[..AT]);
        assert!(is_elsewhere(there) && is_at(there, "tls://b:7070"));
        assert!(!is_at(there, "tls://c:7070"));
        let home = hinting(id, None);
        assert!(!is_elsewhere(home) && !is_at(home, "tls://b:7070"));
    }

    #[test]
    fn few_servers_have_the_same_hint() {
        let hints: std::collections::BTreeSet<_> =
            (0..1000).map(|index| hint(&format!("tls://host{index}:7070"))).collect();
        assert!(hints.len() > 980, "{}", hints.len());
        assert_eq!(hint("tls://b:7070"), [0x64, 0xbc]);
    }
}
