//! `farcall relay`: the program that a client's `ssh` runs on the host.

use clap::Args;
use farcall_base::Result;
use farcall_relay::Wish;

use crate::output::output;
use farcall_publishing::shipped;

#[derive(Args)]
pub struct RelayArguments {
    /// First word of the status line
    #[arg(long)]
    mark: String,
    /// Name of the server: clients that use the same name share it
    #[arg(long)]
    name: String,
    /// Seconds that the server keeps running without a client
    #[arg(long)]
    linger: u64,
    /// How the client names the server, for messages
    #[arg(long)]
    address: Option<String>,
    /// Launcher that runs the server's routines, if not the host itself
    #[arg(long)]
    launcher: Option<String>,
    /// Setting of a server that is started, NAME=VALUE; may be repeated
    #[arg(long)]
    setting: Vec<String>,
    /// A configuration file was copied here
    #[arg(long)]
    config_came: bool,
    /// Use a running server only and start none: set by a relay on another host
    #[arg(long)]
    hopped: bool,
}

/// Says how it went in one line, then waits until either end is over.
pub fn relay(arguments: &RelayArguments) -> Result<()> {
    let RelayArguments { mark, name, linger, address, launcher, setting, config_came, hopped } =
        arguments;
    let wish = Wish {
        mark: mark.clone(),
        name: name.clone(),
        linger: *linger,
        address: address.clone(),
        launcher: launcher.clone(),
        settings: setting.clone(),
        config_came: *config_came,
        hopped: *hopped,
        environment: || match shipped::is_installed() {
            true => Ok(None),
            false => Ok(Some((shipped::ROUTINES_VARIABLE, shipped::unpack()?))),
        },
    };
    farcall_relay::relay(&wish, output())
}
