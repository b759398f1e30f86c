//! Processes that a server holds for handles: one for each object, and for each handle of an array.

use std::sync::Arc;
use std::time::Duration;

use farcall_client::{Client, ErrorKind, Hold, HoldOptions, ObjectId, Resources};

use crate::code::{Code, Failure, Outcome};
use crate::servers::Server;

/// How long somebody waits at most for processes to end whose connection was lost.
const AGAIN: Duration = Duration::from_secs(2);

/// A handle's own process.
#[derive(Clone)]
pub struct Held {
    /// All that were asked for together.
    hold: Arc<Hold>,
    server: Arc<Server>,
    pub id: ObjectId,
}

/// How processes are to start.
#[derive(Clone, Copy, Debug, Default)]
pub struct Start {
    /// Longest time for it.
    pub limit: Option<Duration>,
    /// Processes of which MPI makes each; 0 to leave that to the server.
    pub ranks: u32,
    /// What each is given.
    pub resources: Resources,
}

impl Held {
    /// Asks for so many processes of a class or routine, and waits for none.
    pub fn ask(
        server: &Arc<Server>,
        client: &Client,
        name: &str,
        count: usize,
        start: Start,
    ) -> farcall_client::Result<Vec<Held>> {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let hold = Arc::new(client.hold(
            name,
            count,
            &HoldOptions {
                start: start.limit,
                ranks: start.ranks,
                resources: start.resources,
                ..HoldOptions::default()
            },
        )?);
        Ok(hold.ids().map(|id| Held { hold: hold.clone(), server: server.clone(), id }).collect())
    }

    /// `module/Class`.
    pub fn name(&self) -> &str {
        self.hold.name()
    }

    /// Waits until all that were asked for together take calls.
    pub fn ready(&self) -> farcall_client::Result<()> {
        self.hold.ready(None).map(drop)
    }

    /// Whether they do now.
    pub fn is_ready(&self) -> farcall_client::Result<bool> {
        self.hold.is_ready()
    }

    /// Whether these are all that were asked for together, in their order.
    fn are_all(all: &[Held]) -> bool {
        all.first().is_some_and(|first| {
            first.hold.count() as usize == all.len()
                && all.iter().map(|held| held.id).eq(first.hold.ids())
        })
    }

    /// Ends processes, and waits until they have: for so long, or for ever.
    pub fn release(all: &[Held], limit: Option<Duration>) -> Outcome<()> {
        let Some(first) = all.first() else { return Ok(()) };
        if Held::are_all(all) {
            return first.release_from(all.len(), limit);
        }
        all.iter().map(|held| held.release_from(1, limit)).fold(Ok(()), Outcome::and)
    }

    fn release_from(&self, count: usize, limit: Option<Duration>) -> Outcome<()> {
        let client = self.hold.client();
        let released = client.release(self.id, u32::try_from(count).unwrap_or(u32::MAX), limit);
        match released {
            // Nobody was to wait for it.
            Err(error) if error.kind() == ErrorKind::TimedOut && limit == Some(Duration::ZERO) => {
                Ok(())
            }
            // It has ended before, of a crash, say.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) if error.kind() == ErrorKind::ConnectionLost => {
                self.release_anew(count, limit);
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::TimedOut => {
                Err(Failure::new(Code::Timeout, error.to_string()))
            }
            // It has ended, though not in order: of a failure in `_finalize`, say.
            Err(_) | Ok(()) => Ok(()),
        }
    }

    /// Ends it by a connection that came after the one it was held over, and waits for nothing.
    pub fn let_go(&self, client: &Client) {
        let _ = client.release(self.id, 1, Some(Duration::ZERO));
    }

    /// Where the connection was lost, the server keeps them for as long as their lease is; another
    /// connection ends them at once. Where there is none to be had, they end with that lease.
    fn release_anew(&self, count: usize, limit: Option<Duration>) {
        let limit = Some(limit.map_or(AGAIN, |limit| limit.min(AGAIN)));
        if !self.server.is_shared() {
            return;
        }
        if let Ok(connection) = self.server.connect(limit) {
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            let _ = connection.client.release(self.id, count, limit);
        }
    }
}
