//! The last lines of an output: bounded, however much is written, and safe to show on a terminal.

use std::collections::VecDeque;

/// Keeps the end of what is pushed.
pub(crate) struct Tail {
    lines_max: usize,
    bytes_max: usize,
    bytes: VecDeque<u8>,
    /// Something was dropped, so that the first line kept may lack its beginning.
    cut: bool,
}

impl Tail {
    pub(crate) fn new(lines_max: usize, bytes_max: usize) -> Self {
        Tail { lines_max, bytes_max, bytes: VecDeque::new(), cut: false }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let kept = &bytes[bytes.len().saturating_sub(self.bytes_max)..];
        let overflow = (self.bytes.len() + kept.len()).saturating_sub(self.bytes_max);
        self.cut |= overflow > 0 || kept.len() < bytes.len();
        self.bytes.drain(..overflow);
        self.bytes.extend(kept);
    }

    /// The last lines as text. Bytes that are no UTF-8 and control characters (which would move a terminal's cursor)
    /// become U+FFFD; a line that lost its beginning starts with an ellipsis, unless a whole line follows.
    pub(crate) fn text(&self) -> String {
        let bytes: Vec<u8> = self.bytes.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        let text = text.strip_suffix('\n').unwrap_or(&text).trim_end_matches('\r');
        let text = match text.split_once('\n') {
            Some((_partial, whole)) if self.cut => whole.to_string(),
            None if self.cut => format!("…{text}"),
            _ => text.to_string(),
        };
        let lines: Vec<&str> = text.lines().collect();
        let last = lines[lines.len().saturating_sub(self.lines_max)..].join("\n");
        last.chars().map(|c| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c }).collect()
    }
}

#[cfg(test)]
mod tests {
    use farcall_base::{Random, SeededRandom};

    use super::*;

    fn tail(pieces: &[&[u8]]) -> String {
        let mut tail = Tail::new(3, 16);
        pieces.iter().for_each(|piece| tail.push(piece));
        tail.text()
    }

    #[test]
    fn keeps_the_last_lines_whole() {
        assert_eq!(tail(&[]), "");
        assert_eq!(tail(&[b"one\n", b"tw", b"o\n"]), "one\ntwo");
        assert_eq!(tail(&[b"1\n2\n3\n4\n5"]), "3\n4\n5", "lines_max");
        assert_eq!(tail(&[b"a long line of text\nshort\nend\n"]), "short\nend", "bytes_max cuts within a line");
    }

    #[test]
    fn hostile_output_stays_bounded_and_harmless() {
        // One line that never ends.
        assert_eq!(tail(&[&[b'x'; 100_000]]), format!("…{}", "x".repeat(16)));
        // An escape sequence that would clear the reader's terminal.
        assert_eq!(tail(&[b"\x1b[2Jhello\r\n"]), "\u{fffd}[2Jhello");
        // Not UTF-8, and a NUL.
        assert_eq!(tail(&[b"\xff\0\n"]), "\u{fffd}\u{fffd}");
    }

    #[test]
    fn any_pieces_give_the_same_tail() {
        let mut random = SeededRandom::new(3);
        for _ in 0..2000 {
            let length = random.next() % 60;
            let all: Vec<u8> = (0..length).map(|_| b"ab\n\x80"[(random.next() % 4) as usize]).collect();
            let split = usize::try_from(random.next() % (length + 1)).unwrap_or(0);
            let text = tail(&[&all[..split], &all[split..]]);
            assert_eq!(text, tail(&[&all]));
            assert!(text.lines().count() <= 3);
        }
    }
}
