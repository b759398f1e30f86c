//! Grid Engine and its descendants: `qsub`, `qstat`, `qdel`, `qacct` (their manual pages, and what a
//! Grid Engine 8.1.9 answers).

use std::collections::BTreeMap;
use std::time::Duration;

use super::answers::{FAILED, Fit, Row, Rows, State, TIMED_OUT};
use super::nodes::{Nodes, script};
use super::system::{Names, System, command, given, last_line, number_in, rows_of, says, shell};
use crate::action::{Command, Outcome};
use crate::job::Job;

/// Options that would have `qsub` submit something else than one job from its input, and end; or
/// that say what the launcher says.
const OURS: [&str; 12] =
    ["-t", "-sync", "-N", "-terse", "-b", "-help", "-verify", "-now", "-@", "-o", "-e", "-S"];
/// Names a parallel environment: a job of several slots needs one.
const ENVIRONMENT: &str = "-pe";
/// `flush_time` of the site's configuration: the accounting is written that late; some sites have a
/// longer one.
const FLUSH: Duration = Duration::from_secs(60);
/// What became of a job that reached a limit (sge_status(5)).
const BY_LIMIT: u32 = 37;

/// The ids of those that wait, by a full name: plain `qstat` cuts names.
const WAITING: &str = "qstat -s p -r | awk -v name=\"$1.\" '/^ *[0-9]+ /{id=$1} \
    /Full jobname:/{if (index($3, name) == 1) print id}'";

const NODES: Nodes = Nodes {
    list: "awk '{ print $1, $2 }' \"$PE_HOSTFILE\"",
    // A daemon joins the words and has a shell read them.
    there: "PATH=$PATH:$SGE_BINARY_PATH:$SGE_ROOT/bin/$SGE_ARCH qrsh -inherit -nostdin \"$1\" \"$2\"",
    lists_cores: true,
};

/// See the module.
pub struct GridEngine {
    /// Whose jobs are looked at.
    user: String,
}

impl GridEngine {
    pub fn new(user: &str) -> GridEngine {
        GridEngine { user: if user.is_empty() { "*" } else { user }.to_owned() }
    }
}

impl System for GridEngine {
    fn names(&self) -> Names {
        Names { submit: "qsub", look: "qstat" }
    }

    fn is_ours(&self, option: &str) -> bool {
        let first = option.split_whitespace().next().unwrap_or_default();
        OURS.contains(&first)
    }

    fn submit(&self, job: &Job, name: &str, number: u64) -> Command {
        let resources = &job.resources;
        let mut words = vec!["qsub".to_owned()];
        let mut environment = "*".to_owned();
        for option in &resources.options {
            let mut parts = option.split_whitespace().map(str::to_owned);
            if option.split_whitespace().next() == Some(ENVIRONMENT) {
                environment = parts.nth(1).unwrap_or(environment);
            } else {
                words.extend(parts);
            }
        }
        // A job that could never run is refused at once (-w e), and none runs twice (-r n): tickets
        // are good once.
        let fixed = "-terse -V -r n -w e -j y -o /dev/null -S /bin/sh -N";
        words.extend(fixed.split(' ').map(str::to_owned));
        words.push(format!("{name}.{number}"));
        // Its slots are processors.
        let slot = &resources.slot;
        let tasks = job.shape.tasks().saturating_mul(slot.cores());
        if tasks > 1 {
            words.extend([ENVIRONMENT.to_owned(), environment, tasks.to_string()]);
        }
        let time = resources.minutes_max.map(|minutes| format!("h_rt={}", u64::from(minutes) * 60));
        // Limits hold for each slot.
        let memory = match slot.memory_mb {
            Some(memory) => Some(memory.div_ceil(slot.cores())),
            None => resources.memory_mb.map(|memory| memory.div_ceil(tasks.max(1))),
        };
        let memory = memory.map(|memory| format!("h_vmem={memory}M"));
        // The complex that most sites have; each slot is given so many where it counts by slots.
        let gpus = slot.gpus.filter(|_| slot.gpu_option.is_none());
        let site = slot.gpus.and_then(|gpus| slot.site_option(gpus));
        words.extend(site.iter().flat_map(|site| site.split_whitespace()).map(str::to_owned));
        words.extend(given([
            ("-l", time),
            ("-l", memory),
            ("-l", gpus.map(|gpus| format!("gpu={gpus}"))),
            ("-q", resources.queue_name.clone()),
            ("-P", resources.project.clone()),
        ]));
        Command { words, input: script(job, &NODES), limit: Duration::ZERO }
    }

