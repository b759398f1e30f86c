//! Servers: which there are, where they are, and the connections to them.

mod finding;
mod reaching;

use std::collections::BTreeSet;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, OnceLock, PoisonError};

use farcall_client::{Address, Error, ErrorKind, PrivateServer};
use farcall_configuration::config::{
    Client as ClientSection, Config, FunctionInfo, Mistakes, Server as Section, Surroundings,
};
use farcall_configuration::local_stubs;

use crate::code::{Code, Failure, Outcome};
use crate::communication::CommunicationLog;
use crate::connecting::Connection;
use crate::inside;
use crate::log::{self, Group, Level};

/// Where servers of other hosts are, unless a section says otherwise.
const DEFAULT_PORT: u16 = 7000;
/// Where a `ninf_serv_tcp` is that was given no port.
const NINF_PORT: u16 = 3000;
/// This host's names for itself.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];
/// Calls with default handles that a private server of stub executables runs at a time. Under
/// Ninf-G each handle has a process of its own: routines may sleep, or wait for each other, and
/// none of them waits for a processor.
const EXECUTABLES_MAX: u32 = 64;

/// Where a server is.
#[derive(Clone, Debug, PartialEq)]
enum Place {
    /// The server whose call this process runs.
    Around,
    /// `$FARCALL_SERVER` or this user's own.
    Default,
    /// As it is written.
    At(Address),
    /// On this host: the default one, or a private one of this process.
    Here,
    /// On another host.
    There(String),
    /// A private one of this process, with stub executables of this host: functions, and their
    /// programs.
    Stubs(Vec<(String, PathBuf)>),
    /// A private one of this process, with one stub executable.
    Program(PathBuf),
}

/// A server that handles are bound to.
pub struct Server {
    place: Place,
    /// What the configuration says of it.
    pub section: Option<Section>,
    pub connection: Mutex<Option<Arc<Connection>>>,
    /// Made when it is connected to first.
    communication: OnceLock<Arc<CommunicationLog>>,
    /// Folder of temporary files, and name of this host.
    tmp_dir: PathBuf,
    host: String,
    /// One that was started for this process alone.
    private: Mutex<Option<PrivateServer>>,
    /// It was said that others have another's executables.
    warned: Once,
}

/// All servers so far, and what the configuration says of them and their functions.
pub struct Servers {
    known: Mutex<Vec<Arc<Server>>>,
    config: Mutex<Config>,
    surroundings: Surroundings,
    /// What CLIENT says: the folder of temporary files, and the name of this host.
    tmp_dir: PathBuf,
    host: String,
    /// Whether a private server is started where nothing is said, and no default one runs.
    has_private_default: bool,
    /// Remarks on sections that were made.
    told: Mutex<BTreeSet<String>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a configuration takes from this process.
fn surroundings() -> Surroundings {
    let named = std::env::var("NG_HOSTNAME").ok().filter(|name| !name.is_empty());
    let system = || rustix::system::uname().nodename().to_string_lossy().into_owned();
    let log_level = std::env::var("NG_LOG_LEVEL")
        .ok()
        .and_then(|text| Level::read(&text))
        .map(|level| level as u8);
    Surroundings { hostname: named.unwrap_or_else(system), log_level }
}

/// A configuration file, all of its mistakes, or why it could not be read.
fn load(file: &Path, surroundings: &Surroundings) -> Outcome<Config> {
    Config::load(file, surroundings).map_err(|error| match error.kind() {
        ErrorKind::InvalidSource => {
            let mistakes = std::error::Error::source(&error)
                .and_then(|source| source.downcast_ref::<Mistakes>());
            let words = mistakes.map_or_else(|| error.to_string(), Mistakes::to_string);
            Failure::new(Code::ConfigfileError, words)
        }
        ErrorKind::NotFound => Failure::new(Code::ConfigfileNotFound, error.to_string()),
        _ => Failure::new(Code::ConfigfileError, error.to_string()),
    })
}

/// Has the log go on as the configuration says.
fn begin_log(client: &ClientSection) -> Outcome<()> {
    let levels = [client.log_level_grpc, client.log_level_internal, client.log_level_protocol];
    log::begin(levels, &client.log, &client.hostname).map_err(|error| {
        let path = client.log.path.as_deref().unwrap_or_default();
        Failure::new(Code::ConfigfileError, format!("log_filePath {path}: {error}"))
    })
}

impl Servers {
    /// The servers of a configuration file, where there is one.
    pub fn read(file: Option<&Path>) -> Outcome<Servers> {
        let surroundings = surroundings();
        let config = match file {
            Some(file) => load(file, &surroundings)?,
            None => Config::without_file(&surroundings),
        };
        let client = &config.client;
        begin_log(client)?;
        warn(&config);
        let tmp_dir = client.tmp_dir.clone().unwrap_or_else(std::env::temp_dir);
        let host = client.hostname.clone();
        Ok(Servers {
            known: Mutex::default(),
            config: Mutex::new(config),
            surroundings,
            tmp_dir,
            host,
            has_private_default: false,
            told: Mutex::default(),
        })
    }

