//! The manifest's options of the server; options.toml says what each means.

use std::time::Duration;

use farcall_base::{Bytes, Result};
use farcall_link::compression::Compression;
use farcall_placement::queue::NAMES as QUEUES;
use farcall_services::spawner::Capacity;
use farcall_system::machine_memory::machine_memory;
use farcall_wire::HelloLimits;
use serde::Deserialize;

use crate::access::{self, Entry};
use crate::descriptors::Crowds;
use crate::state::{KeepLimits, Limits, Records};

/// Of the memory that there is, what the arrays of one call may have where the manifest does not
/// say: its executable needs some of its own, and other calls too.
const CALL_EIGHTHS: u64 = 4;
/// The same for one client, which has room for one call: sizes are up to a quarter larger than asked.
const CLIENT_EIGHTHS: u64 = 5;
/// The same for argument memory in all: others have room beside one client.
const ARGUMENT_EIGHTHS: u64 = 6;

/// The same for questions, open calls and answers that nobody has read yet, of all clients together.
const UNDER_WAY_PART: u64 = 32;
/// Questions that wait for other plugins at a time: their mailboxes are never full of them.
const QUESTIONS_MAX: usize = 256;

/// What is worth a line in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// Nothing.
    Off,
    /// What an admin should look at.
    Warn,
    /// Also every call that fails, and every order.
    Info,
    /// Every call.
    Debug,
}

impl LogLevel {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            LogLevel::Off => "off",
            LogLevel::Warn => "warn",
            LogLevel::Info => "info",
            LogLevel::Debug => "debug",
        }
    }
}

/// How the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Words and `key=value`.
    Text,
    /// A JSON object a line.
    Json,
}

/// As read from the manifest.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(missing_docs, reason = "options.toml documents each")]
pub struct Options {
    pub listen: Vec<String>,
    pub token_file: String,
    pub credentials: String,
    pub revocations: String,
    pub handshakes_max: usize,
    pub handshake_ms: u64,
    pub silence_ms: u64,
    pub access: Vec<Entry>,
    pub audit_file: String,
    pub audit_bytes_max: u64,
    pub audit_files_max: usize,
    pub audit_records_max: usize,
    pub log_level: LogLevel,
    pub log_format: LogFormat,
    pub log_lines_max: u64,
    pub counters_max: usize,
    pub connections_max: usize,
    /// As the manifest says, where `connections_max` was cut.
    #[serde(skip)]
    own_connections_max: usize,
    pub connections_share_percent: u64,
    pub greetings_max: usize,
    pub calls_max: usize,
    pub executables_max: usize,
    pub processors_max: u32,
    pub queue: String,
    pub executable_idle_ms: u64,
    pub launched_max: usize,
    pub launched_idle_ms: u64,
    pub nesting_max: u32,
    pub objects_max: usize,
    pub objects_of_one_max: usize,
    pub object_lease_ms_max: u64,
    pub call_bytes_max: u64,
    pub routines_max: usize,
    pub stop_grace_ms: u64,
    pub cancel_grace_ms: u64,
    pub greeting_ms: u64,
    pub loading_ms: u64,
    pub stall_ms: u64,
    pub drain_ms: u64,
    pub channels_max: u32,
    pub control_bytes_max: u32,
    pub data_bytes_max: u32,
    #[serde(deserialize_with = "compression")]
    pub compression: Compression,
    pub initial_credit: u64,
    pub segments_max: u32,
    pub memory_bytes_max: u64,
    pub memory_all_bytes_max: u64,
    pub memory_idle_bytes_max: u64,
    pub memory_idle_regions_max: usize,
    pub messages_max: usize,
    pub results_dir: String,
    pub results_max: usize,
    pub results_bytes_max: u64,
    pub results_memory_bytes_max: u64,
    pub results_share_percent: u64,
    pub results_keep_ms_max: u64,
    pub resume_ms: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            listen: Vec::new(),
            token_file: String::new(),
            credentials: String::new(),
            revocations: String::new(),
            handshakes_max: 256,
            handshake_ms: 10_000,
            silence_ms: 60_000,
            access: Vec::new(),
            audit_file: String::new(),
            audit_bytes_max: 64 << 20,
            audit_files_max: 4,
            audit_records_max: 4096,
            log_level: LogLevel::Warn,
            log_format: LogFormat::Text,
            log_lines_max: 200,
            counters_max: 1000,
            connections_max: 10_240,
            own_connections_max: 0,
            connections_share_percent: 50,
            greetings_max: 1024,
            calls_max: 262_144,
            executables_max: 0,
            processors_max: 0,
            queue: QUEUES[0].to_owned(),
            executable_idle_ms: 100,
            launched_max: 2048,
            launched_idle_ms: 60_000,
            nesting_max: 8,
            objects_max: 1024,
            objects_of_one_max: 512,
            object_lease_ms_max: 86_400_000,
            call_bytes_max: 0,
            routines_max: 10_000,
            stop_grace_ms: 500,
            cancel_grace_ms: 2000,
            greeting_ms: 10_000,
            loading_ms: 60_000,
            stall_ms: 300_000,
            drain_ms: 60_000,
            channels_max: 131_072,
            control_bytes_max: 4 << 20,
            data_bytes_max: 4 << 20,
            compression: Compression::Auto,
            initial_credit: 1 << 20,
            segments_max: 1024,
            memory_bytes_max: 0,
            memory_all_bytes_max: 0,
            memory_idle_bytes_max: 2 << 30,
            memory_idle_regions_max: 64,
            messages_max: 4096,
            results_dir: String::new(),
            results_max: 65_536,
            results_bytes_max: 16 << 30,
            results_memory_bytes_max: 1 << 30,
            results_share_percent: 50,
            results_keep_ms_max: 7 * 24 * 3_600_000,
            resume_ms: 60_000,
        }
    }
}

