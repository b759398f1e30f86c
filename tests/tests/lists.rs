//! Lists of servers that a client uses as one, without a service that knows them: over Unix sockets.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use farcall_client::{
    Address, CallOptions, Client, ConnectOptions, ErrorKind, Result, Routine, ServeOptions,
    ServerPresence,
};
use farcall_tests::{Directory, Server, battery, eventually, library_directory, program};

const PATIENCE: Duration = Duration::from_secs(20);
const NAPS: &str = "Module naps;\nGlobals {\n#include <unistd.h>\n}\n\
    Define nap(IN int milliseconds, OUT int pid) Idempotent { usleep(milliseconds * 1000); \
    *pid = getpid(); }\n";

/// Two servers that know nothing of each other.
struct World {
    folder: Directory,
    servers: Vec<Server>,
    naps: PathBuf,
}

impl World {
    fn new() -> World {
        let folder = Directory::new();
        let naps = folder.write("naps.idl", NAPS);
        let files = [battery(false), naps.clone()];
        let servers = (0..2).map(|_| Server::start_as(Server::command(), &files)).collect();
        // What its routines are linked with.
        let server = folder.write(
            "server",
            &format!(
                "#!/bin/sh\nFARCALL_LIBRARY_DIRECTORY={} exec {} \"$@\"\n",
                library_directory().display(),
                program().display()
            ),
        );
        std::fs::set_permissions(&server, std::fs::Permissions::from_mode(0o700)).unwrap();
        World { folder, servers, naps }
    }

    fn addresses(&self) -> Vec<&str> {
        self.servers.iter().map(Server::address).collect()
    }

    /// A client of these, and of this host's private server, which publishes `files`.
    fn connect(&self, words: &[&str], files: &[PathBuf]) -> Result<Client> {
        let address: Address = words.join(" ").parse()?;
        // It learns in the user's state, which is a test's own here.
        let learned = self.folder.0.join("learned").display().to_string();
        let manifest = self.folder.write(
            "list.toml",
            &format!(
                "[[plugin]]\nname = \"metaserver\"\nslot = \"metaserver\"\n[plugin.options]\n\
                 learned_file = \"{learned}\"\n"
            ),
        );
        let here = ServeOptions {
            program: Some(self.folder.0.join("server")),
            files: files.to_vec(),
            arguments: vec!["--manifest".to_owned(), manifest.display().to_string()],
            timeout: None,
        };
        Client::connect_with(&address, &ConnectOptions { here, ..ConnectOptions::default() })
    }

    fn both(&self) -> Client {
        self.connect(&self.addresses(), &[]).unwrap()
    }
}

fn nap(routine: &Routine, milliseconds: i64) -> String {
    let outputs = routine.call([("milliseconds", milliseconds.into())]).unwrap();
    assert!(outputs.scalar::<i32>("pid").unwrap() > 0);
    outputs.server().to_owned()
}

/// Where each of calls at the same time ran.
fn naps(routine: &Routine, count: usize, milliseconds: i64) -> BTreeSet<String> {
    let start = || routine.start([("milliseconds", milliseconds.into())], &CallOptions::default());
    let calls: Vec<_> = (0..count).map(|_| start().unwrap()).collect();
    calls.into_iter().map(|call| call.wait().unwrap().server().to_owned()).collect()
}

#[test]
fn calls_run_on_the_servers_of_a_list() {
    let world = World::new();
    let names: BTreeSet<String> = world.addresses().into_iter().map(str::to_owned).collect();
    let client = world.both();
    assert_eq!(client.address(), world.addresses().join(" "));
    let routine = client.routine("nap").unwrap();
    assert!(names.contains(&nap(&routine, 1)));
    // How long they take is known once some have run.
    assert!(eventually(|| naps(&routine, 12, 200) == names));
    let known = client.servers(PATIENCE).unwrap();
    let listed: BTreeSet<String> = known.iter().map(|one| one.name.clone()).collect();
    assert_eq!(listed, names, "the private server takes no calls, and is none of them");
    let at = |name: &str| CallOptions { at: Some(name.into()), ..CallOptions::default() };
    for name in &names {
        let outputs = routine.call_with([("milliseconds", 1.into())], &at(name)).unwrap();
        assert_eq!(outputs.server(), name);
    }
    let error = routine.call_with([("milliseconds", 1.into())], &at("here")).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    // What was learned is there for the next program.
    drop((routine, client));
    let learned = std::fs::read_to_string(world.folder.0.join("learned")).unwrap();
    let ran: Vec<&str> = learned.lines().filter(|line| line.starts_with("run\t")).collect();
    assert!(
        names.iter().all(|name| ran.iter().any(|line| line.contains(name.as_str()))),
        "{learned}"
    );
}

#[test]
fn this_host_is_one_of_the_servers() {
    let world = World::new();
    let words: Vec<&str> = world.addresses().into_iter().chain(["here"]).collect();
    let client = world.connect(&words, std::slice::from_ref(&world.naps)).unwrap();
    let routine = client.routine("nap").unwrap();
    let all: BTreeSet<String> = words.iter().map(|word| (*word).to_owned()).collect();
    assert!(eventually(|| naps(&routine, 18, 200) == all));
    let options = CallOptions { at: Some("here".into()), ..CallOptions::default() };
    let outputs = routine.call_with([("milliseconds", 1.into())], &options).unwrap();
    assert_eq!(outputs.server(), "here");
    // What the others alone publish is found, too.
    let f_int = client.routine("f_int").unwrap();
    let outputs = f_int.call([("x", 3.into())]).unwrap();
    assert!(world.addresses().contains(&outputs.server()), "{}", outputs.server());
}

