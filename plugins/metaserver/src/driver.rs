//! The driver: a mailbox and the connections that this server dials, in one loop. The only part
//! that waits.

mod learned;
mod relay;
mod splice;

use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use farcall_base::{Clock, Error, Result, SystemClock};
use farcall_link::line::{Line, LineEvent};
use farcall_link::stream::ByteStream;
use farcall_services::directory::{self, DirectoryHandle, Response};
use farcall_services::mailbox::{NoMessage, Receiver, Reply, Sender};
use farcall_services::placement::{self, PlacementHandle};
use farcall_services::transports::TransportsHandle;
use farcall_wire::{PLACEMENT, RELAY, ServerReport};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::milliseconds;
use crate::options::Settings;
use crate::state::{LinkNumber, QuestionNumber, State, StreamNumber};
use crate::step::Action;
use learned::LearnedFile;
use relay::Relaying;

/// Services of other plugins.
pub struct Services {
    pub server: PlacementHandle,
    pub directory: DirectoryHandle,
    pub transports: TransportsHandle,
}

/// What arrives.
pub enum Message {
    /// The server of the node passes something on.
    Said(placement::Message),
    /// How the own node is.
    Own(Result<Box<ServerReport>>),
    /// A server was reached, or not, by this attempt.
    Dialled(LinkNumber, u64, Result<Box<dyn ByteStream>>),
    /// The server of a stream was reached, or not.
    Reached(StreamNumber, Result<OwnedFd>),
    /// Streams have ended.
    Flowed,
    /// The directory was told what others publish.
    Told(Result<Response>),
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
    lines: BTreeMap<LinkNumber, Line>,
    /// The attempt that each dialled server waits for.
    attempts: BTreeMap<LinkNumber, u64>,
    patience: Duration,
    learned: LearnedFile,
    relaying: Relaying,
}

impl Driver {
    pub fn new(
        settings: Settings,
        services: Services,
        sender: Sender<Message>,
        inbox: Receiver<Message>,
    ) -> Driver {
        let patience = milliseconds(settings.patience_ms);
        let (learned, lessons) = LearnedFile::open(&settings.learned_file);
        let mut state = State::new(settings, random());
        state.restore(&lessons);
        Driver {
            learned,
            services,
            sender,
            inbox,
            clock: SystemClock::new(),
            state,
            replies: BTreeMap::new(),
            last: 0,
            lines: BTreeMap::new(),
            attempts: BTreeMap::new(),
            patience,
            relaying: Relaying::default(),
        }
    }

    /// Runs until told to stop.
    pub fn run(mut self) -> Result<()> {
        loop {
            self.sleep()?;
            loop {
                match self.inbox.try_receive() {
                    Ok(Message::Stop) | Err(NoMessage::Closed) => return Ok(()),
                    Ok(message) => self.take(message),
                    Err(NoMessage::Empty) => break,
                }
            }
            self.work();
            self.look_at_streams();
            if self.state.next_tick().is_some_and(|at| at <= self.clock.now()) {
                self.state.tick(self.clock.now());
            }
            while let Some(action) = self.state.poll_action() {
                self.act(action);
            }
        }
    }

    fn sleep(&self) -> Result<()> {
        let mut watched = vec![PollFd::from_borrowed_fd(self.inbox.as_fd(), PollFlags::IN)];
        for line in self.lines.values() {
            line.watch(&mut watched);
        }
        let now = self.clock.now();
        // What is queued for bells that nobody strikes is looked for now and then.
        let next = self.state.next_tick();
        let timeout = next.map(|at| at.since(now) + Duration::from_millis(1));
        let timeout = timeout.and_then(|left| Timespec::try_from(left).ok());
        match poll(&mut watched, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(Error::system("wait for other servers", error.into())),
        }
    }

    fn take(&mut self, message: Message) {
        let now = self.clock.now();
        match message {
            Message::Said(placement::Message::Asked { asker, request, reply }) => {
                self.last += 1;
                let number = QuestionNumber(self.last);
                self.replies.insert(number, reply);
                self.state.handle_asked(now, number, asker, request);
            }
            Message::Said(placement::Message::Closed(connection)) => {
                self.state.handle_closed(now, connection);
            }
            Message::Said(placement::Message::Relayed(relayed)) => self.take_relayed(relayed),
            Message::Reached(number, socket) => self.reached(number, socket),
            Message::Own(answer) => self.state.handle_own(now, answer),
            Message::Dialled(number, attempt, stream) => self.dialled(number, attempt, stream),
            Message::Told(Err(_)) => self.state.tell_again(now),
            Message::Told(Ok(_)) | Message::Flowed | Message::Stop => {}
        }
    }

