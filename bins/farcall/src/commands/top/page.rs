//! A server's status for people: a head, modules, who calls what, and the calls that are open.

use farcall_base::ErrorKind;
use farcall_client::{Status, Use};

use crate::output::bytes;

/// Rows of each table that are shown.
const ROWS_MAX: usize = 20;

/// The whole page.
pub fn page(now: &Status, before: &Status, seconds: f64) -> String {
    let mut text = head(now, before, seconds);
    let modules = now.modules.iter().map(|one| {
        let counts = [one.waiting, one.busy, one.idle, one.starting, one.ending]
            .map(|count| count.to_string());
        [vec![one.module.clone()], counts.to_vec()].concat()
    });
    text +=
        &table(&["MODULE", "WAITING", "BUSY", "IDLE", "STARTING", "ENDING"], 1, modules.collect());
    let mut uses: Vec<(f64, &Use)> =
        now.uses.iter().map(|one| (rate(one, before, seconds), one)).collect();
    uses.sort_by(|(a, x), (b, y)| b.total_cmp(a).then(y.begun.cmp(&x.begun)));
    let uses = uses.into_iter().map(|(rate, one)| usage(rate, one));
    text += &table(
        &[
            "WHO",
            "ROUTINE",
            "CALLS",
            "CALLS/S",
            "FAILED",
            "CANCELLED",
            "QUEUED",
            "MEAN",
            "IN",
            "OUT",
        ],
        2,
        uses.collect(),
    );
    let calls = now.calls.iter().map(|one| {
        let who = [
            one.id.to_string(),
            one.principal.clone(),
            one.routine.clone(),
            one.stage.word().to_owned(),
        ];
        [who.to_vec(), vec![one.peer.clone(), time(one.age_ns as f64 / 1e9)]].concat()
    });
    text + &table(&["CALL", "WHO", "ROUTINE", "STAGE", "FROM", "AGE"], 5, calls.collect())
}

/// As much of a page as a terminal has room for, its head in any case: one whose size is not known
/// gets all.
pub fn fitted(text: &str, rows: usize, columns: usize) -> String {
    if rows == 0 || columns == 0 {
        return text.to_owned();
    }
    // A line as wide as the terminal may begin another; so may the end of the last one.
    let lines = text.lines().take(rows.saturating_sub(1).max(1));
    lines
        .map(|line| {
            line.chars().take(columns.saturating_sub(1).max(1)).chain(['\n']).collect::<String>()
        })
        .collect()
}

fn head(now: &Status, before: &Status, seconds: f64) -> String {
    // The sum of nothing is -0.0.
    let all = now.uses.iter().map(|one| rate(one, before, seconds)).sum::<f64>() + 0.0;
    let waiting = sum(now.modules.iter().map(|one| one.waiting));
    let draining = if now.draining { ", accepts no more calls" } else { "" };
    let mut text = format!("{}, up {}{draining}\n", now.product, time(now.up_ns as f64 / 1e9));
    text += &format!("calls: {} open, {waiting} waiting, {all:.1} a second\n", now.calls_open);
    if let Some(processors) = now.processors {
        text += &format!("processors: {} of {} taken\n", processors.taken, processors.max);
    }
    if now.objects_held > 0 {
        text += &format!("objects: {} held\n", now.objects_held);
    }
    if let Some(totals) = &now.totals {
        text += &format!(
            "clients: {} now, {} so far, {} refused\nexecutables: {} started, {} stopped, {} \
                crashed\n",
            totals.clients,
            totals.connected,
            totals.refused,
            totals.started,
            totals.stopped,
            totals.crashed
        );
        let [used, held, shared] =
            [totals.memory_used, totals.memory_held, totals.memory_shared].map(bytes);
        text += &format!("argument memory: {used} in use of {held}, {shared} shared by clients\n");
    }
    text
}

fn usage(rate: f64, one: &Use) -> Vec<String> {
    let is_cancelled = |kind: u16| ErrorKind::from_code(kind) == Some(ErrorKind::Cancelled);
    let ends = |cancelled: bool| {
        let counted = one.failed.iter().filter(move |(kind, _)| is_cancelled(*kind) == cancelled);
        sum(counted.map(|(_, count)| *count)).to_string()
    };
    let ended = sum(one.durations.iter().copied());
    let mean = |total: u64| match ended {
        0 => "-".to_owned(),
        _ => time(total as f64 / 1e9 / ended as f64),
    };
    let queued = mean(one.duration_ns.saturating_sub(one.running_ns));
    let routine = if one.routine.is_empty() { "(refused)".to_owned() } else { one.routine.clone() };
    let counts = [
        one.begun.to_string(),
        format!("{rate:.1}"),
        ends(false),
        ends(true),
        queued,
        mean(one.running_ns),
    ];
    [
        vec![one.principal.clone(), routine],
        counts.to_vec(),
        vec![bytes(one.bytes_in), bytes(one.bytes_out)],
    ]
    .concat()
}