    /// Reads one more file, or one again: handles that are bound from now on are as it says.
    pub fn read_also(&self, file: &Path) -> Outcome<()> {
        let read = load(file, &self.surroundings)?;
        if read.has_client {
            begin_log(&read.client)?;
        }
        warn(&read);
        lock(&self.config).join(read);
        Ok(())
    }

    /// How many sessions' measurements are kept.
    pub fn sessions_kept(&self) -> Option<usize> {
        lock(&self.config).client.sessions_kept.map(|count| count as usize)
    }

    /// Signals that end what the program has started.
    pub fn handling_signals(&self) -> Vec<i32> {
        lock(&self.config).client.handling_signals.clone()
    }

    /// Whether IN scalars are passed by address.
    pub fn fortran_compatible(&self) -> bool {
        lock(&self.config).client.fortran_compatible
    }

    /// What the configuration says of a function of a server.
    pub fn function(&self, server: &Server, name: &str) -> Option<FunctionInfo> {
        lock(&self.config).function(&server.section.as_ref()?.hostname, name).cloned()
    }

    /// Those to ask for a routine: the one of this name, or those to try by default, in order. A
    /// `port` that is not 0 belongs to a host's name.
    pub fn named(
        &self,
        name: Option<&str>,
        port: i32,
        function: &str,
    ) -> Outcome<Vec<Arc<Server>>> {
        let config = lock(&self.config);
        let Some(name) = name.filter(|name| !name.is_empty()) else {
            let sections = config
                .servers
                .iter()
                .flat_map(|section| self.of_section(&config, section, function));
            let all: Vec<Arc<Server>> = sections.collect();
            return Ok(if all.is_empty() { self.without_section(&config, function) } else { all });
        };
        if let Some(address) = address_of(name) {
            return Ok(vec![self.known(Place::At(address), config.server(name).cloned())]);
        }
        if let Ok(port @ 1..) = u16::try_from(port) {
            return Ok(self.at_port(&config, name, port, function));
        }
        let is_here = self.is_here(name);
        let by_another_name =
            || config.servers.iter().find(|section| is_here && self.is_here(&section.hostname));
        match config.server(name).or_else(by_another_name) {
            Some(section) => Ok(self.of_section(&config, section, function)),
            None if is_host_name(name) => {
                Ok(self.of_section(&config, &config.unnamed_server(name), function))
            }
            None => Err(Failure::new(
                Code::ServerNotFound,
                format!("{name:?}: no server has this tag or host name"),
            )),
        }
    }

    /// Those of a configuration without servers: that of this host's stub executables, where one of
    /// them has the function, and the default one.
    fn without_section(&self, config: &Config, function: &str) -> Vec<Arc<Server>> {
        let here = config.unnamed_server(&self.host);
        let stubs = having(self.stubs(config, &here), function);
        let stubs = stubs.map(|place| self.known(place, Some(here)));
        let around = self.around(&Place::Default);
        around.into_iter().chain(stubs).chain([self.known(self.default_place(), None)]).collect()
    }

