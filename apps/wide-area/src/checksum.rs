//! Checksums of arrays that several members hold: each adds its rows, in any order.

/// The checksum of row `index` with these words: each word at its place changes it.
///
/// The checksum of an array is the sum of its rows' by [`u64::wrapping_add`].
pub fn of_row(index: usize, words: impl Iterator<Item = u64>) -> u64 {
    let start = mix(index as u64 ^ 0x9e37_79b9_7f4a_7c15);
    mix(words
        .fold(start, |sum, word| (sum ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23)))
}

/// Spreads each bit over all (SplitMix64's last step).
fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_words_count() {
        let sum = |index, words: [u64; 2]| of_row(index, words.into_iter());
        let sums = [sum(0, [1, 2]), sum(0, [2, 1]), sum(1, [1, 2]), sum(0, [1, 3]), sum(0, [0, 2])];
        for (at, one) in sums.iter().enumerate() {
            assert!(sums[at + 1..].iter().all(|other| other != one), "{sums:?}");
        }
    }
}
