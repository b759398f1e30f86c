//! What plugins and transports offer one another: streams, memory, directory, spawner.
pub mod link;
pub mod memory;
pub mod stream;
