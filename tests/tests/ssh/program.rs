//! Which program is copied to a host: the one for old systems where it is, else this build's own if
//! it runs there.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::ssh::far::{Far, lean};

/// A host whose C library says that it is of this version.
fn far(glibc: &str) -> Far {
    let far = Far::faked("PATH=$PWD:$PATH", "/bin/sh");
    far.script("getconf", &format!("#!/bin/sh\necho {glibc}\n"));
    far
}

/// A build with this program, and one for old systems beside it, which is a byte longer.
fn build(far: &Far, has_old: bool) -> PathBuf {
    let place = far.folder.0.join("build");
    let old = place.join("dist/bin");
    std::fs::create_dir_all(place.join("bin")).unwrap();
    std::fs::copy(lean(), place.join("bin/farcall")).unwrap();
    if has_old {
        std::fs::create_dir_all(&old).unwrap();
        let content = [std::fs::read(lean()).unwrap(), vec![0]].concat();
        std::fs::copy(lean(), old.join("farcall")).unwrap();
        std::fs::write(old.join("farcall"), content).unwrap();
    }
    place.join("bin/farcall")
}

/// A command of that build, and what it says where it fails.
fn listed(far: &Far, program: &Path) -> Result<(), String> {
    let mut command = far.command(&["ls"]);
    command.env_remove("FARCALL_REMOTE_PROGRAM").env("FARCALL_PROGRAM", program);
    let done = command.output().unwrap();
    if done.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&done.stderr).into_owned())
}

/// Whether the copy there is the one for old systems.
fn is_old(far: &Far) -> bool {
    let cache = far.home().join(".cache/farcall");
    let copies = std::fs::read_dir(cache).unwrap().flatten().map(|entry| entry.path());
    let copy = copies.filter(|path| path.is_file()).find(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("farcall-"))
    });
    let bytes = std::fs::metadata(copy.unwrap()).unwrap().len();
    bytes == std::fs::metadata(lean()).unwrap().len() + 1
}

#[test]
fn a_host_with_an_older_c_library_is_told() {
    let far = far("glibc 2.20");
    let program = build(&far, false);
    let said = listed(&far, &program).unwrap_err();
    assert!(said.contains("the program needs glibc 2."), "{said}");
    assert!(said.contains("the host has 2.20") && said.contains("make dist"), "{said}");
}

#[test]
fn the_program_for_old_systems_is_copied_where_it_is() {
    let far = far("glibc 2.20");
    let program = build(&far, true);
    listed(&far, &program).unwrap();
    assert!(is_old(&far));
    far.end();
}

#[test]
fn an_older_one_is_copied_where_nothing_else_runs() {
    for (glibc, wanted) in [("glibc 2.20", true), ("glibc 9.99", false), ("nothing", false)] {
        let far = far(glibc);
        let program = build(&far, true);
        let old = far.folder.0.join("build/dist/bin/farcall");
        assert!(
            Command::new("touch").args(["-d", "2001-01-01"]).arg(old).status().unwrap().success()
        );
        listed(&far, &program).unwrap();
        assert_eq!(is_old(&far), wanted, "{glibc}");
        far.end();
    }
}
