//! Has launchers start executables elsewhere: in jobs of batch systems, or over ssh (README.md).

mod driver;
mod gate;
mod ranks;
mod request;
mod resources;
mod state;
mod step;

use farcall_base::Result;
use farcall_kernel::{
    Options, Plugin, PluginContext, PluginDescription, RunningPlugin, driver_mailbox,
};
use farcall_services::jobs::JobsHandle;
use farcall_services::spawner::{JOBS_SLOT, SpawnerHandle};

/// Where the tickets of jobs lie, unless the manifest names another folder.
pub fn default_folder() -> std::path::PathBuf {
    driver::default_folder()
}

pub use gate::{Dial, Gate, GateWish, OpenGate};
use state::Settings;

const NAME: &str = "spawner-jobs";

/// Describes the plugin; `construct` is `|options| farcall_spawner_jobs::construct(options,
/// open_gate)`.
pub fn plugin(construct: fn(&Options) -> Result<Box<dyn Plugin>>) -> PluginDescription {
    PluginDescription {
        name: NAME,
        provides: &[JOBS_SLOT],
        needs: &[],
        uses: &[],
        options: include_str!("options.toml"),
        construct,
    }
}

/// Makes the plugin.
///
/// # Errors
/// `InvalidSource` for wrong options.
pub fn construct(options: &Options, open_gate: OpenGate) -> Result<Box<dyn Plugin>> {
    let mut settings: Settings = options.read()?;
    settings.ranks = Options::from_text("pilot_options", &settings.pilot_options)?.read()?;
    let least = [
        ("answer_ms", settings.answer_ms, 1),
        ("submit_ms", settings.submit_ms, 1),
        ("greeting_ms", settings.greeting_ms, 1),
        ("silence_ms", settings.silence_ms, 1),
        ("jobs_max", settings.jobs_max as u64, 1),
        ("pilots_max", settings.pilots_max as u64, 1),
        ("requests_max", settings.requests_max as u64, 1),
    ];
    options.check_least(&least)?;
    for (name, launcher) in &settings.launchers {
        request::check(name, launcher).map_err(|(key, message)| {
            let path = ["launchers", name, key];
            let missing = key == "command" && launcher.command.is_empty();
            options.wrong_inside(if missing { &path[..2] } else { &path }, message)
        })?;
    }
    let chosen =
        settings.modules.iter().map(|(module, launcher)| (vec!["modules", module], launcher));
    for (path, launcher) in chosen.chain([(vec!["default"], &settings.default)]) {
        if !launcher.is_empty() && settings.launcher(launcher).is_none() {
            let message = format!("there is no launcher \"{launcher}\"");
            let names = settings.names().into_iter().collect::<Vec<_>>().join(", ");
            return Err(options.wrong_inside(&path, message).fix(format!("there are {names}")));
        }
    }
    Ok(Box::new(SpawnerJobs { settings, open_gate }))
}

/// Which launcher starts the executables of which module.
#[derive(Clone, Debug, Default)]
pub struct Launchers {
    settings: Settings,
}

impl Launchers {
    /// As the manifest says.
    ///
    /// # Errors
    /// `InvalidSource` for wrong options.
    pub fn read(options: &Options) -> Result<Launchers> {
        Ok(Launchers { settings: options.read()? })
    }

    /// Says it for one module, or for all others.
    ///
    /// # Errors
    /// `NotFound` for a launcher that nobody knows, with the nearest name.
    pub fn choose(&mut self, module: Option<&str>, launcher: &str) -> Result<()> {
        if !launcher.is_empty() && self.settings.launcher(launcher).is_none() {
            return Err(step::no_launcher(&self.settings, launcher));
        }
        match module {
            Some(module) => {
                drop(self.settings.modules.insert(module.to_owned(), launcher.to_owned()))
            }
            None => launcher.clone_into(&mut self.settings.default),
        }
        Ok(())
    }

    /// Those that start any module's executables.
    pub fn used(&self) -> impl Iterator<Item = &str> {
        let chosen = self.settings.modules.values().chain([&self.settings.default]);
        chosen.map(String::as_str).filter(|name| !name.is_empty())
    }

    /// Modules for which one was chosen.
    pub fn modules(&self) -> impl Iterator<Item = &str> {
        self.settings.modules.keys().map(String::as_str)
    }

    /// Whether executables are to be started by this one as it comes with Farcall, and not by a
    /// command of the manifest.
    pub fn use_shipped(&self, launcher: &str) -> bool {
        let is_shipped =
            self.settings.launchers.get(launcher).is_none_or(|own| own.command.is_empty());
        let mut chosen = self.settings.modules.values().chain([&self.settings.default]);
        is_shipped && chosen.any(|name| name == launcher)
    }

    /// Whether the manifest says what programs of jobs let modules do.
    pub fn have_own_pilot_options(&self) -> bool {
        !self.settings.pilot_options.is_empty()
    }

    /// That of a module; empty: this host.
    pub fn of(&self, module: &str) -> &str {
        self.settings.modules.get(module).unwrap_or(&self.settings.default)
    }
}

struct SpawnerJobs {
    settings: Settings,
    open_gate: OpenGate,
}

impl Plugin for SpawnerJobs {
    fn start(self: Box<Self>, _context: PluginContext) -> Result<RunningPlugin> {
        let (sender, receiver, stop) =
            driver_mailbox(self.settings.requests_max, driver::Message::Stop)?;
        let spawner = SpawnerHandle::new(sender.port(driver::Message::Spawner));
        let handle = JobsHandle::new(spawner, sender.port(driver::Message::Jobs));
        let mut random = [0; 8];
        rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty()).map_err(
            |errno| farcall_base::Error::system("name this server's jobs", errno.into()),
        )?;
        let mark = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let run = move || driver::run(self.settings, mark, self.open_gate, receiver);
        Ok(RunningPlugin::new(stop, run).provides(JOBS_SLOT, handle))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod golden;
