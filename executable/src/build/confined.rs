//! Compilers and linkers of code that somebody else publishes: what they may read, and which words of an interface file are
//! refused because they name a program to run.
//!
//! A compiler does what its input says: `#include` and `.incbin` read files into what it makes, options name files and programs.
//! So it is held by landlock and seccomp to headers, libraries and the system, writes its scratch folder alone, and has no
//! network. Then nothing that a text says reaches more than its routines may.

use std::collections::{BTreeSet, VecDeque};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use farcall_base::{Error, ErrorKind, Result};
use farcall_interfaces::plain_file;
use farcall_interfaces::spawner::rules::{Files, Network, Rules};
use farcall_interfaces::spawner::system_files::{READABLE_FOLDERS, shared_objects};

/// How a compiler is held to its rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confinement {
    /// The program, with its arguments, that confines itself by the rules in its environment and becomes what follows.
    pub command: Vec<String>,
}

/// Compilers and linkers that a module may name, with or without a version behind them (`gcc-12`).
const COMPILERS: [&str; 33] = [
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
    "ld",
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

/// Beginnings of options that name a program, a library for the compiler itself to load, or a file with more options.
const PROGRAM_OPTIONS: [&str; 19] = [
    "-wrapper",
    "--wrapper",
    "-B",
    "-specs",
    "--specs",
    "-fplugin",
    "-fpass-plugin",
    "-iplugindir",
    "-plugin",
    "--plugin",
    "-load",
    "-fuse-ld=/",
    "--gcc-toolchain",
    "-gcc-toolchain",
    "-fcompare-debug",
    "-ccbin",
    "-cc=",
    "-ld-path",
    "@",
];
/// Long options of a compiler that name none: all others are refused, for `--prefix` is `-B`, and `--for-linker` is `-Xlinker`.
const LONG_OPTIONS: [&str; 6] = ["--coverage", "--param", "--std=", "--sysroot=", "--target=", "--verbose"];
/// Options that pass on what follows: to the linker, the assembler and the preprocessor.
const PASSED_ON: [&str; 3] = ["-Wl,", "-Wa,", "-Wp,"];
/// The same with what follows as a word of its own.
const PASSING: [&str; 6] = ["-Xlinker", "-Xassembler", "-Xpreprocessor", "-Xclang", "-Xcompiler", "-mllvm"];

/// Endings of files that code includes; among them those of Fortran's common blocks and parameters.
const HEADERS: [&str; 37] = [
    "blk", "c", "c++", "cc", "cmn", "com", "cpp", "cu", "cuh", "cxx", "def", "dim", "f", "f03", "f08", "f77", "f90",
    "f95", "fh", "fi", "finc", "for", "ftn", "h", "h++", "h90", "hh", "hpp", "hxx", "idl", "inc", "inl", "ins", "ipp",
    "par", "prm", "tcc",
];
/// Folders below one that is searched for headers, and entries looked at in all.
const DEPTH_MAX: usize = 8;
const ENTRIES_MAX: usize = 50_000;
/// Beginnings of objects and archives: ELF, ar, thin ar, LLVM's.
const OBJECTS: [&[u8]; 4] = [b"\x7fELF", b"!<arch>", b"!<thin>", b"BC\xc0\xde"];

/// Refuses words of an interface file that name a program to run.
///
/// # Errors
/// `InvalidSource`, with the word.
pub(crate) fn check_words<'a>(programs: impl IntoIterator<Item = &'a str>, options: &[String]) -> Result<()> {
    for program in programs {
        if !is_known(program) {
            return Err(refused("names another compiler or linker than those that are known", program));
        }
    }
    for option in options {
        let passed = PASSED_ON.iter().find_map(|begin| option.strip_prefix(begin));
        let words = passed.map_or_else(|| vec![option.as_str()], |passed| passed.split(',').collect());
        let is_long = |word: &str| {
            passed.is_none() && word.starts_with("--") && !LONG_OPTIONS.iter().any(|known| word.starts_with(known))
        };
        let names_program = |word: &&str| is_long(word) || PROGRAM_OPTIONS.iter().any(|begin| word.starts_with(begin));
        if let Some(word) = words.into_iter().find(names_program) {
            return Err(refused("has an option that names a program to run, or more options", word));
        }
    }
    Ok(())
}

