//! Memory that executables are told of, and what they forget of it.

use farcall_base::{Error, ExecutableId, Result};
use farcall_wire::Share;

use crate::state::{MemorySource, Phase};
use crate::step::{Server, Surroundings};

impl Server {
    /// Announces memory to an executable unless it knows it; returns the segment's number there.
    pub(crate) fn share_with(
        &mut self,
        surroundings: &mut dyn Surroundings,
        executable: ExecutableId,
        source: MemorySource,
        bytes: u64,
    ) -> Result<u32> {
        let gone = || Error::internal("share memory", "the executable has ended");
        let record = self.state.executables.get_mut(&executable).ok_or_else(gone)?;
        if let Some(segment) = record.shared.find(source) {
            return Ok(segment);
        }
        let connection = record.connection.ok_or_else(gone)?;
        let peer = self.state.front.peer_mut(connection).ok_or_else(gone)?;
        let segment = record.shared.next();
        if record.limits.memory_max.is_some() {
            surroundings.settle_pages(source, bytes);
        }
        surroundings.announce(connection, segment, source)?;
        let segments_max =
            peer.connection.peer().map_or(1, |hello| hello.limits.segments_max as usize);
        while let Some(oldest) = record.shared.forget_oldest(segments_max) {
            peer.connection.unshare(oldest);
        }
        record.shared.add(source);
        peer.connection.share(Share { segment, bytes });
        self.state.out.touch(connection);
        Ok(segment)
    }

    /// Memory is gone for good: executables unmap it. One that is to end may still work on it, and
    /// takes it along.
    pub fn forget_memory(&mut self, source: MemorySource) {
        for record in
            self.state.executables.values_mut().filter(|record| record.phase != Phase::Ending)
        {
            let Some(segment) = record.shared.forget(source) else { continue };
            let Some(connection) = record.connection else { continue };
            if let Some(peer) = self.state.front.peer_mut(connection) {
                peer.connection.unshare(segment);
                self.state.out.touch(connection);
            }
        }
    }
}
