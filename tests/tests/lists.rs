//! Lists of servers that a client uses as one, without a service that knows them: over Unix sockets.

use std::collections::BTreeSet;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use farcall_client::{
    Address, CallOptions, Client, ConnectOptions, ErrorKind, Result, Routine, ServeOptions,
    ServerPresence, ServerState,
};
use farcall_idl::infer::Given;
use farcall_tests::{Directory, Raw, Server, battery, eventually, library_directory, program};
use farcall_wire::Role;

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
        Client::connect_with(&words.join(" ").parse()?, &self.options(files))
    }

    fn options(&self, files: &[PathBuf]) -> ConnectOptions {
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
        ConnectOptions { here, ..ConnectOptions::default() }
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
    assert_eq!(listed, names, "the private server takes no calls, and is not listed");
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

/// One that knows no placement, and one that takes connections and says nothing.
#[test]
fn who_is_older_or_hangs_takes_no_calls() {
    let world = World::new();
    let listen = |name: &str, greeting: Vec<u8>| {
        let path = world.folder.0.join(name);
        let listener = UnixListener::bind(&path).unwrap();
        std::thread::spawn(move || {
            // Those that have come are kept open.
            let mut all = Vec::new();
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let _ = stream.write_all(&greeting);
                all.push(stream);
            }
        });
        format!("unix:{}", path.display())
    };
    let older = listen("older", Raw::greeting(Role::Server));
    let silent = listen("silent", Vec::new());
    let options = ConnectOptions { timeout: Duration::from_secs(2), ..world.options(&[]) };
    let first = world.addresses()[0];
    let address: Address = [&older, &silent, first].join(" ").parse().unwrap();
    let client = Client::connect_with(&address, &options).unwrap();
    assert_eq!(nap(&client.routine("nap").unwrap(), 1), first);
    let noted = |name: &str, words: &str| {
        let known = client.servers(PATIENCE).unwrap();
        let is_it = |one: &&ServerState| one.name == name && one.note.contains(words);
        known.iter().find(is_it).is_some_and(|one| one.presence == ServerPresence::Unreachable)
    };
    assert!(noted(&older, "older version of Farcall"));
    assert!(eventually(|| noted(&silent, "did not answer the greeting")));
}

/// A routine of which the servers have two versions: the one that more have, and the other by its
/// hash.
#[test]
fn the_version_that_more_servers_have_is_called() {
    let mut world = World::new();
    let other = NAPS.replace("OUT int pid", "OUT long pid").replace("Idempotent", "");
    let other = world.folder.write("other.idl", &other);
    world.servers.push(Server::start_as(Server::command(), &[other]));
    let third = world.addresses()[2].to_owned();
    let client = world.both();
    let routine = client.routine("nap").unwrap();
    assert_ne!(nap(&routine, 1), third);
    let explained = client.explain(&routine, &[Given::Unset, Given::Unset], PATIENCE).unwrap();
    let excluded = explained.servers.iter().find(|one| one.name == third).unwrap();
    assert!(excluded.note.contains("another version"), "{}", excluded.note);
    let direct = world.servers[2].client().routine("nap").unwrap();
    let hash: String = direct.contract().iter().map(|byte| format!("{byte:02x}")).collect();
    let routine = client.routine(&format!("naps@{}/nap", &hash[..8])).unwrap();
    let outputs = routine.call([("milliseconds", 1.into())]).unwrap();
    assert_eq!(outputs.server(), third);
}

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
    let command = |arguments: &[&str]| {
        let mut command = std::process::Command::new(program());
        command.args(arguments).env("FARCALL_SERVER", world.addresses().join(" "));
        command.env("XDG_STATE_HOME", &state).env("FARCALL_LIBRARY_DIRECTORY", library_directory());
        command.env("FARCALL_LINGER", "1").stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let run = |arguments: &[&str]| {
        let done = command(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        (String::from_utf8_lossy(&done.stdout).into_owned(), said)
    };
    let (listed, said) = run(&["servers"]);
    assert!(world.addresses().iter().all(|name| listed.contains(name)), "{listed}{said}");
    let (explained, said) = run(&["explain", "nap", "milliseconds=5"]);
    assert!(explained.contains("chosen") && explained.lines().count() == 3, "{explained}{said}");
    let (called, said) = run(&["call", "nap", "5", "--json"]);
    assert!(called.contains("\"pid\""), "{called}{said}");
    // Those that are run at the same time share a private server, which one of them begins.
    let calls: Vec<_> = (0..6).map(|_| command(&["call", "nap", "100"]).spawn().unwrap()).collect();
    for call in calls {
        let done = call.wait_with_output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
    // The private server is not one of these, and is not to run calls.
    let (_, said) = run(&["publish", world.naps.to_str().unwrap()]);
    assert!(said.contains("has no here") && said.contains("name one of the servers"), "{said}");
    let (_, said) = run(&["servers", "--server", "here htp://b:1"]);
    assert!(said.contains("\"htp://b:1\" is not a server address"), "{said}");
    let (listed, said) = run(&["servers", "--server", "here here"]);
    assert!(listed.contains("here") && listed.lines().count() == 2, "{listed}{said}");
}
