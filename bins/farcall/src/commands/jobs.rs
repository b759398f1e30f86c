//! `farcall jobs`: jobs of batch systems and other launchers that run a server's routines, and the
//! end of one.

use std::fmt::Write;
use std::time::Duration;

use clap::Args;
use farcall_base::{Error, ErrorKind, Result};
use farcall_client::{ByServer, JobStatus, Order, Status};
use serde_json::json;

use crate::connection::{ChosenServer, check_all_answered};
use crate::output::{json_line, of_servers, print};

/// Time for an answer.
const ANSWER_MAX: Duration = Duration::from_secs(60);

/// Lists jobs, or cancels one.
#[derive(Args)]
pub struct JobsArguments {
    #[command(flatten)]
    server: ChosenServer,
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
        if arguments.server.is_one_of_several(&client)? {
            return Err(whose(number));
        }
        return client.administer(Order::EndJob(number), ANSWER_MAX).map(drop);
    }
    let ByServer { answers, unanswered } = arguments.server.statuses(&client, ANSWER_MAX)?;
    let shown = |(server, status): (String, Status)| Some((server, status.jobs?));
    let jobs: Vec<(String, Vec<JobStatus>)> = answers.into_iter().filter_map(shown).collect();
    if jobs.is_empty() {
        return Err(refused());
    }
    match arguments.json {
        true => print(|out| out.write_all(lines(&jobs).as_bytes()))?,
        false => print(|out| out.write_all(tables(&jobs).as_bytes()))?,
    }
    check_all_answered(&unanswered)
}

fn refused() -> Error {
    let message = "only administrators of the server see them";
    Error::new(ErrorKind::PermissionDenied, "list jobs", message)
        .fix("ask the server's administrator for the right: administer = true in farcall.toml")
}

/// Each server numbers its jobs from 1.
fn whose(number: u64) -> Error {
    let message = format!("several servers may have a job {number}");
    Error::new(ErrorKind::InvalidArgument, "cancel a job", message)
        .fix("name the server: --at ADDRESS, as `farcall jobs` lists it")
}

fn lines(jobs: &[(String, Vec<JobStatus>)]) -> String {
    let of_server = |(server, jobs): &(String, Vec<JobStatus>)| {
        jobs.iter().map(|job| line(server, job)).collect::<String>()
    };
    jobs.iter().map(of_server).collect()
}

/// A table for each server that has jobs.
fn tables(jobs: &[(String, Vec<JobStatus>)]) -> String {
    let jobs = jobs.iter().map(|(server, jobs)| (server.as_str(), jobs.is_empty(), table(jobs)));
    of_servers(&jobs.collect::<Vec<_>>())
}

fn line(server: &str, job: &JobStatus) -> String {
    let object = json!({
        "server": server,
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
