//! Networks that fail between clients, servers and metaservers, over TLS: who is reached is called, and
//! predictions follow what happens.

use std::path::PathBuf;
use std::time::Duration;

use farcall_client::{
    Argument, Array, CallOptions, Client, ConnectOptions, ErrorKind, Routine, ServerPresence,
};
use farcall_tests::{Directory, Proxy, Server, authority, battery, eventually, manifest_of};

const PATIENCE: Duration = Duration::from_secs(20);
/// Time for which running calls wait for their connection.
const RECONNECT: Duration = Duration::from_secs(2);
const ALL: &str = "{ who = [\"*\"], call = [\"*\"] }";

/// Servers of one authority.
struct Site {
    folder: Directory,
}

impl Site {
    fn new() -> Site {
        let folder = Directory::new();
        let ca = folder.0.join("ca");
        authority(&ca, &["init", "--server", "localhost,127.0.0.1"]);
        ["anna", "bert"].iter().for_each(|user| drop(authority(&ca, &["user", user])));
        Site { folder }
    }

    /// A server with this table of rights and options of the metaserver.
    fn serve(&self, name: &str, access: &str, options: &str, join: Option<&str>) -> Server {
        let join_entry = "{ who = [\"server:localhost\"], join = true }";
        let server = format!("access = [{access}, {join_entry}]");
        let text = format!(
            "{}[[plugin]]\nname = \"metaserver\"\nslot = \"metaserver\"\n[plugin.options]\n\
             {options}\n",
            manifest_of(&server, "")
        );
        let manifest = self.folder.write(&format!("{name}.toml"), &text);
        let mut command = Server::command();
        command.arg("--manifest").arg(manifest);
        command.args(["--listen", "tls://127.0.0.1:0", "--credentials"]);
        command.arg(self.folder.0.join("ca/server.pem"));
        command.args(join.iter().flat_map(|address| ["--join", address]));
        let files = match join {
            Some(_) => vec![battery(false), self.folder.write("again.idl", AGAIN)],
            None => vec![self.folder.write("nothing.idl", NOTHING)],
        };
        Server::start_as(command, &files)
    }

    fn meta(&self) -> Server {
        self.serve("meta", ALL, "", None)
    }

    /// A server that clients reach by a proxy alone, and metaservers see without one.
    fn behind(&self, name: &str, meta: &Server) -> (Server, Proxy) {
        let proxy = Proxy::to("tls://127.0.0.1:1");
        let address = proxy.address().replace("farcall://", "tls://");
        let options = format!("addresses = [{address:?}]");
        let server = self.serve(name, ALL, &options, Some(meta.address()));
        proxy.lead_to(server.address());
        (server, proxy)
    }

    fn user(&self, name: &str) -> PathBuf {
        self.folder.0.join(format!("ca/users/{name}.pem"))
    }

    fn client(&self, name: &str, address: &str) -> Client {
        let options = ConnectOptions {
            secret: Some(self.user(name)),
            reconnect: Some(RECONNECT),
            ..ConnectOptions::default()
        };
        Client::connect_with(&address.parse().unwrap(), &options).unwrap()
    }

    /// Waits until these servers are there with all that they publish.
    fn settled(&self, meta: &Server, servers: &[&Server]) -> Client {
        let client = self.client("anna", meta.address());
        let count = |server: &&Server| {
            self.client("bert", server.address()).routines().unwrap().len() as u64
        };
        let wanted: Vec<u64> = servers.iter().map(count).collect();
        let is_there = || {
            let states = client.servers(PATIENCE).unwrap();
            let up = states.iter().filter(|one| {
                !one.is_self && one.presence == ServerPresence::Up && wanted.contains(&one.routines)
            });
            up.count() == servers.len()
        };
        assert!(eventually(is_there), "{:?}", client.servers(PATIENCE));
        assert!(eventually(|| self.client("anna", meta.address()).routine("f_int").is_ok()));
        client
    }
}

const AGAIN: &str = "Module again;\nDefine twice(IN int x, OUT int r) Idempotent { *r = 2 * x; }\n";
const NOTHING: &str = "Module nothing;\nDefine nothing(OUT int one) { *one = 1; }\n";

/// Calls once; where it ran.
fn double(routine: &Routine, x: i64) -> String {
    let outputs = routine.call([("x", x.into())]).unwrap();
    assert_eq!(i64::from(outputs.scalar::<i32>("r").unwrap()), 2 * x);
    outputs.server().to_owned()
}

