//! Where temporary files go.

use std::path::PathBuf;

use rustix::fs::{Access, access};

/// `$TMPDIR`; or `/tmp` where that is no folder that can be written to: batch systems and shells pass on what another host
/// has.
pub fn folder() -> PathBuf {
    usable(std::env::temp_dir())
}

fn usable(named: PathBuf) -> PathBuf {
    let is_usable = named.is_dir() && access(&named, Access::WRITE_OK | Access::EXEC_OK).is_ok();
    if is_usable { named } else { PathBuf::from("/tmp") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_another_host_is_gone_round() {
        let here = std::env::current_dir().expect("tests run in a folder");
        assert_eq!(usable(here.clone()), here);
        for wrong in [here.join("nowhere"), here.join("Cargo.toml")] {
            assert_eq!(usable(wrong), PathBuf::from("/tmp"));
        }
    }
}
