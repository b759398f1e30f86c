//! What the plugin decides: what an answer of etcd means, and which writes may be sent again. Pure.

use farcall_base::{Error, ErrorKind};
use farcall_services::store::{Change, Condition};

const OPERATION: &str = "use the store in etcd";

/// What an attempt at one member brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// An answer: its status, and what it says.
    Answered(u16, Vec<u8>),
    /// Nothing was sent: nobody listens there.
    NotSent(String),
    /// Something was sent, and no whole answer came.
    Silent(String),
    /// An answer came that is larger than was allowed.
    TooLarge,
}

/// What it means for a request.
#[derive(Debug)]
pub enum Meaning {
    /// etcd did it; what it answered.
    Done(Vec<u8>),
    /// etcd has no such lease.
    NoLease,
    /// etcd did it, and its answer is too large.
    TooLarge,
    /// etcd did not do it, and will not.
    Refused(Error),
    /// Another member is to be asked.
    Next {
        /// Why this one did not do it.
        why: String,
        /// It may have been done, or may still be done.
        may_be_done: bool,
    },
}

/// Numbers of gRPC statuses (<https://grpc.io/docs/guides/status-codes>).
const PERMISSION_DENIED: u32 = 7;
const INVALID_ARGUMENT: u32 = 3;
const UNAUTHENTICATED: u32 = 16;

/// What an attempt means.
pub fn meaning(attempt: Attempt) -> Meaning {
    match attempt {
        Attempt::NotSent(why) => Meaning::Next { why, may_be_done: false },
        Attempt::Silent(why) => Meaning::Next { why, may_be_done: true },
        Attempt::TooLarge => Meaning::TooLarge,
        Attempt::Answered(200, body) => Meaning::Done(body),
        Attempt::Answered(status, body) => match complaint(&body) {
            Some((code, text)) => complained(code, text),
            None if status == 404 => Meaning::Refused(
                Error::new(ErrorKind::Unavailable, OPERATION, "it has no JSON gateway").fix(
                    "use etcd 3.4 or later, without --enable-grpc-gateway=false, and name the ports \
                    of its clients in endpoints",
                ),
            ),
            None => Meaning::Next { why: format!("status {status}"), may_be_done: true },
        },
    }
}

fn complaint(body: &[u8]) -> Option<(u32, String)> {
    // "error" and "message" have the same text.
    let value: serde_json::Value = serde_json::from_slice(body).ok()?;
    let text = value.get("error").or_else(|| value.get("message"))?.as_str()?.to_owned();
    let code = value.get("code").and_then(serde_json::Value::as_u64).unwrap_or_default();
    Some((u32::try_from(code).ok()?, text))
}

fn complained(code: u32, text: String) -> Meaning {
    let has = |words: &str| text.contains(words);
    let refused = |kind, message: &str| Error::new(kind, OPERATION, message).with("etcd", &text);
    if has("requested lease not found") {
        return Meaning::NoLease;
    }
    if has("space exceeded") {
        return Meaning::Refused(
            refused(ErrorKind::LimitExceeded, "etcd is full").retryable().fix(
                "compact and defragment etcd, raise its --quota-backend-bytes, and then run `etcdctl \
                alarm disarm`",
            ),
        );
    }
    if has("request is too large") || has("too many operations") {
        return Meaning::Refused(
            refused(ErrorKind::LimitExceeded, "etcd takes no request of this size")
                .fix("raise --max-request-bytes and --max-txn-ops of etcd to their defaults"),
        );
    }
    if has("too many requests") {
        return Meaning::Next { why: text, may_be_done: false };
    }
    match code {
        PERMISSION_DENIED | UNAUTHENTICATED => Meaning::Refused(
            refused(ErrorKind::PermissionDenied, "etcd lets this node do nothing").fix(
                "set certificate and key to those of a user that may read and write below prefix; \
                etcd's own passwords are not supported",
            ),
        ),
        INVALID_ARGUMENT => {
            Meaning::Refused(refused(ErrorKind::Internal, "etcd does not understand the request"))
        }
        // No leader, a leader that changed, no quorum: it may be done when they are back.
        _ => Meaning::Next { why: text, may_be_done: true },
    }
}

/// A key by which a write is done at most once, however often it is sent: a condition on it does not
/// hold any more when the write has been done. `None`: sent twice, the write may be done twice.
pub fn once_by<'w>(conditions: &'w [Condition], changes: &[Change]) -> Option<&'w str> {
    let puts = |wanted: &str| {
        changes.iter().any(|change| matches!(change, Change::Put { key, .. } if key == wanted))
    };
    let deletes = |wanted: &str| {
        changes.iter().any(|change| match change {
            Change::Delete { key } => key == wanted,
            Change::DeleteAll { prefix } => wanted.starts_with(prefix.as_str()),
            Change::Put { .. } => false,
        })
    };
    let of = |condition: &'w Condition| match condition {
        Condition::Absent(key) => puts(key).then_some(key.as_str()),
        Condition::Is(key, _) => (puts(key) || deletes(key)).then_some(key.as_str()),
    };
    // A key that is put shows by its value whose write it was.
    let keys = || conditions.iter().filter_map(of);
    keys().find(|key| puts(key)).or_else(|| keys().next())
}

/// The error of a request that no member has answered in time.
pub fn unavailable(why: &str, endpoints: &[String], patience_ms: u64, may_be_done: bool) -> Error {
    let message = match may_be_done {
        true => "no member of etcd answered in time; what was asked may have been done",
        false => "no member of etcd answered in time",
    };
    let error = Error::new(ErrorKind::Unavailable, OPERATION, message)
        .with("endpoints", endpoints.join(", "))
        .with("last", why)
        .with("patience_ms", patience_ms)
        .fix(
            "check that more than half of the members run and reach one another (`etcdctl endpoint \
            health`), and that this node reaches one of them with a certificate that it accepts",
        );
    if may_be_done { error } else { error.retryable() }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
