//! LSF: `bsub`, `bjobs`, `bkill`, `bhist` (their manual pages).

use std::collections::BTreeMap;
use std::time::Duration;

use super::answers::{CANCELLED, FAILED, Row, Rows, State, TIMED_OUT};
use super::nodes::{Nodes, script};
use super::system::{Names, System, command, given, number_in, rows_of, says, shell};
use crate::action::{Command, Outcome};
use crate::job::Job;

/// Options that would have `bsub` submit something else than one job from its input, and end; or
/// that say what the launcher says.
const OURS: [&str; 10] = ["-J", "-K", "-I", "-h", "-V", "-o", "-e", "-oo", "-eo", "-pack"];
/// Cells of `bjobs`.
const FORMAT: &str = "jobid stat job_name exit_code exit_reason pend_reason delimiter='|'";
/// What `bjobs` and `bkill` say, and fail, where there is no such job.
const NONE: [&str; 4] =
    ["no matching job found", "is not found", "no unfinished job", "no pending job"];

const NODES: Nodes = Nodes {
    list: "set -- $LSB_MCPU_HOSTS; while [ $# -gt 1 ]; do echo \"$1 $2\"; shift 2; done",
    there: "blaunch -no-shell \"$1\" /bin/sh -c \"$2\"",
    lists_cores: true,
};

/// See the module.
pub struct Lsf;

impl System for Lsf {
    fn names(&self) -> Names {
        Names { submit: "bsub", look: "bjobs" }
    }

    fn is_ours(&self, option: &str) -> bool {
        let first = option.split_whitespace().next().unwrap_or_default();
        OURS.contains(&first) || first.starts_with("-I")
    }

    fn submit(&self, job: &Job, name: &str, number: u64) -> Command {
        let resources = &job.resources;
        let tasks = job.shape.tasks();
        let mut words = vec!["bsub".to_owned()];
        for option in &resources.options {
            words.extend(option.split_whitespace().map(str::to_owned));
        }
        words.extend(["-rn", "-o", "/dev/null", "-e", "/dev/null", "-J"].map(str::to_owned));
        let slot = &resources.slot;
        let all = tasks.saturating_mul(slot.cores());
        words.extend([format!("{name}.{number}"), "-n".to_owned(), all.to_string()]);
        // Processors, memory and GPUs of a call are on one host; those of a job are counted by host.
        let is_together = slot.is_asked() && !job.shape.is_mpi();
        let ptile = resources.host_count.map(|hosts| tasks.div_ceil(hosts));
        let span = match is_together {
            true => Some("span[hosts=1]".to_owned()),
            false => ptile.map(|ptile| format!("span[ptile={ptile}]")),
        };
        let of_slots = slot.memory_mb.map(|memory| memory.saturating_mul(tasks));
        let memory = of_slots.or(resources.memory_mb).map(|memory| format!("{memory}MB"));
        let reserved = of_slots.map(|memory| format!("rusage[mem={memory}MB]"));
        let gpus = slot.gpus.filter(|_| slot.gpu_option.is_none()).map(|gpus| match is_together {
            true => format!("num={}", gpus.saturating_mul(tasks)),
            false => format!("num={gpus}/task"),
        });
        let site = slot.gpus.and_then(|gpus| slot.site_option(gpus));
        words.extend(site.iter().flat_map(|site| site.split_whitespace()).map(str::to_owned));
        words.extend(given([
            ("-R", span),
            ("-R", reserved),
            ("-gpu", gpus),
            ("-M", memory),
            ("-W", resources.minutes_max.map(|minutes| minutes.to_string())),
            ("-q", resources.queue_name.clone()),
            ("-P", resources.project.clone()),
        ]));
        Command { words, input: script(job, &NODES), limit: Duration::ZERO }
    }

    fn submitted(&self, outcome: &Outcome) -> Option<String> {
        let id = |line: &str| {
            let id = line.split_once("Job <")?.1.split_once('>')?.0;
            Some(id.to_owned()).filter(|id| is_id(id))
        };
        let said = outcome.output.lines().rev().find_map(id);
        said.filter(|_| outcome.status == Some(0))
    }

    fn is_refused_for_size(&self, outcome: &Outcome) -> bool {
        says(outcome, &["processors requested", "slots requested", "exceeds the maximum number"])
    }