    /// Those of a host's name or a tag, where a handle's own attributes name a port.
    fn at_port(&self, config: &Config, name: &str, port: u16, function: &str) -> Vec<Arc<Server>> {
        let section = config.server(name);
        if let Some(section) = section.filter(|section| section.foreign_launcher.is_some()) {
            return self.of_section(
                config,
                &Section { port: Some(port), ..section.clone() },
                function,
            );
        }
        let named = section.map(|section| section.hostname.as_str());
        let host = named.filter(|host| is_host_name(host)).unwrap_or(name);
        vec![self.known(self.at(host, port), section.cloned())]
    }

    /// For a routine that is a client of this host: first its own server, which has what was
    /// published together with it.
    fn around(&self, place: &Place) -> Option<Arc<Server>> {
        let may_be = matches!(place, Place::Here | Place::Default) && inside::runs();
        may_be.then(|| self.known(Place::Around, None))
    }

    /// The servers of a section: of this host, first that of the stub executables, where one of
    /// them has the function.
    fn of_section(&self, config: &Config, section: &Section, function: &str) -> Vec<Arc<Server>> {
        let address = address_of(&section.hostname);
        let is_here = address.is_none() && self.is_here(&section.hostname);
        let stubs = if is_here { self.stubs(config, section) } else { Vec::new() };
        let port = section.port.filter(|_| stubs.is_empty() || !self.has_launchers_port(section));
        let place = match (address, port) {
            (Some(address), _) => Place::At(address),
            (_, Some(port)) if section.launch.is_none() => self.at(&section.hostname, port),
            _ => self.launched(section).unwrap_or_else(|| self.host(&section.hostname)),
        };
        let stubs = having(stubs, function).filter(|_| place == Place::Here);
        let around = self.around(&place);
        let own =
            stubs.into_iter().chain([place]).map(|place| self.known(place, Some(section.clone())));
        around.into_iter().chain(own).collect()
    }

    /// Whether its port is that of the launcher which started executables under Ninf-G, such as 2119
    /// of Globus: those of this host are started without it, which is said once.
    fn has_launchers_port(&self, section: &Section) -> bool {
        let Some((launcher, port)) = section.foreign_launcher.as_ref().zip(section.port) else {
            return false;
        };
        let place = &section.place;
        let words = format!(
            "{place}: port {port} has no effect: it is that of {launcher}, and this program starts \
                executables of its own host by itself"
        );
        if lock(&self.told).insert(words.clone()) {
            log::warn_once(&words);
        }
        true
    }

    /// A server of this process alone for the stub executable at this path.
    pub fn program(&self, path: PathBuf) -> Arc<Server> {
        self.known(Place::Program(path), None)
    }

    /// Why no stub executable of this host has the function, where one is named and is not there,
    /// or a file is that may list it.
    pub fn missing_stub(&self, function: &str) -> Option<String> {
        let config = lock(&self.config);
        let found = local_stubs(&config, &[], &|host| self.is_here(host));
        let of_it = found
            .missing
            .into_iter()
            .find(|(name, _)| is_it(name, function))
            .map(|(_, remark)| remark);
        of_it.or_else(|| found.warnings.into_iter().next()).map(|remark| remark.to_string())
    }

    /// The stub executables of this host, by function.
    fn stubs(&self, config: &Config, section: &Section) -> Vec<(String, PathBuf)> {
        let found = local_stubs(config, &section.information_sources, &|host| self.is_here(host));
        for warning in &found.warnings {
            log::write(Group::Internal, Level::Warning, &warning.to_string());
        }
        found.programs
    }

    /// A port of a host: of this one without TLS, which servers have on the loopback alone,
    /// whatever the host's name leads to.
    fn at(&self, host: &str, port: u16) -> Place {
        let here = self.is_here(host);
        let host = if here && !LOOPBACK.contains(&host) { LOOPBACK[0] } else { host }.to_owned();
        Place::At(if here { Address::Tcp { host, port } } else { Address::Tls { host, port } })
    }

    /// Another host that the section says how to reach: no server waits there for connections.
    fn launched(&self, section: &Section) -> Option<Place> {
        let launch = section.launch.as_ref().filter(|_| !self.is_here(&section.hostname))?;
        launch.address(&section.hostname).parse().ok().map(Place::At)
    }

    fn host(&self, host: &str) -> Place {
        if self.is_here(host) { Place::Here } else { Place::There(host.to_owned()) }
    }

