//! Slurm's commands with their options. Formats are named explicitly: a site's defaults are its
//! own.

use std::time::Duration;

use crate::action::Command;
use crate::job::Job;

use super::script::script;
use crate::batch::system::command;

/// Options that would have `sbatch` do something else than submit one job from its input, and end.
const NOT_FOR_JOBS: [&str; 5] = ["--array", "--wait", "--wrap", "--test-only", "--help"];

/// Whether a user may not add an option. Slurm takes any beginning of a long name that no other
/// name has.
pub fn is_ours(option: &str) -> bool {
    let name = option.split('=').next().unwrap_or_default();
    let is_long = |long: &str| name.len() > 4 && long.starts_with(name);
    let is_short = |letter: &str| !name.starts_with("--") && name.starts_with(letter);
    NOT_FOR_JOBS.iter().any(|long| is_long(long))
        || ["-a", "-W", "-h", "-V"].into_iter().any(is_short)
}

/// Submits a job. What the user adds stands first, so that it cannot undo how we find the job
/// again.
pub fn sbatch(job: &Job, name: &str, number: u64) -> Command {
    // Tickets are good once. A node that dies takes what runs on it, and not the job; but MPI's
    // processes are nothing without one of them, and cannot be started again on what is left.
    let kept = (!job.shape.is_mpi()).then_some("--no-kill");
    let mut words: Vec<String> =
        ["sbatch"].into_iter().chain(kept).chain(["--no-requeue"]).map(str::to_owned).collect();
    words.extend(job.resources.options.iter().cloned());
    let mut option =
        |name: &str, value: &dyn std::fmt::Display| words.push(format!("--{name}={value}"));
    option("job-name", &name);
    option("comment", &number);
    option("ntasks", &job.shape.tasks());
    option("output", &job.program.stdout_file.as_deref().unwrap_or("/dev/null"));
    option("error", &job.program.stderr_file.as_deref().unwrap_or("/dev/null"));
    option("open-mode", &"append");
    for (name, value) in [("nodes", job.resources.host_count), ("time", job.resources.minutes_max)]
    {
        value.iter().for_each(|value| option(name, value));
    }
    let slot = &job.resources.slot;
    match slot.memory_mb {
        // Of each processor, so that it is the slots' wherever they are.
        Some(memory) => {
            let each = memory.div_ceil(job.resources.processors_by_task());
            option("mem-per-cpu", &format!("{each}M"));
        }
        None => {
            job.resources.memory_mb.iter().for_each(|memory| option("mem", &format!("{memory}M")))
        }
    }
    slot.cores.iter().for_each(|cores| option("cpus-per-task", cores));
    if let Some(gpus) = slot.gpus {
        // All GPUs of a job are those of its first node's program; MPI finds those of each rank.
        if !job.shape.is_mpi() {
            option("nodes", &1);
        }
        if slot.gpu_option.is_none() {
            option("gpus-per-task", &gpus);
        }
    }
    for (name, value) in [
        ("partition", &job.resources.queue_name),
        ("account", &job.resources.project),
        ("chdir", &job.program.work_directory),
    ] {
        value.iter().for_each(|value| option(name, value));
    }
    let own = slot.gpus.and_then(|gpus| slot.site_option(gpus));
    words.extend(own);
    words.push("--parsable".to_owned());
    Command { words, input: script(job, number), limit: Duration::ZERO }
}

/// All jobs of this launcher, in one question: `id|state|nodes|comment|start|reason`.
pub fn squeue(name: &str) -> Command {
    let name = format!("--name={name}");
    command(["squeue", "--noheader", "--all", "--states=all", &name, "--format=%i|%T|%D|%k|%S|%r"])
}

/// Whoever waits, the next first: `id|partition`.
pub fn waiting() -> Command {
    command(["squeue", "--noheader", "--states=PENDING", "--sort=-p,i", "--format=%i|%P"])
}

/// Cancels one job.
pub fn scancel(id: &str) -> Command {
    command(["scancel", id])
}

/// Cancels whatever this launcher ever submitted.
pub fn scancel_all(name: &str) -> Command {
    command(["scancel", &format!("--name={name}")])
}

/// Cancels what a launcher of this name submitted and Slurm has not begun.
pub fn cancel_waiting(name: &str) -> Command {
    command(["scancel", "--state=PENDING", &format!("--name={name}")])
}

/// The ids of what [`cancel_waiting`] would cancel.
pub fn list_waiting(name: &str) -> Command {
    let name = format!("--name={name}");
    command(["squeue", "--noheader", "--all", "--states=PENDING", &name, "--format=%i"])
}

/// What the controller knows of a job.
pub fn scontrol(id: &str) -> Command {
    command(["scontrol", "--oneliner", "show", "job", id])
}

/// All partitions, one in a line.
pub fn partitions() -> Command {
    command(["scontrol", "--oneliner", "show", "partition"])
}

/// What the accounts of a user allow: `account|partition|default QOS|per job|of the group|time`.
pub fn associations(user: &str) -> Command {
    let user = format!("user={user}");
    let format = "format=Account,Partition,DefaultQOS,MaxTRES,GrpTRES,MaxWall";
    command(["sacctmgr", "--noheader", "--parsable2", "show", "associations", &user, format])
}

/// What each quality of service allows: `name|per job|of the group|time`.
pub fn qualities() -> Command {
    let format = "format=Name,MaxTRES,GrpTRES,MaxWall";
    command(["sacctmgr", "--noheader", "--parsable2", "show", "qos", format])
}

/// What the site's accounting knows of it.
pub fn sacct(id: &str) -> Command {
    let id = format!("--jobs={id}");
    command(["sacct", &id, "--noheader", "--parsable2", "--allocations", "--format=State,ExitCode"])
}
