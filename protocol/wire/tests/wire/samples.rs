//! The well-formed frames of `spec/vectors/wire.json`: one of each shape that a message can take.

use farcall_base::{CallId, ChannelId, DataId, Error, ErrorKind, ObjectId};
use farcall_wire::*;

use crate::body::Body;
use crate::samples_data::stays;
use crate::samples_placement::placement;
use crate::samples_transactions::transactions;

/// A frame with a name and what it says.
pub struct Sample {
    pub name: &'static str,
    pub means: &'static str,
    pub header: FrameHeader,
    pub body: Body,
}

pub fn sample(
    name: &'static str,
    means: &'static str,
    channel: u32,
    sequence: u32,
    body: Body,
) -> Sample {
    let header = FrameHeader { sequence, ..FrameHeader::new(body.kind(), ChannelId(channel), 0) };
    Sample { name, means, header, body }
}

fn data(
    name: &'static str,
    means: &'static str,
    sequence: u32,
    flags: Flags,
    bytes: &[u8],
) -> Sample {
    let mut sample = sample(name, means, 1, sequence, Body::Data(bytes.to_vec()));
    sample.header.slot = 2;
    sample.header.flags = flags;
    sample
}

/// All of them, in the order of the file.
pub fn samples() -> Vec<Sample> {
    let calls = [opens(), streams(), outcomes(), placement(), stays(), transactions()];
    [connection(), questions(), orders(), replies()].into_iter().chain(calls).flatten().collect()
}

pub fn hello() -> Hello {
    Hello {
        role: Role::Client,
        byte_order: ByteOrder::Little,
        product: "farcall 0.1.0".into(),
        features: vec![],
        limits: HelloLimits::default(),
        host: "".into(),
        principal: None,
        token: None,
        attributes: vec![],
    }
}

fn failure() -> Failure {
    let error = Error::new(ErrorKind::NotFound, "call", "no routine \"dgesw\"")
        .with("server", "unix:/run/farcall");
    Failure::from(&error.fix("did you mean lapack/dgesv?"))
}

fn connection() -> Vec<Sample> {
    let full = Hello {
        role: Role::Server,
        byte_order: ByteOrder::Big,
        features: vec!["shared-memory".into(), "resume".into()],
        host: "boot 5f1c user-namespace 4026531837".into(),
        principal: Some("uid 1000".into()),
        token: Some(b"sixteen letters.".to_vec()),
        attributes: vec![Attribute { name: "x-site".into(), critical: false, value: vec![1, 2] }],
        ..hello()
    };
    vec![
        sample("hello/client", "the least a client says", 0, 0, Body::Hello(hello())),
        sample("hello/full", "a big-endian server with every key", 0, 0, Body::Hello(full)),
        sample("goodbye/in-order", "all is well", 0, 0, Body::Goodbye(Goodbye { failure: None })),
        sample(
            "goodbye/because",
            "an error ends it",
            0,
            0,
            Body::Goodbye(Goodbye { failure: Some(failure()) }),
        ),
        sample("ping", "are you there?", 0, 0, Body::Empty(FrameKind::Ping)),
        sample("pong", "I am", 0, 0, Body::Empty(FrameKind::Pong)),
        sample(
            "share",
            "segment 3 of 128 MiB",
            0,
            0,
            Body::Share(Share { segment: 3, bytes: 128 << 20 }),
        ),
        sample("unshare", "segment 3 is taken back", 0, 0, Body::Unshare(3)),
    ]
}

fn interface(name: &str) -> InterfaceReply {
    InterfaceReply {
        name: name.into(),
        interface: vec![0xa0],
        contract: [0xc0; 32],
        is_placed: None,
    }
}

