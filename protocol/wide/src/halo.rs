//! Rows of neighbours in a line (spec/wide-area.md, section 6).

use std::collections::BTreeMap;

use farcall_base::Result;

use crate::bytes::malformed;
use crate::mail::unknown;
use crate::{Destination, Engine, Envelope, Outbox, Rank, Sites, ThingNumber};

/// How old a neighbour's row may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// That of the step.
    Exact,
    /// Across sites at most so many steps old.
    AtMost(u32),
}

/// Where a neighbour is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The member before this one.
    Above,
    /// The member behind this one.
    Below,
}

/// The neighbours' rows; `None` where there is no neighbour, or none that is newer than the last ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// The last row of the member before this one.
    pub above: Option<Vec<u8>>,
    /// The first row of the member behind this one.
    pub below: Option<Vec<u8>>,
}

/// What one neighbour sent.
#[derive(Debug)]
struct Neighbour {
    rank: Rank,
    /// Steps by which its rows may be late, and of which it sends each so many plus one.
    late: u32,
    /// Rows that came and are not used yet.
    rows: BTreeMap<u64, Vec<u8>>,
    /// The step of the row that was used last.
    used: Option<u64>,
}

impl Neighbour {
    fn is_sent(&self, step: u64) -> bool {
        step.is_multiple_of(u64::from(self.late) + 1)
    }

    /// Whether a row is there for a step, or was used before and still will do.
    fn is_ready(&self, step: u64) -> bool {
        let oldest = step.saturating_sub(u64::from(self.late));
        let newest = self.rows.range(..=step).next_back().map(|(step, _)| *step);
        newest.max(self.used).is_some_and(|newest| newest >= oldest)
    }

    fn take(&mut self, step: u64) -> Option<Vec<u8>> {
        let later = self.rows.split_off(&(step + 1));
        let newest = std::mem::replace(&mut self.rows, later).pop_last();
        newest.map(|(step, row)| {
            self.used = Some(step);
            row
        })
    }
}

/// The rows at the two ends of a member's part.
#[derive(Debug)]
pub struct Halo {
    thing: ThingNumber,
    above: Option<Neighbour>,
    below: Option<Neighbour>,
}

impl Halo {
    /// That of a member. Rows are late only across sites, and only with tiers.
    pub fn new(
        thing: ThingNumber,
        own: Rank,
        sites: &Sites,
        freshness: Freshness,
        has_tiers: bool,
    ) -> Halo {
        let neighbour = |rank: Rank| {
            let late = match freshness {
                Freshness::AtMost(late) if has_tiers && !sites.are_together(own, rank) => late,
                _ => 0,
            };
            Neighbour { rank, late, rows: BTreeMap::new(), used: None }
        };
        let above = own.0.checked_sub(1).map(|rank| neighbour(Rank(rank)));
        let below = Some(own.0 + 1).filter(|rank| *rank < sites.members()).map(Rank).map(neighbour);
        Halo { thing, above, below }
    }

    /// Sends the first row of this member's part up, and its last row down.
    pub fn post(&mut self, step: u64, first: &[u8], last: &[u8], out: &mut Outbox) {
        let sides = [(&self.above, Side::Below, first), (&self.below, Side::Above, last)];
        for (neighbour, seen_from_there, row) in sides {
            if let Some(neighbour) = neighbour.as_ref().filter(|one| one.is_sent(step)) {
                let message = Envelope::write(self.thing, seen_from_there as u8, &[step], row);
                out.send(Destination::Member(neighbour.rank), message);
            }
        }
    }

    /// Whether [`Halo::rows`] has what a step needs.
    pub fn is_ready(&self, step: u64) -> bool {
        let mut both = [&self.above, &self.below].into_iter().flatten();
        both.all(|neighbour| neighbour.is_ready(step))
    }

    /// Takes the newest rows that are not newer than a step.
    pub fn rows(&mut self, step: u64) -> Rows {
        let row = |neighbour: &mut Option<Neighbour>| neighbour.as_mut()?.take(step);
        Rows { above: row(&mut self.above), below: row(&mut self.below) }
    }

    /// The neighbours whose rows a step waits for.
    pub fn missing(&self, step: u64) -> Vec<Rank> {
        let both = [&self.above, &self.below].into_iter().flatten();
        both.filter(|one| !one.is_ready(step)).map(|one| one.rank).collect()
    }
}

