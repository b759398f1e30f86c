//! What the system counts of the server's process (proc(5)).

use std::fs;

/// `/proc/PID/stat` counts time in ticks, which user space sees as hundredths of a second on every
/// Linux.
const TICKS_A_SECOND: f64 = 100.0;

/// Of one process, as far as the system tells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Process {
    /// Bytes of memory in use.
    pub resident_bytes: Option<u64>,
    /// Processor time so far, in seconds.
    pub processor_seconds: Option<f64>,
    /// Descriptors that are open.
    pub descriptors: Option<u64>,
}

impl Process {
    /// This process, now.
    pub fn now() -> Process {
        let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        Process {
            resident_bytes: resident(&status),
            processor_seconds: processor(&stat),
            descriptors: fs::read_dir("/proc/self/fd").ok().map(|entries| entries.count() as u64),
        }
    }
}

/// The line `VmRSS:   12345 kB`.
fn resident(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// Fields 14 and 15, user and system time; the second field is a name in brackets, which may hold
/// anything.
fn processor(stat: &str) -> Option<f64> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |index: usize| fields.get(index)?.parse::<f64>().ok();
    Some((ticks(11)? + ticks(12)?) / TICKS_A_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_s_words_are_understood() {
        assert_eq!(resident("Name:\tfarcall\nVmRSS:\t   12 kB\n"), Some(12 << 10));
        let stat = "7 (a ) b) S 1 7 7 0 -1 4194304 99 0 0 0 150 50 0 0 20 0 5 0 100 0 0";
        assert_eq!(processor(stat), Some(2.0));
        assert_eq!((resident(""), processor("")), (None, None));
        let now = Process::now();
        assert!(now.resident_bytes > Some(0) && now.descriptors > Some(2), "{now:?}");
    }
}
