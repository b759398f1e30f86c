//! Compilers and linkers of code that somebody else publishes: what they may read, and which words
//! of an interface file are refused because they name a program to run.
//!
//! A compiler does what its input says: `#include` and `.incbin` read files into what it makes,
//! options name files and programs. So it is held by landlock and seccomp to headers, libraries and
//! the system, writes its scratch folder alone, and has no network. Then nothing that a text says
//! reaches more than its routines may.

use std::collections::{BTreeSet, VecDeque};
use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use farcall_base::{Error, ErrorKind, Result};
use farcall_services::spawner::rules::{Files, Network, Rules};
use farcall_services::spawner::system_files::{READABLE_FOLDERS, shared_objects};
use farcall_system::plain_file;

use super::allowed::first_refused;

/// How a compiler is held to its rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confinement {
    /// The program, with its arguments, that confines itself by the rules in its environment and
    /// becomes what follows.
    pub command: Vec<String>,
    /// Limits and user, as the module's routines have them.
    pub limits: Rules,
    /// A folder that this user may enter; builds are made below it. Without one, where executables
    /// are kept.
    pub folder: Option<PathBuf>,
}

/// Compilers and linkers that a module may name, with or without a version behind them (`gcc-12`).
const COMPILERS: [&str; 32] = [
    "c++",
    "c99",
    "cc",
    "clang",
    "clang++",
    "cpp",
    "f77",
    "f95",
    "flang",
    "g++",
    "gcc",
    "gfortran",
    "icc",
    "icpc",
    "icpx",
    "icx",
    "ifort",
    "ifx",
    "mpic++",
    "mpicc",
    "mpicxx",
    "mpif77",
    "mpif90",
    "mpifort",
    "mpiicc",
    "mpiicpc",
    "mpiifort",
    "mpixlc",
    "nvc",
    "nvc++",
    "nvcc",
    "nvfortran",
];

/// Options whose value is a word of its own that no file is read for.
const PASSING: [&str; 3] = ["-Xlinker", "-Xassembler", "-Xpreprocessor"];

/// Endings of files that code includes; among them those of Fortran's common blocks and parameters.
const HEADERS: [&str; 37] = [
    "blk", "c", "c++", "cc", "cmn", "com", "cpp", "cu", "cuh", "cxx", "def", "dim", "f", "f03",
    "f08", "f77", "f90", "f95", "fh", "fi", "finc", "for", "ftn", "h", "h++", "h90", "hh", "hpp",
    "hxx", "idl", "inc", "inl", "ins", "ipp", "par", "prm", "tcc",
];
/// The bit of a mode.
const WRITABLE_BY_OTHERS: u32 = 0o002;
/// Folders below one that is searched for headers, and entries looked at in all.
const DEPTH_MAX: usize = 8;
const ENTRIES_MAX: usize = 50_000;
/// Bytes at the beginning of a file that say what it is: the head of an ELF file, or of an archive
/// and its first member.
const HEAD_BYTES: usize = 68;

/// Refuses a program of an interface file that is no compiler.
///
/// # Errors
/// `InvalidSource`, with the program.
pub(crate) fn check_program(program: &str) -> Result<()> {
    if is_known(program) {
        return Ok(());
    }
    Err(refused("names another compiler or linker than those that are known", program))
}

/// Refuses words of an interface file for `program`, in the order in which it reads them, that may
/// name a program to run, or more options.
///
/// # Errors
/// `InvalidSource`, with the word.
pub(crate) fn check_words(program: &str, words: &[String]) -> Result<()> {
    match first_refused(program, words.iter().map(String::as_str)) {
        Some(word) => Err(refused(
            "has an option that is not among those that a server for others takes",
            word,
        )),
        None => Ok(()),
    }
}

fn refused(what: &str, word: &str) -> Error {
    Error::new(
        ErrorKind::InvalidSource,
        "build the module",
        format!(
            "the interface file {what}: \
        \"{}\"",
            word.escape_debug()
        ),
    )
    .fix(
        "leave it out: a server for others runs cc, c++, gfortran and the like, with options \
             for code, warnings, headers and libraries (-O, -f, -m, -W, -D, -I, -L, -l, \
             -Wl,-rpath,… and their like) that name no program and no file with more options; a \
             server of your own (farcall serve --private), and ng_gen with make, take everything",
    )
}

fn is_known(program: &str) -> bool {
    let stem = program.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    COMPILERS.contains(&program)
        || (stem != program && COMPILERS.contains(&stem.trim_end_matches('-')))
}

