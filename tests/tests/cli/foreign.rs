//! A server that writes what a terminal would obey into every text of every message: no command
//! passes any of it on.

mod kept;

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};

use farcall_base::{CallId, ChannelId, ErrorKind, ObjectId, is_obeyed};
use farcall_client::{CallOptions, Client, Order};
use farcall_idl::encode::{contract_hash, encode_interface};
use farcall_idl::interface::{ElementType, Interface, Mode, Parameter, Shape, StructType};
use farcall_tests::{PATIENCE, Raw};
use farcall_wire::message::encode;
use farcall_wire::{
    ByteOrder, CallResult, CallTimes, Failure, Flags, FrameHeader, FrameKind, Goodbye,
    HEADER_BYTES, Hello, HelloLimits, InterfaceReply, JobStatus, KeptCall, KeptNote, KeptState,
    ModuleReport, ModuleStatus, Notice, ObjectState, ObjectStatus, OpenCall, PREFACE, PlaceAnswer,
    PlacedServer, Reply, Request, Role, ServerState, Stage, Status, Totals, Use, padding,
};

use crate::cli::Shell;
use crate::cli::terminal::{on_terminal, shown_by, verbs};

/// Renames the window, clears the screen, turns the direction of writing, begins another line; and
/// what is seen of it.
const MARK: &str =
    "M\x1b]0;RENAMED\x07\x1b[2J\u{9b}31m\u{7f}\u{202e}\u{2066}\u{200e}\u{200b}\u{2028}\u{e0041}N";

fn marked(text: &str) -> String {
    format!("{text}{MARK}")
}

fn failure(kind: ErrorKind) -> Failure {
    Failure {
        kind: kind.code(),
        operation: marked("try\n"),
        message: marked("it fails\n"),
        fix: Some(marked("give up")),
        context: vec![(marked("key\n"), marked("value"))],
        retryable: false,
    }
}

fn parameter(name: &str) -> Parameter {
    Parameter {
        doc: marked("a number\n\t"),
        unit: marked("m"),
        ..Parameter::scalar(marked(name), Mode::In, ElementType::Int32)
    }
}

fn interface() -> Interface {
    let callback =
        Parameter { shape: Shape::Callback { parameters: vec![parameter("x")] }, ..parameter("f") };
    Interface {
        module: marked("peer"),
        name: marked("routine"),
        aliases: vec![marked("alias")],
        doc: marked("What it does.\n\nMore of it:"),
        structs: vec![
            StructType::lay_out(&marked("point"), vec![(marked("x"), ElementType::Float64, 1)])
                .unwrap(),
        ],
        parameters: vec![parameter("n"), callback],
        idempotent: true,
        complexity: None,
        processors: None,
        resources: Default::default(),
        class: String::new(),
        class_doc: marked("peer class\n"),
    }
}

fn interface_reply() -> InterfaceReply {
    let interface = interface();
    InterfaceReply {
        name: marked("peer/routine"),
        interface: encode_interface(&interface),
        contract: contract_hash(&interface),
        is_placed: None,
    }
}

fn kept() -> Vec<KeptCall> {
    vec![KeptCall {
        id: CallId([7; 16]),
        routine: marked("peer/routine\n"),
        state: KeptState::Running,
        bytes: u64::MAX,
        left_us: u64::MAX,
        durable: true,
        principal: marked("anna\n"),
        note: Some(KeptNote {
            submitted_us: u64::MAX,
            arguments: marked("n=1\n"),
            label: marked("case\n"),
        }),
    }]
}

const MOST: u64 = u64::MAX;

fn object_status() -> ObjectStatus {
    ObjectStatus {
        id: ObjectId([3; 16]),
        principal: marked("anna"),
        name: marked("peer/Class\n"),
        state: ObjectState::Ended,
        calls: MOST,
        waiting: MOST,
        age_ns: MOST,
        lease_left_ns: Some(MOST),
        pid: Some(u32::MAX),
        reason: Some(marked("why\n")),
    }
}

