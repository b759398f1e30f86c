//! A call as its caller asked for it, and the Open that says so.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use farcall_base::{Bytes, CallId};
use farcall_wire::grant_attribute;
use farcall_wire::message::encode;
use farcall_wire::{
    Argument as WireArgument, Attribute, KeptNote, NOTICES, ON, Open, OpenExtras, RANKS,
    lease_attribute, resources_attribute, run_timeout_attribute,
};

use super::Conditions;
use crate::argument::Passed;
use crate::argument::short::in_short;
use crate::contract::Contract;
use crate::marshal::{Marshalled, Prepared};
use crate::results::TimesHere;

/// A call as its caller asked for it.
pub struct Call {
    pub contract: Arc<Contract>,
    pub passed: Passed,
    pub conditions: Conditions,
    /// Whether others know its id: it goes on without us.
    pub is_to_stay: bool,
    /// When it began here, where its transfers are measured.
    pub clock: Option<Box<CallClock>>,
    /// What its client calls it.
    pub number: u64,
}

/// When a call began, whose transfers are measured.
#[derive(Clone, Copy, Debug)]
pub struct CallClock {
    /// Before anything of it was copied.
    pub begun: Instant,
    /// Until it was opened.
    pub prepared: Duration,
}

impl CallClock {
    /// Of a call that was opened so long after it had begun.
    pub fn new(begun: Instant, prepared: Duration) -> Box<CallClock> {
        Box::new(CallClock { begun, prepared })
    }

    /// It has ended: what it took here, until it was opened and from then on.
    pub fn took(&self) -> TimesHere {
        TimesHere {
            prepared: self.prepared,
            open: self.begun.elapsed().saturating_sub(self.prepared),
        }
    }
}

impl Call {
    /// What the server is told of it.
    pub fn open(&self, id: CallId, data: &mut Marshalled) -> Open {
        Open {
            call: id,
            routine: std::mem::take(&mut data.routine),
            contract: self.contract.call_hash,
            arguments: std::mem::take(&mut data.arguments),
            wanted: self.wants_otherwise(data).then(|| std::mem::take(&mut data.wanted)),
            remaining_us: self.remaining_us(),
            result_credit: None,
            parent: self.within().map(|call| call.0.to_vec().into()),
            principal: None,
            trace: None,
            attributes: self.attributes(),
        }
    }

    /// Whether results are not all to be sent, which is what the server does unless it is told.
    fn wants_otherwise(&self, data: &Marshalled) -> bool {
        let parameters = self.contract.interface.parameters.iter().zip(&data.wanted);
        let mut results = parameters.filter(|(parameter, _)| parameter.mode.is_output());
        results.any(|(_, wanted)| !matches!(wanted, WireArgument::Blocks(None)))
    }

    /// Microseconds that are left of its time.
    fn remaining_us(&self) -> Option<u64> {
        let deadline = self.conditions.deadline?;
        let left = deadline.saturating_duration_since(Instant::now());
        Some(u64::try_from(left.as_micros()).unwrap_or(u64::MAX))
    }

    /// Its Open, in memory that was used before, and what is known of calls like it; `None` if not
    /// all of its values lie in the message, or it says more than its values.
    pub fn open_short(
        &self,
        id: CallId,
        limit: Bytes,
        used: impl FnOnce() -> Vec<u8>,
    ) -> Option<(Vec<u8>, Arc<Prepared>)> {
        let Conditions { wants, copied, special, .. } = &self.conditions;
        if special.is_some() || *copied || *wants != 0 {
            return None;
        }
        let prepared = Prepared::short(&self.contract, &self.passed.arguments, limit)?;
        let extras = OpenExtras { remaining_us: self.remaining_us(), grant: self.grant() };
        let body = prepared.encode(&self.contract, &self.passed, id, &extras, used())?;
        Some((body, prepared))
    }

    /// By what people tell it from other kept calls.
    fn note(&self) -> KeptNote {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        KeptNote {
            submitted_us: u64::try_from(since.as_micros()).unwrap_or(u64::MAX),
            arguments: in_short(&self.contract.interface, &self.passed.arguments),
            label: self.passed.label.as_deref().unwrap_or_default().to_owned(),
        }
    }

    /// The call inside whose function it is made.
    fn within(&self) -> Option<CallId> {
        self.conditions.special()?.within
    }

    /// What placed it.
    fn grant(&self) -> Option<u64> {
        Some(self.conditions.grant).filter(|grant| *grant != 0)
    }

    fn attributes(&self) -> Option<Vec<Attribute>> {
        let attribute =
            |name: &str, critical, value| Attribute { name: name.to_owned(), critical, value };
        let wants = Some(self.conditions.wants).filter(|wants| *wants != 0);
        let notices = wants.map(|wants| attribute(NOTICES, false, vec![wants]));
        let mut all: Vec<Attribute> = notices.into_iter().collect();
        if let Some(special) = self.conditions.special() {
            let on = special.on.map(|id| attribute(ON, true, id.0.to_vec()));
            let kept = special.keep.and_then(|(_, keep)| keep);
            let keep = kept.map(|keep| keep.attribute());
            let note = kept.map(|_| self.note().attribute());
            let ranks = Some(special.ranks).filter(|ranks| *ranks != 0);
            let ranks = ranks.map(|ranks| attribute(RANKS, false, encode(&ranks)));
            let run_timeout = special.run_timeout.map(run_timeout_attribute);
            let resources = special.resources.map(resources_attribute);
            let lease = special.stays.as_ref().and_then(|stays| stays.lease).map(lease_attribute);
            let special = [on, keep, note, ranks, lease, run_timeout, resources];
            all.extend(special.into_iter().flatten());
        }
        all.extend(self.grant().map(grant_attribute));
        Some(all).filter(|all| !all.is_empty())
    }
}