/// Whether a file is called as one that code includes. Hidden files are not. Eigen's and the
/// standard library's have no ending.
fn is_named_as_header(path: &Path) -> bool {
    if path.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.')) {
        return false;
    }
    path.extension()
        .is_none_or(|extension| HEADERS.iter().any(|known| extension.eq_ignore_ascii_case(known)))
}

/// Whether a file is an object, a library or a program of ELF, or an archive. LLVM's own objects
/// are none: their four bytes may begin a script.
fn is_object(file: &File) -> bool {
    let mut head = [0; HEAD_BYTES];
    let length = file.read_at(&mut head, 0).unwrap_or(0);
    let head = &head[..length];
    // Class, order of bytes and version (elf(5)), and nothing behind them, as in text.
    let is_elf = length >= 20
        && head.starts_with(b"\x7fELF")
        && matches!(head[4..7], [1 | 2, 1 | 2, 1])
        && head[9..16].iter().all(|byte| *byte == 0);
    // The head of a member ends with these two (ar(5)).
    let is_archive = (head.starts_with(b"!<arch>\n") || head.starts_with(b"!<thin>\n"))
        && (length == 8 || head.get(66..68) == Some(b"`\n"));
    is_elf || is_archive
}

/// What a run of a compiler may read beside the system's files: built up from what its command
/// names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reads {
    /// Read, and never executed.
    files: BTreeSet<PathBuf>,
    /// Installations of compilers, and Farcall's own headers.
    folders: BTreeSet<PathBuf>,
    /// The folder of the interface file, whose headers need not be everybody's; none where
    /// everybody may put files into it.
    base: Option<PathBuf>,
}

impl Reads {
    /// Of an interface file in this folder, whose path has no links: one that has become a link is
    /// another folder.
    pub fn beside(base: &Path) -> Reads {
        let is_shared =
            std::fs::symlink_metadata(base).is_ok_and(|data| data.mode() & WRITABLE_BY_OTHERS != 0);
        Reads { base: Some(base.to_path_buf()).filter(|_| !is_shared), ..Reads::default() }
    }

