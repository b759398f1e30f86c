//! Servers that pull data from one another, by tickets (spec/wire.md, section 12.1).

use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use farcall_base::{CallId, DataId, Error, ErrorKind, Result};
use farcall_graph::Argument as Given;
use farcall_idl::data::DataKind;
use farcall_link::line::{FetchedData, Line, LineEvent};
use farcall_link::memory::{HeapRegion, Space};
use farcall_link::stream::ByteStream;
use farcall_tests::{Directory, Server, Transport, resident};
use farcall_wire::{
    Argument, DATA, OWN_USER, PULLS, Promise, PullRequest, Reply, Request, SHARED_RESULTS, Ticket,
    TicketKey,
};

use crate::relayed::Meta;
use crate::transactions::{World, ask, int, line, some};

const KEY: TicketKey = TicketKey([7; 32]);
const KIND: &str = "data:double:1:row";
const PATIENCE: Duration = Duration::from_secs(20);
const MANY: usize = 100_000;

fn id() -> [u8; 16] {
    static LAST: AtomicU64 = AtomicU64::new(1);
    let mut id = [0x5a; 16];
    id[..8].copy_from_slice(&LAST.fetch_add(1, Ordering::Relaxed).to_le_bytes());
    id
}

fn soon_us() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    since.as_micros() as u64 + 60_000_000
}

/// A server with these options of the plugin that runs transactions.
fn server(folder: &Directory, name: &str, options: &str) -> Server {
    let text = format!(
        "[[plugin]]\nname = \"transactions\"\nslot = \"transactor\"\n[plugin.options]\n{options}\n"
    );
    let manifest = folder.write(&format!("{name}.toml"), &text);
    Server::start(Transport::Unix, &[resident()], &["--manifest", manifest.to_str().unwrap()])
}

/// A connection to a server on this host, with what servers name to one another.
fn peer(server: &Server, features: &[&str]) -> Line {
    let path = server.address().strip_prefix("unix:").unwrap();
    let stream = farcall_transport_unix::connect_within(path.as_ref(), PATIENCE).unwrap();
    opened(stream, features)
}

fn opened(stream: Box<dyn ByteStream>, features: &[&str]) -> Line {
    let mut line = Line::new(stream, features);
    assert!(matches!(some(&mut line).unwrap()[..], [LineEvent::Open(..)]));
    line
}

/// Puts numbers at a server, with a key.
fn put(line: &mut Line, count: usize) -> DataId {
    let kind = DataKind::of_routine(KIND).unwrap();
    let elements: Arc<HeapRegion> = Arc::new(HeapRegion::new(count * 8).unwrap());
    for number in 0..count {
        let space = Space::of(&*elements, number * 8, 8);
        space.unwrap().bytes().copy_from_slice(&(number as f64).to_ne_bytes());
    }
    let data = FetchedData {
        kind: KIND.into(),
        contract: farcall_idl::encode::contract_hash(&kind.interface()),
        extents: vec![Argument::Inline((count as i64).to_ne_bytes().as_slice().into())],
        elements,
        bytes: count as u64 * 8,
        memory: None,
    };
    let name = DataId(id());
    line.put((CallId(id()), name), &data, Some(&KEY)).unwrap();
    let events = some(line).unwrap();
    let [LineEvent::Ended(_, result)] = &events[..] else { panic!("it was put there") };
    assert_eq!(result.failure, None);
    name
}

/// Shows a ticket: what came.
fn show(line: &mut Line, data: DataId, ticket: &Ticket) -> Result<FetchedData> {
    line.fetch_by(data, Some(ticket))?;
    match some(line)?.pop() {
        Some(LineEvent::Fetched(_, fetched)) => Ok(fetched),
        Some(LineEvent::Ended(_, result)) => Err(result.failure.unwrap().into()),
        _ => panic!("another answer came"),
    }
}

fn refused(line: &mut Line, data: DataId, ticket: &Ticket, why: &str) {
    let error = show(line, data, ticket).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    assert!(error.to_string().contains(why), "{error}");
}

