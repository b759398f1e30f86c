//! The world: files and HTTP. Everything that is read is bounded in bytes and in time.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use farcall_base::{Error, ErrorKind, Result};
use farcall_formats::data::element_bytes;
use farcall_formats::{Data, Format};
use farcall_idl::interface::Order;
use farcall_services::fetcher::{Fetched, Wanted};
use rustix::fs::{MemfdFlags, Mode, OFlags, ResolveFlags};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig};

use crate::source::{Location, REDIRECTIONS_MAX, Rules, Scheme};
use crate::state::{Job, Limits};

/// What fetches over HTTP: no redirection without a look at it, nothing kept from one request to
/// the next.
pub(crate) fn agent(limits: &Limits) -> std::result::Result<ureq::Agent, String> {
    let mut tls = TlsConfig::builder();
    if !limits.certificates.is_empty() {
        tls = tls.root_certs(RootCerts::from(authorities(&limits.certificates)?));
    }
    let config = ureq::Agent::config_builder()
        .tls_config(tls.build())
        .max_redirects(0)
        .http_status_as_error(false)
        .timeout_global(Some(Duration::from_millis(limits.timeout_ms)))
        .user_agent(concat!("farcall/", env!("CARGO_PKG_VERSION")))
        .build();
    Ok(ureq::Agent::new_with_config(config))
}

fn authorities(path: &str) -> std::result::Result<Vec<Certificate<'static>>, String> {
    let text = std::fs::read(path).map_err(|error| format!("{path}: {error}"))?;
    let mut found = Vec::new();
    for item in ureq::tls::parse_pem(&text) {
        match item {
            Ok(PemItem::Certificate(certificate)) => found.push(certificate),
            Ok(_) => {}
            Err(error) => return Err(format!("{path} is not a certificate file: {error}")),
        }
    }
    if found.is_empty() { Err(format!("{path} has no certificate")) } else { Ok(found) }
}

/// What the fetching threads share.
pub(crate) struct World {
    pub agent: ureq::Agent,
    pub bytes_max: u64,
    pub timeout_ms: u64,
}

impl World {
    /// Fetches an array and lays it out as it is wanted.
    pub fn fetch(&self, job: &Job, rules: &Rules) -> Result<Fetched> {
        let named = |error: Error| error.with("url", &job.location);
        // Before anybody is asked for it.
        Format::of(&job.location.path).map_err(named)?;
        let data = match job.location.scheme {
            Scheme::File => self.file(job, rules.check(&job.location, &job.wanted.principal)?),
            Scheme::Http | Scheme::Https => self.page(job, rules),
        };
        laid_out(data.map_err(named)?, &job.wanted).map_err(named)
    }

    /// A file below an allowed folder, which no symbolic link leads out of.
    fn file(&self, job: &Job, place: &Location) -> Result<Data> {
        let location = &job.location;
        let below =
            location.path.strip_prefix(place.path.trim_end_matches('/')).unwrap_or_default();
        let (folder, name) = match below.trim_start_matches('/') {
            // The manifest names the file itself.
            "" => (
                Path::new(&place.path).parent(),
                Path::new(&place.path).file_name().unwrap_or_default().as_ref(),
            ),
            below => (Some(Path::new(&place.path)), Path::new(below)),
        };
        let system = |error: rustix::io::Errno| unreadable(error.into());
        let folder = rustix::fs::open(
            folder.unwrap_or(Path::new("/")),
            OFlags::PATH | OFlags::CLOEXEC,
            Mode::empty(),
        );
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let folder = folder.map_err(system)?;
        let file =
            rustix::fs::openat2(&folder, name, flags, Mode::empty(), resolve).map_err(|error| {
                match error {
                    rustix::io::Errno::XDEV => Error::new(
                        ErrorKind::PermissionDenied,
                        "fetch an array",
                        "a symbolic link leads out of the directory that the server may fetch from",
                    ),
                    error => system(error),
                }
            })?;
        let file = File::from(file);
        let about = file.metadata().map_err(unreadable)?;
        if !about.is_file() {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                "fetch an array",
                "it is not a regular file",
            ));
        }
        self.bounded(job, &mut &file, Some(about.len()), &unreadable)
    }

    /// A page of the network; each redirection is looked at before it is followed.
    fn page(&self, job: &Job, rules: &Rules) -> Result<Data> {
        let mut location = job.location.clone();
        for _ in 0..=REDIRECTIONS_MAX {
            let mut response = self
                .agent
                .get(location.to_string())
                .call()
                .map_err(|error| self.unreachable(&error))?;
            let status = response.status();
            if status.is_redirection() {
                let to = response
                    .headers()
                    .get("location")
                    .and_then(|to| to.to_str().ok())
                    .unwrap_or_default();
                location = location.redirected(to).map_err(|message| {
                    Error::new(
                        ErrorKind::PermissionDenied,
                        "fetch an array",
                        format!("it is redirected: {message}"),
                    )
                })?;
                rules.check(&location, &job.wanted.principal)?;
                continue;
            }
            if !status.is_success() {
                return Err(answered(status.as_u16()));
            }
            let announced = response.body().content_length();
            let broken_off = |error| self.broken_off(&error);
            return self.bounded(job, &mut response.body_mut().as_reader(), announced, &broken_off);
        }
        let message = format!("it is redirected more than {REDIRECTIONS_MAX} times");
        Err(Error::new(ErrorKind::Unreachable, "fetch an array", message))
    }

    /// Reads an array, if it has the shape that is wanted, and as much of its source as that shape
    /// takes.
    fn bounded(
        &self,
        job: &Job,
        source: &mut dyn Read,
        announced: Option<u64>,
        failed: &dyn Fn(std::io::Error) -> Error,
    ) -> Result<Data> {
        let too_long = || {
            Error::new(
                ErrorKind::LimitExceeded,
                "fetch an array",
                "the file is larger than the server may fetch",
            )
            .with("bytes_max", self.bytes_max)
            .fix("raise bytes_max of the fetcher in farcall.toml")
        };
        if announced.is_some_and(|bytes| bytes > self.bytes_max) {
            return Err(too_long());
        }
        let fits = |shape: &[u64]| check_shape(shape, &job.wanted.shape);
        Format::of(&job.location.path)?
            .read(source, self.bytes_max, failed, &fits)?
            .ok_or_else(too_long)
    }

    /// A page that does not come to its end.
    fn broken_off(&self, error: &std::io::Error) -> Error {
        match error.get_ref().and_then(|inner| inner.downcast_ref::<ureq::Error>()) {
            Some(inner) => self.unreachable(inner),
            None => Error::new(ErrorKind::Unreachable, "fetch an array", error.to_string()),
        }
    }

    /// A page that does not come.
    fn unreachable(&self, error: &ureq::Error) -> Error {
        if matches!(error, ureq::Error::Timeout(_)) {
            return Error::new(
                ErrorKind::TimedOut,
                "fetch an array",
                "the source did not answer in time",
            )
            .with("timeout_ms", self.timeout_ms)
            .fix("raise timeout_ms of the fetcher in farcall.toml");
        }
        Error::new(ErrorKind::Unreachable, "fetch an array", error.to_string())
    }
}

