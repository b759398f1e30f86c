//! Who may do what is a table, and what was done is a log.

use std::io::Write;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use farcall_base::ErrorKind;
use farcall_client::{Argument, CallOptions, Client};
use farcall_tests::{Directory, Server, Transport, authority, battery, eventually, root};

const TABLE: &str = r#"access = [
    { who = ["anna"], call = ["battery", "ep"] },
    { who = ["bert"], call = ["ep"] },
]
"#;

/// A server over TLS with these options, and the file of its user bert beside anna's.
fn serve(directory: &Directory, options: &str) -> (Server, PathBuf) {
    let text =
        format!("[[plugin]]\nname = \"rpc-server\"\nslot = \"rpc\"\n[plugin.options]\n{options}");
    let manifest = directory.write("farcall.toml", &text);
    let files = [battery(false), root().join("routines/ep/ep.idl")];
    let server = Server::start(Transport::Tls, &files, &["--manifest", manifest.to_str().unwrap()]);
    let bert = PathBuf::from(authority(&server.authority(), &["user", "bert"]));
    (server, bert)
}

fn enter(server: &Server, file: &Path) -> Client {
    Client::connect_to(
        &server.address().parse().unwrap(),
        Some(file.into()),
        Duration::from_secs(10),
    )
    .unwrap()
}

fn double(client: &Client) -> i32 {
    let routine = client.routine("f_int").unwrap();
    let outputs = routine.call_positional(
        vec![Argument::Integer(5), Argument::Unset],
        vec![],
        &CallOptions::default(),
    );
    outputs.unwrap().scalar::<i32>("r").unwrap()
}

#[test]
fn the_table_says_who_may_call_what() {
    let directory = Directory::new();
    let (server, bert) = serve(&directory, TABLE);
    let anna = server.client();
    let bert = enter(&server, &bert);
    assert_eq!(double(&anna), 10);
    let error = bert.routine("battery/f_int").err().unwrap();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    for word in [
        "\"bert\" may not call routines of module \"battery\"",
        "table access",
        "call = [\"battery\"]",
    ] {
        assert!(error.to_string().contains(word), "{word} in {error}");
    }
    let seen: Vec<String> =
        bert.routines().unwrap().iter().map(|routine| routine.name().to_owned()).collect();
    assert!(!seen.is_empty() && seen.iter().all(|name| name.starts_with("ep/")), "{seen:?}");
    // Somebody who is in no entry, though his certificate is as good as theirs.
    let carl = PathBuf::from(authority(&server.authority(), &["user", "carl"]));
    assert!(enter(&server, &carl).routines().unwrap().is_empty());
}

#[test]
fn names_that_may_not_be_called_are_as_if_they_were_not_there() {
    let directory = Directory::new();
    let table = "access = [{ who = [\"anna\"], call = [\"battery\"] }, { who = [\"bert\"], call = \
        [\"ep\"], publish = true }]";
    let (server, bert) = serve(&directory, table);
    let bert = enter(&server, &bert);
    let time = Duration::from_secs(60);
    let found =
        |name: &str| bert.routine(name).err().map(|error| (error.kind(), error.to_string()));
    let held = |name: &str| {
        let held = bert
            .hold(name, 1, &farcall_client::HoldOptions::default())
            .and_then(|hold| hold.ready(Some(time)));
        held.err().map(|error| (error.kind(), error.to_string()))
    };
    // What is there; what is not, in that module and in none; what is nearly there. The same words,
    // but for the name.
    let alike =
        [["f_int", "f_nothing", "f_imt"], ["battery/f_int", "battery/f_nothing", "battery/f_imt"]];
    for names in alike {
        for ask in [&found as &dyn Fn(&str) -> _, &held] {
            let answers = names.map(|name| {
                let (kind, text): (ErrorKind, String) = ask(name).unwrap();
                (kind, text.replace(name, "NAME"))
            });
            assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
            assert!(
                !answers[0].1.contains("f_int") && !answers[0].1.contains("did you mean"),
                "{answers:?}"
            );
        }
    }
    let modules = ["battery/f_int", "nowhere/f_int"].map(|name| {
        let (kind, text) = found(name).unwrap();
        (kind, text.replace(name.split_once('/').unwrap().0, "MODULE"))
    });
    assert_eq!(modules[0], modules[1]);
    // A module's own name, a near one, and a class's lead nowhere either; what may be called is
    // still suggested.
    let answers =
        ["battery", "batter", "nowhere"].map(|name| found(name).unwrap().1.replace(name, "NAME"));
    assert!(
        answers.iter().all(|answer| *answer == answers[0] && !answer.contains("module battery")),
        "{answers:?}"
    );
    let own = bert.routines().unwrap()[0].name().to_owned();
    let (_, text) = found(&format!("{own}x")).unwrap();
    assert!(text.contains(&format!("did you mean {own}")), "{text}");
    // Who may publish is told of no other module's name by what an order suggests.
    let error =
        bert.administer(farcall_client::Order::Withdraw("batter".to_owned()), time).err().unwrap();
    assert!(
        error.kind() == ErrorKind::NotFound && !error.to_string().contains("battery"),
        "{error}"
    );
    let error =
        bert.administer(farcall_client::Order::Withdraw("epp".to_owned()), time).err().unwrap();
    assert!(error.to_string().contains("did you mean ep?"), "{error}");
}

