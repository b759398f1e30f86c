//! What answers of etcd mean, by what etcd 3.4 says.

use farcall_services::store::Version;

use super::*;

fn answered(status: u16, body: &str) -> Meaning {
    meaning(Attempt::Answered(status, body.as_bytes().to_vec()))
}

fn said(status: u16, code: u32, text: &str) -> Meaning {
    answered(status, &format!(r#"{{"error":"{text}","message":"{text}","code":{code}}}"#))
}

#[test]
fn answers_are_told_apart() {
    assert!(matches!(answered(200, "{}"), Meaning::Done(body) if body == b"{}"));
    let no_lease = said(404, 5, "etcdserver: requested lease not found");
    assert!(matches!(no_lease, Meaning::NoLease));
    for (meaning, kind) in [
        (said(429, 8, "etcdserver: mvcc: database space exceeded"), ErrorKind::LimitExceeded),
        (said(400, 3, "etcdserver: request is too large"), ErrorKind::LimitExceeded),
        (said(400, 3, "etcdserver: duplicate key given in txn request"), ErrorKind::Internal),
        (said(403, 7, "etcdserver: permission denied"), ErrorKind::PermissionDenied),
        (said(401, 16, "etcdserver: invalid auth token"), ErrorKind::PermissionDenied),
        (answered(404, "Not Found\n"), ErrorKind::Unavailable),
    ] {
        assert!(matches!(&meaning, Meaning::Refused(error) if error.kind() == kind), "{meaning:?}");
    }
    for (meaning, expected) in [
        (said(503, 14, "etcdserver: request timed out"), true),
        (said(503, 14, "etcdserver: leader changed"), true),
        (said(500, 2, "context deadline exceeded"), true),
        (answered(502, "<html>"), true),
        (said(429, 8, "etcdserver: too many requests"), false),
        (super::meaning(Attempt::NotSent("refused".to_owned())), false),
        (super::meaning(Attempt::Silent("closed".to_owned())), true),
    ] {
        let is_so =
            matches!(&meaning, Meaning::Next { may_be_done, .. } if *may_be_done == expected);
        assert!(is_so, "{meaning:?}");
    }
}

#[test]
fn writes_that_disprove_their_own_conditions_are_done_once() {
    let put = |key: &str| Change::Put { key: key.to_owned(), value: Vec::new(), lease: None };
    let delete = |key: &str| Change::Delete { key: key.to_owned() };
    let all = |prefix: &str| Change::DeleteAll { prefix: prefix.to_owned() };
    let is = |key: &str| Condition::Is(key.to_owned(), Version(1));
    let absent = |key: &str| Condition::Absent(key.to_owned());
    for (conditions, changes, expected) in [
        (vec![], vec![put("a")], None),
        (vec![is("a")], vec![put("b")], None),
        (vec![is("a")], vec![put("a")], Some("a")),
        (vec![absent("a")], vec![put("a")], Some("a")),
        (vec![absent("a")], vec![delete("a")], None),
        (vec![is("a")], vec![delete("a")], Some("a")),
        (vec![is("a/b")], vec![all("a/")], Some("a/b")),
        // Rather by what is put, since that can be recognised.
        (vec![is("a"), absent("b")], vec![delete("a"), put("b")], Some("b")),
    ] {
        assert_eq!(once_by(&conditions, &changes), expected, "{conditions:?} {changes:?}");
    }
}

#[test]
fn an_error_says_whether_something_may_have_been_done() {
    let endpoints = ["https://a:1".to_owned(), "https://b:1".to_owned()];
    let unsent = unavailable("refused", &endpoints, 5, false);
    assert!(unsent.is_retryable() && unsent.to_string().contains("https://a:1, https://b:1"));
    let unknown = unavailable("silence", &endpoints, 5, true);
    assert!(!unknown.is_retryable() && unknown.to_string().contains("may have been done"));
}
