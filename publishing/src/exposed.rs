//! Files of the server's own that its modules could read or write: a confined module that could is
//! not served.
//!
//! What a module can open is what it is granted by landlock, the system's files among it, and what
//! its user may open by the files' modes. A folder is known by its device and inode, too, so that
//! neither a link nor another mount hides it.

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use farcall_base::{Error, ErrorKind};
use farcall_spawner_local::{FileGrants, Grants};
use farcall_system::plain_file;

/// What a server was told at its start.
pub const CONFIGURATION: &str = "the configuration file";

/// A file that is not for modules, and what it is.
#[derive(Clone, Debug)]
pub struct OwnFile {
    what: &'static str,
    path: PathBuf,
}

impl OwnFile {
    /// A file, or a folder with all that is in it.
    pub fn new(what: &'static str, path: impl Into<PathBuf>) -> OwnFile {
        OwnFile { what, path: path.into() }
    }
}

/// Whether an open file, which lies at `real`, is one of these, or in a folder of them: nobody is
/// to have the server read that in his place.
pub fn is_own(open: &File, real: &Path, own: &[OwnFile]) -> bool {
    let is = |path: &Path| match (open.metadata(), std::fs::metadata(path)) {
        (Ok(open), Ok(other)) => identity(&open) == identity(&other),
        _ => false,
    };
    own.iter().filter(|file| file.what != CONFIGURATION).any(|file| {
        file.path.canonicalize().is_ok_and(|own| real.starts_with(&own)) || is(&file.path)
    })
}

/// What a module could do with files that are there and not for it: a line for each.
pub fn exposed(whose: &str, grants: &Grants, own: &[OwnFile]) -> Vec<String> {
    let line = |file: &OwnFile| {
        let real = place_of(&file.path)?;
        let (right, why) = way_to(grants, &real)?;
        let what = file.what;
        // It has no secrets, and who opens all files to a module may mean it.
        if what == CONFIGURATION && grants.files == FileGrants::All {
            return None;
        }
        let path = file.path.display();
        Some(format!("{whose} may {right} {what} ({path}), {why}"))
    };
    own.iter().filter_map(line).collect()
}

/// The error of a server, or a publisher, whose module could open such files.
pub fn refusal(lines: &[String]) -> Option<Error> {
    let first = lines.first()?;
    let more =
        if lines.len() > 1 { format!(" (and {} more)", lines.len() - 1) } else { String::new() };
    Some(Error::new(ErrorKind::PermissionDenied, "publish a module", format!("{first}{more}")).fix(
        "move one of them, use other directories in readable and writable, or give the module its \
        own user (limits.user); farcall doctor --manifest FILE lists all",
    ))
}

/// How a module gets at a file, and why.
fn way_to(grants: &Grants, real: &Path) -> Option<(&'static str, String)> {
    match grants.files {
        FileGrants::Owner => None,
        FileGrants::All => {
            let opens = real.exists() && !grants.has_own_user && !plain_file::is_public(real);
            opens.then(|| {
                (
                    "read",
                    "because files = \"all\" opens all files that the server's user can read"
                        .to_owned(),
                )
            })
        }
        FileGrants::Granted => {
            let within = |folder: &&String| lies_in(real, Path::new(folder));
            let found = |list: &[String]| list.iter().find(within).cloned();
            let because = |folder: String| format!("because it is in {folder}");
            let write = found(&grants.writable).map(|folder| ("write to", because(folder)));
            write.or_else(|| found(&grants.readable).map(|folder| ("read", because(folder))))
        }
    }
}

/// Where a path leads, or would if what is missing of it were made.
fn place_of(path: &Path) -> Option<PathBuf> {
    let there = path.ancestors().find(|part| part.exists())?;
    let rest = path.strip_prefix(there).ok()?;
    there
        .canonicalize()
        .ok()
        .map(|there| if rest.as_os_str().is_empty() { there } else { there.join(rest) })
}

/// Whether a file is the granted one, or below a granted folder, by name or by inode.
fn lies_in(real: &Path, granted: &Path) -> bool {
    let Ok(metadata) = std::fs::metadata(granted) else {
        // What is not there may be made later.
        return place_of(granted)
            .is_some_and(|granted| real.starts_with(&granted) || granted.starts_with(real));
    };
    let is = |path: &Path| {
        std::fs::metadata(path).is_ok_and(|other| identity(&other) == identity(&metadata))
    };
    // A folder of the server's own is opened by what is granted inside it, too.
    let below = granted
        .canonicalize()
        .is_ok_and(|granted| real.starts_with(&granted) || granted.starts_with(real));
    below || real.ancestors().any(is)
}

fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn files_in_folders_that_modules_may_open_are_named() {
        let folder = std::env::temp_dir().join(format!("farcall-exposed-{}", std::process::id()));
        let open = folder.join("open");
        let closed = folder.join("closed");
        for place in [&open, &closed] {
            std::fs::create_dir_all(place).unwrap();
            std::fs::write(place.join("key"), "").unwrap();
        }
        std::os::unix::fs::symlink(&open, folder.join("link")).unwrap();
        std::fs::hard_link(closed.join("key"), folder.join("alias")).unwrap();
        let own = [
            OwnFile::new("the first", open.join("key")),
            OwnFile::new("the second", closed.join("key")),
            OwnFile::new("the third", folder.join("later/key")),
        ];
        let text = |path: &Path| vec![path.display().to_string()];
        let grants = |readable, writable| Grants { readable, writable, ..Grants::default() };
        let said = |readable, writable| exposed("module m", &grants(readable, writable), &own);
        assert!(said(Vec::new(), Vec::new()).is_empty());
        for place in [open.clone(), folder.join("link")] {
            let lines = said(text(&place), Vec::new());
            assert!(
                lines.len() == 1 && lines[0].starts_with("module m may read the first ("),
                "{lines:?}"
            );
        }
        let lines = said(text(&folder.join("alias")), Vec::new());
        assert!(
            lines.len() == 1 && lines[0].starts_with("module m may read the second ("),
            "{lines:?}"
        );
        let lines = said(text(&folder.join("later")), Vec::new());
        assert!(
            lines.len() == 1 && lines[0].starts_with("module m may read the third ("),
            "{lines:?}"
        );
        let lines = said(text(&folder), text(&closed));
        assert!(
            lines.len() == 3 && lines[1].starts_with("module m may write to the second ("),
            "{lines:?}"
        );
        assert!(
            refusal(&lines).unwrap().to_string().contains("and 2 more") && refusal(&[]).is_none()
        );
        std::fs::write(folder.join("other"), "").unwrap();
        let own_one =
            |name: &str| is_own(&File::open(folder.join(name)).unwrap(), &folder.join(name), &own);
        assert!(own_one("alias") && !own_one("other"));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_module_that_may_open_all_files_is_judged_by_its_user() {
        let folder =
            std::env::temp_dir().join(format!("farcall-exposed-all-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("key"), "").unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(folder.join("key"), mode).unwrap();
        let own = [OwnFile::new("the key", folder.join("key"))];
        let count = |files, has_own_user| {
            exposed("module m", &Grants { files, has_own_user, ..Grants::default() }, &own).len()
        };
        assert_eq!(
            [
                count(FileGrants::All, false),
                count(FileGrants::All, true),
                count(FileGrants::Owner, false)
            ],
            [1, 0, 0]
        );
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
