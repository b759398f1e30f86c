//! Sealed values: encrypted and authenticated under a key and the name that they are kept under.
//! Pure: random bytes come as an argument.
//!
//! ```text
//! byte 0      1..17                 17..29    29..            last 16
//! format: 1 | salt of its own key | nonce   | encrypted value | tag
//! ```
//!
//! Each value has an AES-256-GCM key of its own: HMAC-SHA-256 of the salt under the shared key. With
//! the shared key alone, random nonces of 96 bits would be safe for 2^32 values only (NIST SP
//! 800-38D, section 8.3), which a busy store writes in some weeks. Salt and nonce are 224 random bits.
//!
//! The name is authenticated: a value that is moved to another name does not open. An older value of
//! the same name does open. A user who can write to the store can put one back.

use farcall_base::{Error, ErrorKind, Result};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hmac;

/// Bytes of a key.
pub const KEY_BYTES: usize = 32;
/// Random bytes that sealing takes: salt and nonce.
pub const RANDOM_BYTES: usize = SALT_BYTES + NONCE_LEN;
/// Bytes by which a sealed value is longer.
pub const OVERHEAD_BYTES: usize = 1 + RANDOM_BYTES + TAG_BYTES;

const SALT_BYTES: usize = 16;
const TAG_BYTES: usize = 16;
const FORMAT: u8 = 1;

/// A key that seals and opens.
#[derive(Clone)]
pub struct Sealer(hmac::Key);

impl Sealer {
    /// With these bytes as the key.
    pub fn new(key: &[u8; KEY_BYTES]) -> Sealer {
        Sealer(hmac::Key::new(hmac::HMAC_SHA256, key))
    }

    /// Seals a value under a name. No two values may have the same random bytes.
    pub fn seal(&self, random: [u8; RANDOM_BYTES], name: &str, value: &[u8]) -> Vec<u8> {
        let [salt, nonce] = [&random[..SALT_BYTES], &random[SALT_BYTES..]];
        let mut sealed = Vec::with_capacity(value.len() + OVERHEAD_BYTES);
        sealed.push(FORMAT);
        sealed.extend_from_slice(&random);
        sealed.extend_from_slice(value);
        let body = &mut sealed[1 + RANDOM_BYTES..];
        let tag = self.key_of(salt).seal_in_place_separate_tag(
            nonce_of(nonce),
            Aad::from(name.as_bytes()),
            body,
        );
        // AES-GCM takes values up to 64 GiB.
        sealed
            .extend_from_slice(tag.expect("the value is shorter than the cipher's limit").as_ref());
        sealed
    }

    /// Opens a value that was sealed under this name.
    ///
    /// # Errors
    /// `Damaged` for what was not sealed so with this key.
    pub fn open(&self, name: &str, mut sealed: Vec<u8>) -> Result<Vec<u8>> {
        if sealed.len() < OVERHEAD_BYTES {
            return Err(damaged(name, "it is too short"));
        }
        if sealed[0] != FORMAT {
            return Err(damaged(name, "its format is unknown"));
        }
        let random: [u8; RANDOM_BYTES] =
            sealed[1..=RANDOM_BYTES].try_into().expect("the length was checked");
        let [salt, nonce] = [&random[..SALT_BYTES], &random[SALT_BYTES..]];
        let key = self.key_of(salt);
        let body = 1 + RANDOM_BYTES..;
        let opened =
            key.open_within(nonce_of(nonce), Aad::from(name.as_bytes()), &mut sealed, body);
        let length = opened.map_err(|_| damaged(name, "it does not verify"))?.len();
        sealed.truncate(length);
        Ok(sealed)
    }

    fn key_of(&self, salt: &[u8]) -> LessSafeKey {
        let own = hmac::sign(&self.0, salt);
        let own = UnboundKey::new(&AES_256_GCM, own.as_ref());
        LessSafeKey::new(own.expect("SHA-256 gives as many bytes as the cipher takes"))
    }
}

fn nonce_of(bytes: &[u8]) -> Nonce {
    Nonce::try_assume_unique_for_key(bytes).expect("the slice has the length of a nonce")
}

fn damaged(name: &str, message: &str) -> Error {
    Error::new(ErrorKind::Damaged, "open a sealed value", message).with("name", name).fix(
        "check that the key file is the one that the value was sealed with; if it is, the value was \
        changed or moved by something other than Farcall",
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn sealer(byte: u8) -> Sealer {
        Sealer::new(&[byte; KEY_BYTES])
    }

    #[test]
    fn what_was_sealed_opens_under_its_name_and_key_alone() {
        for value in [&b""[..], b"value", &[7; 100_000]] {
            let sealed = sealer(1).seal([9; RANDOM_BYTES], "a/b", value);
            assert_eq!(sealed.len(), value.len() + OVERHEAD_BYTES);
            assert_eq!(sealer(1).open("a/b", sealed.clone()).unwrap(), value);
            for (key, name) in [(2, "a/b"), (1, "a/c"), (1, "a/b/")] {
                let error = sealer(key).open(name, sealed.clone()).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Damaged, "{error}");
                assert!(error.to_string().contains(name), "{error}");
            }
        }
    }

    #[test]
    fn every_changed_bit_and_every_cut_is_found() {
        let sealed = sealer(1).seal([9; RANDOM_BYTES], "name", b"a value");
        for bit in 0..sealed.len() * 8 {
            let mut changed = sealed.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(sealer(1).open("name", changed).unwrap_err().kind(), ErrorKind::Damaged);
        }
        for length in 0..sealed.len() {
            assert!(sealer(1).open("name", sealed[..length].to_vec()).is_err(), "{length}");
        }
    }

    #[test]
    fn the_format_stays() {
        // Made by Python's cryptography: AESGCM(HMAC-SHA-256(32 times 1, 16 times 9)), nonce 12 times
        // 9, associated data "name".
        let sealed = sealer(1).seal([9; RANDOM_BYTES], "name", b"a value");
        let shown: String = sealed[29..].iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(shown, "61cb2f049bdbec6cdc90f1db4aad76a329e7de0ade0c2a");
    }
}
