//! `farcall relay`: what a client's `ssh` becomes on the far side.

use clap::Args;
use farcall_base::Result;
use farcall_relay::Wish;

use crate::output::output;
use farcall_publishing::shipped;

#[derive(Args)]
pub struct RelayArguments {
    /// What the line begins with that says how it went
    #[arg(long)]
    mark: String,
    /// Which server: clients of the same name share one
    #[arg(long)]
    name: String,
    /// For how long it stays without a client, in seconds
    #[arg(long)]
    linger: u64,
    /// What is to run its routines, if it is not that host itself
    #[arg(long)]
    launcher: Option<String>,
    /// Take a server that is there, and begin none: a relay of another host asks
    #[arg(long)]
    hopped: bool,
}

/// Says how it went in one line, then waits until either end is over.
pub fn relay(arguments: &RelayArguments) -> Result<()> {
    let RelayArguments { mark, name, linger, launcher, hopped } = arguments;
    let wish = Wish {
        mark: mark.clone(),
        name: name.clone(),
        linger: *linger,
        launcher: launcher.clone(),
        hopped: *hopped,
        environment: || match shipped::is_installed() {
            true => Ok(None),
            false => Ok(Some((shipped::ROUTINES_VARIABLE, shipped::unpack()?))),
        },
    };
    farcall_relay::relay(&wish, output())
}
