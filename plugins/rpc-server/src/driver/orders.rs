//! Orders on their way from clients to the binary, and the end of the server step by step.

use std::collections::BTreeMap;
use std::sync::Arc;

use farcall_base::{ChannelId, ConnectionId, Error, ErrorKind};
use farcall_interfaces::mailbox::{Port, Reply};
use farcall_wire::Order;

use super::{Driver, Message};
use crate::{Control, Instruction};

/// Who carries orders out, and who waits for the end.
#[derive(Default)]
pub struct Orders {
    port: Option<Port<Instruction>>,
    /// Those who gave orders, as long as they are connected.
    givers: BTreeMap<ConnectionId, Arc<()>>,
    drained: Vec<Reply<()>>,
    gone: Vec<Reply<()>>,
}

impl Orders {
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
                self.server.drain();
                self.orders.drained.push(reply);
            }
            Control::Grant(table) => {
                self.server.grant(&table);
                self.options.access = table;
            }
            Control::Farewell(reply) => {
                // Whoever comes now finds nobody, and looks elsewhere.
                self.listeners.clear();
                self.resting_until = None;
                self.server.farewell();
                self.orders.gone.push(reply);
            }
        }
    }

    /// Hands a client's order to the binary.
    pub(super) fn pass_on(&mut self, connection: ConnectionId, channel: ChannelId, order: Order) {
        let nobody = || Error::new(ErrorKind::Unavailable, "carry out an order", "this server takes no orders");
        let sent = match &self.orders.port {
            None => Err(nobody()),
            Some(port) => {
                let giver = Arc::downgrade(self.orders.givers.entry(connection).or_default());
                self.sender.reply(move |outcome| Message::Obeyed(connection, channel, outcome)).and_then(|reply| {
                    port.try_send(Instruction { order, reply, giver }).map_err(|refused| {
                        // Its sender is told here, and not a second time.
                        refused.message.reply.withdraw();
                        refused.refusal.error("carry out an order")
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
        if !self.orders.gone.is_empty() && !self.server.has_clients() {
            self.orders.gone.drain(..).for_each(|reply| reply.answer(Ok(())));
        }
    }
}
