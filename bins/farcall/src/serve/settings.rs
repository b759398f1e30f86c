//! What a server's manifest and its command line say together.

use std::path::{Path, PathBuf};

use farcall_base::{Error, ErrorKind, Result};
use farcall_kernel::{Manifest, Node, PluginDescription};
use farcall_publishing::python::Publisher::{Anybody, Owner};
use farcall_publishing::python::{Interpreters, need};
use farcall_rpc_server::access::Entry;
use farcall_spawner_jobs::Launchers;
use farcall_spawner_local::Inspector;

use super::arguments::ServeArguments;
use super::folder::PrivateFolder;
use super::plugins;
use crate::transports::{JOINED, given};

/// The manifest that was named, or the default one, with what the command line says.
pub(super) fn completed_manifest(
    arguments: &ServeArguments,
    plugins: &[PluginDescription],
    folder: Option<&PrivateFolder>,
) -> Result<Manifest> {
    let mut manifest = match &arguments.manifest_file() {
        Some(path) => Manifest::load(path)?.completed(plugins),
        None => Manifest::of(plugins)?,
    };
    override_options(&mut manifest, arguments, folder)?;
    arguments.jobs.put_over(&mut manifest, &arguments.launcher)?;
    // Before modules are checked under limits that make no sense.
    Node::check(&manifest, plugins, &given(farcall_rpc_server::Options::default()))?;
    hold_pilots_to_the_same(&mut manifest)?;
    Ok(manifest)
}

/// The same for a server that starts: its store has a place.
pub(super) fn serving_manifest(
    arguments: &ServeArguments,
    plugins: &[PluginDescription],
    folder: Option<&PrivateFolder>,
) -> Result<Manifest> {
    let mut manifest = completed_manifest(arguments, plugins, folder)?;
    place_store(&mut manifest, folder)?;
    Ok(manifest)
}

fn override_options(
    manifest: &mut Manifest,
    arguments: &ServeArguments,
    folder: Option<&PrivateFolder>,
) -> Result<()> {
    let mut listen = arguments.listen.clone();
    if let Some(folder) = folder.filter(|_| listen.is_empty()) {
        listen.push(format!("unix:{}", folder.socket().display()));
    }
    if !listen.is_empty() {
        manifest.override_options(
            "rpc-server",
            "--listen",
            &format!("listen = {}", toml_list(&listen)),
        )?;
    }
    if let Some(file) = &arguments.token_file {
        manifest.override_options(
            "rpc-server",
            "--token-file",
            &format!("token_file = {}", toml_text(file)),
        )?;
    }
    if let Some(file) = &arguments.credentials {
        manifest.override_options(
            "rpc-server",
            "--credentials",
            &format!("credentials = {}", toml_text(file)),
        )?;
    }
    // Whoever starts a server for itself alone has its errors already.
    let level = arguments.log_level.as_deref().or(arguments.private.then_some("off"));
    if let Some(level) = level {
        manifest.override_options(
            "rpc-server",
            "--log-level",
            &format!("log_level = {}", toml_text(level)),
        )?;
    }
    if let Some(format) = &arguments.log_format {
        manifest.override_options(
            "rpc-server",
            "--log-format",
            &format!("log_format = {}", toml_text(format)),
        )?;
    }
    if !arguments.join.is_empty() {
        // Those of the configuration file stay.
        let entry = manifest.plugins.iter().find(|entry| entry.slot == farcall_metaserver::SLOT);
        let known = entry.map(|entry| farcall_metaserver::Settings::read(&entry.options));
        let mut join = known.transpose()?.map(|settings| settings.join).unwrap_or_default();
        join.extend(arguments.join.iter().cloned());
        let text = format!("join = {}", toml_list(&join));
        manifest.override_options("metaserver", "--join", &text)?;
    }
    if let Some(name) = arguments.name_in_list() {
        override_list_options(manifest, name)?;
    }
    take_led(manifest)?;
    if let Some(address) = &arguments.metrics {
        manifest.override_options(
            "metrics",
            "--metrics",
            &format!("listen = {}", toml_text(address)),
        )?;
    }
    Ok(())
}

