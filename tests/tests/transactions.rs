//! Transactions, as a client's own connection sees them: graphs of calls that a server runs.

use std::time::{Duration, Instant};

use farcall_base::{ChannelId, DataId, TransactionId};
use farcall_client::{Array, CallOptions, Client, Data, ErrorKind, ServerPresence};
use farcall_graph::{Argument, CallMessage, Input, Message, RoutineName, WantedResult};
use farcall_link::line::{Line, LineEvent};
use farcall_tests::{Directory, Server, Transport, eventually, resident};
use farcall_wire::{
    DATA, Failure, PLACEMENT, RELAY, Reply, Request, TRANSACTIONS, Timeline, TimelineState,
    TransactionBegin, TransactionEnd, TransactionReply, TransactionRequest,
};
use rustix::event::{PollFd, Timespec, poll};

/// More elements than an answer holds.
const MANY: usize = 3000;

pub struct World {
    pub server: Server,
    /// Servers that joined it.
    pub members: Vec<Server>,
    pub client: Client,
    line: Line,
    graph: Message,
    /// What was put at the server, and stays as long as it is here.
    put: Vec<Data>,
    /// Ids that were given so far.
    last: u8,
}

impl World {
    fn new() -> World {
        World::of(Server::start(Transport::Unix, &[resident()], &[]), Vec::new())
    }

    /// A server that publishes nothing of this itself, and others that joined it.
    fn joined(count: usize) -> World {
        let folder = Directory::new();
        let text = "Module nothing;\nDefine nothing(OUT int one) { *one = 1; }\n";
        let meta = Server::start(Transport::Unix, &[folder.write("nothing.idl", text)], &[]);
        let join = || {
            let mut command = Server::command();
            command.args(["--join", meta.address()]);
            Server::start_as(command, &[resident()])
        };
        let members: Vec<Server> = (0..count).map(|_| join()).collect();
        let world = World::of(meta, members);
        let all = |world: &World| {
            let known = world.client.servers(Duration::from_secs(20)).unwrap();
            let up = known.iter().filter(|one| one.presence == ServerPresence::Up);
            up.filter(|one| one.routines > 5).count() == count
        };
        assert!(eventually(|| all(&world)));
        // The interfaces of a server come one report after the other.
        assert!(eventually(|| world.client.routine("resident/nap").is_ok()));
        world
    }

    pub fn of(server: Server, members: Vec<Server>) -> World {
        let client = server.client();
        let line = line(&server);
        World { server, members, client, line, graph: Message::default(), put: Vec::new(), last: 0 }
    }

    fn id(&mut self) -> [u8; 16] {
        self.last += 1;
        [self.last; 16]
    }

    fn ask(&mut self, request: &Request) -> Reply {
        ask(&mut self.line, request)
    }

    fn routine(&mut self, name: &str) -> u32 {
        let known = self.graph.routines.iter().position(|routine| routine.name == name);
        if let Some(index) = known {
            return index as u32;
        }
        let Reply::Interface(reply) = self.ask(&Request::Interface(name.to_owned())) else {
            panic!("{name} is published")
        };
        let routine = RoutineName { name: reply.name, contract: reply.contract };
        self.graph.routines.push(routine);
        self.graph.routines.len() as u32 - 1
    }

    pub fn call(&mut self, name: &str, arguments: Vec<Argument>) -> u32 {
        let routine = self.routine(name);
        self.graph.calls.push(CallMessage { routine, arguments, after: Vec::new() });
        self.graph.calls.len() as u32 - 1
    }

    /// Puts an array at the server, for the graph.
    pub fn input(&mut self, values: &[f64]) -> Argument {
        let data = self.client.put(Array::vector(values), &CallOptions::default()).unwrap();
        let name = data.id();
        let kind = "data:double:1:row".to_owned();
        let extents = vec![values.len() as u64];
        self.graph.inputs.push(Input { name, kind, extents });
        self.put.push(data);
        Argument::Input(self.graph.inputs.len() as u32 - 1)
    }

    pub fn want(&mut self, call: u32, slot: u16) -> DataId {
        let name = DataId(self.id());
        self.graph.results.push(WantedResult { call, slot, name });
        name
    }

    pub(crate) fn begin(&mut self) -> std::result::Result<TransactionId, Failure> {
        self.begin_keeping(None)
    }

    pub fn begin_keeping(&mut self, keep: Option<Duration>) -> Result<TransactionId, Failure> {
        let id = TransactionId(self.id());
        let graph = std::mem::take(&mut self.graph).encode();
        let keep_us = keep.map(|keep| keep.as_micros() as u64);
        let begin = Box::new(TransactionBegin { id, graph, keep_us });
        match self.ask(&Request::Transaction(TransactionRequest::Begin(begin))) {
            Reply::Done => Ok(id),
            Reply::Failed(failure) => Err(failure),
            other => panic!("{other:?}"),
        }
    }

