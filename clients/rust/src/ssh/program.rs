//! The program that is brought to the far side: this installation's own `farcall`, under a name
//! that says what is in it.

use std::path::{Path, PathBuf};

use farcall_base::{Error, ErrorKind, Result};

use crate::private::own_program;

/// The variable that names the program to bring, where it is not the one that runs here.
const PROGRAM_VARIABLE: &str = "FARCALL_REMOTE_PROGRAM";

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

impl Program {
    /// The one of this installation.
    pub fn own() -> Result<Program> {
        let named =
            std::env::var_os(PROGRAM_VARIABLE).filter(|name| !name.is_empty()).map(PathBuf::from);
        let path = named.unwrap_or_else(|| {
            let own = own_program();
            lean(&own).unwrap_or(own)
        });
        let content = std::fs::read(&path).map_err(|error| {
            Error::system("read the farcall program", error)
                .with("program", path.display())
                .fix("set FARCALL_PROGRAM to it")
        })?;
        let digest = format!("{:032x}", farcall_link::content::digest(&content));
        Ok(Program { path, content, digest })
    }

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
