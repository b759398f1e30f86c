//! What the directory says of routines, and what of it is kept at hand.

use std::collections::BTreeSet;
use std::sync::Arc;

use farcall_base::{ChannelId, ConnectionId, ErrorKind, Result};
use farcall_services::directory::{ElsewhereRoutine, PublishedRoutine, Reach, Visible};
use farcall_wire::{InterfaceReply, Reply};

use crate::state::{Action, Known};
use crate::step::{Server, Union};

impl Server {
    /// The directory knows the routine, or not.
    pub fn resolved(
        &mut self,
        connection: ConnectionId,
        channel: ChannelId,
        answer: Result<Arc<PublishedRoutine>>,
    ) {
        self.state.front.plugin_answered(connection);
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

    /// The directory's whole list, but for what the peer may not or cannot call.
    pub fn listed(&mut self, connection: ConnectionId, channel: ChannelId, answer: Result<Union>) {
        let reply = match answer {
            Ok(routines) => {
                routines.own.iter().for_each(|routine| drop(self.remember(routine)));
                let visible = self.visible(connection);
                let permitted =
                    |routine: &&Arc<PublishedRoutine>| visible.shows(&routine.module.name);
                let own = routines.own.iter().filter(permitted);
                let own = own.map(|routine| interface_reply(routine, self.is_placed(routine)));
                let mut list: Vec<InterfaceReply> = own.collect();
                if self.reach(connection) == Reach::Everywhere && !routines.others.is_empty() {
                    add_others(&mut list, &routines.others, &visible);
                }
                Reply::List(list)
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

/// What only others publish, behind what this node does. A contract whose name another has already
/// is told by its hash.
fn add_others(list: &mut Vec<InterfaceReply>, others: &[Arc<ElsewhereRoutine>], visible: &Visible) {
    let mut others: Vec<&Arc<ElsewhereRoutine>> =
        others.iter().filter(|routine| visible.shows(&routine.interface.module)).collect();
    others.sort_by(|a, b| b.servers.cmp(&a.servers).then(a.contract.cmp(&b.contract)));
    let mut names: BTreeSet<String> = list.iter().map(|reply| reply.name.clone()).collect();
    for routine in others {
        let interface = &routine.interface;
        let mut name = interface.full_name();
        if !names.insert(name.clone()) {
            let digits: String =
                routine.contract[..4].iter().map(|byte| format!("{byte:02x}")).collect();
            name = format!("{}@{digits}/{}", interface.module, interface.name);
        }
        list.push(elsewhere_reply(routine, name));
    }
    list.sort_by(|a, b| a.name.cmp(&b.name));
}

/// A routine that only others publish, under a name by which it is found.
pub(super) fn elsewhere_reply(routine: &ElsewhereRoutine, name: String) -> InterfaceReply {
    InterfaceReply {
        name,
        interface: routine.encoded.to_vec(),
        contract: routine.contract,
        is_placed: Some(true),
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
