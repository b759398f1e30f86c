//! Random networks, in which each removal leads to others for many rounds.

use super::network::{Network, VALUES_MAX};
use crate::random::Random;

/// Variables or constraints that a random network may have.
const COUNT_MAX: usize = 1 << 20;

/// A random network: each constraint is between two random variables and allows each pair of values
/// by chance. The network depends on these numbers alone, and each constraint on its own number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generated {
    /// Where the numbers come from.
    pub seed: u64,
    /// Variables, two at least.
    pub variables: usize,
    /// Values of each variable.
    pub values: usize,
    /// Constraints.
    pub constraints: usize,
    /// Of each 65,536 pairs of values, how many a constraint allows.
    pub allowed: u16,
}

impl Default for Generated {
    /// The paper's 1500 variables, just below the density at which domains become empty.
    fn default() -> Self {
        Generated { seed: 1, variables: 1500, values: 64, constraints: 2400, allowed: 3400 }
    }
}

impl Generated {
    /// Makes the network.
    ///
    /// # Errors
    /// Fewer than two variables, no values, or more of anything than fits.
    pub fn network(&self) -> Result<Network, String> {
        self.check()?;
        let mut network = Network::new(self.variables, self.values);
        for variable in 0..self.variables {
            (0..self.values).for_each(|value| network.add_value(variable, value));
        }
        for constraint in 0..self.constraints as u64 {
            let mut random = Random::of_part(self.seed, constraint);
            let x = random.below(self.variables as u64) as usize;
            let other = random.below(self.variables as u64 - 1) as usize;
            let y = if other < x { other } else { other + 1 };
            let pairs = self.values * self.values;
            let allowed: Vec<bool> =
                (0..pairs).map(|_| random.below(1 << 16) < u64::from(self.allowed)).collect();
            let sizes = (self.values, self.values);
            let allows = |a: usize, b: usize| allowed[a * self.values + b];
            network.constrain((x, y), sizes, [constraint as i64, 0, 0, 0], allows)?;
        }
        Ok(network)
    }

    fn check(&self) -> Result<(), String> {
        let ranges = [
            ("variables", self.variables, 2, COUNT_MAX),
            ("values", self.values, 1, VALUES_MAX),
            ("constraints", self.constraints, 0, COUNT_MAX),
        ];
        for (name, number, least, most) in ranges {
            if number < least || number > most {
                return Err(format!("{number} {name}; give {least} to {most}"));
            }
        }
        Ok(())
    }
}
