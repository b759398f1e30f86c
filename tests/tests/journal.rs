//! Transactions that survive the node that runs them: it is killed, and started again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use farcall_base::{DataId, TransactionId};
use farcall_client::ServerPresence;
use farcall_graph::Argument;
use farcall_tests::{Directory, Server, eventually};
use farcall_wire::{TransactionReply, TransactionRequest, TransactionStatus};

use crate::transactions::{World, int, numbers};

const LENGTH: usize = 50;
const DAY: Duration = Duration::from_secs(86_400);

/// A node with a store, that can be killed and started again.
struct Node {
    folder: Directory,
    /// What it publishes.
    files: Vec<PathBuf>,
}

impl Node {
    /// It publishes nothing yet.
    fn new() -> Node {
        let folder = Directory::new();
        std::fs::create_dir(folder.0.join("runs")).unwrap();
        let store =
            plugin("store-file", "store", &format!("folder = \"{}/store\"", shown(&folder)));
        folder.write("farcall.toml", &(store + &writing_to(&folder)));
        Node { folder, files: Vec::new() }
    }

    fn publish(&mut self, name: &str, text: &str) {
        self.files.push(self.folder.write(name, text));
    }

    fn start(&self) -> Server {
        let socket = self.folder.0.join("s");
        // A server that was killed leaves it behind.
        let _ = std::fs::remove_file(&socket);
        let mut command = Server::command();
        command.arg("--listen").arg(format!("unix:{}", socket.display()));
        command.arg("--manifest").arg(self.folder.0.join("farcall.toml"));
        Server::start_as(command, &self.files)
    }
}

fn shown(folder: &Directory) -> String {
    folder.0.display().to_string()
}

fn plugin(name: &str, slot: &str, options: &str) -> String {
    format!("[[plugin]]\nname = \"{name}\"\nslot = \"{slot}\"\n[plugin.options]\n{options}\n")
}

/// A manifest whose routines write to this folder.
fn writing_to(folder: &Directory) -> String {
    let options = format!("limits.writable = [\"{}/runs\"]", shown(folder));
    plugin("spawner-local", "spawner", &options)
}

/// Routines that leave a line in a file each time that they run: one may run twice, and one may not.
fn counted(folder: &Directory) -> (String, PathBuf) {
    let log = folder.0.join("runs").join("log");
    let body = format!(
        "{{ FILE *log = fopen(\"{}\", \"a\"); fprintf(log, \"%d\\n\", number); fclose(log);
        usleep(2000); for (int at = 0; at < n; at++) y[at] = x[at] + 1; }}",
        log.display()
    );
    let parameters = "IN int number, IN int n, IN double x[n], OUT double y[n]";
    let text = format!(
        "Module counted;\nGlobals {{\n#include <stdio.h>\n#include <unistd.h>\n}}\n\
        Define again({parameters}) Idempotent {body}\nDefine once({parameters}) {body}\n"
    );
    (text, log)
}

/// How often each call ran.
fn runs(log: &Path) -> BTreeMap<u32, u32> {
    let mut runs = BTreeMap::new();
    let text = std::fs::read_to_string(log).unwrap_or_default();
    for number in text.lines().filter_map(|line| line.parse().ok()) {
        *runs.entry(number).or_insert(0) += 1;
    }
    runs
}

fn add(world: &mut World, name: &str, number: usize, x: Argument) -> u32 {
    world.call(name, vec![int(number), int(LENGTH), x, Argument::Absent])
}

/// Chains of calls that may run twice, and beside them calls that may not: each its own.
fn graph(world: &mut World, chains: usize, links: usize, once: usize) -> Vec<DataId> {
    let given = world.input(&numbers(LENGTH));
    let mut wanted = Vec::new();
    for chain in 0..chains {
        let mut x = given.clone();
        for link in 0..links {
            let call = add(world, "counted/again", chain * links + link, x);
            x = Argument::Result(call, 3);
            if link == links - 1 {
                wanted.push(world.want(call, 3));
            }
        }
    }
    for number in chains * links..chains * links + once {
        add(world, "counted/once", number, given.clone());
    }
    wanted
}

fn listed(world: &mut World) -> Vec<TransactionStatus> {
    match world.asked(TransactionRequest::List(vec![])) {
        TransactionReply::List(list) => list,
        other => panic!("{other:?}"),
    }
}

fn wait_for(log: &Path, lines: usize) {
    let has = || std::fs::read_to_string(log).is_ok_and(|text| text.lines().count() >= lines);
    assert!(eventually(has), "only {} calls ran", runs(log).len());
}

fn is_there(world: &mut World, id: TransactionId) -> bool {
    listed(world).iter().any(|one| one.id == id)
}

