//! Everything behind libfarcall.so: the C ABI and the executable runtime.

// A static library holds what its root names: without these, nothing of either crate would be in it.
pub use farcall_c as c;
pub use farcall_executable as executable;
