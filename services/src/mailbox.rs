//! Bounded mailboxes between the threads of one node, with a descriptor to wait on beside sockets.
//!
//! Three promises hold everywhere: a mailbox never grows beyond its capacity (a full one pushes
//! back), an answer never gets lost for lack of room (a question reserves the place of its answer
//! before it is sent), and nobody waits for an answer that cannot come (a dropped [`Reply`] answers
//! with an error).

mod reply;
mod wake;

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use farcall_base::{Error, ErrorKind, Result};

pub use reply::{Answer, Port, Reply, question};
pub use wake::{Lock, Park, Parking, Wake};

/// A mailbox for at most `capacity` messages, reserved places included.
///
/// # Errors
/// `System` when the process is out of descriptors.
pub fn mailbox<M>(capacity: usize) -> Result<(Sender<M>, Receiver<M>)> {
    Ok(parked(capacity, Wake::new()?))
}

/// Both ends of a [`parked_mailbox`].
pub type ParkedMailbox<M> = (Sender<M, Park>, Receiver<M, Park>);

/// The same for a receiver that waits for nothing else: it takes no descriptor.
#[must_use]
pub fn parked_mailbox<M>(capacity: usize) -> ParkedMailbox<M> {
    parked(capacity, Park::default())
}

/// A mailbox whose receiver sleeps by `wake`.
fn parked<M, P: Parking>(capacity: usize, wake: P) -> (Sender<M, P>, Receiver<M, P>) {
    let content = Content {
        queue: VecDeque::new(),
        reserved: 0,
        senders: 1,
        receiver_lives: true,
        signalled: false,
    };
    let shared = Arc::new(Shared { capacity, wake, content: P::Lock::new(content) });
    (Sender { shared: shared.clone() }, Receiver { shared })
}

/// Puts messages in. Clones share the mailbox.
///
/// `P` is what locks it and wakes its receiver: the process's own means, or those of a model.
pub struct Sender<M, P: Parking = Wake> {
    shared: Arc<Shared<M, P>>,
}

/// Takes messages out. There is one per mailbox.
pub struct Receiver<M, P: Parking = Wake> {
    shared: Arc<Shared<M, P>>,
}

/// Room for one message, held until it is sent or dropped.
pub struct Place<M, P: Parking = Wake> {
    sender: Sender<M, P>,
    spent: bool,
}

/// Why a mailbox takes no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// At its capacity: slow down and try again.
    Full,
    /// Its receiver is gone.
    Closed,
}

/// A message that was not taken, and why.
#[derive(Debug)]
pub struct Refused<M> {
    /// Why.
    pub refusal: Refusal,
    /// The message, unchanged.
    pub message: M,
}

/// Why there is no message to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoMessage {
    /// None yet.
    Empty,
    /// None, and none can come: every sender and every reserved place is gone.
    Closed,
}

struct Shared<M, P: Parking> {
    capacity: usize,
    wake: P,
    content: P::Lock<Content<M>>,
}

/// Invariant: `queue.len() + reserved <= capacity`.
struct Content<M> {
    queue: VecDeque<M>,
    reserved: usize,
    senders: usize,
    receiver_lives: bool,
    /// Whether the descriptor is readable.
    signalled: bool,
}

impl<M> Content<M> {
    fn room(&self, capacity: usize) -> std::result::Result<(), Refusal> {
        match self {
            Content { receiver_lives: false, .. } => Err(Refusal::Closed),
            _ if self.queue.len() + self.reserved >= capacity => Err(Refusal::Full),
            _ => Ok(()),
        }
    }

    fn push(&mut self, message: M, wake: &impl Parking) {
        self.queue.push_back(message);
        self.signal(wake);
    }

    /// Only the first message of a batch costs a system call. It is made under the lock, so that
    /// the flag is always true.
    fn signal(&mut self, wake: &impl Parking) {
        if !std::mem::replace(&mut self.signalled, true) {
            wake.signal();
        }
    }

    fn clear(&mut self, wake: &impl Parking) {
        if std::mem::take(&mut self.signalled) {
            wake.clear();
        }
    }
}

