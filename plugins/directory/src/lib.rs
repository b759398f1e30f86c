//! Embedded directory: which routines are published and what their interfaces are. Kept in memory
//! (README.md).

mod driver;
mod state;
mod step;

use farcall_base::Result;
use farcall_kernel::{
    Options, Plugin, PluginContext, PluginDescription, RunningPlugin, driver_mailbox,
};
use farcall_services::directory::{DirectoryHandle, SLOT};

use state::Limits;

const NAME: &str = "directory";

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
    let limits: Limits = options.read()?;
    options.check_least(&[
        ("modules_max", limits.modules_max as u64, 1),
        ("routines_max", limits.routines_max as u64, 1),
        ("names_per_routine_max", limits.names_per_routine_max as u64, 1),
        ("interface_bytes_max", limits.interface_bytes_max as u64, 1),
        ("requests_max", limits.requests_max as u64, 1),
        ("watches_max", limits.watches_max as u64, 1),
    ])?;
    Ok(Box::new(Directory { limits }))
}

struct Directory {
    limits: Limits,
}

impl Plugin for Directory {
    fn start(self: Box<Self>, _context: PluginContext) -> Result<RunningPlugin> {
        let (sender, receiver, stop) =
            driver_mailbox(self.limits.requests_max, driver::Message::Stop)?;
        let handle = DirectoryHandle::new(sender.port(driver::Message::Question));
        let run = move || driver::run(self.limits, receiver);
        Ok(RunningPlugin::new(stop, run).provides(SLOT, handle))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod golden;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
