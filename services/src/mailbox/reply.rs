//! Where an answer goes, and where a question is taken: addresses that hide the mailbox behind
//! them.
//!
//! Both are closures at heart, so that the other side may later be a child process: its host then
//! makes the same addresses from a table of request numbers.

use std::sync::Arc;
use std::time::Duration;

use farcall_base::{Error, ErrorKind, Result};

use super::{NoMessage, Park, Parking, Receiver, Refusal, Refused, Sender, mailbox};

/// The address of exactly one answer. Dropped unanswered, it reports that the service ended.
pub struct Reply<T> {
    deliver: Option<Box<dyn FnOnce(Result<T>) + Send>>,
}

impl<T> Reply<T> {
    /// An address from the code that delivers the answer; it must not wait.
    pub fn new(deliver: impl FnOnce(Result<T>) + Send + 'static) -> Self {
        Reply { deliver: Some(Box::new(deliver)) }
    }

    /// Delivers the answer.
    pub fn answer(mut self, answer: Result<T>) {
        if let Some(deliver) = self.deliver.take() {
            deliver(answer);
        }
    }

    /// Gives the address up: no answer is due.
    pub fn withdraw(mut self) {
        self.deliver = None;
    }
}

impl<T> Drop for Reply<T> {
    fn drop(&mut self) {
        if let Some(deliver) = self.deliver.take() {
            let message = "the service stopped before it answered";
            deliver(Err(Error::new(ErrorKind::ShuttingDown, "ask a service", message)));
        }
    }
}

impl<M: Send + 'static> Sender<M> {
    /// An address in this mailbox, with room reserved; `into_message` makes the owner's own event
    /// of the answer (and carries what the owner needs to recognise it, such as a request number).
    ///
    /// # Errors
    /// `LimitExceeded` (retryable) when the mailbox has no room: the owner asks too much at a time.
    pub fn reply<T>(
        &self,
        into_message: impl FnOnce(Result<T>) -> M + Send + 'static,
    ) -> Result<Reply<T>> {
        let place = self.reserve().map_err(|refusal| refusal.error("ask a service"))?;
        Ok(Reply::new(move |answer| place.send(into_message(answer))))
    }

    /// An entrance for messages of type `Q`, each made an event of the owner by `into_message`.
    pub fn port<Q: 'static>(&self, into_message: fn(Q) -> M) -> Port<Q> {
        let sender = self.clone();
        Port(Arc::new(move |message| enter(&sender, message, into_message)))
    }
}

impl<M: Send + 'static> Sender<M, Park> {
    /// As for a mailbox with a descriptor.
    pub fn port<Q: 'static>(&self, into_message: fn(Q) -> M) -> Port<Q> {
        let sender = self.clone();
        Port(Arc::new(move |message| enter(&sender, message, into_message)))
    }
}

fn enter<M, P: Parking, Q>(
    sender: &Sender<M, P>,
    message: Q,
    into_message: fn(Q) -> M,
) -> std::result::Result<(), Refused<Q>> {
    match sender.reserve() {
        Ok(place) => {
            place.send(into_message(message));
            Ok(())
        }
        Err(refusal) => Err(Refused { refusal, message }),
    }
}

type Entrance<Q> = dyn Fn(Q) -> std::result::Result<(), Refused<Q>> + Send + Sync;

/// Takes messages of type `Q` to whoever serves them. Clones lead to the same place.
pub struct Port<Q>(Arc<Entrance<Q>>);

impl<Q> Port<Q> {
    /// Hands `message` over, or gets it back at once.
    ///
    /// # Errors
    /// As [`Sender::try_send`].
    pub fn try_send(&self, message: Q) -> std::result::Result<(), Refused<Q>> {
        (self.0)(message)
    }
}

impl<Q> Clone for Port<Q> {
    fn clone(&self) -> Self {
        Port(self.0.clone())
    }
}

/// The waiting side of a [`question`].
pub struct Answer<T>(Receiver<Result<T>>);

/// A reply address and the place to wait for its answer: for callers that have no mailbox of their
/// own.
///
/// # Errors
/// `System` when the process is out of descriptors.
pub fn question<T: Send + 'static>() -> Result<(Reply<T>, Answer<T>)> {
    let (sender, receiver) = mailbox(1)?;
    let place = sender.reserve().map_err(|refusal: Refusal| refusal.error("ask a service"))?;
    Ok((Reply::new(move |answer| place.send(answer)), Answer(receiver)))
}

impl<T> Answer<T> {
    /// Waits for the answer for at most `timeout`.
    ///
    /// # Errors
    /// The service's own; `TimedOut`; `ShuttingDown` when the service ended without an answer.
    pub fn wait(mut self, timeout: Duration) -> Result<T> {
        match self.0.receive_timeout(timeout) {
            Ok(answer) => answer,
            Err(NoMessage::Empty) => {
                Err(Error::new(ErrorKind::TimedOut, "ask a service", "no answer")
                    .with("waited", format!("{timeout:?}")))
            }
            Err(NoMessage::Closed) => Err(Refusal::Closed.error("ask a service")),
        }
    }
}
