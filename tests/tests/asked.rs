//! What is not a call, at a metaserver: clients ask all servers side by side, and say which did not
//! answer; orders are for one of them.

use std::process::Output;
use std::time::Duration;

use farcall_base::{CallId, ErrorKind};
use farcall_client::{Array, Begin, CallOptions, HoldOptions, Keep, Transaction};
use farcall_tests::Server;

use crate::placed::World;

const PATIENCE: Duration = Duration::from_secs(20);
/// What a command ends with that could not ask all servers.
const SOME_ARE_SILENT: Option<i32> = Some(3);

/// What a command printed, its complaints behind it, and how it ended.
fn ran(server: &Server, words: &[&str]) -> (String, Option<i32>) {
    let Output { stdout, stderr, status } = server.run(words);
    let said = [stdout, stderr].concat();
    (String::from_utf8_lossy(&said).into_owned(), status.code())
}

/// The same of a command that ends well.
fn said(server: &Server, words: &[&str]) -> String {
    let (said, status) = ran(server, words);
    assert_eq!(status, Some(0), "{words:?}: {said}");
    said
}

impl World {
    /// A call that a server keeps which is not the metaserver: its id.
    fn submit(&self, milliseconds: i64) -> CallId {
        let keep = Keep { after_end: Duration::from_secs(60), durable: false };
        self.routine("nap").submit([("milliseconds", milliseconds.into())], keep).unwrap()
    }

    /// Which of the members keeps a call, and which does not.
    fn keeper(&self, id: CallId) -> (usize, usize) {
        let keeps = |member: &Server| {
            let calls = member.client().kept().unwrap();
            calls.iter().any(|call| call.id == id)
        };
        let keeper = self.members.iter().position(keeps).expect("one of them keeps it");
        (keeper, 1 - keeper)
    }
}

#[test]
fn kept_calls_are_found_where_they_are_and_silent_servers_are_named() {
    let mut world = World::new(2);
    let ids = [world.submit(0), world.submit(0)];
    let [first, second] = ids.map(|id| id.to_string());
    let (keeper, other) = world.keeper(ids[0]);
    let keeper_name = world.members[keeper].address().to_owned();
    let silent = world.members[other].address().to_owned();
    let meta = world.meta();
    let fetched = said(meta, &["fetch", &first, "--json"]);
    assert!(fetched.contains(&format!("\"server\": \"{keeper_name}\"")), "{fetched}");
    let listed = said(meta, &["kept"]);
    let is_listed = |line: &str| line.contains(&first) && line.contains(&keeper_name);
    assert!(listed.lines().any(is_listed) && listed.contains(&second), "{listed}");
    let alone = said(meta, &["kept", "--at", meta.address()]);
    assert!(alone.is_empty(), "{alone}");
    let json: serde_json::Value =
        serde_json::from_str(&said(meta, &["kept", "--at", &keeper_name, "--json"])).unwrap();
    assert!(json[0]["server"] == keeper_name.as_str(), "{json}");
    said(meta, &["kept", "--forget", &second]);

    // The hint leads past the one that is dead.
    world.members.remove(other).kill();
    let meta = world.meta();
    said(meta, &["fetch", &first]);
    let (listed, status) = ran(meta, &["kept"]);
    assert!(listed.contains(&first) && status == SOME_ARE_SILENT, "{listed}");
    assert!(
        listed.contains(&format!("1 server did not answer (no answer from: {silent}")),
        "{listed}"
    );
    // An unknown one may be there.
    let (unknown, status) = ran(meta, &["fetch", &"1".repeat(32)]);
    assert!(unknown.contains(&silent) && status == SOME_ARE_SILENT, "{unknown}");
    said(meta, &["kept", "--forget", &first]);
    let (forgotten, _) = ran(meta, &["fetch", &first]);
    assert!(forgotten.contains("no server that answered knows it"), "{forgotten}");
}

