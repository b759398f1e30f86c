//! A member's molecules, and how they move.

use super::field::{self, ACCELERATION, MASSES, Place};
use super::fixed::{self, FORCE_MAX, FORCE_UNIT, Forces};
use crate::checksum;

/// The part of a step that the first and the last drift take: the error is smallest then.
const DRIFT: f64 = 0.193_183_327_503_783_6;
/// The fastest an atom of water can be, in Å/fs: 100 times the usual speed of hydrogen.
const SPEED_MAX: f64 = 2.0;

/// The drifts of a step: after each of the first two come forces and a kick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Before the first forces.
    First,
    /// Before the second forces.
    Second,
    /// The end of the step.
    Last,
}

/// Molecules in a row with their velocities.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    first: usize,
    time_step: f64,
    places: Vec<Place>,
    /// Å/fs.
    velocities: Vec<Place>,
}

impl Block {
    pub(super) fn new(
        first: usize,
        time_step: f64,
        molecules: impl Iterator<Item = [Place; 2]>,
    ) -> Block {
        let (places, velocities) = molecules.map(|[place, velocity]| (place, velocity)).unzip();
        Block { first, time_step, places, velocities }
    }

    /// The number of the first molecule.
    pub fn first(&self) -> usize {
        self.first
    }

    /// Where the molecules are. They are never put back into the box.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// Their velocities in Å/fs.
    pub fn velocities(&self) -> &[Place] {
        &self.velocities
    }

    /// Moves each molecule by its velocity.
    pub fn drift(&mut self, stage: Stage) {
        let part = if stage == Stage::Second { 1.0 - 2.0 * DRIFT } else { DRIFT };
        let time = part * self.time_step;
        for (place, velocity) in self.places.iter_mut().zip(&self.velocities) {
            for (coordinate, speed) in place.iter_mut().zip(velocity) {
                *coordinate += time * speed;
            }
        }
    }

    /// Changes the velocities for half a step by the forces of other molecules, as many as there
    /// are here, and by those within each molecule. Returns the potential within molecules in
    /// [`super::ENERGY_UNIT`]s.
    ///
    /// # Errors
    /// A molecule comes apart or moves too fast.
    pub fn kick(&mut self, forces: &[Forces]) -> Result<i64, String> {
        let time = 0.5 * self.time_step * ACCELERATION;
        let mut potential = 0_i64;
        let molecules = self.places.iter().zip(&mut self.velocities).zip(forces);
        for (index, ((place, velocity), outer)) in molecules.enumerate() {
            let (energy, inner) = field::within(place);
            potential = potential.wrapping_add(fixed::whole_energy(energy));
            let mut is_water = inner.iter().all(|force| force.abs() < FORCE_MAX);
            for axis in 0..9 {
                let whole = outer[axis].wrapping_add(fixed::force(inner[axis]));
                velocity[axis] += time / MASSES[axis / 3] * (whole as f64 * FORCE_UNIT);
                is_water &= velocity[axis].abs() < SPEED_MAX;
            }
            if !is_water {
                return Err(format!(
                    "molecule {} comes apart or moves too fast; give a shorter time step",
                    self.first + index
                ));
            }
        }
        Ok(potential)
    }

    /// The potential within molecules in [`super::ENERGY_UNIT`]s. Blocks' add up, wrapping.
    pub fn inner_potential(&self) -> i64 {
        let energies = self.places.iter().map(|place| fixed::whole_energy(field::within(place).0));
        energies.fold(0, i64::wrapping_add)
    }

    /// The kinetic energy in [`super::ENERGY_UNIT`]s. Blocks' add up, wrapping.
    pub fn kinetic(&self) -> i64 {
        let energy = |velocity: &Place| {
            let twice = (0..9).map(|axis| MASSES[axis / 3] * velocity[axis] * velocity[axis]);
            fixed::whole_energy(0.5 / ACCELERATION * twice.sum::<f64>())
        };
        self.velocities.iter().map(energy).fold(0, i64::wrapping_add)
    }

    /// The checksum of places and velocities. Blocks' add up, wrapping.
    pub fn checksum(&self) -> u64 {
        let molecules = self.places.iter().zip(&self.velocities).enumerate();
        let sums = molecules.map(|(index, (place, velocity))| {
            let words = place.iter().chain(velocity).map(|value| value.to_bits());
            checksum::of_row(self.first + index, words)
        });
        sums.fold(0, u64::wrapping_add)
    }
}
