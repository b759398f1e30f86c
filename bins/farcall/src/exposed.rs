//! Files of the server's own that lie where its modules may read or write: whoever publishes there should know.

use std::path::{Path, PathBuf};

use farcall_rpc_server::Options;
use farcall_spawner_local::Grants;

use crate::authority::authority_folder;
use crate::transports::{server_files, token_file};

/// A file that is not for modules, and what it is.
#[derive(Clone, Debug)]
pub struct OwnFile {
    what: &'static str,
    path: PathBuf,
}

impl OwnFile {
    fn new(what: &'static str, path: impl Into<PathBuf>) -> OwnFile {
        OwnFile { what, path: path.into() }
    }
}

/// What a server with these options keeps from its modules.
pub fn own_files(options: &Options, manifest: Option<&Path>) -> Vec<OwnFile> {
    let files = server_files(options);
    let authority = authority_folder();
    let mut own = vec![
        OwnFile::new("the authority's key", authority.join("authority.pem")),
        OwnFile::new("the authority's list of certificates", authority.join("issued.json")),
        OwnFile::new("the server's credentials", files.credentials),
        OwnFile::new("the list of revoked certificates", files.revocations),
        OwnFile::new("the token of TCP clients", token_file(options)),
    ];
    own.extend(manifest.map(|manifest| OwnFile::new("the manifest", manifest)));
    if !options.audit_file.is_empty() {
        own.push(OwnFile::new("the audit log", &options.audit_file));
    }
    own
}

/// What a module may do with files that are there and not for it: a line for each.
pub fn exposed(whose: &str, grants: &Grants, own: &[OwnFile]) -> Vec<String> {
    let rights = [("write to", &grants.writable), ("read", &grants.readable)];
    let line = |file: &OwnFile| {
        let real = std::fs::canonicalize(&file.path).ok()?;
        let lies_in = |folder: &&String| std::fs::canonicalize(folder).is_ok_and(|folder| real.starts_with(folder));
        let (right, folder) = rights.iter().find_map(|(right, list)| Some((right, list.iter().find(lies_in)?)))?;
        let (what, path) = (file.what, file.path.display());
        Some(format!("{whose} may {right} {what} ({path}), for it lies in {folder}: keep one of them elsewhere"))
    };
    own.iter().filter_map(line).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn files_in_folders_that_modules_may_open_are_named() {
        let folder = std::env::temp_dir().join(format!("farcall-exposed-{}", std::process::id()));
        let (open, closed) = (folder.join("open"), folder.join("closed"));
        for place in [&open, &closed] {
            std::fs::create_dir_all(place).unwrap();
            std::fs::write(place.join("key"), "").unwrap();
        }
        std::os::unix::fs::symlink(&open, folder.join("link")).unwrap();
        let own = [
            OwnFile::new("the first", open.join("key")),
            OwnFile::new("the second", closed.join("key")),
            OwnFile::new("the third", open.join("not there")),
        ];
        let text = |path: &Path| vec![path.display().to_string()];
        let said = |readable, writable| exposed("module m", &Grants { readable, writable }, &own);
        assert!(said(Vec::new(), Vec::new()).is_empty());
        for place in [open.clone(), folder.join("link")] {
            let lines = said(text(&place), Vec::new());
            assert!(lines.len() == 1 && lines[0].starts_with("module m may read the first ("), "{lines:?}");
        }
        let lines = said(text(&folder), text(&closed));
        assert!(lines.len() == 2 && lines[1].starts_with("module m may write to the second ("), "{lines:?}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
