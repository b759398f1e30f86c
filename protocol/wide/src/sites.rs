//! Which member is where.

use farcall_base::{Error, ErrorKind, Result};

use crate::Rank;

/// Members that one run may have.
const MEMBERS_MAX: u32 = 100_000;

/// The sites of a run, in their order: each has members of consecutive ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sites {
    /// The rank behind the last one of each site.
    ends: Vec<u32>,
}

impl Sites {
    /// Sites of so many members each.
    ///
    /// # Errors
    /// `InvalidArgument` without any member, for a site without one, and for more than 100,000.
    pub fn new(sizes: &[u32]) -> Result<Sites> {
        let mut ends = Vec::with_capacity(sizes.len());
        let mut end = 0u32;
        for size in sizes {
            end = end.saturating_add(*size);
            if *size == 0 || end > MEMBERS_MAX {
                return Err(wrong("a site has 1 member at least, and all together have 100000"));
            }
            ends.push(end);
        }
        match ends.is_empty() {
            true => Err(wrong("there is no site")),
            false => Ok(Sites { ends }),
        }
    }

    /// Reads sizes such as `15+15+15+15`.
    ///
    /// # Errors
    /// `InvalidArgument`.
    pub fn read(text: &str) -> Result<Sites> {
        let size = |part: &str| part.parse().map_err(|_| wrong("a size is not a number"));
        let sizes: Result<Vec<u32>> = text.split('+').map(size).collect();
        Sites::new(&sizes?).map_err(|error| error.with("sites", text))
    }

    /// How many members there are.
    pub fn members(&self) -> u32 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// How many sites there are.
    pub fn count(&self) -> u32 {
        self.ends.len() as u32
    }

    /// The site of a member.
    pub fn of(&self, rank: Rank) -> u32 {
        self.ends.partition_point(|end| *end <= rank.0) as u32
    }

    /// The ranks of a site.
    pub fn ranks(&self, site: u32) -> impl DoubleEndedIterator<Item = Rank> + use<> {
        let index = site as usize;
        let begin = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        (begin..self.ends[index]).map(Rank)
    }

    /// The members of a site.
    pub fn size(&self, site: u32) -> u32 {
        self.ranks(site).count() as u32
    }

    /// The first member of a site.
    pub fn first(&self, site: u32) -> Rank {
        Rank((site as usize).checked_sub(1).map_or(0, |before| self.ends[before]))
    }

    /// Whether two members are at one site.
    pub fn are_together(&self, one: Rank, other: Rank) -> bool {
        self.of(one) == self.of(other)
    }

    /// All members in order.
    pub fn all(&self) -> impl Iterator<Item = Rank> + use<> {
        (0..self.members()).map(Rank)
    }
}

fn wrong(message: &'static str) -> Error {
    Error::new(ErrorKind::InvalidArgument, "read the sites of a run", message)
        .fix("write the members of each site, such as 15+15+15+15")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn members_are_where_their_ranks_say() {
        let sites = Sites::read("3+10+22").unwrap();
        assert_eq!((sites.members(), sites.count()), (35, 3));
        let of: Vec<u32> = [0, 2, 3, 12, 13, 34].map(|rank| sites.of(Rank(rank))).into();
        assert_eq!(of, [0, 0, 1, 1, 2, 2]);
        assert_eq!(sites.ranks(1).collect::<Vec<_>>(), (3..13).map(Rank).collect::<Vec<_>>());
        assert_eq!([0, 1, 2].map(|site| sites.first(site)), [Rank(0), Rank(3), Rank(13)]);
        assert_eq!([0, 1, 2].map(|site| sites.size(site)), [3, 10, 22]);
    }

    #[test]
    fn wrong_sizes_are_refused() {
        for text in ["", "0", "3+0", "3+", "x", "-1", "100001", "99999+2", "4294967295+1"] {
            let error = Sites::read(text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{text}: {error}");
        }
    }
}
