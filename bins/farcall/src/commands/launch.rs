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
    /// On nodes that Grid Engine assigns
    #[value(name = "gridengine")]
    GridEngine,
    /// On nodes that PBS assigns
    Pbs,
    /// On nodes that LSF assigns
    Lsf,
}

impl Kind {
    /// The name of the batch system.
    fn system(self) -> Option<&'static str> {
        match self {
            Kind::Local | Kind::Ssh => None,
            Kind::Slurm => Some("slurm"),
            Kind::GridEngine => Some("gridengine"),
            Kind::Pbs => Some("pbs"),
            Kind::Lsf => Some("lsf"),
        }
    }
}

#[derive(Args)]
pub struct LaunchArguments {
    /// Where jobs run
    #[arg(value_enum)]
    kind: Kind,
    /// Batch systems: shortest interval between queries of the queue
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = seconds)]
    interval_min: f64,
    /// Batch systems: longest interval between queries of the queue
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0, value_parser = seconds)]
    interval_max: f64,
    /// Batch systems: time after which a submitted job must appear in the queue
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0, value_parser = seconds)]
    settle: f64,
    /// Batch systems: time limit of each command; half of it for queries
    #[arg(long, value_name = "SECONDS", default_value_t = 120.0, value_parser = seconds)]
    limit: f64,
    /// Batch systems: cancel the waiting jobs of this name when standard input ends
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
        guard(arguments.kind.system().unwrap_or_default(), name);
        return Ok(ExitCode::SUCCESS);
    }
    let place = match (arguments.kind, arguments.kind.system()) {
        (Kind::Ssh, _) => Place::Ssh,
        (_, Some(system)) => {
            // The accounting is asked about this user; without a name, it is not asked.
            let user = ["LOGNAME", "USER"].iter().find_map(|name| std::env::var(name).ok());
            let user = user.unwrap_or_default();
            Place::Batch { system: system.to_owned(), user, settings: settings(arguments)? }
        }
        _ => Place::Local,
    };
    Ok(if farcall_launching::launch(place)? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn settings(arguments: &LaunchArguments) -> Result<Settings> {
    let mut settings = Settings::new(fresh_name()?);
    settings.interval_min = Duration::from_secs_f64(arguments.interval_min);
    settings.interval_max =
        Duration::from_secs_f64(arguments.interval_max.max(arguments.interval_min));
    settings.settle = Duration::from_secs_f64(arguments.settle);
    settings.limit = Duration::from_secs_f64(arguments.limit);
    Ok(settings)
}