    fn submitted(&self, outcome: &Outcome) -> Option<String> {
        last_line(outcome, is_id)
    }

    fn is_refused_for_size(&self, outcome: &Outcome) -> bool {
        says(outcome, &["no suitable queues"])
    }

    fn is_refused_for_now(&self, outcome: &Outcome) -> bool {
        // qmaster's MSG_JOB_MAXUSERJOBS, MSG_JOB_MAXJOBS and _JOBQUOTA.
        let known = ["jobs are allowed per user", "jobs allowed in the cluster", "job quota"];
        says(outcome, &known)
    }

    fn is_too_large(&self, _: &str) -> bool {
        false
    }

    fn look(&self, _: &str) -> Command {
        command(["qstat", "-xml", "-u", &self.user])
    }

    fn rows(&self, name: &str, outcome: &Outcome) -> Option<Rows> {
        let output = outcome.output.as_str();
        if outcome.status != Some(0) {
            return None;
        }
        let jobs = output.split("<job_list").skip(1).map(|text| row(name, text));
        // Others' jobs are nothing to us.
        let mut rows =
            rows_of(jobs.filter(|row| row.as_ref().is_none_or(|row| row.number.is_some())));
        rows.has_garbage |= !output.trim_end().ends_with("</job_info>");
        Some(rows)
    }

    fn notes(&self, name: &str) -> Option<Command> {
        Some(command(["qstat", "-j", &format!("{name}.*")]))
    }

    fn read_notes(&self, outcome: &Outcome) -> BTreeMap<String, String> {
        let jobs = outcome.output.split("job_number:").skip(1);
        let notes = jobs.filter_map(|text| {
            let id = text.split_whitespace().next()?;
            Some((id.to_owned(), reason(text)?))
        });
        notes.collect()
    }

    /// How many GPUs a job of several slots is given is the site's choice; one of one slot has its
    /// own.
    fn fit(&self, job: &Job) -> Option<Fit> {
        let has_gpus = job.resources.slot.gpus.is_some() && !job.shape.is_mpi();
        let tasks_max = if has_gpus { 1 } else { u32::MAX };
        Some(Fit { tasks_max, block: 1, place: String::new() })
    }

    fn cancel(&self, id: &str) -> Command {
        command(["qdel", id])
    }

    fn cancel_all(&self, name: &str) -> Command {
        command(["qdel", &format!("{name}.*")])
    }

    fn is_cancelled(&self, outcome: &Outcome) -> bool {
        let said = format!("{}{}", outcome.output, outcome.words);
        outcome.status == Some(0) || said.contains("does not exist")
    }

    fn ask_controller(&self, id: &str) -> Command {
        command(["qstat", "-j", id])
    }

    fn ask_accounting(&self, id: &str) -> Command {
        command(["qacct", "-j", id])
    }

    fn told(&self, outcome: &Outcome) -> Option<(State, String)> {
        if outcome.status != Some(0) {
            return None;
        }
        let output = &outcome.output;
        if output.contains("job_number:") {
            // It is there, whatever the queue showed.
            return Some((State::Waits, reason(output).unwrap_or_default()));
        }
        accounted(output)
    }

