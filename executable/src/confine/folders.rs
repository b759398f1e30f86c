//! Files, by landlock: the system's can be read, what is granted can be written, and nothing else
//! can be opened. And by its scopes: signals and abstract sockets reach nobody outside.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

use farcall_base::{Error, Result};
use farcall_services::spawner::rules::{Confinement, Rules};
use farcall_services::spawner::system_files::{DEVICES, installation, readable};
use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, Scope, path_beneath_rules,
};

use rustix::fs::{FileType, Mode, OFlags, fstat, open};

/// The newest interface that this code knows; on older kernels less is refused, as [`super::plan`]
/// says.
const NEWEST: ABI = ABI::V6;

/// Leaves this process, and all that come from it, what is granted.
pub(super) fn restrict(granted: RulesetCreated) -> Result<()> {
    granted.restrict_self().map(drop).map_err(failed)
}

/// What is to be left, each file and folder found by this process as it is now.
pub(super) fn granted(rules: &Rules) -> Result<RulesetCreated> {
    grants(rules).map_err(failed)
}

fn grants(rules: &Rules) -> std::result::Result<RulesetCreated, RulesetError> {
    let all = AccessFs::from_all(NEWEST);
    let read = AccessFs::from_read(NEWEST);
    // The mapping of a device for shared memory or a GPU is asked for by ioctl; those of terminals
    // are not granted.
    let mut write = all & !AccessFs::MakeBlock & !AccessFs::MakeChar;
    if rules.confinement != Confinement::Launcher {
        write &= !AccessFs::MakeSock;
    }
    let system = readable().map(PathBuf::from).chain(installation());
    let readable: Vec<PathBuf> = system.chain(rules.readable.iter().map(PathBuf::from)).collect();
    let writable = rules.writable.iter().chain(&rules.folder).map(PathBuf::from);
    let writable: Vec<PathBuf> = DEVICES.iter().map(PathBuf::from).chain(writable).collect();
    Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)?
        .create()?
        .add_rules(path_beneath_rules(readable, read))?
        .add_rules(path_beneath_rules(writable, write))?
        .add_rules(without_links(&rules.found, read))?
        .add_rules(without_links(&rules.data, AccessFs::ReadFile.into()))?
        .add_rules(without_links(&rules.listed, AccessFs::ReadDir.into()))
}

/// Rules for paths that had no links when they were found. One that has is another's by now, and is
/// left out.
fn without_links(
    paths: &[String],
    access: BitFlags<AccessFs>,
) -> impl Iterator<Item = std::result::Result<PathBeneath<OwnedFd>, RulesetError>> {
    paths.iter().filter_map(|path| open_itself(path)).map(move |file| {
        let is_folder = fstat(&file)
            .is_ok_and(|status| FileType::from_raw_mode(status.st_mode) == FileType::Directory);
        let access = if is_folder { access } else { access & AccessFs::from_file(NEWEST) };
        Ok(PathBeneath::new(file, access))
    })
}

/// A path that leads to itself. Not by `openat2`, which is answered as unknown in ranks: a
/// launcher's filter holds them already.
fn open_itself(path: &str) -> Option<OwnedFd> {
    let file = open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let real = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?;
    (real.as_os_str() == path).then_some(file)
}

/// Leaves this process nobody to signal, and no abstract socket to reach, but those of processes
/// that come from it. Fails where the kernel has no such scopes (before Linux 6.12), which is for
/// [`super::plan`] to know.
pub(super) fn keep_inside() -> Result<()> {
    // A ruleset denies moves between folders unless it grants them, even where it handles nothing
    // of files.
    let moves = path_beneath_rules(["/"], AccessFs::Refer);
    let scopes = || {
        Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::Refer)?
            .scope(Scope::Signal)?
            .scope(Scope::AbstractUnixSocket)?
            .create()?
            .add_rules(moves)?
            .restrict_self()
    };
    scopes().map(drop).map_err(failed)
}

fn failed(error: RulesetError) -> Error {
    Error::system("confine a process by landlock", std::io::Error::other(error))
}
