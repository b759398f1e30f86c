//! The spawner's table of executables, and the settings of the manifest. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use farcall_base::{ExecutableId, Instant};
use farcall_services::spawner::OutputTail;
use serde::Deserialize;

use crate::given::{Gpus, GpusWord, Host};
use crate::limits::Limits;

/// Lines of Open MPI's longest message, in which it says which rank ended all, and a few of the
/// routine's.
const LAUNCHER_LINES: usize = 40;

/// What connects an executable with its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ConnectionKind {
    Unix,
    Tcp,
}

/// The options of the manifest; options.toml says what each means.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Settings {
    pub(crate) host_command: Vec<String>,
    pub(crate) mpi_command: Vec<String>,
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) connection: ConnectionKind,
    pub(crate) executables_max: usize,
    pub(crate) zygotes_max: usize,
    pub(crate) zygote_idle_ms: u64,
    pub(crate) stop_grace_ms: u64,
    pub(crate) output_tail_lines_max: usize,
    pub(crate) output_tail_bytes_max: usize,
    pub(crate) requests_max: usize,
    pub(crate) gpus: Gpus,
    /// What is there to be given.
    #[serde(skip)]
    pub(crate) host: Host,
    pub(crate) limits: Limits,
    pub(crate) modules: BTreeMap<String, Limits>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            host_command: vec!["/proc/self/exe".to_string(), "host".to_string()],
            mpi_command: vec!["mpirun".to_string()],
            environment: BTreeMap::new(),
            connection: ConnectionKind::Unix,
            executables_max: 2048,
            zygotes_max: 16,
            zygote_idle_ms: 600_000,
            stop_grace_ms: 2000,
            output_tail_lines_max: 20,
            output_tail_bytes_max: 4096,
            requests_max: 256,
            gpus: Gpus::Word(GpusWord::Visible),
            host: Host::default(),
            limits: Limits::standard(),
            modules: BTreeMap::new(),
        }
    }
}

impl Settings {
    /// What a module may use and do.
    pub(crate) fn limits_of(&self, module: &str) -> Limits {
        let all = self.limits.over(&Limits::standard());
        self.modules.get(module).map_or_else(|| all.clone(), |own| own.over(&all))
    }

    pub(crate) fn zygote_idle(&self) -> Duration {
        Duration::from_millis(self.zygote_idle_ms)
    }

    pub(crate) fn stop_grace(&self) -> Duration {
        Duration::from_millis(self.stop_grace_ms)
    }
}

/// Which executables live.
///
/// Invariants: `executables` has an entry from the decision to spawn until the end was reported,
/// and never more than `executables_max`; once `closing`, none is added.
pub(crate) struct State {
    pub(crate) settings: Settings,
    pub(crate) executables: BTreeMap<ExecutableId, Executable>,
    pub(crate) closing: bool,
}

/// An executable that lives, or is about to.
pub(crate) struct Executable {
    pub(crate) phase: Phase,
    /// Whether it came to run, as was reported then.
    pub(crate) started: bool,
    /// Whether MPI starts it: what ends is the launcher.
    pub(crate) parallel: bool,
    /// The GPUs that are its own.
    pub(crate) gpus: Vec<String>,
    pub(crate) stdout: OutputTail,
    pub(crate) stderr: OutputTail,
}

/// How far it has come; only forwards, but from `Starting` also out of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The driver was told to spawn it.
    Starting,
    /// It runs.
    Running,
    /// It was asked to end, and is killed at this time.
    Stopping { kill_at: Instant },
    /// It was killed; its end will come.
    Killed,
}

impl State {
    pub(crate) fn new(settings: Settings) -> Self {
        State { settings, executables: BTreeMap::new(), closing: false }
    }

    /// Adds an entry in phase `Starting`.
    pub(crate) fn insert(&mut self, executable: ExecutableId, parallel: bool, gpus: Vec<String>) {
        let Settings { output_tail_lines_max: lines, output_tail_bytes_max: bytes, .. } =
            self.settings;
        // A launcher takes more than others to say that a rank has called exit.
        let lines = if parallel { lines.max(LAUNCHER_LINES) } else { lines };
        let stdout = OutputTail::new(lines, bytes);
        let stderr = OutputTail::new(lines, bytes);
        let phase = Phase::Starting;
        let entry = Executable { phase, started: false, parallel, gpus, stdout, stderr };
        self.executables.insert(executable, entry);
    }

    /// When the next executable must be killed.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let kill_at = |executable: &Executable| match executable.phase {
            Phase::Stopping { kill_at } => Some(kill_at),
            _ => None,
        };
        self.executables.values().filter_map(kill_at).min()
    }
}
