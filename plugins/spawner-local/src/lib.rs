//! Starts executables as processes of this host and reports their end.