fn status() -> Status {
    Status {
        product: marked("farcall 9\n"),
        up_ns: MOST,
        draining: true,
        calls: vec![OpenCall {
            id: CallId([1; 16]),
            principal: marked("anna\n"),
            peer: marked("10.0.0.1"),
            routine: marked("peer/routine"),
            stage: Stage::Running,
            age_ns: MOST,
        }],
        calls_open: MOST,
        uses: vec![Use {
            principal: marked("anna"),
            routine: marked("peer/routine\n"),
            begun: MOST,
            returned: MOST,
            failed: vec![(12, MOST), (999, MOST)],
            bytes_in: MOST,
            bytes_out: MOST,
            durations: vec![MOST; 20],
            duration_ns: MOST,
            running_ns: MOST,
        }],
        modules: vec![
            ModuleStatus {
                module: marked("peer"),
                waiting: MOST,
                starting: MOST,
                idle: MOST,
                busy: MOST,
                ending: MOST
            };
            3
        ],
        totals: Some(Totals {
            clients: MOST,
            memory_used: MOST,
            memory_held: MOST,
            ..Totals::default()
        }),
        clock_us: Some(MOST),
        objects: vec![object_status()],
        objects_held: MOST,
        kept: Some(kept()),
        jobs: Some(vec![JobStatus {
            number: MOST,
            launcher: marked("slurm"),
            id: marked("17\n"),
            state: marked("pending"),
            text: marked("it waits\n"),
            slots: u32::MAX,
            running: u32::MAX,
            hosts: vec![marked("node1")],
            age_us: MOST,
        }]),
        own: Some(true),
        processors: None,
    }
}

/// How a server is.
#[derive(Clone, Copy, PartialEq)]
enum Manner {
    /// It does what it is asked for.
    Does,
    Fails,
    /// It is of a version that knows no data.
    Old,
}

fn answer(request: &Request, manner: Manner) -> Reply {
    let report = || ModuleReport {
        module: marked("peer"),
        routines: u32::MAX,
        warnings: marked("careful\n"),
        failure: Some(failure(ErrorKind::InvalidSource)),
    };
    match request {
        _ if manner == Manner::Fails => Reply::Failed(failure(ErrorKind::NotFound)),
        Request::Interface(_) => Reply::Interface(interface_reply()),
        Request::List => Reply::List(vec![interface_reply()]),
        Request::Administer(_) => {
            Reply::Modules(vec![report(), ModuleReport { failure: None, ..report() }])
        }
        Request::Status => Reply::Status(Box::new(status())),
        Request::Kept => Reply::Kept(kept()),
        Request::Data(_) => Reply::Data(kept::data()),
        Request::Transaction(request) => kept::answer(request),
        Request::Servers(..) => Reply::Servers(vec![known()]),
        Request::Place(_) => Reply::Placed(Box::new(placed())),
        _ => Reply::Done,
    }
}

fn known() -> ServerState {
    ServerState {
        name: marked("tls://b:1\n"),
        addresses: vec![marked("tls://b:1\n")],
        load: f64::NAN,
        busy: f64::INFINITY,
        silent_us: u64::MAX,
        sends_at: Some(f64::NAN),
        latency_s: Some(-1e300),
        product: marked("farcall 9\n"),
        note: marked("slow\n"),
        ..ServerState::default()
    }
}

fn placed() -> PlaceAnswer {
    let server = PlacedServer {
        name: marked("tls://b:1\n"),
        addresses: vec![marked("tls://b:1\n")],
        host: marked("b\n"),
        wait_s: f64::NAN,
        run_s: f64::INFINITY,
        send_s: -1e300,
        note: marked("slow\n"),
        ..PlacedServer::default()
    };
    let excluded = PlacedServer { excluded: true, ..server.clone() };
    let servers = vec![server, excluded];
    PlaceAnswer { servers, metaservers: vec![marked("unix:x\n")], ..PlaceAnswer::default() }
}

fn hello(manner: Manner) -> Vec<u8> {
    let known = ["administration", "status", "objects", "urls", "resume", "placement"];
    let newer: &[&str] = if manner == Manner::Old { &[] } else { &["data", "transactions"] };
    let hello = Hello {
        role: Role::Server,
        byte_order: ByteOrder::NATIVE,
        product: marked("farcall 9"),
        features: known
            .iter()
            .chain(newer)
            .map(|feature| (*feature).to_owned())
            .chain([marked("feature")])
            .collect(),
        limits: HelloLimits::default(),
        host: marked("host"),
        principal: Some(marked("anna")),
        token: None,
        attributes: Vec::new(),
    };
    [PREFACE.to_vec(), Raw::encoded(FrameKind::Hello, 0, &hello)].concat()
}

