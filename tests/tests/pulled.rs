//! Values of transactions that servers pull from one another, and what becomes of those that they
//! cannot pull.

use std::time::Duration;

use farcall_base::ErrorKind;
use farcall_graph::Argument as Given;
use farcall_tests::{Directory, Server, eventually};
use farcall_wire::{DATA, PULLS, TimelineState};

use crate::pulls::{MANY, peer, pulled, put, server, transactor};
use crate::relayed::Meta;
use crate::transactions::{World, int};

const MAKES: &str = "Module makes;\n\
    Define make(IN int n, OUT double x[n]) { for (int i = 0; i < n; i++) x[i] = i; }\n";
const ADDS: &str = "Module adds;\nDefine add(IN int n, INOUT double x[n], OUT double sum[1]) \
    { *sum = 0; for (int i = 0; i < n; i++) { *sum += x[i]; x[i] += 1; } }\n";

/// The same, after a while.
const SLOW: &str = "Module makes;\nGlobals {\n#include <unistd.h>\n}\n\
    Define make(IN int n, OUT double x[n]) Idempotent \
    { usleep(1000000); for (int i = 0; i < n; i++) x[i] = i; }\n";
const TAKES: &str = "Module takes;\nDefine take(IN int n, IN double x[n], OUT double sum[1]) \
    { *sum = 0; for (int i = 0; i < n; i++) *sum += x[i]; }\n";
const FEATURES: [&str; 2] = [DATA, PULLS];

/// A node with these options, and servers that joined it: what each is called, publishes, and has
/// for options.
fn world(options: &str, members: &[(&str, &str, &str)]) -> World {
    let folder = Directory::new();
    let meta = server(&folder, "meta", options);
    let join = |(name, text, options): &(&str, &str, &str)| {
        let mut command = Server::command();
        command.args(["--join", meta.address(), "--manifest"]);
        command.arg(folder.write(&format!("{name}.toml"), &transactor(options)));
        Server::start_as(command, &[folder.write(&format!("{name}.idl"), text)])
    };
    let members = members.iter().map(join).collect();
    World::of(meta, members)
}

fn knows(world: &World, routines: &[&str]) {
    for name in routines {
        assert!(eventually(|| world.client.routine(name).is_ok()), "{name}");
    }
}

/// Nothing passes through the node then.
const NO_MOVES: &str = "moved_bytes_max = 0";

/// A transaction whose second call needs, elsewhere, what the first one makes; values may not pass
/// through the node.
fn pulls_in_a_transaction(mut world: World) {
    knows(&world, &["makes/make", "adds/add"]);
    let made = world.call("makes/make", vec![int(MANY), Given::Absent]);
    let added = world.call("adds/add", vec![int(MANY), Given::Result(made, 1), Given::Absent]);
    let sum = world.want(added, 2);
    let more = world.want(added, 1);
    let id = world.begin().unwrap();
    let count = MANY as f64;
    assert_eq!(world.values(sum), [count * (count - 1.0) / 2.0]);
    assert_eq!(world.values(more)[MANY - 1], count);
    assert_eq!(world.wait(id).failed, 0);
}

#[test]
fn transactions_pull_on_one_host() {
    pulls_in_a_transaction(world(NO_MOVES, &[("makes", MAKES, ""), ("adds", ADDS, "")]));
}

#[test]
fn transactions_pull_over_tls() {
    let options = format!(
        "\n[[plugin]]\nname = \"transactions\"\nslot = \"transactor\"\n[plugin.options]\n{NO_MOVES}"
    );
    let meta = Meta::new("    { who = [\"*\"], call = [\"*\"] },", &options);
    let join = |host: &str, text: &str| {
        let file = meta.folder.write(&format!("{host}.idl"), text);
        meta.joined_with(host, &[file], &["--listen", &format!("tls://{host}:0")])
    };
    let members = vec![join("127.0.0.1", MAKES), join("localhost", ADDS)];
    let Meta { server, folder } = meta;
    pulls_in_a_transaction(World::of(server, members));
    drop(folder);
}

