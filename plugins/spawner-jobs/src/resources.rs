//! What each executable of a job is given (spec/call.md, section 12): what its calls ask for, or
//! the manifest says, within what the manifest lets them have. Pure.

use std::time::Duration;

use farcall_base::{Bytes, Error, Resources, Result};
use farcall_services::spawner::{beyond, counted};
use serde::Deserialize;

use crate::state::LauncherSettings;

/// Minutes of a job beside the time that one run takes: so it has time to start, and short calls
/// share it.
const SPARE_MINUTES: u64 = 5;
/// How long executables of such a job take calls after it began: a later call would be cut
/// short.
pub(crate) const TAKES_CALLS: Duration = Duration::from_secs((SPARE_MINUTES - 1) * 60);

/// The most that calls may ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(
    deny_unknown_fields,
    default,
    expecting = "a table, such as { cores = 16, memory_mb = 64000, gpus = 2, minutes = 600 }"
)]
pub(crate) struct Most {
    cores: Option<u32>,
    memory_mb: Option<u64>,
    gpus: Option<u32>,
    minutes: Option<u64>,
}

/// Whole minutes.
pub(crate) fn minutes(time: Duration) -> u64 {
    u64::try_from(time.as_millis().div_ceil(60_000)).unwrap_or(u64::MAX)
}

/// Whole megabytes.
pub(crate) fn megabytes(memory: Bytes) -> u64 {
    memory.0.div_ceil(1 << 20)
}

/// How long the job of one run is, in minutes.
pub(crate) fn job_minutes(run: Duration) -> u64 {
    minutes(run) + SPARE_MINUTES
}

/// What an executable of this launcher is given.
pub(crate) fn of(
    launcher: &str,
    settings: &LauncherSettings,
    asked: Resources,
) -> Result<Resources> {
    check(&settings.resources_max, asked).map_err(|error| error.with("launcher", launcher))?;
    let own = Resources { cores: settings.cores, gpus: settings.gpus, ..Resources::default() };
    Ok(asked.over(own).settled())
}

fn check(most: &Most, asked: Resources) -> Result<()> {
    let refused = |asked: String, bound: String, fix| -> Result<()> {
        Err::<(), Error>(beyond(asked, bound, fix))
    };
    match (asked.cores, most.cores) {
        (Some(cores), Some(most)) if cores > most => refused(
            counted(cores, "core"),
            format!("resources_max.cores is {most}"),
            "ask for fewer, or raise resources_max.cores of the launcher in farcall.toml",
        )?,
        _ => {}
    }
    match (asked.gpus, most.gpus) {
        (Some(gpus), Some(most)) if gpus > most => refused(
            counted(gpus, "GPU"),
            format!("resources_max.gpus is {most}"),
            "ask for fewer, or raise resources_max.gpus of the launcher in farcall.toml",
        )?,
        _ => {}
    }
    match (asked.memory, most.memory_mb) {
        (Some(memory), Some(most)) if megabytes(memory) > most => refused(
            format!("{memory} of memory were"),
            format!("resources_max.memory_mb is {most}"),
            "ask for less, or raise resources_max.memory_mb of the launcher in farcall.toml",
        )?,
        _ => {}
    }
    match (asked.wall_time, most.minutes) {
        (Some(time), Some(most)) if minutes(time) > most => refused(
            format!("{} min were", minutes(time)),
            format!("resources_max.minutes is {most}"),
            "ask for less, or raise resources_max.minutes of the launcher in farcall.toml",
        ),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn calls_come_before_the_manifest_which_bounds_them() {
        let most = Most { cores: Some(8), memory_mb: Some(4096), gpus: Some(1), minutes: Some(60) };
        let settings = LauncherSettings {
            cores: Some(2),
            gpus: Some(1),
            resources_max: most,
            ..LauncherSettings::default()
        };
        let given = |text: &str| of("slurm", &settings, text.parse().unwrap());
        assert_eq!(given("").unwrap().to_string(), "cores=2, gpus=1");
        assert_eq!(given("cores=8, gpus=0").unwrap().to_string(), "cores=8");
        for (text, words) in [
            ("cores=9", "9 cores were requested, and resources_max.cores is 8"),
            ("gpus=2", "2 GPUs were requested, and resources_max.gpus is 1"),
            ("memory=5 GB", "5 GiB of memory were requested, and resources_max.memory_mb is 4096"),
            ("wall_time=61 min", "61 min were requested, and resources_max.minutes is 60"),
        ] {
            let error = given(text).unwrap_err().to_string();
            assert!(error.contains(words) && error.contains("farcall.toml"), "{error}");
        }
    }

    #[test]
    fn times_are_rounded_up() {
        let minutes = |seconds: f64| minutes(Duration::from_secs_f64(seconds));
        assert_eq!([0.1, 59.0, 60.0, 60.5, 3600.0].map(minutes), [1, 1, 1, 2, 60]);
        assert_eq!(job_minutes(Duration::from_secs(1800)), 35);
    }
}
