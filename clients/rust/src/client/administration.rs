//! Orders to a server, and what it says of itself.

use std::time::Duration;

use farcall_base::{Error, ErrorKind, Result};
use farcall_wire::message::ADMINISTRATION;
use farcall_wire::{ENDED_CALLS, ModuleReport, Order, Reply, Request, STATUS, Status};

use super::{Client, ended_early};
use crate::session::Session;
use crate::view::ByServer;

impl Client {
    /// Has the server carry out an order, for which it must know us entitled; what became of each
    /// module that the order was about. Waits for at most `timeout`: compiling and linking take
    /// their time.
    ///
    /// # Errors
    /// `PermissionDenied`, `Unavailable` for a server that takes no orders, `TimedOut`; what is
    /// wrong with the order.
    pub fn administer(&self, order: Order, timeout: Duration) -> Result<Vec<ModuleReport>> {
        let told = |error: Error| error.with("server", self.address());
        if self.view().roll().is_some_and(|roll| !roll.has_here()) {
            let message = "a list of servers takes commands for this host alone, and has no here";
            let error = Error::new(ErrorKind::InvalidArgument, "send a command", message);
            return Err(error.with("servers", self.address()).fix("name one of the servers"));
        }
        let ends = matches!(order, Order::EndCalls(_));
        if !self.session().has_feature(if ends { ENDED_CALLS } else { ADMINISTRATION }) {
            return Err(told(
                Error::new(
                    ErrorKind::Unavailable,
                    "send a command",
                    "this server does not accept this command while it runs",
                )
                .fix("stop it, and start a newer version of Farcall"),
            ));
        }
        // What is published may have the names of what is known; objects outlive what is withdrawn.
        let publishes = matches!(order, Order::Publish(_) | Order::Reload(_) | Order::Files(_));
        let reply = self.session().ask_for(&Request::Administer(order), None, timeout);
        if publishes {
            self.known().clear();
        }
        match reply.map_err(told)? {
            Some(Reply::Done) => Ok(Vec::new()),
            Some(Reply::Modules(reports)) => Ok(reports),
            Some(Reply::Failed(failure)) => Err(told(Error::from(failure))),
            Some(_) => Err(Error::new(
                ErrorKind::Protocol,
                "send a command",
                "the server sent the wrong kind of answer",
            )),
            None => Err(ended_early()),
        }
    }

    /// What is going on at the server: everything for who may administer it, what is theirs for
    /// others. Waits for at most `timeout`.
    ///
    /// # Errors
    /// `Unavailable` for a server that does not tell, `TimedOut`.
    pub fn status(&self, timeout: Duration) -> Result<Status> {
        status_of(self.session(), timeout).map_err(|error| error.with("server", self.address()))
    }

    /// The same of all servers that the server knows, itself first. Each is asked over a connection
    /// of this client, so that it judges by itself what this user may know. Waits for at most
    /// `timeout`, and ten seconds for each of the others, which are asked side by side.
    ///
    /// # Errors
    /// As [`Client::status`], of the server that was connected to.
    pub fn statuses(&self, timeout: Duration) -> Result<ByServer<Status>> {
        self.of_each(timeout, move |session| status_of(&session, timeout))
    }
}

fn status_of(session: &Session, timeout: Duration) -> Result<Status> {
    if !session.has_feature(STATUS) {
        let message = "this server does not report it";
        let error = Error::new(ErrorKind::Unavailable, "request the status", message);
        return Err(error.fix("start a newer version of Farcall"));
    }
    match session.ask_for(&Request::Status, None, timeout)? {
        Some(Reply::Status(status)) => Ok(*status),
        Some(Reply::Failed(failure)) => Err(failure.into()),
        Some(_) => Err(Error::new(
            ErrorKind::Protocol,
            "request the status",
            "the server sent the wrong kind of answer",
        )),
        None => Err(ended_early()),
    }
}