#[test]
fn data_of_all_servers_is_shown_and_deleted() {
    let mut world = World::new(2);
    let put = |server: &Server, lease: u64| {
        let lease = Some(Duration::from_secs(lease));
        let options = CallOptions { lease, ..CallOptions::default() };
        let data = server.client().put(Array::vector(&[1.0]), &options).unwrap();
        data.leave();
        data.id().to_string()
    };
    let [first, second] = [&world.members[0], &world.members[1]].map(|member| put(member, 600));
    let name = world.members[0].address().to_owned();
    let silent = world.members[1].address().to_owned();
    let meta = world.meta();
    let listed = said(meta, &["data"]);
    assert!(listed.contains(&first) && listed.contains(&second), "{listed}");
    assert!(listed.contains(&format!("{name}\nID")), "{listed}");
    assert_eq!(said(meta, &["data", "--at", meta.address()]), "no data\n");
    let alone = said(meta, &["data", "--at", &name, "--json"]);
    let json: serde_json::Value = serde_json::from_str(&alone).unwrap();
    assert!(json[0]["server"] == name.as_str() && json[1].is_null(), "{json}");
    assert!(json[0]["seconds_left"].as_f64() > Some(500.0), "{json}");
    // A client finds it where it is.
    assert_eq!(world.client.data().unwrap().len(), 2);
    for (id, member) in [(&first, &world.members[0]), (&second, &world.members[1])] {
        let found = world.client.data_of(id.parse().unwrap()).unwrap();
        assert_eq!((found.server().as_str(), found.extents()), (member.address(), Some(&[1][..])));
        let value = found.fetch(&CallOptions::default()).unwrap().array::<f64>("value").unwrap();
        assert_eq!(value, [1.0]);
    }
    said(meta, &["data", "--delete", &first[..9]]);
    let listed = said(meta, &["data"]);
    assert!(!listed.contains(&first) && listed.contains(&second), "{listed}");

    world.members.remove(1).kill();
    let meta = world.meta();
    let (refused, status) = ran(meta, &["data", "--delete", &second]);
    assert!(refused.contains(&silent) && status == SOME_ARE_SILENT, "{refused}");
    let error = world.client.data_of(second.parse().unwrap()).err().unwrap();
    assert!(error.kind() == ErrorKind::Unreachable && error.operation() == "find data", "{error}");
}

#[test]
fn transactions_of_all_servers_are_shown_and_ended() {
    let world = World::new(2);
    let begun = |server: &Server| {
        let client = server.client();
        let transaction = Transaction::new(&client).unwrap();
        let nap = client.routine("nap").unwrap();
        transaction.call_named(&nap, [("milliseconds", 0.into())]).unwrap();
        transaction.want(0, 1).unwrap();
        let keep = Some(Duration::from_secs(600));
        transaction.begin(&Begin { keep, timeout: None }).unwrap();
        assert!(transaction.wait(Some(PATIENCE)).unwrap().is_some());
        transaction.id().to_string()
    };
    let [first, second] = [&world.members[0], &world.members[1]].map(begun);
    let name = world.members[0].address().to_owned();
    let meta = world.meta();
    let listed = said(meta, &["transactions"]);
    assert!(listed.contains(&first) && listed.contains(&second), "{listed}");
    assert!(listed.contains(&format!("{name}\nID")), "{listed}");
    assert_eq!(said(meta, &["transactions", "--at", meta.address()]), "no transactions\n");
    // Each is found where it is.
    for id in [&first, &second] {
        let shown = said(meta, &["transactions", &id[..9]]);
        assert!(shown.contains("/nap ") && shown.contains("returned"), "{shown}");
        let results = said(meta, &["transactions", id, "--results"]);
        assert!(results.lines().count() == 2, "{results}");
    }
    said(meta, &["transactions", "--end", &first[..9]]);
    let listed = said(meta, &["transactions"]);
    assert!(!listed.contains(&first) && listed.contains(&second), "{listed}");
    let (refused, status) = ran(meta, &["transactions", &first]);
    assert!(refused.contains("no such transaction of yours") && status == Some(3), "{refused}");
    said(meta, &["transactions", "--end", "all"]);
    assert!(!said(meta, &["transactions"]).contains(&second));
}

