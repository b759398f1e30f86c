//! One end of a simulated link.

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{BorrowedFd, OwnedFd};

use farcall_link::stream::{ByteStream, Peer, Proof};

use crate::network::{LinkId, Network};

/// A byte stream whose other end is in this process, some virtual time away.
pub struct SimulatedStream {
    network: Network,
    link: LinkId,
    near: bool,
    peer: Peer,
}

impl SimulatedStream {
    pub fn new(network: Network, link: LinkId, near: bool) -> SimulatedStream {
        let address = format!("simulated:{}{}", link.0, if near { "/far" } else { "/near" });
        SimulatedStream { network, link, near, peer: Peer { address, proof: Proof::Inherited } }
    }
}

impl ByteStream for SimulatedStream {
    fn send(&mut self, parts: &[IoSlice<'_>], descriptors: &[BorrowedFd<'_>]) -> io::Result<usize> {
        if !descriptors.is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "descriptors cannot be sent over this link",
            ));
        }
        self.network.lock().send(self.link, self.near, parts)
    }

    fn receive(&mut self, parts: &mut [IoSliceMut<'_>], _: &mut Vec<OwnedFd>) -> io::Result<usize> {
        self.network.lock().receive(self.link, !self.near, parts)
    }

    fn readiness(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn passes_descriptors(&self) -> bool {
        false
    }

    fn peer(&self) -> &Peer {
        &self.peer
    }
}

impl Drop for SimulatedStream {
    fn drop(&mut self) {
        self.network.lock().close(self.link, self.near);
    }
}
