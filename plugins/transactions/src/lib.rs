//! Runs transactions: graphs of calls, which go where they end first and survive faults (README.md).

mod driver;
mod options;
pub mod state;
pub mod step;

use farcall_base::Result;
use farcall_kernel::{
    Options, Plugin, PluginContext, PluginDescription, RunningPlugin, SlotName, driver_mailbox,
};
use farcall_services::store::{self, StoreHandle};
use farcall_services::transactions::{self, TransactionsHandle};
use farcall_services::transports::{self, TransportsHandle};

pub use options::Settings;

/// The slot that the plugin fills.
pub const SLOT: SlotName = "transactor";
const NAME: &str = "transactions";

/// The plugin, for a binary's list.
pub fn plugin() -> PluginDescription {
    PluginDescription {
        name: NAME,
        provides: &[SLOT],
        needs: &[transactions::SLOT, transports::SLOT],
        uses: &[store::SLOT],
        options: include_str!("options.toml"),
        construct,
    }
}

fn construct(options: &Options) -> Result<Box<dyn Plugin>> {
    Ok(Box::new(Transactions { settings: Settings::read(options)? }))
}

struct Transactions {
    settings: Settings,
}

impl Plugin for Transactions {
    fn start(self: Box<Self>, context: PluginContext) -> Result<RunningPlugin> {
        let (sender, receiver, stop) =
            driver_mailbox(self.settings.requests_max, driver::Message::Stop)?;
        let services = driver::Services {
            server: context.service::<TransactionsHandle>(transactions::SLOT)?,
            transports: context.service::<TransportsHandle>(transports::SLOT)?,
        };
        let store = context.service_if_there::<StoreHandle>(store::SLOT)?;
        let keys = driver::keys();
        services.server.serve(sender.port(driver::Message::Said), keys.here)?;
        let mut driver = driver::Driver::new(self.settings, keys, services, sender, receiver);
        if let Some(store) = store {
            driver.keep_in(store, &context.node)?;
        }
        Ok(RunningPlugin::new(stop, move || driver.run()))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
