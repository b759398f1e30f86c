//! A server at the other end of a connection, moved by hand: it reads only when told to, and says
//! what it is told.

use std::collections::{HashMap, VecDeque};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use farcall_base::{ChannelId, Error, ErrorKind, Result};
use farcall_call::{Connection, Event, Setup, Transmit};
use farcall_client::Client;
use farcall_client::idl::encode::{contract_hash, encode_interface};
use farcall_client::idl::interface::Interface;
use farcall_link::memory::{Block, Space};
use farcall_link::stream::{ByteStream, Proof};
use farcall_link::{FrameHandler, Link, Received};
use farcall_wire::{
    Argument, ByteOrder, CallResult, CallTimes, FrameHeader, Hello, HelloLimits, InterfaceReply,
    OBJECTS, Open, PLACEMENT, PlaceQuestion, Reply, Request, Role,
};

/// What no test has to wait for.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a call may send unasked: any socket takes as much at once.
const INITIAL_CREDIT: u64 = 16 << 10;

/// How the two are connected.
#[derive(Clone, Copy, Debug)]
pub enum Wire {
    /// Over a Unix socket: arrays lie in shared memory.
    Shared,
    /// Over TCP: arrays follow their message.
    Blocks,
}

/// The server.
pub struct Fake {
    link: Link,
    known: Known,
    interface: Interface,
    /// What it says of its routine's calls: that they are placed.
    is_placed: Option<bool>,
    /// Array bytes of results that are to be sent.
    results: HashMap<(ChannelId, u16), Vec<u8>>,
    /// What it says that calls took.
    pub times: CallTimes,
}

struct Known {
    connection: Connection,
    events: VecDeque<Event>,
    /// Array bytes of arguments that came, by slot.
    data: HashMap<(ChannelId, u16), Vec<u8>>,
    space: Vec<u8>,
    /// Memory of the client's, in the order of its numbers.
    shared: Vec<OwnedFd>,
}

impl FrameHandler for Known {
    fn control(
        &mut self,
        header: &FrameHeader,
        body: &[u8],
        descriptors: &mut VecDeque<OwnedFd>,
    ) -> Result<()> {
        self.shared.extend(descriptors.drain(..));
        self.connection.handle_control(header, body)?;
        self.take_events();
        Ok(())
    }

    fn data_space(&mut self, header: &FrameHeader, done: u32) -> Result<Option<Space>> {
        self.connection.place(header, done)?;
        self.space.resize((header.length - done) as usize, 0);
        // SAFETY: the bytes are received, and looked at, before anything else happens to the
        // vector.
        Ok(Some(unsafe { Space::borrowed(self.space.as_mut_ptr(), self.space.len()) }))
    }

    fn data_arrived(&mut self, header: &FrameHeader, count: u32, done: u32) -> Result<()> {
        let data = self.data.entry((header.channel, header.slot)).or_default();
        data.extend_from_slice(&self.space[..count as usize]);
        self.connection.data_arrived(header, done)?;
        self.take_events();
        Ok(())
    }
}

impl Known {
    fn take_events(&mut self) {
        while let Some(event) = self.connection.poll_event() {
            self.events.push_back(event);
        }
    }
}

fn streams(wire: Wire) -> (Box<dyn ByteStream>, Box<dyn ByteStream>) {
    match wire {
        Wire::Shared => farcall_transport_unix::pair().unwrap(),
        Wire::Blocks => {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (other, _) = listener.accept().unwrap();
            let stream = |one: TcpStream| {
                farcall_transport_tcp::from_descriptor(one.into(), Proof::Inherited).unwrap()
            };
            (stream(one), stream(other))
        }
    }
}

fn interface(idl: &str) -> Interface {
    let module = farcall_client::idl::compile("fake.idl", idl)
        .unwrap_or_else(|problems| panic!("{problems:?}"));
    module.routines[0].interface.clone()
}

/// A client, and the server that it is connected with. `idl` has the one routine that the server
/// knows; `timeout` is the client's.
pub fn pair(wire: Wire, idl: &str, timeout: Duration) -> (Client, Fake) {
    let limits = HelloLimits { initial_credit: INITIAL_CREDIT, ..HelloLimits::default() };
    pair_with(wire, idl, timeout, limits)
}

