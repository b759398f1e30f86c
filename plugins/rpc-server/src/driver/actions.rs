//! What the server decided, done.

use farcall_services::directory::Request;

use super::{Driver, Message, StateAsker};
use crate::state::Action;

impl Driver {
    pub(super) fn act(&mut self, action: Action) {
        match action {
            Action::Resolve { connection, channel, name, visible, reach } => {
                match self
                    .sender
                    .reply(move |answer| Message::Resolved(connection, channel, answer))
                {
                    Ok(reply) => self
                        .services
                        .directory
                        .ask(Request::Resolve { name, visible, reach }, reply),
                    Err(error) => self.server.resolved(connection, channel, Err(error)),
                }
            }
            Action::List { connection, channel } => {
                match self.sender.reply(move |answer| Message::Listed(connection, channel, answer))
                {
                    Ok(reply) => self.services.directory.ask(Request::ListAll, reply),
                    Err(error) => self.server.listed(connection, channel, Err(error)),
                }
            }
            Action::State { connection, channel, question } => {
                self.ask_state(StateAsker::Client(connection, channel), question)
            }
            Action::Place { connection, channel, asker, request } => {
                self.ask_metaserver(connection, channel, asker, request)
            }
            Action::Pull { connection, channel, pull } => self.pull((connection, channel), pull),
            Action::Transact { asker, request } => self.ask_transactor(asker, request),
            Action::TellTransactions(news) => self.tell_transactor(news),
            Action::Readmit => self.ask_to_readmit(),
            Action::Hold { hold, name, visible } => {
                match self.sender.reply(move |answer| Message::Held(hold, answer)) {
                    Ok(reply) => {
                        self.services.directory.ask(Request::Hold { name, visible }, reply)
                    }
                    Err(error) => self.server.held(&mut self.world, hold, Err(error)),
                }
            }
            Action::Fetch { key, slot, wanted } => self.fetch(key, slot, wanted),
            Action::Order { connection, channel, order, by } => {
                self.pass_on(connection, channel, order, by)
            }
            Action::Start { executable, module, image, array } => {
                self.start(executable, module, *image, array)
            }
            Action::Stop { executable, grace } => self.stop(executable, grace),
            Action::Listen(executable) => self.listen(executable),
            Action::Hush(executable) => self.hush(executable),
            Action::Recall(executable, connection) => self.recall(executable, connection),
            Action::Resume(connection) => {
                if let Some(wire) = self.wires.get_mut(connection) {
                    wire.link.open_turnstile();
                }
            }
            Action::Look(connection) => self.receive(connection),
            Action::Close(connection) => self.close(connection),
            Action::Results(order) => self.order_results(order),
            Action::Warn(error) => self.journal.warn(&error),
            Action::Audit(record) => self.journal.record(record),
        }
    }
}
