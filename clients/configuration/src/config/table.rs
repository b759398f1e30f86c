//! Every section and attribute of the configuration file: how often it may stand, what it takes,
//! what holds without it.

use super::value::Kind;

/// How often an attribute may stand in its section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arity {
    /// At most once, with one value.
    One,
    /// Any number of times, with one value each.
    Many,
    /// Any number of times, with any number of values each.
    List,
}

/// What Farcall does about an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// What it says.
    Obeyed,
    /// Nothing, for this reason; who writes the value `unless` gets what was asked for all the
    /// same.
    Unused { reason: &'static str, unless: &'static str },
}

/// An attribute.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attribute {
    pub name: &'static str,
    pub kind: Kind,
    pub arity: Arity,
    pub required: bool,
    /// The value that holds where none is written; empty for none.
    pub default: &'static str,
    pub effect: Use,
    /// Why it has no effect on calls from Java, though it has one on those from C; empty where it
    /// has.
    pub not_in_java: &'static str,
}

/// A section.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SectionKind {
    pub name: &'static str,
    /// Whether there may be several.
    pub many: bool,
    pub attributes: &'static [Attribute],
    /// Why Farcall does nothing about all of it; empty where it does something.
    pub unused: &'static str,
}

impl SectionKind {
    /// The attribute called so.
    pub(crate) fn attribute(&self, name: &str) -> Option<&'static Attribute> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }
}

const fn one(name: &'static str, kind: Kind, default: &'static str) -> Attribute {
    let arity = Arity::One;
    let effect = Use::Obeyed;
    Attribute { name, kind, arity, required: false, default, effect, not_in_java: "" }
}

const fn many(name: &'static str, kind: Kind) -> Attribute {
    Attribute { arity: Arity::Many, ..one(name, kind, "") }
}

impl Attribute {
    const fn list(self) -> Attribute {
        Attribute { arity: Arity::List, ..self }
    }

    const fn required(self) -> Attribute {
        Attribute { required: true, ..self }
    }

    /// Has no effect.
    const fn unused(self, reason: &'static str) -> Attribute {
        Attribute { effect: Use::Unused { reason, unless: "" }, ..self }
    }

    /// Has an effect on programs in C alone.
    const fn not_in_java(self, reason: &'static str) -> Attribute {
        Attribute { not_in_java: reason, ..self }
    }

    /// Has no effect, but Farcall always does what the value `unless` asks for.
    const fn fixed(self, unless: &'static str, reason: &'static str) -> Attribute {
        Attribute { effect: Use::Unused { reason, unless }, ..self }
    }
}

const PORT: Kind = Kind::Integer { least: 0, most: 65_535 };
const COUNT: Kind = Kind::Integer { least: 0, most: u32::MAX as i64 };
const SECONDS: Kind = Kind::Time { unit: 1, least: 0 };
const MINUTES: Kind = Kind::Time { unit: 60, least: 0 };
const BACKEND: Kind = Kind::Choice(&["normal", "mpi", "blacs"]);

const GLOBUS: &str = "Farcall uses no Globus; farcall ca creates certificates";
const LAUNCHERS: &str = "Farcall connects to servers by itself and runs no launcher";
/// What is said of launchers that have no counterpart.
const NO_LAUNCHER: &str = "Farcall uses a running server there; to start one, write invoke_server \
     SSH for a host that ssh reaches, or Slurm for jobs on its nodes";
const BATCH: &str = "this version of Farcall submits no batch jobs";
const INWARD: &str =
    "nothing connects to the client: one connection to the server carries everything";
const BLOCKS: &str = "Farcall sends arrays in blocks that are as large as the receiver accepts";
const FORMAT: &str = "numbers are sent as they are in memory, and the receiver converts them";
const PROXIES: &str = "Farcall uses no proxy: one connection to the server carries everything";

/// What becomes of signals in Java.
const MACHINE: &str = "the virtual machine ends the program on SIGHUP, SIGINT and SIGTERM, and its \
     sessions and processes with it";