    pub fn asked(&mut self, request: TransactionRequest) -> TransactionReply {
        match self.ask(&Request::Transaction(request)) {
            Reply::Transaction(reply) => reply,
            other => panic!("{other:?}"),
        }
    }

    pub fn timeline(&mut self, id: TransactionId) -> Timeline {
        match self.asked(TransactionRequest::Timeline(id, 0)) {
            TransactionReply::Timeline(timeline) => *timeline,
            other => panic!("{other:?}"),
        }
    }

    pub fn wait(&mut self, id: TransactionId) -> TransactionEnd {
        match self.asked(TransactionRequest::Await(id)) {
            TransactionReply::Over(end) => end,
            other => panic!("{other:?}"),
        }
    }

    pub fn asked_to_end(&mut self, id: TransactionId) {
        let reply = self.ask(&Request::Transaction(TransactionRequest::End(vec![id])));
        assert_eq!(reply, Reply::Done);
    }

    pub fn values(&self, id: DataId) -> Vec<f64> {
        let data = self.client.data_of(id).unwrap();
        data.fetch(&CallOptions::default()).unwrap().array("value").unwrap()
    }

    pub(crate) fn scale(&mut self, factor: f64, x: Argument, count: usize) -> u32 {
        self.call("resident/scale", vec![double(factor), x, int(count)])
    }
}

pub(crate) fn line(server: &Server) -> Line {
    let patience = Duration::from_secs(10);
    let stream = match server.address().strip_prefix("unix:") {
        Some(path) => farcall_transport_unix::connect_within(path.as_ref(), patience),
        None => {
            let port = server.address().rsplit_once(':').expect("it listens at a port").1;
            let port = port.parse().unwrap();
            farcall_transport_tls::connect("127.0.0.1", port, server.token(), patience)
        }
    };
    let mut line = Line::new(stream.unwrap(), &[DATA, PLACEMENT, RELAY, TRANSACTIONS]);
    let event = next(&mut line);
    let LineEvent::Open(features, _) = event else { panic!("the server greets first") };
    assert!(features.iter().any(|feature| feature == TRANSACTIONS));
    line
}

fn next(line: &mut Line) -> LineEvent {
    let mut events = some(line).unwrap();
    let event = events.pop().expect("something came");
    assert!(events.is_empty(), "one answer comes at a time");
    event
}

/// What comes next.
pub(crate) fn some(line: &mut Line) -> farcall_base::Result<Vec<LineEvent>> {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        line.work()?;
        let events = line.take_events();
        if !events.is_empty() {
            return Ok(events);
        }
        assert!(Instant::now() < deadline, "no answer came");
        let mut watched: Vec<PollFd> = Vec::new();
        line.watch(&mut watched);
        poll(&mut watched, Some(&Timespec { tv_sec: 1, tv_nsec: 0 })).unwrap();
    }
}

pub(crate) fn ask(line: &mut Line, request: &Request) -> Reply {
    let asked: ChannelId = line.ask(request).unwrap();
    match next(line) {
        LineEvent::Reply(channel, reply) if channel == asked => reply,
        _ => panic!("another answer came"),
    }
}

pub fn int(value: usize) -> Argument {
    Argument::Inline((value as i32).to_ne_bytes().to_vec())
}

pub(crate) fn double(value: f64) -> Argument {
    Argument::Inline(value.to_ne_bytes().to_vec())
}

/// Two by two, with this on the diagonal.
fn eye(value: f64) -> Argument {
    let values = [value, 0.0, 0.0, value];
    Argument::Inline(values.into_iter().flat_map(f64::to_ne_bytes).collect())
}

pub fn numbers(count: usize) -> Vec<f64> {
    (0..count).map(|number| number as f64).collect()
}

