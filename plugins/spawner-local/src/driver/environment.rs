//! What a process of a module is started with: program, variables, rules.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use farcall_base::Result;
use farcall_services::spawner::SOCKET_VARIABLE;
use farcall_services::spawner::rules::{Confinement, RULES_VARIABLE};

use super::meeting::mpi;
use super::memory_cgroup::MemoryCgroup;
use super::process::shown_name;
use super::zygotes::Wanted;
use crate::limits::Limits;
use crate::state::Settings;
use crate::step::CommandLine;

/// Variables of the server's that a module's code may see: where things are, languages, and
/// settings of numerical libraries. Whatever else is in a server's environment, tokens and agents'
/// sockets among it, is none of its business.
const KEPT: [&str; 13] = [
    "HOME",
    "HOSTNAME",
    "LANG",
    "LANGUAGE",
    "LD_LIBRARY_PATH",
    "LOGNAME",
    "MALLOC_ARENA_MAX",
    "PATH",
    "SHELL",
    "TERM",
    "TZ",
    "USER",
    "XDG_CACHE_HOME",
];

/// Beginnings of such names.
const KEPT_BEGINNINGS: [&str; 14] = [
    "BLIS_",
    "FARCALL_",
    "GFORTRAN_",
    "GOMP_",
    "GOTO_",
    "JULIA_",
    "KMP_",
    "LC_",
    "MKL_",
    "NUMBA_",
    "OMP_",
    "OPENBLAS_",
    "PYTHON",
    "RAYON_",
];

/// Beginnings of names that an MPI's launcher goes by: its own, and those of the batch system whose
/// allocation it is in.
const KEPT_FOR_MPI: [&str; 15] = [
    "FI_", "HYDRA_", "I_MPI_", "LSB_", "MPICH_", "MPIEXEC_", "MPIR_", "MV2_", "OMPI_", "OPAL_",
    "PBS_", "PMIX_", "PRTE_", "SLURM_", "UCX_",
];

/// Variables that tell one process what it is to a service manager. The owner's own code gets all
/// others, as if the owner had started it: graphics processors, the batch system's job.
const SERVERS: [&str; 4] = ["LISTEN_FDNAMES", "LISTEN_FDS", "LISTEN_PID", "NOTIFY_SOCKET"];

/// Beginnings of those that tell one process which rank of an MPI's program it is: a routine that
/// initializes MPI would take itself for the server.
const SERVERS_BEGINNINGS: [&str; 9] = [
    "HYDI_",
    "HYDRA_",
    "MPIEXEC_",
    "MPIR_",
    "OMPI_COMM_WORLD_",
    "OMPI_UNIVERSE_",
    "PMI_",
    "PMIX_",
    "PRTE_",
];

/// By which libraries are told how many threads to run.
const THREADS: [&str; 10] = [
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "GOTO_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "JULIA_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
];

/// Tells CUDA, and HIP, which GPUs a process may use.
const VISIBLE_GPUS: &str = "CUDA_VISIBLE_DEVICES";

/// Beginnings of their names in /dev: NVIDIA's and AMD's.
const GPU_FILES: [&str; 3] = ["nvidia", "kfd", "dri"];

/// Arguments, variables and group of a process. Later variables win: the server's, threads, the
/// manifest's and the module's, then rules and folder. What is returned holds it to its memory, and
/// is to live as long as it.
pub(super) fn prepare(
    command: &mut Command,
    wanted: &Wanted,
    settings: &Settings,
) -> Result<Option<MemoryCgroup>> {
    let line = &wanted.command;
    let (mut rules, memory) = wanted.room.held(&line.limits, &line.rules, line.processes)?;
    let is_owners = rules.confinement == Confinement::Owner;
    let for_mpi = |name: &OsString| line.parallel && begins(name, &KEPT_FOR_MPI);
    let for_owner = |name: &OsString| is_owners && !is_servers(name);
    let for_gpus = |name: &OsString| line.wants_gpus && name == VISIBLE_GPUS;
    let is_seen =
        |name: &OsString| is_kept(name) || for_mpi(name) || for_owner(name) || for_gpus(name);
    let kept = std::env::vars_os().filter(|(name, _)| is_seen(name));
    let inherited: Vec<(OsString, OsString)> = kept.collect();
    command.arg0(shown_name(&line.program)).args(&line.arguments).env_clear();
    command.envs(threads(&line.limits, settings));
    if let Some(meeting) = &wanted.meeting {
        command.envs(meeting.environment());
        rules.writable.push(meeting.folder());
        rules.readable.push(meeting.launcher().to_owned());
        rules.readable.extend(mpi::batch_system());
    }
    // What the administrator gave the server is worth more than what we work out, and less than the
    // manifest.
    let told = |name: &OsString| {
        line.limits.threads_are_set() && THREADS.iter().any(|known| name == known)
    };
    command.envs(inherited.into_iter().filter(|(name, _)| !told(name)));
    command.envs(line.environment.iter().map(|(name, value)| (name, value)));
    if line.wants_gpus {
        rules.writable.extend(gpu_files());
    }
    if !line.gpus.is_empty() {
        command.env(VISIBLE_GPUS, line.gpus.join(","));
    }
    if let Some(meeting) = &wanted.meeting {
        command.env(SOCKET_VARIABLE, meeting.socket());
    }
    command.env("TMPDIR", wanted.room.folder()).env(RULES_VARIABLE, rules.to_text());
    Ok(memory)
}

/// The files through which code reaches GPUs, as far as this host has them.
fn gpu_files() -> Vec<String> {
    let devices = std::fs::read_dir("/dev").into_iter().flatten().flatten();
    let names = devices.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let is_one = |name: &String| GPU_FILES.iter().any(|begin| name.starts_with(begin));
    names.filter(is_one).map(|name| format!("/dev/{name}")).collect()
}

fn is_kept(name: &OsString) -> bool {
    KEPT.iter().any(|kept| name == kept) || begins(name, &KEPT_BEGINNINGS)
}

/// Whether a variable is about the server's own process, and false of any other.
fn is_servers(name: &OsString) -> bool {
    SERVERS.iter().any(|own| name == own) || begins(name, &SERVERS_BEGINNINGS)
}

fn begins(name: &OsString, beginnings: &[&str]) -> bool {
    name.to_str().is_some_and(|name| beginnings.iter().any(|begin| name.starts_with(begin)))
}

/// Whether the administrator, or the module, says in a variable how many threads libraries run.
pub(super) fn has_threads(line: &CommandLine) -> bool {
    let own = || line.environment.iter().map(|(name, _)| name.as_str());
    THREADS.iter().any(|name| std::env::var_os(name).is_some() || own().any(|own| own == *name))
}

fn threads(limits: &Limits, settings: &Settings) -> impl Iterator<Item = (&'static str, String)> {
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = limits.threads(processors, settings.executables_max);
    THREADS.into_iter().map(move |name| (name, threads.to_string()))
}
