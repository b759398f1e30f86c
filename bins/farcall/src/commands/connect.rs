//! `farcall connect`: reaches a host by `ssh`, has a server there, and says how programs use it.

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Args;
use farcall_base::{Error, ErrorKind, Result};
use farcall_client::{Address, Client, ConnectOptions};

use crate::output::{at_most, end, print};

/// Time for all of it: `ssh` may ask for a password and a second factor.
const TIMEOUT: Duration = Duration::from_secs(300);

#[derive(Args)]
pub struct ConnectArguments {
    /// [USER@]HOST[:PORT] or a name from your ssh configuration; HOST/slurm runs the routines in
    /// Slurm jobs
    host: String,
    /// Stop the server this many seconds after its last client and kept call; 0 stops it at once
    /// [default: $FARCALL_LINGER, or 600]
    #[arg(long, value_name = "SECONDS")]
    linger: Option<u64>,
    /// Also copy libfarcall.so to the host, so that its C compiler can link interface files that
    /// contain code
    #[arg(long)]
    library: bool,
}

/// Connects to the host, and prints what its server publishes.
pub fn connect(arguments: &ConnectArguments) -> Result<()> {
    let text = match arguments.host.strip_prefix("ssh://") {
        Some(_) => arguments.host.clone(),
        None => format!("ssh://{}", arguments.host),
    };
    let address: Address = text.parse().map_err(|_| {
        Error::new(
            ErrorKind::InvalidArgument,
            "connect",
            format!("\"{}\" is not a host", arguments.host),
        )
        .fix("write USER@HOST, HOST:PORT, [IPV6-ADDRESS]:PORT, or a host of your ssh configuration")
    })?;
    let linger = arguments.linger.map(Duration::from_secs);
    let brings_library = arguments.library;
    let options = ConnectOptions {
        timeout: at_most(TIMEOUT),
        until: end(),
        linger,
        brings_library,
        ..ConnectOptions::default()
    };
    let client = Client::connect_with(&address, &options)?;
    let mut modules: BTreeMap<String, usize> = BTreeMap::new();
    for routine in client.routines()? {
        let module = routine.name().split('/').next().unwrap_or_default().to_owned();
        *modules.entry(module).or_default() += 1;
    }
    let all: Vec<String> =
        modules.iter().map(|(name, count)| format!("{name} ({count})")).collect();
    print(|out| {
        writeln!(out, "{} serves {}", client.address(), all.join(", "))?;
        writeln!(out, "programs and commands use it with")?;
        writeln!(out, "    export FARCALL_SERVER={}", client.address())
    })
}
