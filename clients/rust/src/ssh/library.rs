//! What code in interface files is linked with on the far side: this installation's `libfarcall.so`
//! and its headers, in a folder beside the program that is named by what is in it. They are brought
//! only where somebody asks for it.

use std::path::{Path, PathBuf};

use farcall_base::{Error, ErrorKind, Result};
use farcall_launcher::far::received;

use super::program::Program;

/// The variable that names the folder with the library, where it is not beside the program.
const LIBRARY_VARIABLE: &str = "FARCALL_LIBRARY_DIRECTORY";
/// The library, by the name that programs look for when they run.
const NAME: &str = "libfarcall.so.0";
/// What code in interface files may include.
const HEADERS: [&str; 6] = [
    "farcall-executable.h",
    "farcall-native.h",
    "farcall-numbers.h",
    "grpc_executable.h",
    "grpc_numbers.h",
    "grpc_stub.h",
];

/// A file, by its name in the folder.
pub struct File {
    pub name: String,
    pub content: Vec<u8>,
}

/// All of them.
pub struct Library {
    pub files: Vec<File>,
    /// What is in them, in 32 digits.
    digest: String,
}

/// The library without what debuggers read, where the installation has one; or the whole one.
fn place(program: &Path) -> Option<PathBuf> {
    let prefix = program.parent()?.parent()?;
    let named =
        std::env::var_os(LIBRARY_VARIABLE).filter(|name| !name.is_empty()).map(PathBuf::from);
    let lean = named.is_none().then(|| prefix.join("libexec/libfarcall-lean.so"));
    let whole = named.unwrap_or_else(|| prefix.join("lib")).join(NAME);
    lean.into_iter().chain([whole]).find(|file| file.is_file())
}

impl Library {
    /// That of the installation from which the program comes.
    ///
    /// # Errors
    /// `Unavailable` where it has none.
    pub fn of(program: &Program) -> Result<Library> {
        let failed = |what: &str| {
            Error::new(
                ErrorKind::Unavailable,
                "connect",
                format!("this installation has no {NAME} to copy{what}"),
            )
            .with("program", program.path().display())
            .fix(format!(
                "install all of Farcall, or set {LIBRARY_VARIABLE} to the directory with {NAME}"
            ))
        };
        let path = place(program.path()).ok_or_else(|| failed(""))?;
        let content = std::fs::read(&path)
            .map_err(|error| failed(&format!(": {}: {error}", path.display())))?;
        let mut files = vec![File { name: NAME.to_owned(), content }];
        let include =
            program.path().parent().and_then(Path::parent).map(|prefix| prefix.join("include"));
        for header in HEADERS {
            // Few files include any: where there are none, the compiler says so.
            if let Some(content) =
                include.as_ref().and_then(|folder| std::fs::read(folder.join(header)).ok())
            {
                files.push(File { name: format!("include/{header}"), content });
            }
        }
        let digests = files
            .iter()
            .flat_map(|file| farcall_link::content::digest(&file.content).to_be_bytes());
        let digest =
            format!("{:032x}", farcall_link::content::digest(&digests.collect::<Vec<u8>>()));
        Ok(Library { files, digest })
    }

    /// A command that looks for the folder beside `$program`: `have`, or `need` where a new one is
    /// begun, or `none`. The program finds it by a link with its own name.
    pub fn search(&self) -> String {
        format!(
            "umask 077; library=${{program%/*}}/library-{}; \
             if [ -d \"$library\" ] && [ -O \"$library\" ] && {}; then echo \"$mark have\"; \
             elif mkdir -p \"$library.$mark/include\" 2>/dev/null; then echo \"$mark need\"; \
             else echo \"$mark none ${{program%/*}} cannot be written to\"; fi",
            self.digest,
            linked()
        )
    }

    /// A command that takes a file's bytes behind it: `taken`, or `failed`.
    pub fn take(file: &File) -> String {
        let bytes = file.content.len();
        format!(
            "file=\"$library.$mark/{}\"; if {}; then echo \"$mark taken\"; else rm -rf \
             \"$library.$mark\"; echo \"$mark failed\"; fi",
            file.name,
            received("$file", bytes)
        )
    }

    /// A command that puts the folder in its place, unless another has done so: `taken`, or
    /// `failed`.
    pub fn finish() -> String {
        format!(
            "if ln -s {NAME} \"$library.$mark/libfarcall.so\" && {{ [ -d \"$library\" ] || mv \
             \"$library.$mark\" \"$library\"; }} && {}; then echo \"$mark taken\"; else echo \
             \"$mark failed\"; fi; rm -rf \"$library.$mark\"",
            linked()
        )
    }
}

/// Whether the program's link could be made.
fn linked() -> &'static str {
    "{ rm -f \"$program.lib\" && ln -s \"${library##*/}\" \"$program.lib\"; } 2>/dev/null"
}
