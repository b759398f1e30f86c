//! PBS Professional and OpenPBS: `qsub`, `qstat`, `qselect`, `qdel` (their manual pages).

use std::collections::BTreeMap;
use std::time::Duration;

use super::answers::{CANCELLED, FAILED, Row, Rows, State, TIMED_OUT};
use super::nodes::{Nodes, script};
use super::system::{Names, System, command, given, last_line, rows_of, says, shell};
use crate::action::{Command, Outcome};
use crate::job::Job;

/// Letters of options that would have `qsub` submit something else than one job from its input, and
/// end; or that say what the launcher says.
const OURS: [&str; 10] = ["-J", "-I", "-X", "-z", "-N", "-o", "-e", "-j", "-G", "--"];
/// Longest name of a job that every version takes.
const NAME_MAX: usize = 15;
/// The variable that tells which submission a job is.
const NUMBER: &str = "FARCALL_NUMBER";
/// Substate of a job that was deleted (the internal design's JOB_SUBSTATE_TERMINATED).
const DELETED: &str = "91";
/// What a shell's status of a signal begins at; PBS has one of its own.
const SIGNALS: [i32; 2] = [256, 128];

const NODES: Nodes = Nodes {
    lists_cores: false,
    list: "sort \"$PBS_NODEFILE\" | uniq -c | while read -r slots host; do echo \"$host $slots\"; done",
    // It starts a program without a shell.
    there: "pbs_tmrsh \"$1\" /bin/sh -c \"$2\"",
};

/// See the module.
pub struct Pbs;

/// The name of a launcher's jobs: the end of it is what is random.
fn short(name: &str) -> &str {
    let begin = name.len().saturating_sub(NAME_MAX - 1);
    name.get(begin..).unwrap_or(name)
}

/// A name begins with a letter.
fn named(name: &str) -> String {
    format!("f{}", short(name))
}

impl System for Pbs {
    fn names(&self) -> Names {
        Names { submit: "qsub", look: "qstat" }
    }

    fn is_ours(&self, option: &str) -> bool {
        let first = option.split_whitespace().next().unwrap_or_default();
        let waits = option.starts_with("-W") && option.contains("block");
        waits || OURS.iter().any(|ours| first.starts_with(ours))
    }

    fn submit(&self, job: &Job, name: &str, number: u64) -> Command {
        let resources = &job.resources;
        let tasks = job.shape.tasks();
        let mut words = vec!["qsub".to_owned()];
        for option in &resources.options {
            words.extend(option.split_whitespace().map(str::to_owned));
        }
        let fixed = "-V -r n -j oe -o /dev/null -S /bin/sh -N";
        words.extend(fixed.split(' ').map(str::to_owned));
        words.extend([named(name), "-v".to_owned(), format!("{NUMBER}={number}")]);
        let (chunks, each) = match resources.host_count {
            Some(hosts) => (hosts, tasks.div_ceil(hosts)),
            None => (tasks, 1),
        };
        let of_each = if resources.host_count.is_some() { 1 } else { tasks.max(1) };
        // A chunk is a slot.
        let slot = &resources.slot;
        let memory = resources.memory_mb.map(|memory| memory.div_ceil(of_each));
        let memory = slot.memory_mb.map(|memory| memory.saturating_mul(each)).or(memory);
        let memory = memory.map_or(String::new(), |memory| format!(":mem={memory}mb"));
        let cores = each.saturating_mul(slot.cores());
        let gpus = slot.gpus.filter(|_| slot.gpu_option.is_none());
        let gpus =
            gpus.map_or(String::new(), |gpus| format!(":ngpus={}", gpus.saturating_mul(each)));
        let select = format!("select={chunks}:ncpus={cores}:mpiprocs={each}{memory}{gpus}");
        let site = slot.gpus.and_then(|gpus| slot.site_option(gpus));
        words.extend(site.iter().flat_map(|site| site.split_whitespace()).map(str::to_owned));
        let time = resources
            .minutes_max
            .map(|minutes| format!("walltime={:02}:{:02}:00", minutes / 60, minutes % 60));
        words.extend(given([
            ("-l", Some(select)),
            ("-l", time),
            ("-q", resources.queue_name.clone()),
            ("-A", resources.project.clone()),
        ]));
        Command { words, input: script(job, &NODES), limit: Duration::ZERO }
    }

    fn submitted(&self, outcome: &Outcome) -> Option<String> {
        last_line(outcome, is_id)
    }

    fn is_refused_for_size(&self, outcome: &Outcome) -> bool {
        says(outcome, &["violates queue and/or server resource limits", "violates resource limit"])
    }

    fn is_refused_for_now(&self, outcome: &Outcome) -> bool {
        let known = [
            "would exceed",
            "maximum number of jobs already in",
            "exceeds queue limit",
            "server is busy",
        ];
        says(outcome, &known)
    }