    /// Takes what has come over connections, and sends what may be sent.
    fn work(&mut self) {
        let numbers: Vec<LinkNumber> = self.lines.keys().copied().collect();
        for number in numbers {
            let Some(line) = self.lines.get_mut(&number) else { continue };
            let outcome = line.work();
            let now = self.clock.now();
            for event in line.take_events() {
                match event {
                    LineEvent::Open(features, _) => self.state.handle_open(now, number, &features),
                    LineEvent::Reply(_, reply) => self.state.handle_reply(now, number, reply),
                    LineEvent::TakenUp(_) | LineEvent::Ended(..) | LineEvent::Fetched(..) => {}
                }
            }
            if let Err(error) = outcome
                && self.lines.remove(&number).is_some()
            {
                self.state.handle_lost(now, number, &error);
            }
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Answer(number, answer) => {
                if let Some(reply) = self.replies.remove(&number) {
                    reply.answer(answer);
                }
            }
            Action::AskOwn(question) => match self.sender.reply(Message::Own) {
                Ok(reply) => self.services.server.state(question, reply),
                Err(error) => self.state.handle_own(self.clock.now(), Err(error)),
            },
            Action::Warn(address, message) => self.services.server.warn(address, message),
            Action::Learned(lines) => self.learned.append(&lines),
            Action::Dial(number, address) => self.dial(number, address),
            Action::Ask(number, request) => {
                let asked = self.lines.get_mut(&number).map(|line| line.ask(&request));
                if let Some(Err(error)) = asked {
                    self.lines.remove(&number);
                    self.state.handle_lost(self.clock.now(), number, &error);
                }
            }
            Action::DialBack(address, tokens) => self.dial_back(&address, tokens),
            Action::TellStreams(number, streams) => self.tell_streams(number, &streams),
            Action::Reach(stream, address) => self.reach(stream, address),
            Action::TellTicket(number, stream, addresses) => {
                self.tell_ticket(number, stream, addresses);
            }
            Action::Splice(stream) => self.splice(stream),
            Action::EndStream(stream) => self.relaying.forget(stream),
            Action::Hang(number) => {
                self.attempts.remove(&number);
                self.lines.remove(&number);
            }
            Action::Tell(placed, elsewhere) => {
                let request = directory::Request::Elsewhere(elsewhere);
                match (self.services.server.placed(placed), self.sender.reply(Message::Told)) {
                    (true, Ok(reply)) => self.services.directory.ask(request, reply),
                    _ => self.state.tell_again(self.clock.now()),
                }
            }
        }
    }

    /// Reaches a server in a thread of its own: to reach one may take as long as it likes.
    fn dial(&mut self, number: LinkNumber, address: String) {
        self.last += 1;
        let attempt = self.last;
        self.attempts.insert(number, attempt);
        let transports = self.services.transports.clone();
        let patience = self.patience;
        let dialled = move |stream| Message::Dialled(number, attempt, stream);
        let started = self.sender.reply(dialled).and_then(|reply| {
            let dial = move || reply.answer(transports.dial(&address, patience));
            let thread = std::thread::Builder::new().name("dial".to_owned()).spawn(dial);
            thread.map(drop).map_err(|error| Error::system("reach a server", error))
        });
        if let Err(error) = started {
            self.attempts.remove(&number);
            self.state.handle_lost(self.clock.now(), number, &error);
        }
    }

    fn dialled(&mut self, number: LinkNumber, attempt: u64, stream: Result<Box<dyn ByteStream>>) {
        // Another attempt may have begun meanwhile.
        if self.attempts.get(&number) != Some(&attempt) {
            return;
        }
        self.attempts.remove(&number);
        match stream {
            Ok(stream) => drop(self.lines.insert(number, Line::new(stream, &[PLACEMENT, RELAY]))),
            Err(error) => self.state.handle_lost(self.clock.now(), number, &error),
        }
    }
}

/// Tells this run from others.
fn random() -> u32 {
    let mut bytes = [0; 4];
    match rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()) {
        Ok(4) => u32::from_ne_bytes(bytes),
        _ => std::process::id(),
    }
}