fn refused(what: &str, word: &str) -> Error {
    Error::new(ErrorKind::InvalidSource, "build the module", format!("the interface file {what}: \"{}\"", word.escape_debug()))
        .fix(
            "leave it out: a server for others runs cc, c++, gfortran and the like, with options that name headers and libraries; \
             a server of your own (farcall serve --private), and ng_gen with make, take everything",
        )
}

fn is_known(program: &str) -> bool {
    let stem = program.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    COMPILERS.contains(&program) || (stem != program && COMPILERS.contains(&stem.trim_end_matches('-')))
}

/// Whether a file looks like one that code includes. Hidden files do not; Eigen's and the standard library's have no ending, and
/// a key that somebody left there is not for everybody's eyes.
fn is_header(path: &Path) -> bool {
    if path.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.')) {
        return false;
    }
    match path.extension() {
        Some(extension) => HEADERS.iter().any(|known| extension.eq_ignore_ascii_case(known)) && path.is_file(),
        None => path.is_file() && plain_file::is_public(path),
    }
}

/// What a run of a compiler may read beside the system's files: built up from what its command names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reads {
    /// Read, and never executed.
    files: BTreeSet<PathBuf>,
    /// Installations of compilers, and Farcall's own headers.
    folders: BTreeSet<PathBuf>,
    /// The folder of the interface file.
    base: PathBuf,
}

