//! Servers that no client can reach: a metaserver leads clients there, and TLS runs inside from end
//! to end.

use std::path::PathBuf;
use std::time::Duration;

use farcall_base::{CallId, ErrorKind};
use farcall_client::{
    Array, CallOptions, Client, Keep, KeptCall, Order, ServerPresence, ServerState,
};
use farcall_tests::{Directory, Server, Transport, authority, battery, eventually};

const PATIENCE: Duration = Duration::from_secs(20);

/// A metaserver over TLS, whose authority gives certificates to servers that join.
pub(crate) struct Meta {
    pub(crate) server: Server,
    pub(crate) folder: Directory,
}

impl Meta {
    pub(crate) fn new(access: &str, options: &str) -> Meta {
        let folder = Directory::new();
        let nothing = folder
            .write("nothing.idl", "Module nothing;\nDefine nothing(OUT int one) { *one = 1; }\n");
        let text = format!(
            "[[plugin]]\nname = \"rpc-server\"\nslot = \"rpc\"\n[plugin.options]\naccess = [\n{access}\n    \
             {{ who = [\"server:*\"], join = true }},\n]\n[[plugin]]\nname = \"metaserver\"\n\
             slot = \"metaserver\"\n[plugin.options]\n{options}\n"
        );
        let manifest = folder.write("farcall.toml", &text);
        let options = ["--manifest", manifest.to_str().unwrap()];
        let server = Server::start(Transport::Tls, &[nothing], &options);
        Meta { server, folder }
    }

    /// One that lets everybody call everything.
    pub(crate) fn open() -> Meta {
        Meta::new("    { who = [\"*\"], call = [\"*\"] },", "")
    }

    /// The certificate of a server on this host.
    pub(crate) fn certificate(&self, host: &str) -> PathBuf {
        let own = self.folder.0.join(host);
        std::fs::create_dir_all(&own).unwrap();
        let file = own.join("server.pem");
        authority(&self.server.authority(), &["server", host, "--out", file.to_str().unwrap()]);
        let revoked = self.server.authority().join("revoked.crl");
        std::fs::copy(revoked, own.join("revoked.crl")).unwrap();
        file
    }

    /// A server that listens at no port, and joins.
    fn joined(&self, host: &str, files: &[PathBuf]) -> Server {
        self.joined_with(host, files, &[])
    }

    /// The same with more arguments of `farcall serve`.
    pub(crate) fn joined_with(&self, host: &str, files: &[PathBuf], options: &[&str]) -> Server {
        let mut command = Server::command();
        command.args(options);
        command.args(["--join", self.server.address(), "--credentials"]);
        command.arg(self.certificate(host));
        Server::start_as(command, files)
    }

    /// A client that does not return before these servers are known, with all that they publish.
    fn client(&self, names: &[&str]) -> Client {
        let client = self.server.client();
        for name in names {
            let is_it = |one: &ServerState| one.name == *name && one.presence == ServerPresence::Up;
            let known = || client.servers(PATIENCE).unwrap();
            assert!(eventually(|| known().iter().any(is_it)), "{name}: {:?}", known());
        }
        assert!(eventually(|| client.routine("battery/f_int").is_ok()), "{}", self.server.log());
        // The interfaces of a server that has joined come one report after the other.
        let routine = client.routine("battery/f_int").unwrap();
        for name in names {
            let options = CallOptions { at: Some((*name).into()), ..CallOptions::default() };
            let publishes = || routine.call_with([("x", 0.into())], &options).is_ok();
            assert!(eventually(publishes), "{name}: {}", self.server.log());
        }
        client
    }
}

/// A call that the server keeps.
fn submit(client: &Client) -> CallId {
    let keep = Keep { after_end: Duration::from_secs(60), durable: false };
    client.routine("battery/f_int").unwrap().submit([("x", 4.into())], keep).unwrap()
}

fn double(client: &Client, x: i64) -> (i32, String) {
    let routine = client.routine("battery/f_int").unwrap();
    let outputs = routine.call([("x", x.into())]).unwrap_or_else(|error| panic!("{error}"));
    (outputs.scalar::<i32>("r").unwrap(), outputs.server().to_owned())
}

#[test]
fn calls_reach_a_server_that_listens_nowhere() {
    let meta = Meta::open();
    let node = meta.joined("node.example", &[battery(false)]);
    let client = meta.client(&["tls://node.example"]);
    let own = double(&node.client(), 3).0;
    assert_eq!(double(&client, 3), (own, "tls://node.example".to_owned()));
    let x: Vec<f64> = (0..1_000_000).map(f64::from).collect();
    let touch = client.routine("battery/touch").unwrap();
    let outputs = touch.call([("x", Array::vector(&x).into())]).unwrap();
    let direct = node.client().routine("battery/touch").unwrap();
    let wanted = direct.call([("x", Array::vector(&x).into())]).unwrap();
    assert_eq!(outputs.array::<f64>("x").unwrap(), wanted.array::<f64>("x").unwrap());
    assert_eq!(outputs.server(), "tls://node.example");
}

/// What is not a call takes the same way: kept calls, and orders, which the server judges itself.
#[test]
fn kept_calls_and_orders_reach_it() {
    let meta = Meta::open();
    let node = meta.joined("node.example", &[battery(false)]);
    let client = meta.client(&["tls://node.example"]);
    let id = submit(&client);
    let kept = client.kept_by_server().unwrap();
    assert!(kept.unanswered.is_empty());
    let keeps = |(name, calls): &(String, Vec<KeptCall>)| {
        name == "tls://node.example" && calls.iter().any(|call| call.id == id)
    };
    assert!(kept.answers.iter().any(keeps), "{:?}", kept.answers);
    let outputs = client.fetch(id, &CallOptions::default()).unwrap().wait().unwrap();
    assert_eq!(outputs.scalar::<i32>("r").unwrap(), double(&node.client(), 4).0);
    let member = client.member("tls://node.example").unwrap();
    let error = member.administer(Order::Reload(None), PATIENCE).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
}

/// Streams end with their ends: a call whose server dies is reported, and later ones go elsewhere.
#[test]
fn a_server_that_dies_behind_a_stream_costs_its_calls_alone() {
    let meta = Meta::open();
    let node = meta.joined("node.example", &[battery(false)]);
    let other = meta.joined("other.example", &[battery(false)]);
    let client = meta.client(&["tls://node.example", "tls://other.example"]);
    let options = CallOptions { at: Some("tls://node.example".into()), ..CallOptions::default() };
    let routine = client.routine("battery/f_int").unwrap();
    let outputs = routine.call_with([("x", 1.into())], &options).unwrap();
    assert_eq!(outputs.server(), "tls://node.example");
    node.kill();
    let gone = |one: &ServerState| {
        one.name == "tls://node.example" && one.presence == ServerPresence::Gone
    };
    assert!(eventually(|| client.servers(PATIENCE).unwrap().iter().any(gone)));
    for x in 0..5 {
        assert_eq!(double(&client, x).1, "tls://other.example");
    }
    drop(other);
}
