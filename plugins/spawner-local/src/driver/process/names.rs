//! How a process is named and how it ended, for people.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use farcall_base::{Error, ErrorKind};
use farcall_services::spawner::ExitHow;

use super::OWN_PROGRAM;

/// The name of `program` in a list of processes. That of ourselves says nothing there, so our own
/// name stands for it.
pub(in crate::driver) fn shown_name(program: &str) -> OsString {
    let own = (program == OWN_PROGRAM).then(|| std::env::args_os().next()).flatten();
    own.unwrap_or_else(|| program.into())
}

pub(super) fn cannot_start(program: &str, source: std::io::Error) -> Error {
    let (kind, fix) = match source.kind() {
        std::io::ErrorKind::NotFound => {
            (ErrorKind::Unavailable, "the program is missing: publish the module again")
        }
        std::io::ErrorKind::PermissionDenied => {
            (ErrorKind::Unavailable, "the program must be executable for the server")
        }
        _ => (
            ErrorKind::System,
            "check the server's limits of processes, file descriptors and memory",
        ),
    };
    Error::new(kind, "start an executable", source.to_string())
        .with("program", program)
        .fix(fix)
        .source(source)
}

pub(in crate::driver) fn exit_how(status: ExitStatus) -> ExitHow {
    match (status.code(), status.signal()) {
        (Some(status), _) => ExitHow::Status(status),
        (None, number) => {
            let number = number.unwrap_or(0);
            ExitHow::of_signal(number, status.core_dumped())
        }
    }
}
