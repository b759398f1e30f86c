//! Metaservers that speak for users towards the servers that joined them (spec/wire.md, section
//! 11.2).

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use farcall_base::{Error, ErrorKind, Result};
use farcall_client::ServerPresence;
use farcall_graph::Argument;
use farcall_link::line::{Line, LineEvent};
use farcall_link::stream::ByteStream;
use farcall_tests::{Directory, Server, eventually, manifest, resident};
use farcall_wire::{DATA, RelayTicket, Reply, Request};

use crate::relayed::Meta;
use crate::transactions::{World, ask, double, int, line, some};

const PATIENCE: Duration = Duration::from_secs(20);
const NODE: &str = "tls://node.example";
/// Elements of arrays that travel in blocks.
const MANY: usize = 3000;

/// A member, its options, and the folder with its audit log.
fn member(meta: &Meta, folder: &Directory, host: &str, access: &str) -> Server {
    let log = folder.0.join(format!("{host}.log"));
    let options = format!("audit_file = \"{}\"\naccess = [{access}]", log.display());
    let file = folder.write(&format!("{host}.toml"), &manifest(&options));
    meta.joined_with(host, &[resident()], &["--manifest", file.to_str().unwrap()])
}

/// A client of the metaserver that knows its members, and what they publish; and the folder with
/// their certificates.
fn world(meta: Meta, members: Vec<Server>) -> (World, Directory) {
    let count = members.len();
    let Meta { server, folder } = meta;
    let world = World::of(server, members);
    let up = || {
        let known = world.client.servers(PATIENCE).unwrap();
        let up = known.iter().filter(|one| one.presence == ServerPresence::Up);
        up.filter(|one| one.routines > 5).count() == count
    };
    assert!(eventually(up));
    assert!(eventually(|| world.client.routine("resident/nap").is_ok()));
    (world, folder)
}

/// What somebody is told who speaks for a user, and asks for an interface.
fn asked(stream: Box<dyn ByteStream>, user: &str) -> Result<()> {
    let mut line = Line::speaking_for(stream, &[DATA], Some(user.to_owned()), None);
    line.ask(&Request::Interface("resident/nap".into()))?;
    loop {
        for event in some(&mut line)? {
            match event {
                LineEvent::Open(..) => {}
                LineEvent::Reply(_, Reply::Interface(_)) => return Ok(()),
                LineEvent::Reply(_, Reply::Failed(failure)) => return Err(Error::from(failure)),
                _ => panic!("another answer came"),
            }
        }
    }
}

/// A stream that the node has dialled to the metaserver, to show this certificate over it.
fn led(meta: &Meta, certificate: &Path) -> Box<dyn ByteStream> {
    let mut line = line(&meta.server);
    let reply = ask(&mut line, &Request::Relay(NODE.to_owned()));
    let Reply::Relay(RelayTicket { token, .. }) = reply else { panic!("{reply:?}") };
    let host = "node.example";
    let stream = farcall_transport_tls::connect_through(host, Some(certificate), PATIENCE, || {
        let port = meta.server.address().rsplit_once(':').unwrap().1.parse().unwrap();
        let socket = farcall_transport_tls::reach_stream("127.0.0.1", port, &token, PATIENCE)?;
        Ok((socket, "the node".to_owned()))
    });
    stream.unwrap()
}

