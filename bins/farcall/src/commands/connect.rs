//! `farcall connect`: reaches a host by `ssh`, has a server there, and says how programs use it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use clap::Args;
use farcall_base::{Error, ErrorKind, Result};
use farcall_client::{Address, Client, ConnectOptions, FarSettings};

use crate::output::{at_most, end, print};
use crate::serve::JobArguments;

/// Time for all of it: `ssh` may ask for a password and a second factor.
const TIMEOUT: Duration = Duration::from_secs(300);

#[derive(Args)]
pub struct ConnectArguments {
    /// [USER@]HOST[:PORT] or a name from your ssh configuration; HOST/slurm runs the routines in
    /// Slurm jobs; or the address of a server that runs
    host: String,
    /// Stop the server this many seconds after its last client, kept call and lease of data; 0 stops
    /// it at once
    /// [default: $FARCALL_LINGER, or 600]
    #[arg(long, value_name = "SECONDS")]
    linger: Option<u64>,
    /// Also copy libfarcall.so to the host, so that its C compiler can link interface files that
    /// contain code
    #[arg(long)]
    library: bool,
    /// Copy this configuration file to the host, where the server that is started and later ones
    /// read it; '' removes it
    #[arg(long, value_name = "FILE")]
    config: Option<String>,
    #[command(flatten)]
    jobs: JobArguments,
    /// Module that a login shell loads before it starts the server there; may be repeated
    #[arg(long, value_name = "MODULE")]
    load: Vec<String>,
    /// Script there that a login shell reads before it starts the server
    #[arg(long, value_name = "SCRIPT")]
    source: Option<String>,
    /// Interpreter for Python files there, or the directory of its virtual environment
    #[arg(long, value_name = "PATH")]
    python: Option<String>,
}

impl ConnectArguments {
    /// What the server there is to be told, and to keep.
    fn settings(&self) -> Result<FarSettings> {
        let JobArguments { account, partition, time_limit, memory, gpus } = &self.jobs;
        let mut settings = FarSettings::default();
        for (name, value) in [
            ("config", &self.config),
            ("account", account),
            ("partition", partition),
            ("time-limit", time_limit),
            ("memory", memory),
            ("gpus", gpus),
            ("source", &self.source),
            ("python", &self.python),
        ] {
            value.iter().try_for_each(|value| settings.set(name, value))?;
        }
        self.load.iter().try_for_each(|module| settings.set("load", module))?;
        Ok(settings)
    }
}

/// An address as it is, and a host alone as one by ssh.
pub(super) fn address_of(given: &str) -> Result<Address> {
    let path = Path::new(given);
    // A folder may well have the name of a host. Clients of Python have the same rule.
    let is_file = path.exists() && !path.is_dir();
    let begins = ["unix:", "tcp:"].iter().any(|begin| given.starts_with(begin));
    let is_address = begins || is_file || given.contains("://");
    let text = if is_address { given.to_owned() } else { format!("ssh://{given}") };
    text.parse().map_err(|error| match is_address {
        true => error,
        false => Error::new(
            ErrorKind::InvalidArgument,
            "connect",
            format!("\"{given}\" is not a host"),
        )
        .fix(
            "write USER@HOST, HOST:PORT, [IPV6-ADDRESS]:PORT, or a host of your ssh configuration",
        ),
    })
}

/// Connects to the host, and prints what its server publishes.
pub fn connect(arguments: &ConnectArguments) -> Result<()> {
    let address = address_of(&arguments.host)?;
    let far = arguments.settings()?;
    let linger = arguments.linger.map(Duration::from_secs);
    let brings_library = arguments.library;
    let options = ConnectOptions {
        timeout: at_most(TIMEOUT),
        until: end(),
        linger,
        brings_library,
        far,
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
