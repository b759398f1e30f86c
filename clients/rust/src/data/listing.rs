//! Data by its id, and lists of it: at whichever server it is.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use farcall_base::{DataId, Result};
use farcall_idl::data::DataKind;
use farcall_wire::{DataStatus, Reply, Request};
use rustc_hash::FxHashMap;

use super::{Data, Inner, Place, check_feature, delete, not_found, wrong_answer};
use crate::client::{Client, ended_early};
use crate::session::Session;
use crate::view::{ByServer, Server};

/// What one answer tells of at most.
pub(super) const LISTED_MAX: usize = 1000;

impl Client {
    /// Data by its id, which this client does not delete by itself: of another process of this user,
    /// or one before. The server must have it, or one that it knows.
    ///
    /// # Errors
    /// `NotFound`, `TimedOut`, `ConnectionLost`; `Unreachable` where a server that may have it does
    /// not answer.
    pub fn data_of(&self, id: DataId) -> Result<Data> {
        let (found, place) = match self.ask_data(vec![id])?.pop() {
            Some(found) => (found, Place { session: self.session().clone(), server: None }),
            None => {
                let unknown = not_found("find data", id, self.address());
                self.found_by_others(unknown, move |server, session| found_at(server, session, id))?
            }
        };
        self.found(found, place)
    }

    /// Data as a server tells of it.
    fn found(&self, found: DataStatus, place: Place) -> Result<Data> {
        let kind = DataKind::of_routine(&found.kind).ok_or_else(wrong_answer)?;
        let mut inner = Inner::new(self, found.id, kind);
        inner.place = Mutex::new(place);
        inner.is_left = AtomicBool::new(true);
        let data = Data(Arc::new(inner));
        if !found.extents.is_empty() {
            data.has_extents(found.extents);
        }
        Ok(data)
    }

    /// The same of several, which are asked for together: `None` for what neither the server that was
    /// connected to has nor one that it knows.
    ///
    /// # Errors
    /// `TimedOut`, `ConnectionLost`.
    pub fn data_of_all(&self, ids: &[DataId]) -> Result<Vec<Option<Data>>> {
        let here = Place { session: self.session().clone(), server: None };
        let mut known = FxHashMap::default();
        for some in ids.chunks(LISTED_MAX) {
            let found = self.ask_data(some.to_vec())?;
            known.extend(found.into_iter().map(|one| (one.id, (one, here.clone()))));
            let missing: Vec<DataId> =
                some.iter().filter(|id| !known.contains_key(id)).copied().collect();
            if !missing.is_empty() {
                let (found, _) = self.one_of_others(move |server, session| {
                    some_found_at(server, session, &missing)
                })?;
                let (found, place) = found.unwrap_or_else(|| (Vec::new(), here.clone()));
                known.extend(found.into_iter().map(|one| (one.id, (one, place.clone()))));
            }
        }
        let found = |id| {
            let known: Option<(DataStatus, Place)> = known.get(id).cloned();
            known.map(|(one, place)| self.found(one, place)).transpose()
        };
        ids.iter().map(found).collect()
    }

    /// This user's data at the server, what is deleted next first, at most 1000; and that of the
    /// servers that it knows, behind it.
    ///
    /// # Errors
    /// `Version`, `TimedOut`, `ConnectionLost`.
    pub fn data(&self) -> Result<Vec<DataStatus>> {
        let ByServer { answers, .. } = self.data_by_server(&[])?;
        Ok(answers.into_iter().flat_map(|(_, data)| data).collect())
    }

    /// Of this user's data that of these ids, and without any ids all, at most 1000, by the server
    /// that has it: the one that was connected to first.
    ///
    /// # Errors
    /// As [`Client::data`].
    pub fn data_by_server(&self, ids: &[DataId]) -> Result<ByServer<Vec<DataStatus>>> {
        let ids = ids.to_vec();
        self.of_each(self.session().patience(), move |session| ask_data(&session, ids.clone()))
    }

    /// Deletes data of this user's at the server that was connected to, by its id; what is not there
    /// is skipped.
    ///
    /// # Errors
    /// As [`Client::data`].
    pub fn delete_data(&self, ids: Vec<DataId>) -> Result<()> {
        check_feature(self.session())?;
        delete(self.session(), ids)
    }

    fn ask_data(&self, ids: Vec<DataId>) -> Result<Vec<DataStatus>> {
        ask_data(self.session(), ids).map_err(|error| error.with("server", self.address()))
    }
}

fn found_at(
    server: &Arc<Server>,
    session: Arc<Session>,
    id: DataId,
) -> Result<(DataStatus, Place)> {
    let found = ask_data(&session, vec![id])?.pop();
    let found = found.ok_or_else(|| not_found("find data", id, &server.name))?;
    Ok((found, Place { session, server: Some(server.clone()) }))
}

pub(super) fn ask_data(session: &Session, ids: Vec<DataId>) -> Result<Vec<DataStatus>> {
    check_feature(session)?;
    match session.ask(&Request::Data(ids), None)? {
        Some(Reply::Data(all)) => Ok(all),
        Some(Reply::Failed(failure)) => Err(failure.into()),
        Some(_) => Err(wrong_answer()),
        None => Err(ended_early()),
    }
}

/// Those of several that a server has; an error where it has none.
fn some_found_at(
    server: &Arc<Server>,
    session: Arc<Session>,
    ids: &[DataId],
) -> Result<(Vec<DataStatus>, Place)> {
    let found = ask_data(&session, ids.to_vec())?;
    match found.is_empty() {
        true => Err(not_found("find data", ids[0], &server.name)),
        false => Ok((found, Place { session, server: Some(server.clone()) })),
    }
}