#[test]
fn a_chain_runs_and_its_results_are_fetched() {
    for count in [3, MANY] {
        let mut world = World::new();
        let mut x = world.input(&numbers(count));
        let mut wanted = Vec::new();
        for _ in 0..5 {
            let call = world.scale(2.0, x, count);
            wanted.push(world.want(call, 1));
            x = Argument::Result(call, 1);
        }
        let id = world.begin().unwrap();
        for (name, factor) in wanted.iter().zip([2.0, 4.0, 8.0, 16.0, 32.0]) {
            assert_eq!(world.values(*name)[2], 2.0 * factor);
        }
        assert_eq!(world.wait(id), TransactionEnd::default());
        assert_eq!(
            world.put[0].fetch(&CallOptions::default()).unwrap().array::<f64>("value").unwrap()[2],
            2.0
        );
        let timeline = world.timeline(id);
        assert_eq!((timeline.calls, timeline.rows.len()), (5, 5));
        for row in &timeline.rows {
            assert_eq!(
                (row.state, row.attempts, row.server),
                (TimelineState::Returned, 1, Some(0))
            );
            assert!(row.ready_us <= row.opened_us && row.opened_us <= row.ended_us);
            assert!(row.begun_us <= row.ended_us);
        }
        let TransactionReply::Results(results) = world.asked(TransactionRequest::Results(id, 3))
        else {
            panic!()
        };
        assert_eq!((results.results, results.rows.len()), (5, 2));
        assert_eq!(results.rows[1].data, wanted[4]);
        assert_eq!((results.rows[1].call, results.rows[1].parameter.as_str()), (4, "x"));
    }
}

/// What nobody wants is not kept, and nothing is left when a transaction was ended.
#[test]
fn what_is_not_wanted_goes() {
    let mut world = World::new();
    let x = world.input(&numbers(MANY));
    let first = world.scale(2.0, x, MANY);
    let second = world.scale(2.0, Argument::Result(first, 1), MANY);
    let wanted = world.want(second, 1);
    let id = world.begin().unwrap();
    world.wait(id);
    let listed = |world: &World| -> Vec<DataId> {
        let all = world.client.data().unwrap().into_iter();
        all.map(|one| one.id).collect()
    };
    assert!(eventually(|| listed(&world).len() == 2), "{:?}", listed(&world));
    assert!(listed(&world).contains(&wanted));
    world.ask(&Request::Transaction(TransactionRequest::End(vec![id, TransactionId([99; 16])])));
    assert!(eventually(|| listed(&world) == [world.put[0].id()]), "{:?}", listed(&world));
    let TransactionReply::List(list) = world.asked(TransactionRequest::List(vec![])) else {
        panic!()
    };
    assert!(list.is_empty());
    let gone = world.ask(&Request::Transaction(TransactionRequest::Await(id)));
    let Reply::Failed(failure) = gone else { panic!("{gone:?}") };
    assert_eq!(farcall_base::Error::from(failure).kind(), ErrorKind::NotFound);
}

/// Numbers travel inside the calls that use them, and are data for the client.
#[test]
fn numbers_are_results_and_arguments() {
    let mut world = World::new();
    let x = world.input(&numbers(10));
    let sum = world.call("resident/scribble", vec![x.clone(), int(10), Argument::Absent]);
    let scaled = world.call("resident/scale", vec![Argument::Result(sum, 2), x, int(10)]);
    let some = world.call("resident/some", vec![Argument::Absent, Argument::Absent, int(8)]);
    let kept =
        world.call("resident/slow", vec![double(0.0), Argument::Absent, Argument::Result(some, 1)]);
    // A number that is data already.
    let one = world.input(&[2.5]);
    let more = world.scale(0.0, Argument::Inline(vec![0; 8]), 1);
    world.graph.calls[more as usize].arguments[0] = one;
    let sum = world.want(sum, 2);
    let scaled = world.want(scaled, 1);
    let kept = world.want(kept, 1);
    let id = world.begin().unwrap();
    assert_eq!(world.values(sum), [45.0]);
    assert_eq!(world.values(scaled)[9], 405.0);
    // Its size follows from what another call made.
    assert_eq!(world.values(kept), numbers(4));
    assert_eq!(world.wait(id).failed, 0);
}

#[test]
fn what_fails_fails_what_hangs_on_it_and_nothing_else() {
    let mut world = World::new();
    let crash = world.call("resident/crash", vec![Argument::Absent, int(MANY)]);
    let behind = world.scale(2.0, Argument::Result(crash, 0), MANY);
    let slow = world.call("resident/slow", vec![double(0.2), Argument::Absent, int(MANY)]);
    let other = world.scale(3.0, Argument::Result(slow, 1), MANY);
    let lost = [world.want(crash, 0), world.want(behind, 1)];
    let good = world.want(other, 1);
    let id = world.begin().unwrap();
    for name in lost {
        let data = world.client.data_of(name).unwrap();
        let error = data.fetch(&CallOptions::default()).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::RoutineCrashed, "{error}");
        assert!(error.to_string().contains("signal 11"), "{error}");
    }
    assert_eq!(world.values(good)[2], 6.0);
    let end = world.wait(id);
    assert_eq!((end.failed, end.failures.len()), (2, 2));
    assert_eq!((end.failures[0].call, end.failures[1].call), (crash, behind));
    let second = farcall_base::Error::from(end.failures[1].failure.clone()).to_string();
    assert!(second.contains("it was not run, since call 0 (resident/crash)"), "{second}");
    let TransactionReply::List(list) = world.asked(TransactionRequest::List(vec![id])) else {
        panic!()
    };
    assert_eq!((list[0].is_over, list[0].returned, list[0].failed), (true, 2, 2));
}

