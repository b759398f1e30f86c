//! Simulated world: the shipped state machines in virtual time.
