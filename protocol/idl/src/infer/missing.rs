//! What a call lacks, of which only what the caller has to pass is named: arrays bring most scalars
//! with them.

use farcall_base::Result;

use super::{Given, Inference, is_only_leading, solve, wrong};
use crate::expression::Expression;
use crate::fault::listed_with_and;
use crate::interface::Shape;

impl Inference<'_> {
    /// Every scalar, array, string and file that the routine reads must be there.
    pub(super) fn require_all(&self) -> Result<()> {
        let missing = self.missing();
        if missing.is_empty() {
            return Ok(());
        }
        let wanted: Vec<_> =
            self.wanted(&missing).into_iter().map(|index| &self.scope.parameters[index]).collect();
        let list = listed_with_and(wanted.iter().map(|parameter| parameter.name.clone()).collect());
        let why = match wanted.iter().any(|parameter| parameter.is_plain_scalar()) {
            true => "not passed, and no other argument determines it",
            false => "not given",
        };
        let pass: Vec<String> =
            wanted.iter().map(|parameter| format!("{}=…", parameter.name)).collect();
        Err(wrong(format!("{} needs {list}: {why}", self.name))
            .fix(format!("pass {}", pass.join(", "))))
    }

    /// All that the routine reads and that is not there, by number.
    fn missing(&self) -> Vec<usize> {
        let lacks = |index: &usize| {
            let given = self.given[*index] != Given::Unset || self.known[*index].is_some();
            let input = self.scope.parameters[*index].mode.is_input();
            let is_read =
                self.is_present(*index) != Some(false) && self.is_given(*index) != Some(false);
            let is_later = self.waits() && self.scope.parameters[*index].default.is_some();
            input && !given && is_read && !is_later && !self.is_empty(*index)
        };
        (0..self.scope.parameters.len()).filter(lacks).collect()
    }

    /// Whether parameter `index` is an array of which no element travels.
    fn is_empty(&self, index: usize) -> bool {
        let values = self.completed();
        self.extents_of(index).iter().any(|extent| matches!(extent.try_integer(&values), Ok(0)))
    }

    /// The extents that travel of an array, as far as the caller decides them; none for what is not
    /// an array.
    fn extents_of(&self, index: usize) -> Vec<Expression> {
        let Shape::Array { dimensions, .. } = &self.scope.parameters[index].shape else {
            return Vec::new();
        };
        dimensions.iter().filter_map(|dimension| self.extent_expression(dimension)).collect()
    }

    /// The part of `missing` without the scalars that its own arrays would determine; all of it if
    /// nothing is left.
    fn wanted(&self, missing: &[usize]) -> Vec<usize> {
        // Leading dimensions and defaults follow from others, which are named themselves if they
        // are not determined.
        let follows = |index: usize| {
            self.scope.parameters[index].default.is_some() || is_only_leading(self.scope, index)
        };
        let open = missing.iter().filter(|index| self.is_open(**index) && !follows(**index));
        let needed = self.not_determined(open.map(|index| *index as u16).collect(), missing);
        let is_wanted =
            |index: &&usize| !self.is_open(**index) || needed.contains(&(**index as u16));
        let wanted: Vec<usize> = missing.iter().filter(is_wanted).copied().collect();
        if wanted.is_empty() { missing.to_vec() } else { wanted }
    }

    /// Those of `open` that could not be solved for even if the missing arrays were there.
    fn not_determined(&self, mut open: Vec<u16>, missing: &[usize]) -> Vec<u16> {
        let mut sources = self.sources(missing);
        let linear = |(unknowns, extent): &(Vec<u16>, Expression), one: u16| {
            unknowns.contains(&one) && solve::is_linear(extent, one)
        };
        let mut needed: Vec<u16> =
            open.iter().filter(|one| !sources.iter().any(|s| linear(s, **one))).copied().collect();
        open.retain(|one| !needed.contains(one));
        let mut known = needed.clone();
        loop {
            sources
                .iter_mut()
                .for_each(|(unknowns, _)| unknowns.retain(|one| !known.contains(one)));
            let solved =
                sources.iter().find(|source| source.0.len() == 1 && linear(source, source.0[0]));
            known = match (solved, open.last()) {
                (Some((unknowns, _)), _) => unknowns.clone(),
                // Stuck: one has to be given, and that may free the others, as for
                // `signature::by_name`.
                (None, Some(last)) => {
                    needed.push(*last);
                    vec![*last]
                }
                (None, None) => return needed,
            };
            open.retain(|one| !known.contains(one));
        }
    }

    /// The extents that would determine something if the missing arrays were there, with the
    /// unknowns of each.
    fn sources(&self, missing: &[usize]) -> Vec<(Vec<u16>, Expression)> {
        let arrays =
            missing.iter().flat_map(|index| self.extents_of(*index)).map(|extent| (1, extent));
        // A given array whose only unknown could not be solved for determines nothing.
        let given = self
            .extents
            .iter()
            .filter_map(|extent| self.extent_expression(extent.dimension))
            .map(|e| (2, e));
        let with_unknowns = |(least, extent): (usize, Expression)| {
            let mut unknowns = Vec::new();
            solve::collect(self, &extent, &mut unknowns);
            (unknowns.len() >= least).then_some((unknowns, extent))
        };
        arrays.chain(given).filter_map(with_unknowns).collect()
    }
}
