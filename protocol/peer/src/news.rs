//! What the server tells of calls while they are under way, until their owners take it.

use std::collections::VecDeque;

use farcall_wire::Notice;
use rustc_hash::FxHashMap;

/// Bytes of output that are kept of one call; what comes while they are not taken is counted, and
/// left out.
const KEPT_BYTES_MAX: usize = 1 << 20;
/// Notices that are kept of one call.
const KEPT_MAX: usize = 4096;

/// News of one call.
#[derive(Debug, Default)]
struct Kept {
    notices: VecDeque<Notice>,
    bytes: usize,
    lost: u64,
}

/// News of all calls whose owners want some.
#[derive(Debug, Default)]
pub struct News {
    calls: FxHashMap<u64, Kept>,
}

impl News {
    /// A call was opened whose owner wants news.
    pub fn expect(&mut self, number: u64) {
        self.calls.entry(number).or_default();
    }

    /// One came; whether it is kept.
    pub fn add(&mut self, number: u64, notice: Notice) -> bool {
        let Some(kept) = self.calls.get_mut(&number) else { return false };
        let bytes = if let Notice::Output(_, bytes) = &notice { bytes.len() } else { 0 };
        if kept.bytes + bytes > KEPT_BYTES_MAX || kept.notices.len() >= KEPT_MAX {
            kept.lost += if let Notice::Output(_, bytes) = &notice { loss_of(bytes) } else { 0 };
            return false;
        }
        let lost = std::mem::take(&mut kept.lost);
        if lost > 0 {
            kept.notices.push_back(Notice::Output(2, left_out(lost)));
        }
        kept.bytes += bytes;
        kept.notices.push_back(notice);
        true
    }

    /// The next one of a call.
    pub fn take(&mut self, number: u64) -> Option<Notice> {
        let kept = self.calls.get_mut(&number)?;
        let next = kept.notices.pop_front();
        match &next {
            Some(Notice::Output(_, bytes)) => kept.bytes = kept.bytes.saturating_sub(bytes.len()),
            None if kept.lost > 0 => {
                return Some(Notice::Output(2, left_out(std::mem::take(&mut kept.lost))));
            }
            _ => {}
        }
        next
    }

    /// Nobody wants to hear of a call any more.
    pub fn forget(&mut self, number: u64) {
        if !self.calls.is_empty() {
            self.calls.remove(&number);
        }
    }
}

fn left_out(lost: u64) -> Vec<u8> {
    format!(
        "\n[farcall: {lost} bytes are left out here: they arrived faster than they were read]\n"
    )
    .into_bytes()
}

/// How much is missed with these bytes: what a note of the server's says was missed before, or
/// their own number.
fn loss_of(bytes: &[u8]) -> u64 {
    let note = bytes.strip_prefix(b"\n[farcall: ").and_then(|rest| std::str::from_utf8(rest).ok());
    let said = note.and_then(|note| note.split_once(" bytes are left out here")?.0.parse().ok());
    said.unwrap_or(bytes.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(bytes: usize) -> Notice {
        Notice::Output(1, vec![b'x'; bytes])
    }

    #[test]
    fn news_are_kept_in_order_for_those_who_want_them() {
        let mut news = News::default();
        assert!(!news.add(1, Notice::Started));
        news.expect(1);
        assert!(news.add(1, Notice::Started) && news.add(1, output(3)));
        assert_eq!(
            (news.take(1), news.take(1), news.take(1)),
            (Some(Notice::Started), Some(output(3)), None)
        );
        news.forget(1);
        assert!(!news.add(1, Notice::Started));
    }

    #[test]
    fn what_nobody_takes_is_bounded_and_counted() {
        let mut news = News::default();
        news.expect(1);
        assert!(news.add(1, output(KEPT_BYTES_MAX)));
        assert!(!news.add(1, output(7)) && !news.add(1, output(8)));
        assert_eq!(news.take(1), Some(output(KEPT_BYTES_MAX)));
        let Some(Notice::Output(2, text)) = news.take(1) else { panic!("the loss is told") };
        assert!(String::from_utf8_lossy(&text).contains("15 bytes"));
        assert_eq!(news.take(1), None);
        // What a note of the server's says counts, not how long it is.
        assert!(
            news.add(1, output(KEPT_BYTES_MAX)) && !news.add(1, Notice::Output(2, left_out(5000)))
        );
        news.take(1);
        let Some(Notice::Output(2, text)) = news.take(1) else { panic!("the loss is told") };
        assert!(String::from_utf8_lossy(&text).contains("5000 bytes"));
        let kept = (0..10 * KEPT_MAX).filter(|_| news.add(1, Notice::Started)).count();
        assert_eq!(kept, KEPT_MAX);
    }
}
