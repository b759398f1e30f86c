//! What is said to etcd, and what it answers: JSON, with bytes in base64 and numbers as strings
//! (<https://etcd.io/docs/v3.4/dev-guide/api_grpc_gateway>, rpc.proto).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use farcall_base::{Error, ErrorKind, Result};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

/// What etcd says of a request as a whole.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Header {
    #[serde(deserialize_with = "number")]
    pub revision: u64,
}

/// A key of etcd.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Pair {
    #[serde(deserialize_with = "bytes")]
    pub key: Vec<u8>,
    #[serde(deserialize_with = "bytes")]
    pub value: Vec<u8>,
    #[serde(deserialize_with = "number")]
    pub mod_revision: u64,
}

/// Answer to `/v3/kv/range`.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Range {
    pub kvs: Vec<Pair>,
}

/// Answer to `/v3/kv/txn`.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Transaction {
    pub header: Header,
    pub succeeded: bool,
    pub responses: Vec<Part>,
}

/// Answer to one part of a transaction.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Part {
    pub response_range: Option<Range>,
}

/// Answer to `/v3/lease/grant`, and within that to `/v3/lease/keepalive`.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "UPPERCASE")]
pub struct Granted {
    #[serde(deserialize_with = "number")]
    pub id: u64,
    #[serde(deserialize_with = "number")]
    pub ttl: u64,
}

/// One piece of an answer that comes in pieces.
#[derive(Deserialize)]
pub struct Piece<T> {
    pub result: Option<T>,
}

/// A piece of the answer to `/v3/watch`.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Watched {
    pub header: Header,
    pub created: bool,
    pub canceled: bool,
    #[serde(deserialize_with = "number")]
    pub compact_revision: u64,
    pub events: Vec<Event>,
}

/// A change of a key.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Event {
    /// `DELETE`, or nothing for a put.
    #[serde(rename = "type")]
    pub kind: String,
    pub kv: Pair,
}

/// Text that is not worth being kept as it travels: numbers of 64 bits are strings in the JSON of
/// protocol buffers.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<u64, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(serde::de::Error::custom)
}

fn bytes<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Vec<u8>, D::Error> {
    let text = String::deserialize(deserializer)?;
    STANDARD.decode(text).map_err(serde::de::Error::custom)
}

/// Reads an answer.
///
/// # Errors
/// `Internal`: it is not from etcd.
pub fn read<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T> {
    serde_json::from_slice(body).map_err(|error| {
        let message = format!("an answer of etcd cannot be read: {error}");
        Error::new(ErrorKind::Internal, "use the store in etcd", message)
    })
}

/// A message as it is sent.
pub fn sent(message: &Value) -> Vec<u8> {
    message.to_string().into_bytes()
}

/// Bytes as they are written.
pub fn encoded(bytes: impl AsRef<[u8]>) -> String {
    STANDARD.encode(bytes)
}

/// The first key behind all that begin so. No byte of UTF-8 is 255.
pub fn end_of(prefix: &str) -> Vec<u8> {
    let mut end = prefix.as_bytes().to_vec();
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    end
}

/// A condition on when a key was written; 0: it is not there.
pub fn condition(key: &str, revision: u64) -> Value {
    json!({
        "key": encoded(key), "target": "MOD", "result": "EQUAL",
        "mod_revision": revision.to_string(),
    })
}

/// A put; 0 for no lease.
pub fn put(key: &str, value: &str, lease: u64) -> Value {
    json!({"request_put": {"key": encoded(key), "value": value, "lease": lease.to_string()}})
}

/// Deletes one key.
pub fn delete(key: &str) -> Value {
    json!({"request_delete_range": {"key": encoded(key)}})
}

/// Deletes all keys that begin so.
pub fn delete_all(prefix: &str) -> Value {
    let end = encoded(end_of(prefix));
    json!({"request_delete_range": {"key": encoded(prefix), "range_end": end}})
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_as_etcd_writes_them() {
        let body = r#"{"header":{"cluster_id":"17495100640981928781","revision":"2"},
            "responses":[{"response_range":{"header":{"revision":"2"},"kvs":[{"key":"YQ==",
            "create_revision":"2","mod_revision":"2","version":"1","value":"eA=="}],
            "count":"1"}}]}"#;
        let read: Transaction = super::read(body.as_bytes()).unwrap();
        assert!(!read.succeeded && read.header.revision == 2);
        let pair = &read.responses[0].response_range.as_ref().unwrap().kvs[0];
        assert_eq!((&pair.key[..], &pair.value[..], pair.mod_revision), (&b"a"[..], &b"x"[..], 2));
        let kept: Piece<Granted> =
            super::read(br#"{"result":{"header":{},"ID":"12345"}}"#).unwrap();
        let kept = kept.result.unwrap();
        assert_eq!((kept.id, kept.ttl), (12_345, 0));
        let piece = br#"{"result":{"header":{"revision":"4"},"events":[{"type":"DELETE",
            "kv":{"key":"YQ==","mod_revision":"4"}}]}}"#;
        let piece: Piece<Watched> = super::read(piece).unwrap();
        assert_eq!(piece.result.unwrap().events[0].kind, "DELETE");
        assert!(super::read::<Range>(b"{\"kvs\":[{\"key\":\"!\"}]}").is_err());
        assert!(super::read::<Range>(b"<html>").is_err());
    }

    #[test]
    fn the_end_of_a_prefix_is_behind_all_its_keys() {
        for prefix in ["a", "a/", "ü", "\u{10ffff}"] {
            let end = end_of(prefix);
            let longest = format!("{prefix}\u{10ffff}\u{10ffff}");
            assert!(prefix.as_bytes() < &end[..] && longest.as_bytes() < &end[..]);
        }
        assert_eq!(end_of("a/"), b"a0");
    }
}
