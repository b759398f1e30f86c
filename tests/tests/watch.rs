//! What whoever runs a server sees of it: `farcall top` and the metrics.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Output;
use std::time::Duration;

use farcall_client::CallOptions;
use farcall_tests::{
    Directory, Server, Transport, battery, eventually, trouble, until_begun, watched,
};
use serde_json::Value;

fn good(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn top(server: &Server) -> Value {
    serde_json::from_str(&good(&server.run(&["top", "--once", "--json", "--interval", "0.1"])))
        .unwrap()
}

fn metrics(server: &Server) -> String {
    let log = server.log();
    let address =
        log.split_once("metrics are at http://").unwrap().1.split_once('/').unwrap().0.to_owned();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: server\r\n\r\n").unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
    page
}

/// Calls that returned, failed and run are in both, with who called them.
#[test]
fn calls_are_counted_and_shown() {
    let server = Server::start(
        Transport::Unix,
        &[battery(false), trouble(false)],
        &["--metrics", "127.0.0.1:0"],
    );
    let client = server.client();
    let good_one = client.routine("battery/snooze").unwrap();
    let crash = client.routine("trouble/crash").unwrap();
    for _ in 0..3 {
        good_one.call([("milliseconds", 0.into())]).unwrap();
    }
    assert!(crash.call([("n", 1.into())]).is_err());
    let running =
        good_one.start([("milliseconds", 600_000.into())], &CallOptions::default()).unwrap();
    assert!(eventually(|| top(&server)["calls"][0]["stage"] == "running"));
    let seen = top(&server);
    let me = seen["calls"][0]["principal"].as_str().unwrap().to_owned();
    assert!(
        me.starts_with("uid ") && seen["calls"][0]["call"].as_str().unwrap().len() == 32,
        "{seen}"
    );
    let of = |routine: &str| {
        seen["uses"].as_array().unwrap().iter().find(|one| one["routine"] == routine).unwrap()
    };
    assert_eq!(
        (&of("battery/snooze")["begun"], &of("battery/snooze")["returned"]),
        (&4.into(), &3.into()),
        "{seen}"
    );
    assert_eq!(of("trouble/crash")["failed"]["routine-crashed"], 1, "{seen}");
    assert_eq!(
        (&seen["totals"]["executables_crashed"], &seen["calls_open"]),
        (&1.into(), &1.into()),
        "{seen}"
    );
    let page = metrics(&server);
    for line in [
        format!("farcall_calls_begun_total{{principal=\"{me}\",routine=\"battery/snooze\"}} 4\n"),
        format!(
            "farcall_calls_failed_total{{principal=\"{me}\",routine=\"trouble/crash\",error=\"routine-crashed\"}} 1\n"
        ),
        "farcall_calls_open 1\n".to_owned(),
        "farcall_call_duration_seconds_count{routine=\"battery/snooze\"} 3\n".to_owned(),
        "farcall_executables{module=\"battery\",state=\"busy\"} 1\n".to_owned(),
    ] {
        assert!(page.contains(&line), "{line} is not in\n{page}");
    }
    let shown = good(&server.run(&["top", "--once", "--interval", "0.1"]));
    assert!(
        shown.contains("battery/snooze") && shown.contains("running") && !shown.contains('\x1b'),
        "{shown}"
    );
    drop(running);
}

/// Over TLS the client is anna, who may not administer.
#[test]
fn a_user_sees_no_more_than_her_own_calls() {
    let folder = Directory::new();
    let text = "[[plugin]]\nname = \"rpc-server\"\nslot = \"rpc\"\n[plugin.options]\n\
                access = [{ who = [\"anna\"], call = [\"battery\"] }]";
    let options = folder.write("farcall.toml", text);
    let server = Server::start(
        Transport::Tls,
        &[battery(false)],
        &["--manifest", options.to_str().unwrap()],
    );
    server.client().routine("battery/snooze").unwrap().call([("milliseconds", 0.into())]).unwrap();
    let status = server.client().status(Duration::from_secs(10)).unwrap();
    assert!(
        status.totals.is_none() && status.uses.iter().all(|one| one.principal == "anna"),
        "{status:?}"
    );
    assert_eq!(status.uses.iter().map(|one| one.returned).sum::<u64>(), 1);
}

/// What a user reports is found in both logs by the call's id; so is who gave an order. Arguments
/// are in neither.
#[test]
fn a_call_that_failed_is_found_by_its_id_and_orders_by_who_gave_them() {
    let folder = Directory::new();
    let audit = folder.0.join("audit.log");
    let text = format!(
        "[[plugin]]\nname = \"rpc-server\"\nslot = \"rpc\"\n[plugin.options]\naudit_file = \
            {audit:?}"
    );
    let options = folder.write("farcall.toml", &text);
    let words =
        ["--manifest", options.to_str().unwrap(), "--log-level", "info", "--log-format", "json"];
    let server = Server::start(Transport::Unix, &[trouble(false)], &words);
    let error =
        server.client().routine("crash").unwrap().call([("n", 7654321.into())]).err().unwrap();
    let id = error.context().iter().find(|(key, _)| key == "call").unwrap().1.clone();
    good(&server.run(&["withdraw", "trouble"]));
    let found = |text: &str, key: &str, value: &str| {
        let lines = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap_or_else(|_| panic!("{line}")));
        lines.into_iter().any(|line| {
            line[key] == value
                && line["principal"].as_str().is_some_and(|who| who.starts_with("uid "))
        })
    };
    let logs: [&dyn Fn() -> String; 2] =
        [&|| server.log(), &|| std::fs::read_to_string(&audit).unwrap()];
    for read in logs {
        assert!(eventually(|| found(&read(), "order", "withdraw trouble")), "{}", server.log());
        let text = read();
        assert!(found(&text, "call", &id) && !text.contains("7654321"), "{text}");
    }
}

