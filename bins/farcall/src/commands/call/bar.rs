//! A line that says how far the arrays of a call are: bytes, rate and a bar. Reads no clock and no
//! terminal.

use std::collections::VecDeque;
use std::time::Duration;

use farcall_base::printable_line;
use farcall_client::Transfer;

use crate::output::bytes;

/// What is over sooner than this needs no bar.
const PATIENCE: Duration = Duration::from_millis(500);
/// The time that the rate is of.
const WINDOW: Duration = Duration::from_secs(3);
/// Columns of the bar itself, brackets not counted; a shorter one says less than the numbers.
const BAR_MIN: usize = 10;
const BAR_MAX: usize = 40;

/// One way that arrays take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Sending,
    Receiving,
}

impl Phase {
    fn word(self) -> &'static str {
        match self {
            Phase::Sending => "sending",
            Phase::Receiving => "receiving",
        }
    }
}

/// What was seen of the phase that goes on.
#[derive(Default)]
pub struct Bar {
    phase: Option<Phase>,
    begun: Duration,
    /// Bytes that had moved at some moments of the window; at least one while a phase goes on.
    seen: VecDeque<(Duration, u64)>,
}

impl Bar {
    /// The line to show `now`, a time since the start, in so many columns; none while nothing
    /// moves, or not for long.
    pub fn line(&mut self, transfer: &Transfer, now: Duration, columns: usize) -> Option<String> {
        let going = going_on(transfer);
        let phase = going.map(|(phase, ..)| phase);
        if phase != self.phase {
            *self = Bar { phase, begun: now, seen: VecDeque::new() };
        }
        let (phase, moved, total) = going?;
        self.seen.push_back((now, moved));
        while self.seen.get(1).is_some_and(|(then, _)| now - *then >= WINDOW) {
            self.seen.pop_front();
        }
        if now - self.begun < PATIENCE {
            return None;
        }
        fitting(phase, moved, total, self.rate(), columns)
    }

    /// Bytes a second lately.
    fn rate(&self) -> f64 {
        let (Some((from, before)), Some((to, now))) = (self.seen.front(), self.seen.back()) else {
            return 0.0;
        };
        let seconds = (*to - *from).as_secs_f64();
        if seconds > 0.0 { now.saturating_sub(*before) as f64 / seconds } else { 0.0 }
    }
}

/// What moves, how far it is, and how far it goes.
fn going_on(transfer: &Transfer) -> Option<(Phase, u64, u64)> {
    match transfer {
        Transfer { sent, to_send, .. } if sent < to_send => Some((Phase::Sending, *sent, *to_send)),
        Transfer { received, to_receive, .. } if received < to_receive => {
            Some((Phase::Receiving, *received, *to_receive))
        }
        _ => None,
    }
}

/// What a call waits for, as a line of so many columns.
pub fn waiting(words: &str, columns: usize) -> String {
    printable_line(words).chars().take(columns).collect()
}

/// What a routine says of its progress, as a line of so many columns.
pub fn told(done: f64, words: &str, columns: usize) -> String {
    let words = waiting(words, usize::MAX);
    let percent = format!("{:.0} %", done * 100.0);
    let said = if words.is_empty() { percent } else { format!("{percent}, {words}") };
    let room = columns.saturating_sub(said.chars().count() + 3);
    if room < BAR_MIN {
        return said.chars().take(columns).collect();
    }
    let width = room.min(BAR_MAX);
    let full = (done * width as f64) as usize;
    format!("[{}{}] {said}", "#".repeat(full), "-".repeat(width - full))
}

/// As much as fits: a line that wraps could not be taken back.
fn fitting(phase: Phase, moved: u64, total: u64, rate: f64, columns: usize) -> Option<String> {
    let percent = format!("{:.0} %", moved as f64 / total as f64 * 100.0);
    let amount = format!("{} of {}", bytes(moved), bytes(total));
    let numbers = format!("{} {amount}, {}/s, {percent}", phase.word(), bytes(rate as u64));
    // A blank and two brackets.
    let room = columns.saturating_sub(numbers.len() + 3);
    if room >= BAR_MIN {
        let width = room.min(BAR_MAX);
        let full = (moved as f64 / total as f64 * width as f64) as usize;
        return Some(format!("{numbers} [{}{}]", "#".repeat(full), "-".repeat(width - full)));
    }
    [numbers, format!("{} {amount}", phase.word()), amount, percent]
        .into_iter()
        .find(|text| text.len() <= columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn sending(sent: u64) -> Transfer {
        Transfer { sent, to_send: 128 * MIB, ..Transfer::default() }
    }

    fn after(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    #[test]
    fn only_what_takes_its_time_is_shown() {
        let mut bar = Bar::default();
        assert_eq!(bar.line(&sending(0), after(0.1), 79), None);
        assert_eq!(bar.line(&sending(20 * MIB), after(0.5), 79), None);
        let line = bar.line(&sending(32 * MIB), after(0.6), 79).expect("it is shown");
        assert_eq!(
            line,
            "sending 32.0 MiB of 128.0 MiB, 64.0 MiB/s, 25 % [#######----------------------]"
        );
        assert_eq!(line.len(), 79);
        // The routine runs; then its results start over.
        assert_eq!(bar.line(&sending(128 * MIB), after(2.0), 79), None);
        let receiving = |received| Transfer { received, to_receive: MIB, ..sending(128 * MIB) };
        assert_eq!(bar.line(&receiving(1), after(9.0), 79), None);
        let line = bar.line(&receiving(MIB / 2), after(10.0), 200).expect("it is shown");
        assert!(
            line.starts_with("receiving 512.0 KiB of 1.0 MiB, 512.0 KiB/s, 50 % [####"),
            "{line}"
        );
        assert!(line.ends_with(&format!("[{}{}]", "#".repeat(20), "-".repeat(20))), "{line}");
        assert_eq!(bar.line(&Transfer::default(), after(11.0), 79), None);
    }

    #[test]
    fn the_rate_is_of_late() {
        let mut bar = Bar::default();
        for tenth in 0..100 {
            bar.line(&sending(MIB * tenth), after(tenth as f64 / 10.0), 79);
        }
        assert!((bar.rate() / MIB as f64 - 10.0).abs() < 0.1);
        // A peer that takes nothing any more shows.
        for tenth in 100..140 {
            bar.line(&sending(MIB * 99), after(tenth as f64 / 10.0), 79);
        }
        assert_eq!(bar.rate(), 0.0);
        assert!(bar.seen.len() < 40, "what is too old is forgotten");
    }

    #[test]
    fn what_the_routine_says_never_wraps_and_commands_no_terminal() {
        assert_eq!(told(0.25, "step 1", 30), "[###------------] 25 %, step 1");
        assert_eq!(told(1.0, "", 20), "[############] 100 %");
        for columns in 0..100 {
            let line = told(0.5, "a \u{1b}[2J word that is long", columns);
            assert!(line.chars().count() <= columns && !line.contains('\u{1b}'), "{line}");
        }
    }

    #[test]
    fn the_line_never_wraps() {
        let mut bar = Bar::default();
        bar.line(&sending(0), after(0.0), 79);
        let mut shown = Vec::new();
        for columns in 0..200 {
            let line = bar.line(&sending(100 * MIB), after(1.0), columns);
            assert!(line.as_ref().is_none_or(|line| line.len() <= columns), "{columns}: {line:?}");
            shown.extend(line);
        }
        shown.dedup();
        assert_eq!(
            shown[..3],
            ["78 %", "100.0 MiB of 128.0 MiB", "sending 100.0 MiB of 128.0 MiB"]
        );
    }
}
