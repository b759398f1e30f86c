//! What is told of a call while it runs.

use farcall_wire::Notice;

/// What the server tells of a call while it is running.
#[derive(Clone, Debug, PartialEq)]
pub enum News {
    /// So many calls are before it.
    Queued(u32),
    /// Its routine began.
    Started,
    /// What the routine says of its progress: the fraction that is done, 0 to 1, and a word on it.
    /// Before it began: 0, and what the call waits for, where that is a job of a batch system.
    Progress(f64, String),
    /// What the routine wrote to its standard output: any bytes, cut anywhere.
    Stdout(Vec<u8>),
    /// The same of its standard error.
    Stderr(Vec<u8>),
    /// From now on it goes on without this program: see [`CallOptions::keep`](crate::CallOptions::keep).
    Kept,
    /// It has ended: its outcome can be collected.
    Over,
}

impl News {
    pub(super) fn of(notice: Notice) -> News {
        match notice {
            Notice::Queued(before) => News::Queued(before),
            Notice::Started => News::Started,
            Notice::Progress(done, word) => News::Progress(done, word),
            Notice::Kept => News::Kept,
            Notice::Output(1, bytes) => News::Stdout(bytes),
            Notice::Output(_, bytes) => News::Stderr(bytes),
        }
    }
}
