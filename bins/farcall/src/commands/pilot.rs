//! `farcall pilot`: the program of a job.

use std::path::PathBuf;

use clap::Args;
use farcall_base::Result;
use farcall_pilot::Way;

use super::explain;

#[derive(Args)]
pub struct PilotArguments {
    /// File that describes how to reach the server
    #[arg(long, value_name = "FILE")]
    ticket: PathBuf,
    /// Reach the server through standard input and output, which the launcher relays
    #[arg(long)]
    stdio: bool,
}

/// Serves until the server says that it is enough, or is gone.
pub fn pilot(arguments: &PilotArguments) -> Result<()> {
    let way = if arguments.stdio { Way::Streams(explain) } else { Way::Dial };
    farcall_pilot::pilot(&arguments.ticket, way, farcall_spawner_local::plugin())
}
