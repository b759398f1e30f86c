//! What all members do together.

use farcall_base::{Error, ErrorKind, Result};
use farcall_wide_engines::{Collectives, Fold, Job, Rank, ThingNumber};

use crate::member::Member;
use crate::numbers::{Number, from_bytes, to_bytes};
use crate::shared::Shared;

/// The thing of all collectives of a program.
pub(crate) const NAME: &str = "collectives";

pub(crate) fn make(shared: &Shared) -> Result<()> {
    let number = ThingNumber::of(NAME);
    let Shared { rank, sites, has_tiers, .. } = shared;
    let engine = Collectives::new(number, *rank, (**sites).clone(), *has_tiers);
    shared.make(NAME, "what all members do together".into(), Box::new(engine)).map(drop)
}

impl Member {
    /// Waits until all members have come here.
    ///
    /// # Errors
    /// What ends the run.
    pub fn barrier(&self) -> Result<()> {
        self.together(Job::BARRIER, Vec::new(), "barrier").map(drop)
    }

    /// Combines the numbers of all members, element by element; all get the result. Floating-point
    /// sums are always added in the same order.
    ///
    /// # Errors
    /// `InvalidArgument` where members give different numbers of elements; what ends the run.
    pub fn all_reduce<N: Number>(&self, fold: Fold, numbers: &[N]) -> Result<Vec<N>> {
        let job = Job::AllReduce(N::ELEMENT, fold);
        Ok(from_bytes(&self.together(job, to_bytes(numbers), "all_reduce")?))
    }

    /// The same; `root` alone gets the result, others nothing.
    ///
    /// # Errors
    /// As [`Member::all_reduce`].
    pub fn reduce<N: Number>(
        &self,
        root: u32,
        fold: Fold,
        numbers: &[N],
    ) -> Result<Option<Vec<N>>> {
        let job = Job::Reduce(Rank(root), N::ELEMENT, fold);
        let sums = self.together(job, to_bytes(numbers), "reduce")?;
        Ok((self.rank() == root).then(|| from_bytes(&sums)))
    }

    /// All get the bytes that `root` gives.
    ///
    /// # Errors
    /// `InvalidArgument` for a root that is not there; what ends the run.
    pub fn broadcast(&self, root: u32, bytes: &[u8]) -> Result<Vec<u8>> {
        self.together(Job::Broadcast(Rank(root)), bytes.to_vec(), "broadcast")
    }

    /// `root` gets the bytes of all members, in the order of ranks; others get nothing.
    ///
    /// # Errors
    /// As [`Member::broadcast`].
    pub fn gather(&self, root: u32, bytes: &[u8]) -> Result<Option<Vec<Vec<u8>>>> {
        let gathered = self.together(Job::Gather(Rank(root)), bytes.to_vec(), "gather")?;
        (self.rank() == root).then(|| Collectives::parts(&gathered)).transpose()
    }

    /// All get the bytes of all members, in the order of ranks.
    ///
    /// # Errors
    /// What ends the run.
    pub fn all_gather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        Collectives::parts(&self.together(Job::AllGather, bytes.to_vec(), "all_gather")?)
    }

    fn together(&self, job: Job, given: Vec<u8>, word: &'static str) -> Result<Vec<u8>> {
        let number = ThingNumber::of(NAME);
        let shared = self.shared();
        let named = |error: Error| match error.kind() {
            ErrorKind::InvalidArgument => error.with("operation", word),
            _ => error,
        };
        let begin = |all: &mut Collectives, out: &mut _| all.begin(job, given, out);
        let round = shared.act(number, begin).map_err(named)?;
        let what = |all: &Collectives| {
            let missing = all.missing(round);
            let shown: Vec<String> =
                missing.iter().take(8).map(|Rank(rank)| rank.to_string()).collect();
            format!("{word}: member {}", shown.join(", "))
        };
        shared.wait(number, what, |all: &mut Collectives, _| Ok(all.result(round))).map_err(named)
    }
}
