//! Sizes of a call that is not made: to foretell what it would need.

use farcall_base::Result;

use super::{Arguments, Given, Inference, Origin, is_only_leading};
use crate::domain;
use crate::interface::Interface;

/// As [`super::complete`] for a call of which sizes alone are known: arrays may be missing. Sizes that nothing
/// determines are taken to be 1; their parameter numbers are given, too.
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
    while let Some(index) = inference.next_size() {
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

    /// An integer that nothing determines; leading dimensions, which follow from others, last.
    fn next_size(&self) -> Option<usize> {
        let open = || (0..self.scope.parameters.len()).filter(|index| self.is_open(*index));
        open().find(|index| !is_only_leading(self.scope, *index)).or_else(|| open().next())
    }
}
