//! Neighbours' rows.

use farcall_base::Result;
use farcall_wide_engines::{self as engines, Freshness, Rank, ThingNumber};

use crate::numbers::{from_bytes, to_bytes};
use crate::shared::{Shared, wrong};

/// The rows beside a member's part of a grid, which its neighbours in the order of ranks have.
pub struct Halo {
    shared: Shared,
    number: ThingNumber,
    name: String,
    length: usize,
    posted: u64,
    received: u64,
}

/// The neighbours' rows; `None` at the ends of the line, and where the last ones still hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// The last row of the member before this one.
    pub above: Option<Vec<f64>>,
    /// The first row of the member behind this one.
    pub below: Option<Vec<f64>>,
}

impl Halo {
    pub(crate) fn make(
        shared: &Shared,
        name: &str,
        length: usize,
        freshness: Freshness,
    ) -> Result<Halo> {
        let number = ThingNumber::of(name);
        let Shared { rank, sites, has_tiers, .. } = shared;
        let engine = engines::Halo::new(number, *rank, sites, freshness, *has_tiers);
        let description = format!("halo of rows of {length} f64, {freshness:?}");
        shared.make(name, description, Box::new(engine))?;
        let name = name.to_owned();
        Ok(Halo { shared: shared.clone(), number, name, length, posted: 0, received: 0 })
    }

    /// Sends the first row of this member's part to the member before it, and the last row to the one
    /// behind it; goes on at once.
    ///
    /// # Errors
    /// `InvalidArgument` for a row of another length; what ends the run.
    pub fn post(&mut self, first: &[f64], last: &[f64]) -> Result<()> {
        for row in [first, last] {
            if row.len() != self.length {
                return Err(wrong("a row has another length than the halo", &self.name)
                    .with("row", row.len())
                    .with("halo", self.length));
            }
        }
        let step = self.posted;
        self.shared.act(self.number, |halo: &mut engines::Halo, out| {
            halo.post(step, &to_bytes(first), &to_bytes(last), out);
            Ok(())
        })?;
        self.posted += 1;
        Ok(())
    }

    /// Waits for the neighbours' rows of the same post as this is the wait for: the first wait for those
    /// of the first post.
    ///
    /// # Errors
    /// What ends the run.
    pub fn wait(&mut self) -> Result<Rows> {
        let step = self.received;
        let name = &self.name;
        let shown = |halo: &engines::Halo| {
            let ranks: Vec<String> =
                halo.missing(step).iter().map(|Rank(rank)| rank.to_string()).collect();
            format!("{name}: rows of member {}", ranks.join(" and "))
        };
        let rows = self.shared.wait(self.number, shown, |halo: &mut engines::Halo, _| {
            Ok(halo.is_ready(step).then(|| halo.rows(step)))
        })?;
        self.received += 1;
        let read = |row: Option<Vec<u8>>| row.map(|row| from_bytes(&row));
        Ok(Rows { above: read(rows.above), below: read(rows.below) })
    }

    /// Both at once.
    ///
    /// # Errors
    /// As [`Halo::post`] and [`Halo::wait`].
    pub fn exchange(&mut self, first: &[f64], last: &[f64]) -> Result<Rows> {
        self.post(first, last)?;
        self.wait()
    }
}
