//! Unix socket transport with shared argument memory.
//!
//! The default way between client, server and executables on one host: the kernel says who is at
//! the other end (`SO_PEERCRED`), and descriptors travel, so arrays need not. What only Linux has
//! sits in named modules:
//! [`memory`] (memfd and seals), [`ring`] (eventfd), `handed` (epoll), `credentials` (`SO_PEERCRED`), [`copy`] (AVX2, with a plain copy elsewhere). A port
//! replaces those; [`connect`], [`Listener`] and the stream are POSIX but for the close-on-exec
//! flags.

mod connect;
pub mod copy;
mod credentials;
mod descent;
mod directory;
mod handed;
mod listener;
pub mod memory;
mod place;
mod process;
pub mod ring;
mod stream;

pub use connect::{
    common_socket_path, connect, connect_to_user, connect_within, default_socket_path,
    own_socket_path,
};
pub use descent::was_started_here;
pub use directory::prepare as prepare_directory;
pub use handed::hand_over;
pub use listener::Listener;
pub use memory::{MemoryLimits, SharedMemory};
pub use place::connect_for_bytes;
pub use process::Birthplace;
pub use stream::{DESCRIPTORS_MAX, from_descriptor, pair, relayed};

/// The user this process acts as.
pub fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests;
