//! The store in a file of this host: what is written survives the death of the server, and not that
//! of the disk (README.md).

mod driver;
mod options;
pub mod state;
pub mod step;

use farcall_base::Result;
use farcall_kernel::{
    Options, Plugin, PluginContext, PluginDescription, RunningPlugin, parked_driver_mailbox,
};
use farcall_services::store::{SLOT, Sharing, StoreHandle};

pub use options::Settings;

/// The plugin's name.
pub const NAME: &str = "store-file";

/// Describes the plugin; `construct` is `|options| farcall_store_file::construct(options, notice)`.
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
/// `InvalidSource` for wrong options.
pub fn construct(options: &Options, notice: fn(&str)) -> Result<Box<dyn Plugin>> {
    Ok(Box::new(StoreFile { settings: Settings::read(options)?, notice }))
}

struct StoreFile {
    settings: Settings,
    notice: fn(&str),
}

impl Plugin for StoreFile {
    fn start(self: Box<Self>, _context: PluginContext) -> Result<RunningPlugin> {
        let StoreFile { settings, notice } = *self;
        let ((sender, receiver), stop) =
            parked_driver_mailbox(settings.requests_max, driver::Message::Stop)?;
        let name = match settings.folder.as_str() {
            "" => "the store of this host".to_owned(),
            folder => format!("the store in {folder}"),
        };
        let port = sender.port(driver::Message::Asked);
        let handle = StoreHandle::new(port, name, Sharing::ThisHost);
        // The file is opened with the first request: a server that keeps nothing has none.
        let driver = driver::Driver::new(settings, receiver, notice);
        Ok(RunningPlugin::new(stop, move || driver.run()).provides(SLOT, handle))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
