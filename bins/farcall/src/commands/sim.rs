//! `farcall sim`: runs the simulator, which is a program of its own beside this one.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use clap::Args;
use farcall_base::{Error, ErrorKind, Result};
use farcall_publishing::installation::program_directory;

use crate::output::{print_content, tell};

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

/// Runs the simulator and prints what it found.
pub fn sim(arguments: &SimArguments) -> Result<ExitCode> {
    let program = program_directory().join("../libexec/farcall-sim");
    let mut command = Command::new(&program);
    command.arg("study").arg(&arguments.plan);
    command.args(arguments.seed.map(|seed| seed.to_string()));
    command.args(arguments.csv.then_some("--csv"));
    command.args(arguments.json.then_some("--json"));
    let ended = command.output().map_err(|failed| {
        Error::new(ErrorKind::Unavailable, "run a study", "the simulator does not start")
            .with("program", program.display().to_string())
            .fix("install all of Farcall again: farcall-sim belongs in libexec beside bin")
            .source(failed)
    })?;
    // Printed here: whoever reads may be slow, or gone, and this program knows how long to wait.
    print_content(&ended.stdout)?;
    if !ended.stderr.is_empty() {
        tell(String::from_utf8_lossy(&ended.stderr).trim_end());
    }
    let status = ended.status.code().and_then(|code| u8::try_from(code).ok());
    Ok(status.map_or(ExitCode::FAILURE, ExitCode::from))
}
