//! Sizes of a call that is not made: to foretell what it would need.

use farcall_base::Result;

use super::{Arguments, Given, Inference, Origin, is_only_leading};
use crate::domain;
use crate::fault::parameters_of;
use crate::interface::{Interface, Mode};

/// As [`super::complete`] for a call of which sizes alone are known: arrays may be missing. Sizes
/// that nothing determines, and numbers that decide whether an array is read, are taken to be 1;
/// their parameter numbers are given, too.
///
/// # Errors
/// As [`super::complete`].
pub fn complete_sizes(
    interface: &Interface,
    given: &[Given<'_>],
) -> Result<(Arguments, Vec<usize>)> {
    let sized = sized(interface, given);
    sized.map_err(|error| error.with("routine", interface.full_name()))
}

fn sized(interface: &Interface, given: &[Given<'_>]) -> Result<(Arguments, Vec<usize>)> {
    let mut inference = Inference::new(interface, given)?;
    let mut assumed = Vec::new();
    inference.infer();
    while let Some(index) = inference.next_size().or_else(|| inference.next_factor()) {
        inference.set(index, 1, Origin::Default);
        assumed.push(index);
        inference.infer();
    }
    domain::check_known(inference.scope, &inference.completed())?;
    inference.check_extents()?;
    Ok((inference.finish()?, assumed))
}

impl Inference<'_> {
    /// Finds all that follows from what is known.
    pub(super) fn infer(&mut self) {
        self.apply_defaults(|parameter| !parameter.element.is_integer());
        loop {
            // Weaker evidence only where stronger is exhausted, and then from the strongest again.
            let progress = self.solve_extents()
                || self.infer_leading_dimensions()
                || self.apply_defaults(|_| true)
                || self.fill_absent_leading();
            if !progress {
                return;
            }
        }
    }

    /// A number that decides whether an array is given, and is not known: 1 says so, most often.
    fn next_factor(&self) -> Option<usize> {
        let undecided =
            (0..self.scope.parameters.len()).filter(|one| self.is_given(*one).is_none());
        let conditions = undecided.filter_map(|one| self.scope.parameters[one].given.as_ref());
        let mut factors = conditions.flat_map(parameters_of).map(usize::from);
        factors.find(|index| {
            self.known[*index].is_none() && self.scope.parameters[*index].mode == Mode::In
        })
    }

    /// An integer that nothing determines; leading dimensions, which follow from others, last.
    fn next_size(&self) -> Option<usize> {
        let open = || (0..self.scope.parameters.len()).filter(|index| self.is_open(*index));
        open().find(|index| !is_only_leading(self.scope, *index)).or_else(|| open().next())
    }
}
