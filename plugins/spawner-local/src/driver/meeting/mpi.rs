//! What is known of MPIs and their launchers: where one is installed, and what it is told.

use std::path::{Path, PathBuf};

use farcall_base::{Error, ErrorKind, Result};

/// Variables by which Open MPI (4, then 5 and its launcher) is told what a server's launches are:
/// several at a time, none of which may take the same processors as another, and of any number of
/// processes. Others know none of them.
const TOLD: [(&str, &str); 8] = [
    ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
    ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
    ("OMPI_MCA_hwloc_base_binding_policy", "none"),
    ("PRTE_MCA_hwloc_default_binding_policy", "none"),
    ("OMPI_MCA_mpi_yield_when_idle", "1"),
    // A rank that crashes is reported with the last that it said: that is not to be a list of
    // addresses.
    ("OMPI_MCA_opal_signal", ""),
    // Processes under a module's rules read no other's memory.
    ("OMPI_MCA_btl_vader_single_copy_mechanism", "none"),
    // What starts the processes on other nodes of Slurm's: they need these variables, whatever the
    // job was given.
    ("SLURM_EXPORT_ENV", "ALL"),
];
/// Variables that name the folder for what its processes share. On other nodes of an allocation,
/// Open MPI makes it, and leaves it empty at the end.
const FOLDERS: [&str; 3] = [
    "OMPI_MCA_orte_tmpdir_base",
    "OMPI_MCA_btl_vader_backing_directory",
    "OMPI_MCA_btl_sm_backing_directory",
];
/// By which root says that it means it.
const AS_ROOT: [&str; 4] = [
    "OMPI_ALLOW_RUN_AS_ROOT",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
    "PRTE_ALLOW_RUN_AS_ROOT",
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM",
];

/// What an MPI is told, unless somebody says otherwise.
pub(super) fn environment(
    folder: String,
    user: u32,
) -> impl Iterator<Item = (&'static str, String)> {
    let folders = FOLDERS.iter().map(move |name| (*name, folder.clone()));
    let as_root = AS_ROOT.iter().filter(move |_| user == 0).map(|name| (*name, "1".to_owned()));
    TOLD.iter().map(|(name, value)| (*name, (*value).to_owned())).chain(folders).chain(as_root)
}

/// What a batch system's own launcher reads, by which an MPI reaches the other nodes of an
/// allocation.
pub(in crate::driver) fn batch_system() -> impl Iterator<Item = String> {
    let within = std::env::var_os("SLURM_JOB_ID").is_some();
    let own = || installed("srun").ok();
    let settings = || {
        let file = PathBuf::from(std::env::var_os("SLURM_CONF")?).canonicalize().ok()?;
        file.parent().map(|folder| folder.display().to_string())
    };
    within.then(|| own().into_iter().chain(settings())).into_iter().flatten()
}

/// The folder that a launcher of this name, or path, is installed in.
pub(super) fn installed(launcher: &str) -> Result<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .map(|folder| folder.join(launcher))
        .find(|file| file.is_file());
    let found = found.and_then(|file| file.canonicalize().ok()).ok_or_else(|| {
        Error::new(
            ErrorKind::Unavailable,
            "start an executable",
            format!("there is no \"{launcher}\" on this machine"),
        )
        .fix(
            "an MPI must start routines with Backend \"MPI\": install one (Debian: `apt install \
             openmpi-bin`; on a cluster: `module load` it before the server starts), or set \
             mpi_command in farcall.toml to its launcher",
        )
    })?;
    let folder = found.parent().and_then(Path::parent).filter(|folder| folder.parent().is_some());
    Ok(folder.unwrap_or(&found).display().to_string())
}
