//! Executables: their start and end, and which of the waiting calls each is given.

pub(super) mod end;
pub(super) mod executable;
pub(super) mod line;
pub(super) mod memory;
pub(super) mod pool;
