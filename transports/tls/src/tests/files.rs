//! Files with keys: private, whole, or refused with the command that mends them.

use std::os::unix::fs::chown;

use farcall_base::{ErrorKind, Random, SeededRandom};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer};

use super::authority::{Authority, set_mode};
use super::*;
use crate::certificate::Certificate;
use crate::revocation::serials;

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
        assert!(
            Listener::bind("127.0.0.1", 0, authority.files(), LIMITS).is_err(),
            "nor served with"
        );
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
    assert!(
        text.contains("farcall ca user NAME") && text.contains("FARCALL_CREDENTIALS"),
        "{text}"
    );
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
    for (index, text) in
        ["", "hello", &without_key, &damaged, &good[..good.len() / 3], &long].iter().enumerate()
    {
        let path = authority.write("bad.pem", text, 0o600);
        let error = Credentials::read(&path, Whose::User).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::InvalidSource, "case {index}: {error}");
        assert!(
            error.to_string().contains("bad.pem") && error.to_string().contains("farcall ca"),
            "{error}"
        );
    }
}

#[test]
fn names_can_stand_in_tables_and_file_names() {
    for good in ["anna", "a.b-c_d@site.example", "7of9"] {
        assert!(is_name(good), "{good}");
    }
    for bad in
        ["", "token", "inherited", "uid 0", "../x", ".x", "-x", "a/b", "a\"b", "ä", &"a".repeat(65)]
    {
        assert!(!is_name(bad), "{bad}");
    }
}

/// What a damaged certificate or list says of itself is read or refused: its lengths and dates are
/// a stranger's word.
#[test]
fn fuzz_of_certificates_and_lists_never_panics() {
    let authority = Authority::new();
    authority.revoke(&[3, 500, 70_000]);
    let certificate = CertificateDer::from_pem_file(authority.user("anna")).unwrap();
    let list = CertificateRevocationListDer::from_pem_file(authority.path("revoked.crl")).unwrap();
    assert!(Certificate::parse(&certificate).is_ok() && serials(&list).unwrap().len() == 3);
    let mut random = SeededRandom::new(11);
    let mut read = 0;
    let mut refused = 0;
    for _ in 0..farcall_golden::fuzz_rounds(10_000) {
        let outcomes = [
            Certificate::parse(&damaged(&mut random, &certificate)).map(drop),
            serials(&damaged(&mut random, &list).into()).map(drop),
        ];
        for outcome in outcomes {
            match outcome {
                Ok(()) => read += 1,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::InvalidSource, "{error}");
                    refused += 1;
                }
            }
        }
    }
    assert!(read > 1000 && refused > 1000, "{read} read, {refused} refused");
}

/// A few changes: a byte, a length that is too great, a piece lost or twice, or an end too early.
fn damaged(random: &mut SeededRandom, bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..1 + random.next() % 3 {
        let place = (random.next() % bytes.len().max(1) as u64) as usize;
        let piece = place..bytes.len().min(place + 1 + (random.next() % 12) as usize);
        match random.next() % 16 {
            0 => bytes.truncate(place),
            1 => drop(bytes.drain(piece)),
            2 => bytes.extend_from_within(piece),
            3 => bytes[piece].fill(0xff),
            _ => bytes[piece].iter_mut().take(1).for_each(|byte| *byte ^= 1 << (random.next() % 8)),
        }
    }
    bytes
}
