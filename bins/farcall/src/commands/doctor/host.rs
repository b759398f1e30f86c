//! What this host has.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use farcall_authority::{authority_folder, now};
use farcall_base::{Error, ErrorKind};
use farcall_executable::confine::{NotHeld, kernel_means, not_held};
use farcall_rpc_server::Options;
use farcall_system::machine_memory::machine_memory;
use farcall_transport_tls::{Credentials, default_credentials, files_at};
use rustix::process::Resource;

use super::{Finding, judge};
use farcall_publishing::shipped::default_files;

/// Everything that needs no server.
pub fn findings() -> Vec<Finding> {
    let socket = farcall_transport_unix::default_socket_path();
    let folder = socket.parent().unwrap_or(Path::new("/"));
    let owner = fs::metadata(folder).ok().map(|status| (status.mode(), status.uid()));
    let mut findings = vec![
        judge::descriptors(rustix::process::getrlimit(Resource::Nofile).maximum),
        judge::shared_memory(memory_trouble(), memory_available()),
        judge::memory_in_all(machine_memory(), Options::default().call_bytes_max()),
        judge::socket_folder(folder, owner, rustix::process::geteuid().as_raw()),
    ];
    findings.extend(confinement());
    findings.push(judge::compilers(
        &["cc", "c++"].into_iter().filter(|name| !is_there(name)).collect::<Vec<_>>(),
    ));
    findings.push(libraries());
    let used = fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control");
    findings.extend(used.ok().map(|name| judge::congestion_control(name.trim())));
    findings
        .extend(certificate("certificate of the server", authority_folder().join("server.pem")));
    for place in default_credentials() {
        findings.extend(certificates("certificate of the user", &place));
    }
    findings
}

fn confinement() -> Vec<Finding> {
    let means = kernel_means();
    let not_held = not_held(means);
    let by_seccomp = [NotHeld::SystemCalls, NotHeld::LaunchersSockets];
    let open = not_held.iter().filter(|what| !by_seccomp.contains(what));
    vec![
        judge::landlock(means.landlock, &open.copied().collect::<Vec<_>>()),
        judge::confinement(
            "seccomp",
            means.seccomp,
            NotHeld::SystemCalls.consequence(),
            "run a kernel with CONFIG_SECCOMP_FILTER, outside containers that forbid it",
        ),
        judge::confinement(
            "MPI's launcher",
            means.listener,
            NotHeld::LaunchersSockets.consequence(),
            "run kernel 5.14 or later, outside containers that handle system calls; or set \
             mpi_command = [] in farcall.toml",
        ),
        judge::confinement(
            "process limit",
            farcall_spawner_local::processes_counted_by().is_some(),
            "the server cannot write a cgroup, and root's processes are not counted without one",
            "run the server as a separate user, give each module a user, or give the server a \
             cgroup: Delegate=yes in its unit",
        ),
        judge::confinement(
            "memory limit",
            farcall_spawner_local::shared_memory_is_counted(),
            "the server cannot write a memory cgroup: memory_bytes_max limits private memory, but \
            not memory that a routine shares (MAP_SHARED, memfd, /dev/shm)",
            "give the server a memory cgroup: Delegate=yes in its unit",
        ),
        judge::routines_user(
            rustix::process::geteuid().is_root(),
            !not_held.contains(&NotHeld::Files),
        ),
    ]
}

fn memory_trouble() -> Option<String> {
    let made = rustix::fs::memfd_create(
        "doctor",
        rustix::fs::MemfdFlags::CLOEXEC | rustix::fs::MemfdFlags::ALLOW_SEALING,
    );
    made.and_then(|file| rustix::fs::ftruncate(&file, 1 << 20)).err().map(|error| error.to_string())
}

/// The line `MemAvailable:   12345 kB`.
fn memory_available() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

fn is_there(program: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| folder.join(program).is_file())
}

/// Each module in a process of its own, as when it is published: a library may do anything when it
/// is loaded.
fn libraries() -> Finding {
    let files = default_files();
    let failed: Vec<_> =
        files.iter().filter_map(|file| Some((name_of(file), trouble_of(file)?))).collect();
    judge::libraries(files.len(), &failed)
}

fn name_of(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn trouble_of(file: &Path) -> Option<String> {
    let program = std::env::current_exe().ok()?;
    let output = Command::new(program)
        .args(["check", "--link"])
        .arg(file)
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let said = [output.stderr, output.stdout].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    (!output.status.success())
        .then(|| said.lines().next().unwrap_or("it cannot be loaded").to_owned())
}

/// Those of a file, or of all files in a folder.
fn certificates(name: &'static str, place: &Path) -> Vec<Finding> {
    match files_at(place) {
        Ok(files) => files.into_iter().filter_map(|file| certificate(name, file)).collect(),
        Err(error) => vec![trouble(name, &error)],
    }
}

/// Who has none needs none.
fn certificate(name: &'static str, file: PathBuf) -> Option<Finding> {
    match Credentials::read_at_any_time(&file) {
        Ok(credentials) => Some(judge::certificate(name, &credentials.certificate, now())),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => Some(trouble(name, &error)),
    }
}

/// An error as a finding: what it says, and its own fix.
pub fn trouble(name: &'static str, error: &Error) -> Finding {
    let context = error
        .context()
        .iter()
        .map(|(key, value)| format!("{key}: {value}"))
        .collect::<Vec<_>>()
        .join(", ");
    let context = if context.is_empty() { context } else { format!(" ({context})") };
    Finding::wrong(
        name,
        format!("{}{context}", error.message()),
        error.advice().unwrap_or("see the message"),
    )
}
