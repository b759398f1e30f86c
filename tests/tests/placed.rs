//! Calls that a metaserver places on real servers: they run where they should, and go on when
//! servers or the metaserver are killed.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use farcall_client::idl::interface::Order;
use farcall_client::{
    Argument, Array, CallOptions, Client, ErrorKind, HoldOptions, Keep, Routine, ServerPresence,
    ServerState,
};
use farcall_tests::{Directory, Server, battery, eventually, objects};

const PATIENCE: Duration = Duration::from_secs(20);
const NAPS: &str = "Module naps;\nGlobals {\n#include <unistd.h>\n}\n\
    Define nap(IN int milliseconds, OUT int pid) Idempotent { usleep(milliseconds * 1000); \
    *pid = getpid(); }\n";

/// A metaserver that publishes nothing of this, and servers that join it.
pub struct World {
    meta: Option<Server>,
    pub members: Vec<Server>,
    pub client: Client,
    pub folder: Directory,
}

impl World {
    pub fn new(count: usize) -> World {
        let folder = Directory::new();
        let naps = folder.write("naps.idl", NAPS);
        let nothing = folder
            .write("nothing.idl", "Module nothing;\nDefine nothing(OUT int one) { *one = 1; }\n");
        // Where it can be started again: the folder of a private server ends with it.
        let mut command = Server::command();
        command.args(["--listen", &format!("unix:{}", folder.0.join("meta.sock").display())]);
        let meta = Server::start_as(command, &[nothing]);
        let files = [battery(false), naps, objects()];
        let members = (0..count).map(|_| joined(&files, &meta)).collect();
        let client = meta.client();
        let world = World { meta: Some(meta), members, client, folder };
        // The interfaces of a server come one report after the other.
        let published = |client: &Client| client.routines().unwrap().len() as u64;
        for member in &world.members {
            let count = published(&member.client());
            assert!(eventually(|| world.is_up(member.address(), count)), "{}", member.address());
        }
        let count = world.members.first().map_or(0, |member| published(&member.client()));
        assert!(eventually(|| published(&world.client) > count));
        world
    }

    fn is_up(&self, name: &str, routines: u64) -> bool {
        let known = self.client.servers(PATIENCE).unwrap();
        let is_it = |one: &ServerState| one.name == name && one.routines == routines;
        known.iter().any(|one| is_it(one) && one.presence == ServerPresence::Up)
    }

    pub fn meta(&self) -> &Server {
        self.meta.as_ref().unwrap()
    }

    pub fn routine(&self, name: &str) -> Routine {
        self.client.routine(name).unwrap()
    }

    fn names(&self) -> BTreeSet<String> {
        self.members.iter().map(|member| member.address().to_owned()).collect()
    }
}

fn joined(files: &[PathBuf], meta: &Server) -> Server {
    let mut command = Server::command();
    command.args(["--join", meta.address()]);
    Server::start_as(command, files)
}

fn double(routine: &Routine, x: i64) -> (i64, String) {
    let outputs = routine.call([("x", x.into())]).unwrap();
    (i64::from(outputs.scalar::<i32>("r").unwrap()), outputs.server().to_owned())
}

#[test]
fn calls_run_on_the_servers_that_publish_them() {
    let world = World::new(3);
    let f_int = world.routine("f_int");
    let expected = f_int_of(&world.members[0].client());
    let mut ran = BTreeSet::new();
    for x in 0..300 {
        let (value, server) = double(&f_int, x);
        assert_eq!(value, expected(x));
        ran.insert(server);
    }
    assert!(ran.is_subset(&world.names()), "{ran:?}");
    // Arrays go straight there, and come back.
    let touch = world.routine("touch");
    let x: Vec<f64> = (0..200_000).map(f64::from).collect();
    let direct = world.members[0].client().routine("touch").unwrap();
    let wanted = direct.call([("x", Array::vector(&x).into())]).unwrap();
    let outputs = touch.call([("x", Array::vector(&x).into())]).unwrap();
    assert_eq!(outputs.array::<f64>("x").unwrap(), wanted.array::<f64>("x").unwrap());
    assert!(world.names().contains(outputs.server()), "{}", outputs.server());
}

/// What a server itself says of `f_int`.
fn f_int_of(client: &Client) -> impl Fn(i64) -> i64 + use<> {
    let routine = client.routine("f_int").unwrap();
    move |x| double(&routine, x).0
}

/// Calls at the same time spread over the servers, in processes of each.
#[test]
fn calls_at_the_same_time_spread_over_the_servers() {
    let world = World::new(3);
    let nap = world.routine("nap");
    let start = || nap.start([("milliseconds", 300.into())], &CallOptions::default()).unwrap();
    // How long they take is known once some have run.
    let spread = eventually(|| {
        let calls: Vec<_> = (0..12).map(|_| start()).collect();
        let ran = calls.into_iter().map(|call| call.wait().unwrap().server().to_owned());
        ran.collect::<BTreeSet<String>>() == world.names()
    });
    let explanation = world
        .client
        .explain_call(&nap, &[300.into(), Argument::Unset])
        .map(|explanation| explanation.servers);
    assert!(spread, "{explanation:#?}");
}

/// A server is killed while it runs calls that may run twice: each gives its result.
#[test]
fn calls_of_a_killed_server_run_elsewhere() {
    let mut world = World::new(2);
    let nap = world.routine("nap");
    let start = || nap.start([("milliseconds", 1000.into())], &CallOptions::default()).unwrap();
    let calls: Vec<_> = (0..4).map(|_| start()).collect();
    std::thread::sleep(Duration::from_millis(300));
    let victim = world.members.remove(0);
    let left = world.members[0].address().to_owned();
    victim.kill();
    for call in calls {
        let outputs = call.wait().unwrap();
        assert!(outputs.scalar::<i32>("pid").unwrap() > 0);
        assert_eq!(outputs.server(), left);
    }
}

