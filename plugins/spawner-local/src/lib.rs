//! Starts executables as processes of this host and reports their end (README.md).

mod driver;
mod ends;
mod given;
mod limits;
mod state;
mod step;

use farcall_base::{Bytes, Result};
use farcall_kernel::{
    Options, Plugin, PluginContext, PluginDescription, RunningPlugin, driver_mailbox,
};
use farcall_services::spawner::{Capacity, SLOT, SpawnerHandle};
use farcall_system::machine_memory::machine_memory;

pub use driver::inspection::{FileGrants, Grants, Hold, Inspected, Inspection, Inspector};
use given::{Gpus, GpusWord, Host};
use state::Settings;

const NAME: &str = "spawner-local";

/// The plugin, for a binary's list.
pub fn plugin() -> PluginDescription {
    PluginDescription {
        name: NAME,
        provides: &[SLOT],
        needs: &[],
        uses: &[],
        options: include_str!("options.toml"),
        construct,
    }
}

fn construct(options: &Options) -> Result<Box<dyn Plugin>> {
    let mut settings: Settings = options.read()?;
    if settings.host_command.first().is_none_or(String::is_empty) {
        let error = options.wrong("host_command", "host_command is empty");
        return Err(error.fix("set it to the program of the generic host, or remove the key"));
    }
    let name_of_none = |name: &&String| name.is_empty() || name.contains(['=', '\0']);
    if let Some(name) = settings.environment.keys().find(name_of_none) {
        let message =
            format!("\"{}\" is not the name of an environment variable", name.escape_debug());
        return Err(options.wrong("environment", message).fix("write { NAME = \"value\" }"));
    }
    if let Some((name, _)) = settings.environment.iter().find(|(_, value)| value.contains('\0')) {
        return Err(options.wrong("environment", format!("the value of {name} contains a NUL")));
    }
    if settings.mpi_command.first().is_some_and(String::is_empty) {
        let error = options.wrong("mpi_command", "mpi_command does not name a program");
        return Err(error.fix("write [\"mpirun\"], or [] to disable MPI routines"));
    }
    options.check_least(&[
        ("executables_max", settings.executables_max as u64, 1),
        ("requests_max", settings.requests_max as u64, 1),
    ])?;
    settings.gpus.check().map_err(|message| options.wrong("gpus", message))?;
    settings.host = host(&settings.gpus);
    settings
        .limits
        .check()
        .map_err(|(key, message)| options.wrong_inside(&["limits", key], message))?;
    for (name, limits) in &settings.modules {
        limits
            .check()
            .map_err(|(key, message)| options.wrong_inside(&["modules", name, key], message))?;
    }
    Ok(Box::new(SpawnerLocal { settings }))
}

/// What this host has, as far as it is known before anything starts.
fn host(gpus: &Gpus) -> Host {
    let visible = std::env::var("CUDA_VISIBLE_DEVICES").ok();
    let gpus_seen = gpus.ids(visible.as_deref());
    if *gpus == Gpus::Word(GpusWord::Job) {
        return Host { gpus: gpus_seen, is_in_job: true, ..Host::default() };
    }
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Host {
        processors: u32::try_from(processors).unwrap_or(u32::MAX),
        memory: Bytes(machine_memory().bytes),
        gpus: gpus_seen,
        is_in_job: false,
    }
}

/// How this host counts the processes of a module; `None` where it cannot.
pub fn processes_counted_by() -> Option<&'static str> {
    driver::counted_by()
}

/// Whether this host can hold a process to memory that it shares.
pub fn shared_memory_is_counted() -> bool {
    driver::memory_is_counted()
}

struct SpawnerLocal {
    settings: Settings,
}

impl Plugin for SpawnerLocal {
    fn start(self: Box<Self>, _context: PluginContext) -> Result<RunningPlugin> {
        let (sender, receiver, stop) =
            driver_mailbox(self.settings.requests_max, driver::Message::Stop)?;
        let handle =
            SpawnerHandle::new(sender.port(|request| driver::Message::Request(Box::new(request))));
        let Host { processors: cores, gpus, .. } = &self.settings.host;
        let handle = handle.with_capacity(Capacity { cores: *cores, gpus: gpus.len() as u32 });
        let run = move || driver::run(self.settings, receiver);
        Ok(RunningPlugin::new(stop, run).provides(SLOT, handle))
    }
}

#[cfg(test)]
mod conversations;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod golden;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
