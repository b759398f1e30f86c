//! Files, by landlock: the system's can be read, what is granted can be written, and nothing else can be opened.

use std::path::{Path, PathBuf};

use farcall_base::{Error, Result};
use farcall_interfaces::spawner::rules::Rules;
use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr,
    RulesetError, RulesetStatus, Scope, path_beneath_rules,
};

use super::Held;

/// The newest interface that this code knows; on older kernels less is refused.
const NEWEST: ABI = ABI::V6;

/// What belongs to the system, and to nobody in particular.
const SYSTEM: [&str; 15] = [
    "/bin", "/dev", "/etc", "/gnu", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/opt", "/proc", "/sbin", "/snap",
    "/sys", "/usr",
];

/// Devices that any program may write to.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Whether the kernel knows landlock.
pub fn available() -> bool {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1))
        .and_then(Ruleset::create)
        .is_ok()
}

/// Leaves this process, and all that come from it, the system's files and what is granted.
pub(super) fn restrict(granted: RulesetCreated) -> Result<Held> {
    let restricted = granted.restrict_self().map_err(failed)?;
    Ok(if restricted.ruleset == RulesetStatus::NotEnforced { Held::No } else { Held::Yes })
}

/// What is to be left, each folder found by this process as it is now.
pub(super) fn granted(rules: &Rules) -> Result<RulesetCreated> {
    grants(rules).map_err(failed)
}

fn grants(rules: &Rules) -> std::result::Result<RulesetCreated, RulesetError> {
    let (all, read) = (AccessFs::from_all(NEWEST), AccessFs::from_read(NEWEST));
    // The mapping of a device for shared memory or a GPU is asked for by ioctl; those of terminals are not granted.
    let write = all & !AccessFs::MakeBlock & !AccessFs::MakeChar;
    let own = installation();
    let readable = SYSTEM.iter().map(Path::new).chain(rules.readable.iter().map(Path::new));
    let readable = readable.chain(own.iter().map(PathBuf::as_path));
    let writable = DEVICES.iter().map(Path::new).chain(rules.writable.iter().chain(&rules.folder).map(Path::new));
    Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)?
        .create()?
        .add_rules(path_beneath_rules(readable, read))?
        .add_rules(path_beneath_rules(writable, write))
}

/// This program, and where the library lies that linked programs load: beside it, in the `lib` beside its directory, or
/// where the variable says that names it when they are linked.
fn installation() -> Vec<PathBuf> {
    let named = std::env::var_os("FARCALL_LIBRARY_DIRECTORY").map(PathBuf::from);
    let here = std::env::current_exe().ok().and_then(|program| Some(program.parent()?.to_path_buf()));
    let beside = here.as_ref().map(|here| here.join("../lib"));
    [named, here, beside].into_iter().flatten().collect()
}

/// Leaves this process nobody to signal but those that come from it, where the kernel can hold that (Linux 6.12).
pub(super) fn keep_signals_inside() {
    let _ = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .scope(Scope::Signal)
        .and_then(Ruleset::create)
        .and_then(RulesetCreated::restrict_self);
}

fn failed(error: RulesetError) -> Error {
    Error::system("restrict files", std::io::Error::other(error))
}
