//! The members of etcd, over HTTP: which one is asked, and what came of it.

use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use farcall_base::{Error, ErrorKind, Result};
use farcall_system::{key_file, plain_file};
use ureq::http::Response;
use ureq::tls::{Certificate, ClientCert, PemItem, PrivateKey, RootCerts, TlsConfig};
use ureq::{Agent, Body, Timeout};

use super::World;
use crate::options::Settings;
use crate::step::{Attempt, Meaning, meaning, unavailable};

/// Of a file of certificates or keys.
const PEM_BYTES_MAX: u64 = 1 << 20;
/// Between rounds in which no member did it.
const PAUSE: Duration = Duration::from_millis(50);
/// The shortest attempt.
const LEAST: Duration = Duration::from_millis(100);
const OPERATION: &str = "use the store in etcd";

/// The members.
pub struct Endpoints {
    agent: Agent,
    connect: Duration,
    urls: Vec<String>,
    /// The one that answered last.
    current: AtomicUsize,
}

/// What became of a request.
pub struct Outcome {
    pub answer: Answer,
    /// It was sent more than once, and what was sent before may have been done.
    pub is_repeated: bool,
}

/// What etcd says.
pub enum Answer {
    Done(Vec<u8>),
    NoLease,
    TooLarge,
}

/// How a request is asked.
pub struct Asking<'a> {
    pub path: &'static str,
    /// What is sent, the first time and when an earlier attempt may have been done.
    pub body: &'a dyn Fn(bool) -> Vec<u8>,
    /// Whether it may be sent again when an earlier attempt may have been done.
    pub may_repeat: bool,
    /// Time for one attempt, and for all.
    pub attempt: Duration,
    pub patience: Duration,
    /// Bytes of the answer, at most.
    pub bytes_max: u64,
}

impl Endpoints {
    /// Reads the certificates.
    ///
    /// # Errors
    /// What is wrong with their files.
    pub fn new(settings: &Settings) -> Result<Endpoints> {
        let config = Agent::config_builder()
            .tls_config(tls(settings)?)
            // A proxy of the environment is for the world outside.
            .proxy(None)
            .max_redirects(0)
            .http_status_as_error(false)
            .timeout_connect(Some(Duration::from_millis(settings.connect_ms)))
            .max_idle_connections(2 * settings.at_once_max + 2)
            .max_idle_connections_per_host(settings.at_once_max + 1)
            .user_agent(concat!("farcall/", env!("CARGO_PKG_VERSION")))
            .build();
        Ok(Endpoints {
            agent: Agent::new_with_config(config),
            connect: Duration::from_millis(settings.connect_ms),
            urls: settings.endpoints.clone(),
            current: AtomicUsize::new(0),
        })
    }

    /// The member to ask first.
    pub fn current(&self) -> usize {
        self.current.load(Ordering::Relaxed)
    }

    /// The member to ask when this one did not do it.
    pub fn after(&self, index: usize) -> usize {
        (index + 1) % self.urls.len()
    }

    /// The same, and later requests ask that one first: a silent member holds up few of them.
    fn leave(&self, index: usize) -> usize {
        let next = self.after(index);
        let order = Ordering::Relaxed;
        // Another thread may have been faster.
        let _ = self.current.compare_exchange(index, next, order, order);
        next
    }

    /// Closes all connections.
    pub fn shut(&self) {
        self.agent.clone().shutdown();
    }

    fn post(&self, index: usize, asking: &Asking<'_>, body: &[u8], time: Duration) -> Attempt {
        let request = self.agent.post(format!("{}{}", self.urls[index], asking.path));
        let request = request.config().timeout_global(Some(time)).build();
        let mut response = match request.content_type("application/json").send(body) {
            Ok(response) => response,
            Err(error) => return attempt(&self.urls[index], &error),
        };
        let is_large = |bytes: u64| bytes > asking.bytes_max;
        if response.body().content_length().is_some_and(is_large) {
            return Attempt::TooLarge;
        }
        let mut answer = Vec::new();
        let reader = response.body_mut().with_config().limit(u64::MAX).reader();
        match reader.take(asking.bytes_max + 1).read_to_end(&mut answer) {
            Ok(bytes) if is_large(bytes as u64) => Attempt::TooLarge,
            Ok(_) => Attempt::Answered(response.status().as_u16(), answer),
            Err(error) => Attempt::Silent(format!("{}: {error}", self.urls[index])),
        }
    }

    /// A request whose answer comes piece by piece, for at most `time`.
    pub fn stream(
        &self,
        index: usize,
        path: &str,
        body: &[u8],
        time: Duration,
    ) -> std::result::Result<Response<Body>, Attempt> {
        let request = self.agent.post(format!("{}{path}", self.urls[index]));
        let request = request
            .config()
            .timeout_send_request(Some(self.connect))
            .timeout_send_body(Some(self.connect))
            .timeout_recv_response(Some(time))
            .timeout_recv_body(Some(time))
            .build()
            // A member that has lost its leader ends the stream, and another is asked.
            .header("Grpc-Metadata-hasleader", "true");
        let response = request.content_type("application/json").send(body);
        response.map_err(|error| attempt(&self.urls[index], &error))
    }
}

