//! `farcall sim`: becomes the simulator, which is a program of its own beside this one.

use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use clap::Args;
use farcall_base::{Error, ErrorKind, Result};
use farcall_publishing::installation::program_directory;

/// Runs a study of placement in virtual time.
#[derive(Args)]
pub struct SimArguments {
    /// Study: sites, links, servers, clients and faults
    #[arg(value_name = "PLAN.toml")]
    plan: PathBuf,
    /// Seed of the run [default: the plan's]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Print a row for each call as CSV
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

/// Becomes the simulator; comes back only where that does not start.
pub fn sim(arguments: &SimArguments) -> Result<ExitCode> {
    let program = program_directory().join("../libexec/farcall-sim");
    let mut command = Command::new(&program);
    command.arg("study").arg(&arguments.plan);
    command.args(arguments.seed.map(|seed| seed.to_string()));
    command.args(arguments.csv.then_some("--csv"));
    command.args(arguments.json.then_some("--json"));
    let failed = command.exec();
    Err(Error::new(ErrorKind::Unavailable, "run a study", "the simulator does not start")
        .with("program", program.display().to_string())
        .fix("install all of Farcall again: farcall-sim belongs in libexec beside bin")
        .source(failed))
}
