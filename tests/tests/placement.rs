//! Servers that know one another: what a metaserver lists, explains and grants, over Unix sockets.

use std::path::PathBuf;
use std::process::Output;
use std::time::Duration;

use farcall_base::ErrorKind;
use farcall_client::{ServerPresence, ServerState};
use farcall_tests::{Directory, Server, Transport, battery, eventually, root};

const ANSWER_MAX: Duration = Duration::from_secs(20);

fn ep() -> PathBuf {
    root().join("routines/ep/ep.idl")
}

/// A server that joins these.
fn joined(files: &[PathBuf], metaservers: &[&Server]) -> Server {
    let mut command = Server::command();
    for metaserver in metaservers {
        command.args(["--join", metaserver.address()]);
    }
    Server::start_as(command, files)
}

fn text(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn servers(metaserver: &Server) -> Vec<ServerState> {
    metaserver.client().servers(ANSWER_MAX).unwrap()
}

fn is(metaserver: &Server, server: &str, presence: ServerPresence) -> bool {
    let known = servers(metaserver);
    known.iter().any(|one| one.name == server && one.presence == presence && one.routines > 0)
}

#[test]
fn a_metaserver_lists_explains_and_forgets_servers_that_join() {
    let meta = Server::start(Transport::Unix, &[ep()], &[]);
    let a = joined(&[ep(), battery(false)], &[&meta]);
    let b = joined(&[ep()], &[&meta]);
    let c = joined(&[ep()], &[&meta]);
    for server in [&a, &b, &c] {
        eventually(|| is(&meta, server.address(), ServerPresence::Up));
    }
    let known = servers(&meta);
    assert_eq!(known.len(), 4, "{known:?}");
    assert!(known[0].is_self && known[0].name == meta.address());

    // The catalogue is that of all.
    eventually(|| text(&meta.run(&["ls"])).contains("battery/f_int"));
    assert!(text(&meta.run(&["show", "battery/f_int"])).contains("f_int"));
    let listed = text(&meta.run(&["servers"]));
    for server in [&meta, &a, &b, &c] {
        assert!(listed.contains(server.address()), "{listed}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&text(&meta.run(&["servers", "--json"]))).unwrap();
    assert_eq!(json.as_array().unwrap().len(), 4, "{json}");

    let explained = text(&meta.run(&["explain", "ep"]));
    assert_eq!(explained.lines().count(), 5, "{explained}");
    assert_eq!(explained.matches("chosen").count(), 1, "{explained}");
    let explained = text(&meta.run(&["explain", "battery/f_int", "x=3", "--json"]));
    let json: serde_json::Value = serde_json::from_str(&explained).unwrap();
    let all = json["servers"].as_array().unwrap();
    assert_eq!(all[0]["name"], a.address(), "{json}");
    assert_eq!(all.iter().filter(|one| one["excluded"] == true).count(), 3, "{json}");

    // One that ends is gone at once.
    let gone = a.address().to_owned();
    a.kill();
    eventually(|| !is(&meta, &gone, ServerPresence::Up));
    eventually(|| !text(&meta.run(&["ls"])).contains("battery/f_int"));
    let explained = text(&meta.run(&["explain", "ep"]));
    assert!(explained.contains("its connection was lost"), "{explained}");
}

#[test]
fn members_of_the_configuration_file_are_asked() {
    let member = Server::start(Transport::Unix, &[ep()], &[]);
    let directory = Directory::new();
    let text = format!(
        "[[plugin]]\nname = \"metaserver\"\nslot = \"metaserver\"\n[plugin.options]\n\
         members = [\"{}\", \"unix:/nobody/listens\"]\n",
        member.address()
    );
    let manifest = directory.write("farcall.toml", &text);
    let options = ["--manifest", manifest.to_str().unwrap()];
    let meta = Server::start(Transport::Unix, &[battery(false)], &options);
    eventually(|| is(&meta, member.address(), ServerPresence::Up));
    let known = servers(&meta);
    let away = known.iter().find(|one| one.name == "unix:/nobody/listens").unwrap();
    assert_eq!(away.presence, ServerPresence::Unreachable);
    assert!(away.note.starts_with("could not be reached"), "{away:?}");
}

#[test]
fn reports_need_the_right_to_join() {
    let meta = Server::start(Transport::Tls, &[ep()], &[]);
    let user = meta.client();
    let report = farcall_wire::ServerReport {
        name: "tls://127.0.0.1:1".to_owned(),
        ..farcall_wire::ServerReport::default()
    };
    let error = user.report(report, ANSWER_MAX).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    assert!(error.to_string().contains("\"anna\" may not join"), "{error}");
    let known = user.servers(ANSWER_MAX).unwrap();
    assert_eq!(known.len(), 1, "{known:?}");
}
