//! What a configuration says, section by section, as types.

use std::path::PathBuf;
use std::time::Duration;

use super::check::Values;
use super::include::beside;
use super::launch::{self, Launch};
use super::mistake::Place;
use super::value::Value;

/// Bytes of a log file that is one of several, at which the next begins.
const LOG_BYTES: u64 = 1 << 20;

/// How much is logged: 0 nothing, 1 what is fatal, 2 errors, 3 warnings, 4 information, 5
/// everything.
pub type LogLevel = u8;

/// What CLIENT says of this program.
#[derive(Clone, Debug, PartialEq)]
pub struct Client {
    /// Name of this host; `$NG_HOSTNAME` or its full name by default.
    pub hostname: String,
    /// Sessions that are over whose information is kept; `None` for all.
    pub sessions_kept: Option<u32>,
    /// How much is logged of what is in no group of its own.
    pub log_level: LogLevel,
    /// How much of the protocol.
    pub log_level_protocol: LogLevel,
    /// How much of the library's own work.
    pub log_level_internal: LogLevel,
    /// How much of the API's calls.
    pub log_level_grpc: LogLevel,
    /// Where the log goes.
    pub log: LogFile,
    /// Folder of temporary files; the system's by default.
    pub tmp_dir: Option<PathBuf>,
    /// Whether IN scalars are passed by address.
    pub fortran_compatible: bool,
    /// Signals that end what the program has started.
    pub handling_signals: Vec<i32>,
}

/// Files of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogFile {
    /// Name, with %t for the time, %h for the host and %p for the process; standard error by
    /// default.
    pub path: Option<String>,
    /// What a file's number is replaced by.
    pub suffix: Option<String>,
    /// How many files there may be; `None` for any number.
    pub files_max: Option<u32>,
    /// Bytes after which the next file begins; `None` for never.
    pub bytes_max: Option<u64>,
    /// Whether a folder that exists may be written to.
    pub overwrite_directory: bool,
}

/// What FUNCTION_INFO says of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionInfo {
    /// Where the section stands.
    pub place: Place,
    /// The server's host.
    pub hostname: String,
    /// `module/function`.
    pub name: String,
    /// The stub executable on that host.
    pub path: PathBuf,
    /// Longest session; `None` for no limit, as below.
    pub session_timeout: Option<Duration>,
    /// Longest time for the arguments to arrive.
    pub argument_timeout: Option<Duration>,
    /// Longest time for the results.
    pub result_timeout: Option<Duration>,
    /// Longest time for a callback's arguments.
    pub callback_argument_timeout: Option<Duration>,
    /// Longest time for a callback's results.
    pub callback_result_timeout: Option<Duration>,
}

/// Files that describe functions, of one INFORMATION_SOURCE or LOCAL_LDIF.
#[derive(Clone, Debug, PartialEq)]
pub struct InterfaceFiles {
    /// The name by which servers refer to it; LOCAL_LDIF has none and is for all.
    pub tag: Option<String>,
    /// The files.
    pub files: Vec<NamedFile>,
}

/// A file that a configuration names.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedFile {
    /// As it is written.
    pub name: PathBuf,
    /// Where it is written.
    pub place: Place,
}

impl NamedFile {
    /// Where to look for it: the folder that the program runs in, as ever, and the folder of the
    /// configuration file.
    pub fn candidates(&self) -> [PathBuf; 2] {
        [self.name.clone(), beside(&self.place.file, &self.name)]
    }
}

/// When `grpc_call_async` returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentTransfer {
    /// When the arguments were sent.
    Wait,
    /// At once; the program leaves the arguments alone until they were sent.
    NoWait,
    /// At once, with a copy of the arguments.
    Copy,
}

/// Whether arrays are compressed on their way to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compress {
    /// Never.
    Raw,
    /// Those of at least so many bytes.
    From(u64),
}

/// How often, and after what time, a connection is tried again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConnectRetry {
    /// How often at most.
    pub count: u32,
    /// Time before the first retry.
    pub base: Duration,
    /// By what the time grows from one to the next.
    pub ratio: f64,
    /// Whether it is shortened at random, so that many clients do not come at once.
    pub random: bool,
}

/// How a debugger is started with each executable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Debug {
    /// The X display for its terminal; the program's own by default.
    pub display: Option<String>,
    /// The terminal.
    pub terminal: String,
    /// The debugger.
    pub debugger: String,
    /// Whether the executable waits in a loop until the debugger lets it go on.
    pub busy_loop: bool,
}

