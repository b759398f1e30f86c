//! One watch: a thread that reads what etcd tells of a prefix, and goes on where it was when a member
//! is lost.

use std::io::{BufRead, BufReader, Read};
use std::time::Duration;

use farcall_services::mailbox::{Port, Refusal};
use farcall_services::store::Changed;
use serde_json::json;

use super::World;
use super::message::{Event, Piece, Watched, encoded, end_of, read, sent};

/// Time after which a stream is begun again where it was: a member that vanished is noticed by that.
const STREAM_MAX: Duration = Duration::from_secs(20);
/// Between attempts when a member did not answer.
const PAUSE: Duration = Duration::from_millis(100);
/// While the mailbox of the one who watches is full.
const FULL_PAUSE: Duration = Duration::from_millis(10);
/// Bytes of what etcd tells at once.
const PIECE_BYTES_MAX: u64 = 64 << 20;

/// How a stream ended.
enum End {
    /// Nobody listens any more.
    Closed,
    /// It is begun again at once.
    Again,
    /// Another member is asked.
    Failed,
}

/// Where a watch is.
struct Place<'w> {
    world: &'w World,
    prefix: String,
    port: &'w Port<Changed>,
    /// The first revision that was not told; `None`: whatever is told now, something may be missing.
    next: Option<u64>,
}

/// Tells of changes until the port is closed or the plugin stops.
pub fn follow(world: &World, prefix: &str, port: &Port<Changed>) {
    let mut place = Place { world, prefix: world.raw(prefix), port, next: None };
    let mut index = world.endpoints.current();
    while !world.is_stopping() {
        match place.stream(index) {
            End::Closed => return,
            End::Again => {}
            End::Failed => {
                index = world.endpoints.after(index);
                std::thread::sleep(PAUSE);
            }
        }
    }
}

impl Place<'_> {
    fn stream(&mut self, index: usize) -> End {
        let mut create = json!({
            "key": encoded(&self.prefix), "range_end": encoded(end_of(&self.prefix)),
        });
        if let Some(next) = self.next {
            create["start_revision"] = json!(next.to_string());
        }
        let body = sent(&json!({"create_request": create}));
        let stream = self.world.endpoints.stream(index, "/v3/watch", &body, STREAM_MAX);
        let Ok(mut stream) = stream else { return End::Failed };
        if !stream.status().is_success() {
            return End::Failed;
        }
        let mut reader = BufReader::new(stream.body_mut().as_reader());
        let mut line = Vec::new();
        loop {
            line.clear();
            let piece = (&mut reader).take(PIECE_BYTES_MAX).read_until(b'\n', &mut line);
            match piece {
                Ok(0) => return End::Failed,
                Ok(_) if line.last() != Some(&b'\n') => {
                    // Too much at once, or cut off: read again what is there.
                    if line.len() as u64 == PIECE_BYTES_MAX {
                        self.next = None;
                    }
                    return End::Failed;
                }
                Ok(_) => {}
                Err(error) if is_timeout(&error) => return End::Again,
                Err(_) => return End::Failed,
            }
            let watched = match read::<Piece<Watched>>(&line) {
                Ok(Piece { result: Some(watched) }) => watched,
                _ => return End::Failed,
            };
            if let Err(end) = self.take(watched) {
                return end;
            }
        }
    }

    fn take(&mut self, watched: Watched) -> Result<(), End> {
        if watched.canceled {
            if watched.compact_revision > 0 {
                // What happened meanwhile is known to nobody any more.
                self.next = None;
                return Err(End::Again);
            }
            return Err(End::Failed);
        }
        if watched.created && self.next.is_none() {
            self.tell(Changed::Lost)?;
            self.next = Some(watched.header.revision + 1);
        }
        for Event { kind, kv } in watched.events {
            let next = self.next.unwrap_or_default().max(kv.mod_revision + 1);
            let prefix = self.world.settings.prefix.len();
            let key = String::from_utf8(kv.key).ok();
            // Farcall's keys are text.
            if let Some(key) = key.as_deref().and_then(|key| key.get(prefix..)) {
                let key = key.to_owned();
                let is_gone = kind == "DELETE";
                self.tell(if is_gone { Changed::Gone(key) } else { Changed::Put(key) })?;
            }
            self.next = Some(next);
        }
        Ok(())
    }

    /// Waits while the mailbox is full: etcd keeps what is to be told after it.
    fn tell(&self, changed: Changed) -> Result<(), End> {
        let mut changed = changed;
        loop {
            match self.port.try_send(changed) {
                Ok(()) => return Ok(()),
                Err(refused) if refused.refusal == Refusal::Closed => return Err(End::Closed),
                Err(_) if self.world.is_stopping() => return Err(End::Closed),
                Err(refused) => changed = refused.message,
            }
            std::thread::sleep(FULL_PAUSE);
        }
    }
}

fn is_timeout(error: &std::io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<ureq::Error>());
    error.kind() == std::io::ErrorKind::TimedOut || matches!(inner, Some(ureq::Error::Timeout(_)))
}
