//! Wide-area programs: what the members of a run share (spec/wide-area.md).
//!
//! Pure: a message of another member goes into an [`Engine`] by `take`, what the program does by the
//! engine's own methods; messages come out into an [`Outbox`]. Real runs, virtual time and the
//! tests use the same code.

mod bag;
mod bound;
mod bytes;
mod collective;
mod halo;
mod mail;
mod message;
mod number;
mod outbox;
mod replica;
mod scatter;
mod sites;
#[cfg(test)]
mod ways;

use std::any::Any;

use farcall_base::Result;

pub use bag::{JOB_BYTES_MAX, Jobs, Queues, bag};
pub use bound::Bound;
pub use bytes::{Reader, Writer};
pub use collective::{Collectives, Job};
pub use halo::{Freshness, Halo, Rows, Side};
pub use mail::{Mail, Wanted};
pub use message::{Envelope, MESSAGE_BYTES_MAX, ThingNumber};
pub use number::{Element, Fold};
pub use outbox::{Destination, Outbox};
pub use replica::{Order, Replica};
pub use scatter::Scatter;
pub use sites::Sites;

/// A member of a run, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rank(pub u32);

/// One thing, at one member.
pub trait Engine: Any + Send {
    /// A message of the thing has come from another member.
    ///
    /// # Errors
    /// `Protocol` for what no member sends: the run ends.
    fn take(&mut self, from: Rank, message: Envelope<'_>, out: &mut Outbox) -> Result<()>;
}