/// Executables and connections have numbers, by which their begins and ends are found.
#[test]
fn the_log_tells_of_executables_and_connections() {
    let server = Server::start(
        Transport::Tcp,
        &[trouble(false)],
        &["--log-level", "debug", "--log-format", "json"],
    );
    let client = server.client();
    client.routine("fine").unwrap().call([("n", 3.into())]).unwrap();
    client.routine("crash").unwrap().call([("n", 3.into())]).err().unwrap();
    drop(client);
    let lines = || -> Vec<Value> {
        server.log().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let find = |event: &str, outcome: &str| {
        assert!(
            eventually(|| lines()
                .iter()
                .any(|line| line["event"] == event && line["outcome"] == outcome)),
            "{event} {outcome}: {}",
            server.log()
        );
        lines()
            .into_iter()
            .find(|line| line["event"] == event && line["outcome"] == outcome)
            .unwrap()
    };
    let started = find("executable", "started");
    let ended = find("executable", "ended");
    assert_eq!((&started["module"], &ended["module"]), (&"trouble".into(), &"trouble".into()));
    assert!(started["executable"].is_u64() && started["pid"].as_u64() > Some(1), "{started}");
    assert_eq!((&ended["executable"], &ended["level"]), (&started["executable"], &"info".into()));
    assert!(ended["message"].as_str().unwrap().contains("signal"), "{ended}");
    let opened = find("connection", "opened");
    let closed = find("connection", "closed");
    assert_eq!(
        (&opened["connection"], &opened["principal"]),
        (&closed["connection"], &"token".into())
    );
    assert!(opened["peer"].as_str().unwrap().starts_with("127.0.0.1:"), "{opened}");
    // One that is ended by the server.
    let mut forever = server
        .client()
        .routine("forever")
        .unwrap()
        .start([("deaf", 0.into())], &watched())
        .unwrap();
    until_begun(&mut forever);
    forever.cancel().unwrap();
    forever.wait().err().unwrap();
    assert!(find("executable", "stopped")["executable"].as_u64() > started["executable"].as_u64());
}

#[test]
fn metrics_beyond_loopback_must_be_meant() {
    let mut command = Server::command();
    let output = command.args(["--metrics", "0.0.0.0:0"]).arg(battery(false)).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("beyond_loopback = true"), "{said}");
}

fn doctor(
    change: impl FnOnce(&mut std::process::Command),
    words: &[&str],
) -> (Option<i32>, Vec<Value>) {
    let mut command = std::process::Command::new(farcall_tests::program());
    command.args(["doctor", "--json"]).args(words).env_remove("FARCALL_SERVER");
    change(&mut command);
    let output = command.output().unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    (output.status.code(), found.as_array().unwrap().clone())
}

