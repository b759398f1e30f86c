//! Servers that report what is not so, or behave otherwise than they say: calls go on, and run where
//! they should.

use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use farcall_client::idl::encode::encode_interface;
use farcall_client::{Argument, Client, ConnectOptions, Routine, ServerPresence, ServerState};
use farcall_tests::{Directory, Raw, Server, Transport, battery, eventually, objects};
use farcall_wire::{
    FrameKind, InterfaceReply, OfferedRoutine, PlaceQuestion, RanCall, Request, ServerReport,
};

const PATIENCE: Duration = Duration::from_secs(20);
/// Time for a server that says nothing: the client then takes the next one.
const SHORT: Duration = Duration::from_millis(500);

/// A metaserver with one honest server.
struct World {
    meta: Server,
    honest: Server,
    folder: Directory,
}

impl World {
    fn new() -> World {
        let folder = Directory::new();
        let nothing = folder
            .write("nothing.idl", "Module nothing;\nDefine nothing(OUT int one) { *one = 1; }\n");
        let meta = Server::start(Transport::Unix, &[nothing], &[]);
        let honest = joined(Server::command(), &[battery(false)], &meta);
        let world = World { meta, honest, folder };
        let published = world.honest.client().routines().unwrap().len() as u64;
        assert!(eventually(|| world.routines_of(world.honest.address()) == Some(published)));
        assert!(eventually(|| world.meta.client().routine("f_int").is_ok()));
        world
    }

    /// Of a server that is there.
    fn routines_of(&self, name: &str) -> Option<u64> {
        let known = self.meta.client().servers(PATIENCE).unwrap();
        let one = known.iter().find(|one| one.name == name)?;
        (one.presence == ServerPresence::Up).then_some(one.routines)
    }

    /// A client that waits for nobody for long.
    fn hasty(&self) -> Client {
        let options = ConnectOptions { timeout: SHORT, ..ConnectOptions::default() };
        let address = self.meta.address().parse().unwrap();
        // A busy machine may not greet in time.
        let mut client = None;
        assert!(eventually(|| {
            client = Client::connect_with(&address, &options).ok();
            client.is_some()
        }));
        client.unwrap()
    }

    /// Calls give their results, and run on the honest server alone.
    fn calls_run_as_they_should(&self, client: &Client, count: i64) {
        let f_int = client.routine("f_int").unwrap();
        for x in 0..count {
            let outputs = f_int.call([("x", x.into())]).unwrap();
            assert_eq!(i64::from(outputs.scalar::<i32>("r").unwrap()), 2 * x);
            assert_eq!(outputs.server(), self.honest.address());
        }
    }

    /// A server says that it is idle and faster than all; it would be chosen for the next call.
    fn boasts(&self, liar: &Client, name: &str) {
        let f_int = liar.routine("f_int").unwrap();
        self.calls_run_as_they_should(&self.meta.client(), 20);
        let explain = || liar.explain_call(&f_int, &[1.into(), Argument::Unset]).unwrap();
        let demand = explain().demand;
        let ran = RanCall {
            routine: farcall_placement::routine_hash("battery/f_int", &f_int.contract()),
            sizes: demand.sizes,
            amount: demand.amount(),
            threads: 1,
            seconds: 1e-9,
            waited_s: 0.0,
            grant: None,
        };
        let report = ServerReport { runs: vec![ran; 20], ..boast(name, name, &f_int) };
        liar.report(report, PATIENCE).unwrap();
        let explained = explain();
        assert_eq!(explained.servers[0].name, name, "the test tests nothing: {explained:?}");
    }
}

fn joined(mut command: std::process::Command, files: &[PathBuf], meta: &Server) -> Server {
    command.args(["--join", meta.address()]);
    Server::start_as(command, files)
}

/// What a server would say that has this routine, is idle, and has all processors there are.
fn boast(name: &str, address: &str, routine: &Routine) -> ServerReport {
    let interface = routine.interface();
    let full_name = interface.full_name();
    let contract = routine.contract();
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    ServerReport {
        name: name.to_owned(),
        addresses: vec![address.to_owned()],
        host: host.trim_end().to_owned(),
        instance: [9; 16],
        processors: 1_000_000,
        revision: 1,
        offers: Some(vec![OfferedRoutine {
            name: full_name.clone(),
            contract,
            in_jobs: false,
            hops: None,
        }]),
        interfaces: Some(vec![InterfaceReply {
            name: full_name,
            interface: encode_interface(interface),
            contract,
            is_placed: None,
        }]),
        warm: vec![interface.module.clone()],
        speed: Some(1e18),
        product: "farcall 99".to_owned(),
        ..ServerReport::default()
    }
}

