//! The last lines of an executable's output: bounded, however much is written, and safe to show on
//! a terminal.

use std::collections::VecDeque;
use std::time::Duration;

use farcall_base::{Instant, printable};

/// A line is shown up to this many characters: enough for any message, and too few to bury the
/// error it comes with.
const LINE_CHARACTERS_MAX: usize = 200;

/// The end of what was pushed, and when it came: an executable serves many calls, and what one said
/// is no news of another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputTail {
    lines_max: usize,
    bytes_max: usize,
    bytes: VecDeque<u8>,
    /// Bytes that were dropped, so that the first line kept may lack its beginning.
    dropped: u64,
    /// When the last of them was taken.
    dropped_at: Option<Instant>,
    /// Where each piece that is still here begins, counted from the first byte of all, and when it
    /// was taken.
    pieces: VecDeque<(u64, Instant)>,
}

impl OutputTail {
    /// An empty one, to keep `bytes_max` bytes and to show `lines_max` lines of them.
    pub fn new(lines_max: usize, bytes_max: usize) -> Self {
        OutputTail { lines_max, bytes_max, ..OutputTail::default() }
    }

    /// Adds what was written, taken at `at` or just after it.
    pub fn push(&mut self, at: Instant, bytes: &[u8]) {
        let kept = &bytes[bytes.len().saturating_sub(self.bytes_max)..];
        let overflow = (self.bytes.len() + kept.len()).saturating_sub(self.bytes_max);
        self.bytes.drain(..overflow);
        self.dropped += (overflow + bytes.len() - kept.len()) as u64;
        if !kept.is_empty() && self.pieces.back().is_none_or(|(_, taken)| *taken != at) {
            self.pieces.push_back((self.dropped + self.bytes.len() as u64, at));
        }
        self.bytes.extend(kept);
        // The first piece covers the first byte, so that there are never more pieces than bytes.
        while self.pieces.get(1).is_some_and(|(begin, _)| *begin <= self.dropped) {
            self.dropped_at = self.pieces.pop_front().map(|(_, taken)| taken);
        }
        if kept.len() < bytes.len() {
            self.dropped_at = Some(at);
        }
    }

    /// What is kept, by pieces with their age at `now`: for a process with another clock.
    pub fn aged(&self, now: Instant) -> Vec<(Duration, Vec<u8>)> {
        let ends = self.pieces.iter().skip(1).map(|(begin, _)| *begin).chain([u64::MAX]);
        let piece = |((begin, taken), end): (&(u64, Instant), u64)| {
            let at = |position: u64| {
                usize::try_from(position.saturating_sub(self.dropped)).unwrap_or(usize::MAX)
            };
            let bytes = self.bytes.iter().take(at(end)).skip(at(*begin)).copied().collect();
            (now.since(*taken), bytes)
        };
        self.pieces.iter().zip(ends).map(piece).collect()
    }

    /// The last lines as text. Bytes that are no UTF-8 and control characters (which would move a
    /// terminal's cursor) become U+FFFD; a line that lost its beginning starts with an ellipsis,
    /// unless a whole line follows.
    pub fn text(&self) -> String {
        self.text_from(0, self.dropped > 0)
    }

    /// The last lines of what was taken at `since` or later.
    pub fn text_since(&self, since: Instant) -> String {
        let Some((begin, _)) = self.pieces.iter().find(|(_, taken)| *taken >= since) else {
            return String::new();
        };
        let dropped_too =
            *begin == self.dropped && self.dropped_at.is_some_and(|taken| taken >= since);
        self.text_from(*begin, *begin < self.dropped || dropped_too)
    }

    /// What is left of the bytes from `begin` on, counted as in `pieces`; `cut` if something before
    /// them is missing.
    fn text_from(&self, begin: u64, cut: bool) -> String {
        let skipped = usize::try_from(begin.saturating_sub(self.dropped)).unwrap_or(usize::MAX);
        let bytes: Vec<u8> = self.bytes.iter().skip(skipped).copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        let text = text.strip_suffix('\n').unwrap_or(&text).trim_end_matches('\r');
        let text = match text.split_once('\n') {
            Some((_partial, whole)) if cut => whole.to_string(),
            None if cut => format!("…{}", last_characters(text)),
            _ => text.to_string(),
        };
        let lines: Vec<String> = text.lines().map(shortened).collect();
        let last = lines[lines.len().saturating_sub(self.lines_max)..].join("\n");
        printable(&last).into_owned()
    }
}

