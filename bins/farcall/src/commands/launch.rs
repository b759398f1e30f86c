//! `farcall launch`: the arguments of a launcher.

use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use farcall_base::Result;
use farcall_launcher::Settings;
use farcall_launching::{Place, fresh_name, guard};

/// Where jobs run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// As processes on this host
    Local,
    /// On hosts that the user's ssh reaches
    Ssh,
    /// On nodes that Slurm assigns
    Slurm,
}

#[derive(Args)]
pub struct LaunchArguments {
    /// Where jobs run
    #[arg(value_enum)]
    kind: Kind,
    /// Slurm: shortest interval between queries of the queue
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = seconds)]
    interval_min: f64,
    /// Slurm: longest interval between queries of the queue
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0, value_parser = seconds)]
    interval_max: f64,
    /// Slurm: time after which a submitted job must appear in the queue
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0, value_parser = seconds)]
    settle: f64,
    /// Slurm: time limit of each command; half of it for queries
    #[arg(long, value_name = "SECONDS", default_value_t = 120.0, value_parser = seconds)]
    limit: f64,
    /// Slurm: cancel the waiting jobs of this name when standard input ends
    #[arg(long, value_name = "NAME", hide = true)]
    guard: Option<String>,
}

fn seconds(text: &str) -> std::result::Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.01..=86_400.0).contains(number));
    number.ok_or_else(|| "a number of seconds from 0.01 to 86400 is required".to_owned())
}

/// Serves requests until standard input ends, a signal comes or `EXIT` is asked for.
pub fn launch(arguments: &LaunchArguments) -> Result<ExitCode> {
    if let Some(name) = &arguments.guard {
        guard(name);
        return Ok(ExitCode::SUCCESS);
    }
    let place = match arguments.kind {
        Kind::Local => Place::Local,
        Kind::Ssh => Place::Ssh,
        Kind::Slurm => Place::Slurm(slurm_settings(arguments)?),
    };
    Ok(if farcall_launching::launch(place)? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn slurm_settings(arguments: &LaunchArguments) -> Result<Settings> {
    let mut settings = Settings::new(fresh_name()?);
    // `sacctmgr` is asked about this user; without a name, it is not asked.
    let user = ["LOGNAME", "USER"].iter().find_map(|name| std::env::var(name).ok());
    settings.user = user.unwrap_or_default();
    settings.interval_min = Duration::from_secs_f64(arguments.interval_min);
    settings.interval_max =
        Duration::from_secs_f64(arguments.interval_max.max(arguments.interval_min));
    settings.settle = Duration::from_secs_f64(arguments.settle);
    settings.limit = Duration::from_secs_f64(arguments.limit);
    Ok(settings)
}