/// A sum of what a server says, who may say anything.
fn sum(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

/// Calls a second since the look before.
pub fn rate(one: &Use, before: &Status, seconds: f64) -> f64 {
    let same = |other: &&Use| (&other.principal, &other.routine) == (&one.principal, &one.routine);
    let known = before.uses.iter().find(same).map_or(0, |other| other.begun);
    one.begun.saturating_sub(known) as f64 / seconds
}

/// Columns as wide as what is in them; from the column `numbers` on they are aligned at the right.
fn table(head: &[&str], numbers: usize, rows: Vec<Vec<String>>) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let left_out = rows.len().saturating_sub(ROWS_MAX);
    let head = head.iter().map(|word| (*word).to_owned()).collect();
    let rows: Vec<Vec<String>> =
        [head].into_iter().chain(rows.into_iter().take(ROWS_MAX)).collect();
    let width =
        |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let mut text = "\n".to_owned();
    for row in &rows {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
            match column < numbers {
                true => format!("{cell:width$}"),
                false => format!("{cell:>width$}"),
            }
        });
        text += cells.collect::<Vec<_>>().join("  ").trim_end();
        text.push('\n');
    }
    if left_out > 0 {
        text += &format!("and {left_out} more; --json shows them\n");
    }
    text
}

fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.0} us", s * 1e6),
        s if s < 1.0 => format!("{:.1} ms", s * 1e3),
        s if s < 120.0 => format!("{s:.1} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.1} h", s / 3600.0),
        s => format!("{:.1} days", s / 86_400.0),
    }
}

#[cfg(test)]
mod tests {
    use farcall_base::{CallId, Random, SeededRandom, is_obeyed};
    use farcall_client::{ModuleStatus, OpenCall, ProcessorsStatus, Stage, Totals};
    use farcall_wire::Shown;

    use super::*;
    use crate::output::json_line;

    fn seen(begun: u64) -> Status {
        let one = Use {
            principal: "anna".into(),
            routine: "m/f".into(),
            begun,
            returned: begun - 1,
            failed: vec![(ErrorKind::RoutineCrashed.code(), 1), (ErrorKind::Cancelled.code(), 3)],
            durations: vec![begun],
            duration_ns: begun * 5_000_000,
            running_ns: begun * 2_000_000,
            bytes_in: 3 << 20,
            ..Use::default()
        };
        let call = OpenCall {
            id: CallId([7; 16]),
            principal: "bert".into(),
            peer: "10.0.0.7:1".into(),
            routine: "m/g".into(),
            stage: Stage::Waiting,
            age_ns: 3_000_000_000,
        };
        let totals = Some(Totals { clients: 4, memory_used: 1 << 30, ..Totals::default() });
        Status {
            uses: vec![one],
            calls: vec![call; 25],
            calls_open: 25,
            totals,
            processors: Some(ProcessorsStatus { max: 4, taken: 3 }),
            ..Status::default()
        }
    }

    #[test]
    fn a_page_is_no_larger_than_its_terminal() {
        let text = page(&seen(110), &seen(10), 2.0);
        let cut = fitted(&text, 8, 30);
        assert!(
            cut.lines().count() == 7 && cut.lines().all(|line| line.chars().count() < 30),
            "{cut}"
        );
        assert!(
            cut.lines().next().is_some_and(|first| text.starts_with(first)) && cut.ends_with('\n'),
            "{cut}"
        );
        assert_eq!((fitted(&text, 0, 0), fitted(&text, 1000, 1000)), (text.clone(), text));
        assert_eq!(fitted("ab\ncd\n", 1, 1), "a\n");
    }

