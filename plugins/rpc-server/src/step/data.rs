//! Data: calls that make it, calls that use it, and what clients ask of it (spec/wire.md, section
//! 12).

pub(super) mod ask;
pub(super) mod make;
pub(super) mod promise;
pub(super) mod pull;
pub(super) mod take;