/// The same with a server that has these limits.
pub fn pair_with(wire: Wire, idl: &str, timeout: Duration, limits: HelloLimits) -> (Client, Fake) {
    let (near, far) = streams(wire);
    let fake = Fake::new(far, idl, limits, Vec::new());
    connected(near, fake, timeout)
}

/// A client, and a server that says where calls run.
pub fn metaserver(idl: &str, timeout: Duration) -> (Client, Fake) {
    metaserver_with(idl, timeout, &[PLACEMENT, OBJECTS])
}

/// The same of one that knows these features.
pub fn metaserver_with(idl: &str, timeout: Duration, features: &[&str]) -> (Client, Fake) {
    let (near, far) = streams(Wire::Blocks);
    let limits = HelloLimits { initial_credit: INITIAL_CREDIT, ..HelloLimits::default() };
    let features = features.iter().map(|feature| (*feature).to_owned());
    let fake = Fake::new(far, idl, limits, features.collect());
    connected(near, fake, timeout)
}

fn connected(near: Box<dyn ByteStream>, mut fake: Fake, timeout: Duration) -> (Client, Fake) {
    let client =
        std::thread::spawn(move || Client::over(near, None, "fake".to_owned(), timeout).unwrap());
    fake.greet();
    (client.join().unwrap(), fake)
}

/// Where a server listens that clients dial when they are told of it.
pub struct Listening {
    listener: TcpListener,
    idl: String,
}

impl Listening {
    /// At a port of its own.
    pub fn new(idl: &str) -> Listening {
        Listening { listener: TcpListener::bind("127.0.0.1:0").unwrap(), idl: idl.to_owned() }
    }

    /// Where that is.
    pub fn address(&self) -> String {
        format!("farcall://{}", self.listener.local_addr().unwrap())
    }

    /// The next client that dials.
    pub fn accept(&self) -> Fake {
        let (stream, _) = self.listener.accept().unwrap();
        let stream = farcall_transport_tcp::from_descriptor(stream.into(), Proof::Inherited);
        let limits = HelloLimits { initial_credit: INITIAL_CREDIT, ..HelloLimits::default() };
        let features = vec![PLACEMENT.to_owned(), OBJECTS.to_owned()];
        let mut fake = Fake::new(stream.unwrap(), &self.idl, limits, features);
        fake.greet();
        fake
    }
}

impl Fake {
    fn new(
        stream: Box<dyn ByteStream>,
        idl: &str,
        limits: HelloLimits,
        features: Vec<String>,
    ) -> Fake {
        let is_placed = features.iter().any(|feature| feature == PLACEMENT).then_some(true);
        let hello = Hello {
            role: Role::Server,
            byte_order: ByteOrder::NATIVE,
            product: "fake".into(),
            features,
            limits,
            host: String::new(),
            principal: None,
            token: None,
            attributes: Vec::new(),
        };
        let connection = Connection::new(Setup { hello, initiator: false, token: None });
        let events = VecDeque::new();
        let data = HashMap::new();
        let known = Known { connection, events, data, space: Vec::new(), shared: Vec::new() };
        Fake {
            link: Link::new(stream, 1 << 26, 4 << 20),
            known,
            interface: interface(idl),
            is_placed,
            results: HashMap::new(),
            times: CallTimes::default(),
        }
    }

    fn greet(&mut self) {
        assert!(matches!(self.event(), Event::Ready(_)));
        self.send();
    }

