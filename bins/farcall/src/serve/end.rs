//! What a server that runs is told: orders of its clients, signals, the end of its standard input;
//! and how it ends.
//!
//! A signal or `farcall drain` begins the end: no new calls, those that are open go on, their
//! results leave, every client hears goodbye. A second signal, or too much time, ends it at once.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use farcall_base::{Error, ErrorKind, Result};
use farcall_kernel::Node;
use farcall_publishing::publisher::Running;
use farcall_rpc_server::{Instruction, RpcHandle};
use farcall_services::mailbox::{Receiver, Reply, Sender, mailbox};
use farcall_system::signals::signals_taken;
use farcall_wire::{ModuleReport, Order};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::guard::EndGuard;
use super::notify;
use crate::output::notice;

/// Orders and reports that wait at a time.
const EVENTS_MAX: usize = 64;
/// Time that clients have to hear goodbye when the server ends before its calls.
const GOODBYE_MAX: Duration = Duration::from_millis(200);
/// Longest time that an order to drain may give.
const DRAIN_MAX: Duration = Duration::from_secs(365 * 24 * 3600);

enum Event {
    Instructed(Instruction),
    /// No call is open any more; or the server has ended.
    Drained,
    /// Every client is gone; or the server has ended.
    Gone,
    /// No client has been there for as long as the server stays without one; or it has ended.
    Alone,
}

/// A server that is under way to its end, or will be.
pub struct End {
    node: Node,
    rpc: RpcHandle,
    publisher: Running,
    sender: Sender<Event>,
    events: Receiver<Event>,
    drain_max: Duration,
    guard: Option<EndGuard>,
    /// Until when calls may go on, once the end has begun.
    until: Option<Instant>,
    /// Those who ordered it.
    asked: Vec<Reply<Vec<ModuleReport>>>,
}

/// What woke us.
struct Woken {
    signal: bool,
    plugin: bool,
    input: bool,
}

impl End {
    /// Takes orders from now on; those that are about modules go to `publisher`.
    pub fn new(node: Node, rpc: RpcHandle, publisher: Running, drain_max: Duration) -> Result<End> {
        let (sender, events) = mailbox(EVENTS_MAX)?;
        rpc.obey(sender.port(Event::Instructed))?;
        Ok(End {
            node,
            rpc,
            publisher,
            sender,
            events,
            drain_max,
            guard: None,
            until: None,
            asked: Vec::new(),
        })
    }

    /// Ends in time even where something holds it up; all plugins together have `plugins_max` to
    /// stop.
    pub fn guarded(mut self, guard: EndGuard, plugins_max: Duration) -> End {
        guard.allow(self.drain_max.min(DRAIN_MAX), plugins_max);
        self.guard = Some(guard);
        self
    }

    /// Ends as well when no client has been there for so long.
    pub fn linger(&self, time: Duration) -> Result<()> {
        self.rpc.linger(time, self.sender.reply(|_: Result<()>| Event::Alone)?);
        Ok(())
    }

    /// Serves until the end; of a private server that is also the end of standard input.
    pub fn wait(mut self, signals: &OwnedFd, private: bool) -> Result<()> {
        let outcome = self.serve(signals, private);
        self.guard.iter().for_each(EndGuard::expect_end);
        let stopped = self.node.stop();
        outcome.and(stopped)
    }

    fn serve(&mut self, signals: &OwnedFd, private: bool) -> Result<()> {
        loop {
            let left = self.until.map(|until| until.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Err(self.cut_short("the time limit passed"));
            }
            let woken = self.sleep(signals, private, left)?;
            if woken.signal {
                let count = signals_taken(signals);
                if self.until.is_some() || count > 1 {
                    return Err(self.cut_short("a second signal arrived"));
                }
                self.drain(self.drain_max)?;
                // Whoever reads that finds no call taken any more.
                notice("stopping after the running calls; a second signal stops it at once");
            }
            if woken.plugin
                && let Some(error) = self.node.wait(Duration::ZERO)
            {
                return Err(error);
            }
            if woken.input && ended(rustix::stdio::stdin()) {
                return Ok(());
            }
            while let Ok(event) = self.events.try_receive() {
                match event {
                    Event::Instructed(instruction) => self.obey(instruction)?,
                    Event::Drained => self.say_goodbye()?,
                    Event::Gone | Event::Alone => return Ok(()),
                }
            }
        }
    }

    fn sleep(&self, signals: &OwnedFd, private: bool, left: Option<Duration>) -> Result<Woken> {
        let mut descriptors: Vec<BorrowedFd<'_>> =
            vec![signals.as_fd(), self.node.as_fd(), self.events.as_fd()];
        if private {
            descriptors.push(rustix::stdio::stdin());
        }
        let mut watched: Vec<_> = descriptors
            .into_iter()
            .map(|one| PollFd::from_borrowed_fd(one, PollFlags::IN))
            .collect();
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        match poll(&mut watched, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(Error::system("wait for the end", error.into())),
        }
        let ready =
            |index: usize| watched.get(index).is_some_and(|entry| !entry.revents().is_empty());
        Ok(Woken { signal: ready(0), plugin: ready(1), input: ready(3) })
    }

    fn obey(&mut self, instruction: Instruction) -> Result<()> {
        match instruction.order {
            Order::Drain(milliseconds) => {
                self.asked.push(instruction.reply);
                notice("a client stops the server: stopping after the running calls");
                self.drain(milliseconds.map_or(self.drain_max, Duration::from_millis))
            }
            _ => {
                if let Err(refused) = self.publisher.orders.try_send(instruction) {
                    refused.message.reply.answer(Err(refused.refusal.error("run a command")));
                }
                Ok(())
            }
        }
    }

    /// Begins the end, or makes it come sooner.
    fn drain(&mut self, time: Duration) -> Result<()> {
        notify::stopping();
        // A server without calls learns that in this time, however little its calls have.
        let until = Instant::now() + time.min(DRAIN_MAX) + GOODBYE_MAX;
        self.until = Some(self.until.map_or(until, |known| known.min(until)));
        self.rpc.drain(self.sender.reply(|_: Result<()>| Event::Drained)?);
        Ok(())
    }

    /// All calls are over. Who ordered that hears so first.
    fn say_goodbye(&mut self) -> Result<()> {
        self.asked.drain(..).for_each(|reply| reply.answer(Ok(Vec::new())));
        self.rpc.farewell(self.sender.reply(|_: Result<()>| Event::Gone)?);
        Ok(())
    }

    /// Calls that are open end with the server: their clients are told so as far as that takes no
    /// time.
    fn cut_short(&mut self, why: &'static str) -> Error {
        let error = || {
            Error::new(
                ErrorKind::ShuttingDown,
                "end the server",
                format!("running calls were ended: {why}"),
            )
            .fix("wait longer: farcall drain --timeout SECONDS, or drain_ms in farcall.toml")
        };
        self.asked.drain(..).for_each(|reply| reply.answer(Err(error())));
        if let Ok((reply, gone)) = farcall_services::mailbox::question() {
            self.rpc.farewell(reply);
            // However it goes, the server ends.
            let _ = gone.wait(GOODBYE_MAX);
        }
        error()
    }
}

/// Whether standard input is at its end; whatever is written to it is thrown away.
pub fn ended(stdin: BorrowedFd<'_>) -> bool {
    let mut buffer = [0; 4096];
    matches!(rustix::io::read(stdin, &mut buffer), Ok(0) | Err(_))
}