/// Variables of the environment that Ninf-G's programs and tools read, and what they say.
#[cfg(test)]
pub(crate) const ENVIRONMENT: [(&str, &str); 6] = [
    ("NG_DIR", "the directory with Ninf-G's tools, headers and libraries"),
    ("NG_CONFIG_FILE", "the configuration file of programs that name none"),
    ("NG_HOSTNAME", "name of this host, unless the section CLIENT has one"),
    ("NG_LOG_LEVEL", "log level, unless the section CLIENT has one"),
    ("NG_COMPILER", "the compiler of ng_cc and of makefiles that ng_gen writes"),
    ("NG_LINKER", "the linker of the same"),
];

/// The section that names further files.
pub(crate) const INCLUDE: SectionKind = SectionKind {
    name: "INCLUDE",
    many: true,
    attributes: &[many("filename", Kind::Text).required()],
    unused: "",
};

/// The section about this program.
pub(crate) const CLIENT: SectionKind = SectionKind {
    name: "CLIENT",
    many: false,
    unused: "",
    attributes: &[
        one("hostname", Kind::Text, ""),
        one(
            "save_sessionInfo",
            Kind::Integer { least: i32::MIN as i64, most: i32::MAX as i64 },
            "256",
        )
        .not_in_java("each call returns its own"),
        one("loglevel", Kind::Level, ""),
        one("loglevel_globusToolkit", Kind::Level, "").unused(GLOBUS),
        one("loglevel_ninfgProtocol", Kind::Level, ""),
        one("loglevel_ninfgInternal", Kind::Level, ""),
        one("loglevel_ninfgGrpc", Kind::Level, "").not_in_java("errors are exceptions"),
        one("log_filePath", Kind::Text, ""),
        one("log_suffix", Kind::Text, ""),
        one("log_nFiles", COUNT, "1"),
        one("log_maxFileSize", Kind::Size, ""),
        one("log_overwriteDirectory", Kind::Flag, "false"),
        one("tmp_dir", Kind::Text, ""),
        one("refresh_credential", SECONDS, "0")
            .fixed("0", "Farcall's certificates do not need to be refreshed"),
        one("invoke_server_log", Kind::Text, "").unused(LAUNCHERS),
        one("client_communication_proxy_log", Kind::Text, "").unused(PROXIES),
        one("information_service_log", Kind::Text, "")
            .unused("Farcall asks the servers for interfaces"),
        one("fortran_compatible", Kind::Flag, "false").not_in_java("Java has no addresses"),
        one("handling_signals", Kind::Signals, "").list().not_in_java(MACHINE),
        one("listen_port", PORT, "0").fixed("0", INWARD),
        one("use_vfork", Kind::Flag, "false")
            .unused("the client starts no processes for its calls"),
        one("gass_scheme", Kind::Choice(&["http", "https"]), "").unused(GLOBUS),
    ],
};

/// The section about a function of a server.
pub(crate) const FUNCTION_INFO: SectionKind = SectionKind {
    name: "FUNCTION_INFO",
    many: true,
    unused: "",
    attributes: &[
        one("hostname", Kind::Text, "").required(),
        one("funcname", Kind::Text, "").required(),
        one("path", Kind::Text, "").required(),
        one("staging", Kind::Flag, "false")
            .fixed("false", "Farcall copies no executables to servers"),
        one("backend", BACKEND, "normal")
            .fixed("normal", "the server knows how its executables are started"),
        one("session_timeout", SECONDS, "0"),
        one("transferTimeout_argument", SECONDS, "0"),
        one("transferTimeout_result", SECONDS, "0"),
        one("transferTimeout_callbackArgument", SECONDS, "0"),
        one("transferTimeout_callbackResult", SECONDS, "0"),
    ],
};

/// The section about a launcher.
pub(crate) const INVOKE_SERVER: SectionKind = SectionKind {
    name: "INVOKE_SERVER",
    many: true,
    unused: NO_LAUNCHER,
    attributes: &[
        one("type", Kind::Text, "").required(),
        one("path", Kind::Text, ""),
        one("max_jobs", COUNT, "0"),
        one("log_filePath", Kind::Text, ""),
        one("status_polling", SECONDS, "0"),
        many("option", Kind::Text),
    ],
};

