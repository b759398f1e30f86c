//! The program that is brought to the far side: this installation's own `farcall`, under a name that says what is in it.

use std::path::{Path, PathBuf};

use farcall_base::{Error, ErrorKind, Result};

use crate::private::own_program;

/// The variable that names the program to bring, where it is not the one that runs here.
const PROGRAM_VARIABLE: &str = "FARCALL_REMOTE_PROGRAM";

/// The variable of the far side with the folder that is looked at first.
const CACHE_VARIABLE: &str = "FARCALL_CACHE";

/// A condition: that many bytes, which follow the command's line, are in the file now. All of them are read, wherever they
/// go. `dd` reads what is there, which may be less than a block: without `head`, byte by byte.
pub fn received(file: &str, bytes: usize) -> String {
    format!(
        "{{ {{ if head -c 0 </dev/null 2>/dev/null; then head -c {bytes}; else dd bs=1 count={bytes} 2>/dev/null; fi; }} \
         | {{ cat >\"{file}\" 2>/dev/null; cat >/dev/null; }}; [ \"$(wc -c <\"{file}\")\" -eq {bytes} ]; }}"
    )
}

pub struct Program {
    path: PathBuf,
    content: Vec<u8>,
    /// What is in it, in 32 digits.
    digest: String,
}

/// The same program without what debuggers read, where the installation has one: a fifth of the bytes.
fn lean(own: &Path) -> Option<PathBuf> {
    let lean = own.parent()?.parent()?.join("libexec/farcall-lean");
    lean.is_file().then_some(lean)
}

impl Program {
    /// The one of this installation.
    pub fn own() -> Result<Program> {
        let named = std::env::var_os(PROGRAM_VARIABLE).filter(|name| !name.is_empty()).map(PathBuf::from);
        let path = named.unwrap_or_else(|| {
            let own = own_program();
            lean(&own).unwrap_or(own)
        });
        let content = std::fs::read(&path).map_err(|error| {
            Error::system("read the farcall program", error)
                .with("program", path.display())
                .fix("name it in FARCALL_PROGRAM")
        })?;
        let digest = format!("{:032x}", farcall_interfaces::content::digest(&content));
        Ok(Program { path, content, digest })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn content(&self) -> &[u8] {
        &self.content
    }

    /// A command that sets `farcall` to where the program is, and becomes a relay by `start`; where it is missing, to where
    /// it can be put, and says `need` with the machine's name; or `none` with what is wrong with each folder. Folders in
    /// `$bad` have failed before.
    pub fn search(&self, mark: &str, start: &str) -> String {
        let folders = format!(
            "\"${CACHE_VARIABLE}\" \"${{XDG_CACHE_HOME:-${{HOME:-no}}/.cache}}/farcall\" \"${{HOME:-no}}/.farcall\" \
             \"${{TMPDIR:-/tmp}}/farcall-$(id -u)\" \"${{XDG_RUNTIME_DIR:-no}}/farcall\""
        );
        // Absolute, and not known to be bad.
        let next = "case $d in /*) ;; *) continue ;; esac; case $bad in *\"|$d|\"*) continue ;; esac";
        // A folder whose programs may not run is of no use: a script of one line tells.
        format!(
            "umask 077; farcall=; for d in {folders}; do {next}; \
             if [ -x \"$d/farcall-{0}\" ] && [ -O \"$d/farcall-{0}\" ]; then farcall=$d/farcall-{0}; break; fi; done; \
             if [ -n \"$farcall\" ]; then {start}; else for d in {folders}; do {next}; w=; \
             if ! mkdir -p \"$d\" 2>/dev/null; then w='cannot be made'; elif ! [ -O \"$d\" ]; then w='is not yours'; \
             elif ! {{ printf '#!/bin/sh\\nexit 0\\n' >\"$d/try-$$\"; }} 2>/dev/null; then w='cannot be written to'; \
             elif ! chmod 700 \"$d/try-$$\" || ! \"$d/try-$$\" 2>/dev/null; then w='lets no program run'; fi; \
             rm -f \"$d/try-$$\"; if [ -z \"$w\" ]; then farcall=$d/farcall-{0}; break; fi; \
             why=\"$why; $d $w\"; bad=\"$bad|$d|\"; done; \
             if [ -n \"$farcall\" ]; then echo \"{mark} need $(uname -s)-$(uname -m)\"; \
             else echo \"{mark} none ${{why#; }}\"; exit 1; fi; fi",
            self.digest
        )
    }

    /// A command that takes the program's bytes behind it, and says `taken`; or `failed`, and that its folder is bad.
    pub fn take(&self, mark: &str) -> String {
        let bytes = self.content.len();
        format!(
            "if {} && chmod 700 \"$farcall.$$\" \
             && mv \"$farcall.$$\" \"$farcall\"; then echo \"{mark} taken\"; else rm -f \"$farcall.$$\"; d=${{farcall%/*}}; \
             why=\"$why; $d has no room for {bytes} bytes\"; bad=\"$bad|$d|\"; echo \"{mark} failed\"; fi",
            received("$farcall.$$", bytes)
        )
    }

    /// Fails where this program cannot run.
    pub fn check_machine(&self, machine: &str) -> Result<()> {
        let own = format!("Linux-{}", std::env::consts::ARCH);
        if machine == own || std::env::var_os(PROGRAM_VARIABLE).is_some() {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Unavailable, "connect", format!("the far side is {machine}, this program for {own}"))
            .with("program", self.path.display())
            .fix("name a farcall program for that machine in FARCALL_REMOTE_PROGRAM"))
    }
}
