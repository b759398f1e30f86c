//! What this machine has to do, and the memory that it has left.

use std::fs::read_to_string;

/// What the system says of now.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MachineLoad {
    /// Processes that run or want to, on average of the last minute; 0 where the system does not
    /// say.
    pub load: f64,
    /// Bytes of memory that programs could have; 0 where the system does not say.
    pub memory_free: u64,
}

/// Looks now.
pub fn machine_load() -> MachineLoad {
    let loadavg = read_to_string("/proc/loadavg").unwrap_or_default();
    let meminfo = read_to_string("/proc/meminfo").unwrap_or_default();
    MachineLoad { load: load(&loadavg), memory_free: available(&meminfo) }
}

/// The first number of /proc/loadavg.
fn load(loadavg: &str) -> f64 {
    loadavg.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0.0)
}

/// The line `MemAvailable:   12345 kB` of /proc/meminfo.
fn available(meminfo: &str) -> u64 {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0).saturating_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn load_and_free_memory_are_what_the_system_says() {
        assert_eq!(load("1.25 0.80 0.40 3/400 1234\n"), 1.25);
        assert_eq!(load(""), 0.0);
        assert_eq!(available("MemTotal: 9 kB\nMemAvailable:    2048 kB\n"), 2 << 20);
        assert_eq!(available("MemTotal: 9 kB\n"), 0);
    }
}
