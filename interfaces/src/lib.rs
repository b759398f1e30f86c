//! What plugins and transports offer one another: streams, memory, directory, spawner, status.

pub mod compression;
pub mod content;
pub mod contents;
pub mod directory;
pub mod fetcher;
pub mod jobs;
pub mod link;
pub mod machine_memory;
pub mod mailbox;
pub mod memory;
pub mod open_files;
pub mod outlet;
pub mod owner;
pub mod packing;
pub mod plain_file;
pub mod spawner;
pub mod status;
pub mod stream;
pub mod strided;
pub mod temporary;
pub mod turnstile;
