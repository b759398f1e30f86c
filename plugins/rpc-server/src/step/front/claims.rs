//! Servers that speak for users: what their Hello claims is believed of the metaserver that this
//! server has joined, and of its own user's servers (spec/wire.md, section 11.2).

use farcall_base::{ConnectionId, Result};
use farcall_wire::Hello;

use crate::access::claims::{claimed, disbelieved};
use crate::access::{Entry, Rights};
use crate::state::{Caller, Speaks};
use crate::step::{Server, Surroundings};

impl Server {
    /// Who may do what, for those who speak for others.
    pub fn know_access(&mut self, table: &[Entry]) {
        self.state.front.access = table.to_vec();
    }

    /// A client greeted, and says in whose name it speaks.
    ///
    /// # Errors
    /// `PermissionDenied` where it is not believed.
    pub(in crate::step) fn take_claim(
        &mut self,
        surroundings: &mut dyn Surroundings,
        connection: ConnectionId,
        hello: &Hello,
    ) -> Result<()> {
        let Some(name) = &hello.principal else { return Ok(()) };
        let Some(peer) = self.state.front.peer(connection) else { return Ok(()) };
        let caller = peer.caller.clone();
        if caller.rights.principal() == name {
            return Ok(());
        }
        if caller.speaks != Speaks::MayClaim {
            return Err(disbelieved(&caller.rights, name));
        }
        let rights = claimed(&self.state.front.access, &caller.rights, name)?;
        let counted = self.state.counters.principal(name);
        let through = Speaks::Through(caller.rights.principal().into());
        let caller =
            Caller { rights, speaks: through, hosts: Default::default(), ..(*caller).clone() };
        self.state.front.speak_for(connection, caller);
        if let Some(peer) = self.state.front.peer_mut(connection) {
            peer.counted = counted;
        }
        surroundings.speaks_for(connection, name);
        Ok(())
    }
}

/// What somebody may do by another table, who may speak for somebody else.
pub(in crate::step) fn by(caller: &Caller, table: &[Entry]) -> Rights {
    let rights = caller.rights.by(table);
    if caller.through().is_some() { rights.to_call() } else { rights }
}
