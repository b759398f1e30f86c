//! What Slurm's commands answer, read with suspicion: what is not understood is no news, and never
//! the end of a job.

use std::collections::BTreeMap;

use crate::action::Outcome;
use crate::jobs::Status;

/// The words for an end by the clock; how long that was, Slurm does not say here.
pub const TIMED_OUT: &str = "timed out";

/// A state of Slurm, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// In line, or again in line.
    Waits,
    /// Its nodes are made ready.
    Begins,
    Runs,
    /// It holds its nodes, and does nothing.
    Pauses,
    /// It is ending.
    Ends,
    /// It is over: how, and in which words.
    Over(Status, &'static str),
    /// Slurm has it wait again after it ran.
    Requeued,
    Unknown,
}

impl State {
    /// Names as `squeue` (%T), `scontrol` and `sacct` write them: "CANCELLED by 1000" is one, too.
    pub fn named(text: &str) -> State {
        let failed = |words| State::Over(Status::Failed, words);
        match text.split([' ', '+']).next().unwrap_or_default() {
            "PENDING" => State::Waits,
            "CONFIGURING" => State::Begins,
            "RUNNING" | "RESIZING" | "SIGNALING" | "STAGE_OUT" => State::Runs,
            "SUSPENDED" | "STOPPED" => State::Pauses,
            "COMPLETING" => State::Ends,
            "REQUEUED" | "REQUEUE_FED" | "REQUEUE_HOLD" | "SPECIAL_EXIT" | "RESV_DEL_HOLD" => {
                State::Requeued
            }
            "COMPLETED" => State::Over(Status::Done, "completed"),
            "CANCELLED" => failed("cancelled"),
            "FAILED" => failed("failed"),
            "TIMEOUT" => failed(TIMED_OUT),
            "NODE_FAIL" => failed("a node failed"),
            "PREEMPTED" => failed("preempted"),
            "BOOT_FAIL" => failed("its nodes did not boot"),
            "DEADLINE" => failed("its deadline passed"),
            "OUT_OF_MEMORY" => failed("out of memory"),
            "REVOKED" => failed("revoked: it runs on another cluster"),
            _ => State::Unknown,
        }
    }
}

/// A line of `squeue`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub id: String,
    pub state: State,
    /// The state in Slurm's word.
    pub word: String,
    /// The number of our submission.
    pub number: Option<u64>,
    /// `64(x3),8`: how many tasks each node has, once the job has said so.
    pub tasks: Vec<u32>,
    /// When it may start, as Slurm guesses.
    pub start: Option<String>,
    pub reason: Option<String>,
}

/// What `squeue` said of our jobs.
#[derive(Debug, PartialEq, Eq)]
pub struct Rows {
    pub rows: Vec<Row>,
    /// Some of it was not understood: who is missing may have been there.
    pub has_garbage: bool,
}

/// `None` where it failed.
pub fn rows(outcome: &Outcome) -> Option<Rows> {
    if outcome.status != Some(0) {
        return None;
    }
    let mut rows = Rows { rows: Vec::new(), has_garbage: false };
    for line in outcome.output.lines().filter(|line| !line.trim().is_empty()) {
        match row(line) {
            Some(row) => rows.rows.push(row),
            None => rows.has_garbage = true,
        }
    }
    Some(rows)
}

fn row(line: &str) -> Option<Row> {
    let mut cells = line.trim().splitn(6, '|').map(str::trim);
    let id = cells.next().filter(|id| is_id(id))?;
    let word = cells.next()?;
    let _nodes = cells.next()?;
    let (number, tasks) =
        cells.next().map(|comment| comment.split_once(';').unwrap_or((comment, "")))?;
    let said = |text: &str| {
        Some(text.to_owned())
            .filter(|text| !["", "N/A", "None", "(null)", "INVALID"].contains(&&**text))
    };
    let start = cells.next().and_then(said);
    let reason = cells.next().and_then(said);
    let state = State::named(word);
    let number = number.parse().ok();
    let tasks = tasks_of(tasks);
    Some(Row { id: id.to_owned(), state, word: word.to_owned(), number, tasks, start, reason })
}