/// What SERVER says of one host; a section with several hosts is several of these.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// Where the section stands.
    pub place: Place,
    /// Its host, or its address as Farcall writes it.
    pub hostname: String,
    /// Its own name, where one host has several sections.
    pub tag: Option<String>,
    /// Its port; `None` for the usual one.
    pub port: Option<u16>,
    /// How its host is reached where no server waits for connections.
    pub launch: Option<Launch>,
    /// The launcher of Ninf-G that it names, if that has no counterpart here.
    pub foreign_launcher: Option<String>,
    /// Variables for its executables; one without a value is taken from this program's own.
    pub environment: Vec<(String, Option<String>)>,
    /// Processes that MPI is to start for a function's calls, or for those of all functions.
    pub ranks: Vec<(Option<String>, u32)>,
    /// Folder that its executables work in; `None` for the one that each lies in.
    pub work_directory: Option<PathBuf>,
    /// Longest time for a handle to become ready; `None` for ever.
    pub start_timeout: Option<Duration>,
    /// Longest time for an executable to end; `None` for ever, zero not to wait.
    pub stop_timeout: Option<Duration>,
    /// When asynchronous calls return.
    pub transfer: ArgumentTransfer,
    /// Whether arrays travel compressed; `None` where nothing is said, for what gets there sooner.
    pub compression: Option<Compress>,
    /// How connecting is tried again, where any of its attributes is written.
    pub connect_retry: Option<ConnectRetry>,
    /// Interval of heartbeats; `None` for none.
    pub heartbeat: Option<Duration>,
    /// Intervals of silence after which the server is taken for lost.
    pub heartbeat_count: u32,
    /// Whether output of routines comes to this program.
    pub redirect_output: bool,
    /// Tags of the information sources for it, in order; all of them where there is none.
    pub information_sources: Vec<String>,
    /// Where its communication is logged, if it is.
    pub communication_log: Option<LogFile>,
    /// How its executables are debugged, if they are.
    pub debug: Option<Debug>,
}

/// The log of attributes that begin with `log_` or `commLog_`.
fn log_file(
    values: &Values,
    [path, suffix, files, bytes, overwrite]: [&'static str; 5],
) -> LogFile {
    let files_max = Some(values.count(files)).filter(|count| *count > 0);
    let bytes = values.number(bytes).and_then(|bytes| u64::try_from(bytes).ok());
    LogFile {
        path: values.text(path),
        suffix: values.text(suffix),
        files_max,
        // One file alone has no bound of its own accord.
        bytes_max: bytes.or((files_max != Some(1)).then_some(LOG_BYTES)),
        overwrite_directory: values.flag(overwrite),
    }
}

/// What the configuration file takes from around it.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// Full name of this host, or `$NG_HOSTNAME`.
    pub hostname: String,
    /// `$NG_LOG_LEVEL`, where it is one.
    pub log_level: Option<LogLevel>,
}

impl Client {
    /// Of the section, or of an empty one where the file has none.
    pub(crate) fn of(values: &Values, surroundings: &Surroundings) -> Client {
        let level = |name| values.number(name).and_then(|level| LogLevel::try_from(level).ok());
        let log_level = level("loglevel").or(surroundings.log_level).unwrap_or(2);
        let log = [
            "log_filePath",
            "log_suffix",
            "log_nFiles",
            "log_maxFileSize",
            "log_overwriteDirectory",
        ];
        Client {
            hostname: values.text("hostname").unwrap_or_else(|| surroundings.hostname.clone()),
            sessions_kept: values
                .number("save_sessionInfo")
                .and_then(|count| u32::try_from(count).ok()),
            log_level,
            log_level_protocol: level("loglevel_ninfgProtocol").unwrap_or(log_level),
            log_level_internal: level("loglevel_ninfgInternal").unwrap_or(log_level),
            log_level_grpc: level("loglevel_ninfgGrpc").unwrap_or(log_level),
            log: log_file(values, log),
            tmp_dir: values.text("tmp_dir").map(PathBuf::from),
            fortran_compatible: values.flag("fortran_compatible"),
            handling_signals: signals(values),
        }
    }
}

/// Those that are written, or SIGHUP, SIGINT and SIGTERM.
fn signals(values: &Values) -> Vec<i32> {
    let written = values.all("handling_signals");
    if written.is_empty() {
        return vec![1, 2, 15];
    }
    let number = |value: &Value| match value {
        Value::Number(number) => i32::try_from(*number).ok().filter(|number| *number > 0),
        _ => None,
    };
    written.iter().filter_map(|(value, _)| number(value)).collect()
}

impl FunctionInfo {
    pub(crate) fn of(values: &Values) -> FunctionInfo {
        FunctionInfo {
            place: values.place.clone(),
            hostname: values.required("hostname"),
            name: values.required("funcname"),
            path: values.required("path").into(),
            session_timeout: values.timeout("session_timeout"),
            argument_timeout: values.timeout("transferTimeout_argument"),
            result_timeout: values.timeout("transferTimeout_result"),
            callback_argument_timeout: values.timeout("transferTimeout_callbackArgument"),
            callback_result_timeout: values.timeout("transferTimeout_callbackResult"),
        }
    }
}

impl InterfaceFiles {
    /// Of an INFORMATION_SOURCE (its files are `source`) or a LOCAL_LDIF (`filename`).
    pub(crate) fn of(
        values: &Values,
        tag: Option<String>,
        attribute: &'static str,
    ) -> InterfaceFiles {
        let named = |(name, place): (String, Place)| NamedFile { name: name.into(), place };
        InterfaceFiles { tag, files: values.texts(attribute).into_iter().map(named).collect() }
    }
}

