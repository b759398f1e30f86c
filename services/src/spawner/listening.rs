//! What an executable writes, told to somebody while it runs: bounded, however much it writes and
//! however slow he is.

use std::sync::Arc;

use farcall_base::ExecutableId;

use crate::mailbox::Port;

/// Pieces on their way to a listener; what is written meanwhile is counted, and not told.
const UNDER_WAY_MAX: usize = 16;

/// One of the two outputs of a process, by its descriptor's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Output {
    /// Standard output.
    Stdout = 1,
    /// Standard error.
    Stderr = 2,
}

/// A piece of what an executable wrote.
#[derive(Debug)]
pub struct Said {
    /// Which one.
    pub executable: ExecutableId,
    /// Where to.
    pub output: Output,
    /// What.
    pub bytes: Vec<u8>,
    /// Bytes before these that are not told.
    pub lost: u64,
    /// Counts the pieces under way: dropped with the last of them.
    _under_way: Arc<()>,
}

impl Said {
    /// A piece that stands alone.
    pub fn new(executable: ExecutableId, output: Output, bytes: Vec<u8>, lost: u64) -> Said {
        Said { executable, output, bytes, lost, _under_way: Arc::default() }
    }
}

/// Somebody who listens to an executable, as its spawner keeps him.
pub struct Listener {
    executable: ExecutableId,
    port: Port<Said>,
    lost: u64,
    under_way: Arc<()>,
}

impl Listener {
    /// One who is told through `port`.
    pub fn new(executable: ExecutableId, port: Port<Said>) -> Listener {
        Listener { executable, port, lost: 0, under_way: Arc::default() }
    }

    /// Tells what was written, or counts it if he is too slow.
    pub fn tell(&mut self, output: Output, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let under_way = Arc::strong_count(&self.under_way) - 1;
        if under_way >= UNDER_WAY_MAX || !self.send(output, bytes) {
            self.miss(bytes.len() as u64);
        }
    }

    /// So many bytes more did not come as far as here.
    pub fn miss(&mut self, bytes: u64) {
        self.lost += bytes;
    }

    /// Nothing more will be told. What he missed at the end is told by a piece without bytes,
    /// however slow he is.
    pub fn finish(mut self) {
        if self.lost > 0 {
            self.send(Output::Stderr, &[]);
        }
    }

    fn send(&mut self, output: Output, bytes: &[u8]) -> bool {
        let executable = self.executable;
        let bytes = bytes.to_vec();
        let lost = self.lost;
        let said = Said { executable, output, bytes, lost, _under_way: self.under_way.clone() };
        let is_sent = self.port.try_send(said).is_ok();
        if is_sent {
            self.lost = 0;
        }
        is_sent
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::mailbox::mailbox;

    #[test]
    fn a_slow_listener_is_told_what_was_lost() {
        let (sender, mut receiver) = mailbox(1000).unwrap();
        let mut listener = Listener::new(ExecutableId(1), sender.port(|said: Said| said));
        for _ in 0..UNDER_WAY_MAX + 3 {
            listener.tell(Output::Stdout, b"word");
        }
        listener.tell(Output::Stdout, b"");
        let told: Vec<Said> = std::iter::from_fn(|| receiver.try_receive().ok()).collect();
        assert_eq!(told.len(), UNDER_WAY_MAX);
        assert!(told.iter().all(|said| said.lost == 0 && said.bytes == b"word"));
        drop(told);
        listener.tell(Output::Stderr, b"again");
        let said = receiver.try_receive().unwrap();
        assert_eq!((said.lost, said.output, &said.bytes[..]), (12, Output::Stderr, &b"again"[..]));
        listener.miss(7);
        listener.finish();
        let said = receiver.try_receive().unwrap();
        assert_eq!((said.lost, said.bytes.len()), (7, 0));
    }

    #[test]
    fn a_full_mailbox_is_no_harm() {
        let (sender, mut receiver) = mailbox(1).unwrap();
        let mut listener = Listener::new(ExecutableId(1), sender.port(|said: Said| said));
        listener.tell(Output::Stdout, b"one");
        listener.tell(Output::Stdout, b"three");
        receiver.try_receive().unwrap();
        listener.tell(Output::Stdout, b"four");
        assert_eq!(receiver.try_receive().unwrap().lost, 5);
    }
}