/// 1,000 calls, whose client has gone: their node is killed twice, and what is asked for is there.
#[test]
fn a_node_is_killed_under_a_transaction() {
    let mut node = Node::new();
    let (text, log) = counted(&node.folder);
    node.publish("counted.idl", &text);
    let mut world = World::of(node.start(), Vec::new());
    let wanted = graph(&mut world, 30, 30, 100);
    let id = world.begin_keeping(Some(DAY)).unwrap();
    for lines in [300, 960] {
        wait_for(&log, lines);
        let World { server, .. } = world;
        server.kill();
        world = World::of(node.start(), Vec::new());
        assert!(eventually(|| is_there(&mut world, id)), "{}", world.server.log());
    }
    let end = world.wait(id);
    for failure in &end.failures {
        assert!(failure.call >= 900, "{failure:?}");
    }
    for name in &wanted {
        let last = LENGTH as f64 - 1.0 + 30.0;
        assert_eq!(world.values(*name)[LENGTH - 1], last);
    }
    let runs = runs(&log);
    let twice: Vec<_> = runs.iter().filter(|(call, count)| **call >= 900 && **count > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
    assert!((0..900).all(|call| runs.contains_key(&call)));
    assert_eq!(1000 - runs.len(), (900..1000).filter(|call| !runs.contains_key(call)).count());
    eprintln!("{} runs of 1000 calls, {} failed", runs.values().sum::<u32>(), end.failed);
    world.asked_to_end(id);
    assert!(listed(&mut world).is_empty());
    assert!(eventually(|| world.client.data().unwrap().is_empty()));
    // Nothing is left in the store either.
    let World { server, .. } = world;
    server.kill();
    let mut world = World::of(node.start(), Vec::new());
    std::thread::sleep(Duration::from_millis(500));
    assert!(listed(&mut world).is_empty());
}

/// Servers that lost the node which runs the transaction keep its calls: each of them runs once.
#[test]
fn calls_at_other_servers_go_on_without_the_node() {
    let mut node = Node::new();
    let (text, log) = counted(&node.folder);
    let file = node.folder.write("counted.idl", &text);
    node.publish("nothing.idl", "Module nothing;\nDefine nothing(OUT int one) { *one = 1; }\n");
    let meta = node.start();
    let mut members = Vec::new();
    for _ in 0..2 {
        let mut command = Server::command();
        command.args(["--join", meta.address()]);
        let manifest = node.folder.write("member.toml", &writing_to(&node.folder));
        command.arg("--manifest").arg(manifest);
        members.push(Server::start_as(command, std::slice::from_ref(&file)));
    }
    let mut world = World::of(meta, members);
    let all_up = |world: &World| {
        let known = world.client.servers(Duration::from_secs(20)).unwrap();
        known.iter().filter(|one| one.presence == ServerPresence::Up && one.routines == 2).count()
    };
    assert!(eventually(|| all_up(&world) == 2));
    assert!(eventually(|| world.client.routine("counted/once").is_ok()));
    let wanted = graph(&mut world, 10, 20, 200);
    let id = world.begin_keeping(Some(DAY)).unwrap();
    wait_for(&log, 150);
    let World { server, members, .. } = world;
    server.kill();
    std::thread::sleep(Duration::from_millis(300));
    let mut world = World::of(node.start(), members);
    assert!(eventually(|| is_there(&mut world, id)), "{}", world.server.log());
    let end = world.wait(id);
    assert_eq!(end.failed, 0, "{end:?} {}", world.server.log());
    for name in &wanted {
        assert_eq!(world.values(*name)[0], 20.0);
    }
    let runs = runs(&log);
    let twice: Vec<_> = runs.iter().filter(|(call, count)| **call >= 200 && **count > 1).collect();
    assert!(twice.is_empty() && runs.len() == 400, "{twice:?} {}", runs.len());
    world.asked_to_end(id);
    let data = |world: &World| {
        let left = world.members.iter().map(|member| member.client().data().unwrap().len());
        left.sum::<usize>()
    };
    assert!(eventually(|| data(&world) == 0));
}

/// Ten thousand empty calls, each of which is written down before it is opened.
#[test]
fn ten_thousand_calls_are_written_down() {
    let mut node = Node::new();
    let text = "Module nothing;\nDefine nothing(OUT int one) Idempotent { *one = 1; }\n";
    node.publish("nothing.idl", text);
    let mut world = World::of(node.start(), Vec::new());
    for _ in 0..10_000 {
        world.call("nothing/nothing", vec![Argument::Absent]);
    }
    let began = Instant::now();
    let id = world.begin_keeping(Some(DAY)).unwrap();
    assert_eq!(world.wait(id).failed, 0);
    let took = began.elapsed();
    eprintln!("10,000 calls were written down in {took:?}");
    world.asked_to_end(id);
}
