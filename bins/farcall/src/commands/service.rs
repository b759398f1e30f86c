//! `farcall service`: the unit that makes a server a service of systemd.

use farcall_base::{Error, Result};

use crate::output::print;

const UNIT: &str = include_str!("service.unit");

/// Prints the unit, with this very program in it.
pub fn service() -> Result<()> {
    let program = std::env::current_exe().map_err(|error| Error::system("find the farcall program", error))?;
    print(|out| out.write_all(UNIT.replace("@PROGRAM@", &quoted(&program.to_string_lossy())).as_bytes()))
}

/// A path as systemd.unit(5) reads it: `%` begins a specifier, `$` a variable.
fn quoted(path: &str) -> String {
    let path = path.replace('\\', "\\\\").replace('%', "%%").replace('$', "$$").replace('"', "\\\"");
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
