//! What an `ssh` says on its standard error.

use std::io::Read;
use std::process::ChildStderr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::standard_streams::pass_on_output;

/// What is kept of its last words.
const WORDS_BYTES_MAX: usize = 4096;

/// The last words of an `ssh`.
pub(super) struct Words {
    kept: Arc<Mutex<Vec<u8>>>,
    /// Reads them; `None` where no thread could be had, and they are lost.
    reader: Option<JoinHandle<()>>,
}

impl Words {
    /// `shown` to the user, too, where `ssh` may tell him to touch his key, say.
    pub(super) fn of(stderr: Option<ChildStderr>, shown: bool) -> Words {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let reader = stderr.and_then(|mut stderr| {
            let kept = kept.clone();
            let read = move || {
                let keep = |piece: &[u8]| {
                    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                    kept.extend_from_slice(piece);
                    let surplus = kept.len().saturating_sub(WORDS_BYTES_MAX);
                    kept.drain(..surplus);
                };
                if shown {
                    return pass_on_output(stderr, keep);
                }
                let mut buffer = [0; 1024];
                while let Ok(count @ 1..) = stderr.read(&mut buffer) {
                    keep(&buffer[..count]);
                }
            };
            std::thread::Builder::new().name("farcall-ssh".to_owned()).spawn(read).ok()
        });
        Words { kept, reader }
    }

    /// All of them, of one that has ended; what it started may hold the other end still.
    pub(super) fn take(&self, time: Duration) -> String {
        let until = Instant::now() + time;
        while self.reader.as_ref().is_some_and(|reader| !reader.is_finished())
            && Instant::now() < until
        {
            std::thread::sleep(Duration::from_millis(1));
        }
        let kept = std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner));
        String::from_utf8_lossy(&kept).trim().replace("\r\n", "; ").replace('\n', "; ")
    }
}