/// The private server of a list has a name that people know, and learns for all of its user's
/// programs on this host.
fn override_list_options(manifest: &mut Manifest, name: &str) -> Result<()> {
    let entry = manifest.plugins.iter().find(|entry| entry.slot == farcall_metaserver::SLOT);
    let known = entry.map(|entry| farcall_metaserver::Settings::read(&entry.options));
    let mut text = format!("name = {}", toml_text(name));
    let has_file = known.transpose()?.is_some_and(|settings| !settings.learned_file.is_empty());
    let file = learned_file().filter(|_| !has_file);
    if let Some(file) = file.as_ref().and_then(|file| file.to_str()) {
        text.push_str(&format!("\nlearned_file = {}", toml_text(file)));
    }
    manifest.override_options("metaserver", "--of-list", &text)
}

/// What this user's programs learned on this host.
fn learned_file() -> Option<PathBuf> {
    let host = farcall_system::host_name::host_name();
    let plain = |c: char| if c.is_ascii_alphanumeric() || ".-".contains(c) { c } else { '_' };
    let host: String = host.chars().map(plain).take(64).collect();
    Some(farcall_rpc_server::user_state_folder()?.join("learned").join(host))
}

/// A server that joins another over a network and listens at no port takes the clients that are led
/// to it.
fn take_led(manifest: &mut Manifest) -> Result<()> {
    let entry = manifest.plugins.iter().find(|entry| entry.slot == farcall_metaserver::SLOT);
    let known =
        entry.map(|entry| farcall_metaserver::Settings::read(&entry.options)).transpose()?;
    let joins = known.is_some_and(|known| known.join.iter().any(|one| one.starts_with("tls://")));
    if !joins {
        return Ok(());
    }
    let mut listen = server_options(manifest)?.listen;
    if listen.iter().any(|address| address.starts_with("tls:")) {
        return Ok(());
    }
    if listen.is_empty() {
        let default = farcall_transport_unix::default_socket_path();
        listen.push(format!("unix:{}", default.display()));
    }
    listen.push(JOINED.to_owned());
    let text = format!("listen = {}", toml_list(&listen));
    manifest.override_options("rpc-server", "--join", &text)
}

/// The store lies beside what else the server keeps, unless the configuration file says otherwise;
/// that of a private server goes with it.
fn place_store(manifest: &mut Manifest, folder: Option<&PrivateFolder>) -> Result<()> {
    let Some(entry) = manifest.plugins.iter().find(|entry| entry.name == farcall_store_file::NAME)
    else {
        return Ok(());
    };
    if !farcall_store_file::Settings::read(&entry.options)?.folder.is_empty() {
        return Ok(());
    }
    let options = server_options(manifest)?;
    let of_private = folder.map(PrivateFolder::store);
    let place = of_private.or_else(|| farcall_rpc_server::state_folder("store", &options));
    // A user without a home has no place for it, which is said when something is to be kept.
    let Some(place) = place.as_deref().and_then(Path::to_str) else { return Ok(()) };
    let text = format!("folder = {}", toml_text(place));
    manifest.override_options(farcall_store_file::NAME, "the server's address", &text)
}

/// What the server itself reads from the manifest.
pub fn server_options(manifest: &Manifest) -> Result<farcall_rpc_server::Options> {
    let entry = manifest.plugins.iter().find(|entry| entry.slot == farcall_rpc_server::SLOT);
    entry.map_or_else(
        || Ok(farcall_rpc_server::Options::default()),
        |entry| farcall_rpc_server::Options::read(&entry.options),
    )
}

/// Who may do what, as a manifest without mistakes says.
pub(super) fn access_of(manifest: &Path) -> Result<Vec<Entry>> {
    let plugins = plugins();
    let manifest = Manifest::load(manifest)?.completed(&plugins);
    Node::check(&manifest, &plugins, &given(farcall_rpc_server::Options::default()))?;
    Ok(server_options(&manifest)?.access)
}

/// Which interpreters run Python files, and what the manifest lets these do.
pub(super) fn interpreters(
    manifest: &Manifest,
    arguments: &ServeArguments,
) -> Result<Interpreters> {
    let entry = manifest.plugins.iter().find(|entry| entry.slot == farcall_services::spawner::SLOT);
    let inspector =
        entry.map_or_else(|| Ok(Inspector::default()), |entry| Inspector::new(&entry.options))?;
    let python = arguments.python.clone().map(of_environment);
    python.as_deref().map_or(Ok(()), need)?;
    let is_own = arguments.is_own() && !serves_others(&server_options(manifest)?.listen);
    let publisher = if is_own && !inspector.confines_all() { Owner } else { Anybody };
    Ok(Interpreters { inspector, python, publisher, ..Interpreters::default() })
}