fn questions() -> Vec<Sample> {
    let load = Publication {
        module: vec![0xa1, 1, 2],
        libraries: vec!["liblapack.so.3".into()],
        object: None,
    };
    let of_class = Publication { object: Some("Heat".into()), libraries: vec![], ..load.clone() };
    vec![
        sample(
            "request/interface",
            "what is dgesv?",
            1,
            0,
            Body::Request(Request::Interface("dgesv".into())),
        ),
        sample("request/list", "what is there?", 3, 0, Body::Request(Request::List)),
        sample("request/load", "serve this module", 1, 0, Body::Request(Request::Load(load))),
        sample("request/status", "what is going on?", 1, 0, Body::Request(Request::Status)),
        sample(
            "request/nest",
            "a client inside this call",
            2,
            0,
            Body::Request(Request::Nest(CallId(*b"0123456789abcdef"))),
        ),
        sample("request/hold", "two objects", 1, 0, Body::Request(Request::Hold(Box::new(hold())))),
        sample("request/release", "end them", 3, 0, Body::Request(Request::Release(object(), 2))),
        sample(
            "request/load-object",
            "be this object",
            1,
            0,
            Body::Request(Request::Load(of_class)),
        ),
        sample(
            "request/forget",
            "keep this call no longer",
            1,
            0,
            Body::Request(Request::Forget(open().call)),
        ),
        sample("request/kept", "what is kept of mine?", 1, 0, Body::Request(Request::Kept)),
    ]
}

fn orders() -> Vec<Sample> {
    let publish = Order::Publish("/home/anna/ode.idl".into());
    vec![
        sample(
            "request/publish",
            "publish this file",
            1,
            0,
            Body::Request(Request::Administer(publish)),
        ),
        sample(
            "request/reload",
            "publish all again",
            1,
            0,
            Body::Request(Request::Administer(Order::Reload(None))),
        ),
        sample(
            "request/files",
            "publish this file, which comes along",
            1,
            0,
            Body::Request(Request::Administer(Order::Files(PublishedFiles {
                files: vec![PublishedFile { name: "f.py".into(), content: b"x = 1\n".to_vec() }],
                stays: true,
                there: None,
                known_as: None,
                publication: None,
            }))),
        ),
        sample(
            "request/pieces",
            "publish what came in pieces, and what messages call it",
            1,
            0,
            Body::Request(Request::Administer(Order::Files(PublishedFiles {
                files: Vec::new(),
                stays: false,
                there: None,
                known_as: Some("/home/me/f.py".into()),
                publication: Some([7; 16]),
            }))),
        ),
        sample(
            "request/piece",
            "a piece of a file that is to be published",
            1,
            0,
            Body::Request(Request::Administer(Order::Piece(PublishedPiece {
                publication: [7; 16],
                name: "f.py".into(),
                content: b"x = ".to_vec(),
            }))),
        ),
        sample(
            "request/delete",
            "end this",
            5,
            0,
            Body::Request(Request::Administer(Order::Delete(vec![object()]))),
        ),
        sample(
            "request/end-calls",
            "cancel this call",
            5,
            0,
            Body::Request(Request::Administer(Order::EndCalls(vec![CallId([9; 16])]))),
        ),
    ]
}

fn replies() -> Vec<Sample> {
    let report =
        ModuleReport { module: "ode".into(), routines: 3, warnings: String::new(), failure: None };
    let list = vec![interface("blas/ddot"), interface("lapack/dgesv")];
    vec![
        sample("reply/failed", "no", 1, 0, Body::Reply(Reply::Failed(failure()))),
        sample(
            "reply/interface",
            "this",
            1,
            0,
            Body::Reply(Reply::Interface(interface("lapack/dgesv"))),
        ),
        sample("reply/list", "two routines", 3, 0, Body::Reply(Reply::List(list))),
        sample("reply/done", "done", 1, 0, Body::Reply(Reply::Done)),
        sample(
            "reply/modules",
            "one module is published",
            1,
            0,
            Body::Reply(Reply::Modules(vec![report])),
        ),
        sample(
            "reply/loaded",
            "loaded, and its code asks for cancels",
            2,
            0,
            Body::Reply(Reply::Loaded(Loaded { asks: true, threads: None })),
        ),
        sample(
            "reply/status",
            "one call runs",
            1,
            0,
            Body::Reply(Reply::Status(Box::new(status()))),
        ),
        sample("reply/kept", "one call, for an hour", 1, 0, Body::Reply(Reply::Kept(vec![kept()]))),
    ]
}

