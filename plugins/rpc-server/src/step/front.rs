//! The front: connections, greeting, rights, questions, and what is told of the server.

pub(super) mod administer;
pub(super) mod audit;
pub(super) mod claims;
pub(super) mod client;
pub(super) mod directory;
pub(super) mod large;
pub(super) mod newcomers;
pub(super) mod placing;
pub(super) mod status;
pub(super) mod transactions;
pub(super) mod under_way;

pub use placing::{Listing, NodeFacts, Union};
