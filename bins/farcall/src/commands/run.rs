//! `farcall run`: starts the members of a wide-area program, and prints what they found.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use farcall_base::{Error, ErrorKind, Result};
use farcall_publishing::installation::program_directory;
use farcall_runner::{Run, Tiers, find_platform, find_program};

use super::call::seconds;
use crate::output::{json_line, print};

/// Runs a wide-area program in virtual time: the same program once per member of a platform.
#[derive(Args)]
pub struct RunArguments {
    /// Sites, links and costs: a file, or the bare name of a platform that comes with Farcall
    #[arg(long, value_name = "PLATFORM")]
    platform: String,
    /// Run in virtual time: the network is simulated, and work costs what the platform says
    #[arg(long = "virtual")]
    is_virtual: bool,
    /// Members of each site, such as 4x15 or 3+10+22 [default: the platform's]
    #[arg(long, value_name = "SITES")]
    sites: Option<String>,
    /// Whether what members share knows the sites; auto: where there are several
    #[arg(long, value_name = "WHETHER", default_value = "auto")]
    tiers: TiersArgument,
    /// Seed of what members draw at random [default: the platform's]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Write a report as JSON: answer, time, messages and bytes
    #[arg(long, value_name = "FILE.json")]
    report: Option<PathBuf>,
    /// End the run after so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
    /// Program of the members, and its arguments
    #[arg(
        value_name = "PROGRAM",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    program: Vec<OsString>,
}

/// How things behave.
#[derive(Clone, Copy, ValueEnum)]
enum TiersArgument {
    Off,
    On,
    Auto,
}

/// Runs it, prints the answer, and writes the report.
pub fn run(arguments: &RunArguments) -> Result<()> {
    if !arguments.is_virtual {
        let message = "members run in virtual time only";
        return Err(Error::new(ErrorKind::InvalidArgument, "run a program", message)
            .fix("add --virtual, or start the program by hand, as a run of one member"));
    }
    let shipped = program_directory().join("../share/farcall/platforms");
    let mut platform = find_platform(&arguments.platform, &shipped)?;
    if let Some(sites) = &arguments.sites {
        platform = platform.with_sites(sites)?;
    }
    let mut words = arguments.program.iter().cloned();
    let programs = program_directory().join("../libexec/wide-area");
    let run = Run {
        program: find_program(&words.next().unwrap_or_default(), &programs),
        arguments: words.collect(),
        platform,
        tiers: match arguments.tiers {
            TiersArgument::Off => Tiers::Off,
            TiersArgument::On => Tiers::On,
            TiersArgument::Auto => Tiers::Auto,
        },
        seed: arguments.seed,
        timeout: arguments.timeout,
    };
    let report = run.virtually()?;
    if let Some(file) = &arguments.report {
        let text = format!("{}\n", json_line(&report.json()));
        std::fs::write(file, text).map_err(|error| {
            Error::system("write the report of a run", error).with("file", file.display())
        })?;
    }
    print(|out| match report.answer() {
        Some(answer) => writeln!(out, "answer: {}", farcall_base::printable(answer)),
        None => Ok(()),
    })
}