fn table(calls: &str) -> String {
    format!(
        "access = [{{ who = [\"anna\"], administer = true }}, {{ who = [\"bert\"], call = \
            [{calls}] }}]"
    )
}

/// Writes a manifest with these options of the server, and reloads it.
fn reload(directory: &Directory, server: &Server, options: &str) -> std::process::Output {
    let plugin = "[[plugin]]\nname = \"rpc-server\"\nslot = \"rpc\"\n[plugin.options]\n";
    directory.write("farcall.toml", &format!("{plugin}{options}"));
    server.run(&["reload"])
}

/// Mistakes in the table, in another one, or of another plugin.
fn mistakes_change_nothing(known: &Client, write: impl Fn(&str) -> std::process::Output) {
    let of_spawner = |options: &str| {
        format!(
            "{}\n[[plugin]]\nname = \"spawner-local\"\nslot = \
                \"spawner\"\n[plugin.options]\n{options}",
            table("")
        )
    };
    let wrong = [
        (
            "access = [{ who = [\"uid x\"], call = [\"*\"] }]".to_owned(),
            ["\"uid x\"", "\"uid 1000\"", "line: 5"],
        ),
        (
            "access = [{ who = [\"b ert\"], call = [\"*\"] }]".to_owned(),
            ["\"b ert\"", "without blanks", "line: 5"],
        ),
        (of_spawner("limits.bogus = 1"), ["bogus", "unknown", "line: 10"]),
        (
            of_spawner("limits.memory_bytes_max = 1"),
            ["memory_bytes_max is 1", "at least 16777216", "line: 10"],
        ),
    ];
    for (options, words) in wrong {
        let output = write(&options);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && words.iter().all(|word| said.contains(word)),
            "{options}: {said}"
        );
        assert_eq!(double(known), 10);
    }
}

#[test]
fn a_table_that_changes_holds_from_the_next_reload_on() {
    let directory = Directory::new();
    let (server, bert) = serve(&directory, &table("\"battery\", \"later\""));
    // Whoever starts the server hears of what may be a mistake.
    let warning = "entry 2 of access names the module \"later\", which is not published";
    assert!(eventually(|| server.log().contains(warning)), "{}", server.log());
    let known = enter(&server, &bert);
    let routine = known.routine("battery/f_int").unwrap();
    assert_eq!(double(&known), 10);
    let write = |options: &str| reload(&directory, &server, options);
    // With a mistake it changes nothing, and says so.
    let output = write("access = [{ who = [], call = [\"*\"] }]");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("names no user in who"), "{said}");
    assert_eq!(double(&known), 10);
    mistakes_change_nothing(&known, write);
    // A manifest without any table, as one that was cut off while it was written, would let
    // everybody do everything.
    for options in ["", "access = []"] {
        let output = write(options);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && said.contains("the table access is missing"),
            "{options}: {said}"
        );
        let error = enter(&server, &bert).routine("ep/ep").err().unwrap();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    }
    // A module may be published later, so it is no mistake; whoever reloads and whoever runs the
    // server hear of it.
    let output = write(&table("\"ep\", \"epp\""));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let warning = "entry 2 of access names the module \"epp\", which is not published";
    assert!(output.status.success() && said.contains(warning), "{said}");
    assert!(eventually(|| server.log().contains(warning)) && !said.contains("\"ep\""), "{said}");
    // On the connection that is open, with an interface that is known, and on others.
    let arguments = vec![Argument::Integer(5), Argument::Unset];
    let error = routine.call_positional(arguments, vec![], &CallOptions::default()).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    assert!(
        enter(&server, &bert).routine("battery/f_int").is_err() && known.routine("ep/ep").is_ok()
    );
    assert!(write(&table("\"*\"")).status.success());
    assert_eq!(double(&known), 10);
}