    fn is_too_large(&self, reason: &str) -> bool {
        reason.starts_with("Can Never Run")
    }

    fn look(&self, name: &str) -> Command {
        let line = "ids=$(qselect -x -N \"$1\") || exit; [ -z \"$ids\" ] || qstat -x -f $ids";
        shell(line, &[&named(name)])
    }

    fn rows(&self, _: &str, outcome: &Outcome) -> Option<Rows> {
        if outcome.status != Some(0) {
            return None;
        }
        let blocks = blocks(&outcome.output);
        let has_words = !outcome.output.trim().is_empty() && blocks.is_empty();
        let mut rows = rows_of(blocks.iter().map(row));
        rows.has_garbage |= has_words;
        Some(rows)
    }

    fn notes(&self, _: &str) -> Option<Command> {
        None
    }

    fn read_notes(&self, _: &Outcome) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    fn cancel(&self, id: &str) -> Command {
        command(["qdel", id])
    }

    fn cancel_all(&self, name: &str) -> Command {
        let line = "ids=$(qselect -N \"$1\") || exit; [ -z \"$ids\" ] || qdel $ids";
        shell(line, &[&named(name)])
    }

    fn is_cancelled(&self, outcome: &Outcome) -> bool {
        // They ended by themselves meanwhile.
        outcome.status == Some(0) || says(outcome, &["job has finished", "unknown job id"])
    }

    fn ask_controller(&self, id: &str) -> Command {
        command(["qstat", "-x", "-f", id])
    }

    fn ask_accounting(&self, id: &str) -> Command {
        command(["qstat", "-x", "-f", id])
    }

    fn told(&self, outcome: &Outcome) -> Option<(State, String)> {
        let block = blocks(&outcome.output).into_iter().next();
        let block = block.filter(|_| outcome.status == Some(0))?;
        match state(&block) {
            State::Unknown => None,
            state => Some((state, code(&block))),
        }
    }

    fn advice(&self, name: &str) -> String {
        let name = named(name);
        format!("see `qselect -N {name}`, and `qdel $(qselect -N {name})`")
    }

    fn cancel_waiting(&self, name: &str) -> Command {
        let line = "ids=$(qselect -s Q -N \"$1\") || exit; [ -z \"$ids\" ] || qdel $ids";
        shell(line, &[&named(name)])
    }

    fn list_waiting(&self, name: &str) -> Command {
        command(["qselect", "-s", "Q", "-N", &named(name)])
    }
}

/// `12.server`, and nothing that is an option or two words.
fn is_id(text: &str) -> bool {
    let usable = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    text.len() <= 64 && text.starts_with(|c: char| c.is_ascii_digit()) && text.chars().all(usable)
}

/// What `qstat -f` says of one job: its id is "".
type Block = BTreeMap<String, String>;

/// `Job Id: …`, then lines of ` name = value`; those that begin with a tab go on with the one
/// before.
fn blocks(output: &str) -> Vec<Block> {
    let whole = output.replace("\n\t", "");
    let mut blocks: Vec<Block> = Vec::new();
    for line in whole.lines() {
        if let Some(id) = line.strip_prefix("Job Id:") {
            blocks.push(Block::from([(String::new(), id.trim().to_owned())]));
        } else if let (Some(block), Some((name, value))) =
            (blocks.last_mut(), line.split_once(" = "))
        {
            block.insert(name.trim().to_owned(), value.trim().to_owned());
        }
    }
    blocks
}

fn value<'a>(block: &'a Block, name: &str) -> Option<&'a str> {
    block.get(name).map(String::as_str)
}

fn row(block: &Block) -> Option<Row> {
    let id = value(block, "").filter(|id| is_id(id))?.to_owned();
    let word = value(block, "job_state")?.to_owned();
    let prefix = format!("{NUMBER}=");
    let variables = value(block, "Variable_List").unwrap_or_default();
    let number =
        variables.split(',').find_map(|one| one.trim().strip_prefix(&prefix)?.parse().ok());
    let comment =
        value(block, "comment").map(|comment| comment.trim_start_matches("Not Running: "));
    let waits = matches!(state(block), State::Waits);
    let held = (word == "H").then_some("it is held");
    let reason = comment.or(held).filter(|_| waits).map(str::to_owned);
    let start = value(block, "estimated.start_time").filter(|_| waits).map(str::to_owned);
    Some(Row { id, state: state(block), word, number, tasks: Vec::new(), start, reason })
}

/// Letters as in qstat(1B).
fn state(block: &Block) -> State {
    match value(block, "job_state").unwrap_or_default() {
        "Q" | "H" | "W" | "T" => State::Waits,
        "R" | "B" => State::Runs,
        "S" | "U" => State::Pauses,
        "E" => State::Ends,
        "F" | "X" | "C" => ended(block),
        _ => State::Unknown,
    }
}