    fn is_refused_for_now(&self, outcome: &Outcome) -> bool {
        let known = ["pending job threshold reached", "job limit", "lsf is down", "try later"];
        says(outcome, &known)
    }

    fn is_too_large(&self, _: &str) -> bool {
        false
    }

    fn look(&self, name: &str) -> Command {
        command(["bjobs", "-a", "-noheader", "-J", &format!("{name}.*"), "-o", FORMAT])
    }

    fn rows(&self, name: &str, outcome: &Outcome) -> Option<Rows> {
        if outcome.status != Some(0) {
            let is_empty = outcome.status.is_some() && says(outcome, &NONE);
            return is_empty.then(|| rows_of([]));
        }
        let lines = outcome.output.lines().filter(|line| !line.trim().is_empty());
        Some(rows_of(lines.map(|line| row(name, line))))
    }

    fn notes(&self, _: &str) -> Option<Command> {
        None
    }

    fn read_notes(&self, _: &Outcome) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    fn cancel(&self, id: &str) -> Command {
        command(["bkill", id])
    }

    fn cancel_all(&self, name: &str) -> Command {
        command(["bkill", "-J", &format!("{name}.*"), "0"])
    }

    fn is_cancelled(&self, outcome: &Outcome) -> bool {
        outcome.status == Some(0) || says(outcome, &NONE) || says(outcome, &["already finished"])
    }

    fn ask_controller(&self, id: &str) -> Command {
        command(["bjobs", "-a", "-noheader", "-o", FORMAT, id])
    }

    fn ask_accounting(&self, id: &str) -> Command {
        command(["bhist", "-n", "0", "-l", id])
    }

    fn told(&self, outcome: &Outcome) -> Option<(State, String)> {
        if outcome.status != Some(0) {
            return None;
        }
        let line = outcome.output.lines().find(|line| line.contains('|'));
        let Some(cells) = line.map(cells) else { return remembered(&outcome.output) };
        match state(&cells?) {
            State::Unknown => None,
            state => Some((state, code(&cells?))),
        }
    }

    fn advice(&self, name: &str) -> String {
        format!("see `bjobs -J '{name}.*'`, and `bkill -J '{name}.*' 0`")
    }

    fn cancel_waiting(&self, name: &str) -> Command {
        command(["bkill", "-stat", "pend", "-J", &format!("{name}.*"), "0"])
    }

    fn list_waiting(&self, name: &str) -> Command {
        // It fails without such a job.
        let line = "said=$(bjobs -p -noheader -o jobid -J \"$1\" 2>&1) || case $said in \
            *'o matching job'* | *'not found'* | *'o pending job'* | *'o unfinished job'*) exit 0 ;; \
            *) exit 1 ;; esac; echo \"$said\"";
        shell(line, &[&format!("{name}.*")])
    }
}