#[test]
fn a_transaction_runs_on_servers_that_joined_over_tls() {
    let folder = Directory::new();
    let meta = Meta::open();
    let all = "{ who = [\"anna\"], call = [\"resident\"] }";
    let hosts = ["node.example", "other.example"];
    let members = hosts.map(|host| member(&meta, &folder, host, all)).into();
    let (mut world, _certificates) = world(meta, members);
    let mut wanted = Vec::new();
    for number in 0..12 {
        let call = world.call("resident/slow", vec![double(0.3), Argument::Absent, int(MANY)]);
        let scaled = world.scale(f64::from(number), Argument::Result(call, 1), MANY);
        wanted.push(world.want(scaled, 1));
    }
    let id = world.begin().unwrap();
    for (name, factor) in wanted.into_iter().zip(0..) {
        assert_eq!(world.values(name)[MANY - 1], f64::from(factor) * (MANY - 1) as f64);
    }
    assert_eq!(world.wait(id).failed, 0);
    let timeline = world.timeline(id);
    let ran = timeline.rows.iter().filter_map(|row| row.server);
    let ran: BTreeSet<&str> = ran.map(|one| timeline.servers[one as usize].as_str()).collect();
    assert_eq!(ran, BTreeSet::from([NODE, "tls://other.example"]));
    // Each server has written whose calls these were, and who said so.
    for host in hosts {
        let log = String::from_utf8(folder.read(&format!("{host}.log"))).unwrap();
        let of_calls = |line: &&str| line.contains("\"routine\":\"resident/slow\"");
        let both = "\"principal\":\"anna\",\"through\":\"server:localhost\"";
        let lines: Vec<&str> = log.lines().filter(of_calls).collect();
        assert!(!lines.is_empty() && lines.iter().all(|line| line.contains(both)), "{log}");
    }
    // Those that left are not reached any more.
    world.scale(2.0, Argument::Inline(vec![0; 16]), 2);
    world.members.drain(..).for_each(Server::kill);
    let gone = |world: &World| {
        let known = world.client.servers(PATIENCE).unwrap();
        known.iter().filter(|one| one.presence == ServerPresence::Up).count() < 2
    };
    assert!(eventually(|| gone(&world)));
    assert!(world.begin().is_err());
}

/// A user who may call nothing at a member has no calls there, whatever the metaserver allows.
#[test]
fn members_judge_the_rights_of_users_themselves() {
    let folder = Directory::new();
    let meta = Meta::open();
    let other = "{ who = [\"bert\"], call = [\"resident\"] }";
    let members = vec![member(&meta, &folder, "node.example", other)];
    let (mut world, _certificates) = world(meta, members);
    world.scale(2.0, Argument::Inline(vec![0; 16]), 2);
    let error = Error::from(world.begin().unwrap_err());
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("no server that takes transactions"), "{error}");
}

#[test]
fn a_claim_is_believed_of_the_metaserver_that_was_joined_alone() {
    let folder = Directory::new();
    let meta = Meta::open();
    let access = "{ who = [\"anna\"], call = [\"resident\"] }, { who = [\"bert\"], call = [] }";
    let node = member(&meta, &folder, "node.example", access);
    let client = meta.server.client();
    assert!(eventually(|| client.routine("resident/nap").is_ok()));
    let own = meta.server.authority().join("server.pem");
    let refused = |stream, user: &str, why: &str| {
        let error = asked(stream, user).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{user}: {error}");
        assert!(error.to_string().contains(why), "{user}: {error}");
    };
    asked(led(&meta, &own), "anna").unwrap();
    refused(led(&meta, &own), "bert", "\"bert\" may not call");
    for user in ["uid 0", "token", "routine", "*", "server:node.example"] {
        refused(led(&meta, &own), user, "only names in users' certificates");
    }
    // Another server of the authority has come to the stream.
    let thief = meta.certificate("thief.example");
    refused(led(&meta, &thief), "anna", "that it has joined");
    // Users speak for themselves.
    let user = meta.server.token().unwrap();
    refused(led(&meta, user), "bert", "that it has joined");
    asked(led(&meta, user), "anna").unwrap();
    // The metaserver itself has joined nobody: neither its own certificate nor a member's.
    for certificate in [&own, &meta.certificate("node.example")] {
        let port = meta.server.address().rsplit_once(':').unwrap().1.parse().unwrap();
        let direct = farcall_transport_tls::connect("127.0.0.1", port, Some(certificate), PATIENCE);
        refused(direct.unwrap(), "anna", "that it has joined");
    }
    // So is the refusal written.
    let log = || String::from_utf8(folder.read("node.example.log")).unwrap();
    assert!(eventually(|| log().contains("server:thief.example")), "{}", log());
    drop(node);
}
