//! What end-to-end tests share: where the program is, servers of their own, what they publish, and
//! peers that speak the wire by hand.

mod fixture;
mod proxy;
mod raw;
mod relay;
mod server;
mod slurm;
mod watched;

use std::path::PathBuf;

use farcall_client::{Client, PrivateServer, ServeOptions};

pub use fixture::{
    Directory, back, battery, compile, fortran, has_fortran, heard, inline, manifest, manifest_of,
    nested, objects, options_of_lists, resident, share, trouble, wild,
};
pub use proxy::{Proxy, Way};
pub use raw::{Raw, failure_of};
pub use server::{Server, Transport, alive, authority, eventually, library_directory};
pub use slurm::Slurm;
pub use watched::{PATIENCE, first_news, rest_of_output, told_and_missed, until_begun, watched};

/// Each test over each transport: functions that take one.
#[macro_export]
macro_rules! over_all {
    ($($test:ident)*) => {
        mod unix {
            $(#[test] fn $test() { super::$test($crate::Transport::Unix); })*
        }
        $crate::over_networks! { $($test)* }
    };
}

/// The same over those that a network can break.
#[macro_export]
macro_rules! over_networks {
    ($($test:ident)*) => {
        mod tcp {
            $(#[test] fn $test() { super::$test($crate::Transport::Tcp); })*
        }
        mod tls {
            $(#[test] fn $test() { super::$test($crate::Transport::Tls); })*
        }
    };
}

/// The repository's root.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("tests/ lies in the root")
        .to_path_buf()
}

/// The `farcall` program of this build.
///
/// # Panics
/// When it was not built.
pub fn program() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let folder =
        test.parent().and_then(|deps| deps.parent()).expect("tests lie in target/PROFILE/deps");
    let program = folder.join("farcall");
    assert!(program.exists(), "{} is missing: cargo build -p farcall-cli first", program.display());
    program
}

/// A server of this build that publishes `files`, paths from the root.
///
/// # Panics
/// When it does not start.
pub fn server(files: &[&str]) -> PrivateServer {
    server_with(files, &[])
}

/// The same with more arguments of `farcall serve`.
///
/// # Panics
/// When it does not start.
pub fn server_with(files: &[&str], arguments: &[&str]) -> PrivateServer {
    let options = ServeOptions {
        program: Some(program()),
        files: files.iter().map(|file| root().join(file)).collect(),
        arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect(),
        timeout: None,
    };
    PrivateServer::start(&options).unwrap_or_else(|error| panic!("{error}"))
}

/// A client of a server.
///
/// # Panics
/// When it cannot connect.
pub fn client(server: &PrivateServer) -> Client {
    server.connect().unwrap_or_else(|error| panic!("{error}"))
}
