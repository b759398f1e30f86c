//! What of that which was learned is worth a line in the file: where it taught something, and not
//! too many at a time.

use std::collections::BTreeMap;
use std::time::Duration;

use farcall_base::Instant;
use farcall_placement::Lesson;

/// The first of each kind are written however well they were predicted.
const FIRST: u8 = 5;
/// Others are if the prediction was wrong by more than this part.
const WRONG: f64 = 0.1;
/// Lines for each so long a time.
const LINES_MAX: u32 = 64;
const LINES_TIME: Duration = Duration::from_secs(1);
/// Kinds that are counted; then all are new again.
const KINDS_MAX: usize = 65_536;

/// Lessons that wait to be written.
#[derive(Debug, Default)]
pub struct Lessons {
    seen: BTreeMap<[u64; 4], u8>,
    text: String,
    lines: u32,
    since: Instant,
}

impl Lessons {
    /// A measurement of some kind was predicted to be this.
    pub fn add(
        &mut self,
        now: Instant,
        kind: [u64; 4],
        (predicted, measured): (f64, f64),
        lesson: impl FnOnce() -> Lesson,
    ) {
        if now.since(self.since) >= LINES_TIME {
            (self.since, self.lines) = (now, 0);
        }
        if self.seen.len() >= KINDS_MAX && !self.seen.contains_key(&kind) {
            self.seen.clear();
        }
        let seen = self.seen.entry(kind).or_default();
        let is_wrong = (predicted - measured).abs() > measured.abs() * WRONG;
        if (*seen >= FIRST && !is_wrong) || self.lines >= LINES_MAX {
            return;
        }
        *seen = seen.saturating_add(1);
        self.lines += 1;
        self.text.push_str(&lesson().line());
    }

    /// What is to be written.
    pub fn take(&mut self) -> Option<String> {
        (!self.text.is_empty()).then(|| std::mem::take(&mut self.text))
    }
}

#[cfg(test)]
mod tests {
    use farcall_placement::Work;

    use super::*;

    fn run() -> Lesson {
        let work = Work { amount: 1.0, sizes: 0, threads: 1 };
        Lesson::Run { server: "b".to_owned(), contract: [0; 32], work, seconds: 1.0 }
    }

    fn lines(lessons: &mut Lessons) -> usize {
        lessons.take().map_or(0, |text| text.lines().count())
    }

    #[test]
    fn the_first_and_the_wrongly_predicted_are_written_and_few_at_a_time() {
        let mut lessons = Lessons::default();
        for _ in 0..20 {
            lessons.add(Instant(1), [1; 4], (1.0, 1.05), run);
        }
        assert_eq!(lines(&mut lessons), usize::from(FIRST));
        lessons.add(Instant(2), [1; 4], (1.0, 2.0), run);
        assert_eq!(lines(&mut lessons), 1);
        for _ in 0..1000 {
            lessons.add(Instant(3), [1; 4], (1.0, 2.0), run);
        }
        assert_eq!(lines(&mut lessons), LINES_MAX as usize - 6);
        lessons.add(Instant(3) + LINES_TIME, [1; 4], (1.0, 2.0), run);
        assert_eq!(lines(&mut lessons), 1, "the next second has room again");
    }
}
