//! How much water, where it is at the start, and for how long.

use std::ops::Range;

use super::block::Block;
use super::field::{ACCELERATION, BOND, Field, HALF_ANGLE, MASSES, Place};
use crate::random::Random;

/// Molecules that a run may have: two thousand million pairs.
pub const MOLECULES_MAX: usize = 1 << 16;
/// Steps that a run may have.
pub const STEPS_MAX: u64 = 1_000_000;

/// The longest time step in fs: a bond swings in nine.
const TIME_STEP_MAX: f64 = 4.0;
/// Å³ of a molecule at one gram per cm³.
const VOLUME: f64 = 29.915;
/// The temperature at the start, in kcal/mol: 298 K.
const TEMPERATURE: f64 = 0.001_987_204_1 * 298.0;

/// Water in a box that repeats on all sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Problem {
    molecules: usize,
    steps: u64,
    time_step: f64,
    seed: u64,
    /// Molecules along an edge of the lattice at the start.
    along: usize,
    spacing: f64,
    field: Field,
}

impl Default for Problem {
    /// The paper's size: 4096 molecules, two steps (of one fs).
    fn default() -> Self {
        Problem::fitted(4096, 2, 1.0, 1)
    }
}

impl Problem {
    /// Water of so many molecules, for `steps` of `time_step` fs; `seed` says how they are turned
    /// and move at the start. The box is a cube in which the next cubic number of molecules would
    /// have the density of water.
    ///
    /// # Errors
    /// Molecules outside 1 to [`MOLECULES_MAX`], more than [`STEPS_MAX`] steps, or a time step
    /// outside 0 to 4 fs.
    pub fn new(molecules: usize, steps: u64, time_step: f64, seed: u64) -> Result<Problem, String> {
        if !(1..=MOLECULES_MAX).contains(&molecules) {
            return Err(format!("{molecules} molecules; give 1 to {MOLECULES_MAX}"));
        }
        if steps > STEPS_MAX {
            return Err(format!("{steps} steps; give {STEPS_MAX} at most"));
        }
        if !(time_step > 0.0 && time_step <= TIME_STEP_MAX) {
            return Err(format!(
                "a time step of {time_step} fs; give one above 0, {TIME_STEP_MAX} at most"
            ));
        }
        Ok(Problem::fitted(molecules, steps, time_step, seed))
    }

    fn fitted(molecules: usize, steps: u64, time_step: f64, seed: u64) -> Problem {
        let along = (1..).find(|along| along * along * along >= molecules).unwrap_or(1);
        let spacing = cube_root(VOLUME);
        let field = Field::new(spacing * along as f64);
        Problem { molecules, steps, time_step, seed, along, spacing, field }
    }

    /// The number of molecules.
    pub fn molecules(&self) -> usize {
        self.molecules
    }

    /// The number of steps.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    pub(super) fn field(&self) -> &Field {
        &self.field
    }

    /// A block of molecules at the start; each depends on the problem and its own number alone.
    pub fn block(&self, molecules: Range<usize>) -> Block {
        let first = molecules.start.min(self.molecules);
        let end = molecules.end.min(self.molecules);
        let at_start = (first..end).map(|number| [self.place(number), self.velocity(number)]);
        Block::new(first, self.time_step, at_start)
    }

    /// The molecule's point of a cubic lattice, turned at random.
    fn place(&self, number: usize) -> Place {
        let mut random = Random::of_part(self.seed, 2 * number as u64);
        let along = self.along;
        let corner = [number % along, number / along % along, number / (along * along)];
        let middle = direction(&mut random);
        let aside = perpendicular(&middle, &mut random);
        let [cosine, sine] = HALF_ANGLE;
        let mut place = [0.0; 9];
        for axis in 0..3 {
            let oxygen = (corner[axis] as f64 + 0.5) * self.spacing;
            place[axis] = oxygen;
            place[3 + axis] = oxygen + BOND * (cosine * middle[axis] + sine * aside[axis]);
            place[6 + axis] = oxygen + BOND * (cosine * middle[axis] - sine * aside[axis]);
        }
        place
    }

    /// Random velocities of the temperature: molecules 2k and 2k + 1 have opposite ones, so that
    /// all together rest. One without another rests itself.
    fn velocity(&self, number: usize) -> Place {
        let pair = number - number % 2;
        if pair + 1 >= self.molecules {
            return [0.0; 9];
        }
        let mut random = Random::of_part(self.seed, 2 * pair as u64 + 1);
        let sign = if number == pair { 1.0 } else { -1.0 };
        let mut velocity = [0.0; 9];
        for (axis, speed) in velocity.iter_mut().enumerate() {
            let usual = (TEMPERATURE * ACCELERATION / MASSES[axis / 3]).sqrt();
            *speed = sign * usual * normal(&mut random);
        }
        velocity
    }
}

/// A number from 0 to 1.
fn fraction(random: &mut Random) -> f64 {
    (random.next_bits() >> 11) as f64 / (1_u64 << 53) as f64
}

/// About normal, with variance 1: the sum of twelve fractions.
fn normal(random: &mut Random) -> f64 {
    (0..12).map(|_| fraction(random)).sum::<f64>() - 6.0
}

/// A random direction: a point of the unit ball, not too near its middle, made as long as 1.
fn direction(random: &mut Random) -> [f64; 3] {
    loop {
        let point = [0; 3].map(|_| 2.0 * fraction(random) - 1.0);
        let square: f64 = point.iter().map(|value| value * value).sum();
        if (0.01..1.0).contains(&square) {
            return point.map(|value| value / square.sqrt());
        }
    }
}

/// A random direction at right angles to another one.
fn perpendicular(to: &[f64; 3], random: &mut Random) -> [f64; 3] {
    loop {
        let any = direction(random);
        let along: f64 = (0..3).map(|axis| any[axis] * to[axis]).sum();
        let square = 1.0 - along * along;
        if square > 0.1 {
            return [0, 1, 2].map(|axis| (any[axis] - along * to[axis]) / square.sqrt());
        }
    }
}

/// By Newton: the standard library's differs between machines in its last bit.
fn cube_root(value: f64) -> f64 {
    (0..100).fold(value, |root, _| root - (root - value / (root * root)) / 3.0)
}
