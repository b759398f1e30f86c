//! Reaching a server: what to say who we are, how long to wait, and what to do when the connection
//! is lost.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use farcall_base::{Error, ErrorKind, Result};
use farcall_link::compression::Compression;
use farcall_link::memory::MemorySource;
use farcall_link::stream::ByteStream;
use farcall_transport_unix::{MemoryLimits, SharedMemory};
use farcall_wire::message::ADMINISTRATION;
use farcall_wire::{
    ByteOrder, CALLBACKS, DATA, Hello, HelloLimits, RESOURCES, RESUME, Role, STATUS,
};
use farcall_wire::{PLACEMENT, RELAY};

use crate::address::Address;
use crate::private::ServeOptions;
use crate::session::reconnect::{Dial, WayBack};
use crate::session::{Session, compressing};
use crate::ssh::asking::AskingSsh;
use crate::ssh::settings::FarSettings;
use crate::ssh::{self, Errand, Ssh, SshAddress, SshCommand};

/// The variable that names the file with a TCP server's token.
const TOKEN_VARIABLE: &str = "FARCALL_TOKEN_FILE";
/// The variable with the time for which calls of a lost connection wait for another, in seconds; 0:
/// they end at once.
const RECONNECT_VARIABLE: &str = "FARCALL_RECONNECT";
/// What that is by default.
const RECONNECT: Duration = Duration::from_secs(30);
/// Time that `ssh` has at least, where it can ask the user for a password and a second factor.
const ASKING: Duration = Duration::from_secs(120);
/// Time to connect, and for each look-up.
const TIMEOUT: Duration = Duration::from_secs(30);

/// How to connect: see [`Client::connect_with`](crate::Client::connect_with).
#[derive(Clone, Debug)]
pub struct ConnectOptions {
    /// The file that shows who we are: over TCP the server's token, by default
    /// `$FARCALL_TOKEN_FILE`; over TLS the user's certificate and key, or a folder with several, of
    /// which the server is shown the one from its authority; by default `$FARCALL_CREDENTIALS` or
    /// `~/.config/farcall/credentials.pem`.
    pub secret: Option<PathBuf>,
    /// Time for connecting, and for each look-up later on.
    pub timeout: Duration,
    /// When everything that the client asks must be answered, connecting included: for a program
    /// whose own time is limited. Calls have their own timeouts.
    pub until: Option<Instant>,
    /// Time of silence after which a server is taken for lost while somebody waits for it, zero for
    /// never; by default `$FARCALL_HEARTBEAT`, or 30 s. No longer is waited for its greeting.
    pub heartbeat: Option<Duration>,
    /// Time for which calls wait when their connection over TCP or TLS is lost, and it is made
    /// again; zero: they end at once. By default `$FARCALL_RECONNECT`, or 30 s. The server keeps
    /// its part of them for as long.
    pub reconnect: Option<Duration>,
    /// Time for which a server that is reached by `ssh` stays when its last client is gone; where
    /// it runs already, it keeps its own. By default `$FARCALL_LINGER`, or ten minutes.
    pub linger: Option<Duration>,
    /// Whether a host that is reached by `ssh` gets what code in interface files is linked with
    /// there, unless it has it.
    pub brings_library: bool,
    /// What a server that is begun on a host which `ssh` reaches is told, and keeps.
    pub far: FarSettings,
    /// The `ssh` that reaches such a host.
    pub ssh: SshCommand,
    /// Whether `ssh` may ask the user, where it has a way to.
    pub asks: bool,
    /// Who ends it while it asks.
    pub asking: Option<AskingSsh>,
    /// The private server of a list of addresses: what `here` publishes.
    pub here: ServeOptions,
    /// Whether that server is the one of all commands of this terminal, and stays for `linger`.
    pub shares_here: bool,
}

impl Default for ConnectOptions {
    fn default() -> ConnectOptions {
        ConnectOptions {
            secret: None,
            timeout: TIMEOUT,
            until: None,
            heartbeat: None,
            reconnect: None,
            linger: None,
            brings_library: false,
            far: FarSettings::default(),
            ssh: SshCommand::default(),
            asks: true,
            asking: None,
            here: ServeOptions::default(),
            shares_here: false,
        }
    }
}

impl ConnectOptions {
    /// Time in which a server must have greeted: one that hangs takes connections still, and is
    /// silent too.
    pub(crate) fn greeting(&self) -> Duration {
        let heartbeat = self.heartbeat.filter(|heartbeat| !heartbeat.is_zero());
        heartbeat.map_or(self.timeout(), |heartbeat| heartbeat.min(self.timeout()))
    }

