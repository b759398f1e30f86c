//! Files that are too long for a message: they come in pieces, each of which goes to the disk, so
//! that the server holds no more than one.

use std::collections::BTreeMap;
use std::sync::Weak;
use std::time::{Duration, Instant};

use farcall_base::{Error, ErrorKind, Result};
use farcall_wire::PublishedPiece;

use crate::store::{Placed, Store};

/// Publications that come at a time.
const UPLOADS_MAX: usize = 16;
/// Time that the next piece of one may take.
const IDLE_MAX: Duration = Duration::from_secs(600);
/// How often is looked whether those who send some are still there.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const OPERATION: &str = "publish files";

/// What is on its way, by the names that its senders gave it.
#[derive(Default)]
pub struct Uploads(BTreeMap<[u8; 16], Upload>);

struct Upload {
    /// Lives as long as the connection of its sender.
    giver: Weak<()>,
    principal: String,
    placed: Placed,
    /// The name of the file that was sent first, which is published.
    first: String,
    bytes: u64,
    /// When its last piece came.
    last: Instant,
}

impl Uploads {
    /// How long to wait until the next look at what is on its way.
    pub fn patience(&self) -> Duration {
        if self.0.is_empty() { Duration::MAX } else { LOOK_EVERY }
    }

    /// One more piece, of a publication that may have so many bytes.
    ///
    /// # Errors
    /// `LimitExceeded`, after which nothing is left of the publication; what the store says.
    pub fn take(
        &mut self,
        store: &mut Store,
        piece: PublishedPiece,
        from: (&Weak<()>, &str),
        bytes_max: u64,
    ) -> Result<()> {
        let id = piece.publication;
        let taken = self.add(store, piece, from, bytes_max);
        if taken.is_err()
            && self.0.get(&id).is_some_and(|upload| upload.is_of(from.1))
            && let Some(upload) = self.0.remove(&id)
        {
            store.discard(&upload.placed);
        }
        taken
    }

    fn add(
        &mut self,
        store: &mut Store,
        piece: PublishedPiece,
        (giver, principal): (&Weak<()>, &str),
        bytes_max: u64,
    ) -> Result<()> {
        let PublishedPiece { publication: id, name, content } = piece;
        if !self.0.contains_key(&id) {
            if self.0.len() >= UPLOADS_MAX {
                let message = "too many publications are on their way";
                return Err(Error::new(ErrorKind::LimitExceeded, OPERATION, message)
                    .retryable()
                    .fix("try again when the earlier ones are done"));
            }
            let placed = store.begin_files(&name)?;
            let upload = Upload {
                giver: giver.clone(),
                principal: principal.to_owned(),
                placed,
                first: name.clone(),
                bytes: 0,
                last: Instant::now(),
            };
            self.0.insert(id, upload);
        }
        let upload = self.0.get_mut(&id).filter(|upload| upload.is_of(principal));
        let upload = upload.ok_or_else(unknown)?;
        upload.bytes = upload.bytes.saturating_add(content.len() as u64);
        if upload.bytes > bytes_max {
            let message = format!("the files have more than {bytes_max} bytes");
            return Err(Error::new(ErrorKind::LimitExceeded, OPERATION, message)
                .with("limit", "call_bytes_max")
                .fix(
                    "copy them to the server's host and publish them by their path there, or \
                     raise call_bytes_max in its farcall.toml",
                ));
        }
        upload.last = Instant::now();
        store.append(&upload.placed, &name, &content)
    }

    /// What has come under a name, complete: its place, and the name of its first file.
    ///
    /// # Errors
    /// `NotFound` where nothing has.
    pub fn complete(&mut self, id: &[u8; 16], principal: &str) -> Result<(Placed, String)> {
        if !self.0.get(id).is_some_and(|upload| upload.is_of(principal)) {
            return Err(unknown());
        }
        let upload = self.0.remove(id).ok_or_else(unknown)?;
        Ok((upload.placed, upload.first))
    }

    /// Removes what nobody sends the rest of.
    pub fn look(&mut self, store: &mut Store) {
        self.0.retain(|_, upload| {
            let goes_on = upload.giver.strong_count() > 0 && upload.last.elapsed() < IDLE_MAX;
            if !goes_on {
                store.discard(&upload.placed);
            }
            goes_on
        });
    }
}

impl Upload {
    fn is_of(&self, principal: &str) -> bool {
        self.principal == principal
    }
}

fn unknown() -> Error {
    Error::new(ErrorKind::NotFound, OPERATION, "nothing of this publication has arrived")
        .fix("send its files again")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "pieces_tests.rs"]
mod tests;
