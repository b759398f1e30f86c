//! In-process transport in virtual time.
