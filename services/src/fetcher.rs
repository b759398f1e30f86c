//! The fetcher service: array arguments that a caller names by URL come from where they lie, and
//! not from the caller.
//!
//! A fetcher knows which sources its admin allows, and how arrays are stored in files. The bytes of
//! an array enter no message: they lie in memory that the answer names.

use std::os::fd::OwnedFd;

use farcall_idl::interface::{ElementType, Order};

use crate::mailbox::{Port, Reply};

/// The slot that a fetcher fills.
pub const SLOT: &str = "fetcher";

/// An array that is wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// Where it lies: `https://…`, `http://…` or `file:/…`; its name ends in `.npy` or `.mtx`.
    pub url: String,
    /// For whom: sources may be allowed to some and not to others.
    pub principal: String,
    /// Type of the elements that the routine takes; numbers that it does not hold exactly are
    /// refused.
    pub element: ElementType,
    /// Extents that the call gives it, in logical order.
    pub shape: Vec<u64>,
    /// Which index varies fastest in what is answered.
    pub order: Order,
}

/// An array that was fetched.
#[derive(Debug)]
pub struct Fetched {
    /// Its elements without gaps, in the order that was wanted; from offset 0.
    pub memory: OwnedFd,
    /// Their bytes.
    pub bytes: u64,
}

/// A request on its way, with the address of its answer.
pub struct Question {
    /// What is wanted.
    pub wanted: Wanted,
    /// Where the answer goes.
    pub reply: Reply<Fetched>,
}

/// Sends requests to the fetcher of this node.
#[derive(Clone)]
pub struct FetcherHandle {
    port: Port<Question>,
}

impl FetcherHandle {
    /// A handle on whatever serves `port`.
    pub fn new(port: Port<Question>) -> Self {
        FetcherHandle { port }
    }

    /// Fetches an array; whatever happens, also a fetcher that is busy or gone, arrives at `reply`:
    /// `PermissionDenied` for a source that is not allowed, `NotFound`, `Unreachable`, `TimedOut`,
    /// `LimitExceeded`, and `InvalidArgument` for an array of another shape or kind.
    pub fn fetch(&self, wanted: Wanted, reply: Reply<Fetched>) {
        if let Err(refused) = self.port.try_send(Question { wanted, reply }) {
            refused.message.reply.answer(Err(refused.refusal.error("fetch an array")));
        }
    }
}