/// What a call is told, and how it ends.
fn outcome(channel: u32) -> Vec<u8> {
    let notices = [
        Notice::Queued(u32::MAX),
        Notice::Progress(f64::NAN, marked("waiting\n")),
        Notice::Started,
        Notice::Progress(f64::INFINITY, marked("step\n")),
        Notice::Output(1, marked("said\n").into_bytes()),
        Notice::Output(2, marked("complained\n").into_bytes()),
    ];
    let result = CallResult {
        failure: Some(failure(ErrorKind::RoutineFailed)),
        results: Vec::new(),
        times: CallTimes::default(),
        attributes: None,
    };
    let mut bytes = Vec::new();
    let mut add = |kind, body: Vec<u8>, sequence, flags| {
        let header = FrameHeader::new(kind, ChannelId(channel), body.len() as u32);
        bytes.extend(Raw::framed(FrameHeader { sequence, flags, ..header }, &body));
    };
    for (sequence, notice) in notices.iter().enumerate() {
        add(FrameKind::Notice, encode(notice), sequence as u32, Flags::default());
    }
    add(FrameKind::Result, encode(&result), notices.len() as u32, Flags::END);
    bytes
}

fn serve_one(mut stream: UnixStream, manner: Manner) -> Option<()> {
    stream.write_all(&hello(manner)).ok()?;
    stream.read_exact(&mut [0; PREFACE.len()]).ok()?;
    loop {
        let mut header = [0; HEADER_BYTES];
        stream.read_exact(&mut header).ok()?;
        let header = FrameHeader::decode(&header);
        let mut body = vec![0; header.length as usize + padding(header.length)];
        stream.read_exact(&mut body).ok()?;
        body.truncate(header.length as usize);
        match FrameKind::from_code(header.kind)? {
            FrameKind::Ping => stream.write_all(&Raw::framed(
                FrameHeader::new(FrameKind::Pong, ChannelId(0), body.len() as u32),
                &body,
            )),
            FrameKind::Request => {
                let reply = match farcall_wire::message::decode("Request", &body) {
                    Ok(request) => answer(&request, manner),
                    Err(error) => Reply::Failed((&error).into()),
                };
                stream.write_all(&Raw::encoded(FrameKind::Reply, header.channel.0, &reply))
            }
            FrameKind::Open => stream.write_all(&outcome(header.channel.0)),
            FrameKind::Goodbye => return None,
            // Whoever takes a call up again is sent away, which is the last message that has a
            // text.
            FrameKind::Resume => {
                let goodbye = Goodbye { failure: Some(failure(ErrorKind::ShuttingDown)) };
                return stream.write_all(&Raw::encoded(FrameKind::Goodbye, 0, &goodbye)).ok();
            }
            _ => Ok(()),
        }
        .ok()?;
    }
}

/// Serves until the test is over.
fn serve(shell: &Shell, name: &str, manner: Manner) -> String {
    let path = shell.path(name);
    let listener = UnixListener::bind(&path).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            std::thread::spawn(move || serve_one(stream, manner));
        }
    });
    format!("unix:{}", path.display())
}

