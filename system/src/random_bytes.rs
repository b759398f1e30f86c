//! Random bytes that nobody can guess.

use farcall_base::{Error, Result};
use rustix::rand::{GetRandomFlags, getrandom};

/// As many as are wanted.
///
/// # Errors
/// `System` where the system has none.
pub fn random_bytes<const COUNT: usize>() -> Result<[u8; COUNT]> {
    let mut bytes = [0; COUNT];
    let mut filled = 0;
    while filled < COUNT {
        match getrandom(&mut bytes[filled..], GetRandomFlags::empty()) {
            Ok(count) => filled += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(Error::system("draw random bytes", error.into())),
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_are_alike() {
        let [one, other] = [random_bytes::<32>(), random_bytes::<32>()];
        assert_ne!(one.expect("the system has some"), other.expect("the system has some"));
    }
}