/// The policy of a name.
fn queue(name: &str) -> std::result::Result<&'static str, String> {
    let known = QUEUES.into_iter().find(|known| *known == name);
    known.ok_or_else(|| format!("there is no queue {name:?}: set one of {}", QUEUES.join(", ")))
}

/// 0 leaves it to us.
fn said_or(said: u64, otherwise: u64) -> u64 {
    if said == 0 { otherwise } else { said }
}

fn compression<'de, D: serde::Deserializer<'de>>(
    text: D,
) -> std::result::Result<Compression, D::Error> {
    String::deserialize(text)?.parse().map_err(serde::de::Error::custom)
}

impl Options {
    /// Reads them from the manifest, and refuses limits that would fail every call.
    ///
    /// # Errors
    /// `InvalidSource` with the option's place.
    pub fn read(options: &farcall_kernel::Options) -> Result<Options> {
        let read: Options = options.read()?;
        options.check_least(&[
            ("handshakes_max", read.handshakes_max as u64, 1),
            ("handshake_ms", read.handshake_ms, 1),
            ("silence_ms", read.silence_ms, 1000),
            ("audit_bytes_max", read.audit_bytes_max, 4096),
            ("audit_records_max", read.audit_records_max as u64, 1),
            ("log_lines_max", read.log_lines_max, 1),
            ("connections_max", read.connections_max as u64, 1),
            ("connections_share_percent", read.connections_share_percent, 1),
            ("greetings_max", read.greetings_max as u64, 1),
            ("calls_max", read.calls_max as u64, 1),
            ("routines_max", read.routines_max as u64, 1),
            ("greeting_ms", read.greeting_ms, 1),
            ("loading_ms", read.loading_ms, 100),
            ("stall_ms", read.stall_ms, 1),
            ("messages_max", read.messages_max as u64, 1),
            // Peers refuse less (spec/wire.md, section 9).
            ("channels_max", read.channels_max.into(), 1),
            ("control_bytes_max", read.control_bytes_max.into(), 4096),
            ("data_bytes_max", read.data_bytes_max.into(), 4096),
        ])?;
        queue(&read.queue).map_err(|message| options.wrong("queue", message))?;
        access::check(&read.access).map_err(|message| options.wrong("access", message))?;
        Ok(read)
    }

