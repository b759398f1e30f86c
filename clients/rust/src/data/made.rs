//! Data that a call of a transaction makes: it can be named while the transaction is written down,
//! and is at the server from its begin on.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Weak};

use farcall_base::{DataId, Error, ErrorKind, Result};
use farcall_idl::data::DataKind;

use super::{Data, Inner};
use crate::client::Client;
use crate::transaction::{Phase, Run};

/// The call that makes data.
pub(crate) struct Made {
    /// Its transaction, which stays at the server as long as somebody has a result of it.
    pub run: Arc<Run>,
    /// The number of the call.
    pub call: u32,
    /// The number of the parameter.
    pub slot: u16,
}

/// Data that may have been dropped.
#[derive(Clone, Default)]
pub(crate) struct WeakData(Weak<Inner>);

impl WeakData {
    /// The data, while the program has it.
    pub fn upgrade(&self) -> Option<Data> {
        self.0.upgrade().map(Data)
    }
}

impl Data {
    /// What a call of a transaction makes.
    pub(crate) fn made(client: &Client, id: DataId, kind: DataKind, made: Made) -> Data {
        let mut inner = Inner::new(client, id, kind);
        // It goes with its transaction.
        inner.is_left = AtomicBool::new(true);
        inner.made = Some(made);
        Data(Arc::new(inner))
    }

    /// The same, without keeping it.
    pub(crate) fn weak(&self) -> WeakData {
        WeakData(Arc::downgrade(&self.0))
    }

    /// Whose it is.
    pub(crate) fn client(&self) -> &Client {
        &self.0.client
    }

    /// Whether it is at the server that this client is connected to.
    pub(crate) fn is_at_home_of(&self, client: &Client) -> bool {
        let is_home = Arc::ptr_eq(&self.holder(), client.view().home());
        is_home && Arc::ptr_eq(&self.place().session, client.session())
    }

    /// The extents, for a transaction that it goes into. The server is asked for those that a
    /// routine decides, which has run then.
    pub(crate) fn extents_there(&self, client: &Client) -> Result<Vec<u64>> {
        self.check_begun("pass data to a transaction")?;
        if let Some(extents) = self.extents() {
            return Ok(extents.to_vec());
        }
        let found = client.data_of(self.id())?;
        found.extents().map(<[u64]>::to_vec).ok_or_else(|| {
            let message = "it is not there, and the transaction needs its size";
            Error::new(ErrorKind::InvalidArgument, "pass data to a transaction", message)
                .with("data", self.id())
                .fix("fetch it first, or make both calls in one transaction")
        })
    }

    /// The call of a transaction that makes it, if that is one.
    pub(crate) fn made_by(&self) -> Option<&Made> {
        self.0.made.as_ref()
    }

    /// Whether it is one number of a transaction that is being written down: what it is will be
    /// known when its call has run.
    pub(crate) fn is_later(&self) -> bool {
        self.made_by().is_some_and(|made| made.run.phase() == Phase::Written)
    }

    /// Refuses data that no server has: of a transaction that has not begun, or was ended.
    pub(crate) fn check_begun(&self, operation: &'static str) -> Result<()> {
        let Some(made) = self.made_by() else { return Ok(()) };
        let wrong = |message| {
            Error::new(ErrorKind::InvalidArgument, operation, message).with("call", made.call)
        };
        match made.run.phase() {
            Phase::Begun => Ok(()),
            Phase::Written => {
                let message = "it is a result of a transaction that has not begun";
                Err(wrong(message).fix("use it behind the end of the transaction's block"))
            }
            Phase::Never => {
                let message = "it is a result of a transaction whose begin failed";
                Err(wrong(message).fix("write the transaction down again"))
            }
            Phase::Dropped => {
                let message = "it is a result of a transaction that did not begin: it was ended \
                    before, or its block ended with an exception";
                Err(wrong(message).fix("write the transaction down again"))
            }
            Phase::Ended => {
                let message = "it is a result of a transaction that was ended";
                Err(wrong(message).fix("fetch results before the transaction is ended"))
            }
        }
    }
}