/// The metaserver is killed: calls go on.
#[test]
fn calls_go_on_without_the_metaserver() {
    let mut world = World::new(2);
    let f_int = world.routine("f_int");
    let names = world.names();
    let (value, _) = double(&f_int, 3);
    world.meta.take().unwrap().kill();
    for _ in 0..50 {
        let (again, server) = double(&f_int, 3);
        assert_eq!(again, value);
        assert!(names.contains(&server), "{server}");
    }
}

/// The metaserver is killed and started again: the same client asks it, and calls servers that joined
/// only then.
#[test]
fn a_metaserver_that_is_started_again_is_asked_again() {
    let mut world = World::new(1);
    let nap = world.routine("nap");
    let ran_on = || {
        let outputs = nap.call([("milliseconds", 1.into())]).unwrap();
        outputs.server().to_owned()
    };
    ran_on();
    let old = world.meta.take().unwrap();
    let path = old.address().to_owned();
    old.kill();
    let nothing = world.folder.0.join("nothing.idl");
    let mut command = Server::command();
    command.args(["--listen", &path]);
    let meta = Server::start_as(command, &[nothing]);
    assert_eq!(meta.address(), path);
    let newest = joined(&[battery(false), world.folder.0.join("naps.idl"), objects()], &meta);
    let other = meta.client();
    // Its interfaces come one report after the other.
    let is_placed = || {
        let Ok(nap) = other.routine("nap") else { return false };
        let explained = other.explain_call(&nap, &[1.into(), Argument::Unset]).unwrap();
        explained.servers.iter().any(|one| one.name == newest.address() && !one.excluded)
    };
    assert!(eventually(is_placed));
    world.members.remove(0).kill();
    for _ in 0..10 {
        assert_eq!(ran_on(), newest.address());
    }
}

#[test]
fn a_call_is_bound_to_a_server() {
    let world = World::new(2);
    let f_int = world.routine("f_int");
    for member in &world.members {
        let at = Some(member.address().into());
        let options = CallOptions { at, ..CallOptions::default() };
        let outputs = f_int.call_with([("x", 3.into())], &options).unwrap();
        assert_eq!(outputs.server(), member.address());
    }
    let wrong = format!("{}x", world.members[0].address());
    let options = CallOptions { at: Some(wrong.into()), ..CallOptions::default() };
    let error = f_int.call_with([("x", 3.into())], &options).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    assert!(error.to_string().contains(world.members[0].address()), "{error}");
}

/// An object stays where it was made; a kept call is found by another client.
#[test]
fn objects_and_kept_calls_are_found_again() {
    let world = World::new(2);
    let hold = world.client.hold("objects/Tank", 1, &HoldOptions::default()).unwrap();
    assert!(hold.ready(Some(PATIENCE)).unwrap());
    assert!(world.names().contains(hold.server()), "{}", hold.server());
    let process = world.routine("objects/Tank.process");
    let options = CallOptions { on: Some(hold.first()), ..CallOptions::default() };
    let call = || {
        let outputs = process.call_with([], &options).unwrap();
        assert_eq!(outputs.server(), hold.server());
        outputs.scalar::<i32>("number").unwrap()
    };
    let first = call();
    assert!((0..5).all(|_| call() == first));
    hold.release(Some(PATIENCE)).unwrap();

    let keep = Keep { after_end: Duration::from_secs(60), durable: false };
    let nap = world.routine("nap");
    let id = nap.submit([("milliseconds", 100.into())], keep).unwrap();
    let other = world.meta.as_ref().unwrap().client();
    let outputs = other.fetch(id, &CallOptions::default()).unwrap().wait().unwrap();
    assert!(outputs.scalar::<i32>("pid").unwrap() > 0);
    let (kept, unanswered) = other.kept_by_all().unwrap();
    assert!(kept.iter().any(|call| call.id == id) && unanswered.is_empty(), "{kept:?}");
    other.forget_call(id).unwrap();
    let error = other.fetch(id, &CallOptions::default()).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
}

/// Large arrays of calls at several servers travel while the program waits for any of them.
#[test]
fn large_calls_run_side_by_side() {
    let world = World::new(2);
    let touch = world.routine("touch");
    let start = |first: f64| {
        let x: Vec<f64> = (0..1_000_000).map(|index| first + f64::from(index)).collect();
        let x = Array::shared(Arc::new(x), &[1_000_000], Order::Row);
        touch.start([("x", x.into())], &CallOptions::default()).unwrap()
    };
    let calls: Vec<_> = (0..6).map(|index| start(f64::from(index))).collect();
    let direct = world.members[0].client().routine("touch").unwrap();
    for (index, call) in calls.into_iter().enumerate() {
        let x: Vec<f64> = (0..1_000_000).map(|one| index as f64 + f64::from(one)).collect();
        let wanted = direct.call([("x", Array::vector(&x).into())]).unwrap();
        let outputs = call.wait().unwrap();
        assert_eq!(outputs.array::<f64>("x").unwrap(), wanted.array::<f64>("x").unwrap());
        let placed = outputs.placed().unwrap();
        assert!(placed.predicted.send_s > 0.0 && placed.measured.run_s > 0.0, "{placed:?}");
        assert!(wanted.placed().is_none());
    }
}