/// It takes connections and says nothing: a call waits for it once, and goes elsewhere.
#[test]
fn a_server_that_accepts_and_never_answers_costs_no_call() {
    let world = World::new();
    let path = world.folder.0.join("mute.sock");
    let _mute = UnixListener::bind(&path).unwrap();
    let name = format!("unix:{}", path.display());
    let liar = world.meta.client();
    world.boasts(&liar, &name);
    world.calls_run_as_they_should(&world.hasty(), 20);
}

/// Its routines are none, and its 10^6 processors are as many as there may be.
#[test]
fn a_server_that_claims_routines_that_it_lacks_costs_no_call() {
    let world = World::new();
    let other = Server::start(Transport::Unix, &[objects()], &[]);
    let liar = world.meta.client();
    world.boasts(&liar, other.address());
    let known = liar.servers(PATIENCE).unwrap();
    let claimed = known.iter().find(|one| one.name == other.address()).unwrap();
    assert_eq!(claimed.processors, 65_536);
    world.calls_run_as_they_should(&world.meta.client(), 40);
}

/// It comes and goes ten times a second.
#[test]
fn a_server_that_flaps_costs_no_call() {
    let world = World::new();
    let name = format!("unix:{}", world.folder.0.join("nobody.sock").display());
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let flaps = scope.spawn(|| {
            let mut times = 0;
            while !over.load(Ordering::Relaxed) || times < 10 {
                let liar = world.meta.client();
                let report = boast(&name, &name, &liar.routine("f_int").unwrap());
                liar.report(report, PATIENCE).unwrap();
                std::thread::sleep(Duration::from_millis(50));
                drop(liar);
                std::thread::sleep(Duration::from_millis(50));
                times += 1;
            }
        });
        let client = world.meta.client();
        (0..40).for_each(|_| {
            world.calls_run_as_they_should(&client, 5);
            std::thread::sleep(Duration::from_millis(20));
        });
        over.store(true, Ordering::Relaxed);
        flaps.join().unwrap();
    });
    assert!(eventually(|| world.routines_of(&name).is_none()));
}

/// What is no report ends the connection that it came on, or is refused; nothing else changes.
#[test]
fn garbage_in_place_of_a_report_costs_no_call() {
    let world = World::new();
    let liar = world.meta.client();
    let report = boast("unix:/liar", "unix:/liar", &liar.routine("f_int").unwrap());
    let good = farcall_wire::message::encode(&Request::Report(Box::new(report)));
    let mut random = farcall_base::SeededRandom::new(25);
    for _ in 0..100 {
        use farcall_base::Random as _;
        let mut bad = good.clone();
        for _ in 0..=random.next() % 4 {
            let at = (random.next() % bad.len() as u64) as usize;
            bad[at] = random.next() as u8;
        }
        bad.truncate(1 + (random.next() % (2 * bad.len() as u64)) as usize);
        let mut raw = Raw::greeted(&world.meta);
        raw.send(&Raw::framed(request_header(1, bad.len()), &bad));
        // It answers, or says goodbye.
        let answer = raw.frame();
        assert!(answer.is_some() || raw.goodbye().is_none());
    }
    world.calls_run_as_they_should(&world.meta.client(), 20);
}

fn request_header(channel: u32, length: usize) -> farcall_wire::FrameHeader {
    let channel = farcall_base::ChannelId(channel);
    farcall_wire::FrameHeader::new(FrameKind::Request, channel, length as u32)
}

/// Questions without end, of somebody who reads no answer: what waits for him is bounded, and others
/// are answered.
#[test]
fn questions_without_end_that_nobody_reads_keep_nobody_waiting() {
    let world = World::new();
    let f_int = world.meta.client().routine("f_int").unwrap();
    let question = PlaceQuestion {
        name: f_int.interface().full_name(),
        contract: f_int.contract(),
        calls: 1,
        host: "h".to_owned(),
        explains: true,
        ..PlaceQuestion::default()
    };
    let body = farcall_wire::message::encode(&Request::Place(Box::new(question)));
    let asked = std::sync::atomic::AtomicUsize::new(0);
    const QUESTIONS: usize = 200_000;
    std::thread::scope(|scope| {
        let mut raw = Raw::greeted(&world.meta);
        rustix::net::sockopt::set_socket_timeout(
            raw.socket(),
            rustix::net::sockopt::Timeout::Send,
            Some(Duration::from_secs(2)),
        )
        .unwrap();
        let asked = &asked;
        let asks = scope.spawn(move || {
            for number in 0..QUESTIONS as u32 {
                let frame = Raw::framed(request_header(2 * number + 1, body.len()), &body);
                if !raw.try_send(&frame) {
                    return;
                }
                asked.fetch_add(1, Ordering::Relaxed);
            }
        });
        let client = world.meta.client();
        while !asks.is_finished() {
            world.calls_run_as_they_should(&client, 20);
        }
        asks.join().unwrap();
    });
    let asked = asked.into_inner();
    assert!(asked < QUESTIONS, "all of {asked} questions were taken, and no answer was read");
    world.calls_run_as_they_should(&world.meta.client(), 20);
}

