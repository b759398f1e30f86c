//! The best value that any member has found.

use std::marker::PhantomData;

use farcall_base::Result;
use farcall_wide_engines::{self as engines, Fold, ThingNumber};

use crate::member::Member;
use crate::numbers::Number;
use crate::shared::{Shared, wrong};

/// A number that only becomes better at all members. What is read may be old, and is never better than
/// what was found.
pub struct Bound<N> {
    shared: Shared,
    number: ThingNumber,
    fold: Fold,
    of: PhantomData<N>,
}

impl<N: Number> Bound<N> {
    pub(crate) fn make(shared: &Shared, name: &str, fold: Fold, start: N) -> Result<Bound<N>> {
        if fold == Fold::Sum {
            return Err(wrong("a bound is a minimum or a maximum", name).fix("pass Fold::Min"));
        }
        let number = ThingNumber::of(name);
        let thing = (number, shared.rank);
        let sites = ((*shared.sites).clone(), shared.has_tiers);
        let kind = (N::ELEMENT, fold);
        let engine = engines::Bound::new(thing, sites, kind, start.to_bytes());
        let description = format!("bound of {}, {fold:?}", N::NAME);
        shared.make(name, description, Box::new(engine))?;
        Ok(Bound { shared: shared.clone(), number, fold, of: PhantomData })
    }

    /// The best value that is known here.
    ///
    /// # Errors
    /// What ends the run.
    pub fn value(&self) -> Result<N> {
        let read = |bound: &mut engines::Bound, _: &mut _| Ok(bound.best());
        self.shared.act(self.number, read).map(N::from_bytes)
    }

    /// This member has found a value; says whether it is better than what was known here.
    ///
    /// # Errors
    /// `InvalidArgument` for NaN; what ends the run.
    pub fn offer(&self, value: N) -> Result<bool> {
        self.shared
            .act(self.number, |bound: &mut engines::Bound, out| bound.offer(value.to_bytes(), out))
    }

    /// The best value of all members; they all call this, when they offer nothing more.
    ///
    /// # Errors
    /// What ends the run.
    pub fn last(&self, me: &Member) -> Result<N> {
        let own = self.value()?;
        Ok(me.all_reduce(self.fold, &[own])?[0])
    }
}
