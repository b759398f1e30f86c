//! What a launcher is asked for a job, line by line (spec/launcher.md).

use std::path::Path;

use crate::resources::{job_minutes, megabytes, minutes};
use crate::state::{Job, LauncherSettings, Purpose};

/// Longest value of a line.
const VALUE_BYTES_MAX: usize = 4096;

/// What a job's program is, and where its files lie.
pub(crate) struct Files<'a> {
    pub(crate) program: &'a Path,
    pub(crate) folder: &'a Path,
    pub(crate) ticket: &'a Path,
    pub(crate) output: &'a Path,
    pub(crate) host: &'a str,
    /// See `Gate::bridge`.
    pub(crate) bridge: Option<String>,
}

/// The lines of a JOB_CREATE. The memory of executables is said twice: a launcher that does not know
/// that of slots gives it to nodes.
pub(crate) fn create(
    number: u64,
    job: &Job,
    settings: &LauncherSettings,
    files: &Files<'_>,
) -> Vec<String> {
    let mut lines = vec![format!("JOB_CREATE {number}")];
    let least = settings.slots_min.unwrap_or(1).clamp(1, job.slots.wanted().max(1));
    let mut say = |name: &str, value: &dyn std::fmt::Display| lines.push(format!("{name} {value}"));
    say("hostname", &files.host);
    say("port", &settings.port);
    say("client_name", &"farcall");
    say("executable_path", &files.program.display());
    say("backend", if job.kind.backend.is_empty() { &"normal" } else { &job.kind.backend });
    say("count", &job.slots.wanted());
    say("count_min", &least);
    if job.purpose == Purpose::Array {
        say("together", &true);
    }
    if !job.kind.backend.is_empty() && job.kind.ranks > 0 {
        say("ranks", &job.kind.ranks);
    }
    say("staging", &settings.staging);
    for argument in ["pilot", "--ticket"] {
        say("argument", &argument);
    }
    say("argument", &files.ticket.display());
    if let Some(bridge) = &files.bridge {
        say("bridge", bridge);
    }
    say("redirect_enable", &false);
    say("status_polling", &0);
    say("refresh_credential", &0);
    // Where none of this host's files are, there is no such folder.
    if !settings.staging {
        say("work_directory", &files.folder.display());
        say("stdout_file", &files.output.display());
        say("stderr_file", &files.output.display());
    }
    for (name, value) in &settings.environment {
        say("environment", &format_args!("{name}={value}"));
    }
    for (name, value) in [("queue_name", &settings.queue), ("project", &settings.project)] {
        if !value.is_empty() {
            say(name, value);
        }
    }
    let asked = &job.kind.resources;
    let numbers = [
        ("cores", asked.cores.map(u64::from)),
        ("gpus", asked.gpus.map(u64::from)),
        ("slot_memory", asked.memory.map(megabytes).or(settings.memory_mb)),
        ("max_memory", settings.memory_mb.filter(|_| asked.memory.is_none())),
        ("min_wall_time", asked.wall_time.map(minutes)),
        ("max_wall_time", asked.wall_time.map(job_minutes).or(settings.minutes)),
    ];
    for (name, value) in numbers {
        if let Some(value) = value {
            say(name, &value);
        }
    }
    if asked.gpus.is_some() && !settings.gpu_option.is_empty() {
        say("gpu_option", &settings.gpu_option);
    }
    for option in &settings.options {
        say("option", option);
    }
    lines.push("JOB_CREATE_END".to_owned());
    lines
}

/// What cannot be said in a line, by its key.
pub(crate) fn check(name: &str, settings: &LauncherSettings) -> Result<(), (&'static str, String)> {
    if settings.host.contains(char::is_whitespace) || settings.host.starts_with('-') {
        return Err(("host", "it is not a host name".to_owned()));
    }
    let texts = [
        ("queue", &settings.queue),
        ("project", &settings.project),
        ("program", &settings.program),
        ("gpu_option", &settings.gpu_option),
    ];
    let options = settings.options.iter().map(|option| ("options", option));
    let values = settings.environment.values().map(|value| ("environment", value));
    let names = settings.environment.keys().map(|name| ("environment", name));
    for (key, text) in texts.into_iter().chain(options).chain(values).chain(names) {
        if text.contains(['\n', '\r', '\0']) || text.len() > VALUE_BYTES_MAX {
            return Err((
                key,
                format!("it contains a line end, or is longer than {VALUE_BYTES_MAX} bytes"),
            ));
        }
    }
    if settings.environment.keys().any(|name| name.is_empty() || name.contains('=')) {
        return Err(("environment", "write { NAME = \"value\" }".to_owned()));
    }
    let usable = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if name.is_empty() || !name.chars().all(usable) {
        return Err((
            "command",
            "a launcher's name may have only letters, digits and . _ -".to_owned(),
        ));
    }
    if !crate::state::SHIPPED.contains(&name)
        && settings.command.first().is_none_or(String::is_empty)
    {
        return Err((
            "command",
            "it is missing: the launcher's program and its arguments".to_owned(),
        ));
    }
    Ok(())
}
