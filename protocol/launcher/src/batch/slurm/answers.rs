//! What Slurm's commands answer, read with suspicion: what is not understood is no news, and never
//! the end of a job.

use std::collections::BTreeMap;

use crate::action::Outcome;
use crate::batch::answers::{CANCELLED, FAILED, Row, Rows, State, TIMED_OUT};
use crate::batch::system::{rows_of, says};

/// Names as `squeue` (%T), `scontrol` and `sacct` write them: "CANCELLED by 1000" is one, too.
pub fn state(text: &str) -> State {
    match text.split([' ', '+']).next().unwrap_or_default() {
        "PENDING" => State::Waits,
        "CONFIGURING" => State::Begins,
        "RUNNING" | "RESIZING" | "SIGNALING" | "STAGE_OUT" => State::Runs,
        "SUSPENDED" | "STOPPED" => State::Pauses,
        "COMPLETING" => State::Ends,
        "REQUEUED" | "REQUEUE_FED" | "REQUEUE_HOLD" | "SPECIAL_EXIT" | "RESV_DEL_HOLD" => {
            State::Requeued
        }
        "COMPLETED" => State::done(),
        "CANCELLED" => State::failed(CANCELLED),
        "FAILED" => State::failed(FAILED),
        "TIMEOUT" => State::failed(TIMED_OUT),
        "NODE_FAIL" => State::failed("a node failed"),
        "PREEMPTED" => State::failed("preempted"),
        "BOOT_FAIL" => State::failed("its nodes did not boot"),
        "DEADLINE" => State::failed("its deadline passed"),
        "OUT_OF_MEMORY" => State::failed("out of memory"),
        "REVOKED" => State::failed("revoked: it runs on another cluster"),
        _ => State::Unknown,
    }
}

/// `None` where it failed.
pub fn rows(outcome: &Outcome) -> Option<Rows> {
    if outcome.status != Some(0) {
        return None;
    }
    let lines = outcome.output.lines().filter(|line| !line.trim().is_empty());
    Some(rows_of(lines.map(row)))
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
    let state = self::state(word);
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

/// Whether `sbatch` refused a job for what it asks for: a smaller one may be taken.
pub fn is_refused_for_size(outcome: &Outcome) -> bool {
    // slurm_errno.c: ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE, _PART_CONFIG_, _BAD_TASK_COUNT and
    // the like. ESLURM_ACCOUNTING_POLICY is size, time or the number of jobs.
    let known = [
        "requested node configuration is not available",
        "requested partition configuration not available",
        "node count specification invalid",
        "more processors requested than permitted",
        "task count specification invalid",
        "cpu count specification invalid",
        "cpu count per node can not be satisfied",
        "memory specification can not be satisfied",
        ACCOUNTING_POLICY,
    ];
    says(outcome, &known)
}

/// Whether `sbatch` refused a job for a limit that passes: how many jobs a user, or all, may have.
pub fn is_refused_for_now(outcome: &Outcome) -> bool {
    says(outcome, &[ACCOUNTING_POLICY, "resource temporarily unavailable", "unable to accept job"])
}

/// Of a size, a time, or a number of jobs that exceeds a limit.
const ACCOUNTING_POLICY: &str = "job violates accounting/qos policy";

/// Whether a job that waits for this reason does so for ever, because of what it asks for.
pub fn is_too_large(reason: &str) -> bool {
    ["PartitionConfig", "PartitionNodeLimit", "BadConstraints"].contains(&reason)
        // AssocMaxCpuPerJobLimit, QOSMaxNodePerJobLimit and the like; minutes are no processors.
        || (reason.contains("PerJob") && !reason.contains("Wall"))
}

/// The same of what its slots ask for: memory and time, too.
pub fn is_never(reason: &str) -> bool {
    is_too_large(reason) || ["PartitionTimeLimit", "MaxMemPerLimit"].contains(&reason)
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
    match self::state(state) {
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
pub fn places(outcome: &Outcome) -> BTreeMap<String, String> {
    let mut lengths: BTreeMap<&str, usize> = BTreeMap::new();
    let mut found = Vec::new();
    for (id, partition) in outcome.output.lines().filter_map(|line| line.trim().split_once('|')) {
        let length = lengths.entry(partition).or_default();
        *length += 1;
        found.push((id.to_owned(), *length, partition));
    }
    let text = |place: usize, of: usize| format!("place {place} of {of} in the queue");
    let told = |(id, place, partition)| (id, text(place, lengths[partition]));
    found.into_iter().map(told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::system::may_be_there;
    use crate::jobs::Status;

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
        assert_eq!(said["5"], "place 1 of 2 in the queue");
        assert_eq!(said["6"], "place 1 of 1 in the queue");
        assert_eq!(said["7"], "place 2 of 2 in the queue");
    }
}
