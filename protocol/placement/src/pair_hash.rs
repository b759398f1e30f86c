//! A hash of one or two small numbers. Sites and servers are numbered by us, so nobody can choose them to collide.

use std::hash::{BuildHasherDefault, Hasher};

/// For maps whose keys are numbers that we gave out.
pub type PairHash = BuildHasherDefault<PairHasher>;

/// Multiplies and folds, as SplitMix64 does (Steele, Lea, Flood 2014).
#[derive(Clone, Copy, Debug, Default)]
pub struct PairHasher(u64);

impl Hasher for PairHasher {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 31)
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u32(u32::from(*byte));
        }
    }

    fn write_u32(&mut self, value: u32) {
        let mixed = self.0.rotate_left(32) ^ u64::from(value);
        self.0 = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}
