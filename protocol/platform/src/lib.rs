//! The description of a platform for wide-area programs (spec/platform.md): sites and their
//! members, the networks inside and between them, gateways, and what operations cost.
//!
//! [`Platform::read`] takes the text of a platform file and gives a checked [`Platform`], or all
//! [`Mistakes`] of the text with their places. It simulates nothing and measures nothing: virtual
//! time and real sites read the same files. All times and rates are integers, so that what is
//! computed from them is the same on every machine.

#![forbid(unsafe_code)]

mod mistakes;
mod platform;
mod quantity;
mod read;
mod shape;
mod sites;

pub use mistakes::{MISTAKES_MAX, Mistakes};
pub use platform::{MEMBERS_MAX, Platform, SITES_MAX, SiteNumber, TEXT_BYTES_MAX};
pub use quantity::{OperationCost, Rate};
pub use sites::{Gateway, Inside, Link, Member, Site};
