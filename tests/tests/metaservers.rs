//! Metaservers that know metaservers: calls go through them to servers, in circles too, and go on
//! when one is killed.

use std::collections::BTreeSet;
use std::time::Duration;

use farcall_client::{Array, CallOptions, Client, ConnectOptions, ErrorKind, HoldOptions, Keep};
use farcall_idl::infer::Given;
use farcall_tests::{Directory, Server, battery, eventually, objects, options_of_lists};

const PATIENCE: Duration = Duration::from_secs(20);
const NAPS: &str = "Module naps;\nGlobals {\n#include <unistd.h>\n}\n\
    Define nap(IN int milliseconds, OUT int pid) Idempotent { usleep(milliseconds * 1000); \
    *pid = getpid(); }\n";

/// Servers on this host, each with a socket that its name is.
struct Field {
    folder: Directory,
}

impl Field {
    fn new() -> Field {
        Field { folder: Directory::new() }
    }

    fn address(&self, name: &str) -> String {
        format!("unix:{}", self.folder.0.join(name).display())
    }

    /// A server that publishes a text and joins others.
    fn serve(&self, name: &str, text: &str, joins: &[&str]) -> Server {
        let file = self.folder.write(&format!("{name}.idl"), text);
        let mut command = Server::command();
        command.args(["--listen", &self.address(name)]);
        for join in joins {
            command.args(["--join", &self.address(join)]);
        }
        Server::start_as(command, &[file])
    }

    fn here(&self) -> ConnectOptions {
        options_of_lists(&self.folder)
    }

    /// One that has nothing which anybody calls.
    fn metaserver(&self, name: &str, joins: &[&str]) -> Server {
        let text = format!("Module {name};\nDefine nothing(OUT int one) {{ *one = 1; }}\n");
        self.serve(name, &text, joins)
    }
}

fn finds(client: &Client, name: &str) -> bool {
    eventually(|| client.routine(name).is_ok())
}

/// Where a call ran.
fn nap(client: &Client) -> String {
    let nap = client.routine("naps/nap").unwrap();
    nap.call([("milliseconds", 1.into())]).unwrap().server().to_owned()
}

#[test]
fn calls_go_over_two_metaservers_and_are_explained() {
    let field = Field::new();
    let top = field.metaserver("top", &[]);
    let _middle = field.metaserver("middle", &["top"]);
    let servers = [field.serve("b", NAPS, &["middle"]), field.serve("c", NAPS, &["middle"])];
    let client = top.client();
    assert!(finds(&client, "naps/nap"));
    let names: BTreeSet<&str> = servers.iter().map(|server| server.address()).collect();
    assert!(names.contains(&*nap(&client)));
    // What is foreseen is what the metaserver in the middle says.
    let routine = client.routine("naps/nap").unwrap();
    let given = [Given::Unset, Given::Unset];
    let rows = client.explain(&routine, &given, PATIENCE).unwrap().servers;
    let best = &rows[0];
    assert_eq!(best.name, field.address("middle"), "{rows:?}");
    let on = best.note.rsplit_once(' ').unwrap().1;
    assert!(best.leads && names.contains(on), "{}", best.note);
    // Calls of some length spread over what is behind it.
    let start = || {
        let given = [("milliseconds", 200.into())];
        routine.start(given, &CallOptions::default()).unwrap()
    };
    assert!(eventually(|| {
        let calls: Vec<_> = (0..12).map(|_| start()).collect();
        let ran = calls.into_iter().map(|call| call.wait().unwrap().server().to_owned());
        ran.collect::<BTreeSet<_>>().len() == 2
    }));
    // They are found by name, too, and asked with all others.
    for server in &servers {
        let options = CallOptions { at: Some(server.address().into()), ..CallOptions::default() };
        let outputs = routine.call_with([("milliseconds", 1.into())], &options).unwrap();
        assert_eq!(outputs.server(), server.address());
    }
    let keep = Keep { after_end: Duration::from_secs(60), durable: false };
    let id = routine.submit([("milliseconds", 100.into())], keep).unwrap();
    let fetched = top.client().fetch(id, &CallOptions::default()).unwrap().wait().unwrap();
    assert!(names.contains(fetched.server()), "{}", fetched.server());
    let (kept, unanswered) = top.client().kept_by_all().unwrap();
    assert!(kept.iter().any(|call| call.id == id) && unanswered.is_empty(), "{unanswered:?}");
}

