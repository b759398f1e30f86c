//! The driver: a mailbox, and a connection to the server for each transaction, in one loop. The only
//! part that waits.

use std::collections::{BTreeMap, HashMap};
use std::os::fd::AsFd;
use std::time::Duration;

use farcall_base::{ChannelId, Clock, ConnectionId, Error, Result, SystemClock};
use farcall_graph::CallNumber;
use farcall_link::line::{Line, LineEvent};
use farcall_services::mailbox::{NoMessage, Receiver, Reply};
use farcall_services::transactions::{self, TransactionsHandle};
use farcall_services::transports::TransportsHandle;
use farcall_wire::DATA;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::options::Settings;
use crate::state::{Action, QuestionNumber, State, Tag, TransactionNumber};

/// Services of other plugins.
pub struct Services {
    pub server: TransactionsHandle,
    pub transports: TransportsHandle,
}

/// What arrives.
pub enum Message {
    /// The server of the node passes something on.
    Said(transactions::Message),
    Stop,
}

/// The connection of a transaction.
struct Connected {
    line: Line,
    tags: HashMap<ChannelId, Tag>,
    calls: HashMap<(CallNumber, u32), ChannelId>,
}

/// The driver.
pub struct Driver {
    services: Services,
    inbox: Receiver<Message>,
    clock: SystemClock,
    state: State,
    replies: BTreeMap<QuestionNumber, Reply<farcall_wire::Reply>>,
    last: u64,
    lines: BTreeMap<TransactionNumber, Connected>,
}

impl Driver {
    pub fn new(settings: Settings, services: Services, inbox: Receiver<Message>) -> Driver {
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
        Driver {
            services,
            inbox,
            clock: SystemClock::new(),
            state: State::new(settings, processors),
            replies: BTreeMap::new(),
            last: 0,
            lines: BTreeMap::new(),
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
                    Err(NoMessage::Empty) => break,
                }
            }
            self.work();
            if self.state.next_tick().is_some_and(|at| at <= self.clock.now()) {
                self.state.tick(self.clock.now());
            }
            self.settle();
        }
    }

    fn sleep(&self) -> Result<()> {
        let mut watched = vec![PollFd::from_borrowed_fd(self.inbox.as_fd(), PollFlags::IN)];
        for connected in self.lines.values() {
            connected.line.watch(&mut watched);
        }
        let now = self.clock.now();
        let next = self.state.next_tick();
        let timeout = next.map(|at| at.since(now) + Duration::from_millis(1));
        let timeout = timeout.and_then(|left| Timespec::try_from(left).ok());
        match poll(&mut watched, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(Error::system("wait for calls", error.into())),
        }
    }

    fn take(&mut self, said: transactions::Message) {
        let now = self.clock.now();
        match said {
            transactions::Message::Asked { asker, request, reply } => {
                self.last += 1;
                let number = QuestionNumber(self.last);
                self.replies.insert(number, reply);
                self.state.handle_asked(now, number, asker, request);
            }
            transactions::Message::Left { connection, may_return } => {
                self.state.handle_left(now, connection, may_return);
            }
            transactions::Message::Back { client, connection } => {
                self.state.handle_back(&client, connection);
            }
        }
    }

    /// Takes what has come over connections.
    fn work(&mut self) {
        let numbers: Vec<TransactionNumber> = self.lines.keys().copied().collect();
        numbers.into_iter().for_each(|number| self.work_one(number));
    }

    fn work_one(&mut self, number: TransactionNumber) {
        let Some(connected) = self.lines.get_mut(&number) else { return };
        let outcome = connected.line.work();
        let now = self.clock.now();
        for event in connected.line.take_events() {
            match event {
                LineEvent::Open(features) => self.state.handle_connected(now, number, &features),
                LineEvent::Reply(channel, reply) => {
                    if let Some(tag) = connected.tags.remove(&channel) {
                        self.state.handle_reply(now, number, tag, reply);
                    }
                }
                LineEvent::Ended(channel, result) => {
                    let Some(tag) = connected.tags.remove(&channel) else { continue };
                    if let Tag::Call(call, attempt) = tag {
                        connected.calls.remove(&(call, attempt));
                    }
                    self.state.handle_ended(now, number, tag, *result);
                }
            }
        }
        if let Err(error) = outcome {
            self.lost(number, &error);
        }
    }

    fn lost(&mut self, number: TransactionNumber, error: &Error) {
        if self.lines.remove(&number).is_some() {
            self.state.handle_lost(number, error);
        }
    }

    /// Carries out what was decided, until nothing is left, and sends it.
    fn settle(&mut self) {
        let mut touched = Vec::new();
        loop {
            while let Some(action) = self.state.poll_action() {
                touched.extend(self.act(action));
            }
            touched.sort_unstable();
            touched.dedup();
            if touched.is_empty() {
                return;
            }
            for number in std::mem::take(&mut touched) {
                self.work_one(number);
            }
        }
    }

    /// The transaction over whose connection something is to be sent.
    fn act(&mut self, action: Action) -> Option<TransactionNumber> {
        match action {
            Action::Answer(question, answer) => {
                if let Some(reply) = self.replies.remove(&question) {
                    reply.answer(answer);
                }
                None
            }
            Action::Connect(number, asked) => {
                if let Err(error) = self.connect(number, asked) {
                    self.state.handle_lost(number, &error);
                }
                None
            }
            Action::Leave(number) => {
                if let Some(connected) = self.lines.remove(&number) {
                    connected.line.leave();
                }
                None
            }
            Action::Ask(number, tag, request) => {
                self.say(number, tag, |line| line.ask(&request).map(Some))
            }
            Action::Open(number, tag, open) => {
                self.say(number, tag, |line| line.open(&open).map(Some))
            }
            Action::Fetch(number, tag, data) => {
                self.say(number, tag, |line| line.fetch(data).map(Some))
            }
            Action::Cancel(number, call, attempt) => {
                let channel = *self.lines.get(&number)?.calls.get(&(call, attempt))?;
                self.say(number, Tag::Other, |line| {
                    line.cancel(channel);
                    Ok(None)
                })
            }
        }
    }

    /// Says something over the connection of a transaction; the answer has this tag.
    fn say(
        &mut self,
        number: TransactionNumber,
        tag: Tag,
        what: impl FnOnce(&mut Line) -> Result<Option<ChannelId>>,
    ) -> Option<TransactionNumber> {
        let connected = self.lines.get_mut(&number)?;
        match what(&mut connected.line) {
            Ok(Some(channel)) => {
                connected.tags.insert(channel, tag);
                if let Tag::Call(call, attempt) = tag {
                    connected.calls.insert((call, attempt), channel);
                }
            }
            Ok(None) => {}
            Err(error) => {
                self.lost(number, &error);
                return None;
            }
        }
        Some(number)
    }

    fn connect(
        &mut self,
        number: TransactionNumber,
        asked: (ConnectionId, ChannelId),
    ) -> Result<()> {
        let [own, servers] = self.services.transports.pair()?;
        self.services.server.adopt(servers, asked)?;
        let line = Line::new(own, &[DATA]);
        let connected = Connected { line, tags: HashMap::new(), calls: HashMap::new() };
        self.lines.insert(number, connected);
        // It greets.
        self.work_one(number);
        Ok(())
    }
}
