//! Who is at the other end of a Unix socket, by the kernel's word (`SO_PEERCRED`, Linux).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use farcall_link::stream::Proof;

/// User and process of the other end, as they were when it connected, listened or made the pair.
///
/// The process id is 0 when the process cannot be seen from here (another pid namespace); this is
/// why rustix, whose process ids are never 0, does not make the call.
pub fn of_peer(socket: BorrowedFd<'_>) -> io::Result<Proof> {
    let mut credentials = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
    let mut length =
        libc::socklen_t::try_from(size_of::<libc::ucred>()).expect("a ucred is a few bytes");
    // SAFETY: the pointers name a ucred and its length, both alive during the call, and the kernel
    // writes no more.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut credentials).cast(),
            &raw mut length,
        )
    };
    // uid -1 is the kernel's word for "nobody is there": such a socket proves nothing.
    if result != 0 {
        Err(io::Error::last_os_error())
    } else if credentials.uid == u32::MAX {
        Err(io::ErrorKind::NotConnected.into())
    } else {
        Ok(Proof::User { uid: credentials.uid, pid: u32::try_from(credentials.pid).unwrap_or(0) })
    }
}