#[test]
fn without_a_table_every_certificate_may_call() {
    let directory = Directory::new();
    let (server, bert) = serve(&directory, "");
    assert_eq!((double(&server.client()), double(&enter(&server, &bert))), (10, 10));
}

#[test]
fn the_log_says_who_did_what() {
    let directory = Directory::new();
    let file = directory.0.join("audit.log");
    let (server, bert) =
        serve(&directory, &format!("{TABLE}audit_file = \"{}\"\n", file.display()));
    double(&server.client());
    let bert_client = enter(&server, &bert);
    assert!(bert_client.routine("battery/f_int").is_err());
    authority(&server.authority(), &["revoke", "bert"]);
    let again =
        Client::connect_to(&server.address().parse().unwrap(), Some(bert), Duration::from_secs(10));
    assert!(again.is_err());
    let port: u16 = server.address().rsplit_once(':').unwrap().1.parse().unwrap();
    TcpStream::connect(("127.0.0.1", port)).unwrap().write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let lines = || std::fs::read_to_string(&file).unwrap_or_default();
    let expected: [&[&str]; 4] = [
        &[
            "\"event\":\"call\"",
            "\"principal\":\"anna\"",
            "\"routine\":\"battery/f_int\"",
            "\"outcome\":\"done\"",
            "\"bytes_in\":4,\"bytes_out\":4",
            "\"peer\":\"127.0.0.1:",
            "\"call\":\"",
            "\"finished_us\":",
        ],
        &[
            "\"event\":\"call\"",
            "\"principal\":\"bert\"",
            "\"routine\":\"battery/f_int\"",
            "\"outcome\":\"permission-denied\"",
        ],
        &[
            "\"event\":\"connection\"",
            "the certificate of \\\"bert\\\" is revoked",
            "\"peer\":\"127.0.0.1:",
        ],
        &["\"event\":\"connection\"", "does not speak TLS", "\"outcome\":\"protocol\""],
    ];
    for words in expected {
        let found = || lines().lines().any(|line| words.iter().all(|word| line.contains(word)));
        assert!(eventually(found), "{words:?} in\n{}", lines());
    }
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o7777, 0o600);
}

#[test]
fn a_full_disk_is_reported_and_stops_no_call() {
    let directory = Directory::new();
    let (server, _) = serve(&directory, "audit_file = \"/dev/full\"\n");
    let client = server.client();
    assert!((0..20).all(|_| double(&client) == 10));
    assert!(
        eventually(|| server.log().contains("write the audit log: lines are lost")),
        "{}",
        server.log()
    );
    assert_eq!(double(&client), 10);
}

#[test]
fn a_log_that_cannot_be_written_is_said_before_anybody_is_served() {
    let directory = Directory::new();
    let manifest = directory.write(
        "farcall.toml",
        "[[plugin]]\nname = \"rpc-server\"\nslot = \"rpc\"\n[plugin.options]\naudit_file = \
            \"/nowhere/audit.log\"\n",
    );
    let output = Server::refused(&[
        "--manifest",
        manifest.to_str().unwrap(),
        battery(false).to_str().unwrap(),
    ]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success()
            && said.contains("/nowhere/audit.log")
            && said.contains("audit_file"),
        "{said}"
    );
}
