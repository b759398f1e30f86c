//! The greeting: is the peer acceptable, and who is it?

use farcall_base::{Error, ErrorKind, Result};
use farcall_wire::Hello;
use farcall_wire::message::check_attributes;

/// Smallest limits that a peer may announce and still be of use.
pub const CONTROL_BYTES_MIN: u32 = 4096;
const DATA_BYTES_MIN: u32 = 4096;

/// Judges a peer's Hello; `token` is what it must prove to know.
pub fn judge(hello: &Hello, token: Option<&[u8]>) -> Result<()> {
    check_attributes(&hello.attributes, &[])?;
    let limits = &hello.limits;
    if limits.control_bytes_max < CONTROL_BYTES_MIN
        || limits.data_bytes_max < DATA_BYTES_MIN
        || limits.channels_max == 0
    {
        return Err(Error::new(
            ErrorKind::Protocol,
            "connect",
            "the peer's limits are too small for any call",
        )
        .with("control_bytes_max", limits.control_bytes_max)
        .with("data_bytes_max", limits.data_bytes_max));
    }
    match (token, &hello.token) {
        (None, _) => Ok(()),
        (Some(wanted), Some(given)) if same_secret(wanted, given) => Ok(()),
        (Some(_), given) => Err(Error::new(
            ErrorKind::PermissionDenied,
            "connect",
            if given.is_some() { "wrong token" } else { "this server requires a token" },
        )
        .fix(
            "pass the server's token file: --token-file FILE, FARCALL_TOKEN_FILE=FILE, or \
            token_file= in Python",
        )),
    }
}

/// Compares without telling by its duration where the first difference is.
fn same_secret(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differences, (x, y)| differences | (x ^ y)) == 0
}