/// Nothing has run then.
#[test]
fn a_wrong_graph_is_refused_with_the_place() {
    let mut world = World::new();
    let call = world.scale(2.0, Argument::Inline(vec![0; 16]), 2);
    world.scale(2.0, Argument::Result(call, 1), 3);
    let name = world.want(call, 1);
    let error = farcall_base::Error::from(world.begin().unwrap_err()).to_string();
    assert!(error.contains("another size") && error.contains("call: 1"), "{error}");
    assert!(world.client.data_of(name).is_err());

    world.scale(2.0, Argument::Input(0), 2);
    let missing =
        Input { name: DataId([77; 16]), kind: "data:double:1:row".into(), extents: vec![2] };
    world.graph.inputs.push(missing);
    let error = farcall_base::Error::from(world.begin().unwrap_err());
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");

    let x = world.input(&numbers(3));
    world.graph.inputs[0].extents = vec![4];
    world.scale(2.0, x, 4);
    let error = farcall_base::Error::from(world.begin().unwrap_err()).to_string();
    assert!(error.contains("another type or size"), "{error}");

    world.scale(2.0, Argument::Inline(vec![0; 16]), 2);
    world.graph.routines[0].contract = [1; 32];
    let error = farcall_base::Error::from(world.begin().unwrap_err());
    assert_eq!(error.kind(), ErrorKind::InterfaceChanged, "{error}");

    world.graph.routines.push(RoutineName { name: "resident/none".into(), contract: [1; 32] });
    let error = farcall_base::Error::from(world.begin().unwrap_err());
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    let TransactionReply::List(list) = world.asked(TransactionRequest::List(vec![])) else {
        panic!()
    };
    assert!(list.is_empty());
}

/// A transaction that is kept goes on without its client, and is there for others.
#[test]
fn a_client_may_go() {
    let mut world = World::new();
    let slow = world.call("resident/slow", vec![double(0.5), Argument::Absent, int(MANY)]);
    let scaled = world.scale(2.0, Argument::Result(slow, 1), MANY);
    let wanted = world.want(scaled, 1);
    let kept = world.begin_keeping(Some(Duration::from_secs(60))).unwrap();
    let slow = world.call("resident/slow", vec![double(60.0), Argument::Absent, int(3)]);
    let lost = world.want(slow, 1);
    world.begin().unwrap();
    let other = line(&world.server);
    drop(std::mem::replace(&mut world.line, other));
    assert_eq!(world.values(wanted)[3], 6.0);
    assert!(eventually(|| world.client.data_of(lost).is_err()));
    // A result can be read before the transaction has heard that its call has returned.
    assert!(eventually(|| {
        let TransactionReply::List(list) = world.asked(TransactionRequest::List(vec![])) else {
            panic!()
        };
        assert_eq!(list.len(), 1);
        assert_eq!(list[0].id, kept);
        list[0].is_over && list[0].left_us.is_some_and(|left| left > 0 && left <= 60_000_000)
    }));
    let TransactionReply::Results(results) = world.asked(TransactionRequest::Results(kept, 0))
    else {
        panic!()
    };
    assert_eq!(results.rows[0].data, wanted);
}

/// A client that lost its connection does not know whether its Begin came, and says it again.
#[test]
fn a_begin_may_be_repeated() {
    let mut world = World::new();
    let call = world.scale(2.0, Argument::Inline(vec![0; 16]), 2);
    let wanted = world.want(call, 1);
    let id = TransactionId(world.id());
    let graph = world.graph.encode();
    let begin = Box::new(TransactionBegin { id, graph, keep_us: None });
    let begin = Request::Transaction(TransactionRequest::Begin(begin));
    assert_eq!(world.ask(&begin), Reply::Done);
    assert_eq!(world.ask(&begin), Reply::Done);
    let other = line(&world.server);
    let before = std::mem::replace(&mut world.line, other);
    assert_eq!(world.ask(&begin), Reply::Done);
    drop(before);
    // It is that of the connection that said it last.
    assert_eq!(world.wait(id), TransactionEnd::default());
    assert_eq!(world.values(wanted), [0.0, 0.0]);
    assert_eq!(world.timeline(id).rows[0].attempts, 1);
    world.scale(3.0, Argument::Inline(vec![0; 16]), 2);
    let graph = std::mem::take(&mut world.graph).encode();
    let other = Box::new(TransactionBegin { id, graph, keep_us: None });
    let refused = world.ask(&Request::Transaction(TransactionRequest::Begin(other)));
    let Reply::Failed(failure) = refused else { panic!("{refused:?}") };
    assert_eq!(farcall_base::Error::from(failure).kind(), ErrorKind::InvalidArgument);
}

