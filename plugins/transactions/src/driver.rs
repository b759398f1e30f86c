//! The driver: a mailbox, and the connections of transactions to their servers, in one loop. The only
//! part that waits.

mod connected;
mod keys;
mod moving;
mod pulling;
mod storing;

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::time::Duration;

use farcall_base::{ChannelId, Clock, ConnectionId, Error, Instant, Result, SystemClock};
use farcall_link::line::{Line, LineEvent};
use farcall_link::stream::ByteStream;
use farcall_services::mailbox::{NoMessage, Receiver, Reply, Sender};
use farcall_services::store::StoreHandle;
use farcall_services::transactions::{self, TransactionsHandle, User};
use farcall_services::transports::TransportsHandle;
use farcall_wire::{DATA, PLACEMENT, PULLS, RELAY, RelayTicket};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::options::Settings;
use crate::state::{
    Action, HERE, LineNumber, QuestionNumber, SecretKeys, State, Tag, TransactionNumber,
};
use connected::{Connected, Due};
pub use keys::keys;
use moving::Moving;
use pulling::Pulling;

/// Time to reach another server.
const PATIENCE: Duration = Duration::from_secs(10);

/// Services of other plugins.
pub struct Services {
    pub server: TransactionsHandle,
    pub transports: TransportsHandle,
}

/// What arrives.
pub enum Message {
    /// The server of the node passes something on.
    Said(transactions::Message),
    /// Another server was reached, or not.
    Dialled(LineNumber, Option<String>, Result<Box<dyn ByteStream>>),
    /// The store answers, or tells something.
    Stored(storing::Stored),
    Stop,
}

/// The driver.
pub struct Driver {
    services: Services,
    sender: Sender<Message>,
    inbox: Receiver<Message>,
    clock: SystemClock,
    state: State,
    replies: BTreeMap<QuestionNumber, Reply<farcall_wire::Reply>>,
    last: u64,
    lines: BTreeMap<LineNumber, Connected>,
    moving: Moving,
    /// Connections over which something is to be sent.
    touched: Vec<LineNumber>,
    pulling: Pulling,
    store: Option<StoreHandle>,
}

impl Driver {
    pub fn new(
        settings: Settings,
        keys: SecretKeys,
        services: Services,
        sender: Sender<Message>,
        inbox: Receiver<Message>,
    ) -> Driver {
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
        Driver {
            sender,
            inbox,
            clock: SystemClock::new(),
            moving: Moving::new(settings.moved_bytes_max),
            pulling: Pulling::new(&settings),
            state: State::new(settings, processors, services.transports.dials_as_user(), keys),
            replies: BTreeMap::new(),
            last: 0,
            lines: BTreeMap::new(),
            touched: Vec::new(),
            services,
            store: None,
        }
    }

    /// Runs until told to stop.
    pub fn run(mut self) -> Result<()> {
        loop {
            self.sleep()?;
            loop {
                match self.inbox.try_receive() {
                    Ok(Message::Stop) | Err(NoMessage::Closed) => return Ok(()),
                    Ok(Message::Said(said)) => self.take(said),
                    Ok(Message::Dialled(line, principal, stream)) => {
                        self.dialled(line, principal, stream);
                    }
                    Ok(Message::Stored(stored)) => self.stored(stored),
                    Err(NoMessage::Empty) => break,
                }
            }
            // What a record was awaited for is sent before anything more is taken: a call that is
            // opened where another one has just ended says that its outcome is written down.
            self.settle();
            let numbers: Vec<LineNumber> = self.lines.keys().copied().collect();
            numbers.into_iter().for_each(|number| self.work(number));
            if self.state.next_tick().is_some_and(|at| at <= self.now()) {
                self.state.tick(self.now());
            }
            self.settle();
        }
    }

    fn sleep(&self) -> Result<()> {
        let mut watched = vec![PollFd::from_borrowed_fd(self.inbox.as_fd(), PollFlags::IN)];
        for ((number, _), connected) in &self.lines {
            match self.state.is_closed(*number) {
                true => connected.line.watch_room(&mut watched),
                false => connected.line.watch(&mut watched),
            }
        }
        let now = self.now();
        let next = self.state.next_tick();
        let timeout = next.map(|at| at.since(now) + Duration::from_millis(1));
        let timeout = timeout.and_then(|left| Timespec::try_from(left).ok());
        match poll(&mut watched, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(Error::system("wait for calls", error.into())),
        }
    }

    fn take(&mut self, said: transactions::Message) {
        let now = self.now();
        match said {
            transactions::Message::Asked { asker, request, reply } => {
                self.last += 1;
                let number = QuestionNumber(self.last);
                self.replies.insert(number, reply);
                self.state.handle_asked(now, number, asker, request);
            }
            transactions::Message::Pull { pull, reply } => {
                self.pulling.start(self.services.transports.clone(), pull, reply);
            }
            transactions::Message::Left { connection, may_return } => {
                self.state.handle_left(now, connection, may_return);
            }
            transactions::Message::Back { client, connection } => {
                self.state.handle_back(&client, connection);
            }
        }
    }

