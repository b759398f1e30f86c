//! Unix socket transport with shared argument memory.