/// The interpreter of a virtual environment, where a folder is named.
fn of_environment(python: PathBuf) -> PathBuf {
    let inside = python.join("bin").join("python3");
    if python.is_dir() && inside.exists() { inside } else { python }
}

/// Whether others than the owner can come: by TLS, whoever has a certificate does.
fn serves_others(listen: &[String]) -> bool {
    listen.iter().any(|address| address.starts_with("tls:"))
}

/// Programs of jobs let modules use and do what this server's own spawner does, unless the manifest
/// says otherwise.
fn hold_pilots_to_the_same(manifest: &mut Manifest) -> Result<()> {
    let options = |slot: &str| {
        manifest.plugins.iter().find(|entry| entry.slot == slot).map(|entry| &entry.options)
    };
    let (Some(own), Some(jobs)) =
        (options(farcall_services::spawner::SLOT), options(farcall_services::spawner::JOBS_SLOT))
    else {
        return Ok(());
    };
    if Launchers::read(jobs)?.have_own_pilot_options() {
        return Ok(());
    }
    let text = format!("pilot_options = {}", toml_text(&own.text()?));
    manifest.override_options("spawner-jobs", "the server's own options", &text)
}

/// Which launcher starts which module's executables: as the manifest says, and then the command
/// line.
pub(super) fn launchers(manifest: &Manifest, chosen: &[String]) -> Result<Launchers> {
    let entry =
        manifest.plugins.iter().find(|entry| entry.slot == farcall_services::spawner::JOBS_SLOT);
    let mut launchers =
        entry.map_or_else(|| Ok(Launchers::default()), |entry| Launchers::read(&entry.options))?;
    for words in chosen {
        match words.split_once('=') {
            Some((module, launcher)) => launchers.choose(Some(module), launcher)?,
            None => launchers.choose(None, words)?,
        }
    }
    Ok(launchers)
}

/// Launchers of batch systems, what people call these, and the command that submits jobs.
const BATCH_SYSTEMS: [(&str, &str, &str); 4] = [
    ("slurm", "Slurm", "sbatch"),
    ("gridengine", "Grid Engine", "qsub"),
    ("pbs", "PBS", "qsub"),
    ("lsf", "LSF", "bsub"),
];

/// Where the batch system is not, nothing could ever be called: the user that starts the server is
/// told, and not its first caller.
pub(super) fn need_batch_system(launchers: &Launchers) -> Result<()> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there =
        |command: &str| std::env::split_paths(&path).any(|folder| folder.join(command).is_file());
    let is_missing = |(launcher, _, command): &&(&str, &str, &str)| {
        launchers.use_shipped(launcher) && !is_there(command)
    };
    let missing = BATCH_SYSTEMS.iter().find(is_missing);
    let Some((launcher, system, command)) = missing else { return Ok(()) };
    let message = format!("routines must run in {system} jobs, and this host has no {command}");
    let fix = format!(
        "start the server on a login node of the cluster; if this is one, add the directory of \
        {command} to the PATH of noninteractive shells (`ssh HOST 'echo $PATH'` shows it); for a \
        launcher of the site's own, set launchers.{launcher}.command in the options of \
        spawner-jobs, in the file of serve --manifest or in ~/.config/farcall/farcall.toml of \
        this host"
    );
    Err(Error::new(ErrorKind::NotFound, "serve", message).with("PATH", path.display()).fix(fix))
}

pub(super) fn toml_text(text: &str) -> String {
    let escaped: String = text
        .chars()
        .map(|c| match c {
            '"' | '\\' => format!("\\{c}"),
            c if c.is_control() => format!("\\u{:04X}", c as u32),
            c => c.to_string(),
        })
        .collect();
    format!("\"{escaped}\"")
}

pub(super) fn toml_list(texts: &[String]) -> String {
    format!("[{}]", texts.iter().map(|text| toml_text(text)).collect::<Vec<_>>().join(", "))
}
