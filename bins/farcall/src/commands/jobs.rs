//! `farcall jobs`: jobs of batch systems and other launchers that run a server's routines, and the
//! end of one.

use std::fmt::Write;
use std::time::Duration;

use clap::Args;
use farcall_base::{Error, ErrorKind, Result};
use farcall_client::{JobStatus, Order};
use serde_json::json;

use crate::connection::RunningServer;
use crate::output::{json_line, print};

/// Time for an answer.
const ANSWER_MAX: Duration = Duration::from_secs(60);

/// Lists jobs, or cancels one.
#[derive(Args)]
pub struct JobsArguments {
    #[command(flatten)]
    server: RunningServer,
    /// Print JSON, one job per line
    #[arg(long)]
    json: bool,
    /// Cancel this job and everything that runs in it; administrators only
    #[arg(long, value_name = "NUMBER")]
    cancel: Option<u64>,
}

/// Lists the jobs, or cancels the one that the option names.
pub fn jobs(arguments: &JobsArguments) -> Result<()> {
    let client = arguments.server.connect()?;
    if let Some(number) = arguments.cancel {
        return client.administer(Order::EndJob(number), ANSWER_MAX).map(drop);
    }
    let jobs = client.status(ANSWER_MAX)?.jobs.ok_or_else(|| {
        Error::new(
            ErrorKind::PermissionDenied,
            "list jobs",
            "only administrators of the server see them",
        )
        .fix("ask the server's administrator for the right: administer = true in farcall.toml")
    })?;
    match arguments.json {
        true => print(|out| out.write_all(jobs.iter().map(line).collect::<String>().as_bytes())),
        false => print(|out| out.write_all(table(&jobs).as_bytes())),
    }
}

fn line(job: &JobStatus) -> String {
    let object = json!({
        "number": job.number,
        "launcher": job.launcher,
        "id": job.id,
        "state": job.state,
        "text": job.text,
        "slots": job.slots,
        "running": job.running,
        "hosts": job.hosts,
        "age_seconds": job.age_us as f64 / 1e6,
    });
    json_line(&object) + "\n"
}

fn table(jobs: &[JobStatus]) -> String {
    if jobs.is_empty() {
        return "no jobs\n".to_owned();
    }
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{:>6}  {:<10}  {:<12}  {:<10}  {:>7}  {:>7}  {:>8}  HOSTS",
        "NUMBER", "LAUNCHER", "ID", "STATE", "SLOTS", "RUNNING", "AGE"
    );
    for job in jobs {
        let age = format!("{:.0} s", job.age_us as f64 / 1e6);
        let hosts = job.hosts.join(",");
        let JobStatus { launcher, id, state, .. } = job;
        let _ = writeln!(
            text,
            "{:>6}  {launcher:<10}  {id:<12}  {state:<10}  {:>7}  {:>7}  {age:>8}  {hosts}",
            job.number, job.slots, job.running
        );
        if !job.text.is_empty() {
            let _ = writeln!(text, "        {}", job.text);
        }
    }
    text
}
