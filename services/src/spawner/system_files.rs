//! What of a system's files every routine may read: what programs need to start, to find names and
//! to learn the machine.
//!
//! Folders are listed whole only where a system puts nothing private. `/etc`, `/dev`, `/opt` and
//! `/var` are not: services keep their keys there, the ones of this server among them. Whatever
//! else a module needs is named in its `readable`.

use std::path::{Path, PathBuf};

/// Folders that can be read and executed, with all that is below them.
pub const READABLE_FOLDERS: [&str; 12] = [
    "/bin",
    "/gnu/store",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/proc",
    "/sbin",
    "/snap",
    "/sys",
    "/usr",
];

/// The same of `/etc`: lists of links and names, without secrets.
pub const READABLE_SETTINGS: [&str; 12] = [
    "/etc/OpenCL",
    "/etc/R",
    "/etc/alternatives",
    "/etc/fonts",
    "/etc/ld.so.conf.d",
    "/etc/libibverbs.d",
    "/etc/mpich",
    "/etc/openmpi",
    "/etc/pki/ca-trust/extracted",
    "/etc/pki/tls/certs",
    "/etc/ssl/certs",
    "/etc/terminfo",
];

/// Files that can be read: the loader's, names of users, hosts and services, time, language, and
/// settings of libraries.
pub const READABLE_FILES: [&str; 34] = [
    "/etc/debian_version",
    "/etc/environment",
    "/etc/fftw/wisdom",
    "/etc/fftw/wisdomf",
    "/etc/gai.conf",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hostname",
    "/etc/hosts",
    "/etc/inputrc",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.preload",
    "/etc/locale.alias",
    "/etc/locale.conf",
    "/etc/localtime",
    "/etc/machine-id",
    "/etc/magic",
    "/etc/matplotlibrc",
    "/etc/mime.types",
    "/etc/networks",
    "/etc/nsswitch.conf",
    "/etc/openmpi-mca-params.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/pmix-mca-params.conf",
    "/etc/prte-mca-params.conf",
    "/etc/protocols",
    "/etc/redhat-release",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/shells",
    "/etc/ssl/openssl.cnf",
    "/etc/timezone",
];

/// Devices that any program may write to.
pub const DEVICES: [&str; 5] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Shared objects beside one another that are looked for, at most: a folder with more is no
/// installation of a library.
const SIBLINGS_MAX: usize = 1024;

/// All that can be read of the system.
pub fn readable() -> impl Iterator<Item = &'static str> {
    READABLE_FOLDERS.into_iter().chain(READABLE_SETTINGS).chain(READABLE_FILES)
}

/// This program, and the library that linked programs load: beside it, in the `lib` beside its
/// folder, or where the variable says that names it when they are linked. Files, and none of the
/// folders.
pub fn installation() -> Vec<PathBuf> {
    let program = std::env::current_exe().ok();
    let named = std::env::var_os("FARCALL_LIBRARY_DIRECTORY").map(PathBuf::from);
    let here = program.as_ref().and_then(|program| Some(program.parent()?.to_path_buf()));
    let beside = here.as_ref().map(|here| here.join("../lib"));
    let brought = program.as_ref().map(|program| {
        let mut name = program.clone().into_os_string();
        name.push(".lib");
        PathBuf::from(name)
    });
    let libraries = [named, here, beside, brought]
        .into_iter()
        .flatten()
        .flat_map(|folder| own_libraries(&folder));
    program.iter().cloned().chain(libraries).collect()
}

fn own_libraries(folder: &Path) -> Vec<PathBuf> {
    let is_ours = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libfarcall"))
    };
    shared_objects(folder).into_iter().filter(is_ours).collect()
}

/// The shared objects in a folder, by their names: `libmine.so`, `libmine.so.3.1`.
pub fn shared_objects(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().take(SIBLINGS_MAX);
    let is_shared = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some((_, version)) = name.rsplit_once(".so") else { return false };
        version.chars().all(|letter| letter == '.' || letter.is_ascii_digit()) && path.is_file()
    };
    entries.map(|entry| entry.path()).filter(is_shared).collect()
}
