//! By how much something differs from what was expected: a mean that forgets, and counts the more
//! the more often it was measured.

/// The least part that a new measurement has in the mean: about the last ten count.
const FORGETTING: f64 = 0.2;

/// A difference of logarithms.
#[derive(Clone, Copy, Debug, Default)]
pub struct Deviation {
    mean: f64,
    seen: f64,
    /// What it says of itself, and was not measured.
    claim: Option<f64>,
}

impl Deviation {
    /// A measurement of what the parts before this one left. `weight` is what it counts against
    /// others, at most 1.
    pub fn observe(&mut self, left: f64, weight: f64) {
        self.seen += weight;
        let part = (weight / self.seen).max(FORGETTING * weight);
        self.mean += (left - self.mean) * part;
    }

    /// What it says of itself.
    pub fn claim(&mut self, claim: f64) {
        self.claim = Some(claim);
    }

    /// What it says of itself, if it did.
    pub fn claimed(&self) -> Option<f64> {
        self.claim
    }

    /// What was measured, if it was.
    pub fn measured(&self) -> Option<f64> {
        (self.seen > 0.0).then_some(self.mean)
    }

    /// The mean, as far as it is to be believed after so few measurements: with `doubt` of them it
    /// counts half.
    pub fn shrunk(&self, doubt: f64) -> f64 {
        self.mean * self.seen / (self.seen + doubt)
    }

    /// What is measured; before, what it claims against the mean of all claims, or what a newcomer
    /// is taken for.
    pub fn value(&self, mean_claim: f64, newcomer: f64) -> f64 {
        let guess = newcomer + self.claim.map_or(0.0, |claim| claim - mean_claim);
        self.measured().unwrap_or(guess)
    }
}
