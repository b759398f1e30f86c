//! Data that one server pulls from another: tickets, which the owner of the data makes and nobody need
//! be asked about (spec/wire.md, section 12.1).

use farcall_base::{DataId, Result};
use minicbor::{Decode, Encode};
use sha2::{Digest, Sha256};

use crate::ids::id;
use crate::kept::Resume;
use crate::message::{Attribute, Open, decode, encode};

/// The feature that allows [`crate::Request::Pull`], and the attributes [`TICKET_KEY`] and
/// [`TICKET`].
pub const PULLS: &str = "pulls";
/// The feature by which data comes as memory of the server that has it, sealed against writing: over
/// a Unix socket.
pub const SHARED_RESULTS: &str = "shared-results";
/// The attribute of an Open that makes data: the key of its tickets.
pub const TICKET_KEY: &str = "ticket-key";
/// The attribute of a Resume that takes data up by a ticket.
pub const TICKET: &str = "ticket";
/// The receiver in the ticket of a server that the same user has on the same host.
pub const OWN_USER: &str = "own";
/// Addresses that one request names.
pub const PULL_ADDRESSES_MAX: usize = 16;

/// Bytes that SHA-256 works on at a time (FIPS 180-4, section 1).
const BLOCK_BYTES: usize = 64;

/// What the owner of data makes tickets with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TicketKey(pub [u8; 32]);

impl std::fmt::Debug for TicketKey {
    /// It is nobody's to read.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("TicketKey")
    }
}

/// The right of one receiver to pull one value once.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Ticket {
    /// Who may pull: a host that the receiver's certificate names, or [`OWN_USER`].
    #[n(1)]
    pub receiver: String,
    /// Until when, by the source's clock: microseconds since 1970.
    #[n(2)]
    pub until_us: u64,
    /// What only the owner of the data can make.
    #[cbor(n(3), with = "minicbor::bytes")]
    pub proof: [u8; 32],
}

/// Data is to be pulled from another server.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct PullRequest {
    /// What it is called here; it is promised.
    #[cbor(n(1), with = "id")]
    pub data: DataId,
    /// What it is called there.
    #[cbor(n(2), with = "id")]
    pub source: DataId,
    /// Where the source is, any of these.
    #[n(3)]
    pub addresses: Vec<String>,
    /// What the source is shown.
    #[n(4)]
    pub ticket: Ticket,
    /// Bytes that it has at most.
    #[n(5)]
    pub bytes_max: u64,
    /// The key of tickets for it here.
    #[cbor(n(6), with = "minicbor::bytes")]
    pub key: Option<[u8; 32]>,
}

impl TicketKey {
    /// The key of a part of what this one is for.
    pub fn derived(&self, part: &[u8]) -> TicketKey {
        TicketKey(hmac(&self.0, &[b"key", part]))
    }

    /// The attribute of an Open whose data has tickets with this key.
    pub fn attribute(&self) -> Attribute {
        let value = encode(&minicbor::bytes::ByteArray::from(self.0));
        Attribute { name: TICKET_KEY.to_owned(), critical: false, value }
    }

    /// The key of the data that a call makes, if it has one.
    ///
    /// # Errors
    /// `Protocol` for a key of another length.
    pub fn of(open: &Open) -> Result<Option<TicketKey>> {
        let found = open.attributes.iter().flatten().find(|one| one.name == TICKET_KEY);
        let key = |attribute: &Attribute| -> Result<TicketKey> {
            let bytes: minicbor::bytes::ByteArray<32> = decode(TICKET_KEY, &attribute.value)?;
            Ok(TicketKey(bytes.into()))
        };
        found.map(key).transpose()
    }

    /// A ticket.
    pub fn ticket(&self, data: DataId, receiver: &str, until_us: u64) -> Ticket {
        let proof = self.proof(data, receiver, until_us);
        Ticket { receiver: receiver.to_owned(), until_us, proof }
    }