const FIRST: &str = "Module twice;\nDefine twice(IN int x, OUT int r) { *r = 2 * x; }\n";
const SECOND: &str = "Module twice;\nDefine twice(IN int x, OUT int r, OUT int version) \
                      { *r = 2 * x; *version = 2; }\n";

/// Of two versions of an interface, a program gets the one that more servers have, and its calls run
/// on these.
#[test]
fn of_two_versions_of_an_interface_calls_run_where_theirs_is() {
    let world = World::new();
    let first = world.folder.write("twice.idl", FIRST);
    let folder = Directory::new();
    let second = folder.write("twice.idl", SECOND);
    let old = joined(Server::command(), &[first], &world.meta);
    let new = [0, 1].map(|_| joined(Server::command(), std::slice::from_ref(&second), &world.meta));
    for server in [&old, &new[0], &new[1]] {
        assert!(eventually(|| world.routines_of(server.address()) == Some(1)));
    }
    // A program keeps the version that it found first.
    let mut client = world.meta.client();
    let has_second = || {
        client = world.meta.client();
        client.routine("twice").is_ok_and(|it| it.interface().parameters.len() == 3)
    };
    assert!(eventually(has_second), "the version of more servers is the default");
    let twice = client.routine("twice").unwrap();
    for x in 0..30_i64 {
        let outputs = twice.call([("x", x.into())]).unwrap();
        assert_eq!(i64::from(outputs.scalar::<i32>("r").unwrap()), 2 * x);
        assert_eq!(outputs.scalar::<i32>("version").unwrap(), 2);
        assert!(new.iter().any(|server| server.address() == outputs.server()));
    }
    let explained =
        client.explain_call(&twice, &[1.into(), Argument::Unset, Argument::Unset]).unwrap();
    let other = explained.servers.iter().find(|one| one.name == old.address()).unwrap();
    assert!(other.excluded, "{other:?}");
    assert_eq!(other.note, "publishes another version of twice/twice");
}

/// The system's clock of a server is a day ahead and jumps an hour at each look.
const CLOCK: &str = "#define _GNU_SOURCE\n#include <sys/syscall.h>\n#include <time.h>\n\
#include <unistd.h>\n\
int clock_gettime(clockid_t clock, struct timespec *time)\n{\n\
    static _Atomic int looks;\n\
    int done = (int)syscall(SYS_clock_gettime, clock, time);\n\
    if (clock == CLOCK_REALTIME)\n\
        time->tv_sec += 86400 + (++looks % 2 ? 3600 : -3600);\n\
    return done;\n}\n";