    /// What takes descriptors, at a time.
    pub fn crowds(&self) -> Crowds {
        let Options { handshakes_max, greetings_max, connections_max, .. } = *self;
        Crowds { handshakes_max, greetings_max, connections_max }
    }

    /// The same as a process takes it that may have so many files open.
    pub fn crowds_fitting(&self, files: Option<u64>) -> Crowds {
        let addresses = self.listen.iter().filter(|address| address.starts_with("tls://")).count();
        self.crowds().fitting(files, addresses)
    }

    /// With limits that so many open files allow; the reserve is there for the server's own user,
    /// who is not bound by them.
    pub fn fitting(self, files: Option<u64>) -> Options {
        let Crowds { handshakes_max, greetings_max, connections_max } = self.crowds_fitting(files);
        let own_connections_max = self.connections_max;
        Options { handshakes_max, greetings_max, connections_max, own_connections_max, ..self }
    }

    /// Largest sum of one call's arrays: as the manifest says, or half of the memory that there is.
    pub fn call_bytes_max(&self) -> u64 {
        said_or(self.call_bytes_max, machine_memory().eighths(CALL_EIGHTHS))
    }

    /// Argument memory of one client. By default not all that there is for all: whoever announces
    /// arrays and sends none would keep everybody else from theirs.
    pub fn memory_bytes_max(&self) -> u64 {
        said_or(
            self.memory_bytes_max,
            self.memory_all_bytes_max() / ARGUMENT_EIGHTHS * CLIENT_EIGHTHS,
        )
    }

    /// Argument memory of all clients together.
    pub fn memory_all_bytes_max(&self) -> u64 {
        said_or(self.memory_all_bytes_max, machine_memory().eighths(ARGUMENT_EIGHTHS))
    }

    /// The limits of the server's state.
    pub fn limits(&self) -> Limits {
        let processors =
            std::thread::available_parallelism().map_or(2, std::num::NonZero::get).max(2);
        Limits {
            connections_max: self.connections_max,
            own_connections_max: self.own_connections_max.max(self.connections_max),
            connections_share_percent: self.connections_share_percent.min(100),
            under_way_bytes_max: machine_memory().bytes / UNDER_WAY_PART,
            greetings_max: self.greetings_max,
            calls_max: self.calls_max,
            executables_max: if self.executables_max == 0 {
                processors
            } else {
                self.executables_max
            },
            processors_max: (self.processors_max > 0).then_some(self.processors_max),
            queue: queue(&self.queue).expect("it was checked when it was read"),
            // The driver hears it from the spawner.
            capacity: Capacity::default(),
            // An executable that is ended the moment that it has nothing to do would leave its own
            // line waiting.
            executable_idle: Duration::from_millis(self.executable_idle_ms.max(1)),
            launched_max: self.launched_max,
            launched_idle: Duration::from_millis(self.launched_idle_ms),
            call_bytes_max: Bytes(self.call_bytes_max()),
            routines_max: self.routines_max,
            stop_grace: Duration::from_millis(self.stop_grace_ms),
            cancel_grace: Duration::from_millis(self.cancel_grace_ms),
            greeting_max: Duration::from_millis(self.greeting_ms),
            loading_max: Duration::from_millis(self.loading_ms),
            stall_max: Duration::from_millis(self.stall_ms),
            hello: self.hello(),
            compresses: self.compression != Compression::Off,
            records: self.records(),
            counters_max: self.counters_max,
            nesting_max: self.nesting_max,
            questions_max: (self.messages_max / 8).clamp(1, QUESTIONS_MAX),
            objects_max: self.objects_max,
            objects_of_one_max: self.objects_of_one_max,
            object_lease_max: Duration::from_millis(self.object_lease_ms_max),
            keep: self.keep(),
        }
    }