#[test]
fn objects_and_calls_of_all_servers_are_shown_and_ended() {
    let world = World::new(2);
    let meta = world.meta();
    let hold = world.client.hold("objects/Tank", 1, &HoldOptions::default()).unwrap();
    assert!(hold.ready(Some(PATIENCE)).unwrap());
    let id = hold.first().to_string();
    let line = said(meta, &["objects", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert!(json["server"] == hold.server() && json["id"] == id.as_str(), "{line}");
    let table = said(meta, &["objects"]);
    assert!(table.starts_with(&format!("{}\n", hold.server())) && table.contains(&id), "{table}");
    said(meta, &["objects", "--delete", &id]);
    let gone = said(meta, &["objects"]);
    assert!(!gone.contains(&id) || gone.contains("ended"), "{gone}");

    let kept = world.submit(60_000);
    let (keeper, _) = world.keeper(kept);
    let pages = said(meta, &["top", "--once", "--json", "--interval", "0.1"]);
    let pages: Vec<serde_json::Value> =
        pages.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<&str> = pages.iter().filter_map(|page| page["server"].as_str()).collect();
    assert_eq!((names[0], names.len()), (meta.address(), 3), "{names:?}");
    let has_call = |page: &&serde_json::Value| page["calls_open"] == 1;
    let page = pages.iter().find(has_call).expect("it runs");
    assert_eq!(page["server"], world.members[keeper].address());
    assert!(page["processors"]["max"].as_u64() > Some(0), "{page}");
    let call = page["calls"][0]["call"].as_str().unwrap();
    said(meta, &["top", "--cancel", call]);
    let outcome = world.client.fetch(kept, &Default::default()).unwrap().wait();
    assert!(outcome.is_err_and(|error| error.kind() == ErrorKind::Cancelled));

    let (refused, status) = ran(meta, &["jobs", "--cancel", "1"]);
    assert!(refused.contains("--at ADDRESS") && status == Some(2), "{refused}");
}

#[test]
fn orders_are_for_one_server() {
    let world = World::new(2);
    let meta = world.meta();
    let file =
        world.folder.write("later.idl", "Module later;\nDefine one(OUT int n) { *n = 1; }\n");
    let file = file.to_str().unwrap();
    let member = world.members[0].address();
    said(meta, &["publish", file, "--at", member]);
    let only = said(&world.members[0], &["ls", "later/*"]);
    assert!(only.contains("later/one"), "{only}");
    assert_ne!(ran(&world.members[1], &["ls", "later/*"]).1, Some(0));
    let own = said(meta, &["publish", file]);
    assert!(own.contains(&format!("this is for {} alone; --at", meta.address())), "{own}");
    let quiet = said(meta, &["withdraw", "later", "--at", meta.address()]);
    assert!(!quiet.contains("alone"), "{quiet}");
    let (unknown, _) = ran(meta, &["reload", "--at", "tls://nobody:1"]);
    assert!(unknown.contains("no server is called \"tls://nobody:1\""), "{unknown}");

    let called = said(meta, &["call", "nap", "0", "--json", "--at", member]);
    assert!(called.contains(&format!("\"server\": \"{member}\"")), "{called}");
    said(meta, &["drain", "--at", member]);
    let (after, _) = ran(meta, &["call", "nap", "0", "--json"]);
    assert!(after.contains(world.members[1].address()), "{after}");
    // A server alone says nothing of others.
    let alone = said(&world.members[1], &["reload"]);
    assert!(!alone.contains("alone"), "{alone}");
}
