//! Copies of data at other servers than its own: made when a call there needs it, and deleted with
//! it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use farcall_base::{DataId, Error, ErrorKind, Result};
use farcall_wire::{Failure, Promise, Reply, Request, TRANSACTIONS};

use super::{Data, Inner, Place, check_feature, wrong_answer};
use crate::client::{Client, ended_early};
use crate::contract::Contract;
use crate::session::Session;
use crate::view;

/// The copies of one value, each at another server.
#[derive(Default)]
pub(super) struct Copies(Mutex<Vec<Data>>);

/// Data that was elsewhere, and the copy that a call is made with.
pub(crate) struct Brought {
    pub parameter: usize,
    pub data: Data,
    pub copy: Data,
}

impl Copies {
    /// Whether there is such a copy.
    pub fn any(&self, is_meant: impl Fn(&Data) -> bool) -> bool {
        self.lock().iter().any(is_meant)
    }

    /// They are deleted, where no call has them.
    pub fn clear(&self) {
        let copies = std::mem::take(&mut *self.lock());
        drop(copies);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Data>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Data {
    /// This data, or a copy of it, where a call goes. A new copy is promised there, so that the call
    /// can name it at once, and comes while the call waits for it.
    pub(super) fn copy_at(&self, client: &Client, place: &view::Place) -> Result<Data> {
        let is_there = |data: &Data| Arc::ptr_eq(&data.place().session, &place.session);
        if is_there(self) {
            return Ok(self.clone());
        }
        let mut copies = self.0.copies.lock();
        copies.retain(|copy| !copy.place().session.is_lost());
        if let Some(known) = copies.iter().find(|copy| is_there(copy)) {
            return Ok(known.clone());
        }
        let copy = Data::copy(self, client, place);
        promise(&copy).map_err(|error| error.with("server", copy.server()))?;
        copies.push(copy.clone());
        drop(copies);
        view::View::carry(client.view(), self.clone(), copy.clone());
        Ok(copy)
    }

    fn copy(of: &Data, client: &Client, place: &view::Place) -> Data {
        let id = DataId(client.session().random());
        let mut inner = Inner::new(client, id, of.kind());
        let server = place.placed.as_ref().map(|placed| placed.server.clone());
        inner.place = Mutex::new(Place { session: place.session.clone(), server });
        let copy = Data(Arc::new(inner));
        of.extents().iter().for_each(|extents| copy.has_extents(extents.to_vec()));
        copy
    }

    /// A copy did not come, or is no longer there: the next call has another made.
    pub(crate) fn forget_copy(&self, copy: &Data) {
        let mut copies = self.0.copies.lock();
        let known = copies.iter().position(|known| known.id() == copy.id());
        let forgotten = known.map(|index| copies.swap_remove(index));
        drop(copies);
        drop(forgotten);
    }

    /// A copy will never come: calls that wait for it fail with this.
    pub(super) fn never_comes(&self, failure: Failure) {
        let _ = self.0.trouble.set(failure.clone());
        let session = self.place().session;
        if let Ok(question) = session.begin(&Request::Break(vec![self.id()], failure)) {
            session.forget(question);
        }
    }
}

impl Brought {
    /// A call failed that was made with the copy: what it says where it was the copy that failed.
    /// One that may have gone with its server is made again for the next call.
    pub fn of_failed(&self, error: &Error, contract: &Contract) -> Option<Error> {
        use ErrorKind::{ConnectionLost, LimitExceeded, NotFound, ShuttingDown, Unreachable};
        let kind = error.kind();
        if matches!(kind, ConnectionLost | NotFound | ShuttingDown | Unreachable) {
            self.data.forget_copy(&self.copy);
        }
        let parameter = &contract.interface.parameters[self.parameter].name;
        let told =
            |error: Error| error.with("parameter", parameter).with("routine", &contract.name);
        let trouble = self.copy.0.trouble.get().map(|failure| Error::from(failure.clone()));
        let trouble = trouble.filter(|trouble| {
            trouble.kind() == kind && error.message().ends_with(trouble.message())
        });
        if trouble.is_some() {
            return trouble.filter(|_| matches!(kind, NotFound | LimitExceeded)).map(told);
        }
        let id = self.copy.id().to_string();
        let is_named = error.context().iter().any(|(key, value)| key == "data" && *value == id);
        (kind == NotFound && is_named).then(|| {
            let message = "the copy of its data at the server is gone: the server was started \
                again, or the data was deleted";
            told(Error::new(kind, "call", message))
                .with("data", self.data.id())
                .with("server", self.copy.server())
                .fix("make the call again: the data is brought there again")
        })
    }
}

/// Says that it is coming.
fn promise(copy: &Data) -> Result<()> {
    let session = copy.place().session;
    check_feature(&session)?;
    check_promises(&session)?;
    let promise = Promise { data: copy.id(), kind: copy.kind().to_string() };
    match session.ask(&Request::Promise(vec![promise], 0), None)? {
        Some(Reply::Done) => Ok(()),
        Some(Reply::Failed(failure)) => Err(failure.into()),
        Some(_) => Err(wrong_answer()),
        None => Err(ended_early()),
    }
}

fn check_promises(session: &Session) -> Result<()> {
    if session.has_feature(TRANSACTIONS) {
        return Ok(());
    }
    let message = "this server cannot wait for data that is at another server";
    Err(Error::new(ErrorKind::Version, "call", message)
        .fix("fetch the data, and pass the array; or start a newer version of Farcall there"))
}