/// What the client put at the node is pulled from there: more values than a server pulls at a time,
/// and one by two servers and two transactions at once.
#[test]
fn inputs_are_pulled_from_the_node() {
    let mut world = world(NO_MOVES, &[("one", ADDS, ""), ("two", TAKES, "")]);
    knows(&world, &["adds/add", "takes/take"]);
    let count = MANY / 10;
    let numbers: Vec<f64> = (0..count).map(|number| number as f64).collect();
    let sum = (count * (count - 1) / 2) as f64;
    let inputs: Vec<Given> = (0..80).map(|_| world.input(&numbers)).collect();
    let call = |world: &mut World, name: &str, input: &Given| {
        world.call(name, vec![int(count), input.clone(), Given::Absent])
    };
    let mut wanted = Vec::new();
    for input in &inputs {
        let added = call(&mut world, "adds/add", input);
        wanted.push(world.want(added, 2));
    }
    let taken = call(&mut world, "takes/take", &inputs[0]);
    wanted.push(world.want(taken, 2));
    let first = world.begin().unwrap();
    let shared = world.input(&numbers);
    let more = [call(&mut world, "adds/add", &shared), call(&mut world, "takes/take", &shared)];
    wanted.extend(more.map(|call| world.want(call, 2)));
    let second = world.begin().unwrap();
    for id in wanted {
        assert_eq!(world.values(id), [sum]);
    }
    for id in [first, second] {
        assert_eq!(world.wait(id).failed, 0);
    }
}

/// A server that pulls nothing gets its values by way of the node: an input, and what another made.
#[test]
fn what_cannot_be_pulled_passes_through_the_node() {
    let none = "pulls_max = 0";
    let mut world =
        world("", &[("makes", MAKES, ""), ("adds", ADDS, none), ("takes", TAKES, none)]);
    knows(&world, &["makes/make", "adds/add", "takes/take"]);
    let mut source = peer(&world.members[0], &FEATURES);
    let data = put(&mut source, 3);
    for member in &world.members[1..] {
        let mut line = peer(member, &FEATURES);
        let address = world.members[0].address();
        let refused = pulled(&mut line, data, address, 24).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::LimitExceeded, "{refused}");
    }
    let numbers: Vec<f64> = (0..MANY).map(|number| number as f64).collect();
    let given = world.input(&numbers);
    let made = world.call("makes/make", vec![int(MANY), Given::Absent]);
    let added = world.call("adds/add", vec![int(MANY), Given::Result(made, 1), Given::Absent]);
    let taken = world.call("takes/take", vec![int(MANY), given, Given::Absent]);
    let wanted = [world.want(added, 2), world.want(taken, 2)];
    let id = world.begin().unwrap();
    for sum in wanted {
        assert_eq!(world.values(sum), [(MANY * (MANY - 1) / 2) as f64]);
    }
    assert_eq!(world.wait(id).failed, 0);
}

/// A source is killed when it has made a value, and before that is pulled: another server makes it
/// again.
#[test]
fn what_is_lost_before_it_is_pulled_is_made_again() {
    let mut world = world(NO_MOVES, &[("adds", ADDS, ""), ("a", SLOW, ""), ("b", SLOW, "")]);
    knows(&world, &["makes/make", "adds/add"]);
    let all_known = || {
        let servers = world.client.servers(Duration::from_secs(20)).unwrap();
        let is_known = |member: &Server| {
            servers.iter().any(|one| one.name == member.address() && one.routines > 0)
        };
        world.members.iter().all(is_known)
    };
    assert!(eventually(all_known));
    let made = world.call("makes/make", vec![int(MANY), Given::Absent]);
    let added = world.call("adds/add", vec![int(MANY), Given::Result(made, 1), Given::Absent]);
    let sum = world.want(added, 2);
    let id = world.begin().unwrap();
    // The server that is to pull it hears of that later.
    world.members[0].signal("-STOP");
    let mut timeline = world.timeline(id);
    let has_made = eventually(|| {
        timeline = world.timeline(id);
        timeline.rows[made as usize].state == TimelineState::Returned
    });
    assert!(has_made, "{timeline:?}");
    let server = timeline.rows[made as usize].server.unwrap();
    let name = timeline.servers[server as usize].clone();
    let index = world.members.iter().position(|one| one.address() == name);
    world.members.remove(index.unwrap_or_else(|| panic!("{timeline:?}"))).kill();
    world.members[0].signal("-CONT");
    assert_eq!(world.values(sum), [(MANY * (MANY - 1) / 2) as f64]);
    assert_eq!(world.wait(id).failed, 0);
    let row = world.timeline(id).rows[made as usize];
    assert!(row.attempts > 1 && row.server != Some(server), "{row:?}");
}