fn object() -> ObjectId {
    ObjectId(*b"twelve bytes\x02\0\0\0")
}

fn hold() -> HoldRequest {
    HoldRequest {
        name: "heat/Heat".into(),
        first: object(),
        count: 2,
        lease_us: 60_000_000,
        start_us: Some(5_000_000),
        detached: Some(true),
        ranks: Some(4),
        resources: None,
    }
}

fn kept() -> KeptCall {
    KeptCall {
        id: open().call,
        routine: "lapack/dgesv".into(),
        state: KeptState::Returned,
        bytes: 80,
        left_us: 3_600_000_000,
        durable: true,
        principal: "anna".into(),
        note: Some(KeptNote {
            submitted_us: 1_764_180_000_000_000,
            arguments: "n=31".into(),
            label: "case 7".into(),
        }),
    }
}

fn status() -> Status {
    let principal = "anna".to_owned();
    let routine = "lapack/dgesv".to_owned();
    let call = OpenCall {
        id: CallId(*b"0123456789abcdef"),
        principal: principal.clone(),
        peer: "10.0.0.7:51234".into(),
        routine: routine.clone(),
        stage: Stage::Running,
        age_ns: 1_500_000,
    };
    let mut durations = vec![0; DURATIONS_NS.len() + 1];
    durations[4] = 2;
    let held = ObjectStatus {
        id: object(),
        principal: principal.clone(),
        name: "heat/Heat".into(),
        state: ObjectState::Busy,
        calls: 3,
        waiting: 1,
        age_ns: 5_000_000_000,
        lease_left_ns: None,
        pid: Some(4711),
        reason: None,
    };
    let usage = Use {
        principal,
        routine,
        begun: 4,
        returned: 2,
        failed: vec![(17, 1)],
        durations,
        ..Use::default()
    };
    let module = ModuleStatus { module: "lapack".into(), busy: 1, ..ModuleStatus::default() };
    Status {
        product: "farcall 0.1.0".into(),
        up_ns: 60_000_000_000,
        draining: false,
        calls: vec![call],
        calls_open: 1,
        uses: vec![usage],
        modules: vec![module],
        totals: Some(Totals { clients: 1, connected: 3, ..Totals::default() }),
        clock_us: None,
        objects: vec![held],
        objects_held: 1,
        kept: None,
        jobs: None,
        own: Some(true),
        processors: Some(ProcessorsStatus { max: 4, taken: 3 }),
    }
}

pub fn open() -> Open {
    Open::new(CallId(*b"0123456789abcdef"), "lapack/dgesv".into(), [0xc0; 32], vec![])
}