fn ended(block: &Block) -> State {
    let seconds = |name: &str| value(block, name).and_then(seconds);
    let used = seconds("resources_used.walltime");
    let limit = seconds("Resource_List.walltime");
    let is_late = used.zip(limit).is_some_and(|(used, limit)| used >= limit);
    match value(block, "Exit_status").and_then(|status| status.parse::<i32>().ok()) {
        Some(0) => State::done(),
        _ if is_late => State::failed(TIMED_OUT),
        _ if value(block, "substate") == Some(DELETED) => State::failed(CANCELLED),
        _ => State::failed(FAILED),
    }
}

/// Seconds of `hours:minutes:seconds`.
fn seconds(text: &str) -> Option<u64> {
    let parts: Option<Vec<u64>> = text.split(':').map(|part| part.parse().ok()).collect();
    let &[hours, minutes, seconds] = parts?.as_slice() else { return None };
    hours.checked_mul(3600)?.checked_add(minutes.checked_mul(60)?)?.checked_add(seconds)
}

/// Statuses below 0 are those of jobs that PBS could not start (pbs_error codes of qstat(1B)).
fn code(block: &Block) -> String {
    let status = value(block, "Exit_status").and_then(|status| status.parse::<i32>().ok());
    let comment = value(block, "comment").unwrap_or_default();
    match status {
        Some(0) => String::new(),
        Some(status) if status < 0 => format!("it could not be started: {comment}"),
        Some(status) => match SIGNALS.iter().find(|first| status > **first) {
            Some(first) => format!("signal {}", status - first),
            None => format!("exit status {status}"),
        },
        None => comment.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good(output: &str) -> Outcome {
        Outcome { status: Some(0), output: output.to_owned(), words: String::new() }
    }

    const QUEUE: &str = "Job Id: 12.server\n    Job_Name = fall-1\n    job_state = Q\n    comment = \
        Not Running: Insufficient amount of resource: ncpus \n\t(R: 8 A: 2 T: 8)\n    Variable_List \
        = PBS_O_HOME=/home/me,FARCALL_NU\n\tMBER=3,PBS_O_HOST=login\n\nJob Id: 13.server\n    \
        job_state = F\n    Exit_status = 271\n    substate = 91\n";

    #[test]
    fn jobs_are_read_over_broken_lines() {
        let said = Pbs.rows("farcall-1", &good(QUEUE)).unwrap();
        assert!(!said.has_garbage);
        assert_eq!((&*said.rows[0].id, said.rows[0].number), ("12.server", Some(3)));
        let reason = "Insufficient amount of resource: ncpus (R: 8 A: 2 T: 8)";
        assert_eq!(said.rows[0].reason.as_deref(), Some(reason));
        assert_eq!(said.rows[1].state, State::failed(CANCELLED));
        // Nobody's jobs are no garbage.
        assert_eq!(Pbs.rows("f", &good("")).unwrap(), Rows { rows: vec![], has_garbage: false });
        assert!(Pbs.rows("f", &good("Segmentation fault")).unwrap().has_garbage);
        assert_eq!(Pbs.rows("f", &Outcome::default()), None);
    }

    #[test]
    fn ends_are_told() {
        let told = |lines: &str| Pbs.told(&good(&format!("Job Id: 1.s\n job_state = F\n{lines}")));
        assert_eq!(told(" Exit_status = 0\n"), Some((State::done(), String::new())));
        assert_eq!(told(" Exit_status = 3\n").unwrap().1, "exit status 3");
        assert_eq!(told(" Exit_status = 265\n").unwrap().1, "signal 9");
        assert_eq!(told(" Exit_status = 137\n").unwrap().1, "signal 9");
        let late = " Exit_status = 271\n resources_used.walltime = 00:01:02\n \
            Resource_List.walltime = 00:01:00\n";
        assert_eq!(told(late).unwrap().0, State::failed(TIMED_OUT));
        let never = " Exit_status = -2\n comment = no such group\n";
        assert_eq!(told(never).unwrap().1, "it could not be started: no such group");
        assert_eq!(Pbs.told(&good("")), None);
    }

    #[test]
    fn names_are_short() {
        assert_eq!(named("farcall-0123456789abcdef").len(), NAME_MAX);
        assert_eq!(named("f"), "ff");
        assert!(is_id("12.server-1") && !is_id("-x") && !is_id("12 13") && !is_id(""));
    }

    #[test]
    fn noise_is_no_end_and_no_crash() {
        let mut random = farcall_base::SeededRandom::new(5);
        for _ in 0..farcall_golden::fuzz_rounds(3000) {
            let mut bytes = QUEUE.as_bytes().to_vec();
            let at = farcall_base::Random::next(&mut random) as usize % bytes.len();
            bytes[at] = farcall_base::Random::next(&mut random) as u8;
            let said = good(&String::from_utf8_lossy(&bytes));
            let _ = (Pbs.rows("f", &said), Pbs.told(&said));
        }
    }
}
