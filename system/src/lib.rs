//! What the operating system gives a process, by ways that are safe and bounded: plain files,
//! temporary folders, key files, standard outputs that nobody may read, signals, and how much memory
//! and how many files there are.

pub mod host_name;
pub mod key_file;
pub mod machine_load;
pub mod machine_memory;
pub mod open_files;
pub mod outlet;
pub mod own_folder;
pub mod owner;
pub mod plain_file;
pub mod random_bytes;
pub mod signals;
pub mod temporary;