fn opens() -> Vec<Sample> {
    let arguments = vec![
        Argument::Absent,
        Argument::Null,
        Argument::Inline(7i32.to_le_bytes().as_slice().into()),
        Argument::Inline(vec![].into()),
        Argument::Blocks(Some(1 << 40)),
        Argument::Blocks(None),
        Argument::Shared(3, 4096, 800),
        Argument::Data(DataId(*b"data-of-the-call")),
        Argument::Url("https://example.org/a.npy".into()),
        Argument::Texts(vec![Some(b"text".to_vec().into()), None, Some(vec![].into())]),
    ];
    let full = Open {
        wanted: Some(vec![
            Argument::Absent,
            Argument::Blocks(None),
            Argument::Shared(3, 8192, 800),
            Argument::Data(DataId(*b"what-stays-there")),
        ]),
        remaining_us: Some(5_000_000),
        result_credit: Some(1 << 20),
        parent: Some(b"fedcba9876543210".to_vec().into()),
        principal: Some("anna".into()),
        trace: Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".into()),
        attributes: Some(vec![Attribute {
            name: "x-priority".into(),
            critical: true,
            value: vec![5],
        }]),
        ..open()
    };
    let on = Attribute { name: ON.into(), critical: true, value: object().0.to_vec() };
    let on_object = Open { routine: "heat/Heat.step".into(), attributes: Some(vec![on]), ..open() };
    let keep = Keep { after_end_us: 3_600_000_000, durable: true };
    let kept = Open { attributes: Some(vec![keep.attribute()]), ..open() };
    vec![
        sample("open/smallest", "a call without arguments", 5, 0, Body::Open(open())),
        sample(
            "open/arguments",
            "every form of argument",
            5,
            0,
            Body::Open(Open { arguments, ..open() }),
        ),
        sample("open/on", "a call on an object", 5, 0, Body::Open(on_object)),
        sample("open/full", "every key", 0xffff_ffff, 0, Body::Open(full)),
        sample("open/kept", "its outcome is kept for an hour", 5, 0, Body::Open(kept)),
    ]
}

fn streams() -> Vec<Sample> {
    let window = Window { credit: u64::MAX, next_sequence: 7 };
    let resume = Resume { describe: Some(true), ..Resume::new(open().call) };
    let arguments =
        Some(vec![Argument::Inline(7i32.to_le_bytes().as_slice().into()), Argument::Absent]);
    let was = Resume {
        interface: Some(interface("lapack/dgesv")),
        arguments,
        ..Resume::new(open().call)
    };
    vec![
        data(
            "data/piece",
            "five bytes of argument 2, more follow",
            1,
            Flags::default(),
            &[1, 2, 3, 4, 5],
        ),
        data("data/last", "the last eight bytes", u32::MAX, Flags::END, &[1, 2, 3, 4, 5, 6, 7, 8]),
        data("data/end-mark", "a stream of unknown length ends", 0, Flags::END, &[]),
        sample("window", "credit without bound, 7 expected", 1, 2, Body::Window(window)),
        sample("cancel", "end it", 1, 3, Body::Empty(FrameKind::Cancel)),
        sample("resume", "take the call up again, and say what it was", 7, 0, Body::Resume(resume)),
        sample("resume/agreed", "this is what it was", 7, 0, Body::Resume(was)),
    ]
}

fn outcomes() -> Vec<Sample> {
    let times = CallTimes {
        queued_ns: 10,
        started_ns: 2_000,
        finished_ns: 3_000_000_000,
        processor_ns: None,
    };
    let results =
        vec![Argument::Absent, Argument::Inline(vec![0; 4].into()), Argument::Blocks(Some(80))];
    let returned = CallResult { failure: None, results, times, attributes: None };
    let attributes =
        Some(vec![Attribute { name: "x-peak-memory".into(), critical: false, value: vec![0xff] }]);
    let failed = CallResult {
        failure: Some(failure()),
        results: vec![],
        times: CallTimes::default(),
        attributes,
    };
    vec![
        sample("result/returned", "one inline, one that follows", 5, 0, Body::Result(returned)),
        sample("result/failed", "it did not run", 5, 0, Body::Result(failed)),
        sample("notice/queued", "four before it", 5, 0, Body::Notice(Notice::Queued(4))),
        sample("notice/started", "it runs", 5, 1, Body::Notice(Notice::Started)),
        sample(
            "notice/progress",
            "half done",
            5,
            2,
            Body::Notice(Notice::Progress(0.5, "sweep 50 of 100".into())),
        ),
        sample("notice/kept", "go if you like", 5, 4, Body::Notice(Notice::Kept)),
        sample(
            "notice/output",
            "a line on stderr",
            5,
            3,
            Body::Notice(Notice::Output(2, b"singular\n".to_vec())),
        ),
    ]
}