#[test]
fn a_ticket_is_for_one_pull_of_one_value_by_one_receiver() {
    let folder = Directory::new();
    let server = server(&folder, "one", "");
    let mut owner = peer(&server, &[DATA, PULLS]);
    let first = put(&mut owner, MANY);
    let second = put(&mut owner, 3);
    let mut line = peer(&server, &[DATA, PULLS]);
    let until = soon_us();
    let ticket = KEY.ticket(first, OWN_USER, until);
    refused(&mut line, second, &ticket, "was not made for it");
    refused(&mut line, DataId([9; 16]), &ticket, "was not made for it");
    let forged = TicketKey([8; 32]).ticket(first, OWN_USER, until);
    refused(&mut line, first, &forged, "was not made for it");
    let longer = Ticket { until_us: until + 1, ..ticket.clone() };
    refused(&mut line, first, &longer, "was not made for it");
    refused(&mut line, first, &KEY.ticket(first, "a.example", until), "for another server");
    refused(&mut line, first, &KEY.ticket(first, OWN_USER, 1), "out of date");
    let fetched = show(&mut line, first, &ticket).unwrap();
    assert_eq!((fetched.bytes, fetched.kind.as_str()), (MANY as u64 * 8, KIND));
    refused(&mut line, first, &ticket, "used before");
    assert!(show(&mut line, second, &KEY.ticket(second, OWN_USER, until)).is_ok());
    // It ends with the data.
    let third = KEY.ticket(first, OWN_USER, until + 7);
    assert!(matches!(ask(&mut owner, &Request::DeleteData(vec![first])), Reply::Done));
    refused(&mut line, first, &third, "no such data");
}

/// A server shows a ticket that its certificate is named in, and may do nothing else.
#[test]
fn servers_show_tickets_over_tls() {
    let meta = Meta::open();
    let mut owner = line(&meta.server);
    let data = put(&mut owner, MANY);
    let until = soon_us();
    let connect = |certificate: &std::path::Path| {
        let port = meta.server.address().rsplit_once(':').unwrap().1.parse().unwrap();
        let stream = farcall_transport_tls::connect("127.0.0.1", port, Some(certificate), PATIENCE);
        opened(stream.unwrap(), &[DATA, PULLS])
    };
    let node = meta.certificate("node.example");
    let mut own = connect(&node);
    let ticket = KEY.ticket(data, "node.example", until);
    let thief = meta.certificate("thief.example");
    let mut thief = connect(&thief);
    refused(&mut thief, data, &ticket, "for another server");
    let mut user = connect(meta.server.token().unwrap());
    refused(&mut user, data, &ticket, "for another server");
    refused(&mut own, data, &KEY.ticket(data, OWN_USER, until), "for another server");
    assert_eq!(show(&mut own, data, &ticket).unwrap().bytes, MANY as u64 * 8);
    let reply = ask(&mut own, &Request::Data(vec![data]));
    let Reply::Failed(failure) = reply else { panic!("{reply:?}") };
    assert_eq!(Error::from(failure).kind(), ErrorKind::PermissionDenied);
    // Users have nothing pulled: it makes servers dial.
    let reply = ask(&mut user, &pull(DataId(id()), data, "tls://127.0.0.1:1", 8));
    let Reply::Failed(failure) = reply else { panic!("{reply:?}") };
    assert_eq!(Error::from(failure).kind(), ErrorKind::PermissionDenied);
}

fn pull(data: DataId, source: DataId, address: &str, bytes_max: u64) -> Request {
    let ticket = KEY.ticket(source, OWN_USER, soon_us());
    Request::Pull(Box::new(PullRequest {
        data,
        source,
        addresses: vec![address.to_owned()],
        ticket,
        bytes_max,
        key: None,
    }))
}

/// Has something pulled by a server: how that ended.
fn pulled(line: &mut Line, source: DataId, address: &str, bytes_max: u64) -> Result<DataId> {
    let data = DataId(id());
    let promise = Promise { data, kind: KIND.into() };
    assert!(matches!(ask(line, &Request::Promise(vec![promise], 0)), Reply::Done));
    match ask(line, &pull(data, source, address, bytes_max)) {
        Reply::Done => Ok(data),
        Reply::Failed(failure) => Err(failure.into()),
        other => panic!("{other:?}"),
    }
}

fn value(line: &mut Line, data: DataId, at: usize) -> f64 {
    line.fetch(data).unwrap();
    let events = some(line).unwrap();
    let [LineEvent::Fetched(_, fetched)] = &events[..] else { panic!("it is there") };
    let mut bytes = [0; 8];
    bytes.copy_from_slice(Space::of(&*fetched.elements, at * 8, 8).unwrap().bytes());
    f64::from_ne_bytes(bytes)
}

