//! Arc consistency: which values of a constraint network cannot be part of any solution because a
//! neighbor has nothing that goes with them (wide-area paper, section 4.7; Mackworth 1977).
//!
//! Every member has all domains; variables are split over members. A member revises its own
//! variables against the current domains and sends the [`Removal`]s to all, who apply them in any
//! order: removals only ever take away, so they commute, and what is left at the end is unique.
//! An emptied domain means that there is no solution; the search goes on to the unique end even
//! then, so that the answer does not depend on what was noticed first.
//!
//! A member's text: [`State::revise`] on its own variables, [`State::apply`] on all removals, its
//! own among them, until no variable is pending and no removal travels. Counted operations: a value
//! checked against one constraint.

mod generated;
mod json;
mod network;
mod rlfap;
mod state;

pub use generated::Generated;
pub use network::{Network, VALUES_MAX};
pub use rlfap::{Selection, read_rlfap};
pub use state::{Answer, REMOVAL_BYTES, Removal, Solved, State, solve};