/// Where clocks of hosts differ or jump, nothing changes: times are those of a clock that only goes
/// forward, and none is told as a time of day.
#[test]
fn clocks_that_are_a_day_off_and_jump_change_nothing() {
    let world = World::new();
    let source = world.folder.write("clock.c", CLOCK);
    let library = world.folder.0.join("clock.so");
    let mut compiler = std::process::Command::new("cc");
    compiler.args(["-std=gnu11", "-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source);
    assert!(compiler.status().unwrap().success());
    let mut command = Server::command();
    command.env("LD_PRELOAD", &library);
    let off = joined(command, &[battery(false)], &world.meta);
    let clock_us = off.client().status(PATIENCE).unwrap().clock_us.unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    assert!(clock_us / 1_000_000 > now.as_secs() + 80_000, "its clock is off");
    let published = off.client().routines().unwrap().len() as u64;
    assert!(eventually(|| world.routines_of(off.address()) == Some(published)));
    let client = world.meta.client();
    let f_int = client.routine("f_int").unwrap();
    let ran = |x: i64| {
        let outputs = f_int.call([("x", x.into())]).unwrap();
        assert_eq!(i64::from(outputs.scalar::<i32>("r").unwrap()), 2 * x);
        outputs.server().to_owned()
    };
    assert!(eventually(|| (0..20).map(ran).any(|server| server == off.address())));
    for server in client.servers(PATIENCE).unwrap() {
        assert_eq!(server.presence, ServerPresence::Up, "{server:?}");
        assert!(server.silent_us < 60_000_000, "{server:?}");
    }
    let explained = client.explain_call(&f_int, &[1.into(), Argument::Unset]).unwrap();
    let there = explained.servers.iter().find(|one| one.name == off.address()).unwrap();
    assert!(there.run_s < 60.0 && there.wait_s < 60.0, "{there:?}");
}

/// Sizes that no computer has, as somebody may ask about them.
#[test]
fn sizes_that_overflow_are_explained_as_errors() {
    let world = World::new();
    for sizes in [
        &["transpose", "m=2147483647", "n=2147483647"][..],
        &["touch", "n=9223372036854775807"],
        &["touch", "n=-1"],
        &["swap_double", "n=4611686018427387904"],
    ] {
        let output = world.meta.run(&[&["explain"], sizes].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(!said.contains("panicked"), "{said}");
        // What is too large for any call is an error that says so.
        let is_named =
            ["overflows 63 bits", "negative", "bytes"].iter().any(|it| said.contains(it));
        assert!(output.status.success() || is_named, "{sizes:?}: {said}");
        assert!(!shown.contains("NaN") && !shown.contains("inf"), "{shown}");
    }
    world.calls_run_as_they_should(&world.meta.client(), 5);
}

/// The disk of the file that keeps what was learned is full: the server serves on, and the next one
/// reads what is there.
#[test]
fn a_full_disk_under_the_learned_file_costs_what_was_to_be_learned() {
    const LIMIT: u64 = 4 << 20;
    let folder = Directory::new();
    let learned = folder.0.join("learned");
    let lesson = farcall_placement_line();
    let mut text = String::from("farcall learned 1\n");
    while ((text.len() + lesson.len()) as u64) < LIMIT - 40 {
        text.push_str(&lesson);
    }
    std::fs::write(&learned, &text).unwrap();
    let manifest = folder.write(
        "farcall.toml",
        &format!(
            "{}[[plugin]]\nname = \"metaserver\"\nslot = \"metaserver\"\n[plugin.options]\n\
             learned_file = {learned:?}\n",
            farcall_tests::manifest("")
        ),
    );
    let options = ["--manifest", manifest.to_str().unwrap()];
    let nothing =
        folder.write("nothing.idl", "Module nothing;\nDefine nothing(OUT int one) { *one = 1; }\n");
    let fsize = format!("--fsize={LIMIT}:{LIMIT}");
    let files = [nothing];
    let start = |wrapper: &[&str]| {
        Server::start_within(wrapper, Transport::Unix, &files, &options).unwrap()
    };
    let calls = |meta: &Server| {
        let honest = joined(Server::command(), &[battery(false)], meta);
        let count = honest.client().routines().unwrap().len() as u64;
        let other = meta.client();
        let is_up = |one: &ServerState| one.name == honest.address() && one.routines == count;
        assert!(eventually(|| other.servers(PATIENCE).unwrap().iter().any(is_up)));
        assert!(eventually(|| meta.client().routine("f_int").is_ok()));
        let f_int = meta.client().routine("f_int").unwrap();
        for x in 0..50_i64 {
            let outputs = f_int.call([("x", x.into())]).unwrap();
            assert_eq!(i64::from(outputs.scalar::<i32>("r").unwrap()), 2 * x);
            assert_eq!(outputs.server(), honest.address());
        }
    };
    let length = || std::fs::metadata(&learned).unwrap().len();
    let meta = start(&["prlimit", &fsize]);
    calls(&meta);
    // What it learned has come once the file has no room left.
    assert!(eventually(|| length() > text.len() as u64), "nothing was learned");
    assert!(length() <= LIMIT);
    calls(&meta);
    drop(meta);
    // With room again, what is learned is added behind the line that was cut off.
    let before = length();
    let meta = start(&["env"]);
    calls(&meta);
    assert!(eventually(|| length() > before), "nothing was learned");
    drop(meta);
    let now = std::fs::read_to_string(&learned).unwrap();
    assert!(now.starts_with(&text), "what was there stays");
    // One line was cut off, and those behind it are whole.
    let (_, cut) = farcall_placement::read_lessons(&now, 1 << 20).unwrap();
    assert!(cut <= 1, "{cut} lines are damaged");
}

/// A line of the file that keeps what was learned.
fn farcall_placement_line() -> String {
    let work = farcall_placement::Work { amount: 1e9, sizes: 7, threads: 1 };
    let server = "tls://b:1".to_owned();
    farcall_placement::Lesson::Run { server, contract: [1; 32], work, seconds: 1.0 }.line()
}
