//! What the logs are told: the end of every call and every order, and whoever is refused.

use std::sync::Arc;

use farcall_base::{CallId, ChannelId, ConnectionId, Error};
use farcall_idl::interface::Interface;
use farcall_idl::layout::{CallLayout, ParameterLayout};
use farcall_wire::{CallResult, CallTimes};

use crate::state::{Action, AuditRecord, AuditedCall, Call, PeerKind, Records};
use crate::step::Server;
use crate::step::calls::check::mode_of;

impl Server {
    /// A call is over, whoever still wants its outcome.
    pub(in crate::step) fn audit_end(&mut self, call: &Call, result: &CallResult) {
        match self.state.limits.records {
            Records::None => return,
            Records::Failures if result.failure.is_none() => return,
            Records::Failures | Records::All => {}
        }
        let (bytes_in, bytes_out) = bytes(call);
        let audited = AuditedCall {
            id: Some(call.id),
            parent: call.nesting.parent.map(|(_, id)| id),
            routine: call.routine.name.clone(),
            times: result.times,
            bytes_in,
            bytes_out: if result.failure.is_none() { bytes_out } else { 0 },
        };
        let failure = result.failure.clone().map(Error::from);
        self.record(AuditRecord {
            caller: call.caller.clone(),
            call: Some(audited),
            order: None,
            failure,
        });
    }

    /// A call was refused before it began, or the question for its interface because of the table
    /// of rights.
    pub(in crate::step) fn audit_refused(
        &mut self,
        connection: ConnectionId,
        call: Option<CallId>,
        routine: &str,
        error: &Error,
    ) {
        let caller = self.state.front.peer(connection).map(|peer| peer.caller.clone());
        let Some(caller) = caller.filter(|_| self.keeps_records()) else { return };
        let routine = routine.to_owned();
        let times = CallTimes::default();
        let parent = self.state.front.peer(connection).and_then(|peer| peer.inside);
        let parent = parent.and_then(|key| self.state.calls.get(&key)).map(|call| call.id);
        let audited = AuditedCall { id: call, parent, routine, times, bytes_in: 0, bytes_out: 0 };
        self.record(AuditRecord {
            caller,
            call: Some(audited),
            order: None,
            failure: Some(copy_of(error)),
        });
    }

    /// A client must go.
    pub(in crate::step) fn audit_connection(&mut self, connection: ConnectionId, error: &Error) {
        let peer = self.state.front.peer(connection);
        let client = peer.filter(|peer| matches!(peer.kind, PeerKind::Client { .. }));
        let Some(caller) = client.map(|peer| peer.caller.clone()) else { return };
        self.state.counters.refused += 1;
        if !self.keeps_records() {
            return;
        }
        self.record(AuditRecord { caller, call: None, order: None, failure: Some(copy_of(error)) });
    }

    /// An order was carried out, or not.
    pub(super) fn audit_order(
        &mut self,
        connection: ConnectionId,
        channel: ChannelId,
        error: Option<&Error>,
    ) {
        let Some((caller, order)) = self.state.front.end_order(connection, channel) else {
            return;
        };
        if self.keeps_records() {
            self.record(AuditRecord {
                caller,
                call: None,
                order: Some(order),
                failure: error.map(copy_of),
            });
        }
    }

    fn keeps_records(&self) -> bool {
        self.state.limits.records != Records::None
    }

    fn record(&mut self, record: AuditRecord) {
        self.state.out.act(Action::Audit(Arc::new(record)));
    }
}

/// Errors hold their cause, which cannot be copied and is not logged.
fn copy_of(error: &Error) -> Error {
    Error::from(farcall_wire::Failure::from(error))
}

/// Bytes of numbers and arrays that a call of these sizes gives back, at most: whatever it may
/// write.
pub(in crate::step) fn result_bytes(interface: &Interface, layout: &CallLayout) -> u64 {
    let written =
        interface.parameters.iter().zip(&layout.parameters).filter(|(one, _)| one.mode.is_output());
    written.fold(0, |sum: u64, (_, layout)| sum.saturating_add(parameter_bytes(layout)))
}

fn parameter_bytes(layout: &ParameterLayout) -> u64 {
    match layout {
        ParameterLayout::Scalar { bytes } => *bytes,
        ParameterLayout::Array(array) => array.transfer_bytes,
        _ => 0,
    }
}

/// Bytes of numbers and arrays that went to the routine and came from it. Strings are not among
/// them.
pub(in crate::step) fn bytes(call: &Call) -> (u64, u64) {
    let parameters = call.routine.routine.interface.parameters.iter().zip(&call.layout.parameters);
    parameters.zip(&call.open.arguments).fold((0, 0), |(to, from), ((parameter, layout), given)| {
        let bytes = parameter_bytes(layout);
        let when = |counts: bool| if counts { bytes } else { 0 };
        let mode = mode_of(parameter, given);
        (to + when(mode.is_input()), from + when(mode.is_output()))
    })
}
