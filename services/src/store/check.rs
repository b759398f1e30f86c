//! What every store refuses alike, before it does anything: requests beyond the bounds of the
//! service.

use std::time::Duration;

use farcall_base::{Error, ErrorKind, Result};

use super::{
    CHANGES_MAX, Change, Condition, KEY_BYTES_MAX, LeaseId, VALUE_BYTES_MAX, WRITE_BYTES_MAX,
};

/// The longest lease: what is to stay longer needs none.
const LEASE_MAX: Duration = Duration::from_secs(86_400);

/// Whether this can be a key.
///
/// # Errors
/// `InvalidArgument`.
pub fn check_key(key: &str) -> Result<()> {
    if key.is_empty() {
        return Err(wrong("a key is empty"));
    }
    check_prefix(key)
}

/// Whether keys can begin so.
///
/// # Errors
/// `InvalidArgument`.
pub fn check_prefix(prefix: &str) -> Result<()> {
    if prefix.len() <= KEY_BYTES_MAX {
        return Ok(());
    }
    let beginning = prefix.chars().take(40).collect::<String>();
    Err(wrong("a key is too long")
        .with("begins", beginning)
        .with("bytes", prefix.len())
        .with("bytes_max", KEY_BYTES_MAX))
}

/// Whether a lease can have this time.
///
/// # Errors
/// `InvalidArgument`.
pub fn check_lease(time: Duration) -> Result<()> {
    if !time.is_zero() && time <= LEASE_MAX {
        return Ok(());
    }
    Err(wrong("a lease lasts longer than zero, and at most one day")
        .with("time", format!("{time:?}")))
}

/// Whether a write keeps to the bounds, and touches no key twice.
///
/// # Errors
/// `InvalidArgument`.
pub fn check_write(conditions: &[Condition], changes: &[Change]) -> Result<()> {
    for (what, count) in [("conditions", conditions.len()), ("changes", changes.len())] {
        if count > CHANGES_MAX {
            return Err(wrong(format!("a write has too many {what}"))
                .with(what, count)
                .with("count_max", CHANGES_MAX));
        }
    }
    for condition in conditions {
        let (Condition::Absent(key) | Condition::Is(key, _)) = condition;
        check_key(key)?;
    }
    let mut bytes = 0;
    for change in changes {
        let (Change::Put { key, .. } | Change::Delete { key } | Change::DeleteAll { prefix: key }) =
            change;
        check_key(key)?;
        if let Change::Put { value, .. } = change {
            check_bytes("a value is too large", key, value.len(), VALUE_BYTES_MAX)?;
            bytes += value.len();
            check_bytes("the values of a write are too large", key, bytes, WRITE_BYTES_MAX)?;
        }
    }
    check_touched(changes)
}

/// A store would have to choose an order of the two changes, and etcd refuses them.
fn check_touched(changes: &[Change]) -> Result<()> {
    for (index, change) in changes.iter().enumerate() {
        let Change::Put { key: put, .. } = change else { continue };
        let touches = |(other, change): (usize, &Change)| match change {
            Change::Put { key, .. } => other != index && key == put,
            Change::Delete { key } => key == put,
            Change::DeleteAll { prefix } => put.starts_with(prefix.as_str()),
        };
        if changes.iter().enumerate().any(touches) {
            return Err(wrong("two changes of a write touch one key").with("key", put));
        }
    }
    Ok(())
}

fn check_bytes(message: &str, key: &str, bytes: usize, bytes_max: usize) -> Result<()> {
    if bytes <= bytes_max {
        return Ok(());
    }
    Err(wrong(message).with("key", key).with("bytes", bytes).with("bytes_max", bytes_max))
}

fn wrong(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidArgument, "ask the store", message)
}

/// The error of a put under a lease that has ended, or never was.
pub fn no_such_lease(lease: LeaseId) -> Error {
    Error::new(ErrorKind::NotFound, "write to the store", "the lease has ended")
        .with("lease", lease.0)
        .retryable()
        .fix("begin another lease, and read who holds its keys now")
}

/// The error of a write for which a store has no room.
pub fn full(bytes_max: u64) -> Error {
    Error::new(ErrorKind::LimitExceeded, "write to the store", "the store is full")
        .with("bytes_max", bytes_max)
        .retryable()
}