/// The section about a proxy.
pub(crate) const PROXY: SectionKind = SectionKind {
    name: "CLIENT_COMMUNICATION_PROXY",
    many: true,
    unused: PROXIES,
    attributes: &[
        one("type", Kind::Text, "").required(),
        one("path", Kind::Text, ""),
        one("buffer_size", Kind::Size, "0"),
        one("max_jobs", COUNT, "0"),
        one("log_filePath", Kind::Text, ""),
        many("option", Kind::Text),
    ],
};

/// The section about where interfaces come from.
pub(crate) const INFORMATION_SOURCE: SectionKind = SectionKind {
    name: "INFORMATION_SOURCE",
    many: true,
    unused: "",
    attributes: &[
        one("type", Kind::Text, "").required(),
        one("tag", Kind::Text, "").required(),
        one("path", Kind::Text, "").unused("Farcall reads interface files itself"),
        one("log_filePath", Kind::Text, "").unused("Farcall reads interface files itself"),
        one("timeout", SECONDS, "0").fixed("0", "Farcall reads interface files itself"),
        many("source", Kind::Text),
        many("option", Kind::Text).unused("Farcall reads interface files itself"),
    ],
};

/// Ninf-G2's section about interface files.
pub(crate) const LOCAL_LDIF: SectionKind = SectionKind {
    name: "LOCAL_LDIF",
    many: true,
    attributes: &[many("filename", Kind::Text).required()],
    unused: "",
};

/// Ninf-G2's section about Globus' information service.
pub(crate) const MDS_SERVER: SectionKind = SectionKind {
    name: "MDS_SERVER",
    many: true,
    unused: "Farcall asks servers themselves for interfaces, not Globus MDS",
    attributes: &[
        one("hostname", Kind::Text, "").required(),
        one("tag", Kind::Text, ""),
        one("type", Kind::Choice(&["MDS2", "MDS4"]), "MDS2"),
        one("port", PORT, "2135"),
        one("protocol", Kind::Choice(&["http", "https"]), "https"),
        one("path", Kind::Text, ""),
        one("subject", Kind::Text, ""),
        one("vo_name", Kind::Text, "Local"),
        one("client_timeout", SECONDS, "0"),
        one("server_timeout", SECONDS, "0"),
    ],
};

/// The section about servers.
pub(crate) const SERVER: SectionKind =
    SectionKind { name: "SERVER", many: true, unused: "", attributes: SERVER_ATTRIBUTES };

/// The section with what holds for servers that say nothing else.
pub(crate) const SERVER_DEFAULT: SectionKind = SectionKind {
    name: "SERVER_DEFAULT",
    many: false,
    unused: "",
    // The first attribute of a server is its host.
    attributes: SERVER_ATTRIBUTES.split_at(1).1,
};

/// All sections.
pub(crate) const SECTIONS: [&SectionKind; 10] = [
    &INCLUDE,
    &CLIENT,
    &FUNCTION_INFO,
    &INVOKE_SERVER,
    &PROXY,
    &INFORMATION_SOURCE,
    &SERVER,
    &SERVER_DEFAULT,
    &LOCAL_LDIF,
    &MDS_SERVER,
];