    #[test]
    fn rates_come_from_two_looks_and_means_from_durations() {
        let text = page(&seen(110), &seen(10), 2.0);
        assert!(
            text.contains(
                "anna  m/f        110     50.0       1          3  3.0 ms  2.0 ms  3.0 MiB  0 B\n"
            ),
            "{text}"
        );
        assert!(
            text.contains("calls: 25 open, 0 waiting, 50.0 a second\n")
                && text.contains("processors: 3 of 4 taken\n")
                && text.contains("1.0 GiB in use"),
            "{text}"
        );
        assert!(
            text.contains(
                "07070707070707070707070707070707  bert  m/g      waiting  10.0.0.7:1  3.0 s\n"
            ),
            "{text}"
        );
        assert!(text.contains("and 5 more; --json shows them\n"), "{text}");
    }

    #[test]
    fn who_sees_only_what_is_theirs_sees_no_totals() {
        let own = Status { totals: None, ..seen(5) };
        let text = page(&own, &own, 1.0);
        assert!(!text.contains("clients:") && text.contains("anna"), "{text}");
        assert!(
            page(&Status::default(), &Status::default(), 1.0)
                .contains("calls: 0 open, 0 waiting, 0.0 a second")
        );
    }

    /// Numbers that a sum or a quotient may trip over, and any.
    fn number(random: &mut SeededRandom) -> u64 {
        match random.next() % 6 {
            0 => 0,
            1 => 1,
            2 => u64::MAX,
            3 => u64::MAX / 2 + 1,
            _ => random.next(),
        }
    }

    fn list<T>(random: &mut SeededRandom, mut make: impl FnMut(&mut SeededRandom) -> T) -> Vec<T> {
        let count = random.next() % 25;
        (0..count).map(|_| make(random)).collect()
    }

    fn any(random: &mut SeededRandom) -> Status {
        let text = |random: &mut SeededRandom| {
            ["", "a", "\u{1b}[2J\n", "\u{202e}漢字"][random.next() as usize % 4].to_owned()
        };
        Status {
            product: text(random),
            up_ns: number(random),
            draining: random.next().is_multiple_of(2),
            calls: list(random, |random| OpenCall {
                id: CallId([0; 16]),
                principal: text(random),
                peer: text(random),
                routine: text(random),
                stage: Stage::Running,
                age_ns: number(random),
            }),
            calls_open: number(random),
            uses: list(random, |random| Use {
                principal: text(random),
                routine: text(random),
                begun: number(random),
                returned: number(random),
                failed: list(random, |random| (number(random) as u16, number(random))),
                bytes_in: number(random),
                bytes_out: number(random),
                durations: list(random, number),
                duration_ns: number(random),
                running_ns: number(random),
            }),
            modules: list(random, |random| ModuleStatus {
                module: text(random),
                waiting: number(random),
                starting: number(random),
                idle: number(random),
                busy: number(random),
                ending: number(random),
            }),
            totals: (random.next().is_multiple_of(2)).then(|| Totals {
                clients: number(random),
                memory_used: number(random),
                memory_held: number(random),
                memory_shared: number(random),
                ..Totals::default()
            }),
            objects_held: number(random),
            processors: (random.next().is_multiple_of(2))
                .then(|| ProcessorsStatus { max: number(random) as u32, taken: number(random) }),
            ..Status::default()
        }
    }

    #[test]
    fn no_status_stops_the_page() {
        let mut random = SeededRandom::new(21);
        for _ in 0..2000 {
            let before = any(&mut random).shown();
            let now = any(&mut random).shown();
            let seconds = [0.0, 1e-9, 1.0, f64::INFINITY, f64::NAN][random.next() as usize % 5];
            let text = page(&now, &before, seconds);
            assert!(!text.contains(|c| is_obeyed(c) && c != '\n'), "{text:?}");
            fitted(&text, random.next() as usize % 40, random.next() as usize % 100);
            let line = json_line(&super::super::json::line("s", &now, &before, seconds));
            assert!(serde_json::from_str::<serde_json::Value>(&line).is_ok(), "{line}");
        }
    }

    #[test]
    fn no_bytes_that_say_they_are_a_status_stop_the_page() {
        let mut random = SeededRandom::new(22);
        let mut decoded = 0;
        for _ in 0..20_000 {
            let mut bytes = farcall_wire::message::encode(&any(&mut random));
            for _ in 0..random.next() % 4 {
                let at = random.next() as usize % bytes.len();
                bytes[at] = random.next() as u8;
            }
            if let Ok(status) = farcall_wire::message::decode::<Status>("Status", &bytes) {
                decoded += 1;
                page(&status.shown(), &Status::default(), 1.0);
            }
        }
        assert!(decoded > 5000, "{decoded}");
    }
}