fn is_id(text: &str) -> bool {
    !text.is_empty() && text.len() <= 12 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Most nodes of one job.
const NODES_MAX: usize = 10_000;

/// Tasks by node, of `64(x3),8`; nothing where it is not understood.
fn tasks_of(text: &str) -> Vec<u32> {
    let mut tasks = Vec::new();
    for part in text.split(',') {
        let (count, times) =
            part.strip_suffix(')').and_then(|part| part.split_once("(x")).unwrap_or((part, "1"));
        let (Ok(count), Ok(times)) = (count.parse::<u32>(), times.parse::<usize>()) else {
            return Vec::new();
        };
        if times > NODES_MAX - tasks.len() {
            return Vec::new();
        }
        tasks.extend(std::iter::repeat_n(count, times));
    }
    tasks
}

/// The id of a job that `sbatch --parsable` submitted, whatever else a site's plugins print.
pub fn submitted(outcome: &Outcome) -> Option<String> {
    let last =
        outcome.output.lines().rev().map(|line| line.split(';').next().unwrap_or_default().trim());
    last.filter(|_| outcome.status == Some(0)).find(|id| is_id(id)).map(str::to_owned)
}

/// Whether a job may be there all the same: `sbatch` was ended, or heard nothing in time, or what
/// it said makes no sense.
pub fn may_be_there(outcome: &Outcome) -> bool {
    let is_late = outcome.words.to_ascii_lowercase().contains("timed out");
    matches!(outcome.status, None | Some(0)) || is_late
}

/// Whether `sbatch` refused a job for what it asks for: a smaller one may be taken.
pub fn is_refused_for_size(outcome: &Outcome) -> bool {
    let words = outcome.words.to_ascii_lowercase();
    // slurm_errno.c: ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE, _PART_CONFIG_, _BAD_TASK_COUNT and
    // the like. ESLURM_ACCOUNTING_POLICY is size, time or the number of jobs.
    [
        "requested node configuration is not available",
        "requested partition configuration not available",
        "node count specification invalid",
        "more processors requested than permitted",
        "task count specification invalid",
        "cpu count specification invalid",
        "cpu count per node can not be satisfied",
        ACCOUNTING_POLICY,
    ]
    .iter()
    .any(|known| words.contains(known))
}

/// Whether `sbatch` refused a job for a limit that passes: how many jobs a user, or all, may have.
pub fn is_refused_for_now(outcome: &Outcome) -> bool {
    let words = outcome.words.to_ascii_lowercase();
    [ACCOUNTING_POLICY, "resource temporarily unavailable", "unable to accept job"]
        .iter()
        .any(|known| words.contains(known))
}

/// Of a size, a time, or a number of jobs that exceeds a limit.
const ACCOUNTING_POLICY: &str = "job violates accounting/qos policy";

/// Whether a job that waits for this reason does so for ever, because of what it asks for.
pub fn is_too_large(reason: &str) -> bool {
    ["PartitionConfig", "PartitionNodeLimit", "BadConstraints"].contains(&reason)
        // AssocMaxCpuPerJobLimit, QOSMaxNodePerJobLimit and the like; minutes are no processors.
        || (reason.contains("PerJob") && !reason.contains("Wall"))
}

/// How a job ended, or that it has not; `None` where that was not said.
pub fn told(outcome: &Outcome) -> Option<(State, String)> {
    let output = outcome.output.trim();
    if outcome.status != Some(0) || output.is_empty() {
        return None;
    }
    let (state, code) = if output.contains("JobState=") {
        let value =
            |name: &str| output.split(name).nth(1).and_then(|rest| rest.split_whitespace().next());
        (value("JobState=")?, value(" ExitCode="))
    } else {
        let line = output.lines().next()?;
        line.split_once('|').map(|(state, code)| (state, Some(code)))?
    };
    match State::named(state) {
        State::Unknown => None,
        known => Some((known, code.map(exit).unwrap_or_default())),
    }
}

/// `3:0` is an exit status, `0:9` a signal.
fn exit(code: &str) -> String {
    match code.trim().split_once(':') {
        Some((_, signal)) if signal != "0" && signal.parse::<u8>().is_ok() => {
            format!("signal {signal}")
        }
        Some((status, _)) if status != "0" && status.parse::<u16>().is_ok() => {
            format!("exit status {status}")
        }
        _ => String::new(),
    }
}

/// Where each job stands in line, among those that wait for the same partition: position, and how
/// many there are.
pub fn places(outcome: &Outcome) -> BTreeMap<String, (usize, usize)> {
    let mut lengths: BTreeMap<&str, usize> = BTreeMap::new();
    let mut found = Vec::new();
    for (id, partition) in outcome.output.lines().filter_map(|line| line.trim().split_once('|')) {
        let length = lengths.entry(partition).or_default();
        *length += 1;
        found.push((id.to_owned(), *length, partition));
    }
    found.into_iter().map(|(id, place, partition)| (id, (place, lengths[partition]))).collect()
}

/// The last words of a command, for people.
pub fn words(outcome: &Outcome) -> String {
    let said = outcome.words.lines().rev().find(|line| !line.trim().is_empty());
    let how = || {
        outcome
            .status
            .map_or("it took too long".to_owned(), |status| format!("exit status {status}"))
    };
    said.map_or_else(how, |line| line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good(output: &str) -> Outcome {
        Outcome { status: Some(0), output: output.to_owned(), words: String::new() }
    }

    #[test]
    fn lines_of_squeue_are_read_and_garbage_is_no_news() {
        let said = rows(&good(
            "7|RUNNING|4|3;64(x3),8|2026-01-02T03:04:05|None\n\n8|PENDING|1|4|N/A|a|b\n",
        ))
        .unwrap();
        assert_eq!(said.rows[0].tasks, [64, 64, 64, 8]);
        assert_eq!(
            (said.rows[0].number, said.rows[0].state, &said.rows[0].reason),
            (Some(3), State::Runs, &None)
        );
        assert_eq!(
            (said.rows[1].start.as_deref(), said.rows[1].reason.as_deref()),
            (None, Some("a|b"))
        );
        assert!(!said.has_garbage);
        let said = rows(&good(
            "slurm_load_jobs: INVALID\n7|INVALID|INVALID|INVALID|INVALID|INVALID\n8|PEN",
        ))
        .unwrap();
        assert!(said.has_garbage && said.rows.len() == 1);
        assert_eq!((said.rows[0].state, said.rows[0].number), (State::Unknown, None));
        assert_eq!(rows(&Outcome::default()), None);
        assert!(
            tasks_of("1(x999999999)").is_empty()
                && tasks_of("x").is_empty()
                && tasks_of("").is_empty()
        );
    }

    #[test]
    fn ids_are_found_and_doubt_stays_doubt() {
        assert_eq!(submitted(&good("lua: hello\n123;cluster\n")).as_deref(), Some("123"));
        assert_eq!(submitted(&good("Submitted\n")), None);
        let failed = |words: &str| Outcome {
            status: Some(1),
            output: String::new(),
            words: words.to_owned(),
        };
        assert!(may_be_there(&good("")) && may_be_there(&Outcome::default()));
        assert!(may_be_there(&failed(
            "sbatch: error: Batch job submission failed: Socket timed out on send/recv"
        )));
        assert!(!may_be_there(&failed("sbatch: error: invalid partition specified: x")));
    }

    #[test]
    fn ends_are_told() {
        let shown =
            good("JobId=3 JobName=x JobState=FAILED Reason=NonZeroExitCode ExitCode=3:0 RunTime=0");
        assert_eq!(
            told(&shown),
            Some((State::Over(Status::Failed, "failed"), "exit status 3".to_owned()))
        );
        assert_eq!(told(&good("CANCELLED by 1000|0:15\n")).unwrap().1, "signal 15");
        assert_eq!(told(&good("")), None);
        assert_eq!(told(&good("MYSTERY|0:0")), None);
    }

    #[test]
    fn noise_is_no_end_and_no_crash() {
        let mut random = farcall_base::SeededRandom::new(3);
        let whole = "7|RUNNING|4|3;64(x3),8|2026-01-02T03:04:05|None\n8|COMPLETED|1|4|N/A|None\n";
        for _ in 0..farcall_golden::fuzz_rounds(3000) {
            let mut bytes = whole.as_bytes().to_vec();
            let at = farcall_base::Random::next(&mut random) as usize % bytes.len();
            bytes[at] = farcall_base::Random::next(&mut random) as u8;
            let said = good(&String::from_utf8_lossy(&bytes));
            let _ = (rows(&said), told(&said), submitted(&said), places(&said));
        }
    }

    #[test]
    fn places_are_those_of_one_partition() {
        let said = places(&good("5|a\n6|b\n7|a\n"));
        assert_eq!((said["5"], said["6"], said["7"]), ((1, 2), (1, 1), (2, 2)));
    }
}