/// How each command asks a server. A command that asks none has no arguments here.
const COMMANDS: [(&str, &[&[&str]]); 33] = [
    ("ls", &[&["ls"], &["ls", "--json"]]),
    (
        "show",
        &[&["show", "routine"], &["show", "routine", "--json"], &["show", "routine", "--idl"]],
    ),
    (
        "call",
        &[
            &["call", "routine", "1"],
            &["call", "routine", "1", "--json"],
            &["call", "routine", "1", "--progress"],
        ],
    ),
    ("submit", &[&["submit", "routine", "1"]]),
    ("fetch", &[&["fetch", "07070707070707070707070707070707"]]),
    (
        "kept",
        &[
            &["kept"],
            &["kept", "--json"],
            &["kept", "--forget", "07070707070707070707070707070707"],
        ],
    ),
    (
        "data",
        &[
            &["data"],
            &["data", "--json"],
            &["data", "--delete", "07070707070707070707070707070707"],
        ],
    ),
    (
        "transactions",
        &[
            &["transactions"],
            &["transactions", "--json"],
            &["transactions", "0707"],
            &["transactions", "0707", "--json"],
            &["transactions", "0707", "--results"],
            &["transactions", "0707", "--results", "--json"],
            &["transactions", "--end", "0707"],
        ],
    ),
    ("publish", &[&["publish", "lapack"], &["publish", "lapack", "--json"]]),
    ("withdraw", &[&["withdraw", "peer"], &["withdraw", "peer", "--json"]]),
    ("reload", &[&["reload"], &["reload", "peer", "--json"]]),
    ("drain", &[&["drain"], &["drain", "--json"]]),
    (
        "top",
        &[
            &["top", "--once", "--interval", "0.01"],
            &["top", "--once", "--json", "--interval", "0.01"],
        ],
    ),
    (
        "objects",
        &[
            &["objects"],
            &["objects", "--json"],
            &["objects", "--delete", "03030303030303030303030303030303"],
        ],
    ),
    ("jobs", &[&["jobs"], &["jobs", "--json"], &["jobs", "--cancel", "1"]]),
    ("doctor", &[&["doctor"], &["doctor", "--json"]]),
    ("servers", &[&["servers"], &["servers", "--json"]]),
    ("explain", &[&["explain", "routine", "n=1"], &["explain", "routine", "n=1", "--json"]]),
    ("serve", &[]),
    ("config", &[]),
    ("connect", &[]),
    ("launch", &[]),
    ("service", &[]),
    ("ca", &[]),
    ("check", &[]),
    ("fmt", &[]),
    ("scan", &[]),
    ("sim", &[]),
    ("run", &[]),
    ("ng", &[]),
    ("completions", &[]),
    ("man", &[]),
    ("help", &[]),
];

#[test]
fn no_text_of_a_server_is_obeyed_by_a_terminal() {
    let shell = Shell::new();
    let known: Vec<&str> = COMMANDS.iter().map(|(verb, _)| *verb).collect();
    for verb in verbs(&shell) {
        assert!(
            known.contains(&verb.as_str()),
            "{verb} is new: say here how it asks a server, or that it asks none"
        );
    }
    let mut marks = 0;
    for (name, manner) in [("does.sock", Manner::Does), ("fails.sock", Manner::Fails)] {
        let address = serve(&shell, name, manner);
        for arguments in COMMANDS.iter().flat_map(|(_, all)| *all) {
            let arguments = [*arguments, &["--server", &address]].concat();
            let (text, status) = on_terminal(&shell, &arguments, &[("NO_COLOR", "1")]);
            let obeyed: Vec<char> =
                text.chars().filter(|c| is_obeyed(*c) && !"\r\n\t".contains(*c)).collect();
            assert!(obeyed.is_empty(), "{arguments:?} wrote {obeyed:?}: {text:?}");
            assert!(!text.contains("panicked") && status != 101, "{arguments:?}: {text:?}");
            marks += text.matches("RENAMED").count();
            // Elsewhere text is as printable, but for what a routine wrote, which is a program's
            // own.
            let piped = shell.run(&arguments);
            let is_call = ["call", "submit", "fetch"].contains(&arguments[0]);
            for output in [&piped.out, &piped.err] {
                let obeyed = output.chars().any(|c| is_obeyed(c) && !"\n\t".contains(c));
                assert!(is_call || !obeyed, "{arguments:?} wrote {output:?}");
            }
            if arguments.contains(&"--json") && piped.code == 0 {
                serde_json::from_str::<serde_json::Value>(&piped.out)
                    .unwrap_or_else(|error| panic!("{error}: {arguments:?} {}", piped.out));
            }
        }
    }
    // They are shown, and not left out.
    assert!(marks > 60, "{marks}");
}

#[test]
fn an_older_server_knows_neither_data_nor_transactions_and_that_is_said() {
    let shell = Shell::new();
    let address = serve(&shell, "old.sock", Manner::Old);
    for words in [&["data"][..], &["data", "--json"], &["data", "--delete", "all"]] {
        let arguments = [words, &["--server", &address]].concat();
        shell.bad(
            &arguments,
            1,
            &["this server does not keep data", &address, "start a newer version of Farcall"],
        );
    }
    let arguments = ["transactions", "--server", &address];
    shell.bad(&arguments, 1, &["too old for transactions", "start a newer version of Farcall"]);
}

