//! The shell's side: what `farcall ls | show | call | check` print, and what they exit with.

mod calls;
mod checks;
mod edges;
mod foreign;
mod lists;
mod scan;
mod terminal;
mod trouble;

use std::path::Path;
use std::process::{Command, Output, Stdio};

use farcall_tests::{Directory, Server, program, root};

/// A shell in an empty folder, on a machine where no server runs and LAPACK is installed.
struct Shell {
    folder: Directory,
}

/// What a command said.
struct Said {
    code: i32,
    out: String,
    err: String,
}

impl Shell {
    fn new() -> Shell {
        Shell { folder: Directory::new() }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.0.join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(arguments).current_dir(&self.folder.0).stdin(Stdio::null());
        command
            .env("XDG_RUNTIME_DIR", &self.folder.0)
            .env("FARCALL_ROUTINES", root().join("routines/lapack"));
        // What a server of these tests needs to link executables.
        Server::command().get_envs().for_each(|(name, value)| {
            command.env(name, value.unwrap());
        });
        command.env_remove("FARCALL_SERVER").env_remove("FARCALL_TOKEN_FILE");
        command
    }

    fn run(&self, arguments: &[&str]) -> Said {
        said(self.command(arguments).output().unwrap())
    }

    /// Runs a command that has to succeed.
    fn good(&self, arguments: &[&str]) -> String {
        let said = self.run(arguments);
        assert_eq!(said.code, 0, "{arguments:?}: {}", said.err);
        said.out
    }

    /// Runs a command that has to succeed with a private server that publishes `file`.
    fn good_of(&self, file: &Path, arguments: &[&str]) -> String {
        self.good(&[arguments, &["--publish", file.to_str().unwrap()]].concat())
    }

    /// Runs a command that has to fail with `code` and explain all of `reasons`.
    fn bad(&self, arguments: &[&str], code: i32, reasons: &[&str]) {
        let said = self.run(arguments);
        assert_eq!(said.code, code, "{arguments:?}: {}{}", said.out, said.err);
        for reason in reasons {
            assert!(
                said.err.contains(reason),
                "{arguments:?}: {} should say \"{reason}\"",
                said.err
            );
        }
    }
}

fn said(output: Output) -> Said {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Said {
        code: output.status.code().unwrap_or(-1),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}
