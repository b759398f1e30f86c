//! How processes end: what an MPI's launcher says of the rank that ended all. Pure.

use farcall_services::spawner::ExitHow;

/// How launchers begin to say which rank ended all: Open MPI of one that a signal ended, of one
/// that called MPI_Abort (which programs of ours say themselves), and of one that called exit;
/// MPICH.
const RANK_WORDS: [&str; 4] =
    ["process rank ", "was invoked on rank ", "Process name: [[", "   RANK "];

/// What Open MPI (4 and 5) says where a node of its is gone.
const NODE_WORDS: &str = "has lost communication with a remote daemon";

/// What a shell, and so a launcher, adds to the number of a signal.
const BY_SIGNAL: i32 = 128;

/// How the rank ended that ended all, and which it was, if that was said: the launcher's status
/// tells of a signal, and its words of the rank.
pub(crate) fn of_ranks(how: ExitHow, stderr: &str) -> (ExitHow, Option<u32>) {
    let how = match how {
        ExitHow::Status(_) if stderr.contains(NODE_WORDS) => ExitHow::Lost,
        ExitHow::Status(status) => {
            match status.checked_sub(BY_SIGNAL).map(|number| ExitHow::of_signal(number, false)) {
                Some(signal @ ExitHow::Signal { name, .. }) if name.starts_with("SIG") => signal,
                _ => how,
            }
        }
        ExitHow::Signal { .. } | ExitHow::Lost => how,
    };
    (how, stderr.lines().rev().find_map(rank))
}

/// The rank that a launcher's line names.
fn rank(line: &str) -> Option<u32> {
    let (word, rest) =
        RANK_WORDS.iter().find_map(|word| Some((*word, line.split_once(word)?.1)))?;
    // A process is named [[JOB],RANK].
    let rest = if word.ends_with('[') { rest.split_once("],")?.1 } else { rest };
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_say_which_rank_ended_all() {
        let cases = [
            (
                139,
                "mpirun noticed that process rank 1 with PID 7 on node a exited on signal 11 \
                    (Segmentation fault).",
                1,
            ),
            (
                3,
                "MPI_ABORT was invoked on rank 12 in communicator MPI_COMM_WORLD\nwith errorcode \
                    3.\n\nNOTE: x",
                12,
            ),
            (
                1,
                "mpirun has exited due to process rank 4 with PID 0 on\nnode a exiting \
                    improperly. There are three",
                4,
            ),
            (5, "  Process name: [[51234,1],2]\n  Exit code:    5\n-----", 2),
            (9, "=   RANK 3 PID 77 RUNNING AT a\n=   KILLED BY SIGNAL: 9 (Killed)", 3),
        ];
        for (status, words, expected) in cases {
            assert_eq!(of_ranks(ExitHow::Status(status), words).1, Some(expected), "{words}");
        }
        let signal = |status| of_ranks(ExitHow::Status(status), "").0;
        assert_eq!(
            signal(139),
            ExitHow::Signal { number: libc::SIGSEGV, name: "SIGSEGV", core: false }
        );
        // No signal has this number, and none at all.
        assert_eq!((signal(255), signal(3)), (ExitHow::Status(255), ExitHow::Status(3)));
        let lost = "ORTE has lost communication with a remote daemon.\n\n  Remote daemon: \
            [[21839,0],2] on node n2\n";
        assert_eq!(of_ranks(ExitHow::Status(205), lost), (ExitHow::Lost, None));
        for words in
            ["", "rank 1", "process rank one", "Process name: [[1,2", "process rank 99999999999"]
        {
            assert_eq!(of_ranks(ExitHow::Status(1), words), (ExitHow::Status(1), None), "{words}");
        }
    }
}
