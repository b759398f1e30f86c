//! Files with keys: private, whole, or refused with the command that mends them.

use std::os::unix::fs::chown;

use farcall_base::ErrorKind;

use super::authority::{Authority, set_mode};
use super::*;

#[test]
fn a_key_that_others_can_read_is_refused() {
    let authority = Authority::new();
    let user = authority.user("anna");
    for mode in [0o640, 0o604, 0o620, 0o602, 0o601] {
        set_mode(&user, mode);
        let error = Credentials::read(&user, Whose::User).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        let text = error.to_string();
        assert!(text.contains(&format!("mode {mode:o}")) && text.contains("chmod 600 /"), "{text}");
        set_mode(&authority.path("server.pem"), mode);
        assert!(Listener::bind("127.0.0.1", 0, authority.files(), LIMITS).is_err(), "nor served with");
    }
    set_mode(&user, 0o400);
    assert_eq!(Credentials::read(&user, Whose::User).unwrap().certificate.name, "anna");
}

#[test]
fn a_key_of_another_user_is_refused() {
    let authority = Authority::new();
    let user = authority.user("anna");
    if chown(&user, Some(65_534), Some(65_534)).is_err() {
        println!("skipped: only root can give files away");
        return;
    }
    let error = Credentials::read(&user, Whose::User).err().unwrap().to_string();
    assert!(error.contains("uid 65534") && error.contains("chown"), "{error}");
}

#[test]
fn missing_files_say_where_they_come_from() {
    let authority = Authority::new();
    let nowhere = authority.path("none.pem");
    let error = connect("localhost", 1, Some(&nowhere), PATIENCE).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let text = error.to_string();
    assert!(text.contains("farcall ca user NAME") && text.contains("FARCALL_CREDENTIALS"), "{text}");
    let files = ServerFiles { credentials: nowhere, ..authority.files() };
    let error = Listener::bind("127.0.0.1", 0, files, LIMITS).err().unwrap().to_string();
    assert!(error.contains("farcall ca init --server HOST"), "{error}");
    let files = ServerFiles { revocations: authority.path("none.crl"), ..authority.files() };
    let error = Listener::bind("127.0.0.1", 0, files, LIMITS).err().unwrap().to_string();
    assert!(error.contains("none.crl") && error.contains("farcall ca"), "{error}");
}

#[test]
fn damaged_files_are_refused() {
    let authority = Authority::new();
    let good = std::fs::read_to_string(authority.user("anna")).unwrap();
    let without_key = {
        let (before, rest) = good.split_once("-----BEGIN PRIVATE KEY").unwrap();
        format!("{before}{}", rest.split_once("PRIVATE KEY-----").unwrap().1)
    };
    let damaged = good.replacen("MI", "%%", 1);
    let long = "x".repeat(1 << 20);
    for (index, text) in ["", "hello", &without_key, &damaged, &good[..good.len() / 3], &long].iter().enumerate() {
        let path = authority.write("bad.pem", text, 0o600);
        let error = Credentials::read(&path, Whose::User).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::InvalidSource, "case {index}: {error}");
        assert!(error.to_string().contains("bad.pem") && error.to_string().contains("farcall ca"), "{error}");
    }
}

#[test]
fn names_can_stand_in_tables_and_file_names() {
    for good in ["anna", "a.b-c_d@site.example", "7of9"] {
        assert!(is_name(good), "{good}");
    }
    for bad in ["", "token", "inherited", "uid 0", "../x", ".x", "-x", "a/b", "a\"b", "ä", &"a".repeat(65)] {
        assert!(!is_name(bad), "{bad}");
    }
}
