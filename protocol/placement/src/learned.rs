//! What was learned, as lines of a file that outlasts a server (spec/placement.md, section 11).
//!
//! A line is one measurement. To read the file is to measure again, as it were: so the file
//! depends on no table of this crate, lines of several writers may alternate, and a damaged line
//! costs that line.

use std::fmt::Write;

use farcall_base::{Error, ErrorKind, Result, printable_line};
use xxhash_rust::xxh3::xxh3_64;

use crate::member::{Member, Report};
use crate::paths::{Direction, Transfer};
use crate::placement::Placement;
use crate::run_times::Work;
use crate::{Contract, MemberId, SiteId};

/// The first line of a file.
pub const HEADING: &str = "farcall learned 1";
/// Bytes of a line at most: names are addresses.
const LINE_BYTES_MAX: usize = 1024;

/// One measurement.
#[derive(Clone, Debug, PartialEq)]
pub enum Lesson {
    /// A call ran.
    Run {
        /// The server's name.
        server: String,
        /// The routine.
        contract: Contract,
        /// How much it did.
        work: Work,
        /// While it ran.
        seconds: f64,
    },
    /// Arrays travelled.
    Way {
        /// The site where they began.
        from: String,
        /// The site where they arrived.
        to: String,
        /// How that went.
        transfer: Transfer,
    },
}

impl Lesson {
    /// As a line, with the line's end.
    pub fn line(&self) -> String {
        let mut text = match self {
            Lesson::Run { server, contract, work, seconds } => format!(
                "run\t{}\t{}\t{:e}\t{:016x}\t{}\t{seconds:e}",
                printable_line(server),
                hex(contract),
                work.amount,
                work.sizes,
                work.threads
            ),
            Lesson::Way { from, to, transfer } => format!(
                "way\t{}\t{}\t{:e}\t{:e}\t{:e}",
                printable_line(from),
                printable_line(to),
                transfer.bytes,
                transfer.seconds,
                transfer.beside
            ),
        };
        let check = xxh3_64(text.as_bytes());
        let _ = writeln!(text, "\t{check:016x}");
        text
    }

    /// What a line says; nothing where it is damaged.
    fn read(line: &str) -> Option<Lesson> {
        let (text, check) = line.rsplit_once('\t')?;
        let is_whole = check.len() == 16
            && u64::from_str_radix(check, 16).is_ok_and(|check| check == xxh3_64(text.as_bytes()));
        if !is_whole || line.len() > LINE_BYTES_MAX {
            return None;
        }
        match text.split('\t').collect::<Vec<_>>()[..] {
            ["run", server, contract, amount, sizes, threads, seconds] => Some(Lesson::Run {
                server: server.to_owned(),
                contract: contract_of(contract)?,
                work: Work {
                    amount: number(amount)?.max(1.0),
                    sizes: u64::from_str_radix(sizes, 16).ok()?,
                    threads: threads.parse().ok().filter(|threads| *threads > 0)?,
                },
                seconds: number(seconds)?,
            }),
            ["way", from, to, bytes, seconds, beside] => Some(Lesson::Way {
                from: from.to_owned(),
                to: to.to_owned(),
                transfer: Transfer {
                    bytes: number(bytes)?,
                    seconds: number(seconds)?,
                    beside: number(beside)?,
                },
            }),
            _ => None,
        }
    }
}