    /// Time for connecting.
    fn timeout(&self) -> Duration {
        let left = self.until.map(|until| until.saturating_duration_since(Instant::now()));
        left.map_or(self.timeout, |left| left.min(self.timeout))
    }
}

/// A server that was reached.
pub struct Reached {
    pub stream: Box<dyn ByteStream>,
    pub hello: Hello,
    pub way_back: Option<Arc<WayBack>>,
    pub name: String,
}

/// How long a server is waited for.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For its greeting.
    pub greeting: Duration,
    /// For each answer later on.
    pub answers: Duration,
    /// When all of them must be there.
    pub until: Option<Instant>,
}

/// Greets a server that was reached: the connection, whose calls have numbers from `first` on, and
/// where it leads.
pub fn greet(
    reached: Reached,
    patience: Patience,
    compression: Compression,
    first: u64,
) -> Result<(Arc<Session>, String)> {
    let Reached { stream, hello, way_back, name } = reached;
    let source: Arc<dyn MemorySource> = Arc::new(SharedMemory::new(MemoryLimits::default()));
    let session = Session::new(stream, hello, source, patience.greeting, way_back.clone());
    let session = session.map_err(|error| error.with("server", &name))?;
    let session = session.with_patience(patience.answers, patience.until).with_numbers(first);
    let session = Arc::new(session);
    way_back.iter().for_each(|way_back| way_back.leads_to(&session));
    session.set_compression(compression);
    Ok((session, name))
}

/// Reaches the server at an address.
pub fn reach(
    address: &Address,
    options: &ConnectOptions,
    compression: Compression,
) -> Result<Reached> {
    if !options.far.is_empty() && !matches!(address, Address::Ssh(_)) {
        return Err(not_far(address));
    }
    let (dial, token, name): (Dial, _, _) = match address.clone() {
        Address::Unix(path) => {
            let name = format!("unix:{}", path.display());
            (Box::new(move |time| farcall_transport_unix::connect_within(&path, time)), None, name)
        }
        Address::Tcp { host, port } => {
            let token = read_token(options.secret.clone())?;
            let name = format!("farcall://{host}:{port}");
            (Box::new(move |time| farcall_transport_tcp::connect(&host, port, time)), token, name)
        }
        Address::Ssh(address) => {
            let name = address.to_string();
            (by_ssh(address, options)?, None, name)
        }
        Address::List(list) => {
            return Err(Error::internal("connect", format!("{list} is no single server")));
        }
        Address::Tls { host, port } => {
            let name = format!("tls://{host}:{port}");
            let secret = options.secret.clone();
            (
                Box::new(move |time| {
                    farcall_transport_tls::connect(&host, port, secret.as_deref(), time)
                }),
                None,
                name,
            )
        }
    };
    reach_by(dial, (token, name), options, compression)
}

/// Reaches a server whose certificate names `host`, over sockets that `lead` gets, with words for
/// people that say where they go.
pub fn reach_through(
    (host, name): (&str, &str),
    options: &ConnectOptions,
    compression: Compression,
    lead: impl Fn(Duration) -> Result<(OwnedFd, String)> + Send + Sync + 'static,
) -> Result<Reached> {
    let secret = options.secret.clone();
    let host = host.to_owned();
    let dial: Dial = Box::new(move |time| {
        farcall_transport_tls::connect_through(&host, secret.as_deref(), time, || lead(time))
    });
    reach_by(dial, (None, name.to_owned()), options, compression)
}

fn reach_by(
    dial: Dial,
    (token, name): (Option<Vec<u8>>, String),
    options: &ConnectOptions,
    compression: Compression,
) -> Result<Reached> {
    let keep = options.reconnect.map_or_else(reconnect_of_environment, Ok)?;
    let stream = dial(options.greeting())?;
    let hello = hello(token, compressing::offered(&*stream, compression));
    // What lies in shared memory goes with the connection.
    if keep.is_zero() || stream.passes_descriptors() {
        return Ok(Reached { stream, hello, way_back: None, name });
    }
    let way_back = Arc::new(WayBack::new(dial, hello, keep)?);
    Ok(Reached { stream, hello: way_back.hello(), way_back: Some(way_back), name })
}

/// A server that runs already, or on this host, was told when it was started.
fn not_far(address: &Address) -> Error {
    let message = "account, partition and the other settings are for a host that ssh reaches";
    Error::new(ErrorKind::InvalidArgument, "connect", message)
        .with("address", format!("{address:?}"))
        .fix("connect to ssh://HOST/slurm, or pass them to farcall serve")
}