fn state(found: &[Value], name: &str) -> String {
    let one =
        found.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("{name}: {found:?}"));
    assert!(one["state"] == "good" || one["fix"].is_string(), "{one}");
    one["state"].as_str().unwrap().to_owned()
}

/// Wrong states are provoked, named, and fail the command.
#[test]
fn the_doctor_finds_what_is_wrong() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Directory::new();
    let at_home = |command: &mut std::process::Command| {
        command.env("XDG_RUNTIME_DIR", &folder.0).env("XDG_CONFIG_HOME", &folder.0);
    };
    let (status, found) = doctor(at_home, &[]);
    assert_eq!(
        (status, state(&found, "server"), state(&found, "shared memory")),
        (Some(0), "good".into(), "good".into())
    );
    let (status, found) = doctor(at_home, &["--server", "unix:/nowhere/server.sock"]);
    assert_eq!((status, state(&found, "server")), (Some(1), "wrong".into()));
    // Others could put a socket of theirs there.
    std::fs::create_dir(folder.0.join("farcall")).unwrap();
    let open = |mode| {
        std::fs::set_permissions(folder.0.join("farcall"), std::fs::Permissions::from_mode(mode))
            .unwrap()
    };
    open(0o777);
    let (status, found) = doctor(at_home, &[]);
    assert_eq!((status, state(&found, "socket folder")), (Some(1), "wrong".into()));
    open(0o700);
    let broken = folder.0.join("farcall/credentials.pem");
    std::fs::write(&broken, "no certificate").unwrap();
    let (status, found) = doctor(at_home, &[]);
    assert_eq!((status, state(&found, "certificate of the user")), (Some(1), "wrong".into()));
    std::fs::remove_file(&broken).unwrap();
    let (status, found) = doctor(
        |command| {
            at_home(command);
            command.env("PATH", "/nowhere").env("FARCALL_ROUTINES", "/nowhere");
        },
        &[],
    );
    let states = [state(&found, "compilers"), state(&found, "libraries")];
    assert_eq!((status, states), (Some(0), ["warning".into(), "warning".into()]));
}

#[test]
fn the_doctor_looks_at_the_servers_clock() {
    let server = Server::start(Transport::Unix, &[battery(false)], &[]);
    let (status, found) = doctor(|_| {}, &["--server", server.address()]);
    assert_eq!((status, state(&found, "clocks")), (Some(0), "good".into()));
}

/// The service manager hears when clients can come, and when the end begins.
#[test]
fn a_service_manager_is_told() {
    let folder = Directory::new();
    let path = folder.0.join("notify");
    let socket = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut command = Server::command();
    command.env("NOTIFY_SOCKET", &path).env("XDG_RUNTIME_DIR", &folder.0).arg(battery(false));
    let mut child = command
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let heard = || {
        let mut bytes = [0; 200];
        let count = socket.recv(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes[..count]).into_owned()
    };
    assert!(heard().starts_with("READY=1\n"));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(heard().starts_with("STOPPING=1\n"));
    assert!(child.wait().unwrap().success());
}

#[test]
fn the_unit_names_this_program_and_is_one() {
    let output =
        std::process::Command::new(farcall_tests::program()).arg("service").output().unwrap();
    let unit = good(&output);
    assert!(unit.contains("[Service]\nType=notify\n") && !unit.contains("@PROGRAM@"), "{unit}");
    let folder = Directory::new();
    let file = folder.write("farcall-checked.service", &unit.replace("User=farcall", "User=root"));
    // Only where systemd is.
    if let Ok(verified) =
        std::process::Command::new("systemd-analyze").arg("verify").arg(&file).output()
    {
        assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
    }
}

#[test]
fn a_unit_names_what_is_there() {
    let service = |what: &str| {
        let mut command = std::process::Command::new(farcall_tests::program());
        command
            .env("FARCALL_ROUTINES", farcall_tests::root().join("routines"))
            .args(["service", what]);
        command.output().unwrap()
    };
    assert!(good(&service("lapack")).contains(" serve --manifest /etc/farcall/farcall.toml"));
    for what in ["lapak", "nowhere/lapack.idl"] {
        let output = service(what);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && output.stdout.is_empty(), "{what}: {said}");
        assert!(
            said.contains(&format!("{what});")) && said.contains("lapack, umfpack"),
            "{what}: {said}"
        );
    }
}