fn unreadable(error: std::io::Error) -> Error {
    let kind = match error.kind() {
        std::io::ErrorKind::NotFound => ErrorKind::NotFound,
        std::io::ErrorKind::PermissionDenied => ErrorKind::PermissionDenied,
        std::io::ErrorKind::TimedOut => ErrorKind::TimedOut,
        _ => ErrorKind::System,
    };
    Error::new(kind, "fetch an array", error.to_string()).source(error)
}

fn answered(status: u16) -> Error {
    let kind = match status {
        404 | 410 => ErrorKind::NotFound,
        401 | 403 => ErrorKind::PermissionDenied,
        _ => ErrorKind::Unreachable,
    };
    Error::new(kind, "fetch an array", format!("its server answered with status {status}"))
}

/// The array in the type, shape and order that the routine takes, in memory of its own.
fn laid_out(data: Data, wanted: &Wanted) -> Result<Fetched> {
    let data = Data { shape: wanted.shape.clone(), ..data.converted(wanted.element)? };
    let bytes = reordered(data, wanted.order);
    let system = |error: std::io::Error| Error::system("fetch an array", error);
    let flags = MemfdFlags::CLOEXEC;
    let memory: OwnedFd =
        rustix::fs::memfd_create("fetched", flags).map_err(|error| system(error.into()))?;
    let mut file = File::from(memory);
    file.write_all(&bytes).map_err(system)?;
    Ok(Fetched { memory: file.into(), bytes: bytes.len() as u64 })
}

/// Extents of 1 at the end may be missing on either side, as in calls.
fn check_shape(found: &[u64], wanted: &[u64]) -> Result<()> {
    let core = |shape: &[u64]| {
        let length = shape.iter().rposition(|extent| *extent != 1).map_or(0, |last| last + 1);
        shape[..length].to_vec()
    };
    if core(found) == core(wanted) {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::InvalidArgument,
        "fetch an array",
        "its shape differs from the shape in the call",
    )
    .with("shape", format!("{found:?}"))
    .with("wanted", format!("{wanted:?}"))
    .fix("pass the sizes of the array"))
}

/// The elements with the wanted index varying fastest.
fn reordered(data: Data, order: Order) -> Vec<u8> {
    if data.order == order || data.shape.len() < 2 {
        return data.bytes;
    }
    let width = element_bytes(data.element) as usize;
    let mut out = Vec::with_capacity(data.bytes.len());
    let strides = strides(&data.shape, data.order);
    // Indexes count up with the fastest first, which is where they are looked up in the other
    // order.
    let fastest_first: Vec<usize> = match order {
        Order::Column => (0..data.shape.len()).collect(),
        Order::Row => (0..data.shape.len()).rev().collect(),
    };
    let mut index = vec![0; data.shape.len()];
    for _ in 0..data.bytes.len() / width.max(1) {
        let at: u64 = index.iter().zip(&strides).map(|(index, stride)| index * stride).sum();
        out.extend_from_slice(&data.bytes[at as usize * width..][..width]);
        for axis in &fastest_first {
            index[*axis] += 1;
            if index[*axis] < data.shape[*axis] {
                break;
            }
            index[*axis] = 0;
        }
    }
    out
}

/// Elements between neighbours.
fn strides(shape: &[u64], order: Order) -> Vec<u64> {
    let mut strides = vec![1; shape.len()];
    let mut product = 1;
    let mut step = |axis: usize| {
        strides[axis] = product;
        product *= shape[axis];
    };
    match order {
        Order::Column => (0..shape.len()).for_each(&mut step),
        Order::Row => (0..shape.len()).rev().for_each(&mut step),
    }
    strides
}
