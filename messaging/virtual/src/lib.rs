//! Messages between members of a run in virtual time (spec/wide-area.md, sections 2 and 10).
//!
//! A [`Hub`] has the clock and the simulated [`Network`]; it gives one member at a time the right to
//! run, over a stream. A [`VirtualMember`] is the other end of that stream, in the program.

mod frames;
mod hub;
mod member;
mod model;
mod network;

pub use frames::{Declared, ToHub, ToMember};
pub use hub::{Finished, Hub, MemberEnd, Traffic};
pub use member::{Arrival, VirtualMember};
pub use model::{Between, Gateway, Inside, MessageCost, Model};
pub use network::{Delivery, Network};
