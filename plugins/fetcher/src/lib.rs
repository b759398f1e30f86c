//! Fetches array arguments that callers name by URL, from the sources that the manifest allows
//! (README.md).

mod driver;
mod fetch;
mod source;
mod state;
mod step;

use farcall_base::Result;
use farcall_kernel::{
    Options, Plugin, PluginContext, PluginDescription, RunningPlugin, driver_mailbox,
};
use farcall_services::fetcher::{FetcherHandle, SLOT};

use source::Rules;
use state::{Limits, State};

const NAME: &str = "fetcher";

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
        ("at_once_max", limits.at_once_max as u64, 1),
        ("waiting_max", limits.waiting_max as u64, 1),
        ("timeout_ms", limits.timeout_ms, 1),
    ])?;
    let rules = Rules::new(&limits.allow).map_err(|message| options.wrong("allow", message))?;
    let agent = fetch::agent(&limits).map_err(|message| options.wrong("certificates", message))?;
    Ok(Box::new(Fetcher { limits, rules, agent }))
}

struct Fetcher {
    limits: Limits,
    rules: Rules,
    agent: ureq::Agent,
}

impl Plugin for Fetcher {
    fn start(self: Box<Self>, _context: PluginContext) -> Result<RunningPlugin> {
        let Fetcher { limits, rules, agent } = *self;
        // Those that are fetched have a place for their end, beside those that ask.
        let messages_max = limits.waiting_max.saturating_add(limits.at_once_max);
        let (sender, receiver, stop) = driver_mailbox(messages_max, driver::Message::Stop)?;
        let handle = FetcherHandle::new(sender.port(driver::Message::Question));
        let world = fetch::World {
            agent,
            bytes_max: limits.file_bytes_max(),
            timeout_ms: limits.timeout_ms,
        };
        let state = State::new(limits, rules);
        let run = move || driver::run(state, world, &sender, receiver);
        Ok(RunningPlugin::new(stop, run).provides(SLOT, handle))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