    fn remembers_after(&self) -> Duration {
        FLUSH
    }

    fn advice(&self, name: &str) -> String {
        format!("see `qstat -r`, and `qdel '{name}.*'`")
    }

    fn cancel_waiting(&self, name: &str) -> Command {
        let line = format!("ids=$({WAITING}); [ -z \"$ids\" ] || qdel $ids");
        shell(&line, &[name])
    }

    fn list_waiting(&self, name: &str) -> Command {
        shell(&format!("qstat >/dev/null && {WAITING}"), &[name])
    }
}

fn is_id(text: &str) -> bool {
    !text.is_empty() && text.len() <= 12 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A job of `qstat -xml`, whose text begins here.
fn row(name: &str, text: &str) -> Option<Row> {
    let cell = |tag: &str| {
        let begin = text.split_once(&format!("<{tag}>"))?.1;
        Some(begin.split_once(&format!("</{tag}>"))?.0.trim())
    };
    let id = cell("JB_job_number").filter(|id| is_id(id))?.to_owned();
    let word = cell("state")?.to_owned();
    let number = number_in(name, cell("JB_name")?);
    let state = state(&word);
    let reason = word.contains('h').then(|| "it is held".to_owned());
    Some(Row { id, state, word, number, tasks: Vec::new(), start: None, reason })
}

/// Letters as in qstat(1): `qw`, `hqw`, `Eqw`, `Rr`, `dr`, `t`.
fn state(letters: &str) -> State {
    let has = |letter: char| letters.contains(letter);
    match letters {
        "" => State::Unknown,
        _ if has('d') => State::Ends,
        _ if has('E') => State::Stuck,
        _ if has('s') || has('S') || has('T') => State::Pauses,
        _ if has('t') => State::Begins,
        _ if has('w') && has('R') => State::Requeued,
        _ if has('w') => State::Waits,
        _ if has('r') => State::Runs,
        _ => State::Unknown,
    }
}

/// Why a job waits, of `qstat -j`: its error first.
fn reason(text: &str) -> Option<String> {
    let said = |key: &str| {
        let line = text.lines().find(|line| line.starts_with(key))?;
        let words = line.split_once(':')?.1.trim();
        Some(words.to_owned()).filter(|words| !words.is_empty() && !words.starts_with('('))
    };
    said("error reason").or_else(|| said("scheduling info"))
}

/// What `qacct -j` says of a job's last run.
fn accounted(output: &str) -> Option<(State, String)> {
    let last = |key: &str| {
        let line = output.lines().rev().find(|line| line.split_whitespace().next() == Some(key))?;
        Some(line[key.len()..].trim())
    };
    let number = |text: &str| text.split_whitespace().next()?.parse::<u32>().ok();
    let failed = last("failed")?;
    let why = failed.split_once(':').map_or("", |(_, why)| why.trim());
    let status = number(last("exit_status")?)?;
    let code = match status {
        0 => String::new(),
        129..=192 => format!("signal {}", status - 128),
        _ => format!("exit status {status}"),
    };
    Some(match number(failed)? {
        0 if status == 0 => (State::done(), String::new()),
        // It began, and a signal ended it.
        0 | 100 => (State::failed(FAILED), code),
        BY_LIMIT => (State::failed(TIMED_OUT), String::new()),
        _ => (State::failed(FAILED), why.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::Status;

    fn good(output: &str) -> Outcome {
        Outcome { status: Some(0), output: output.to_owned(), words: String::new() }
    }

    fn engine() -> GridEngine {
        GridEngine::new("me")
    }

    fn listed(id: &str, name: &str, state: &str) -> String {
        format!(
            "<job_list state=\"x\">\n<JB_job_number>{id}</JB_job_number>\n<JAT_prio>0.5</JAT_prio>\n\
             <JB_name>{name}</JB_name>\n<state>{state}</state>\n<slots>1</slots>\n</job_list>\n"
        )
    }

    #[test]
    fn the_queue_is_read_and_garbage_is_no_news() {
        let jobs =
            [("2", "f.1", "r"), ("3", "f.2", "hqw"), ("4", "f.3", "Eqw"), ("5", "g.1", "qw")];
        let jobs: String = jobs.iter().map(|(id, name, state)| listed(id, name, state)).collect();
        let said = engine().rows("f", &good(&format!("<job_info>\n{jobs}</job_info>\n"))).unwrap();
        let states: Vec<State> = said.rows.iter().map(|row| row.state).collect();
        assert_eq!(states, [State::Runs, State::Waits, State::Stuck]);
        assert_eq!(said.rows[1].number, Some(2));
        assert_eq!(said.rows[1].reason.as_deref(), Some("it is held"));
        assert!(!said.has_garbage);
        // Cut off, or something else.
        assert!(engine().rows("f", &good(&format!("<job_info>\n{jobs}"))).unwrap().has_garbage);
        assert!(engine().rows("f", &good("")).unwrap().has_garbage);
        assert_eq!(engine().rows("f", &Outcome::default()), None);
        assert_eq!(
            ["Rr", "Rqw", "dr", "dqw", "t", "T", "s", "?"].map(state),
            [
                State::Runs,
                State::Requeued,
                State::Ends,
                State::Ends,
                State::Begins,
                State::Pauses,
                State::Pauses,
                State::Unknown
            ]
        );
    }

    #[test]
    fn ends_are_told_by_the_accounting() {
        let told = |failed: &str, status: &str| {
            let text = format!("jobnumber    1\nfailed       {failed}\nexit_status  {status}\n");
            engine().told(&good(&text)).unwrap()
        };
        assert_eq!(told("0    ", "0                   "), (State::done(), String::new()));
        assert_eq!(told("0", "3").1, "exit status 3");
        assert_eq!(
            told("100 : assumedly after job", "137                  (Killed)").1,
            "signal 9"
        );
        let limit = told("37  : qmaster enforced h_rt, h_cpu, or h_vmem limit", "137 (Killed)");
        assert_eq!(limit.0, State::Over(Status::Failed, TIMED_OUT));
        assert_eq!(told("26  : opening input/output file", "0").1, "opening input/output file");
        assert_eq!(engine().told(&good("==========\n")), None);
        assert_eq!(engine().told(&good("failed 0\nexit_status soon\n")), None);
    }

    #[test]
    fn why_a_job_waits_is_told() {
        let text = "==\njob_number:                 3\njob_name: f.1\nscheduling info:            \
            cannot run in PE \"slots\" because it only offers 3 slots\n==\njob_number:                 6\n\
            error reason          1:      11/26/2026 18:17:23 [0:8636]: error: can't open \
            output file\nscheduling info:            Job is in error state\n==\njob_number: 7\n\
            scheduling info: (Collecting of scheduler job information is turned off)\n";
        let notes = engine().read_notes(&good(text));
        assert_eq!(notes["3"], "cannot run in PE \"slots\" because it only offers 3 slots");
        assert!(notes["6"].ends_with("can't open output file"));
        assert_eq!(notes.get("7"), None);
    }

    #[test]
    fn noise_is_no_end_and_no_crash() {
        let mut random = farcall_base::SeededRandom::new(4);
        let whole = listed("2", "f.1", "r") + "failed 0\nexit_status 0\njob_number: 3\n</job_info>";
        for _ in 0..farcall_golden::fuzz_rounds(3000) {
            let mut bytes = whole.as_bytes().to_vec();
            let at = farcall_base::Random::next(&mut random) as usize % bytes.len();
            bytes[at] = farcall_base::Random::next(&mut random) as u8;
            let said = good(&String::from_utf8_lossy(&bytes));
            let _ = (engine().rows("f", &said), engine().told(&said), engine().read_notes(&said));
        }
    }
}