    fn keep(&self) -> KeepLimits {
        KeepLimits {
            longest: Duration::from_millis(self.results_keep_ms_max),
            resume: Duration::from_millis(self.resume_ms),
            calls_max: self.results_max,
            memory_bytes_max: self.results_memory_bytes_max,
            file_bytes_max: self.results_bytes_max,
            share_percent: self.results_share_percent.min(100),
            has_folder: self.results_dir != "off",
        }
    }

    fn records(&self) -> Records {
        match self.log_level {
            _ if !self.audit_file.is_empty() => Records::All,
            LogLevel::Off => Records::None,
            LogLevel::Warn | LogLevel::Info => Records::Failures,
            LogLevel::Debug => Records::All,
        }
    }

    fn hello(&self) -> HelloLimits {
        HelloLimits {
            control_bytes_max: self.control_bytes_max,
            data_bytes_max: self.data_bytes_max,
            channels_max: self.channels_max,
            initial_credit: self.initial_credit,
            call_bytes_max: self.call_bytes_max(),
            segments_max: self.segments_max,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Options> {
        Options::read(&farcall_kernel::Options::from_text("farcall.toml", text).unwrap())
    }

    #[test]
    fn limits_that_the_manifest_leaves_open_follow_the_machine() {
        let memory = machine_memory().bytes;
        let open = read("").unwrap();
        assert!(
            (memory * 2 / 5..=memory / 2).contains(&open.call_bytes_max()),
            "{}",
            open.call_bytes_max()
        );
        assert_eq!(open.limits().call_bytes_max.0, open.limits().hello.call_bytes_max);
        assert!(
            open.call_bytes_max() * 5 / 4 <= open.memory_bytes_max()
                && open.memory_all_bytes_max() < memory
        );
        let one = open.memory_bytes_max();
        let all = open.memory_all_bytes_max();
        assert!(one < all, "others have room beside one client");
        let said =
            read("call_bytes_max = 7\nmemory_all_bytes_max = 8\nmemory_bytes_max = 9").unwrap();
        assert_eq!(
            (said.call_bytes_max(), said.memory_all_bytes_max(), said.memory_bytes_max()),
            (7, 8, 9)
        );
    }

    #[test]
    fn limits_that_would_fail_every_call_are_refused_at_the_start() {
        let least = [
            ("handshakes_max", 1),
            ("handshake_ms", 1),
            ("silence_ms", 1000),
            ("audit_bytes_max", 4096),
            ("audit_records_max", 1),
            ("log_lines_max", 1),
            ("connections_max", 1),
            ("connections_share_percent", 1),
            ("greetings_max", 1),
            ("calls_max", 1),
            ("routines_max", 1),
            ("greeting_ms", 1),
            ("loading_ms", 100),
            ("stall_ms", 1),
            ("messages_max", 1),
            ("channels_max", 1),
            ("control_bytes_max", 4096),
            ("data_bytes_max", 4096),
        ];
        for (key, least) in least {
            let error = read(&format!("{key} = {}", least - 1)).unwrap_err().to_string();
            assert!(
                error.contains(&format!("set at least {least}")) && error.contains("line: 1"),
                "{error}"
            );
            assert!(read(&format!("{key} = {least}")).is_ok(), "{key}");
        }
        // These mean something.
        for key in [
            "executables_max",
            "processors_max",
            "executable_idle_ms",
            "launched_max",
            "launched_idle_ms",
            "nesting_max",
            "objects_max",
            "objects_of_one_max",
            "object_lease_ms_max",
            "stop_grace_ms",
            "cancel_grace_ms",
            "initial_credit",
            "call_bytes_max",
            "memory_bytes_max",
            "memory_all_bytes_max",
            "memory_idle_bytes_max",
        ] {
            assert!(read(&format!("{key} = 0")).is_ok(), "{key}");
        }
    }
}