    /// The headers in a folder and below it: what looks like one, and nothing else that lies there.
    pub fn headers(&mut self, folder: &Path) {
        let mut waiting = VecDeque::from([(folder.to_path_buf(), 0)]);
        let mut seen = 0;
        while let Some((folder, depth)) = waiting.pop_front() {
            // The system's can be read anyway.
            if READABLE_FOLDERS.iter().any(|system| folder.starts_with(system)) {
                continue;
            }
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                seen += 1;
                if seen > ENTRIES_MAX {
                    return;
                }
                let path = entry.path();
                let kind = entry.file_type();
                if kind.is_ok_and(|kind| kind.is_dir()) {
                    if depth < DEPTH_MAX && !entry.file_name().to_string_lossy().starts_with('.') {
                        waiting.push_back((path, depth + 1));
                    }
                } else {
                    self.header(&path);
                }
            }
        }
    }

    /// One file that code includes. A link is what it leads to. Elsewhere than beside the interface
    /// file, and without an ending, what not everybody may read is nobody's header.
    pub fn header(&mut self, path: &Path) {
        if !is_named_as_header(path) {
            return;
        }
        let Ok((_, real)) = plain_file::open_real(path) else { return };
        let is_beside = self.base.as_ref().is_some_and(|base| real.starts_with(base))
            && real.extension().is_some();
        if is_named_as_header(&real) && (is_beside || plain_file::is_public(&real)) {
            self.files.insert(real);
        }
    }

    /// The libraries, archives and objects in a folder.
    pub fn libraries(&mut self, folder: &Path) {
        let archives =
            std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let archives = archives.filter(|path| {
            path.extension().is_some_and(|extension| extension == "a" || extension == "o")
        });
        let all = shared_objects(folder).into_iter().chain(archives.take(ENTRIES_MAX));
        all.for_each(|path| self.object(&path));
    }

    /// An object, archive or library: a text that is linked is a script of the linker's, which
    /// shows what it does not understand. What is granted is the file that was looked into, by a
    /// path without links.
    pub fn object(&mut self, path: &Path) {
        if let Ok((file, real)) = plain_file::open_real(path)
            && is_object(&file)
        {
            self.files.insert(real);
        }
    }

    /// A folder of Farcall's own headers, or a compiler's installation.
    pub fn folder(&mut self, folder: &Path) {
        self.folders.extend(folder.canonicalize());
    }

    /// What options of a command name: `-I`, `-isystem`, `-L` and their like, and files behind
    /// `-include`.
    pub fn options(&mut self, options: &[String], base: &Path) {
        let mut words = options.iter().map(String::as_str);
        while let Some(word) = words.next() {
            if PASSING.contains(&word) {
                words.next();
                continue;
            }
            let named = |option: &str| word.strip_prefix(option).map(str::to_owned);
            for option in ["-I", "-isystem", "-iquote", "-idirafter", "-L", "-include", "-imacros"]
            {
                let Some(value) = named(option) else { continue };
                let value = if value.is_empty() {
                    words.next().unwrap_or_default().to_owned()
                } else {
                    value
                };
                let path = base.join(&value);
                match option {
                    "-L" => self.libraries(&path),
                    "-include" | "-imacros" => self.header(&path),
                    _ => self.headers(&path),
                }
                break;
            }
        }
    }

    /// The installation of a compiler that is not the system's: whoever started the server put it
    /// into its PATH.
    pub fn compiler(&mut self, program: &str) {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let found = std::env::split_paths(&path)
            .map(|folder| folder.join(program))
            .find(|file| file.is_file());
        let Some(real) = found.and_then(|file| file.canonicalize().ok()) else { return };
        let installation =
            real.parent().filter(|folder| folder.ends_with("bin")).and_then(Path::parent);
        let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
        match installation {
            Some(folder) if folder.parent().is_some() && !home.starts_with(folder) => {
                self.folder(folder)
            }
            _ => self.folders.extend([real]),
        }
    }

    /// The rules of a run in `directory`, which writes `scratch` alone, within these limits.
    pub fn rules(&self, limits: &Rules, directory: &Path, scratch: &Path) -> Rules {
        let text =
            |path: &PathBuf| path.to_str().filter(|text| !text.contains('\n')).map(str::to_owned);
        Rules {
            network: Network::Off,
            files: Files::Granted,
            readable: self.folders.iter().filter_map(text).collect(),
            data: self.files.iter().filter_map(text).collect(),
            writable: text(&scratch.to_path_buf()).into_iter().collect(),
            start_in: text(&directory.to_path_buf()),
            ..limits.clone()
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn compilers_are_known_by_their_names() {
        let known =
            ["cc", "gcc", "gcc-12", "g++-13", "gfortran", "clang++", "mpicc", "ifx", "clang-14"];
        assert!(known.into_iter().all(|program| check_program(program).is_ok()));
        for other in
            ["sh", "./cc", "/usr/bin/gcc", "ccache", "make", "python3", "", "gcc12x", "env", "ld"]
        {
            assert!(check_program(other).is_err(), "{other}");
        }
    }

    #[test]
    fn headers_and_libraries_are_read_and_nothing_beside_them() {
        let folder = std::env::temp_dir().join(format!("farcall-reads-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("deep/er")).unwrap();
        let folder = folder.canonicalize().unwrap();
        let write = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).unwrap();
        for name in [
            "a.h",
            "deep/er/b.hpp",
            "WORK.CMN",
            "secret.pem",
            "key",
            "data.csv",
            "deep/.hidden",
            "liar.so",
            "liar.a",
        ] {
            write(name, b"");
        }
        let elf = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0";
        write("libx.so.1", elf);
        // What begins as a program, and is a script.
        write("libscript.so", b"\x7fELF\necho SCRIPT >&2\n");
        write("liby.o", b"BC\xc0\xde\necho SCRIPT >&2\n");
        write("liby.a", b"!<arch>\n");
        for link in ["link.h", "link.so", "link.a", "link"] {
            std::os::unix::fs::symlink(folder.join("secret.pem"), folder.join(link)).unwrap();
        }
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(folder.join("key"), mode).unwrap();
        write("good.o", elf);
        write("bad.o", b"SECRET=1");
        let mut reads = Reads::default();
        reads.options(
            &[
                "-I.".to_owned(),
                "-L".to_owned(),
                ".".to_owned(),
                "-include".to_owned(),
                "secret.pem".to_owned(),
            ],
            &folder,
        );
        reads.object(&folder.join("secret.pem"));
        let mut named: Vec<String> = reads
            .files
            .iter()
            .map(|file| file.strip_prefix(&folder).unwrap().display().to_string())
            .collect();
        named.retain(|name| name != "good.o" && name != "bad.o");
        assert_eq!(
            named,
            ["WORK.CMN", "a.h", "deep/er/b.hpp", "liby.a", "libx.so.1"]
                .map(str::to_owned)
                .into_iter()
                .collect::<BTreeSet<_>>()
                .into_iter()
                .collect::<Vec<_>>()
        );
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
