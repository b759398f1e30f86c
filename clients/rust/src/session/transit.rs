//! What the network has taken and not delivered.

use std::ffi::c_int;
use std::os::fd::BorrowedFd;

use rustix::ioctl::{Getter, Opcode, ioctl};

/// SIOCOUTQ of tcp(7): how much is in a socket's queue that the other end's system has not
/// acknowledged.
const QUEUED: Opcode = 0x5411;

/// Bytes on their way; none where that cannot be known.
pub(super) fn bytes(socket: Option<BorrowedFd<'_>>) -> u64 {
    let Some(socket) = socket else { return 0 };
    // SAFETY: the request writes one int, to where the getter has room for it.
    let queued = unsafe { ioctl(socket, Getter::<QUEUED, c_int>::new()) };
    queued.ok().and_then(|queued| u64::try_from(queued).ok()).unwrap_or(0)
}
