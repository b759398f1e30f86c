//! Tables and principals: what each entry gives, and what it never gives.

use super::*;

#[test]
fn certificates_cannot_take_the_names_of_others() {
    for name in [
        "uid 0",
        "uid 1000",
        "uid",
        "uid1",
        "token",
        "inherited",
        "*",
        "",
        " token ",
        "server:a.example",
        "server:",
        " server:a",
    ] {
        assert_eq!(check_name(name).unwrap_err().kind(), ErrorKind::PermissionDenied, "{name}");
    }
    for name in ["server", "servers:a", "anna", "uida", "tokens", "build server 3", "uid 0x"] {
        check_name(name).unwrap();
    }
}

fn table(text: &str) -> Vec<Entry> {
    let options = farcall_kernel::Options::from_text("farcall.toml", text).unwrap();
    crate::Options::read(&options).unwrap().access
}

#[test]
fn servers_join_where_they_are_named_and_do_nothing_else() {
    let users = "{ who = [\"*\", \"anna\", \"a.example\"], call = [\"*\"], publish = true, \
                 administer = true }";
    for (entry, joins) in [
        ("{ who = [\"server:a.example\"], join = true }", true),
        ("{ who = [\"server:A.Example\"], join = true }", true),
        ("{ who = [\"server:b.example\", \"server:*\"], join = true }", true),
        ("{ who = [\"server:b.example\"], join = true }", false),
        ("{ who = [\"server:a.example.org\"], join = true }", false),
        ("{ who = [\"uid 7\"], join = true }", false),
    ] {
        let table = table(&format!("access = [{users}, {entry}]"));
        let server = of(&table, "server:a.example", false);
        assert_eq!(shown(&server), [false; 4], "{entry}");
        assert_eq!(server.join().is_ok(), joins, "{entry}");
        assert_eq!(of(&[], "server:a.example", false).by(&table), server, "after a reload");
        assert!(server.to_call().join().is_err(), "what is called has less");
        assert!(server.ask("m/add").is_err() && server.act_as_user("list").is_err());
    }
    // Nothing follows from an empty table, nor from a name that only looks like a server's.
    let server = of(&[], "server:a.example", false);
    assert_eq!(shown(&server), [false; 4]);
    assert!(server.join().is_err());
    let every = table("access = [{ who = [\"server:*\"], join = true }]");
    for user in ["anna", "a.example", "server", "uid 7", "token", "inherited", STARTED_HERE] {
        assert!(of(&every, user, false).join().is_err(), "{user}");
    }
    let address = table("access = [{ who = [\"server:fd00:0::1\"], join = true }]");
    assert!(of(&address, "server:fd00::1", false).join().is_ok());
}

#[test]
fn of_users_only_the_server_s_own_joins() {
    assert!(of(&[], "uid 1000", true).join().is_ok());
    assert!(of(&[], "anna", false).join().is_err());
    let named = |join| {
        let entry = format!("{{ who = [\"uid 1000\"], call = [\"*\"], join = {join} }}");
        table(&format!("access = [{entry}]"))
    };
    assert!(of(&named(true), "uid 1000", true).join().is_ok());
    assert!(of(&named(false), "uid 1000", true).join().is_err(), "named, so the table decides");
    assert!(of(&named(true), "uid 1000", false).join().is_err(), "of another user's server");
    assert!(of(&[], "uid 1000", true).to_call().join().is_err(), "nor what its routines start");
}

#[test]
fn a_server_hears_what_to_use_and_what_to_write() {
    let table = table("access = [{ who = [\"server:a.example\"], join = true }]");
    let may_join = of(&table, "server:a.example", false);
    let not_named = of(&table, "server:b.example", false);
    let entry = "{ who = [\"server:b.example\"], join = true }";
    for (error, words) in [
        (may_join.call("m").unwrap_err(), ["\"server:a.example\" may not call", "ca user NAME"]),
        (may_join.publish().unwrap_err(), ["may not publish", "a server's certificate"]),
        (not_named.administer().unwrap_err(), ["may not administer this server", entry]),
        (not_named.join().unwrap_err(), ["\"server:b.example\" may not join", entry]),
        (of(&[], "anna", false).join().unwrap_err(), ["only servers join", "ca server HOST"]),
    ] {
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        let text = error.to_string();
        assert!(words.iter().all(|word| text.contains(word)), "{words:?} in {text}");
    }
    let text = may_join.call("m").unwrap_err().to_string();
    assert!(!text.contains("join = true"), "it may already: {text}");
}

#[test]
fn a_table_that_mixes_users_and_servers_is_refused() {
    let read = |entry: &str| {
        let text = format!("access = [{{ {entry} }}]");
        let options = farcall_kernel::Options::from_text("farcall.toml", &text).unwrap();
        crate::Options::read(&options).unwrap_err().to_string()
    };
    for entry in [
        "who = [\"server:a\"], call = [\"m\"]",
        "who = [\"anna\", \"server:a\"], call = [\"m\"], join = true",
        "who = [\"server:a\"], publish = true, join = true",
        "who = [\"server:a\"], administer = true, join = true",
        "who = [\"server:a\"]",
    ] {
        let error = read(entry);
        assert!(error.contains("entry 1 of access names \"server:a\""), "{error}");
        assert!(error.contains("{ who = [\"server:a\"], join = true }"), "{error}");
    }
    for who in ["anna", "*", "token"] {
        let error = read(&format!("who = [\"{who}\"], join = true"));
        assert!(error.contains(&format!("gives join to \"{who}\"")), "{error}");
        assert!(error.contains("\"server:HOST\"") && error.contains("\"server:*\""), "{error}");
    }
    for who in ["server:", "server:a b", "server:*.example", "server:a/b", "server:tls://a"] {
        let error = read(&format!("who = [\"{who}\"], join = true"));
        assert!(error.contains("is not a user name"), "{error}");
    }
}

