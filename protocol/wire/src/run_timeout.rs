//! How long a routine may run once it began, which its caller says apart from the time for the whole
//! call (spec/wire.md, section 6).

use std::time::Duration;

use farcall_base::Result;

use crate::message::{Attribute, Open, decode, encode};

/// The attribute of an Open that says for how many microseconds its routine may run once it began.
/// Critical: an acceptor that does not know it would let the routine run for ever.
pub const RUN_TIMEOUT: &str = "run-timeout";

/// The attribute with that time.
pub fn run_timeout_attribute(limit: Duration) -> Attribute {
    let limit_us = u64::try_from(limit.as_micros()).unwrap_or(u64::MAX);
    Attribute { name: RUN_TIMEOUT.to_owned(), critical: true, value: encode(&limit_us) }
}

/// For how long its routine may run, if an Open says so.
///
/// # Errors
/// `Protocol` for a value that is not a number.
pub fn run_timeout_of(open: &Open) -> Result<Option<Duration>> {
    let mut all = open.attributes.iter().flatten();
    let found = all.find(|attribute| attribute.name == RUN_TIMEOUT);
    let limit_us = found.map(|attribute| decode("run-timeout", &attribute.value)).transpose()?;
    Ok(limit_us.map(Duration::from_micros))
}
