//! Connections to servers: made when they are wanted, made again when they were lost, and tried
//! again as the configuration says.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use farcall_client::{Client, Compression, Error, ErrorKind};
use farcall_configuration::config::{Compress, ConnectRetry};

use crate::clock;
use crate::code::{Code, Failure, Outcome};
use crate::communication::CommunicationLog;
use crate::log::{self, Group, Level};
use crate::servers::Server;

/// Time to connect, unless a handle has less.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// A connection that was not used for this long is looked at before it is used again: its server
/// may have gone meanwhile. A call a moment after another one is spared that.
const IDLE_MS: u64 = 10;
/// Longest time between two tries.
const PAUSE_MAX: Duration = Duration::from_secs(3600);

/// A connection, with a number that no other one of this process has.
pub struct Connection {
    pub key: u64,
    pub client: Client,
    /// Whether what routines print comes here.
    pub prints: bool,
    /// What goes to it and comes from it.
    pub log: Arc<CommunicationLog>,
    /// When it was used last.
    used_ms: AtomicU64,
}

fn now_ms() -> u64 {
    u64::try_from(clock::read(clock::COARSE).as_millis()).unwrap_or(u64::MAX)
}

impl Connection {
    fn new(client: Client, prints: bool, log: Arc<CommunicationLog>) -> Connection {
        static KEYS: AtomicU64 = AtomicU64::new(1);
        let key = KEYS.fetch_add(1, Ordering::Relaxed);
        Connection { key, client, prints, log, used_ms: AtomicU64::new(now_ms()) }
    }

    /// Whether it may be used, as far as is known. One that `may_end` at any moment is looked at in
    /// any case.
    fn is_usable(&self, may_end: bool) -> bool {
        let now = now_ms();
        let idle = now.saturating_sub(self.used_ms.swap(now, Ordering::Relaxed));
        (idle < IDLE_MS && !may_end) || !self.client.is_lost()
    }
}

/// How long to wait before each further try.
struct Pauses<'a> {
    retry: &'a ConnectRetry,
    tried: u32,
}

impl Pauses<'_> {
    /// The next one; `chance` is from 0 to 1. `None` when there is to be no further try.
    fn next(&mut self, chance: f64) -> Option<Duration> {
        if self.tried >= self.retry.count {
            return None;
        }
        // Ninf-G: base, base * ratio, base * ratio², and each at random up to that.
        let growth = self.retry.ratio.powi(i32::try_from(self.tried).unwrap_or(i32::MAX));
        let longest = self.retry.base.as_secs_f64() * growth;
        self.tried += 1;
        let wanted = if self.retry.random { longest * chance } else { longest };
        Some(Duration::try_from_secs_f64(wanted).map_or(PAUSE_MAX, |pause| pause.min(PAUSE_MAX)))
    }
}