#[test]
fn a_circle_of_metaservers_leads_to_every_server() {
    let field = Field::new();
    let more = NAPS.replace("naps", "more").replace("nap(", "rest(");
    let ring = [
        field.metaserver("one", &["two"]),
        field.metaserver("two", &["three"]),
        field.metaserver("three", &["one"]),
    ];
    let server = field.serve("b", NAPS, &["one"]);
    let second = field.serve("c", &more, &["one"]);
    for meta in &ring {
        let client = meta.client();
        assert!(finds(&client, "naps/nap") && finds(&client, "more/rest"), "{}", meta.address());
        assert_eq!(nap(&client), server.address());
    }
    // What is withdrawn does not go round for ever.
    drop(second);
    let is_gone = |meta: &Server| {
        let routine = meta.client().routine("more/rest");
        routine.is_err_and(|error| error.kind() == ErrorKind::NotFound)
    };
    for meta in &ring {
        assert!(eventually(|| is_gone(meta)), "{}", meta.address());
    }
    assert_eq!(nap(&ring[1].client()), server.address());
}

#[test]
fn a_list_has_a_metaserver_and_goes_on_without_it() {
    let field = Field::new();
    let meta = field.metaserver("meta", &[]);
    let behind = field.serve("b", NAPS, &["meta"]);
    let beside = field.serve("c", NAPS, &[]);
    assert!(finds(&meta.client(), "naps/nap"));
    let list = format!("{} {}", meta.address(), beside.address());
    let client = Client::connect_with(&list.parse().unwrap(), &field.here()).unwrap();
    assert!(finds(&client, "naps/nap"));
    let routine = client.routine("naps/nap").unwrap();
    let start = || {
        let given = [("milliseconds", 200.into())];
        routine.start(given, &CallOptions::default()).unwrap()
    };
    let names = BTreeSet::from([behind.address().to_owned(), beside.address().to_owned()]);
    assert!(eventually(|| {
        let calls: Vec<_> = (0..12).map(|_| start()).collect();
        let ran = calls.into_iter().map(|call| call.wait().unwrap().server().to_owned());
        ran.collect::<BTreeSet<_>>() == names
    }));
    meta.kill();
    for _ in 0..5 {
        assert!(names.contains(&*nap(&client)));
    }
}

#[test]
fn objects_and_arrays_are_behind_a_metaserver() {
    let field = Field::new();
    let top = field.metaserver("top", &[]);
    let middle = field.metaserver("middle", &["top"]);
    let mut command = Server::command();
    command.args(["--join", middle.address()]);
    let server = Server::start_as(command, &[battery(false), objects()]);
    let client = top.client();
    assert!(finds(&client, "touch"));
    let touch = client.routine("touch").unwrap();
    let x: Vec<f64> = (0..200_000).map(f64::from).collect();
    let direct = server.client().routine("touch").unwrap();
    let wanted = direct.call([("x", Array::vector(&x).into())]).unwrap();
    let outputs = touch.call([("x", Array::vector(&x).into())]).unwrap();
    assert_eq!(outputs.server(), server.address());
    assert_eq!(outputs.array::<f64>("x").unwrap(), wanted.array::<f64>("x").unwrap());
    assert!(finds(&client, "objects/Tank.process"));
    let hold = client.hold("objects/Tank", 1, &HoldOptions::default()).unwrap();
    assert!(hold.ready(Some(PATIENCE)).unwrap());
    assert_eq!(hold.server(), server.address());
    let process = client.routine("objects/Tank.process").unwrap();
    let options = CallOptions { on: Some(hold.first()), ..CallOptions::default() };
    let number = || {
        let outputs = process.call_with([], &options).unwrap();
        assert_eq!(outputs.server(), server.address());
        outputs.scalar::<i32>("number").unwrap()
    };
    let first = number();
    assert!((0..5).all(|_| number() == first));
    hold.release(Some(PATIENCE)).unwrap();
}
