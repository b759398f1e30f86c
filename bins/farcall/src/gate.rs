//! Where programs of jobs dial in: over TLS with certificates that are made for each job, or by a
//! socket of this host.

use std::fs::{DirBuilder, OpenOptions};
use std::io::Write;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use farcall_authority::{Kind, Order, Signer};
use farcall_base::{Error, Result};
use farcall_link::stream::Listener;
use farcall_spawner_jobs::{Dial, Gate, GateWish};
use farcall_system::open_files::open_files_max;
use farcall_system::{owner, temporary};
use farcall_transport_tls::{ListenerLimits, ServerFiles};

/// Programs of a large job dial in at once.
const HANDSHAKES_MAX: usize = 4096;
/// Of all descriptors that there may be, what they take at most: one part in so many.
const HANDSHAKES_PART: u64 = 8;
const HANDSHAKE_MAX: Duration = Duration::from_secs(30);
/// Time after which a host that answers nothing is given up.
const SILENCE_MAX: Duration = Duration::from_secs(60);
/// Where launchers of this host reach the server.
const LOOPBACK: &str = "127.0.0.1";

static NUMBERS: AtomicU64 = AtomicU64::new(0);

/// Opens a gate as `wish` says.
///
/// # Errors
/// When it cannot listen, or the folder cannot be written.
pub fn open(wish: &GateWish<'_>) -> Result<Box<dyn Gate>> {
    let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
    let folder = Own(wish.folder.join(format!("gate-{}-{number}", std::process::id())));
    DirBuilder::new().recursive(true).mode(0o700).create(wish.folder).map_err(system)?;
    owner::make(&folder.0).map_err(system)?;
    match wish.dial {
        Dial::Tls | Dial::Stdio => Ok(Box::new(certified(wish, folder)?)),
        Dial::Unix => {
            let path = folder.0.join("s");
            let listener = farcall_transport_unix::Listener::bind_for_bytes(&path)?;
            let dial = vec![format!("unix:{}", path.display())];
            Ok(Box::new(JobGate {
                listener: Box::new(listener),
                dial,
                bridge: None,
                signer: None,
                _folder: folder,
            }))
        }
    }
}

fn system(error: std::io::Error) -> Error {
    Error::system("await jobs", error)
}

/// A folder that goes with the gate.
struct Own(PathBuf);

impl Drop for Own {
    fn drop(&mut self) {
        temporary::remove(&self.0);
    }
}

struct JobGate {
    listener: Box<dyn Listener>,
    dial: Vec<String>,
    bridge: Option<String>,
    /// Signs jobs' certificates; lives in memory alone, and no longer than the gate.
    signer: Option<Signer>,
    _folder: Own,
}

/// An authority for this gate alone: both ends trust nobody else.
fn certified(wish: &GateWish<'_>, folder: Own) -> Result<JobGate> {
    let signer = Signer::for_once()?;
    let through_launcher = wish.dial == Dial::Stdio;
    let own = through_launcher || wish.reached_at.is_empty();
    let hosts = if own { vec![own_name()] } else { wish.reached_at.to_vec() };
    let files = ServerFiles {
        credentials: folder.0.join("server.pem"),
        revocations: folder.0.join("revoked.crl"),
    };
    let order = order(Kind::Server, "server", hosts.clone());
    write_private(&files.credentials, &signer.sign(&order)?.0)?;
    write_private(&files.revocations, &signer.revocations(std::iter::empty())?)?;
    let limits = ListenerLimits {
        handshakes_max: handshakes_max(),
        handshake_max: HANDSHAKE_MAX,
        silence_max: SILENCE_MAX,
    };
    let listen = if through_launcher { LOOPBACK } else { wish.listen };
    let listener = farcall_transport_tls::Listener::bind(listen, 0, files, limits)?;
    let port = listener.port();
    let bracketed =
        |host: &String| if host.contains(':') { format!("[{host}]") } else { host.clone() };
    let (dial, bridge) = match through_launcher {
        true => (vec![format!("stdio:{}", own_name())], Some(bridge(port)?)),
        false => {
            (hosts.iter().map(|host| format!("tls://{}:{port}", bracketed(host))).collect(), None)
        }
    };
    Ok(JobGate {
        listener: Box::new(listener),
        dial,
        bridge,
        signer: Some(signer),
        _folder: folder,
    })
}

/// Handshakes of jobs at a time: those for which there are descriptors beside everything else.
fn handshakes_max() -> usize {
    let most = open_files_max().map_or(HANDSHAKES_MAX as u64, |files| files / HANDSHAKES_PART);
    usize::try_from(most).map_or(HANDSHAKES_MAX, |most| most.clamp(1, HANDSHAKES_MAX))
}

/// What leads from a launcher to the port.
fn bridge(port: u16) -> Result<String> {
    let program = std::env::current_exe().map_err(system)?;
    Ok(format!("{} bridge {LOOPBACK}:{port}", farcall_launcher::quoted(&program.to_string_lossy())))
}

fn own_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// What is signed for once has no days.
fn order(kind: Kind, name: &str, hosts: Vec<String>) -> Order {
    Order { kind, name: name.to_owned(), hosts, days: 0, file: PathBuf::new() }
}

fn write_private(path: &Path, text: &str) -> Result<()> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(system)
}

impl Gate for JobGate {
    fn listener(&mut self) -> &mut dyn Listener {
        &mut *self.listener
    }

    fn readiness(&self) -> Option<BorrowedFd<'_>> {
        self.listener.readiness()
    }

    fn ticket(&mut self, job: &str) -> Result<String> {
        let mut text: String =
            self.dial.iter().map(|address| format!("dial {address}\n")).collect();
        if let Some(signer) = &self.signer {
            text.push_str(&signer.sign(&order(Kind::User, job, Vec::new()))?.0);
        }
        Ok(text)
    }

    fn bridge(&self) -> Option<String> {
        self.bridge.clone()
    }
}
