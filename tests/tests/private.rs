//! Servers that programs start for themselves: nothing stays of them, even when they are killed.

use std::path::{Path, PathBuf};

use farcall_tests::{Directory, Server, battery};

fn folders(base: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(base).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn the_next_private_server_removes_what_a_killed_one_left() {
    let base = Directory::new();
    let start = || Server::start_in(&base.0, &[battery(false)], &[]);
    let killed = start();
    let left = folders(&base.0);
    assert_eq!(left.len(), 1, "{left:?}");
    killed.kill();
    assert_eq!(folders(&base.0), left, "it had no time to remove it");
    let living = start();
    assert!(!left[0].exists(), "{left:?}");
    let third = start();
    assert_eq!(folders(&base.0).len(), 2, "a living server's folder stays");
    for server in [living, third] {
        assert!(server.client().routine("touch").is_ok());
    }
    assert_eq!(folders(&base.0).len(), 0, "a server that ends leaves nothing");
}