fn hex(contract: &Contract) -> String {
    contract.iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn contract_of(text: &str) -> Option<Contract> {
    let mut contract = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (at, byte) in contract.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(contract)
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

/// What a file says: the last `lessons_max` lessons of it, and how many lines were damaged.
///
/// # Errors
/// `Version` for a file that begins with another heading: another version of Farcall wrote it.
pub fn read_lessons(text: &str, lessons_max: usize) -> Result<(Vec<Lesson>, usize)> {
    let mut lines = text.lines();
    match lines.next() {
        None => return Ok((Vec::new(), 0)),
        Some(HEADING) => {}
        Some(other) => {
            let other: String = other.chars().take(40).collect();
            return Err(Error::new(
                ErrorKind::Version,
                "read what was learned",
                format!("the file begins with \"{}\" and not with \"{HEADING}\"", printable_line(&other)),
            )
            .fix("delete it: predictions are learned again; or use the version of Farcall that wrote it"));
        }
    }
    let lines: Vec<&str> = lines.filter(|line| *line != HEADING).collect();
    let begin = lines.len().saturating_sub(lessons_max);
    let lessons: Vec<Lesson> =
        lines[begin..].iter().filter_map(|line| Lesson::read(line)).collect();
    let damaged = lines.len() - begin - lessons.len();
    Ok((lessons, damaged))
}

impl Placement {
    /// A measurement of an earlier run; `site` numbers a site by its name. A server that is not
    /// known is lost until it reports.
    pub fn restore(&mut self, lesson: &Lesson, mut site: impl FnMut(&str) -> SiteId) {
        match lesson {
            Lesson::Run { server, contract, work, seconds } => {
                if let Some(member) = self.remember(server) {
                    self.runs.observe(member, contract, work, *seconds);
                }
            }
            Lesson::Way { from, to, transfer } => {
                let direction = Direction { from: site(from), to: site(to) };
                self.paths.observe(direction, transfer);
            }
        }
    }

    /// The number of a server of an earlier run. Those take at most half of the room.
    fn remember(&mut self, name: &str) -> Option<MemberId> {
        if let Some(known) = self.members.named(name) {
            return Some(known);
        }
        if self.members.len() >= self.limits.members_max / 2 {
            return None;
        }
        let mut member = Member::new(farcall_base::Instant(0), name.to_owned(), Report::default());
        member.lost = true;
        Some(self.members.insert(member))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeSet;

    use farcall_base::Instant;

    use super::*;
    use crate::policy::FinishFirst;
    use crate::{Limits, Question};

    fn run(server: &str, seconds: f64) -> Lesson {
        let work = Work { amount: 1e9, sizes: 0xabc, threads: 2 };
        Lesson::Run { server: server.into(), contract: [0xc0; 32], work, seconds }
    }

    fn way(seconds: f64) -> Lesson {
        let transfer = Transfer { bytes: 1e7, seconds, beside: 0.0 };
        Lesson::Way { from: "home".into(), to: "east".into(), transfer }
    }

    fn file(lessons: &[Lesson]) -> String {
        let lines: String = lessons.iter().map(Lesson::line).collect();
        format!("{HEADING}\n{lines}")
    }

    #[test]
    fn what_was_written_is_read() {
        let lessons = [run("tls://b:7070", 0.125), way(2.5)];
        assert_eq!(read_lessons(&file(&lessons), 100).unwrap(), (lessons.to_vec(), 0));
        assert_eq!(read_lessons("", 100).unwrap(), (Vec::new(), 0));
    }

    #[test]
    fn of_many_the_last_are_read() {
        let lessons: Vec<Lesson> = (1..=10).map(|at| run("b", f64::from(at))).collect();
        assert_eq!(read_lessons(&file(&lessons), 3).unwrap(), (lessons[7..].to_vec(), 0));
    }

    #[test]
    fn a_damaged_line_costs_that_line() {
        let lessons = [run("b", 1.0), run("b", 2.0), way(1.0)];
        let whole = file(&lessons);
        for at in HEADING.len() + 1..whole.len() {
            let mut bytes = whole.clone().into_bytes();
            bytes[at] ^= 1;
            let text = String::from_utf8_lossy(&bytes);
            let (read, damaged) = read_lessons(&text, 100).unwrap();
            // A line end that is gone joins two lines.
            assert!(damaged >= 1 && read.len() + 2 >= lessons.len(), "{at}: {read:?}");
            assert!(read.iter().all(|lesson| lessons.contains(lesson)), "{at}: {read:?}");
        }
        for end in 0..whole.len() {
            let _ = read_lessons(&whole[..end], 100);
        }
    }

    #[test]
    fn numbers_that_are_none_and_other_versions_are_refused() {
        for seconds in [f64::NAN, f64::INFINITY, -1.0] {
            assert_eq!(read_lessons(&file(&[run("b", seconds)]), 9).unwrap(), (Vec::new(), 1));
        }
        let error = read_lessons("farcall learned 2\n", 9).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Version, "{error}");
    }

    #[test]
    fn only_what_teaches_is_news() {
        let mut placement = Placement::new(Limits::default(), Box::new(FinishFirst));
        let Lesson::Run { contract, work, .. } = run("b", 1.0) else { unreachable!() };
        let is_news = |placement: &Placement, seconds| {
            placement.runs.is_news(MemberId(0), &contract, &work, seconds)
        };
        for _ in 0..10 {
            assert!(is_news(&placement, 3.0));
            placement.restore(&run("b", 1.0), |_| SiteId(1));
        }
        assert!(!is_news(&placement, 1.05) && is_news(&placement, 3.0));

        let direction = Direction { from: SiteId(1), to: SiteId(2) };
        let transfer = Transfer { bytes: 1e7, seconds: 4.0, beside: 0.0 };
        for _ in 0..10 {
            placement.paths.observe(direction, &transfer);
        }
        let slower = Transfer { seconds: 8.0, ..transfer };
        assert!(!placement.paths.is_news(Instant(9), direction, &transfer));
        assert!(placement.paths.is_news(Instant(9), direction, &slower));
    }

    #[test]
    fn predictions_outlast_a_run() {
        let mut placement = Placement::new(Limits::default(), Box::new(FinishFirst));
        let site = |name: &str| SiteId(if name == "home" { 1 } else { 2 });
        let lessons = [run("fast", 0.5), run("slow", 5.0), way(4.0)];
        lessons.iter().for_each(|lesson| placement.restore(lesson, site));
        let question = Question {
            contract: [0xc0; 32],
            work: Work { amount: 1e9, sizes: 0xabc, threads: 2 },
            processors: 1,
            bytes_in: 1e7,
            bytes_out: 0.0,
            site: SiteId(1),
            deadline_s: None,
            without: Vec::new(),
        };
        // Nobody is there before he reports.
        assert!(placement.explain(Instant(9), &question).is_empty());
        for name in ["slow", "fast"] {
            let contracts = BTreeSet::from([[0xc0; 32]]);
            let report = Report { site: SiteId(2), processors: 1, contracts, ..Report::default() };
            placement.handle_report(Instant(9), name, report).unwrap();
        }
        let rows = placement.explain(Instant(9), &question);
        let first = placement.member(rows[0].member).unwrap();
        assert_eq!((first.name.as_str(), rows.len()), ("fast", 2));
        assert!((rows[0].send_s - 4.0).abs() < 0.5 && rows[0].run_s < 1.0, "{rows:?}");
    }
}