const SERVER_ATTRIBUTES: &[Attribute] = &[
    many("hostname", Kind::Text).list().required(),
    // Who it is.
    one("tag", Kind::Text, ""),
    one("port", PORT, "0"),
    one("client_hostname", Kind::Text, "").unused(INWARD),
    one("mds_hostname", Kind::Text, "").unused("Farcall asks the servers for interfaces"),
    // How executables are launched.
    one("invoke_server", Kind::Text, ""),
    many("invoke_server_option", Kind::Text),
    one("jobmanager", Kind::Text, "").unused(GLOBUS),
    one("subject", Kind::Text, "").unused(GLOBUS),
    many("mpi_runNoOfCPUs", Kind::Processors),
    one("workDirectory", Kind::Text, ""),
    one("coreDumpSize", Kind::Integer { least: -1, most: i64::MAX }, "")
        .unused("the server's configuration file limits it"),
    many("environment", Kind::Environment),
    // Time-outs and batch jobs.
    one("job_startTimeout", SECONDS, "0"),
    one("job_stopTimeout", Kind::Time { unit: 1, least: -1 }, "-1"),
    one("job_maxTime", MINUTES, "").unused(BATCH),
    one("job_maxWallTime", MINUTES, "").unused(BATCH),
    one("job_maxCpuTime", MINUTES, "").unused(BATCH),
    one("job_queue", Kind::Text, "").unused(BATCH),
    one("job_project", Kind::Text, "").unused(BATCH),
    one("job_hostCount", COUNT, "").unused(BATCH),
    one("job_minMemory", COUNT, "").unused(BATCH),
    one("job_maxMemory", COUNT, "").unused(BATCH),
    one("job_rslExtensions", Kind::Text, "").unused(BATCH),
    // Data.
    one("argument_transfer", Kind::Choice(&["wait", "nowait", "copy"]), "wait")
        .not_in_java("calls wait for their end"),
    one("compress", Kind::Choice(&["raw", "zlib"]), ""),
    one("compress_threshold", Kind::Size, "64K"),
    one("argument_blockSize", Kind::Size, "16K").unused(BLOCKS),
    one("force_xdr", Kind::Flag, "false").fixed("false", FORMAT),
    one("protocol", Kind::Choice(&["XML", "binary"]), "XML").unused(FORMAT),
    // The connection.
    one("crypt", Kind::Choice(&["false", "authonly", "SSL", "GSI"]), "false").fixed(
        "SSL",
        "connections to other hosts are always encrypted, and both sides show certificates",
    ),
    one("keep_connection", Kind::Flag, "true")
        .fixed("true", "the client keeps the connection and reconnects if it breaks"),
    one("tcp_nodelay", Kind::Flag, "false").fixed("true", "small messages are never delayed"),
    one("tcp_connect_retryCount", COUNT, "4"),
    one("tcp_connect_retryBaseInterval", SECONDS, "1"),
    one("tcp_connect_retryIncreaseRatio", Kind::Ratio, "2.0"),
    one("tcp_connect_retryRandom", Kind::Flag, "true"),
    one("heartbeat", SECONDS, "60"),
    one("heartbeat_timeoutCount", Kind::Integer { least: 1, most: u32::MAX as i64 }, "5"),
    one("heartbeat_timeoutCountOnTransfer", COUNT, "")
        .unused("arriving data counts as a heartbeat"),
    one("redirect_outerr", Kind::Flag, "true"),
    // Proxies and information.
    one("communication_proxy", Kind::Text, "none").fixed("none", PROXIES),
    one("communication_proxy_staging", Kind::Flag, "false").fixed("false", PROXIES),
    one("communication_proxy_path", Kind::Text, "").unused(PROXIES),
    one("communication_proxy_buffer_size", Kind::Size, "0").unused(PROXIES),
    many("communication_proxy_option", Kind::Text).unused(PROXIES),
    many("information_source_tag", Kind::Text),
    // Logs and debugging.
    one("commLog_enable", Kind::Flag, "false"),
    one("commLog_filePath", Kind::Text, ""),
    one("commLog_suffix", Kind::Text, ""),
    one("commLog_nFiles", COUNT, "1"),
    one("commLog_maxFileSize", Kind::Size, ""),
    one("commLog_overwriteDirectory", Kind::Flag, "false"),
    one("debug", Kind::Flag, "false").not_in_java("no debugger is attached"),
    one("debug_display", Kind::Text, ""),
    one("debug_terminal", Kind::Text, "xterm"),
    one("debug_debugger", Kind::Text, "gdb"),
    one("debug_busyLoop", Kind::Flag, "false"),
];
