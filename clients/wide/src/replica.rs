//! State that all members have, and change by operations.

use std::marker::PhantomData;

use farcall_base::Result;
use farcall_wide_engines::{self as engines, Engine, Envelope, Order, Outbox, Rank, ThingNumber};

use crate::shared::Shared;

/// State that every member reads without a message. Operations change it at all members.
pub struct Replica<S> {
    shared: Shared,
    number: ThingNumber,
    name: String,
    of: PhantomData<S>,
}

/// What an operation does to the state: the writer's rank, and the operation's bytes.
pub type Apply<S> = Box<dyn FnMut(&mut S, u32, &[u8]) -> Result<()> + Send>;

/// The engine with the state: operations are applied when they are delivered.
struct Kept<S> {
    engine: engines::Replica,
    state: S,
    apply: Apply<S>,
}

impl<S> Kept<S> {
    fn catch_up(&mut self) -> Result<()> {
        while let Some((from, operation)) = self.engine.next_due() {
            (self.apply)(&mut self.state, from.0, &operation)?;
        }
        Ok(())
    }
}

impl<S: Send + 'static> Engine for Kept<S> {
    fn take(&mut self, from: Rank, message: Envelope<'_>, out: &mut Outbox) -> Result<()> {
        self.engine.take(from, message, out)?;
        self.catch_up()
    }
}

impl<S: Send + 'static> Replica<S> {
    pub(crate) fn make(
        shared: &Shared,
        name: &str,
        order: Order,
        state: S,
        apply: Apply<S>,
    ) -> Result<Replica<S>> {
        let number = ThingNumber::of(name);
        let sites = ((*shared.sites).clone(), shared.has_tiers);
        let engine = engines::Replica::new((number, shared.rank), sites, order);
        let description = format!("replica, order {order:?}");
        shared.make(name, description, Box::new(Kept { engine, state, apply }))?;
        Ok(Replica { shared: shared.clone(), number, name: name.to_owned(), of: PhantomData })
    }

    /// Changes the state at all members. Without tiers this waits until the operation was applied here, as
    /// the paper's system does; with tiers it goes on at once.
    ///
    /// # Errors
    /// What ends the run.
    pub fn change(&self, operation: &[u8]) -> Result<()> {
        let has_waits = self.shared.act(self.number, |kept: &mut Kept<S>, out| {
            kept.engine.change(operation, out)?;
            kept.catch_up()?;
            Ok(kept.engine.has_waits())
        })?;
        if has_waits { self.settle() } else { Ok(()) }
    }

    /// Waits until all operations of this member were applied here.
    ///
    /// # Errors
    /// What ends the run.
    pub fn settle(&self) -> Result<()> {
        let what = |_: &Kept<S>| format!("{}: its own operations in the order", self.name);
        self.shared.wait(self.number, what, |kept, _| Ok(kept.engine.is_settled().then_some(())))
    }

    /// Reads the state as it is here.
    ///
    /// # Errors
    /// What ends the run.
    pub fn read<T>(&self, read: impl FnOnce(&S) -> T) -> Result<T> {
        self.shared.act(self.number, |kept: &mut Kept<S>, _| Ok(read(&kept.state)))
    }

    /// Waits until the state has something; `what` says for what, in the error of a run in which nobody
    /// can go on.
    ///
    /// # Errors
    /// What ends the run.
    pub fn wait<T>(&self, what: &str, mut read: impl FnMut(&mut S) -> Option<T>) -> Result<T> {
        let what = |_: &Kept<S>| format!("{}: {what}", self.name);
        self.shared.wait(self.number, what, |kept, _| Ok(read(&mut kept.state)))
    }
}