fn is_id(text: &str) -> bool {
    !text.is_empty() && text.len() <= 12 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A line of [`FORMAT`]; a reason may have any letters.
fn cells(line: &str) -> Option<[&str; 6]> {
    let cells: Vec<&str> = line.trim().splitn(6, '|').map(str::trim).collect();
    cells.try_into().ok()
}

fn row(name: &str, line: &str) -> Option<Row> {
    let cells = cells(line)?;
    let [id, word, job, _, _, why] = cells;
    let id = Some(id.to_owned()).filter(|id| is_id(id))?;
    let number = number_in(name, job);
    let reason = said(why).map(|why| why.trim_end_matches(';').to_owned());
    let state = state(&cells);
    let word = word.to_owned();
    let reason = reason.filter(|_| state == State::Waits);
    Some(Row { id, state, word, number, tasks: Vec::new(), start: None, reason })
}

/// Nothing is a dash.
fn said(cell: &str) -> Option<&str> {
    Some(cell).filter(|cell| !["", "-"].contains(cell))
}

/// States as in bjobs(1). A host that does not answer (UNKWN) ends no job.
fn state(cells: &[&str; 6]) -> State {
    let why = cells[4];
    match cells[1] {
        "PEND" | "PSUSP" | "WAIT" => State::Waits,
        "PROV" => State::Begins,
        "RUN" => State::Runs,
        "USUSP" | "SSUSP" => State::Pauses,
        "DONE" => State::done(),
        "EXIT" if why.contains("TERM_RUNLIMIT") => State::failed(TIMED_OUT),
        "EXIT" if why.contains("TERM_MEMLIMIT") => State::failed("out of memory"),
        "EXIT" if why.contains("TERM_PREEMPT") => State::failed("preempted"),
        "EXIT" if ["TERM_OWNER", "TERM_ADMIN", "TERM_FORCE"].iter().any(|by| why.contains(by)) => {
            State::failed(CANCELLED)
        }
        "EXIT" | "ZOMBI" => State::failed(FAILED),
        _ => State::Unknown,
    }
}

fn code(cells: &[&str; 6]) -> String {
    match said(cells[3]).and_then(|code| code.parse::<u32>().ok()) {
        None | Some(0) => said(cells[4]).unwrap_or_default().to_owned(),
        Some(code @ 129..=192) => format!("signal {}", code - 128),
        Some(code) => format!("exit status {code}"),
    }
}

/// What `bhist -l` says of an end.
fn remembered(output: &str) -> Option<(State, String)> {
    // Its lines are broken anywhere.
    let text: String = output.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.contains("Done successfully") {
        return Some((State::done(), String::new()));
    }
    let behind = |words: &str| {
        let rest = text.rsplit_once(words)?.1;
        rest.split(|c: char| !c.is_ascii_digit()).find(|number| !number.is_empty())
    };
    if text.contains("TERM_RUNLIMIT") {
        return Some((State::failed(TIMED_OUT), String::new()));
    }
    if text.contains("TERM_OWNER") || text.contains("TERM_ADMIN") {
        return Some((State::failed(CANCELLED), String::new()));
    }
    let exit = behind("Exited with exit code").map(|code| format!("exit status {code}"));
    let signal = || behind("Exited by signal").map(|signal| format!("signal {signal}"));
    exit.or_else(signal).map(|code| (State::failed(FAILED), code))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good(output: &str) -> Outcome {
        Outcome { status: Some(0), output: output.to_owned(), words: String::new() }
    }

    fn bad(words: &str) -> Outcome {
        Outcome { status: Some(255), output: String::new(), words: words.to_owned() }
    }

    #[test]
    fn jobs_are_read_and_none_is_no_failure() {
        let text = "7|PEND|f.1|-|-|Job slot limit reached: 3 hosts;\n8|EXIT|f.2|143|TERM_OWNER: job \
            killed by owner|-\n9|UNKWN|f.3|-|-|-\n";
        let said = Lsf.rows("f", &good(text)).unwrap();
        assert_eq!(said.rows[0].number, Some(1));
        assert_eq!(said.rows[0].reason.as_deref(), Some("Job slot limit reached: 3 hosts"));
        assert_eq!(said.rows[1].state, State::failed(CANCELLED));
        assert_eq!(said.rows[2].state, State::Unknown);
        assert!(Lsf.rows("f", &good("Cannot connect")).unwrap().has_garbage);
        assert_eq!(Lsf.rows("f", &bad("No matching job found")).unwrap().rows, []);
        assert_eq!(Lsf.rows("f", &bad("LSF is down. Please wait ...")), None);
        assert_eq!(Lsf.rows("f", &Outcome::default()), None);
    }

    #[test]
    fn ends_are_told_by_two() {
        let told = |text: &str| Lsf.told(&good(text)).unwrap();
        assert_eq!(told("7|DONE|f.1|-|-|-").0, State::done());
        assert_eq!(told("7|EXIT|f.1|3|-|-").1, "exit status 3");
        assert_eq!(told("7|EXIT|f.1|137|-|-").1, "signal 9");
        let limit = "7|EXIT|f.1|140|TERM_RUNLIMIT: job killed after reaching LSF run time limit|-";
        assert_eq!(told(limit).0, State::failed(TIMED_OUT));
        let remembered = "Tue Jan  1 00:00:00: Exited with exit code\n                     7. \
            The CPU time used is 0.1 seconds;";
        assert_eq!(told(remembered), (State::failed(FAILED), "exit status 7".to_owned()));
        assert_eq!(told("...: Done successfully. The CPU").0, State::done());
        assert_eq!(Lsf.told(&good("")), None);
    }

    #[test]
    fn a_submission_tells_its_id() {
        let said = good("Project default\nJob <123> is submitted to default queue <normal>.\n");
        assert_eq!(Lsf.submitted(&said).as_deref(), Some("123"));
        assert_eq!(Lsf.submitted(&good("Job <x> is submitted")), None);
    }
}
