//! Servers that programs start for themselves: nothing stays of them, even when they are killed.

#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use farcall_client::{Address, Client};
use farcall_tests::{Directory, Server, battery};

/// A private server whose folder lies in `base`.
struct Private {
    child: Child,
    address: Address,
}

impl Private {
    fn start(base: &Path) -> Private {
        let mut command = Server::command();
        command.env("XDG_RUNTIME_DIR", base).arg("--private").arg(battery(false));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        Private { child, address: line.trim().parse().unwrap() }
    }

    fn answers(&self) -> bool {
        let client = Client::connect_to(&self.address, None, Duration::from_secs(10));
        client.is_ok_and(|client| client.routine("touch").is_ok())
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn end(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}

fn folders(base: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(base).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn the_next_private_server_removes_what_a_killed_one_left() {
    let base = Directory::new();
    let killed = Private::start(&base.0);
    let left = folders(&base.0);
    assert_eq!(left.len(), 1, "{left:?}");
    killed.kill();
    assert_eq!(folders(&base.0), left, "it had no time to remove it");
    let living = Private::start(&base.0);
    assert!(!left[0].exists(), "{left:?}");
    let third = Private::start(&base.0);
    assert_eq!(folders(&base.0).len(), 2, "a living server's folder stays");
    assert!(living.answers() && third.answers());
    living.end();
    third.end();
    assert_eq!(folders(&base.0).len(), 0, "a server that ends leaves nothing");
}