    fn is_here(&self, host: &str) -> bool {
        let system = rustix::system::uname().nodename().to_string_lossy().into_owned();
        // CLIENT's, $NG_HOSTNAME, and the system's: each holds beside the others.
        let own = [&self.host, &self.surroundings.hostname, &system];
        let short = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
        LOOPBACK.contains(&host)
            || own.iter().any(|name| host == name.as_str() || host == short(name))
    }

    /// The server at this place, of this section: the same one for all handles.
    fn known(&self, place: Place, section: Option<Section>) -> Arc<Server> {
        let mut known = lock(&self.known);
        if let Some(server) =
            known.iter().find(|server| server.place == place && server.section == section)
        {
            return server.clone();
        }
        let tmp_dir = self.tmp_dir.clone();
        let host = self.host.clone();
        let connection = Mutex::default();
        let private = Mutex::default();
        let communication = OnceLock::new();
        let warned = Once::new();
        let server =
            Server { place, section, connection, communication, tmp_dir, host, private, warned };
        known.push(Arc::new(server));
        known[known.len() - 1].clone()
    }
}

/// A folder for lists that a server reads when it starts; it is gone with this value.
struct Folder(PathBuf);

impl Folder {
    fn make(place: &Path) -> farcall_client::Result<Folder> {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = place.join(format!("farcall-stubs-{}-{number}", std::process::id()));
        // One that already exists is somebody else's, and not to be written to.
        let made = std::fs::DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|error| {
            let error =
                Error::system("list stub executables", error).with("folder", path.display());
            error.fix("set tmp_dir or TMPDIR to a writable directory")
        })?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A string of TOML.
fn toml_text(text: &str) -> String {
    let escaped = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        c if c.is_control() => format!("\\u{:04X}", c as u32),
        c => c.to_string(),
    };
    format!("\"{}\"", text.chars().map(escaped).collect::<String>())
}

/// A private server with stub executables, where one of them has the function.
fn having(stubs: Vec<(String, PathBuf)>, function: &str) -> Option<Place> {
    let has_it = stubs.iter().any(|(name, _)| is_it(name, function));
    has_it.then_some(Place::Stubs(stubs))
}

/// Whether `module/function` is what is asked for, by all of its name or its last part.
fn is_it(name: &str, function: &str) -> bool {
    name == function || name.rsplit('/').next() == Some(function)
}

/// An address; the word "here" alone is a host's name or a tag, as it is for other GridRPC systems.
fn address_of(name: &str) -> Option<Address> {
    name.parse().ok().filter(|_| name != "here")
}

/// A mistake would be taken for a host's name otherwise.
fn is_host_name(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-:_".contains(&byte))
}

/// The token of this user's `ninf_serv_tcp` (tools/ng/ninf) where the environment names no file:
/// programs of its time know of none.
fn token_of_ninf_server(address: &Address) -> Option<PathBuf> {
    let Address::Tcp { host, port } = address else { return None };
    // Another host is not to be shown it, and could not use it.
    if !LOOPBACK.contains(&host.as_str()) || variable("FARCALL_TOKEN_FILE").is_some() {
        return None;
    }
    let base =
        variable("XDG_RUNTIME_DIR").or_else(|| Some(variable("HOME")?.join(".local/state")))?;
    let token = base.join(format!("farcall/ninf-{port}/token"));
    token.is_file().then_some(token)
}

/// A path in the environment.
fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn is_nobody(error: &Error) -> bool {
    error.kind() == ErrorKind::Unreachable
}

/// The port that was Ninf's default one, where this user runs a `ninf_serv_tcp` there, and neither
/// is another server named nor does a default one run.
fn ninf_server(error: &Error) -> Option<Address> {
    let address = Address::Tcp { host: LOOPBACK[0].to_owned(), port: NINF_PORT };
    let is_default = is_nobody(error) && variable("FARCALL_SERVER").is_none();
    (is_default && token_of_ninf_server(&address).is_some()).then_some(address)
}

/// What has no effect is said once.
fn warn(config: &Config) {
    config.warnings.iter().for_each(|warning| log::warn_once(&warning.to_string()));
}
