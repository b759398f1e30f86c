//! The library every executable is built on: the generic host and linked executables.
