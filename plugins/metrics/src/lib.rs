//! Shows what the server counts to Prometheus, over HTTP (README.md).

mod driver;
mod process;
mod state;
mod step;
mod text;

use std::net::{SocketAddr, TcpListener};

use farcall_base::{Error, Result};
use farcall_kernel::{
    Options, Plugin, PluginContext, PluginDescription, RunningPlugin, SlotName, driver_mailbox,
};
use farcall_services::status::{self, StatusHandle};

use state::Limits;

/// The slot that the plugin fills.
pub const SLOT: SlotName = "metrics";
const NAME: &str = "metrics";

/// What the plugin tells its binary.
#[derive(Clone, Debug)]
pub struct MetricsHandle {
    /// Where it listens, if it does.
    pub address: Option<SocketAddr>,
}

/// The plugin, for a binary's list.
pub fn plugin() -> PluginDescription {
    PluginDescription {
        name: NAME,
        provides: &[SLOT],
        needs: &[status::SLOT],
        uses: &[],
        options: include_str!("options.toml"),
        construct,
    }
}

fn construct(options: &Options) -> Result<Box<dyn Plugin>> {
    let limits: Limits = options.read()?;
    options.check_least(&[
        ("clients_max", limits.clients_max as u64, 1),
        ("request_bytes_max", limits.request_bytes_max as u64, 64),
        ("patience_ms", limits.patience_ms, 1),
    ])?;
    let address = address(&limits).map_err(|message| options.wrong("listen", message))?;
    Ok(Box::new(Metrics { limits, address }))
}

/// Where to listen, if anywhere.
fn address(limits: &Limits) -> std::result::Result<Option<SocketAddr>, String> {
    if limits.listen.is_empty() {
        return Ok(None);
    }
    let address: SocketAddr = limits.listen.parse().map_err(|_| {
        format!("\"{}\" is not an address and port such as \"127.0.0.1:9464\"", limits.listen)
    })?;
    if address.ip().is_loopback() || limits.beyond_loopback {
        return Ok(Some(address));
    }
    Err(format!(
        "other hosts can reach {address} and read the names of users and routines: listen on \
        127.0.0.1, or set beyond_loopback = true"
    ))
}

struct Metrics {
    limits: Limits,
    address: Option<SocketAddr>,
}

impl Plugin for Metrics {
    fn start(self: Box<Self>, context: PluginContext) -> Result<RunningPlugin> {
        let (sender, receiver, stop) =
            driver_mailbox(self.limits.clients_max, driver::Message::Stop)?;
        let listener = self.address.map(listen).transpose()?;
        let address = listener.as_ref().and_then(|listener| listener.local_addr().ok());
        let status = context.service::<StatusHandle>(status::SLOT)?;
        let driver = driver::Driver::new(self.limits, listener, status, sender, receiver);
        Ok(RunningPlugin::new(stop, move || driver.run()).provides(SLOT, MetricsHandle { address }))
    }
}

fn listen(address: SocketAddr) -> Result<TcpListener> {
    let listening =
        TcpListener::bind(address).and_then(|one| one.set_nonblocking(true).map(|()| one));
    listening.map_err(|error| {
        Error::system("listen for metrics", error)
            .with("listen", address)
            .fix("set another address and port in listen of the plugin metrics in farcall.toml")
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
