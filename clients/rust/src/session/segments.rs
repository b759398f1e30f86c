//! Memory that the server knows by number, and whose turn it is to be taken back.
//!
//! A segment costs a descriptor here and one at the server, so there is room for few. Regions that
//! calls use again and again stay known; one that a user keeps as a result, or that waits in a
//! pool, gives way to the next when all numbers are taken, the longest unused first.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Weak};

use farcall_call::Connection;
use farcall_link::memory::Region;
use farcall_wire::Share;

/// A segment's number. Whoever names it in a call holds one of these until the call is over.
pub type Segment = Arc<u32>;

struct Known {
    segment: Segment,
    region: Weak<dyn Region>,
    /// Larger for what was used later.
    used: u64,
}

impl Known {
    fn is_in_a_call(&self) -> bool {
        Arc::strong_count(&self.segment) > 1
    }
}

/// The segments of one connection.
#[derive(Default)]
pub struct Segments {
    /// By the region's identity.
    known: HashMap<u64, Known>,
    /// Descriptors of segments whose announcement has not left yet.
    unannounced: HashMap<u32, Arc<OwnedFd>>,
    /// Numbers that nothing names any more and that the server has not been told of.
    ended: Vec<u32>,
    limit: usize,
    uses: u64,
    last_number: u32,
}

impl Segments {
    /// At most so many at once.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// The descriptor for an announcement that leaves now.
    pub fn descriptor(&mut self, number: u32) -> Option<Arc<OwnedFd>> {
        self.unannounced.remove(&number)
    }

    /// The region's segment, announced if the server does not know it. `None` when it cannot be
    /// shared: open calls name as many as there may be, or the region has no descriptor.
    pub fn share(
        &mut self,
        region: &Arc<dyn Region>,
        connection: &mut Connection,
    ) -> Option<Segment> {
        self.uses += 1;
        let segment = match self.known.get_mut(&region.identity()) {
            Some(known) => {
                (known.region, known.used) = (Arc::downgrade(region), self.uses);
                known.segment.clone()
            }
            None => self.announce(region, connection)?,
        };
        self.ended.drain(..).for_each(|number| connection.unshare(number));
        Some(segment)
    }

    fn announce(
        &mut self,
        region: &Arc<dyn Region>,
        connection: &mut Connection,
    ) -> Option<Segment> {
        let descriptor = region.descriptor()?;
        if self.known.len() >= self.limit && !self.withdraw_oldest() {
            return None;
        }
        self.ended.drain(..).for_each(|number| connection.unshare(number));
        self.last_number += 1;
        let segment = Arc::new(self.last_number);
        let known =
            Known { segment: segment.clone(), region: Arc::downgrade(region), used: self.uses };
        self.known.insert(region.identity(), known);
        self.unannounced.insert(self.last_number, descriptor);
        connection.share(Share { segment: self.last_number, bytes: region.bytes() as u64 });
        Some(segment)
    }

    /// Takes back the segment that was used longest ago and that no open call names; false when
    /// there is none. If a user keeps its region, that becomes ordinary memory.
    pub fn withdraw_oldest(&mut self) -> bool {
        let free = self.known.iter().filter(|(_, known)| !known.is_in_a_call());
        let Some(identity) =
            free.min_by_key(|(_, known)| known.used).map(|(identity, _)| *identity)
        else {
            return false;
        };
        if let Some(region) = self.known.get(&identity).and_then(|known| known.region.upgrade()) {
            region.withdraw();
        }
        self.freed(identity);
        true
    }

    /// A region went back to the system.
    pub fn freed(&mut self, identity: u64) {
        self.ended.extend(self.known.remove(&identity).map(|known| *known.segment));
    }

    /// Shares the region again when it is used next.
    pub fn forget(&mut self, region: &Arc<dyn Region>) {
        self.freed(region.identity());
    }
}
