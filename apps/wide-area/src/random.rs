//! Random numbers that are the same on every machine: SplitMix64 (Steele, Lea, Flood 2014).

/// A generator that is its 64-bit state.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The generator of part `index` of what `seed` makes: no part depends on another.
    pub fn of_part(seed: u64, index: u64) -> Self {
        let mut random = Self::new(seed ^ index.wrapping_mul(0xd134_2543_de82_ef95));
        random.next_bits();
        random
    }

    /// 64 random bits.
    pub fn next_bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`, which is 1 at least.
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next_bits()) * u128::from(limit)) >> 64) as u64
    }
}