#[test]
fn no_text_that_the_client_hands_out_is_obeyed() {
    let shell = Shell::new();
    let address = serve(&shell, "client.sock", Manner::Does).parse().unwrap();
    let client = Client::connect_to(&address, None, PATIENCE).unwrap();
    let kept = client.kept().unwrap();
    let status = client.status(PATIENCE).unwrap();
    let reports = client.administer(Order::Reload(None), PATIENCE).unwrap();
    let listed = client.routines().unwrap();
    let routine = client.routine("routine").unwrap();
    let options = CallOptions { progress: true, ..CallOptions::default() };
    let interface = routine.interface();
    let call = routine.start([(interface.parameters[0].name.as_str(), 1.into())], &options);
    let names = [
        &kept[0].routine,
        &status.product,
        &status.jobs.as_ref().unwrap()[0].text,
        &reports[0].module,
        &interface.name,
        &interface.structs[0].name,
        &interface.parameters[0].unit,
    ];
    for text in names.into_iter().map(String::as_str).chain([listed[0].name(), routine.name()]) {
        assert!(!text.contains(is_obeyed) && text.contains("RENAMED"), "{text:?}");
    }
    for text in [&interface.doc, &interface.parameters[0].doc, &reports[0].warnings] {
        assert!(
            !text.contains(|c| is_obeyed(c) && c != '\n' && c != '\t') && text.contains('\n'),
            "{text:?}"
        );
    }
    // A callback is wanting: what is wrong is said with the server's own words.
    let error = call.err().unwrap().to_string();
    assert!(!error.contains(is_obeyed) && error.contains("RENAMED"), "{error:?}");
}

/// What a person does with a server in Python, each line by itself: whatever fails prints its
/// traceback.
const PYTHON: &str = r#"
import sys, traceback
import farcall

server = farcall.connect(sys.argv[1])
lines = """
print(repr(server), str(server))
print(server._repr_html_())
print(server.routines())
print("\n".join(dir(server)))
print(server._ipython_key_completions_())
help(server[server.routines()[0]])
print(repr(server["routine"]), server["routine"].interface)
print(server["routine"]._repr_html_())
print([(module, repr(getattr(server, module, None))) for module in dir(server) if module.startswith("peer")])
print(server.kept(), repr(server.kept()))
print(server["routine"](1, lambda x: None, progress=True, on_output=sys.stdout))
print(server["routine"].submit(1, lambda x: None))
print(repr(server["routine"].submit(1, lambda x: None)))
print(server["routine"].submit(1, lambda x: None)._repr_html_())
print(server.fetch("07" * 16).result())
print(server.transactions(), vars(server.transactions()[0]))
print(server.transactions()[0].timeline())
server.nothing(1)
server["routine"](x=1)
server["routine"]("a", 2)
server.forget("07" * 16)
""".strip().splitlines()
import farcall.stubs
lines.append("print(farcall.stubs.stub(server, 'there'))")
for line in lines:
    print(">>>", line)
    try:
        exec(line)
    except BaseException as error:
        traceback.print_exc()
        print(repr(error), error.args, vars(error))
"#;

#[test]
fn no_text_of_a_server_is_obeyed_in_python() {
    let shell = Shell::new();
    let Some(python) = std::env::var_os("FARCALL_STAGE")
        .map(|stage| std::path::Path::new(&stage).join("venv/bin/python"))
    else {
        return;
    };
    let script = shell.folder.write("session.py", PYTHON);
    let mut marks = 0;
    for (name, manner) in [("python.sock", Manner::Does), ("python-fails.sock", Manner::Fails)] {
        let mut command = std::process::Command::new(&python);
        command.arg(&script).arg(serve(&shell, name, manner)).current_dir(&shell.folder.0);
        command.env("PAGER", "cat").env("MANPAGER", "cat").stdin(std::process::Stdio::null());
        let (text, _) = shown_by(
            command,
            &[("FARCALL_PROGRESS", "1"), ("FARCALL_RECONNECT", "0"), ("TERM", "dumb")],
        );
        let obeyed: Vec<char> =
            text.chars().filter(|c| is_obeyed(*c) && !"\r\n\t".contains(*c)).collect();
        assert!(
            obeyed.is_empty() && text.contains(">>> print(farcall.stubs"),
            "wrote {obeyed:?}: {text}"
        );
        marks += text.matches("RENAMED").count();
    }
    assert!(marks > 60, "{marks}");
}
