//! Damage to bytes, as other bytes say: a fuzz loop draws these, a fuzz target of `tests/fuzz` is
//! guided to them. So both damage what is sound in the same ways.

/// What lengths in CBOR look like.
const LENGTHS: [u8; 9] = [0x00, 0x1b, 0x5f, 0x9f, 0xbf, 0xff, 0x9b, 0x5b, 0xf6];
/// Bytes that go, or are repeated, at a time.
const PART: usize = 16;
/// Changes of one value.
const CHANGES_MAX: usize = 8;

/// Changes bytes as others say: four of them, which change, where in two bytes, and to what.
pub fn damage(bytes: &mut Vec<u8>, by: &[u8]) {
    for change in by.chunks_exact(4).take(CHANGES_MAX) {
        let Some(last) = bytes.len().checked_sub(1) else { return };
        let at = usize::from(u16::from_le_bytes([change[1], change[2]])) % (last + 1);
        let value = change[3];
        match change[0] % 7 {
            0 => bytes[at] ^= 1 << (value % 8),
            1 => bytes[at] = LENGTHS[usize::from(value) % LENGTHS.len()],
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(at..(at + PART).min(last + 1))),
            // Small numbers become other small numbers: what is sound, and wrong.
            4 => bytes[at] = value % 24,
            5 => bytes[at] = value,
            _ => bytes.extend_from_within(at..(at + PART).min(last + 1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_is_done_where_it_says() {
        let damaged = |by: &[u8]| {
            let mut bytes = vec![10, 11, 12];
            damage(&mut bytes, by);
            bytes
        };
        assert_eq!(damaged(&[]), [10, 11, 12]);
        assert_eq!(damaged(&[0, 1, 0, 2]), [10, 15, 12]);
        assert_eq!(damaged(&[1, 5, 0, 1]), [10, 11, 0x1b]);
        assert_eq!(damaged(&[2, 1, 0, 0, 5, 0, 0, 77]), [77]);
        assert_eq!(damaged(&[3, 0, 0, 0, 4, 0, 0, 1]), []);
        assert_eq!(damaged(&[6, 1, 0, 0]), [10, 11, 12, 11, 12]);
        // A part of a change changes nothing.
        assert_eq!(damaged(&[5, 0, 0]), [10, 11, 12]);
    }
}