    /// Takes what has come over a connection, and sends what may be sent. While a record is being
    /// written, nothing is taken: an outcome counts as taken for its server with the next call.
    fn work(&mut self, number: LineNumber) {
        let is_closed = self.state.is_closed(number.0);
        let Some(connected) = self.lines.get_mut(&number) else { return };
        let outcome = match is_closed {
            true => connected.line.send(),
            false => connected.line.work(),
        };
        for event in connected.line.take_events() {
            self.happened(number, event);
        }
        if let Err(error) = outcome {
            self.lost(number, &error);
        }
    }

    fn happened(&mut self, number: LineNumber, event: LineEvent) {
        let now = self.now();
        let due = |lines: &mut BTreeMap<LineNumber, Connected>, channel| {
            lines.get_mut(&number).and_then(|connected| connected.take(channel))
        };
        match event {
            LineEvent::Open(features, run) => {
                self.state.handle_connected(now, number, &features, run);
            }
            LineEvent::TakenUp(channel) => {
                if let Some(connected) = self.lines.get_mut(&number) {
                    connected.taken_up(channel);
                }
            }
            LineEvent::Reply(channel, reply) => match due(&mut self.lines, channel) {
                Some(Due::Answer(tag)) => self.state.handle_reply(now, number, tag, reply),
                Some(Due::Pulled(moved)) => self.pull_ended(moved, reply),
                _ => {}
            },
            LineEvent::Ended(channel, result) => match due(&mut self.lines, channel) {
                Some(Due::Answer(Tag::TakenUp(call, attempt))) => {
                    self.state.handle_not_taken_up(now, number, (call, attempt), *result);
                }
                Some(Due::Answer(tag)) => self.state.handle_ended(now, number, tag, *result),
                Some(Due::Fetched(moved)) => self.end_move(moved, *result, true),
                Some(Due::Put(moved)) => self.end_move(moved, *result, false),
                Some(Due::Pulled(_)) | None => {}
            },
            LineEvent::Fetched(channel, fetched) => match due(&mut self.lines, channel) {
                Some(Due::Answer(Tag::Input(input))) => {
                    self.state.handle_input(now, number.0, input, &fetched);
                }
                Some(Due::Answer(tag)) => {
                    let bytes = fetched.small().unwrap_or_default();
                    self.state.handle_number(now, number, tag, bytes);
                }
                Some(Due::Fetched(moved)) => self.fetched(moved, fetched),
                Some(Due::Put(_) | Due::Pulled(_)) | None => {}
            },
        }
    }

    fn lost(&mut self, number: LineNumber, error: &Error) {
        if let Some(connected) = self.lines.remove(&number) {
            self.moves_lost(number, connected, error);
            self.state.handle_lost(self.now(), number, error);
        }
    }

    /// Carries out what was decided, until nothing is left, and sends it.
    fn settle(&mut self) {
        loop {
            self.state.commit(self.now());
            while let Some(action) = self.state.poll_action() {
                let said = self.act(action);
                self.touched.extend(said);
            }
            self.say_warnings();
            let begun = self.start_moves();
            self.touched.extend(begun);
            let mut touched = std::mem::take(&mut self.touched);
            touched.sort_unstable();
            touched.dedup();
            if touched.is_empty() {
                return;
            }
            touched.into_iter().for_each(|number| self.work(number));
        }
    }

    /// The connection over which something is to be sent.
    fn act(&mut self, action: Action) -> Option<LineNumber> {
        match action {
            Action::Answer(question, answer) => {
                let reply = self.replies.remove(&question)?;
                reply.answer(answer);
                None
            }
            Action::Connect(number, asked) => {
                let connected = self.connect((number, HERE), asked);
                self.connecting(number, connected)
            }
            Action::Dial(number, addresses, principal) => {
                self.dial(number, principal, move |transports| dial_one(transports, &addresses));
                None
            }
            Action::DialLed(number, name, ticket, principal) => {
                self.dial(number, Some(principal), move |transports| {
                    let RelayTicket { token, addresses } = ticket;
                    transports.dial_led(&name, &addresses, &token, PATIENCE)
                });
                None
            }
            Action::ConnectFor(number, user) => {
                let connected = self.connect_for((number, HERE), user);
                self.connecting(number, connected)
            }
            Action::Leave(number) => {
                for connected in self.take_lines(number) {
                    connected.line.leave();
                }
                None
            }
            Action::Drop(number, server) => {
                match server {
                    Some(server) => drop(self.lines.remove(&(number, server))),
                    None => drop(self.take_lines(number)),
                }
                None
            }
            Action::Write(..) | Action::Read(..) | Action::Lease | Action::Look(_) => {
                self.ask_store(action);
                None
            }
            Action::Resume(number, tag, call) => {
                self.say(number, Due::Answer(tag), |line| line.resume(call).map(Some))
            }
            Action::Give(number, call, id, input) => self.give(number, (call, id), &input),
            Action::Move(number, moved, pull) => {
                self.moving.queue(number, moved, pull);
                None
            }
            Action::Ask(number, tag, request) => {
                self.say(number, Due::Answer(tag), |line| line.ask(&request).map(Some))
            }
            Action::Open(number, tag, open) => {
                self.say(number, Due::Answer(tag), |line| line.open(&open).map(Some))
            }
            Action::Fetch(number, tag, data) => {
                self.say(number, Due::Answer(tag), |line| line.fetch(data).map(Some))
            }
            Action::Cancel(number, call, attempt) => {
                let channel = self.lines.get(&number)?.channel_of(call, attempt)?;
                self.say(number, Due::Answer(Tag::Other), |line| {
                    line.cancel(channel);
                    Ok(None)
                })
            }
        }
    }