#[test]
fn a_server_pulls_from_another_one() {
    let folder = Directory::new();
    let source = server(&folder, "source", "");
    let receiver = server(&folder, "receiver", "pull_ms = 1000\npulls_max = 2");
    let mut owner = peer(&source, &[DATA, PULLS]);
    let mut line = peer(&receiver, &[DATA, PULLS]);
    for count in [3, MANY, 16 << 20] {
        let data = put(&mut owner, count);
        let bytes = count as u64 * 8;
        let began = Instant::now();
        let here = pulled(&mut line, data, source.address(), bytes).unwrap();
        println!("{count} numbers were pulled in {:?}", began.elapsed());
        assert_eq!(value(&mut line, here, count - 1), (count - 1) as f64);
        let large = pulled(&mut line, data, source.address(), bytes - 1).unwrap_err();
        assert_eq!(large.kind(), ErrorKind::LimitExceeded, "{large}");
        // It is the receiver's own: the source may go.
        assert!(matches!(ask(&mut owner, &Request::DeleteData(vec![data])), Reply::Done));
        assert_eq!(value(&mut line, here, count / 2), (count / 2) as f64);
    }
    let gone = pulled(&mut line, DataId(id()), source.address(), 8).unwrap_err();
    assert_eq!(gone.kind(), ErrorKind::PermissionDenied, "{gone}");
    let data = put(&mut owner, MANY);
    let lost = folder.0.join("nobody").display().to_string();
    let error = pulled(&mut line, data, &format!("unix:{lost}"), 8).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
    // One that says nothing, and one that hangs up.
    let path = folder.0.join("silent");
    let silent = UnixListener::bind(&path).unwrap();
    let address = format!("unix:{}", path.display());
    let error = pulled(&mut line, data, &address, 8).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    let hangs_up = std::thread::spawn(move || {
        drop(silent.accept());
        drop(silent.accept());
    });
    let error = pulled(&mut line, data, &address, 8).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionLost, "{error}");
    hangs_up.join().unwrap();
    // What was pulled in vain may be put there.
    drop(source);
    let error = pulled(&mut line, data, &address, 8).unwrap_err();
    assert!(!error.to_string().is_empty());
}

/// Memory that a source shares is the value's own, and can only be read.
#[test]
fn memory_is_passed_on_one_host() {
    let folder = Directory::new();
    let server = server(&folder, "one", "");
    let mut owner = peer(&server, &[DATA, PULLS]);
    let data = put(&mut owner, MANY);
    let mut line = peer(&server, &[DATA, PULLS, SHARED_RESULTS]);
    let fetched = show(&mut line, data, &KEY.ticket(data, OWN_USER, soon_us())).unwrap();
    let (memory, size) = fetched.memory.unwrap();
    assert!(size >= MANY as u64 * 8);
    let seals = rustix::fs::fcntl_get_seals(&*memory).unwrap();
    assert!(seals.contains(rustix::fs::SealFlags::WRITE | rustix::fs::SealFlags::SHRINK));
}

const MAKES: &str = "Module makes;\n\
    Define make(IN int n, OUT double x[n]) { for (int i = 0; i < n; i++) x[i] = i; }\n";
const ADDS: &str = "Module adds;\nDefine add(IN int n, INOUT double x[n], OUT double sum[1]) \
    { *sum = 0; for (int i = 0; i < n; i++) { *sum += x[i]; x[i] += 1; } }\n";

/// A transaction whose second call needs, elsewhere, what the first one makes; values may not pass
/// through the node.
fn pulls_in_a_transaction(mut world: World) {
    let find = |name: &str| farcall_tests::eventually(|| world.client.routine(name).is_ok());
    assert!(find("makes/make") && find("adds/add"));
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

const NO_MOVES: &str = "moved_bytes_max = 0";

#[test]
fn transactions_pull_on_one_host() {
    let folder = Directory::new();
    let meta = server(&folder, "meta", NO_MOVES);
    let join = |name: &str, text: &str| {
        let mut command = Server::command();
        command.args(["--join", meta.address()]);
        Server::start_as(command, &[folder.write(name, text)])
    };
    let members = vec![join("makes.idl", MAKES), join("adds.idl", ADDS)];
    pulls_in_a_transaction(World::of(meta, members));
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
