//! Kept calls: those that go on without their clients, and outcomes that wait for these.

pub(super) mod behind;
pub(super) mod held;
pub(super) mod keep;
pub(super) mod outcomes;
pub(super) mod readmit;
pub(super) mod resume;
pub(super) mod revoked;
pub(super) mod survive;

pub use resume::{ReadBack, ReadMemory};
pub use survive::{Restored, Was};
