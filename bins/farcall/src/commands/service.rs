//! `farcall service`: the unit that makes a server a service of systemd.

use std::path::{Path, PathBuf};

use clap::Args;
use farcall_base::{Error, ErrorKind, Result};

use super::administer::named;
use crate::output::print;
use farcall_publishing::shipped;

const UNIT: &str = include_str!("service.unit");

/// Prints a unit.
#[derive(Args)]
pub struct ServiceArguments {
    /// What the service publishes, as for `farcall serve` [default: the default libraries]
    files: Vec<PathBuf>,
}

/// Prints the unit, with this very program in it.
pub fn service(arguments: &ServiceArguments) -> Result<()> {
    let program = std::env::current_exe()
        .map_err(|error| Error::system("find the farcall program", error))?;
    let files: Result<String> =
        arguments.files.iter().map(|file| Ok(format!(" {}", quoted(&whole(file)?)))).collect();
    let unit =
        UNIT.replace("@FILES@", &files?).replace("@PROGRAM@", &quoted(&program.to_string_lossy()));
    print(|out| out.write_all(unit.as_bytes()))
}

fn whole(file: &Path) -> Result<String> {
    let name = named(file)?;
    let known =
        if Path::new(&name).is_absolute() { file.exists() } else { shipped::named(file) != *file };
    if !known {
        return Err(Error::new(ErrorKind::NotFound, "make a service", "there is no such file")
            .with("path", name)
            .fix(format!(
                "put it where the service can read it and pass that path, or one of {}",
                shipped::names()
            )));
    }
    Ok(name)
}

/// A path as systemd.unit(5) reads it: `%` begins a specifier, `$` a variable.
fn quoted(path: &str) -> String {
    let path =
        path.replace('\\', "\\\\").replace('%', "%%").replace('$', "$$").replace('"', "\\\"");
    if path.contains(char::is_whitespace) { format!("\"{path}\"") } else { path }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_as_they_are() {
        assert_eq!(quoted("/usr/bin/farcall"), "/usr/bin/farcall");
        assert_eq!(quoted("/opt/my 100%/f"), "\"/opt/my 100%%/f\"");
    }
}
