//! An example of a plugin that calls a routine of another node (README.md).

mod driver;
mod state;
mod step;

use std::time::Duration;

use farcall_base::Result;
use farcall_kernel::{
    Options, Plugin, PluginContext, PluginDescription, RunningPlugin, SlotName, driver_mailbox,
};
use farcall_services::mailbox::{Port, Reply};
use farcall_services::transports::{self, TransportsHandle};
use serde::Deserialize;

/// The slot that the plugin fills.
pub const SLOT: SlotName = "example-caller";
const NAME: &str = "example-caller";

/// A number on its way, with the address of the answer.
pub struct Question {
    number: f64,
    reply: Reply<f64>,
}

/// Asks the routine.
#[derive(Clone)]
pub struct ExampleHandle {
    port: Port<Question>,
}

impl ExampleHandle {
    /// What the routine makes of a number; whatever happens arrives at `reply`: what the other node
    /// says, or why it is not to be reached.
    pub fn ask(&self, number: f64, reply: Reply<f64>) {
        // A question that is refused answers itself with the reason.
        drop(self.port.try_send(Question { number, reply }));
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Limits {
    address: String,
    routine: String,
    patience_ms: u64,
    questions_max: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            address: String::new(),
            routine: String::new(),
            patience_ms: 10_000,
            questions_max: 64,
        }
    }
}

impl Limits {
    fn patience(&self) -> Duration {
        Duration::from_millis(self.patience_ms)
    }
}

/// The plugin, for a binary's list.
pub fn plugin() -> PluginDescription {
    PluginDescription {
        name: NAME,
        provides: &[SLOT],
        needs: &[transports::SLOT],
        uses: &[],
        options: include_str!("options.toml"),
        construct,
    }
}

fn construct(options: &Options) -> Result<Box<dyn Plugin>> {
    let limits: Limits = options.read()?;
    options.check_least(&[
        ("patience_ms", limits.patience_ms, 1),
        ("questions_max", limits.questions_max as u64, 1),
    ])?;
    Ok(Box::new(Example { limits }))
}

struct Example {
    limits: Limits,
}

impl Plugin for Example {
    fn start(self: Box<Self>, context: PluginContext) -> Result<RunningPlugin> {
        let (sender, receiver, stop) =
            driver_mailbox(self.limits.questions_max, driver::Message::Stop)?;
        let transports = context.service::<TransportsHandle>(transports::SLOT)?;
        let port = sender.port(driver::Message::Asked);
        let driver = driver::Driver::new(self.limits, transports, receiver);
        Ok(RunningPlugin::new(stop, move || driver.run()).provides(SLOT, ExampleHandle { port }))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use farcall_kernel::Manifest;

    #[test]
    fn the_text_of_the_options_is_their_default() {
        let manifest = Manifest::of(&[super::plugin()]).unwrap();
        let options = &manifest.plugins[0].options;
        let read: super::Limits = options.read().unwrap();
        assert_eq!(format!("{read:?}"), format!("{:?}", super::Limits::default()));
    }
}
