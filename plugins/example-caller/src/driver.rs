//! The driver: a mailbox and a connection, in one loop. The only part that waits.

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::{AsFd, OwnedFd};

use farcall_base::{Clock, Error, ErrorKind, Result, SystemClock};
use farcall_call::{Connection, Place, Transmit};
use farcall_link::memory::Space;
use farcall_link::{FrameHandler, FrameSource, Link, QUEUE_BYTES, Received};
use farcall_peer::Caller;
use farcall_services::mailbox::{NoMessage, Receiver, Reply};
use farcall_services::transports::TransportsHandle;
use farcall_wire::{ByteOrder, FrameHeader, Hello, HelloLimits, Role};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::state::{Program, State};
use crate::{Limits, Question};

/// Bytes taken from the connection before the mailbox has its turn.
const RECEIVE_BUDGET: usize = 1 << 20;

/// What arrives.
pub enum Message {
    Asked(Question),
    Stop,
}

/// A connection to the other node.
struct Line {
    link: Link,
    state: State,
    /// Whoever waits for an answer, by the number of the question.
    asked: BTreeMap<u64, Reply<f64>>,
    last: u64,
}

/// The driver.
pub struct Driver {
    limits: Limits,
    transports: TransportsHandle,
    inbox: Receiver<Message>,
    line: Option<Line>,
}

impl Driver {
    pub fn new(limits: Limits, transports: TransportsHandle, inbox: Receiver<Message>) -> Driver {
        Driver { limits, transports, inbox, line: None }
    }

    /// Runs until told to stop.
    pub fn run(mut self) -> Result<()> {
        loop {
            self.sleep()?;
            loop {
                match self.inbox.try_receive() {
                    Ok(Message::Asked(question)) => self.ask(question),
                    Ok(Message::Stop) | Err(NoMessage::Closed) => return Ok(()),
                    Err(NoMessage::Empty) => break,
                }
            }
            let broke = self.line.as_mut().and_then(|line| line.work(&self.limits).err());
            if let Some(error) = broke
                && let Some(line) = self.line.take()
            {
                line.end(&error);
            }
        }
    }

    fn sleep(&self) -> Result<()> {
        let mut watched = vec![PollFd::from_borrowed_fd(self.inbox.as_fd(), PollFlags::IN)];
        if let Some(line) = &self.line {
            let wants_room =
                if line.link.bytes_queued() > 0 { PollFlags::OUT } else { PollFlags::empty() };
            let readiness = line.link.stream().readiness();
            watched.extend(
                readiness.map(|one| PollFd::from_borrowed_fd(one, PollFlags::IN | wants_room)),
            );
        }
        let timeout = self
            .line
            .as_ref()
            .filter(|line| !line.asked.is_empty())
            .map(|_| self.limits.patience());
        let timeout = timeout.and_then(|patience| Timespec::try_from(patience).ok());
        match poll(&mut watched, timeout.as_ref()) {
            Ok(0) | Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(Error::system("wait for another node", error.into())),
        }
    }

    fn ask(&mut self, question: Question) {
        if self.line.is_none() {
            match Line::dial(&self.transports, &self.limits) {
                Ok(line) => self.line = Some(line),
                Err(error) => return question.reply.answer(Err(error)),
            }
        }
        if let Some(line) = &mut self.line {
            line.last += 1;
            line.state.ask(line.last, question.number);
            line.asked.insert(line.last, question.reply);
        }
    }
}

impl Line {
    fn dial(transports: &TransportsHandle, limits: &Limits) -> Result<Line> {
        let stream = transports.dial(&limits.address, limits.patience())?;
        let hello = Hello {
            role: Role::Client,
            byte_order: ByteOrder::NATIVE,
            product: "example-caller".to_owned(),
            features: Vec::new(),
            limits: HelloLimits::default(),
            host: String::new(),
            principal: None,
            token: None,
            attributes: Vec::new(),
        };
        let HelloLimits { control_bytes_max, data_bytes_max, .. } = hello.limits;
        let connection =
            Connection::new(farcall_call::Setup { hello, initiator: true, token: None });
        // Ids of calls must not repeat between nodes. They are no secrets.
        let seed = SystemClock::new().now().0 ^ (u64::from(std::process::id()) << 32);
        let state = State::new(connection, seed, &limits.routine);
        let link = Link::new(stream, control_bytes_max, data_bytes_max);
        Ok(Line { link, state, asked: BTreeMap::new(), last: 0 })
    }

    /// Takes what has come, and sends what may be sent.
    fn work(&mut self, limits: &Limits) -> Result<()> {
        let received = self.link.receive(&mut Receiving(&mut self.state.caller), RECEIVE_BUDGET)?;
        for (index, outcome) in self.state.step(limits.patience(), SystemClock::new().now())? {
            if let Some(reply) = self.asked.remove(&index) {
                reply.answer(outcome);
            }
        }
        self.link.pump(QUEUE_BYTES, &mut Sending(&mut self.state.caller))?;
        match received {
            Received::Closed => Err(Error::new(
                ErrorKind::ConnectionLost,
                "ask another node",
                "it closed the connection",
            )),
            Received::Blocked | Received::More => Ok(()),
        }
    }

    /// The connection is gone: so is whatever waits for it.
    fn end(self, error: &Error) {
        let why = farcall_wire::Failure::from(error);
        self.asked.into_values().for_each(|reply| reply.answer(Err(why.clone().into())));
    }
}

struct Receiving<'a>(&'a mut Caller<Program>);

impl FrameHandler for Receiving<'_> {
    fn control(
        &mut self,
        header: &FrameHeader,
        body: &[u8],
        _: &mut VecDeque<OwnedFd>,
    ) -> Result<()> {
        self.0.handle_control(header, body, &SystemClock::new())
    }

    /// Numbers travel in messages: whatever else comes is thrown away.
    fn data_space(&mut self, header: &FrameHeader, done: u32) -> Result<Option<Space>> {
        self.0.place(header, done).map(|_| None)
    }

    fn data_arrived(&mut self, header: &FrameHeader, _: u32, done: u32) -> Result<()> {
        self.0.data_arrived(header, done, &SystemClock::new())
    }
}

struct Sending<'a>(&'a mut Caller<Program>);

impl FrameSource for Sending<'_> {
    fn next(&mut self, data_bytes_max: u32) -> Option<Transmit> {
        self.0.poll_transmit(data_bytes_max)
    }

    fn queue_data(&mut self, _: &mut Link, _: FrameHeader, _: &Place) -> Result<()> {
        Err(Error::internal("send an array", "this plugin sends none"))
    }

    fn queued(&mut self, bytes: u64, _: Option<&Place>) {
        self.0.frame_made(bytes, None);
    }

    fn reuse(&mut self, body: Vec<u8>) {
        self.0.reuse(body);
    }
}
