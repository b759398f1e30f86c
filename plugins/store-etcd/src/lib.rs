//! The store in etcd, by the JSON gateway of its members: several nodes share it, and it survives the
//! loss of a host (README.md).

mod driver;
mod options;
pub mod state;
pub mod step;

use farcall_base::Result;
use farcall_kernel::{
    Options, Plugin, PluginContext, PluginDescription, RunningPlugin, driver_mailbox,
};
use farcall_services::store::{SLOT, Sharing, StoreHandle};

use driver::World;
pub use options::Settings;

/// The plugin's name.
pub const NAME: &str = "store-etcd";

/// Describes the plugin; `construct` is `|options| farcall_store_etcd::construct(options, notice)`.
pub fn plugin(construct: fn(&Options) -> Result<Box<dyn Plugin>>) -> PluginDescription {
    PluginDescription {
        name: NAME,
        provides: &[SLOT],
        needs: &[],
        uses: &[],
        options: include_str!("options.toml"),
        construct,
    }
}

/// Makes the plugin; `notice` says something to the user that runs the server.
///
/// # Errors
/// `InvalidSource` for wrong options, and what is wrong with the files that they name.
pub fn construct(options: &Options, notice: fn(&str)) -> Result<Box<dyn Plugin>> {
    let settings = Settings::read(options)?;
    let world = World::new(&settings, notice)?;
    Ok(Box::new(StoreEtcd { settings, world }))
}

struct StoreEtcd {
    settings: Settings,
    world: World,
}

impl Plugin for StoreEtcd {
    fn start(self: Box<Self>, _context: PluginContext) -> Result<RunningPlugin> {
        let StoreEtcd { settings, world } = *self;
        let (sender, receiver, stop) =
            driver_mailbox(settings.requests_max, driver::Message::Stop)?;
        let name = format!("the store in etcd at {}", settings.endpoints.join(", "));
        let port = sender.port(driver::Message::Asked);
        let handle = StoreHandle::new(port, name, Sharing::Shared);
        let run = move || driver::run(settings, world, receiver);
        Ok(RunningPlugin::new(stop, run).provides(SLOT, handle))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