    /// Whether a ticket is of this key and for this data; in time that does not depend on where it
    /// differs.
    pub fn made(&self, data: DataId, ticket: &Ticket) -> bool {
        let proof = self.proof(data, &ticket.receiver, ticket.until_us);
        proof.iter().zip(&ticket.proof).fold(0, |differs, (one, other)| differs | (one ^ other))
            == 0
    }

    fn proof(&self, data: DataId, receiver: &str, until_us: u64) -> [u8; 32] {
        // The receiver comes last: all before it has one length.
        hmac(&self.0, &[b"ticket", &data.0, &until_us.to_le_bytes(), receiver.as_bytes()])
    }
}

impl Ticket {
    /// The attribute of a Resume.
    pub fn attribute(&self) -> Attribute {
        Attribute { name: TICKET.to_owned(), critical: true, value: encode(self) }
    }

    /// The ticket that a Resume shows, if it shows one.
    ///
    /// # Errors
    /// `Protocol` for anything else.
    pub fn of(resume: &Resume) -> Result<Option<Ticket>> {
        let found = resume.attributes.iter().flatten().find(|one| one.name == TICKET);
        found.map(|attribute| decode(TICKET, &attribute.value)).transpose()
    }
}

/// HMAC-SHA256 (RFC 2104) of some parts, one behind the other, by a key of at most one block.
fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut inner = [0x36; BLOCK_BYTES];
    let mut outer = [0x5c; BLOCK_BYTES];
    for (at, byte) in key.iter().take(BLOCK_BYTES).enumerate() {
        inner[at] ^= byte;
        outer[at] ^= byte;
    }
    let hash = Sha256::new().chain_update(inner);
    let hash = parts.iter().fold(hash, |hash, part| hash.chain_update(part)).finalize();
    Sha256::new().chain_update(outer).chain_update(hash).finalize().into()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use farcall_base::CallId;

    use super::*;

    const DATA: DataId = DataId([7; 16]);

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// RFC 4231, sections 4.2 and 4.3.
    #[test]
    fn the_code_is_that_of_the_standard() {
        assert_eq!(
            hex(&hmac(&[0x0b; 20], &[b"Hi ", b"There"])),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        );
        assert_eq!(
            hex(&hmac(b"Jefe", &[b"what do ya want for nothing?"])),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }

    #[test]
    fn a_ticket_is_good_for_what_it_says_alone() {
        let key = TicketKey([1; 32]);
        let ticket = key.ticket(DATA, "b.example", 1000);
        assert!(key.made(DATA, &ticket));
        let other = |changed: Ticket| assert!(!key.made(DATA, &changed), "{changed:?}");
        other(Ticket { receiver: "c.example".into(), ..ticket.clone() });
        other(Ticket { receiver: "".into(), ..ticket.clone() });
        other(Ticket { until_us: 1001, ..ticket.clone() });
        for at in 0..32 {
            let mut proof = ticket.proof;
            proof[at] ^= 1;
            other(Ticket { proof, ..ticket.clone() });
        }
        assert!(!key.made(DataId([8; 16]), &ticket));
        assert!(!TicketKey([2; 32]).made(DATA, &ticket));
        assert!(!key.derived(b"one").made(DATA, &ticket));
        assert_ne!(key.derived(b"one"), key.derived(b"two"));
        assert_eq!(format!("{key:?}"), "TicketKey");
    }

    #[test]
    fn keys_and_tickets_travel() {
        let key = TicketKey([3; 32]);
        let mut open = Open::new(CallId([1; 16]), "m/r".into(), [0; 32], Vec::new());
        assert_eq!(TicketKey::of(&open).unwrap(), None);
        open.attributes = Some(vec![key.attribute()]);
        assert_eq!(TicketKey::of(&open).unwrap(), Some(key));
        open.attributes.as_mut().unwrap()[0].value.pop();
        assert!(TicketKey::of(&open).is_err());
        let ticket = key.ticket(DATA, OWN_USER, 5);
        let mut resume = Resume::new(DATA.as_call());
        assert_eq!(Ticket::of(&resume).unwrap(), None);
        resume.attributes = Some(vec![ticket.attribute()]);
        assert_eq!(Ticket::of(&resume).unwrap(), Some(ticket));
    }
}
