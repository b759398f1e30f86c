//! Orders on their way from clients to the binary, and the end of the server step by step.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use farcall_base::{ChannelId, ConnectionId, Error, ErrorKind, Instant, Result};
use farcall_services::mailbox::{Port, Reply};
use farcall_wire::Order;
use rustix::event::epoll;

use super::{Driver, Message};
use crate::step::Surroundings;
use crate::{Control, Instruction, Orderer};

/// Who carries orders out, and who waits for the end.
#[derive(Default)]
pub struct Orders {
    port: Option<Port<Instruction>>,
    /// Those who gave orders, as long as they are connected.
    givers: BTreeMap<ConnectionId, Arc<()>>,
    drained: Vec<Reply<()>>,
    gone: Vec<Reply<()>>,
    lingering: Option<Lingering>,
}

/// Time that the first client has to come.
const FIRST: Duration = Duration::from_secs(30);

/// Time that a client has to come back for a call that it left and that is over now.
const COME_BACK: Duration = Duration::from_secs(5);

/// Somebody who is to know that no client has been there for a time, and no call was open.
struct Lingering {
    time: Duration,
    reply: Reply<()>,
    /// When that time is over; `None` while a client is there, or a call is open.
    until: Option<Instant>,
    /// The shortest time, by what was there last.
    at_least: Duration,
}

impl Orders {
    /// When somebody is to be told that no client came.
    pub(super) fn next(&self) -> Option<Instant> {
        self.lingering.as_ref()?.until
    }

    /// A connection is gone: what it ordered need not be finished.
    pub(super) fn forget(&mut self, connection: ConnectionId) {
        self.givers.remove(&connection);
    }
}

impl Driver {
    /// What the binary says.
    pub(super) fn control(&mut self, control: Control) {
        match control {
            Control::Obey(port) => self.orders.port = Some(port),
            Control::Drain(reply) => {
                self.server.drain(self.world.now());
                self.orders.drained.push(reply);
            }
            Control::Linger(time, reply) => {
                // Whoever started it for himself has to connect first.
                let until = Some(self.world.now() + time.max(FIRST));
                self.orders.lingering =
                    Some(Lingering { time, reply, until, at_least: Duration::ZERO });
            }
            Control::Published => {
                self.set_listening(epoll::EventFlags::IN);
                self.server.published(self.world.now());
                self.transactor_may_connect();
            }
            Control::IsOwn(own) => self.server.is_own(own),
            Control::Grant(table) => {
                self.server.grant(&mut self.world, &table);
                self.options.access = table;
                self.services.metaserver.rights_changed();
            }
            Control::Farewell(reply) => {
                // Whoever comes now finds nobody, and looks elsewhere.
                self.doors.shut();
                self.server.farewell();
                self.orders.gone.push(reply);
            }
        }
    }

    /// Whether clients have been away for too long, and nothing goes on without them. A call that
    /// was left to the server is what it is there for.
    fn look_for_the_last(&mut self) {
        let Some(lingering) = &mut self.orders.lingering else { return };
        let has_clients = self.server.has_clients();
        let has_calls = self.server.has_kept_calls();
        if has_clients || has_calls {
            lingering.until = None;
            lingering.at_least = if has_calls { COME_BACK } else { Duration::ZERO };
            return;
        }
        let now = self.world.now();
        let until = *lingering.until.get_or_insert(now + lingering.time.max(lingering.at_least));
        if until <= now
            && let Some(lingering) = self.orders.lingering.take()
        {
            lingering.reply.answer(Ok(()));
        }
    }

    /// Hands a client's order to the binary.
    pub(super) fn pass_on(
        &mut self,
        connection: ConnectionId,
        channel: ChannelId,
        order: Order,
        by: Orderer,
    ) {
        if let Order::EndJob(number) = order {
            let told = move |outcome: Result<()>| {
                Message::Obeyed(connection, channel, outcome.map(|()| Vec::new()))
            };
            return match self.sender.reply(told) {
                Ok(done) => self.services.jobs.cancel(number, done),
                Err(error) => self.server.obeyed(connection, channel, Err(error)),
            };
        }
        let nobody = || {
            Error::new(ErrorKind::Unavailable, "run a command", "this server accepts no commands")
        };
        let sent = match &self.orders.port {
            None => Err(nobody()),
            Some(port) => {
                let files_bytes_max = self.options.call_bytes_max();
                let giver = Arc::downgrade(self.orders.givers.entry(connection).or_default());
                self.sender
                    .reply(move |outcome| Message::Obeyed(connection, channel, outcome))
                    .and_then(|reply| {
                        let instruction = Instruction { order, reply, giver, by, files_bytes_max };
                        port.try_send(instruction).map_err(|refused| {
                            // Its sender is told here, and not a second time.
                            refused.message.reply.withdraw();
                            refused.refusal.error("run a command")
                        })
                    })
            }
        };
        if let Err(error) = sent {
            self.server.obeyed(connection, channel, Err(error));
        }
    }

    /// Tells those who wait for it that no call is open, or no client is connected, any more.
    pub(super) fn report_end(&mut self) {
        if !self.orders.drained.is_empty() && self.server.is_drained() {
            self.orders.drained.drain(..).for_each(|reply| reply.answer(Ok(())));
        }
        self.look_for_the_last();
        if !self.orders.gone.is_empty() && !self.server.has_clients() {
            self.orders.gone.drain(..).for_each(|reply| reply.answer(Ok(())));
        }
    }
}
