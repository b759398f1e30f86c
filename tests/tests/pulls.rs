//! Servers that pull data from one another, by tickets (spec/wire.md, section 12.1).

use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use farcall_base::{CallId, DataId, Error, ErrorKind, Result};
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
use crate::transactions::{ask, line, some};

pub(crate) const KEY: TicketKey = TicketKey([7; 32]);
pub(crate) const KIND: &str = "data:double:1:row";
const PATIENCE: Duration = Duration::from_secs(20);
/// A connection that pulled is kept for 3 s.
const KEPT_AT_LEAST: Duration = Duration::from_millis(3500);
pub(crate) const MANY: usize = 100_000;

pub(crate) fn id() -> [u8; 16] {
    static LAST: AtomicU64 = AtomicU64::new(1);
    let mut id = [0x5a; 16];
    id[..8].copy_from_slice(&LAST.fetch_add(1, Ordering::Relaxed).to_le_bytes());
    id
}

fn soon_us() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    since.as_micros() as u64 + 60_000_000
}

/// A manifest with these options of the plugin that runs transactions.
pub(crate) fn transactor(options: &str) -> String {
    format!(
        "[[plugin]]\nname = \"transactions\"\nslot = \"transactor\"\n[plugin.options]\n{options}\n"
    )
}

/// A server with these options of the plugin that runs transactions.
pub(crate) fn server(folder: &Directory, name: &str, options: &str) -> Server {
    let manifest = folder.write(&format!("{name}.toml"), &transactor(options));
    Server::start(Transport::Unix, &[resident()], &["--manifest", manifest.to_str().unwrap()])
}

/// A connection to a server on this host, with what servers name to one another.
pub(crate) fn peer(server: &Server, features: &[&str]) -> Line {
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
pub(crate) fn put(line: &mut Line, count: usize) -> DataId {
    let name = DataId(id());
    put_as(line, name, count);
    name
}

/// The same under this id.
pub(crate) fn put_as(line: &mut Line, name: DataId, count: usize) {
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
    line.put((CallId(id()), name), &data, Some(&KEY)).unwrap();
    let events = some(line).unwrap();
    let [LineEvent::Ended(_, result)] = &events[..] else { panic!("it was put there") };
    assert_eq!(result.failure, None);
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

pub(crate) fn pull(data: DataId, source: DataId, address: &str, bytes_max: u64) -> Request {
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
pub(crate) fn pulled(
    line: &mut Line,
    source: DataId,
    address: &str,
    bytes_max: u64,
) -> Result<DataId> {
    let data = promised(line);
    match ask(line, &pull(data, source, address, bytes_max)) {
        Reply::Done => Ok(data),
        Reply::Failed(failure) => Err(failure.into()),
        other => panic!("{other:?}"),
    }
}

/// Data that is to come.
pub(crate) fn promised(line: &mut Line) -> DataId {
    let data = DataId(id());
    let promise = Promise { data, kind: KIND.into() };
    assert!(matches!(ask(line, &Request::Promise(vec![promise], 0)), Reply::Done));
    data
}

pub(crate) fn value(line: &mut Line, data: DataId, at: usize) -> f64 {
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

/// The connection to a source is kept for a moment: there the source need not be reached again.
#[test]
fn a_connection_serves_the_pulls_that_follow() {
    let folder = Directory::new();
    let source = server(&folder, "source", "");
    let receiver = server(&folder, "receiver", "");
    let mut owner = peer(&source, &[DATA, PULLS]);
    let mut line = peer(&receiver, &[DATA, PULLS]);
    let way = folder.0.join("way");
    std::os::unix::fs::symlink(source.address().strip_prefix("unix:").unwrap(), &way).unwrap();
    let address = format!("unix:{}", way.display());
    let data = put(&mut owner, MANY);
    let pull = |line: &mut Line| pulled(line, data, &address, MANY as u64 * 8);
    let first = pull(&mut line).unwrap();
    std::fs::remove_file(&way).unwrap();
    for _ in 0..3 {
        let here = pull(&mut line).unwrap();
        assert_eq!(value(&mut line, here, MANY - 1), value(&mut line, first, MANY - 1));
        // What the source refuses leaves the connection as it is.
        let none = pulled(&mut line, DataId(id()), &address, 8).unwrap_err();
        assert_eq!(none.kind(), ErrorKind::PermissionDenied, "{none}");
    }
    let until = Instant::now() + PATIENCE;
    loop {
        std::thread::sleep(KEPT_AT_LEAST);
        match pull(&mut line) {
            Err(error) => break assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}"),
            Ok(_) => assert!(Instant::now() < until, "the connection is kept for ever"),
        }
    }
}

/// One that ended while nobody pulled is made again.
#[test]
fn a_source_that_came_again_is_reached_again() {
    let folder = Directory::new();
    let way = folder.0.join("way");
    let receiver = server(&folder, "receiver", "");
    let mut line = peer(&receiver, &[DATA, PULLS]);
    for _ in 0..3 {
        let source = server(&folder, "source", "");
        let _ = std::fs::remove_file(&way);
        std::os::unix::fs::symlink(source.address().strip_prefix("unix:").unwrap(), &way).unwrap();
        let mut owner = peer(&source, &[DATA, PULLS]);
        let data = put(&mut owner, MANY);
        let address = format!("unix:{}", way.display());
        let here = pulled(&mut line, data, &address, MANY as u64 * 8).unwrap();
        assert_eq!(value(&mut line, here, MANY - 1), (MANY - 1) as f64);
    }
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
