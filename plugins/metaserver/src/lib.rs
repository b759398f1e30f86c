//! Knows other servers, and says where calls run (README.md).

mod driver;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod golden;
mod options;
pub mod state;
pub mod step;

use std::time::Duration;

use farcall_base::Result;
use farcall_kernel::{
    Options, Plugin, PluginContext, PluginDescription, RunningPlugin, SlotName, driver_mailbox,
};
use farcall_services::directory::{self, DirectoryHandle};
use farcall_services::placement::{self, PlacementHandle};
use farcall_services::transports::{self, TransportsHandle};

pub use options::Settings;

/// The slot that the plugin fills.
pub const SLOT: SlotName = "metaserver";
const NAME: &str = "metaserver";

/// The plugin, for a binary's list.
pub fn plugin() -> PluginDescription {
    PluginDescription {
        name: NAME,
        provides: &[SLOT],
        needs: &[placement::SLOT, directory::SLOT, transports::SLOT],
        uses: &[],
        options: include_str!("options.toml"),
        construct,
    }
}

fn construct(options: &Options) -> Result<Box<dyn Plugin>> {
    Ok(Box::new(Metaserver { settings: Settings::read(options)? }))
}

struct Metaserver {
    settings: Settings,
}

impl Plugin for Metaserver {
    fn start(self: Box<Self>, context: PluginContext) -> Result<RunningPlugin> {
        // What the driver asks itself has places beside those of clients.
        let own = self.settings.join.len() + self.settings.members.len() + 8;
        let messages_max = self.settings.requests_max.saturating_add(own);
        let (sender, receiver, stop) = driver_mailbox(messages_max, driver::Message::Stop)?;
        let services = driver::Services {
            server: context.service::<PlacementHandle>(placement::SLOT)?,
            directory: context.service::<DirectoryHandle>(directory::SLOT)?,
            transports: context.service::<TransportsHandle>(transports::SLOT)?,
        };
        services.server.serve(sender.port(driver::Message::Said))?;
        let driver = driver::Driver::new(self.settings, services, sender, receiver);
        Ok(RunningPlugin::new(stop, move || driver.run()))
    }
}

/// Milliseconds of an option.
fn milliseconds(number: u64) -> Duration {
    Duration::from_millis(number)
}
