//! Wide-area programs: an ordinary parallel program, whose members run at several sites that slow links
//! join (spec/wide-area.md).
//!
//! ```
//! # fn main() -> Result<(), farcall_wide::Error> {
//! let me = farcall_wide::join()?;
//! let largest = me.all_reduce(farcall_wide::Fold::Max, &[f64::from(me.rank())])?;
//! me.answer(&format!("{}", largest[0]))?;
//! me.leave()
//! # }
//! ```
//!
//! The text of a program runs from top to bottom, and blocks where it must wait. Started by hand it is
//! a run of one member; `farcall run` starts more.

mod bag;
mod bound;
mod driver;
mod given;
mod halo;
mod mail;
mod member;
mod numbers;
mod replica;
mod shared;
mod together;

pub use farcall_base::{Error, ErrorKind, Random, Result, SeededRandom};
pub use farcall_wide_engines::{Fold, Freshness, Order, Queues};

pub use bag::Bag;
pub use bound::Bound;
pub use halo::{Halo, Rows};
pub use mail::{ANY, Mail, Received};
pub use member::{Member, join, main};
pub use numbers::Number;
pub use replica::Replica;
