//! What the directory says of routines, and what of it is kept at hand.

use std::sync::Arc;

use farcall_base::{ChannelId, ConnectionId, ErrorKind, Result};
use farcall_services::directory::PublishedRoutine;
use farcall_wire::{InterfaceReply, Reply};

use crate::state::{Action, Known};
use crate::step::Server;

impl Server {
    /// The directory knows the routine, or not.
    pub fn resolved(
        &mut self,
        connection: ConnectionId,
        channel: ChannelId,
        answer: Result<Arc<PublishedRoutine>>,
    ) {
        let asked =
            answer.as_ref().map_or(String::new(), |routine| routine.routine.interface.full_name());
        let permitted =
            answer.and_then(|routine| self.may_call(connection, &routine).map(|()| routine));
        let reply = match permitted {
            Ok(routine) => {
                let _ = self.remember(&routine);
                Reply::Interface(interface_reply(&routine, self.is_placed(&routine)))
            }
            Err(error) => {
                if error.kind() == ErrorKind::PermissionDenied {
                    self.audit_refused(connection, None, &asked, &error);
                }
                Reply::Failed((&error).into())
            }
        };
        self.reply(connection, channel, &reply);
    }

    /// The directory's whole list, but for what the peer may not call.
    pub fn listed(
        &mut self,
        connection: ConnectionId,
        channel: ChannelId,
        answer: Result<Vec<Arc<PublishedRoutine>>>,
    ) {
        let reply = match answer {
            Ok(routines) => {
                routines.iter().for_each(|routine| drop(self.remember(routine)));
                let permitted =
                    routines.iter().filter(|routine| self.may_call(connection, routine).is_ok());
                let reply = |routine| interface_reply(routine, self.is_placed(routine));
                Reply::List(permitted.map(|routine| reply(routine)).collect())
            }
            Err(error) => Reply::Failed((&error).into()),
        };
        self.reply(connection, channel, &reply);
    }

    /// What is published has changed: what was kept may be of the past. Whoever calls is told to
    /// ask again.
    pub fn directory_changed(&mut self) {
        self.state.routines.clear();
        if !self.state.kept.parked.is_empty() {
            self.state.out.act(Action::Readmit);
        }
    }

    /// Keeps a routine at hand, so that its calls need no question to the directory.
    pub(in crate::step) fn remember(&mut self, routine: &Arc<PublishedRoutine>) -> Arc<Known> {
        let name = routine.routine.interface.full_name();
        if self.state.routines.len() >= self.state.limits.routines_max
            && !self.state.routines.contains_key(&name)
        {
            // Whoever calls a forgotten routine is told to ask again, which brings it back.
            self.state.routines.clear();
        }
        let known =
            self.state.routines.get(&name).filter(|known| Arc::ptr_eq(&known.published, routine));
        if let Some(known) = known {
            return known.clone();
        }
        let known = Arc::new(Known::new(routine.clone(), &mut self.state.counters));
        self.state.routines.insert(name, known.clone());
        known
    }
}

pub(in crate::step) fn interface_reply(
    routine: &PublishedRoutine,
    is_placed: Option<bool>,
) -> InterfaceReply {
    InterfaceReply {
        name: routine.routine.interface.full_name(),
        interface: routine.encoded.to_vec(),
        contract: routine.contract,
        is_placed,
    }
}
