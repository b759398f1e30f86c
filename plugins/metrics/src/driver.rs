//! The driver of the metrics: sockets, and questions to the server. The only part that waits.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

use farcall_base::{Clock, Error, Result, SystemClock};
use farcall_services::mailbox::{Receiver, Sender};
use farcall_services::status::StatusHandle;
use farcall_wire::Status;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::process::Process;
use crate::state::{Limits, State};
use crate::step::Next;

/// Bytes read at a time.
const READ_BYTES: usize = 4096;
/// Time for which nobody is let in when the system has no descriptor left.
const REST: Duration = Duration::from_millis(100);

/// What arrives.
pub enum Message {
    /// What the server says for a client.
    Told(u64, Result<Box<Status>>),
    Stop,
}

/// The driver.
pub struct Driver {
    listener: Option<TcpListener>,
    status: StatusHandle,
    sender: Sender<Message>,
    inbox: Receiver<Message>,
    clock: SystemClock,
    state: State,
    streams: BTreeMap<u64, TcpStream>,
    rests: bool,
}

impl Driver {
    pub fn new(
        limits: Limits,
        listener: Option<TcpListener>,
        status: StatusHandle,
        sender: Sender<Message>,
        inbox: Receiver<Message>,
    ) -> Driver {
        let clock = SystemClock::new();
        let state = State::new(limits);
        Driver {
            listener,
            status,
            sender,
            inbox,
            clock,
            state,
            streams: BTreeMap::new(),
            rests: false,
        }
    }

    /// Runs until told to stop.
    pub fn run(mut self) -> Result<()> {
        loop {
            let (accepts, ready) = self.sleep()?;
            while let Ok(message) = self.inbox.try_receive() {
                match message {
                    Message::Told(number, status) => {
                        self.state.told(number, status, &Process::now())
                    }
                    Message::Stop => return Ok(()),
                }
            }
            if accepts {
                self.accept();
            }
            for number in ready {
                self.receive(number);
            }
            for number in self.streams.keys().copied().collect::<Vec<_>>() {
                self.send(number);
            }
            for number in self.state.overdue(self.clock.now()) {
                self.close(number);
            }
        }
    }

    /// Waits; whether somebody wants in, and who sent something.
    fn sleep(&mut self) -> Result<(bool, Vec<u64>)> {
        let mut watched = vec![PollFd::from_borrowed_fd(self.inbox.as_fd(), PollFlags::IN)];
        let listener = self.listener.as_ref().filter(|_| !self.rests);
        watched.extend(listener.map(|one| PollFd::from_borrowed_fd(one.as_fd(), PollFlags::IN)));
        let first = watched.len();
        for (number, stream) in &self.streams {
            let flags = if self.state.poll_send(*number).is_some() {
                PollFlags::OUT
            } else {
                PollFlags::IN
            };
            watched.push(PollFd::from_borrowed_fd(stream.as_fd(), flags));
        }
        let patience =
            self.state.next_tick().map(|at| at.since(self.clock.now()) + Duration::from_millis(1));
        let patience = patience.into_iter().chain(self.rests.then_some(REST)).min();
        let timeout = patience.and_then(|left| Timespec::try_from(left).ok());
        match poll(&mut watched, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(Error::system("wait for requests for metrics", error.into())),
        }
        self.rests = false;
        let accepts = first > 1 && !watched[1].revents().is_empty();
        let ready = watched[first..]
            .iter()
            .zip(self.streams.keys())
            .filter(|(one, _)| !one.revents().is_empty());
        Ok((accepts, ready.map(|(_, number)| *number).collect()))
    }

    fn accept(&mut self) {
        let Some(listener) = &self.listener else { return };
        match listener.accept() {
            Ok((stream, _)) => {
                if stream.set_nonblocking(true).is_ok() {
                    let (number, displaced) = self.state.accepted(self.clock.now());
                    self.streams.insert(number, stream);
                    displaced.into_iter().for_each(|number| self.close(number));
                }
            }
            // Gone already, or nothing there after all; without descriptors it would be there again
            // at once.
            Err(error) => self.rests = error.kind() != ErrorKind::WouldBlock,
        }
    }

    fn receive(&mut self, number: u64) {
        let Some(stream) =
            self.streams.get_mut(&number).filter(|_| self.state.poll_send(number).is_none())
        else {
            return;
        };
        let mut bytes = [0; READ_BYTES];
        match stream.read(&mut bytes) {
            Ok(0) => self.close(number),
            Ok(count) => {
                if self.state.received(number, &bytes[..count]) == Next::Ask {
                    self.ask(number);
                }
            }
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => self.close(number),
        }
    }

    fn ask(&mut self, number: u64) {
        match self.sender.reply(move |status| Message::Told(number, status)) {
            Ok(reply) => self.status.ask(reply),
            Err(error) => self.state.told(number, Err(error), &Process::default()),
        }
    }

    fn send(&mut self, number: u64) {
        let (Some(bytes), Some(stream)) =
            (self.state.poll_send(number), self.streams.get_mut(&number))
        else {
            return;
        };
        match stream.write(bytes) {
            Ok(count) => {
                if self.state.sent(number, count) {
                    self.close(number);
                }
            }
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => self.close(number),
        }
    }

    fn close(&mut self, number: u64) {
        self.state.gone(number);
        self.streams.remove(&number);
    }
}
