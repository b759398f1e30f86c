//! Pairs of molecules within a block and between two, and who computes which.

use super::field::{Field, Place};
use super::fixed::{self, Forces};
use super::problem::Problem;

/// Molecules in a row, and where the forces on them are added.
#[derive(Debug)]
pub struct Part<'a> {
    /// The number of the first one.
    pub first: usize,
    /// Where they are.
    pub places: &'a [Place],
    /// The forces on them, as many.
    pub forces: &'a mut [Forces],
}

/// Which pairs of two blocks a member computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// All.
    All,
    /// Those whose numbers have an even sum; the other member computes the rest.
    Even,
    /// Those whose numbers have an odd sum.
    Odd,
}

/// What was computed. Members' add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pairs {
    /// Pairs looked at, near or not: the counted operations.
    pub looked: u64,
    /// Their potential in [`super::ENERGY_UNIT`]s. Add it wrapping.
    pub potential: i64,
    /// Pairs whose atoms were too close for forces to be right.
    pub close: u64,
}

impl Pairs {
    /// Adds what another piece computed.
    pub fn add(&mut self, other: Pairs) {
        self.looked += other.looked;
        self.potential = self.potential.wrapping_add(other.potential);
        self.close += other.close;
    }

    /// Refuses what has pairs that are too close.
    ///
    /// # Errors
    /// There are some.
    pub fn check(&self) -> Result<(), String> {
        if self.close == 0 {
            return Ok(());
        }
        let close = self.close;
        Err(format!(
            "molecules overlap: {close} pairs are closer than water ever is; give a shorter time step"
        ))
    }
}

/// The members whose places a member needs, with what it computes of each: the next p / 2. Where p
/// is even the last one needs this member's places, too, and each computes half.
pub fn needs(members: usize, rank: usize) -> impl Iterator<Item = (usize, Share)> {
    (1..members / 2 + 1).map(move |distance| {
        let other = (rank + distance) % members;
        let is_opposite = 2 * distance == members;
        let share = match is_opposite {
            false => Share::All,
            true if rank < other => Share::Even,
            true => Share::Odd,
        };
        (other, share)
    })
}

/// The members that need a member's places, and give forces back.
pub fn needed_by(members: usize, rank: usize) -> impl Iterator<Item = usize> {
    (1..members / 2 + 1).map(move |distance| (rank + members - distance) % members)
}

impl Problem {
    /// Computes all pairs within a part.
    pub fn pairs_within(&self, part: Part<'_>) -> Pairs {
        let mut pairs = Pairs::default();
        let count = part.places.len().min(part.forces.len());
        for later in 1..count {
            let (before, rest) = part.forces[..count].split_at_mut(later);
            let place = &part.places[later];
            for (earlier, force) in part.places.iter().zip(before) {
                pairs.add_pair(self.field(), [earlier, place], [force, &mut rest[0]]);
            }
        }
        pairs
    }

    /// Computes the pairs of `share` between two parts without molecules in common, in either
    /// order.
    pub fn pairs_between(&self, one: Part<'_>, other: Part<'_>, share: Share) -> Pairs {
        let (earlier, later) = if one.first <= other.first { (one, other) } else { (other, one) };
        let mut pairs = Pairs::default();
        let each = if share == Share::All { 1 } else { 2 };
        for (index, (place, force)) in earlier.places.iter().zip(earlier.forces).enumerate() {
            let sum = earlier.first + index + later.first;
            let skipped = match share {
                Share::All => 0,
                Share::Even => sum % 2,
                Share::Odd => 1 - sum % 2,
            };
            let others = later.places.iter().zip(&mut *later.forces);
            for (other, other_force) in others.skip(skipped).step_by(each) {
                pairs.add_pair(self.field(), [place, other], [force, other_force]);
            }
        }
        pairs
    }
}

impl Pairs {
    #[inline]
    fn add_pair(&mut self, field: &Field, places: [&Place; 2], forces: [&mut Forces; 2]) {
        self.looked += 1;
        let [one, other] = places;
        if let Some(lie) = field.lie(one, other) {
            let pair = field.force(one, other, &lie);
            add(forces[0], &pair.on_first);
            add(forces[1], &pair.on_second);
            self.potential = self.potential.wrapping_add(fixed::whole_energy(pair.potential));
            self.close += u64::from(pair.is_close);
        }
    }
}

fn add(sum: &mut Forces, forces: &Place) {
    for axis in 0..9 {
        sum[axis] = sum[axis].wrapping_add(fixed::force(forces[axis]));
    }
}