impl Reads {
    /// Of an interface file in this folder.
    pub fn beside(base: &Path) -> Reads {
        let base = base.canonicalize().unwrap_or_else(|_| base.to_path_buf());
        Reads { base, ..Reads::default() }
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
                let (path, kind) = (entry.path(), entry.file_type());
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

    /// One file that code includes. A link is what it leads to.
    pub fn header(&mut self, path: &Path) {
        let Ok(real) = path.canonicalize() else { return };
        // Elsewhere than beside the interface file, what its owner alone may read is nobody's header.
        let is_open = std::fs::metadata(&real).is_ok_and(|data| data.mode() & 0o044 != 0);
        if is_header(path) && is_header(&real) && (is_open || real.starts_with(&self.base)) {
            self.files.insert(real);
        }
    }

    /// The libraries, archives and objects in a folder.
    pub fn libraries(&mut self, folder: &Path) {
        let archives = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let archives =
            archives.filter(|path| path.extension().is_some_and(|extension| extension == "a" || extension == "o"));
        let all = shared_objects(folder).into_iter().chain(archives.take(ENTRIES_MAX));
        all.for_each(|path| self.object(&path));
    }

    /// An object, archive or library: a text that is linked is a script of the linker's, which shows what it does not
    /// understand.
    pub fn object(&mut self, path: &Path) {
        let mut begin = [0; 8];
        let read = plain_file::open(path).and_then(|mut file| file.read(&mut begin));
        if read.is_ok() && OBJECTS.iter().any(|known| begin.starts_with(known)) {
            self.files.extend(path.canonicalize());
        }
    }

    /// A folder of Farcall's own headers, or a compiler's installation.
    pub fn folder(&mut self, folder: &Path) {
        self.folders.extend(folder.canonicalize());
    }

    /// What options of a command name: `-I`, `-isystem`, `-L` and their like, and files behind `-include`.
    pub fn options(&mut self, options: &[String], base: &Path) {
        let mut words = options.iter().map(String::as_str);
        while let Some(word) = words.next() {
            if PASSING.contains(&word) {
                words.next();
                continue;
            }
            let named = |option: &str| word.strip_prefix(option).map(str::to_owned);
            for option in ["-I", "-isystem", "-iquote", "-idirafter", "-L", "-include", "-imacros"] {
                let Some(value) = named(option) else { continue };
                let value = if value.is_empty() { words.next().unwrap_or_default().to_owned() } else { value };
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

    /// The installation of a compiler that is not the system's: whoever started the server put it into its PATH.
    pub fn compiler(&mut self, program: &str) {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let found = std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file());
        let Some(real) = found.and_then(|file| file.canonicalize().ok()) else { return };
        let installation = real.parent().filter(|folder| folder.ends_with("bin")).and_then(Path::parent);
        let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
        match installation {
            Some(folder) if folder.parent().is_some() && !home.starts_with(folder) => self.folder(folder),
            _ => self.folders.extend([real]),
        }
    }

    /// The rules of a run in `directory`, which writes `scratch` alone.
    pub fn rules(&self, directory: &Path, scratch: &Path) -> Rules {
        let text = |path: &PathBuf| path.to_str().filter(|text| !text.contains('\n')).map(str::to_owned);
        Rules {
            network: Network::Off,
            files: Files::Granted,
            readable: self.folders.iter().filter_map(text).collect(),
            data: self.files.iter().filter_map(text).collect(),
            writable: text(&scratch.to_path_buf()).into_iter().collect(),
            start_in: text(&directory.to_path_buf()),
            ..Rules::default()
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn refuses(words: &[&str]) -> bool {
        check_words([], &words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()).is_err()
    }

    #[test]
    fn words_that_name_a_program_are_refused() {
        let wrong: [&[&str]; 19] = [
            &["--prefix=./tools/"],
            &["--prefix", "./tools/"],
            &["--for-linker=--plugin=./p.so"],
            &["--ld-path=./ld"],
            &["-ccbin", "./cc"],
            &["-wrapper", "./w.sh"],
            &["-O2", "-B./tools"],
            &["-B", "."],
            &["-specs=./mine.specs"],
            &["--specs=x"],
            &["-fplugin=./p.so"],
            &["@options"],
            &["-Wl,@options"],
            &["-Wl,-O1,-plugin,./p.so"],
            &["-Wl,--plugin=./p.so"],
            &["-Xlinker", "-plugin", "-Xlinker", "./p.so"],
            &["-Xclang", "-load", "-Xclang", "./p.so"],
            &["-fpass-plugin=./p.so"],
            &["-Xlinker", "@more"],
        ];
        assert!(wrong.iter().all(|words| refuses(words)));
        let right = [
            "-O3",
            "-fopenmp",
            "-I./include",
            "-L/opt/lib",
            "-lfoo",
            "-Wl,--as-needed",
            "-DNAME=\"@x\"",
            "-march=native",
        ];
        assert!(!refuses(&right));
    }

    #[test]
    fn compilers_are_known_by_their_names() {
        let known = ["cc", "gcc", "gcc-12", "g++-13", "gfortran", "clang++", "mpicc", "ifx", "clang-14"];
        assert!(check_words(known, &[]).is_ok());
        for other in ["sh", "./cc", "/usr/bin/gcc", "ccache", "make", "python3", "", "gcc12x", "env"] {
            assert!(check_words([other], &[]).is_err(), "{other}");
        }
    }

    #[test]
    fn headers_and_libraries_are_read_and_nothing_beside_them() {
        let folder = std::env::temp_dir().join(format!("farcall-reads-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("deep/er")).unwrap();
        let folder = folder.canonicalize().unwrap();
        let write = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).unwrap();
        for name in
            ["a.h", "deep/er/b.hpp", "WORK.CMN", "secret.pem", "key", "data.csv", "deep/.hidden", "liar.so", "liar.a"]
        {
            write(name, b"");
        }
        write("libx.so.1", b"\x7fELF....");
        write("liby.a", b"!<arch>\n");
        for link in ["link.h", "link.so", "link.a", "link"] {
            std::os::unix::fs::symlink(folder.join("secret.pem"), folder.join(link)).unwrap();
        }
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(folder.join("key"), mode).unwrap();
        write("good.o", b"\x7fELF....");
        write("bad.o", b"SECRET=1");
        let mut reads = Reads::default();
        reads.options(
            &["-I.".to_owned(), "-L".to_owned(), ".".to_owned(), "-include".to_owned(), "secret.pem".to_owned()],
            &folder,
        );
        reads.object(&folder.join("secret.pem"));
        let mut named: Vec<String> =
            reads.files.iter().map(|file| file.strip_prefix(&folder).unwrap().display().to_string()).collect();
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