/// A number from 0 to 1 that is another one for every client: the standard library draws one key
/// for each process.
fn chance() -> f64 {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u64(now_ms());
    (hasher.finish() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Whether another try may end better. A server that ends while it is connected to is one that
/// nobody answers for.
fn may_pass(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Unreachable | ErrorKind::ConnectionLost | ErrorKind::TimedOut)
}

impl Server {
    /// The connection to it, made when there is none or the last one was lost. `limit` is the time
    /// that a handle has to become ready.
    pub fn connect(&self, limit: Option<Duration>) -> Outcome<Arc<Connection>> {
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let may_end = self.is_of_a_call();
        if let Some(connection) =
            connection.as_ref().filter(|connection| connection.is_usable(may_end))
        {
            return Ok(connection.clone());
        }
        *connection = None;
        let client = self.reach_patiently(limit)?;
        let section = self.section.as_ref();
        if let Some(silence) = self.silence() {
            client.set_heartbeat(silence);
        }
        let prints = section.is_some_and(|section| section.redirect_output);
        if let Some(compression) = section.and_then(|section| section.compression) {
            compress(&client, compression);
        }
        self.warn_of_others();
        let log = self.communication();
        log.write(|| format!("connected to {}", client.address()));
        let made = Arc::new(Connection::new(client, prints, log));
        *connection = Some(made.clone());
        Ok(made)
    }

    /// How long it may be silent while somebody waits for it, as its section says; zero: for ever.
    pub fn silence(&self) -> Option<Duration> {
        let section = self.section.as_ref()?;
        Some(section.heartbeat.map_or(Duration::ZERO, |beat| beat * section.heartbeat_count))
    }

    /// The same for whoever binds a handle: whether the connection is gone is looked at however
    /// short ago it was used, since asking for processes waits for no answer.
    pub fn connect_to_bind(&self, limit: Option<Duration>) -> Outcome<Arc<Connection>> {
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        if connection.as_ref().is_some_and(|connection| connection.client.is_lost()) {
            *connection = None;
        }
        drop(connection);
        self.connect(limit)
    }

    /// Connects, again and again where the configuration says so, for as long as a handle has time.
    fn reach_patiently(&self, limit: Option<Duration>) -> Outcome<Client> {
        let begun = Instant::now();
        let left = || limit.map(|limit| limit.saturating_sub(begun.elapsed()));
        let retry = self.section.as_ref().and_then(|section| section.connect_retry.as_ref());
        let mut pauses = retry.map(|retry| Pauses { retry, tried: 0 });
        loop {
            let error = match self.reach(left().unwrap_or(CONNECT_TIMEOUT).min(CONNECT_TIMEOUT)) {
                Ok(client) => return Ok(client),
                Err(error) => error,
            };
            let pause = pauses
                .as_mut()
                .filter(|_| may_pass(&error))
                .and_then(|pauses| pauses.next(chance()));
            let Some(pause) = pause else { return Err(not_reached(&error, limit.is_some())) };
            if left().is_some_and(|left| left <= pause) {
                return Err(Failure::new(
                    Code::Timeout,
                    format!("{error}; job_startTimeout ends before the next try"),
                ));
            }
            let seconds = pause.as_secs_f64();
            log::write(
                Group::Internal,
                Level::Information,
                &format!("{error}; connects again in {seconds:.1} s"),
            );
            std::thread::sleep(pause);
        }
    }

    /// Has the next call connect again where this error says that the connection is gone.
    pub fn note(&self, used: &Arc<Connection>, error: &Error) {
        let gone = [
            ErrorKind::ConnectionLost,
            ErrorKind::Protocol,
            ErrorKind::ShuttingDown,
            ErrorKind::Damaged,
        ];
        if !gone.contains(&error.kind()) {
            return;
        }
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        if connection.as_ref().is_some_and(|known| known.key == used.key) {
            used.log
                .write(|| format!("the connection to {} is lost: {error}", used.client.address()));
            *connection = None;
        }
    }
}

/// As the server's section says: what it sends is its own choice.
fn compress(client: &Client, wanted: Compress) {
    match wanted {
        Compress::Raw => client.set_compression(Compression::Off),
        Compress::From(bytes) => client.set_compression_from(Compression::Always, bytes),
    }
}

/// Why there is no connection. A server that was killed may take connections for a moment still,
/// and end them before a word: that is nobody who answers, as a moment later.
fn not_reached(error: &Error, limited: bool) -> Failure {
    match error.kind() {
        ErrorKind::ConnectionLost => Failure::new(Code::ServerNotFound, error.to_string()),
        ErrorKind::TimedOut if !limited => Failure::new(Code::ServerNotFound, error.to_string()),
        _ => Failure::of_binding(error, Code::ServerNotFound),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_are_counted() {
        let retry =
            ConnectRetry { count: 3, base: Duration::from_secs(1), ratio: 2.0, random: false };
        let mut pauses = Pauses { retry: &retry, tried: 0 };
        let all: Vec<u64> =
            std::iter::from_fn(|| pauses.next(0.5)).map(|pause| pause.as_secs()).collect();
        assert_eq!(all, [1, 2, 4]);
        let retry = ConnectRetry { count: 2000, random: true, ..retry };
        let mut pauses = Pauses { retry: &retry, tried: 0 };
        assert_eq!(pauses.next(0.25), Some(Duration::from_millis(250)));
        assert_eq!((1..2000).map_while(|_| pauses.next(1.0)).last(), Some(PAUSE_MAX));
        assert!((0.0..1.0).contains(&chance()));
    }

    #[test]
    fn a_server_that_ends_before_a_word_is_nobody_who_answers() {
        let lost =
            Error::new(ErrorKind::ConnectionLost, "connect", "the server closed the connection");
        assert_eq!(not_reached(&lost, true).code, Code::ServerNotFound);
        let late = Error::new(
            ErrorKind::TimedOut,
            "connect",
            "the server did not answer the greeting in time",
        );
        assert_eq!(
            (not_reached(&late, true).code, not_reached(&late, false).code),
            (Code::Timeout, Code::ServerNotFound)
        );
    }
}