/// The metaserver sees both servers, and the client one of them. What was running may run twice here.
#[test]
fn a_client_that_is_cut_off_from_one_server_calls_the_other() {
    let site = Site::new();
    // It leads nobody to the server.
    let meta = site.serve("meta", ALL, "relayed_max = 0", None);
    let a = site.serve("a", ALL, "", Some(meta.address()));
    let (b, proxy) = site.behind("b", &meta);
    let client = site.settled(&meta, &[&a, &b]);
    let twice = client.routine("again/twice").unwrap();
    let away = proxy.address().replace("farcall://", "tls://");
    assert!(eventually(|| double(&twice, 1) == away), "the other server is never called");
    proxy.close(true);
    proxy.cut();
    for x in 0..60 {
        assert_eq!(double(&twice, x), a.address());
    }
    let states = client.servers(PATIENCE).unwrap();
    let seen = states.iter().find(|one| one.name == away).unwrap();
    assert_eq!(seen.presence, ServerPresence::Up, "the metaserver sees it: {seen:?}");
    // It is called again when the way is there again.
    proxy.close(false);
    assert!(eventually(|| double(&twice, 1) == away), "it is never called again");
}

/// Where the metaserver leads clients to servers, it leads this one to the server that it lost.
#[test]
fn a_client_that_is_cut_off_from_one_server_is_led_there() {
    let site = Site::new();
    let meta = site.meta();
    let (b, proxy) = site.behind("b", &meta);
    let client = site.settled(&meta, &[&b]);
    let twice = client.routine("again/twice").unwrap();
    let away = proxy.address().replace("farcall://", "tls://");
    assert_eq!(double(&twice, 1), away);
    proxy.close(true);
    proxy.cut();
    // A call that was there may be lost. There is no other server: later ones take the way there.
    assert!(eventually(|| twice.call([("x", 1.into())]).is_ok()), "it is never led there");
    for x in 0..20 {
        assert_eq!(double(&twice, x), away);
    }
    assert_eq!(proxy.cuts(), 1);
}

/// Nothing comes from the metaserver any more, and no end of the connection either.
#[test]
fn a_metaserver_that_is_cut_off_keeps_no_call_waiting() {
    let site = Site::new();
    let meta = site.meta();
    let a = site.serve("a", ALL, "", Some(meta.address()));
    let b = site.serve("b", ALL, "", Some(meta.address()));
    site.settled(&meta, &[&a, &b]);
    let proxy = Proxy::to(meta.address());
    let client = site.client("anna", &proxy.address());
    let f_int = client.routine("f_int").unwrap();
    let touch = client.routine("touch").unwrap();
    let x = vec![1.0; 20_000];
    let calls = || {
        let server = double(&f_int, 3);
        assert!([a.address(), b.address()].contains(&server.as_str()), "{server}");
        let outputs = touch.call([("x", Array::vector(&x).into())]).unwrap();
        assert_eq!(outputs.array::<f64>("x").unwrap()[0], 2.0);
    };
    calls();
    proxy.fall_silent(true);
    // Grants that are good still are used first.
    std::thread::sleep(Duration::from_millis(1100));
    (0..20).for_each(|_| calls());
    proxy.fall_silent(false);
    (0..20).for_each(|_| calls());
}

/// A link becomes ten times thinner: predictions follow within a few calls.
#[test]
fn a_link_that_becomes_ten_times_thinner_is_followed_within_a_few_calls() {
    const FAST: u64 = 10_000_000;
    let site = Site::new();
    let meta = site.meta();
    let (b, proxy) = site.behind("b", &meta);
    let client = site.settled(&meta, &[&b]);
    let touch = client.routine("touch").unwrap();
    // Numbers that do not compress.
    let x: Vec<f64> = (0..40_000).map(|index| f64::from(index).sqrt().sin()).collect();
    let call = || {
        let outputs = touch.call([("x", Array::vector(&x).into())]).unwrap();
        assert_eq!(outputs.array::<f64>("x").unwrap().len(), x.len());
    };
    let sent = || {
        let arguments = [Argument::from(40_000_i64), Argument::Unset];
        client.explain_call(&touch, &arguments).unwrap().servers[0].send_s
    };
    proxy.slow_down(FAST);
    (0..8).for_each(|_| call());
    // What became of a call is told within a second.
    std::thread::sleep(Duration::from_millis(1200));
    let before = sent();
    proxy.slow_down(FAST / 10);
    (0..6).for_each(|_| call());
    assert!(eventually(|| sent() > 4.0 * before), "{} s after {before} s", sent());
}

/// One server lets another user call, and not this one: this one's calls run elsewhere.
#[test]
fn a_user_whom_some_servers_refuse_is_served_by_others() {
    let site = Site::new();
    let meta = site.meta();
    let a = site.serve("a", ALL, "", Some(meta.address()));
    let only_bert = "{ who = [\"bert\"], call = [\"*\"] }";
    let b = site.serve("b", only_bert, "", Some(meta.address()));
    let anna = site.settled(&meta, &[&a, &b]);
    let f_int = anna.routine("f_int").unwrap();
    let options = CallOptions { at: Some(b.address().into()), ..CallOptions::default() };
    let error = f_int.call_with([("x", 3.into())], &options).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    for x in 0..60 {
        assert_eq!(double(&f_int, x), a.address());
    }
    let bert = site.client("bert", meta.address());
    let f_int = bert.routine("f_int").unwrap();
    assert!(eventually(|| double(&f_int, 1) == b.address()), "bert may call it");
}
