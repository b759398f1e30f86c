//! What must hold of any bytes in the place of a sealed value: asked by a loop with a fixed seed, and
//! by the fuzz target of `tests/fuzz`, which includes this file.

use farcall_base::ErrorKind;
use farcall_golden::damage;
use farcall_sealed::{KEY_BYTES, RANDOM_BYTES, Sealer};

const NAME: &str = "records/1";

/// Whether a sealed value opens after damage: then it is what was sealed.
pub fn damaged(value: &[u8], by: &[u8]) -> bool {
    let sealer = Sealer::new(&[5; KEY_BYTES]);
    let sound = sealer.seal([9; RANDOM_BYTES], NAME, value);
    let mut bytes = sound.clone();
    damage(&mut bytes, by);
    let is_same = bytes == sound;
    match sealer.open(NAME, bytes) {
        Ok(opened) => {
            assert!(is_same && opened == value, "damage was taken for a value");
            true
        }
        Err(error) => {
            assert!(!is_same && error.kind() == ErrorKind::Damaged, "{error}");
            false
        }
    }
}

/// Bytes that nobody sealed do not open.
pub fn made_up(bytes: &[u8]) {
    let opened = Sealer::new(&[5; KEY_BYTES]).open(NAME, bytes.to_vec());
    assert!(opened.is_err_and(|error| error.kind() == ErrorKind::Damaged));
}