impl Engine for Halo {
    fn take(&mut self, from: Rank, message: Envelope<'_>, _: &mut Outbox) -> Result<()> {
        let Envelope { kind, mut content, .. } = message;
        let neighbour = match kind {
            0 => &mut self.above,
            1 => &mut self.below,
            kind => return Err(unknown(kind)),
        };
        let neighbour = neighbour
            .as_mut()
            .filter(|neighbour| neighbour.rank == from)
            .ok_or_else(|| malformed("it is no neighbour's row"))?;
        let step = content.number()?;
        // A neighbour is at most one step ahead of what it needs from here.
        if neighbour.used.is_some_and(|used| step <= used) {
            return Err(malformed("a row of a step comes again").with("step", step));
        }
        neighbour.rows.insert(step, content.rest().to_vec());
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn line(sites: &str, freshness: Freshness, has_tiers: bool) -> Vec<Halo> {
        let sites = Sites::read(sites).unwrap();
        let number = ThingNumber::of("rows");
        sites.all().map(|own| Halo::new(number, own, &sites, freshness, has_tiers)).collect()
    }

    fn deliver(line: &mut [Halo], from: u32, out: &mut Outbox) -> usize {
        let mut count = 0;
        for (to, bytes) in out.take().collect::<Vec<_>>() {
            let Destination::Member(Rank(to)) = to else { panic!("{to:?}") };
            let message = Envelope::read(&bytes).unwrap();
            line[to as usize].take(Rank(from), message, &mut Outbox::new()).unwrap();
            count += 1;
        }
        count
    }

    /// Steps in which everybody posts and then waits: how many rows went, and how old the oldest was.
    fn play(line: &mut [Halo], steps: u64) -> (usize, u64) {
        let mut sent = 0;
        let mut oldest = 0;
        let mut last = vec![[None, None]; line.len()];
        for step in 0..steps {
            for rank in 0..line.len() {
                let mut out = Outbox::new();
                line[rank].post(step, &step.to_le_bytes(), &step.to_le_bytes(), &mut out);
                sent += deliver(line, rank as u32, &mut out);
            }
            for (halo, last) in line.iter_mut().zip(&mut last) {
                assert!(halo.is_ready(step), "{:?}", halo.missing(step));
                let Rows { above, below } = halo.rows(step);
                for (row, last) in [above, below].into_iter().zip(last) {
                    let new = row.map(|row| u64::from_le_bytes(row.try_into().unwrap()));
                    *last = new.or(*last);
                    oldest = oldest.max(last.map_or(0, |last| step - last));
                }
            }
        }
        (sent, oldest)
    }

    #[test]
    fn every_row_is_exact_without_a_word() {
        for has_tiers in [false, true] {
            let mut exact = line("2+2", Freshness::Exact, has_tiers);
            assert_eq!(play(&mut exact, 9), (2 * 3 * 9, 0));
        }
        assert_eq!(play(&mut line("2+2", Freshness::AtMost(2), false), 9), (2 * 3 * 9, 0));
    }

    #[test]
    fn rows_across_sites_may_be_late() {
        let mut late = line("2+2", Freshness::AtMost(2), true);
        assert_eq!(play(&mut late, 9), (2 * 2 * 9 + 2 * 3, 2));
    }

    #[test]
    fn a_step_waits_for_its_neighbours() {
        let mut line = line("3", Freshness::Exact, false);
        let mut out = Outbox::new();
        line[0].post(0, b"first", b"last", &mut out);
        deliver(&mut line, 0, &mut out);
        assert_eq!((line[1].is_ready(0), line[1].missing(0)), (false, vec![Rank(2)]));
        // A neighbour may be a step ahead.
        line[2].post(0, b"first", b"last", &mut out);
        line[2].post(1, b"next", b"last", &mut out);
        deliver(&mut line, 2, &mut out);
        let rows = line[1].rows(0);
        assert_eq!(rows.above.unwrap(), b"last");
        assert_eq!(rows.below.unwrap(), b"first");
        assert!(!line[1].is_ready(1));
    }

    #[test]
    fn what_no_neighbour_sends_is_refused() {
        let mut line = line("3", Freshness::Exact, false);
        let number = ThingNumber::of("rows");
        for (from, kind, step) in [(2, 0, 0), (0, 1, 0), (0, 2, 0)] {
            let bytes = Envelope::write(number, kind, &[step], b"row");
            let message = Envelope::read(&bytes).unwrap();
            assert!(line[1].take(Rank(from), message, &mut Outbox::new()).is_err());
        }
    }
}