    /// The next thing that the client does, apart from the rest of a call, must be this request.
    pub fn requested(&mut self) -> (ChannelId, Request) {
        loop {
            match self.event() {
                Event::Requested(channel, request) => return (channel, request),
                Event::ArgumentsComplete(_) | Event::CancelRequested(_) | Event::Shared(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// The next thing must be a question where a call runs.
    pub fn asked_to_place(&mut self) -> (ChannelId, Box<PlaceQuestion>) {
        match self.requested() {
            (channel, Request::Place(question)) => (channel, question),
            other => panic!("{other:?}"),
        }
    }

    /// Answers it.
    pub fn answer(&mut self, channel: ChannelId, reply: &Reply) {
        self.reply(channel, reply);
    }

    /// Waits for what the client does next.
    pub fn event(&mut self) -> Event {
        let begun = Instant::now();
        loop {
            if let Some(event) = self.known.events.pop_front() {
                return event;
            }
            assert!(begun.elapsed() < PATIENCE, "the client does nothing");
            self.read();
        }
    }

    /// Reads what is there.
    pub fn read(&mut self) {
        match self.link.receive(&mut self.known, 1 << 20).unwrap_or_else(|error| panic!("{error}"))
        {
            Received::Blocked => std::thread::sleep(Duration::from_millis(1)),
            Received::Closed => panic!("the client closed the connection"),
            Received::More => {}
        }
        self.send();
    }

    fn send(&mut self) {
        while let Some(transmit) = self.known.connection.poll_transmit() {
            match transmit {
                Transmit::Control { header, body, .. } => {
                    self.link.queue_control(header, &body, Vec::new())
                }
                Transmit::Data { header, place } => {
                    let bytes = &self.results[&(place.channel, place.slot)];
                    let part = &bytes[place.offset as usize..][..header.length as usize];
                    // SAFETY: results are kept until the server is dropped.
                    let block = unsafe { Block::borrowed(part.as_ptr(), part.len()) };
                    self.link.queue_data(header, [block]);
                }
            }
        }
        self.link.flush().unwrap();
    }

    /// The next thing that the client does must be a question for the interface: answers it.
    pub fn tell_interface(&mut self) {
        let channel = self.asked();
        self.reply(channel, &Reply::Interface(self.interface_reply()));
    }

    /// Answers all questions for the interface that came by now.
    pub fn tell_what_is_asked(&mut self) {
        self.read();
        while let Some(Event::Requested(channel, Request::Interface(_))) =
            self.known.events.pop_front()
        {
            self.reply(channel, &Reply::Interface(self.interface_reply()));
        }
    }

    /// Answers a question for all interfaces.
    pub fn tell_list(&mut self, channel: ChannelId) {
        self.reply(channel, &Reply::List(vec![self.interface_reply()]));
    }

    fn interface_reply(&self) -> InterfaceReply {
        InterfaceReply {
            name: self.interface.full_name(),
            interface: encode_interface(&self.interface),
            contract: contract_hash(&self.interface),
            is_placed: self.is_placed,
        }
    }

    fn reply(&mut self, channel: ChannelId, reply: &Reply) {
        self.known.connection.reply(channel, reply);
        self.send();
    }

    /// Whether the client took shared memory back that this server was told of, in what came by
    /// now.
    pub fn lost_memory(&mut self) -> bool {
        (0..20).for_each(|_| self.read());
        self.known.events.iter().any(|event| matches!(event, Event::Unshared(_)))
    }

    /// Writes to memory that the client shares: the segment of this number.
    pub fn write(&self, segment: u32, offset: u64, bytes: &[u8]) {
        let memory = &self.known.shared[segment as usize - 1];
        assert_eq!(rustix::io::pwrite(memory, bytes, offset).unwrap(), bytes.len());
    }

    /// Ends the connection without a word; what the client shared stays mapped.
    pub fn hang_up(self) -> Vec<OwnedFd> {
        self.known.shared
    }

    /// The client must have asked nothing more, and made no call.
    pub fn expect_quiet(&mut self) {
        (0..20).for_each(|_| self.read());
        let is_news = |event: &Event| !matches!(event, Event::ArgumentsComplete(_));
        assert!(!self.known.events.iter().any(is_news), "{:?}", self.known.events);
    }

    /// The client must have done nothing more.
    pub fn expect_nothing(&mut self) {
        (0..20).for_each(|_| self.read());
        assert!(self.known.events.is_empty(), "{:?}", self.known.events);
    }

    /// The next thing that the client does, apart from the rest of a call, must be a question for
    /// the interface.
    pub fn asked(&mut self) -> ChannelId {
        loop {
            match self.event() {
                Event::Requested(channel, Request::Interface(_)) => return channel,
                Event::ArgumentsComplete(_) | Event::CancelRequested(_) | Event::Shared(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// From now on the routine has this interface.
    pub fn publish(&mut self, idl: &str) {
        self.interface = interface(idl);
    }

    /// The next thing that the client does must be a call.
    pub fn opened(&mut self) -> (ChannelId, Box<Open>) {
        loop {
            match self.event() {
                Event::Opened(channel, open) => return (channel, open),
                Event::Shared(_)
                | Event::Unshared(_)
                | Event::ArgumentsComplete(_)
                | Event::CancelRequested(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// The next call; `None` once the client has left.
    pub fn opened_or_left(&mut self) -> Option<(ChannelId, Box<Open>)> {
        loop {
            match self.known.events.pop_front() {
                Some(Event::Opened(channel, open)) => return Some((channel, open)),
                Some(Event::Left(_)) => return None,
                Some(_) => continue,
                None => {}
            }
            match self.link.receive(&mut self.known, 1 << 20) {
                Ok(Received::Blocked) => std::thread::sleep(Duration::from_micros(100)),
                Ok(Received::More) => {}
                Ok(Received::Closed) | Err(_) => return None,
            }
            self.send();
        }
    }

    /// The next call, if one comes within this time.
    pub fn opened_within(&mut self, time: Duration) -> Option<(ChannelId, Box<Open>)> {
        let begun = Instant::now();
        while begun.elapsed() < time {
            self.read();
            let is_open = |event: &Event| matches!(event, Event::Opened(..));
            if self.known.events.iter().any(is_open) {
                return Some(self.opened());
            }
        }
        None
    }

    /// Lets a call send so many bytes in all.
    pub fn grant(&mut self, channel: ChannelId, bytes: u64) {
        self.known.connection.grant(channel, bytes);
        self.send();
    }

    /// Ends a call badly.
    pub fn refuse(&mut self, channel: ChannelId, error: &Error) {
        self.respond(channel, Vec::new(), Some(error));
    }

    /// Says that the interface must be fetched first.
    pub fn refuse_as_changed(&mut self, channel: ChannelId) {
        let error =
            Error::new(ErrorKind::InterfaceChanged, "accept a call", "must be fetched first")
                .retryable();
        self.refuse(channel, &error);
    }

    /// Ends a call well. Arrays among the results follow as blocks: their bytes are in `data`, by
    /// slot.
    pub fn finish(
        &mut self,
        channel: ChannelId,
        results: Vec<Argument>,
        data: Vec<(u16, Vec<u8>)>,
    ) {
        for (slot, bytes) in data {
            self.results.insert((channel, slot), bytes);
        }
        self.respond(channel, results, None);
    }

    fn respond(&mut self, channel: ChannelId, results: Vec<Argument>, failure: Option<&Error>) {
        let failure = failure.map(Into::into);
        let result = CallResult { failure, results, times: self.times, attributes: None };
        self.known.connection.respond(channel, &result);
        self.send();
    }

    /// Calls a function of the client's.
    pub fn begin_callback(&mut self, open: &Open) {
        let channel = self.known.connection.open(open).unwrap();
        for (slot, argument) in (0..).zip(&open.arguments) {
            if let Argument::Blocks(Some(bytes)) = argument {
                // What the client lets come before it has looked at the call is less.
                self.results.insert((channel, slot), vec![0; (*bytes).min(16 << 20) as usize]);
            }
        }
        self.send();
    }

    /// What became of a callback, in the order of the client's answers.
    pub fn called_back(&mut self) -> CallResult {
        loop {
            match self.event() {
                Event::Resulted(_, result) => return *result,
                Event::Finished(_) | Event::ArgumentsComplete(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// Bytes of an argument that came so far.
    pub fn data(&self, channel: ChannelId, slot: u16) -> &[u8] {
        self.known.data.get(&(channel, slot)).map_or(&[], Vec::as_slice)
    }
}
