//! Calls that go on without their clients, and whose callers lost the right to them: the
//! certificate was revoked, or the table of rights names the module no longer. Those that run end,
//! those that wait never begin; what became of them says why.

use std::collections::BTreeSet;
use std::sync::Arc;

use farcall_base::{CallId, Error, ErrorKind};

use crate::access::Entry;
use crate::state::{CallKey, Kept, Outcome};
use crate::step::{Server, Surroundings};

impl Server {
    /// The certificates that may be revoked while calls go on for those who showed them.
    pub fn certificates_of_kept(&self) -> BTreeSet<Arc<str>> {
        self.state.kept.certified().filter_map(|(_, kept)| kept.certificate.clone()).collect()
    }

    /// Whether there is any.
    pub fn has_certificates_of_kept(&self) -> bool {
        self.state.kept.certified().next().is_some()
    }

    /// A certificate was revoked: the calls that are kept for whoever showed it end.
    pub fn revoke(&mut self, surroundings: &mut dyn Surroundings, certificate: &str) {
        let of_it = |(id, kept): (&CallId, &Kept)| {
            let principal = kept.principal.clone();
            (kept.certificate.as_deref() == Some(certificate)).then_some((*id, principal))
        };
        let ids: Vec<(CallId, String)> = self.state.kept.certified().filter_map(of_it).collect();
        for (id, principal) in ids {
            let message =
                format!("the certificate with which \"{principal}\" made the call was revoked");
            let error =
                Error::new(ErrorKind::PermissionDenied, "run a routine", message).fix(format!(
                    "if this was a mistake, create a new one (farcall ca user {principal}), and \
                    repeat the call"
                ));
            self.end_kept(surroundings, id, error);
        }
        self.let_in_line(surroundings);
    }

    /// By this table of rights some callers may not call any more what goes on for them.
    pub(in crate::step) fn end_forbidden(
        &mut self,
        surroundings: &mut dyn Surroundings,
        table: &[Entry],
    ) {
        let forbidden = |(id, kept): (&CallId, &Kept)| {
            let Outcome::Open(key) = kept.outcome else { return None };
            let call = self.state.calls.get(&key)?;
            let refused = call.caller.rights.by(table).call(&call.routine.module.name);
            Some((*id, refused.err().filter(|_| call.keep.is_some())?))
        };
        let ended: Vec<(CallId, Error)> = self.state.kept.all().filter_map(forbidden).collect();
        ended.into_iter().for_each(|(id, error)| self.end_kept(surroundings, id, error));
    }

    /// Who made a call that is open, or waits on the disk to be taken up again.
    pub(in crate::step) fn owner_of_open(&self, id: CallId) -> Option<String> {
        let call = self.state.calls.values().find(|call| call.id == id);
        let parked = || {
            let kept = self.state.kept.get(&id)?;
            matches!(kept.outcome, Outcome::Parked(_)).then(|| kept.principal.clone())
        };
        call.map(|call| call.caller.rights.principal().to_owned()).or_else(parked)
    }

    /// Such a call fails with this.
    pub(in crate::step) fn end_open(
        &mut self,
        surroundings: &mut dyn Surroundings,
        id: CallId,
        error: Error,
    ) {
        let open = self.state.calls.by_age().into_iter().find(|(_, call)| call.id == id);
        match open.map(|(key, _)| key) {
            Some(key) => self.abort(surroundings, key, error),
            None => self.end_kept(surroundings, id, error),
        }
        self.let_in_line(surroundings);
    }

    fn end_kept(&mut self, surroundings: &mut dyn Surroundings, id: CallId, error: Error) {
        let open: Option<CallKey> = match self.state.kept.get(&id).map(|kept| &kept.outcome) {
            Some(Outcome::Open(key)) => Some(*key),
            Some(Outcome::Parked(_)) => None,
            _ => return,
        };
        match open {
            Some(key) => self.abort(surroundings, key, error),
            None => {
                self.state.kept.parked.forget(id);
                self.fail_parked(surroundings.now(), id, &error);
                self.answer_asking(surroundings, id);
            }
        }
    }
}