fn of(table: &[Entry], name: &str, owns_server: bool) -> Rights {
    rights(table, &Principal { name: name.into(), owns_server })
}

/// Module a, module b, publish, administer.
fn shown(rights: &Rights) -> [bool; 4] {
    [
        rights.may_call("a"),
        rights.may_call("b"),
        rights.publish().is_ok(),
        rights.administer().is_ok(),
    ]
}

#[test]
fn without_a_table_users_call_and_the_owner_does_everything() {
    assert_eq!(shown(&of(&[], "anna", false)), [true, true, false, false]);
    assert_eq!(shown(&of(&[], "uid 1000", true)), [true; 4]);
}

#[test]
fn entries_add_up_and_who_is_not_named_may_nothing() {
    let table = table(
        "access = [{ who = [\"anna\", \"bert\"], call = [\"a\"] }, { who = [\"anna\"], \
         publish = true }, { who = [\"carl\"], call = [\"*\"], administer = true }]",
    );
    assert_eq!(shown(&of(&table, "anna", false)), [true, false, true, false]);
    assert_eq!(shown(&of(&table, "bert", false)), [true, false, false, false]);
    assert_eq!(shown(&of(&table, "carl", false)), [true, true, false, true]);
    assert_eq!(shown(&of(&table, "dora", false)), [false; 4]);
    assert_eq!(shown(&of(&table, "token", true)), [true; 4], "the owner");
    // Another table, for those who are connected already.
    assert_eq!(shown(&of(&[], "anna", false).by(&table)), [true, false, true, false]);
    assert_eq!(shown(&of(&table, "dora", false).by(&[])), [true, true, false, false]);
    assert_eq!(shown(&of(&[], "uid 1000", true).by(&table)), [true; 4], "the owner stays one");
}

#[test]
fn everybody_is_everybody_with_a_certificate() {
    let table = table(
        "access = [{ who = [\"*\"], call = [\"b\"] }, { who = [\"token\"], call = [\"a\"] }]",
    );
    assert_eq!(shown(&of(&table, "anna", false)), [false, true, false, false]);
    assert_eq!(shown(&of(&table, "uid 7", true)), [true; 4]);
    assert_eq!(
        shown(&of(&table, "token", true)),
        [true, false, false, false],
        "named, so the table decides"
    );
}

#[test]
fn a_denial_names_principal_right_and_table() {
    let table = table("access = [{ who = [\"anna\"], call = [] }]");
    let anna = of(&table, "anna", false);
    let said = [
        anna.call("lapack").unwrap_err(),
        anna.publish().unwrap_err(),
        anna.administer().unwrap_err(),
    ];
    for (error, words) in said.iter().zip([
        ["\"anna\" may not call routines of module \"lapack\"", "call = [\"lapack\"] }"],
        ["\"anna\" may not publish", "publish = true }"],
        ["\"anna\" may not administer this server", "administer = true }"],
    ]) {
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        let text = error.to_string();
        assert!(
            words.iter().all(|word| text.contains(word)) && text.contains("table access"),
            "{text}"
        );
    }
}

#[test]
fn modules_that_nobody_publishes_are_named() {
    let table = table(
        "access = [{ who = [\"anna\"], call = [\"lapack\", \"*\"] }, { who = [\"bert\"], call \
            = [\"lapack\", \"epp\"] }]",
    );
    let unknown = unknown_modules(&table, |module| module == "lapack");
    assert_eq!(unknown, ["entry 2 of access names the module \"epp\""]);
}

#[test]
fn tables_that_mean_nothing_are_refused_with_their_place() {
    let read = |text: &str| {
        let options = farcall_kernel::Options::from_text("farcall.toml", text).unwrap();
        crate::Options::read(&options).unwrap_err().to_string()
    };
    let error = read("calls_max = 9\naccess = [{ who = [], call = [\"a\"] }]");
    assert!(
        error.contains("entry 1 of access names no user") && error.contains("line: 2"),
        "{error}"
    );
    for who in
        ["uid x", "uid 01", "uid", "uid 4294967296", "b ert", " anna", "an*", "inherited", "token "]
    {
        let error = read(&format!("\naccess = [{{ who = [\"anna\", \"{who}\"] }}]"));
        assert!(error.contains(&format!("\"{who}\"")) && error.contains("line: 2"), "{error}");
        assert!(
            ["\"*\"", "\"uid 1000\"", "\"token\"", "certificate"]
                .iter()
                .all(|form| error.contains(form))
        );
    }
    for call in ["", "lapack/dgesv", "la pack", "lap*"] {
        let error = read(&format!("access = [{{ who = [\"a\"], call = [\"{call}\"] }}]"));
        assert!(error.contains("not a module name") && error.contains("line: 1"), "{error}");
    }
    assert_eq!(
        table("access = [{ who = [\"anna@x.org\", \"uid 0\", \"*\", \"token\"], call = [\"*\"] }]")
            .len(),
        1
    );
    let error = read("access = [{ who = [\"a\"], cal = [\"b\"] }]");
    assert!(error.contains("cal"), "{error}");
}