    /// A connection to the own server was begun.
    fn connecting(
        &mut self,
        number: TransactionNumber,
        connected: Result<()>,
    ) -> Option<LineNumber> {
        if let Err(error) = connected {
            self.state.handle_lost(self.now(), (number, HERE), &error);
        }
        Some((number, HERE))
    }

    /// Says something over a connection; `due` is what comes back.
    fn say(
        &mut self,
        number: LineNumber,
        due: Due,
        what: impl FnOnce(&mut Line) -> Result<Option<ChannelId>>,
    ) -> Option<LineNumber> {
        let connected = self.lines.get_mut(&number)?;
        match what(&mut connected.line) {
            Ok(Some(channel)) => connected.await_on(channel, due),
            Ok(None) => {}
            Err(error) => {
                self.lost(number, &error);
                return None;
            }
        }
        Some(number)
    }

    /// The connections of a transaction, with all that is on its way over them.
    fn take_lines(&mut self, number: TransactionNumber) -> Vec<Connected> {
        self.moving.forget(number);
        let mine = self.lines.keys().filter(|(of, _)| *of == number).copied();
        let mine: Vec<LineNumber> = mine.collect();
        mine.into_iter().filter_map(|line| self.lines.remove(&line)).collect()
    }

    fn connect(&mut self, number: LineNumber, asked: (ConnectionId, ChannelId)) -> Result<()> {
        let [own, servers] = self.services.transports.pair()?;
        self.services.server.adopt(servers, asked)?;
        self.greet_here(number, own);
        Ok(())
    }

    fn connect_for(&mut self, number: LineNumber, user: User) -> Result<()> {
        let [own, servers] = self.services.transports.pair()?;
        self.services.server.adopt_for(servers, user)?;
        self.greet_here(number, own);
        Ok(())
    }

    fn greet_here(&mut self, number: LineNumber, stream: Box<dyn ByteStream>) {
        let returns = self.state.returns(number);
        let line = Line::speaking_for(stream, &[DATA, PLACEMENT, PULLS, RELAY], None, returns);
        self.lines.insert(number, Connected::new(line));
    }

    /// Reaches another server in a thread of its own: that may take as long as it likes.
    fn dial(
        &mut self,
        number: LineNumber,
        principal: Option<String>,
        reach: impl FnOnce(&TransportsHandle) -> Result<Box<dyn ByteStream>> + Send + 'static,
    ) {
        let transports = self.services.transports.clone();
        let dialled = move |stream| Message::Dialled(number, principal, stream);
        let started = self.sender.reply(dialled).and_then(|reply| {
            let dial = move || reply.answer(reach(&transports));
            let thread = std::thread::Builder::new().name("dial".to_owned()).spawn(dial);
            thread.map(drop).map_err(|error| Error::system("reach a server", error))
        });
        if let Err(error) = started {
            self.state.handle_lost(self.now(), number, &error);
        }
    }

    fn dialled(
        &mut self,
        number: LineNumber,
        principal: Option<String>,
        stream: Result<Box<dyn ByteStream>>,
    ) {
        match stream {
            // Nobody would ever leave it.
            Ok(_) if !self.state.awaits(number) => {}
            Ok(stream) => {
                let returns = self.state.returns(number);
                let line = Line::speaking_for(stream, &[DATA, PULLS], principal, returns);
                self.lines.insert(number, Connected::new(line));
                self.work(number);
            }
            Err(error) => self.state.handle_lost(self.now(), number, &error),
        }
    }

    fn now(&self) -> Instant {
        self.clock.now()
    }
}

/// A server that is reached at one of several addresses.
fn dial_one(transports: &TransportsHandle, addresses: &[String]) -> Result<Box<dyn ByteStream>> {
    dial_within(transports, addresses, PATIENCE)
}

/// The same; each address has this time.
fn dial_within(
    transports: &TransportsHandle,
    addresses: &[String],
    patience: Duration,
) -> Result<Box<dyn ByteStream>> {
    let mut outcome = Err(Error::internal("reach a server", "it has no address that a node dials"));
    for address in addresses {
        outcome = transports.dial(address, patience);
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}
