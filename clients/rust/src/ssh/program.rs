//! The program that is brought to the host: this installation's own `farcall`, or the one for
//! old systems beside it, under a name that says what is in it.

use std::fmt;
use std::path::{Path, PathBuf};

use farcall_base::{Error, ErrorKind, Result};

use crate::private::own_program;

/// The variable that names the program to bring, where it is not the one that runs here.
const PROGRAM_VARIABLE: &str = "FARCALL_REMOTE_PROGRAM";

/// What a program for old systems needs: `make dist` and the wheel are built for it.
const OLD: Glibc = Glibc(2, 17);

/// A version of the C library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Glibc(u32, u32);

impl Glibc {
    /// The version at the end of a line such as `glibc 2.28` or `ldd (GNU libc) 2.28`.
    pub fn of_line(line: &str) -> Option<Glibc> {
        Glibc::parse(line.split_whitespace().next_back()?)
    }

    fn parse(text: &str) -> Option<Glibc> {
        let mut parts = text.split('.').map(|part| part.parse().ok());
        Some(Glibc(parts.next()??, parts.next()??))
    }

    /// The highest that a program needs: its names of versions are texts between zeros.
    fn needed_by(content: &[u8]) -> Option<Glibc> {
        let names =
            content.split(|byte| *byte == 0).filter_map(|text| text.strip_prefix(b"GLIBC_"));
        names.filter_map(|version| Glibc::parse(std::str::from_utf8(version).ok()?)).max()
    }
}

impl fmt::Display for Glibc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

pub struct Program {
    path: PathBuf,
    content: Vec<u8>,
    digest: String,
}

/// The same program without what debuggers read, where the installation has one: a fifth of the
/// bytes.
fn lean(own: &Path) -> Option<PathBuf> {
    let lean = own.parent()?.parent()?.join("libexec/farcall-lean");
    lean.is_file().then_some(lean)
}

/// What `make dist` has made beside a build for this machine.
fn for_old_systems(own: &Path) -> Option<PathBuf> {
    let program = own.parent()?.parent()?.join("dist/bin/farcall");
    program.is_file().then_some(program)
}

/// Whether one file was made before another.
fn is_older(one: &Path, other: &Path) -> bool {
    let made = |path: &Path| std::fs::metadata(path).and_then(|file| file.modified()).ok();
    made(one) < made(other)
}

impl Program {
    /// The one that is brought to a host; `there` asks which C library that has, if that counts.
    ///
    /// # Errors
    /// `Unavailable` where none runs there.
    pub fn choose(there: impl FnOnce() -> Result<Option<Glibc>>) -> Result<Program> {
        let named = std::env::var_os(PROGRAM_VARIABLE).filter(|name| !name.is_empty());
        if let Some(named) = named {
            return Program::at(PathBuf::from(named));
        }
        let path = own_program();
        let own = Program::lean_at(&path)?;
        let Some(needed) = Glibc::needed_by(&own.content).filter(|needed| *needed > OLD) else {
            return Ok(own);
        };
        let old = for_old_systems(&path);
        // One that is older than this program may not know what is asked of it.
        if let Some(old) = old.as_ref().filter(|old| !is_older(old, &path)) {
            return Program::lean_at(old);
        }
        match (there()?, old) {
            (Some(has), Some(old)) if has < needed => Program::lean_at(&old),
            (Some(has), None) if has < needed => Err(too_new(&own.path, needed, has)),
            _ => Ok(own),
        }
    }

    fn lean_at(path: &Path) -> Result<Program> {
        Program::at(lean(path).unwrap_or_else(|| path.to_owned()))
    }

    fn at(path: PathBuf) -> Result<Program> {
        let content = std::fs::read(&path).map_err(|error| {
            Error::system("read the farcall program", error)
                .with("program", path.display())
                .fix("set FARCALL_PROGRAM to it")
        })?;
        let digest = format!("{:032x}", farcall_link::content::digest(&content));
        Ok(Program { path, content, digest })
    }

    /// Its place on this host.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn content(&self) -> &[u8] {
        &self.content
    }

    /// What is in it, in 32 digits.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Fails where this program cannot run.
    pub fn check_machine(&self, machine: &str) -> Result<()> {
        let own = format!("Linux-{}", std::env::consts::ARCH);
        if machine == own || std::env::var_os(PROGRAM_VARIABLE).is_some() {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Unavailable,
            "connect",
            format!("the host is {machine}, this program is for {own}"),
        )
        .with("program", self.path.display())
        .fix("set FARCALL_REMOTE_PROGRAM to a farcall program for that machine"))
    }
}

fn too_new(path: &Path, needed: Glibc, has: Glibc) -> Error {
    let message = format!("the program needs glibc {needed}, and the host has {has}");
    Error::new(ErrorKind::Unavailable, "connect", message).with("program", path.display()).fix(
        format!(
            "run `make dist` in Farcall's source directory: it makes dist/bin/farcall beside this \
                build, which runs with glibc {OLD}; or set FARCALL_REMOTE_PROGRAM to such a program"
        ),
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_version_of_the_c_library_counts() {
        let texts = b"\x7fELF\0GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_PRIVATE\0xGLIBC_2.99\0GLIBC_2.9\0";
        assert_eq!(Glibc::needed_by(texts), Some(Glibc(2, 34)));
        assert_eq!(Glibc::needed_by(b"nothing"), None);
        assert!(Glibc(2, 9) < Glibc(2, 17));
    }

    #[test]
    fn hosts_say_their_version_at_the_end_of_a_line() {
        for (line, version) in [
            ("glibc 2.28", Some(Glibc(2, 28))),
            ("ldd (GNU libc) 2.17", Some(Glibc(2, 17))),
            ("ldd (Ubuntu GLIBC 2.35-0ubuntu3.8) 2.35", Some(Glibc(2, 35))),
            ("musl libc (x86_64)", None),
            ("", None),
        ] {
            assert_eq!(Glibc::of_line(line), version, "{line}");
        }
    }
}
