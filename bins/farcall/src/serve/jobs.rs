//! What jobs are asked for with on the command line: the account, where they run, and
//! what they get.

use std::collections::BTreeSet;

use clap::Args;
use farcall_base::{Error, ErrorKind, Result};
use farcall_client::far_settings::{count, megabytes, minutes};
use farcall_kernel::Manifest;
use farcall_services::spawner::JOBS_SLOT;
use farcall_spawner_jobs::Launchers;

use super::settings::toml_text;

/// Launchers that start programs as they are told, and give them nothing.
const WITHOUT_GPUS: [&str; 2] = ["local", "ssh"];

/// Options that are the same for `serve` and `connect`.
#[derive(Args, Clone, Debug, Default)]
pub struct JobArguments {
    /// Account that jobs are charged to
    #[arg(long, value_name = "NAME")]
    pub account: Option<String>,
    /// Partition or queue that jobs run in
    #[arg(long, value_name = "NAME")]
    pub partition: Option<String>,
    /// Time limit of a job: minutes, or 90m, 2h, 1d, 1-12:00:00
    #[arg(long, value_name = "TIME")]
    pub time_limit: Option<String>,
    /// Memory of each executable in a job: megabytes, or 500M, 8G
    #[arg(long, value_name = "MEMORY")]
    pub memory: Option<String>,
    /// GPUs of each executable in a batch system's job
    #[arg(long, value_name = "COUNT")]
    pub gpus: Option<String>,
}

impl JobArguments {
    fn is_empty(&self) -> bool {
        let all = [&self.account, &self.partition, &self.time_limit, &self.memory, &self.gpus];
        all.iter().all(|text| text.is_none())
    }

    /// Puts them over what the configuration file says of the launchers that are used.
    pub(super) fn put_over(&self, manifest: &mut Manifest, launchers: &[String]) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let options = manifest
            .plugins
            .iter()
            .find(|entry| entry.slot == JOBS_SLOT)
            .map(|entry| Launchers::read(&entry.options))
            .transpose()?
            .unwrap_or_default();
        let named = launchers.iter().map(|words| words.rsplit('=').next().unwrap_or_default());
        let used: BTreeSet<&str> = match launchers {
            [] => options.used().collect(),
            _ => named.collect(),
        };
        if used.is_empty() {
            let message =
                "account, partition and the like are for jobs, and no launcher starts any";
            return Err(Error::new(ErrorKind::InvalidArgument, "serve", message)
                .fix("add --launcher slurm, or connect to HOST/slurm"));
        }
        for launcher in used {
            for (option, setting) in self.settings(launcher)? {
                let text = format!("launchers.{}.{setting}", toml_text(launcher));
                manifest.override_options("spawner-jobs", option, &text)?;
            }
        }
        Ok(())
    }

    /// Each option that was given, and what it says of a launcher: `queue = "short"`.
    fn settings(&self, launcher: &str) -> Result<Vec<(&'static str, String)>> {
        let mut settings = Vec::new();
        if let Some(account) = &self.account {
            settings.push(("--account", format!("project = {}", toml_text(account))));
        }
        if let Some(partition) = &self.partition {
            settings.push(("--partition", format!("queue = {}", toml_text(partition))));
        }
        if let Some(time) = &self.time_limit {
            settings.push(("--time-limit", format!("minutes = {}", minutes(time)?)));
        }
        if let Some(memory) = &self.memory {
            settings.push(("--memory", format!("memory_mb = {}", megabytes(memory)?)));
        }
        if let Some(gpus) = &self.gpus {
            let gpus = count(gpus)?;
            if WITHOUT_GPUS.contains(&launcher) {
                let message = format!("launcher {launcher} knows of no GPUs");
                return Err(Error::new(ErrorKind::InvalidArgument, "serve", message)
                    .fix("use the launcher of a batch system: slurm, gridengine, pbs, lsf"));
            }
            settings.push(("--gpus", format!("gpus = {gpus}")));
        }
        Ok(settings)
    }
}
