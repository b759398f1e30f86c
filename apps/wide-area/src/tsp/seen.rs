//! Paths that lead nowhere better: another one over the same cities to the same end is no longer.

/// Bits of the number of paths that are remembered: 4 MiB of them.
const BITS: u32 = 18;
/// Bits of a mark that name the last city; the others are the job's.
const CITY_BITS: u32 = 6;

#[derive(Clone, Copy, Default)]
struct Entry {
    ahead: u64,
    length: u32,
    /// The job and the last city.
    mark: u32,
}

/// The lengths of paths that a job went through, by the cities ahead and the last one. Of paths
/// that share a place the newest is remembered. Jobs see nothing of each other.
pub(super) struct Seen {
    entries: Vec<Entry>,
    job: u32,
}

impl Seen {
    /// Remembers nothing if it `remembers` not, and needs no memory then.
    pub(super) fn new(remembers: bool) -> Seen {
        let count = if remembers { 1 << BITS } else { 0 };
        Seen { entries: vec![Entry::default(); count], job: 0 }
    }

    /// Forgets all of the last job.
    pub(super) fn begin_job(&mut self) {
        self.job += 1;
        if self.job == 1 << (32 - CITY_BITS) {
            self.entries.fill(Entry::default());
            self.job = 1;
        }
    }

    /// Whether the job has been through a path over the same cities that ended there, too, and was
    /// not longer. Remembers this one if not.
    pub(super) fn is_dominated(&mut self, ahead: u64, last: usize, length: u32) -> bool {
        let mark = self.job << CITY_BITS | last as u32;
        let mixed = (ahead ^ (last as u64) << 58).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let Some(entry) = self.entries.get_mut((mixed >> (64 - BITS)) as usize) else {
            return false;
        };
        if entry.mark == mark && entry.ahead == ahead && entry.length <= length {
            return true;
        }
        *entry = Entry { ahead, length, mark };
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_cities_of_the_same_job_dominate() {
        let mut seen = Seen::new(true);
        seen.begin_job();
        assert!(!seen.is_dominated(6, 3, 10));
        assert!(seen.is_dominated(6, 3, 10) && seen.is_dominated(6, 3, 11));
        assert!(!seen.is_dominated(6, 4, 11) && !seen.is_dominated(7, 3, 11));
        assert!(!seen.is_dominated(6, 3, 9) && seen.is_dominated(6, 3, 10));
        seen.begin_job();
        assert!(!seen.is_dominated(6, 3, 11));
        let mut nothing = Seen::new(false);
        assert!(!nothing.is_dominated(6, 3, 1) && !nothing.is_dominated(6, 3, 1));
    }
}