impl Server {
    /// Of a section that was completed with the defaults: one for each of its hosts.
    pub(crate) fn all_of(values: &Values) -> impl Iterator<Item = Server> {
        let server = Server::of(values);
        let hosts = values.texts("hostname").into_iter();
        hosts.map(move |(hostname, _)| Server { hostname, ..server.clone() })
    }

    /// Of a section without its hosts.
    pub(crate) fn of(values: &Values) -> Server {
        let log = [
            "commLog_filePath",
            "commLog_suffix",
            "commLog_nFiles",
            "commLog_maxFileSize",
            "commLog_overwriteDirectory",
        ];
        Server {
            place: values.place.clone(),
            hostname: String::new(),
            tag: values.text("tag"),
            port: values
                .number("port")
                .and_then(|port| u16::try_from(port).ok())
                .filter(|port| *port > 0),
            launch: Launch::of(values),
            foreign_launcher: launch::foreign(values),
            environment: environment(values),
            ranks: ranks(values),
            work_directory: values.text("workDirectory").map(PathBuf::from),
            start_timeout: values.timeout("job_startTimeout"),
            stop_timeout: values.time("job_stopTimeout"),
            transfer: transfer(values),
            compression: compression(values),
            connect_retry: connect_retry(values),
            heartbeat: values.timeout("heartbeat"),
            heartbeat_count: values.count("heartbeat_timeoutCount"),
            redirect_output: values.flag("redirect_outerr"),
            information_sources: values
                .texts("information_source_tag")
                .into_iter()
                .map(|(tag, _)| tag)
                .collect(),
            communication_log: values.flag("commLog_enable").then(|| log_file(values, log)),
            debug: values.flag("debug").then(|| debug(values)),
        }
    }
}

impl Server {
    /// Processes that MPI is to start for calls of a function, which may be named with its module
    /// or without; 0 where nothing is said.
    pub fn ranks_of(&self, function: &str) -> u32 {
        let bare = |name: &str| name.rsplit('/').next().unwrap_or("").to_owned();
        let is_it = |name: &str| {
            name == function
                || (!(name.contains('/') && function.contains('/')) && bare(name) == bare(function))
        };
        let named = self.ranks.iter().find(|(name, _)| name.as_deref().is_some_and(is_it));
        let found = named.or_else(|| self.ranks.iter().find(|(name, _)| name.is_none()));
        found.map_or(0, |(_, count)| *count)
    }
}

fn ranks(values: &Values) -> Vec<(Option<String>, u32)> {
    let read = |text: &str| match text.split_once('=') {
        Some((name, count)) => Some((Some(name.to_owned()), count.parse().ok()?)),
        None => Some((None, text.parse().ok()?)),
    };
    values.texts("mpi_runNoOfCPUs").iter().filter_map(|(text, _)| read(text)).collect()
}

fn environment(values: &Values) -> Vec<(String, Option<String>)> {
    let variables = values.all("environment").iter().filter_map(|(value, _)| match value {
        Value::Variable(name, value) => Some((name.clone(), value.clone())),
        _ => None,
    });
    variables.collect()
}

/// Nothing is tried again of its own accord: with Ninf-G it was the remote executable that
/// connected, here it is the program, and a default handle has other servers to ask.
fn connect_retry(values: &Values) -> Option<ConnectRetry> {
    const NAMES: [&str; 4] = [
        "tcp_connect_retryCount",
        "tcp_connect_retryBaseInterval",
        "tcp_connect_retryIncreaseRatio",
        "tcp_connect_retryRandom",
    ];
    let [count, base, ratio, random] = NAMES;
    NAMES.iter().any(|name| !values.all(name).is_empty()).then(|| ConnectRetry {
        count: values.count(count),
        base: values.time(base).unwrap_or_default(),
        ratio: values.ratio(ratio),
        random: values.flag(random),
    })
}

/// What is written; the default of Ninf-G was made for networks of its time.
fn compression(values: &Values) -> Option<Compress> {
    let threshold = values.number("compress_threshold").and_then(|bytes| u64::try_from(bytes).ok());
    match values.all("compress").first()? {
        (Value::Text(text), _) if text == "zlib" => {
            Some(Compress::From(threshold.unwrap_or_default()))
        }
        _ => Some(Compress::Raw),
    }
}

fn transfer(values: &Values) -> ArgumentTransfer {
    match values.text("argument_transfer").as_deref() {
        Some("nowait") => ArgumentTransfer::NoWait,
        Some("copy") => ArgumentTransfer::Copy,
        _ => ArgumentTransfer::Wait,
    }
}

fn debug(values: &Values) -> Debug {
    Debug {
        display: values.text("debug_display"),
        terminal: values.required("debug_terminal"),
        debugger: values.required("debug_debugger"),
        busy_loop: values.flag("debug_busyLoop"),
    }
}
