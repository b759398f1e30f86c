//! Arrays that calls name by URL: asked of the fetcher, and put where the routine will read them.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

use farcall_base::{Error, Result};
use farcall_link::packing::Packing;
use farcall_services::fetcher::{Fetched, Wanted};

use super::{Driver, Message};
use crate::state::CallKey;

/// Bytes that are read at a time.
const PIECE_BYTES: usize = 1 << 20;

impl Driver {
    pub(super) fn fetch(&mut self, key: CallKey, slot: u16, wanted: Wanted) {
        match self.sender.reply(move |outcome| Message::Fetched(key, slot, outcome)) {
            Ok(reply) => self.services.fetcher.fetch(wanted, reply),
            Err(error) => self.server.fetched(&mut self.world, key, slot, Err(error)),
        }
    }

    /// A call that ended meanwhile has no place for it: then it is dropped.
    pub(super) fn fetched(&mut self, key: CallKey, slot: u16, outcome: Result<Fetched>) {
        let Some(place) = self.server.fetched_memory(key, slot) else { return };
        let laid = outcome
            .and_then(|fetched| copy(fetched.memory, fetched.bytes, self.world.packing(&place)?));
        self.server.fetched(&mut self.world, key, slot, laid);
    }
}

fn copy(memory: OwnedFd, bytes: u64, mut packing: Packing) -> Result<()> {
    if packing.left() != bytes {
        return Err(Error::internal(
            "take a fetched array",
            "it has another length than was asked for",
        ));
    }
    let file = File::from(memory);
    let mut done = 0;
    while done < bytes {
        let mut space = packing.space(PIECE_BYTES)?;
        let piece = space.bytes();
        file.read_exact_at(piece, done)
            .map_err(|error| Error::system("take a fetched array", error))?;
        let count = piece.len();
        packing.arrived(count)?;
        done += count as u64;
    }
    Ok(())
}
