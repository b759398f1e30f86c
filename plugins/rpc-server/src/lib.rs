//! Accepts connections, checks calls and relays them to executables.
