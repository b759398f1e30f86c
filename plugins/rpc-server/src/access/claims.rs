//! Users that another server names: it speaks for them, and this server judges their rights.

use farcall_base::{Error, ErrorKind, Result};

use super::{ALL, Entry, Principal, Rights, STARTED_HERE, can_be_principal, host_of, rights};

const OPERATION: &str = "speak for a user";

/// Names of users who own a server, and of nobody else: what the same user's servers say to one
/// another over Unix sockets.
const OWNERS: [&str; 3] = ["token", "inherited", "uid 0"];

/// The rights of a user that a connection speaks for, which proved to be somebody else, and may
/// speak for users: to call what the user may call, and nothing beyond.
///
/// # Errors
/// `PermissionDenied` for a name that no certificate of a user has. The server's own user may also
/// name others who own it.
pub fn claimed(table: &[Entry], proven: &Rights, name: &str) -> Result<Rights> {
    let is_owners = OWNERS.contains(&name) && proven.owns_server();
    let is_certified = name != ALL && can_be_principal(name) && super::check_name(name).is_ok();
    // What a routine has started may as much as any user without an entry.
    let is_started = name == STARTED_HERE && proven.owns_server();
    if is_owners || is_started || (is_certified && host_of(name).is_none()) {
        let claimed = Principal { name: name.to_owned(), owns_server: is_owners };
        return Ok(rights(table, &claimed).to_call());
    }
    let message = format!(
        "\"{}\" may not speak for \"{}\": only names in users' certificates are believed",
        proven.principal(),
        name.chars().take(super::NAME_SHOWN_MAX).flat_map(char::escape_debug).collect::<String>()
    );
    Err(Error::new(ErrorKind::PermissionDenied, OPERATION, message)
        .fix("begin the transaction as a user who shows a certificate"))
}

/// The refusal of a claim that is not believed, whatever the name.
pub fn disbelieved(proven: &Rights, name: &str) -> Error {
    let message = format!(
        "\"{}\" may not speak for \"{}\": a server believes this only of the metaserver that it has \
            joined, on a connection that it dialled itself",
        proven.principal(),
        name.chars().take(super::NAME_SHOWN_MAX).flat_map(char::escape_debug).collect::<String>()
    );
    Error::new(ErrorKind::PermissionDenied, OPERATION, message)
        .fix("have the server join the metaserver: farcall serve --join tls://HOST:PORT")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn table() -> Vec<Entry> {
        let entry = |who: &str, call: &str| Entry {
            who: vec![who.to_owned()],
            call: vec![call.to_owned()],
            ..Entry::default()
        };
        let alice = Entry { publish: true, administer: true, ..entry("alice", "lapack") };
        vec![alice, entry("bob", "blas")]
    }

    fn server() -> Rights {
        rights(&table(), &Principal { name: "server:meta.example".into(), owns_server: false })
    }

    #[test]
    fn a_claimed_user_may_call_what_he_may_call_himself() {
        let alice = claimed(&table(), &server(), "alice").unwrap();
        assert!(alice.may_call("lapack") && !alice.may_call("blas"));
        assert_eq!(alice.principal(), "alice");
        // An administrator's name gives orders only from the administrator's own connection.
        assert!(alice.publish().is_err() && alice.administer().is_err());
        let nobody = claimed(&table(), &server(), "carol").unwrap();
        assert!(!nobody.may_call("lapack") && !nobody.owns_server());
    }

    #[test]
    fn names_of_no_certificate_are_not_believed() {
        for name in
            ["uid 1000", "uid 0", "token", "inherited", "routine", "*", "", " ", "server:b", "a b"]
        {
            let error = claimed(&table(), &server(), name).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{name}");
            assert!(error.to_string().contains("server:meta.example"), "{error}");
        }
    }

    #[test]
    fn the_own_user_names_other_owners() {
        let own = Rights::all("uid 1000");
        assert!(claimed(&[], &own, "token").unwrap().owns_server());
        assert!(!claimed(&table(), &own, "alice").unwrap().owns_server());
        assert!(!claimed(&table(), &own, "routine").unwrap().may_call("lapack"));
        assert!(claimed(&[], &own, "uid 1001").is_err());
    }
}