/// A fan of many calls, all of which wait for one.
#[test]
fn ten_thousand_calls_run() {
    let mut world = World::new();
    let first = world.call("resident/slow", vec![double(0.1), Argument::Absent, int(2)]);
    let mut last = Vec::new();
    for number in 0..10_000 {
        last.push(world.scale(number as f64, Argument::Result(first, 1), 2));
    }
    let chosen = [last[0], last[5000], last[9999]];
    let wanted = chosen.map(|call| world.want(call, 1));
    let began = Instant::now();
    let id = world.begin().unwrap();
    assert_eq!(world.wait(id).failed, 0);
    eprintln!("10,000 calls took {:?}", began.elapsed());
    let values = wanted.map(|name| world.values(name)[1]);
    assert_eq!(values, [0.0, 5000.0, 9999.0]);
}

/// Slow calls run side by side, and what one server made is used by another.
#[test]
fn calls_run_on_all_servers() {
    let mut world = World::joined(2);
    let slow: Vec<u32> = (0..4)
        .map(|_| world.call("resident/slow", vec![double(0.5), Argument::Absent, int(MANY)]))
        .collect();
    let products: Vec<DataId> = slow
        .iter()
        .map(|call| {
            let scaled = world.scale(2.0, Argument::Result(*call, 1), MANY);
            let again = world.scale(2.0, Argument::Result(scaled, 1), MANY);
            world.want(again, 1)
        })
        .collect();
    let x = world.input(&numbers(MANY));
    let scaled = world.scale(3.0, x, MANY);
    let given = world.want(scaled, 1);
    let id = world.begin().unwrap();
    let end = world.wait(id);
    assert_eq!(end.failed, 0, "{end:?}");
    for name in products {
        assert_eq!(world.values(name)[5], 20.0);
    }
    assert_eq!(world.values(given)[5], 15.0);
    let timeline = world.timeline(id);
    let used = |server: u32| timeline.rows.iter().filter(|row| row.server == Some(server)).count();
    assert_eq!(used(0), 0, "it publishes none of them: {timeline:?}");
    assert!(used(1) >= 2 && used(2) >= 2, "{timeline:?}");
}

/// What a server makes and another one needs is brought there; what is lost with a server is made again.
#[test]
fn a_server_is_killed_and_what_it_had_is_made_again() {
    let mut world = World::joined(2);
    let slow: Vec<u32> = (0..8)
        .map(|at| {
            let factor = 1.0 + f64::from(at);
            let one = world.call("resident/nap", vec![double(0.1), eye(factor), Argument::Absent]);
            let other = world.call("resident/nap", vec![double(0.1), eye(1.0), Argument::Absent]);
            let [one, other] = [one, other].map(|call| Argument::Result(call, 2));
            world.call("resident/product", vec![one, other, Argument::Absent, int(2)])
        })
        .collect();
    let mut sums = slow.clone();
    while sums.len() > 1 {
        let pair = |world: &mut World, pair: &[u32]| {
            let [one, other] = [pair[0], pair[1]].map(|call| Argument::Result(call, 2));
            world.call("resident/product", vec![one, other, Argument::Absent, int(2)])
        };
        sums = sums.chunks(2).map(|two| pair(&mut world, two)).collect();
    }
    let wanted = world.want(sums[0], 2);
    let id = world.begin().unwrap();
    std::thread::sleep(Duration::from_millis(100));
    world.members.remove(0).kill();
    let end = world.wait(id);
    assert_eq!(end.failed, 0, "{end:?} {:?}", world.timeline(id));
    let product: f64 = (0..8).map(|at| f64::from(at + 1)).product();
    assert_eq!(world.values(wanted), [product, 0.0, 0.0, product]);
}

/// A metaserver that nobody has joined has no server for it.
#[test]
fn a_routine_that_no_server_runs_is_refused() {
    let mut world = World::joined(1);
    world.call("resident/nap", vec![double(0.0), eye(1.0), Argument::Absent]);
    world.members.remove(0).kill();
    let error = farcall_base::Error::from(world.begin().unwrap_err());
    assert!(matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::NotFound), "{error}");
}
