//! What must hold of any bytes in the place of a ticket or of its key: asked by loops with fixed
//! seeds, and by the fuzz target of `tests/fuzz`, which includes this file.

use farcall_base::{CallId, DataId};
use farcall_golden::damage;
use farcall_wire::message::{decode, encode};
use farcall_wire::{Attribute, Open, PullRequest, Resume, TICKET, TICKET_KEY, Ticket, TicketKey};

const KEY: TicketKey = TicketKey([5; 32]);
const DATA: DataId = DataId([7; 16]);

fn ticket() -> Ticket {
    KEY.ticket(DATA, "b.example", 1_000_000)
}

fn attribute(name: &str, value: Vec<u8>) -> Option<Vec<Attribute>> {
    Some(vec![Attribute { name: name.to_owned(), critical: true, value }])
}

/// A ticket that is read of bytes is good only if it is the one that was made.
pub fn ticket_of(bytes: Vec<u8>) -> bool {
    let resume = Resume { attributes: attribute(TICKET, bytes), ..Resume::new(DATA.as_call()) };
    let Ok(read) = Ticket::of(&resume) else { return false };
    let read = read.expect("there is one");
    assert_eq!(KEY.made(DATA, &read), read == ticket(), "{read:?}");
    assert!(!TicketKey([6; 32]).made(DATA, &read));
    assert!(!KEY.made(DataId([8; 16]), &read));
    assert_eq!(decode::<Ticket>("ticket", &encode(&read)).unwrap(), read);
    true
}

/// A ticket after damage.
pub fn damaged(by: &[u8]) -> bool {
    let mut bytes = ticket().attribute().value;
    damage(&mut bytes, by);
    ticket_of(bytes)
}

/// A key of tickets after damage: another key makes other tickets.
pub fn damaged_key(by: &[u8]) -> bool {
    let mut bytes = KEY.attribute().value;
    damage(&mut bytes, by);
    let open = Open {
        attributes: attribute(TICKET_KEY, bytes),
        ..Open::new(CallId([1; 16]), "m/r".into(), [0; 32], Vec::new())
    };
    let Ok(read) = TicketKey::of(&open) else { return false };
    let read = read.expect("there is one");
    assert_eq!(read.made(DATA, &ticket()), read == KEY);
    true
}

/// A request to pull after damage: what is shown to its source is judged there.
pub fn damaged_pull(by: &[u8]) -> bool {
    let pull = PullRequest {
        data: DATA,
        source: DATA,
        addresses: vec!["unix:/run/a".to_owned(), "tls://a.example:7".to_owned()],
        ticket: ticket(),
        bytes_max: 1 << 20,
        key: Some([5; 32]),
    };
    let mut bytes = encode(&pull);
    damage(&mut bytes, by);
    let Ok(read) = decode::<PullRequest>("pull", &bytes) else { return false };
    let is_good = KEY.made(read.source, &read.ticket);
    assert_eq!(is_good, read.source == DATA && read.ticket == ticket());
    true
}
