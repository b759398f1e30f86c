//! From a file to a module that a server offers. A file is opened once ([`source`]), compiled
//! ([`module`], [`python`], [`stubs`]), looked into by a process of its own ([`inspection`]), and
//! judged by what it could open ([`exposed`]). What a server is told to publish, withdraw and
//! reload while it runs is done here, too ([`publisher`]); whose a name is, is known here alone.

mod claims;
pub mod exposed;
pub mod inspection;
pub mod installation;
mod making;
pub mod module;
mod parts;
pub mod publisher;
pub mod python;
pub mod shared_data;
pub mod shipped;
pub mod source;
pub mod store;
pub mod stubs;
mod waiting;

pub use making::check_exposed;