impl World {
    /// Asks one member after the other until one does it, or refuses it, or time is up.
    ///
    /// # Errors
    /// What etcd refuses; `Unavailable`.
    pub fn ask(&self, asking: &Asking<'_>) -> Result<Outcome> {
        let begin = Instant::now();
        let mut index = self.endpoints.current();
        let mut may_be_done = false;
        let mut last = String::new();
        for attempts in 1.. {
            let left = asking.patience.saturating_sub(begin.elapsed());
            let is_over = left < LEAST || self.is_stopping();
            if attempts > 1 && (is_over || may_be_done && !asking.may_repeat) {
                return Err(self.unavailable(&last, may_be_done));
            }
            let time = asking.attempt.min(left);
            let body = (asking.body)(may_be_done);
            let answer = match meaning(self.endpoints.post(index, asking, &body, time)) {
                Meaning::Done(body) => Answer::Done(body),
                Meaning::TooLarge => Answer::TooLarge,
                Meaning::NoLease if !may_be_done => Answer::NoLease,
                Meaning::Refused(error) if !may_be_done => return Err(error),
                Meaning::NoLease => return Err(self.unavailable("its lease has ended", true)),
                Meaning::Refused(error) => return Err(self.unavailable(error.message(), true)),
                Meaning::Next { why, may_be_done: may_now } => {
                    may_be_done |= may_now;
                    // An attempt that was cut short says nothing of its member.
                    if last.is_empty() || time == asking.attempt {
                        last = why;
                    }
                    index = self.endpoints.leave(index);
                    if attempts % self.endpoints.urls.len() == 0 {
                        std::thread::sleep(PAUSE);
                    }
                    continue;
                }
            };
            self.endpoints.current.store(index, Ordering::Relaxed);
            return Ok(Outcome { answer, is_repeated: may_be_done });
        }
        Err(Error::internal(OPERATION, "it was tried too often"))
    }

    /// The error of a request that no member has done.
    pub fn unavailable(&self, why: &str, may_be_done: bool) -> Error {
        unavailable(why, &self.endpoints.urls, self.settings.patience_ms, may_be_done)
    }
}

/// What an error of an attempt says of whether etcd may have heard it.
fn attempt(url: &str, error: &ureq::Error) -> Attempt {
    use io::ErrorKind::{
        AddrNotAvailable, ConnectionRefused, HostUnreachable, NetworkUnreachable, NotConnected,
    };
    let unsent =
        [AddrNotAvailable, ConnectionRefused, HostUnreachable, NetworkUnreachable, NotConnected];
    let is_unsent = match error {
        ureq::Error::Io(error) => unsent.contains(&error.kind()),
        ureq::Error::Timeout(Timeout::Resolve | Timeout::Connect)
        | ureq::Error::HostNotFound
        | ureq::Error::ConnectionFailed
        | ureq::Error::Tls(_)
        | ureq::Error::Rustls(_)
        | ureq::Error::BadUri(_) => true,
        _ => false,
    };
    let text = format!("{url}: {error}");
    if is_unsent { Attempt::NotSent(text) } else { Attempt::Silent(text) }
}

fn tls(settings: &Settings) -> Result<TlsConfig> {
    let mut tls = TlsConfig::builder();
    if !settings.ca.is_empty() {
        tls = tls.root_certs(RootCerts::from(certificates(&settings.ca)?));
    }
    if !settings.certificate.is_empty() {
        let chain = certificates(&settings.certificate)?;
        let key = private_key(&settings.key)?;
        tls = tls.client_cert(Some(ClientCert::new_with_certs(&chain, key)));
    }
    Ok(tls.build())
}

fn wrong(path: &str, message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidSource, "read the certificates for etcd", message)
        .with("path", path)
        .fix("check ca, certificate and key of store-etcd in farcall.toml")
}

fn items(path: &str, bytes: &[u8]) -> Result<Vec<PemItem<'static>>> {
    let items = ureq::tls::parse_pem(bytes);
    items.map(|item| item.map_err(|error| wrong(path, error.to_string()))).collect()
}

fn certificates(path: &str) -> Result<Vec<Certificate<'static>>> {
    let bytes = plain_file::read(Path::new(path), PEM_BYTES_MAX);
    let bytes = bytes.map_err(|error| wrong(path, error.to_string()))?;
    let items = items(path, &bytes)?.into_iter();
    let found: Vec<_> = items
        .filter_map(|item| match item {
            PemItem::Certificate(certificate) => Some(certificate),
            _ => None,
        })
        .collect();
    if found.is_empty() { Err(wrong(path, "it has no certificate")) } else { Ok(found) }
}

fn private_key(path: &str) -> Result<PrivateKey<'static>> {
    let bytes = key_file::read_secret(Path::new(path), PEM_BYTES_MAX)?;
    let found = items(path, &bytes)?.into_iter().find_map(|item| match item {
        PemItem::PrivateKey(key) => Some(key),
        _ => None,
    });
    found.ok_or_else(|| wrong(path, "it has no private key"))
}