/// A server whose routines run elsewhere is another one.
fn name_of(address: &SshAddress) -> String {
    address.launcher.iter().fold(ssh::own_name(), |name, launcher| format!("{name}.{launcher}"))
}

/// The settings that a server has which is begun on that host now, and where each comes from.
///
/// # Errors
/// As connecting to it.
pub fn settings_there(address: &SshAddress, timeout: Duration) -> Result<String> {
    let ssh = Ssh {
        command: SshCommand::default(),
        address: address.clone(),
        name: name_of(address),
        linger: ssh::linger()?,
        may_ask: true,
        asking: None,
        brings_library: false,
        settings: FarSettings::default(),
        errand: Errand::Settings,
    };
    ssh::settings_there(&ssh, timeout)
}

/// By `ssh`, which may ask the user something the first time: then he waits for it.
fn by_ssh(address: SshAddress, options: &ConnectOptions) -> Result<Dial> {
    let linger = options.linger.map_or_else(ssh::linger, Ok)?;
    let name = name_of(&address);
    let settings = FarSettings::default();
    let errand = Errand::Relay;
    let command = options.ssh.clone();
    let brings_library = false;
    let may_ask = false;
    let asking = options.asking.clone();
    let ssh =
        Ssh { address, command, name, linger, may_ask, asking, brings_library, settings, errand };
    let brings_library = options.brings_library;
    // Said once: what was said is kept there.
    let told = options.far.clone();
    let timeout = options.timeout();
    // Whoever says less than there is by default means it. Where nobody can be asked, nobody takes
    // the time to answer.
    let asks = options.asks;
    let has_answer = asks && can_ask();
    let patience = if timeout < TIMEOUT || !has_answer { timeout } else { timeout.max(ASKING) };
    let first = AtomicBool::new(true);
    Ok(Box::new(move |time| match first.swap(false, Ordering::Relaxed) {
        true => {
            let settings = told.clone();
            let ssh = Ssh { may_ask: asks, brings_library, settings, ..ssh.clone() };
            ssh::connect(&ssh, patience)
        }
        false => ssh::connect(&ssh, time),
    }))
}

/// Whether `ssh` has a way to ask the user: a terminal, or a program of its own (ssh(1),
/// SSH_ASKPASS).
pub fn can_ask() -> bool {
    let has_program = std::env::var_os("SSH_ASKPASS").is_some_and(|program| !program.is_empty());
    has_program || std::fs::File::open("/dev/tty").is_ok()
}

fn reconnect_of_environment() -> Result<Duration> {
    let text = std::env::var_os(RECONNECT_VARIABLE);
    let text = text.as_deref().map(|text| text.to_string_lossy());
    let seconds = farcall_peer::heartbeat::seconds(text.as_deref(), RECONNECT);
    seconds.map_err(|message| {
        Error::new(ErrorKind::InvalidArgument, "set the reconnect time", message)
            .fix("write seconds, such as 30, or 0 to fail calls at once")
            .with("variable", RECONNECT_VARIABLE)
    })
}

/// What a client says first.
pub fn hello(token: Option<Vec<u8>>, compression: Option<String>) -> Hello {
    Hello {
        role: Role::Client,
        byte_order: ByteOrder::NATIVE,
        product: concat!("farcall ", env!("CARGO_PKG_VERSION")).to_owned(),
        features: [ADMINISTRATION, STATUS, RESUME, CALLBACKS, RESOURCES, PLACEMENT, RELAY, DATA]
            .map(str::to_owned)
            .into_iter()
            .chain(compression)
            .collect(),
        limits: HelloLimits { control_bytes_max: 64 << 20, ..HelloLimits::default() },
        host: String::new(),
        principal: None,
        token,
        attributes: Vec::new(),
    }
}

/// `$FARCALL_COMPRESSION`.
pub fn given_compression() -> Result<Compression> {
    match std::env::var(compressing::VARIABLE).ok().filter(|text| !text.is_empty()) {
        None => Ok(Compression::default()),
        Some(text) => {
            text.parse().map_err(|error: Error| error.with("variable", compressing::VARIABLE))
        }
    }
}

fn read_token(file: Option<PathBuf>) -> Result<Option<Vec<u8>>> {
    let file = file.or_else(|| std::env::var_os(TOKEN_VARIABLE).map(PathBuf::from));
    let Some(file) = file.filter(|file| !file.as_os_str().is_empty()) else { return Ok(None) };
    farcall_transport_tcp::Token::read(&file).map(|token| Some(token.bytes().to_vec()))
}