impl<M, P: Parking> Sender<M, P> {
    /// Puts `message` in, or hands it back at once.
    ///
    /// # Errors
    /// [`Refusal::Full`] at capacity, [`Refusal::Closed`] when the receiver is gone.
    pub fn try_send(&self, message: M) -> std::result::Result<(), Refused<M>> {
        let mut content = self.shared.content.lock();
        if let Err(refusal) = content.room(self.shared.capacity) {
            return Err(Refused { refusal, message });
        }
        content.push(message, &self.shared.wake);
        Ok(())
    }

    /// Reserves room for one message, so that sending it later cannot fail.
    ///
    /// # Errors
    /// As [`Sender::try_send`].
    pub fn reserve(&self) -> std::result::Result<Place<M, P>, Refusal> {
        let mut content = self.shared.content.lock();
        content.room(self.shared.capacity)?;
        content.reserved += 1;
        drop(content);
        Ok(Place { sender: self.clone(), spent: false })
    }
}

impl<M, P: Parking> Clone for Sender<M, P> {
    fn clone(&self) -> Self {
        self.shared.content.lock().senders += 1;
        Sender { shared: self.shared.clone() }
    }
}

impl<M, P: Parking> Drop for Sender<M, P> {
    fn drop(&mut self) {
        let mut content = self.shared.content.lock();
        content.senders -= 1;
        if content.senders == 0 {
            content.signal(&self.shared.wake);
        }
    }
}

impl<M, P: Parking> Place<M, P> {
    /// Sends into the reserved room. A receiver that is gone drops the message: nobody is left to
    /// miss it.
    pub fn send(mut self, message: M) {
        self.spent = true;
        let mut content = self.sender.shared.content.lock();
        content.reserved -= 1;
        if !content.receiver_lives {
            // The message may hold a reply to this very mailbox: it must not drop under the lock.
            drop(content);
            return;
        }
        content.push(message, &self.sender.shared.wake);
    }
}

impl<M, P: Parking> Drop for Place<M, P> {
    fn drop(&mut self) {
        if !self.spent {
            self.sender.shared.content.lock().reserved -= 1;
        }
    }
}

impl<M, P: Parking> Receiver<M, P> {
    /// The next message, without waiting.
    ///
    /// Take until [`NoMessage::Empty`]: only that makes the descriptor unreadable again.
    ///
    /// # Errors
    /// Why there is none.
    pub fn try_receive(&mut self) -> std::result::Result<M, NoMessage> {
        let mut content = self.shared.content.lock();
        match content.queue.pop_front() {
            Some(message) => Ok(message),
            None if content.senders == 0 => Err(NoMessage::Closed),
            None => {
                content.clear(&self.shared.wake);
                Err(NoMessage::Empty)
            }
        }
    }

    /// The next message; waits for it for at most `timeout`.
    ///
    /// # Errors
    /// [`NoMessage::Empty`] when the time has passed, [`NoMessage::Closed`] as soon as nobody can send.
    pub fn receive_timeout(&mut self, timeout: Duration) -> std::result::Result<M, NoMessage> {
        let deadline = Instant::now().checked_add(timeout);
        loop {
            match self.try_receive() {
                Err(NoMessage::Empty) => {}
                outcome => return outcome,
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Err(NoMessage::Empty);
            }
            self.shared.wake.wait(left);
        }
    }
}

impl<M> AsFd for Receiver<M> {
    /// Readable while there is a message or every sender is gone, and once after the last was
    /// taken.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.shared.wake.as_fd()
    }
}

impl<M, P: Parking> Drop for Receiver<M, P> {
    fn drop(&mut self) {
        let mut content = self.shared.content.lock();
        content.receiver_lives = false;
        let left_over = std::mem::take(&mut content.queue);
        // Messages drop outside the lock: a question among them answers, perhaps to this very
        // mailbox.
        drop(content);
        drop(left_over);
    }
}

impl Refusal {
    /// The error to report for it: `service` says who did not take the request.
    pub fn error(self, service: &'static str) -> Error {
        match self {
            Refusal::Full => {
                Error::new(ErrorKind::LimitExceeded, service, "too many requests are waiting")
                    .fix("try again in a moment")
                    .retryable()
            }
            Refusal::Closed => {
                Error::new(ErrorKind::ShuttingDown, service, "the service has stopped")
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