/// The beginning of a line, which says what it is about.
fn shortened(line: &str) -> String {
    match line.char_indices().nth(LINE_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_string(),
    }
}

/// The end of a line without beginning; with its ellipsis it is as long as a line may be.
fn last_characters(line: &str) -> &str {
    line.char_indices().rev().nth(LINE_CHARACTERS_MAX - 2).map_or(line, |(begin, _)| &line[begin..])
}

#[cfg(test)]
mod tests {
    use farcall_base::{Random, SeededRandom};

    use super::*;

    fn tail(pieces: &[&[u8]]) -> String {
        let mut tail = OutputTail::new(3, 16);
        pieces.iter().for_each(|piece| tail.push(Instant(0), piece));
        tail.text()
    }

    #[test]
    fn keeps_the_last_lines_whole() {
        assert_eq!(tail(&[]), "");
        assert_eq!(tail(&[b"one\n", b"tw", b"o\n"]), "one\ntwo");
        assert_eq!(tail(&[b"1\n2\n3\n4\n5"]), "3\n4\n5", "lines_max");
        assert_eq!(
            tail(&[b"a long line of text\nshort\nend\n"]),
            "short\nend",
            "bytes_max cuts within a line"
        );
    }

    #[test]
    fn hostile_output_stays_bounded_and_harmless() {
        // One line that never ends.
        assert_eq!(tail(&[&[b'x'; 100_000]]), format!("…{}", "x".repeat(16)));
        // An escape sequence that would clear the reader's terminal.
        assert_eq!(tail(&[b"\x1b[2Jhello\r\n"]), "\\x1b[2Jhello");
        // Not UTF-8, and a NUL.
        assert_eq!(tail(&[b"\xff\0\n"]), "\u{fffd}\\x00");
    }

    #[test]
    fn long_lines_are_cut() {
        let mut tail = OutputTail::new(3, 4096);
        tail.push(Instant(0), format!("{}\nend\n", "é".repeat(1000)).as_bytes());
        assert_eq!(tail.text(), format!("{}…\nend", "é".repeat(LINE_CHARACTERS_MAX)));
        // Without a beginning, its end is what there is to show.
        tail.push(Instant(0), &[b'x'; 10_000]);
        tail.push(Instant(0), b" at last");
        let text = tail.text();
        assert!(text.starts_with("…x") && text.ends_with("x at last"), "{text}");
        assert_eq!(text.chars().count(), LINE_CHARACTERS_MAX);
    }

    #[test]
    fn what_came_before_is_left_out() {
        let mut tail = OutputTail::new(3, 16);
        tail.push(Instant(5), b"old\nhalf");
        tail.push(Instant(7), b" new\n");
        assert_eq!(tail.text_since(Instant(5)), "old\nhalf new");
        // Of a line that an earlier call began, what a later one wrote.
        assert_eq!(tail.text_since(Instant(6)), " new");
        assert_eq!(tail.text_since(Instant(7)), " new");
        assert_eq!(tail.text_since(Instant(8)), "");
        // The new text pushed the old one out: what remains has its beginning, or an ellipsis.
        tail.push(Instant(9), b"sixteen letters!");
        assert_eq!(tail.text_since(Instant(8)), "sixteen letters!");
        tail.push(Instant(10), b"!");
        assert_eq!(tail.text_since(Instant(8)), "…ixteen letters!!");
        assert_eq!(tail.text_since(Instant(10)), "!");
    }

    #[test]
    fn any_pieces_give_the_same_tail() {
        let mut random = SeededRandom::new(3);
        for _ in 0..2000 {
            let length = random.next() % 60;
            let all: Vec<u8> =
                (0..length).map(|_| b"ab\n\x80"[(random.next() % 4) as usize]).collect();
            let split = usize::try_from(random.next() % (length + 1)).unwrap_or(0);
            let text = tail(&[&all[..split], &all[split..]]);
            assert_eq!(text, tail(&[&all]));
            assert!(text.lines().count() <= 3);
        }
    }

    #[test]
    fn a_drop_at_a_time_stays_bounded() {
        let mut tail = OutputTail::new(3, 16);
        for time in 0..1000 {
            tail.push(Instant(time), b"x");
            tail.push(Instant(time), b"");
            assert!(tail.pieces.len() <= 16 && tail.bytes.len() <= 16);
        }
        assert_eq!(tail.text_since(Instant(998)), "xx");
        assert_eq!(tail.text_since(Instant(0)), format!("…{}", "x".repeat(16)));
    }
}
