//! What a server that `ssh` began does beside serving: says where it is, keeps its log short, and
//! leaves neither behind; and removes the copies of other versions that nobody has used for long.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::copies;
use crate::record::{RENEWAL, Record, own_host};

/// How often the log is looked at.
const LOOK: Duration = Duration::from_secs(5);
/// Longest log, and how much of it stays when it has become longer.
const LOG_BYTES_MAX: u64 = 4 << 20;
const LOG_BYTES_KEPT: u64 = 1 << 20;

/// What is kept, until it is dropped.
pub struct Keeper {
    record: Option<(PathBuf, Record)>,
    log: Option<PathBuf>,
    ended: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    /// Writes the record of the server that listens at `socket`, and looks after `log`, which
    /// standard error goes to. What fails of that is told by `notice`.
    pub fn new(
        record: Option<PathBuf>,
        log: Option<PathBuf>,
        socket: PathBuf,
        notice: fn(&str),
    ) -> Keeper {
        let record = record.and_then(|file| {
            let program = std::env::current_exe().unwrap_or_default();
            let record = Record { host: own_host(), process: std::process::id(), socket, program };
            let written = record.write(&file);
            if let Err(error) = &written {
                notice(&format!(
                    "{}: {error}: other hosts cannot find this server",
                    file.display()
                ));
            }
            written.is_ok().then_some((file, record))
        });
        let (ended, end) = channel::<()>();
        let kept = record.clone();
        let length = log.clone();
        let work = move || {
            copies::remove_old();
            let mut renewed = Instant::now();
            while end.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                if let Some(log) = &length {
                    // A log that is too long is no reason to fail.
                    let _ = shorten(log);
                }
                if let Some((file, record)) = kept.as_ref().filter(|_| renewed.elapsed() >= RENEWAL)
                {
                    record.renew(file);
                    renewed = Instant::now();
                }
            }
        };
        let thread = std::thread::Builder::new().name("keeper".to_owned()).spawn(work).ok();
        Keeper { record, log, ended: Some(ended), thread }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.ended.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        if let Some((file, record)) = &self.record {
            record.remove(file);
        }
        if let Some(log) = &self.log {
            let _ = std::fs::remove_file(log);
        }
    }
}

/// Keeps the end of a log that has become too long. Whoever writes to it appends: that goes on
/// where it ends now.
fn shorten(log: &Path) -> std::io::Result<()> {
    let mut file = File::options().read(true).append(true).open(log)?;
    let length = file.metadata()?.len();
    if length <= LOG_BYTES_MAX {
        return Ok(());
    }
    file.seek(SeekFrom::Start(length - LOG_BYTES_KEPT))?;
    let mut end = Vec::new();
    file.try_clone()?.take(LOG_BYTES_KEPT).read_to_end(&mut end)?;
    let begin = end.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    file.set_len(0)?;
    file.write_all(&end[begin..])
}
