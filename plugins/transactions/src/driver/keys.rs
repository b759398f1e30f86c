//! Keys of tickets.

use farcall_wire::TicketKey;
use rustix::rand::GetRandomFlags;

use crate::state::SecretKeys;

/// Keys of tickets, for this run of the plugin.
pub fn keys() -> SecretKeys {
    SecretKeys { made: TicketKey(random()), here: TicketKey(random()) }
}

/// What nobody can guess; without it no tickets are made that anybody could.
fn random() -> [u8; 32] {
    let mut bytes = [0; 32];
    let mut filled = 0;
    while filled < bytes.len() {
        match rustix::rand::getrandom(&mut bytes[filled..], GetRandomFlags::empty()) {
            Ok(count) => filled += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => unreachable!("the system has random bytes: {error}"),
        }
    }
    bytes
}