#[test]
fn this_host_alone_is_a_list() {
    let world = World::new();
    let client = world.connect(&["here"], std::slice::from_ref(&world.naps)).unwrap();
    assert_eq!(
        (client.address(), nap(&client.routine("nap").unwrap(), 1)),
        ("here", "here".to_owned())
    );
    let states = client.servers(PATIENCE).unwrap();
    assert_eq!(states.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["here"]);
    let error = client.routine("f_int").err().unwrap();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
}

#[test]
fn who_cannot_be_reached_holds_up_nobody() {
    let world = World::new();
    let nowhere = format!("unix:{}/nobody", world.folder.0.display());
    let first = world.addresses()[0];
    let begun = Instant::now();
    let client = world.connect(&[&nowhere, first], &[]).unwrap();
    assert_eq!(nap(&client.routine("nap").unwrap(), 1), first);
    assert!(begun.elapsed() < PATIENCE);
    let known = client.servers(PATIENCE).unwrap();
    let away = known.iter().find(|one| one.name == nowhere).unwrap();
    assert_eq!(away.presence, ServerPresence::Unreachable);
    assert!(away.note.contains("there is no such socket"), "{}", away.note);
    // Of those of which none is there, each is named.
    let error = world.connect(&[&nowhere, &format!("{nowhere}2")], &[]).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
    assert!(error.to_string().contains(&format!("{nowhere}2")), "{error}");
    // What begins to listen there takes part by and by.
    let mut command = Server::command();
    command.args(["--listen", &nowhere]);
    let _late = Server::start_as(command, std::slice::from_ref(&world.naps));
    let is_up = || {
        let known = client.servers(PATIENCE).unwrap();
        known.iter().any(|one| one.name == nowhere && one.presence == ServerPresence::Up)
    };
    assert!(eventually(is_up));
}

#[test]
fn a_server_that_dies_is_left_out_at_once() {
    let mut world = World::new();
    let client = world.both();
    let routine = client.routine("nap").unwrap();
    let victim = world.servers.remove(0);
    let name = victim.address().to_owned();
    let start = || routine.start([("milliseconds", 500.into())], &CallOptions::default()).unwrap();
    let calls: Vec<_> = (0..4).map(|_| start()).collect();
    victim.kill();
    let left = world.addresses()[0];
    for call in calls {
        assert_eq!(call.wait().unwrap().server(), left, "it may run twice");
    }
    let is_told = || {
        let known = client.servers(PATIENCE).unwrap();
        known.iter().any(|one| one.name == name && one.presence == ServerPresence::Unreachable)
    };
    assert!(eventually(is_told));
    assert_eq!(nap(&routine, 1), left);
}

/// The private server is killed: calls go on at the servers that were named last.
#[test]
fn nothing_is_left_of_a_list_when_its_client_goes() {
    let world = World::new();
    let client = world.both();
    let own = || children().into_iter().filter(|line| line.contains("--of-list")).count();
    assert!(own() > 0);
    let before = own();
    drop(client);
    assert!(eventually(|| own() < before));
}

/// Command lines of what this process has started.
fn children() -> Vec<String> {
    let own = std::process::id().to_string();
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let of_own = all.filter(|entry| {
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let parent = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1));
        parent == Some(own.as_str())
    });
    let line = |entry: std::fs::DirEntry| {
        let bytes = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).replace('\0', " ")
    };
    of_own.map(line).collect()
}

/// The commands of a shell: words in a variable, and as one argument.
#[test]
fn commands_take_lists() {
    let world = World::new();
    let state = world.folder.0.join("state");
    let run = |arguments: &[&str]| {
        let mut command = std::process::Command::new(program());
        command.args(arguments).env("FARCALL_SERVER", world.addresses().join(" "));
        command.env("XDG_STATE_HOME", &state).env("FARCALL_LIBRARY_DIRECTORY", library_directory());
        command.env("FARCALL_LINGER", "0");
        let done = command.output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        (String::from_utf8_lossy(&done.stdout).into_owned(), said)
    };
    let (listed, said) = run(&["servers"]);
    assert!(world.addresses().iter().all(|name| listed.contains(name)), "{listed}{said}");
    let (explained, said) = run(&["explain", "nap", "milliseconds=5"]);
    assert!(explained.contains("chosen") && explained.lines().count() == 3, "{explained}{said}");
    let (called, said) = run(&["call", "nap", "5", "--json"]);
    assert!(called.contains("\"pid\""), "{called}{said}");
    let (_, said) = run(&["servers", "--server", "here htp://b:1"]);
    assert!(said.contains("\"htp://b:1\" is not a server address"), "{said}");
    let (listed, said) = run(&["servers", "--server", "here here"]);
    assert!(listed.contains("here") && listed.lines().count() == 2, "{listed}{said}");
}
