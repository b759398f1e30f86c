//! One request each: what is sent for it, and what the answer means.

use std::time::Duration;

use farcall_base::{Error, ErrorKind, Result};
use farcall_sealed::OVERHEAD_BYTES;
use farcall_services::store::{
    Change, Condition, Entry, LeaseId, PAGE_BYTES_MAX, PAGE_ENTRIES_MAX, VALUE_BYTES_MAX, Version,
    no_such_lease,
};
use farcall_system::random_bytes::random_bytes;
use serde_json::{Value, json};

use super::World;
use super::message::{
    Granted, Pair, Range, Transaction, condition, delete, delete_all, encoded, end_of, put,
    read as read_answer, sent,
};
use super::reach::{Answer, Asking};
use crate::step::once_by;

/// Of answers without values.
const ANSWER_BYTES_MAX: u64 = 1 << 20;
/// Of a page as it travels: base64 has four bytes for three. The value with which it passes
/// `PAGE_BYTES_MAX` is on it, too, and 512 bytes around each of its entries are enough.
const PAGE_ANSWER_BYTES_MAX: u64 =
    ((PAGE_BYTES_MAX + VALUE_BYTES_MAX + OVERHEAD_BYTES) / 3 * 4 + PAGE_ENTRIES_MAX * 1024) as u64;
/// Entries that are asked for at first: an answer that is too large was made in vain.
const ENTRIES_FIRST: usize = 100;

/// Writes.
pub fn write(
    world: &World,
    conditions: &[Condition],
    changes: Vec<Change>,
) -> Result<Option<Version>> {
    let once = once_by(conditions, &changes).map(str::to_owned);
    let first_lease = changes.iter().find_map(|change| match change {
        Change::Put { lease, .. } => *lease,
        _ => None,
    });
    let compare: Vec<Value> = conditions
        .iter()
        .map(|one| match one {
            Condition::Absent(key) => condition(&world.raw(key), 0),
            Condition::Is(key, version) => condition(&world.raw(key), version.0),
        })
        .collect();
    // The sealed value by which this write is recognised if it was sent twice.
    let mut own = None;
    let mut success = Vec::with_capacity(changes.len());
    for change in changes {
        success.push(match change {
            Change::Put { key, value, lease } => {
                let raw = world.raw(&key);
                let sealed = world.sealer.seal(random_bytes()?, &raw, &value);
                let written = put(&raw, &encoded(&sealed), lease.map_or(0, |lease| lease.0));
                if once.as_ref() == Some(&key) {
                    own = Some((raw, sealed));
                }
                written
            }
            Change::Delete { key } => delete(&world.raw(&key)),
            Change::DeleteAll { prefix } => delete_all(&world.raw(&prefix)),
        });
    }
    let mut message = json!({"compare": compare, "success": success});
    let first = sent(&message);
    if let Some((raw, _)) = &own {
        message["failure"] = json!([{"request_range": {"key": encoded(raw)}}]);
    }
    let body = |again: bool| if again { sent(&message) } else { first.clone() };
    let outcome = world.ask(&Asking {
        path: "/v3/kv/txn",
        body: &body,
        may_repeat: once.is_some(),
        attempt: world.settings.attempt(),
        patience: world.settings.patience(),
        bytes_max: ANSWER_BYTES_MAX + PAGE_ANSWER_BYTES_MAX,
    })?;
    let Answer::Done(answer) = outcome.answer else {
        return Err(no_such_lease(first_lease.unwrap_or(LeaseId(0))));
    };
    let done: Transaction = read_answer(&answer)?;
    if done.succeeded {
        return Ok(Some(Version(done.header.revision)));
    }
    if !outcome.is_repeated {
        return Ok(None);
    }
    // An earlier attempt may be why a condition does not hold.
    let found = done.responses.into_iter().filter_map(|part| part.response_range);
    let found = found.flat_map(|range| range.kvs).next();
    match (own, found) {
        (Some((_, sealed)), Some(pair)) if pair.value == sealed => {
            Ok(Some(Version(pair.mod_revision)))
        }
        _ => Err(world.unavailable("it was sent twice, and its keys have changed since", true)),
    }
}

/// Reads one page.
pub fn read(world: &World, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<Entry>> {
    let raw = world.raw(prefix);
    let from = match after {
        Some(after) if after >= prefix => format!("{}\0", world.raw(after)),
        _ => raw.clone(),
    };
    let end = end_of(&raw);
    let mut limit = limit.min(PAGE_ENTRIES_MAX).min(ENTRIES_FIRST);
    if limit == 0 || from.as_bytes() >= &end[..] {
        return Ok(Vec::new());
    }
    loop {
        let message = json!({
            "key": encoded(&from), "range_end": encoded(&end), "limit": limit.to_string(),
        });
        let outcome = world.ask(&Asking {
            path: "/v3/kv/range",
            body: &|_| sent(&message),
            may_repeat: true,
            attempt: world.settings.attempt(),
            patience: world.settings.patience(),
            bytes_max: PAGE_ANSWER_BYTES_MAX,
        })?;
        match outcome.answer {
            Answer::Done(answer) => return page(world, read_answer(&answer)?),
            // One value that a store wrote always fits.
            _ if limit == 1 => {
                let error =
                    Error::new(ErrorKind::Damaged, "read the store", "a value is too large");
                return Err(error.with("behind", from).fix("it is not from Farcall: delete it"));
            }
            _ => limit = limit.div_ceil(4),
        }
    }
}

fn page(world: &World, range: Range) -> Result<Vec<Entry>> {
    let mut page = Vec::with_capacity(range.kvs.len());
    let mut bytes = 0;
    for Pair { key, value, mod_revision } in range.kvs {
        if bytes >= PAGE_BYTES_MAX {
            break;
        }
        let raw = String::from_utf8(key).map_err(|error| {
            let name = String::from_utf8_lossy(error.as_bytes()).into_owned();
            let message = "the name of a key is no text";
            Error::new(ErrorKind::Damaged, "read the store", message)
                .with("name", name)
                .fix("it is not from Farcall: delete it, or set another prefix")
        })?;
        let endpoints = || world.settings.endpoints.join(", ");
        let key = raw.get(world.settings.prefix.len()..).unwrap_or_default().to_owned();
        let opened = world.sealer.open(&raw, value);
        let value = opened.map_err(|error| error.with("key", &key).with("etcd", endpoints()))?;
        bytes += value.len();
        page.push(Entry { key, value, version: Version(mod_revision) });
    }
    Ok(page)
}

/// Begins a lease, which is kept from now on.
pub fn lease(world: &World, time: Duration) -> Result<LeaseId> {
    let seconds = time.as_secs() + u64::from(time.subsec_nanos() > 0);
    let message = json!({"TTL": seconds.to_string()});
    let outcome = world.ask(&Asking {
        path: "/v3/lease/grant",
        body: &|_| sent(&message),
        // A lease that nobody keeps ends by itself.
        may_repeat: true,
        attempt: world.settings.attempt(),
        patience: world.settings.patience(),
        bytes_max: ANSWER_BYTES_MAX,
    })?;
    let Answer::Done(answer) = outcome.answer else {
        return Err(Error::internal("begin a lease", "etcd answered something else"));
    };
    let granted: Granted = read_answer(&answer)?;
    if granted.id == 0 || granted.ttl == 0 {
        return Err(Error::internal("begin a lease", "etcd gave none"));
    }
    let lease = LeaseId(granted.id);
    world.keeper.keep(lease, Duration::from_secs(granted.ttl));
    Ok(lease)
}
