//! Waiting and receiving in one system call, while one thread alone uses the connection: nobody
//! could nudge it.

use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::sync::MutexGuard;
use std::time::Duration;

use farcall_link::stream::{BLOCKING_MAX, BlockingReceive};

use super::{Core, Session};

/// Whether that pays.
#[derive(Debug, Default)]
pub struct Sleep {
    /// Other threads wait for the connection, or had to nudge the reader.
    pub is_shared: bool,
    /// Nothing came in time since something came last: the answer takes longer.
    pub is_long: bool,
}

/// What the reader takes along.
struct Bed {
    receive: BlockingReceive,
    buffer: Vec<u8>,
    losses: u64,
}

impl Core {
    fn bed(&mut self, left: Option<Duration>) -> Option<Bed> {
        let is_long = self.reader.sleep.is_long || left.is_some_and(|left| left < BLOCKING_MAX);
        if is_long
            || self.reader.sleep.is_shared
            || self.reader.has_more
            || self.link.bytes_queued() > 0
        {
            return None;
        }
        let receive = self.link.stream().blocking_receive()?;
        Some(Bed { receive, buffer: self.link.lend_buffer()?, losses: self.returning.losses() })
    }
}

impl Session {
    /// Waits for bytes for a moment and receives them; false where none came, or where that takes
    /// two system calls. Takes its time off what is left.
    pub(super) fn sleep<'a>(
        &'a self,
        mut core: MutexGuard<'a, Core>,
        left: &mut Option<Duration>,
    ) -> (MutexGuard<'a, Core>, bool) {
        let Some(mut bed) = core.bed(*left) else { return (core, false) };
        let socket = core.registration.socket.clone();
        drop(core);
        let mut descriptors = Vec::new();
        let came = (bed.receive)(socket.as_fd(), &mut bed.buffer, &mut descriptors);
        let mut core = self.lock();
        let is_long = came.as_ref().is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        if is_long {
            *left = left.map(|left| left.saturating_sub(BLOCKING_MAX));
        }
        core.reader.sleep.is_long = is_long;
        // Whatever came over a connection that is gone, another may have its place. The end of the
        // stream and errors are met again by the next receive.
        if core.returning.losses() == bed.losses {
            core.link.return_buffer(bed.buffer, came.unwrap_or(0), descriptors);
        }
        (core, !is_long)
    }
}
