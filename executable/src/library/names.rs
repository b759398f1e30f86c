//! What the words of `Library` and `Required` mean, and where `-lfoo` may lie.

use std::path::{Path, PathBuf};

use farcall_idl::interface::Module;

use crate::words;

/// One word of a `Library` or `Required` string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LibraryName {
    /// `-lfoo`, without the `-l`.
    Short(String),
    /// `-Ldir`, without the `-L`.
    Directory(PathBuf),
    /// `libfoo.so.3` or a path to a shared library.
    Shared(String),
    /// An object, an archive, or anything else that only a linker can use.
    Object(String),
    /// An option of the linker (`-Wl,…`, `-fopenmp`); a loaded library has no use for it.
    LinkerOption(String),
}

/// All words of `texts`, in order; `-l foo` is one.
pub(crate) fn parse<'a>(texts: impl IntoIterator<Item = &'a String>) -> Vec<LibraryName> {
    let words: Vec<String> = texts.into_iter().flat_map(|text| words::split(text)).collect();
    let mut names = Vec::with_capacity(words.len());
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        // A separated option takes the next word: `-L /opt/lib`.
        let word = if word == "-l" || word == "-L" {
            word + &words.next().unwrap_or_default()
        } else {
            word
        };
        names.push(classify(word));
    }
    names
}

fn classify(word: String) -> LibraryName {
    if let Some(name) = word.strip_prefix("-l") {
        // `-l:libfoo.so.3` is the linker's way to name a file.
        return match name.strip_prefix(':') {
            Some(file) => classify(file.to_string()),
            None => LibraryName::Short(name.to_string()),
        };
    }
    if let Some(directory) = word.strip_prefix("-L") {
        return LibraryName::Directory(directory.into());
    }
    if word.starts_with('-') {
        return LibraryName::LinkerOption(word);
    }
    if is_shared(&word) { LibraryName::Shared(word) } else { LibraryName::Object(word) }
}

/// `libfoo.so`, `libfoo.so.3.2`: the file's name ends in `.so`, or has numbers behind it.
fn is_shared(word: &str) -> bool {
    let file = word.rsplit('/').next().unwrap_or(word);
    match file.rsplit_once(".so") {
        Some((stem, version)) => {
            !stem.is_empty()
                && version.split('.').all(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
        }
        None => false,
    }
}

/// Everything that the module's routines, classes and itself name, in the order in which a linker
/// wants it.
pub(crate) fn of_module(module: &Module) -> Vec<LibraryName> {
    let routines =
        module.routines.iter().chain(module.classes.iter().flat_map(|class| &class.methods));
    let required = routines.flat_map(|routine| &routine.implementation.required);
    let classes = module.classes.iter().flat_map(|class| &class.required);
    let mut names: Vec<LibraryName> = Vec::new();
    for name in parse(required.chain(classes).chain(&module.libraries)) {
        // Several routines often require one object; linked twice it would define everything twice.
        if !(matches!(name, LibraryName::Object(_)) && names.contains(&name)) {
            names.push(name);
        }
    }
    names
}

/// The word for `name` as it is valid in every directory.
pub(crate) fn absolute(name: &LibraryName, base: &Path) -> String {
    match name {
        LibraryName::Short(short) => format!("-l{short}"),
        LibraryName::LinkerOption(option) => option.clone(),
        LibraryName::Directory(directory) => format!("-L{}", base.join(directory).display()),
        LibraryName::Object(file) => base.join(file).display().to_string(),
        LibraryName::Shared(file) if file.contains('/') || base.join(file).exists() => {
            base.join(file).display().to_string()
        }
        LibraryName::Shared(file) => file.clone(),
    }
}

/// The `-L` directories among `names`, relative ones taken from `base`.
pub(crate) fn directories(names: &[LibraryName], base: &Path) -> Vec<PathBuf> {
    let given = names.iter().filter_map(|name| match name {
        LibraryName::Directory(directory) => Some(base.join(directory)),
        _ => None,
    });
    given.collect()
}

/// The Debian package of a library that the published interfaces name. Any distribution has one of
/// a like name.
pub(crate) fn debian_package(name: &str) -> Option<&'static str> {
    let packages = [
        ("libopenblas.so", "libopenblas0-pthread"),
        ("liblapack.so", "liblapack3"),
        ("libblas.so", "libblas3"),
    ];
    packages.iter().find(|(library, _)| name.starts_with(library)).map(|(_, package)| *package)
}

/// Directories that a system keeps its libraries in, `LD_LIBRARY_PATH` first.
pub(crate) fn system_directories() -> Vec<PathBuf> {
    let path = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let usual = [
        "/usr/local/lib",
        "/lib/x86_64-linux-gnu",
        "/usr/lib/x86_64-linux-gnu",
        "/lib64",
        "/usr/lib64",
        "/lib",
        "/usr/lib",
    ];
    let listed = std::env::split_paths(&path).filter(|directory| directory.is_absolute());
    listed.chain(usual.into_iter().map(PathBuf::from)).collect()
}

/// The files that `-lname` may mean in `directories`: `libname.so` before `libname.so.N`, high
/// versions first.
pub(crate) fn shared_files(name: &str, directories: &[PathBuf]) -> Vec<PathBuf> {
    let stem = format!("lib{name}.so");
    let mut files = Vec::new();
    for directory in directories {
        let mut versions = versions_in(directory, &stem);
        versions.sort_by(|a, b| b.cmp(a));
        files.extend(versions.into_iter().map(|(_, path)| path));
    }
    files
}

/// `stem` and `stem.N` in `directory`; the plain name sorts above every version.
fn versions_in(directory: &Path, stem: &str) -> Vec<(u32, PathBuf)> {
    let Ok(listing) = std::fs::read_dir(directory) else { return Vec::new() };
    let versioned = listing.flatten().filter_map(|item| {
        let file = item.file_name();
        let rest = file.to_str()?.strip_prefix(stem)?;
        let version =
            if rest.is_empty() { u32::MAX } else { rest.strip_prefix('.')?.parse().ok()? };
        Some((version, item.path()))
    });
    versioned.collect()
}

/// The archive that `-lname` means where no shared library has that name.
pub(crate) fn archive_file(name: &str, directories: &[PathBuf]) -> Option<PathBuf> {
    directories
        .iter()
        .map(|directory| directory.join(format!("lib{name}.a")))
        .find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Vec<LibraryName> {
        parse(&[text.to_string()])
    }

    #[test]
    fn tells_shared_libraries_from_objects() {
        assert_eq!(one("libopenblas.so.0"), [LibraryName::Shared("libopenblas.so.0".into())]);
        assert_eq!(one("/opt/x/libq.so"), [LibraryName::Shared("/opt/x/libq.so".into())]);
        assert_eq!(one("-l:libq.so.3"), [LibraryName::Shared("libq.so.3".into())]);
        // Files whose names only look alike: no library ends so.
        for object in ["solve.o", "libfft.a", "my.source.o", "x.so.old", ".so"] {
            assert_eq!(one(object), [LibraryName::Object(object.into())], "{object}");
        }
    }

    #[test]
    fn a_missing_library_of_ours_has_a_package() {
        assert_eq!(debian_package("libopenblas.so.0"), Some("libopenblas0-pthread"));
        assert_eq!(debian_package("libnotblas.so.0"), None);
    }

    #[test]
    fn reads_several_in_one_string() {
        let expected = [
            LibraryName::Directory("/opt/lib".into()),
            LibraryName::Directory("rel".into()),
            LibraryName::Short("lapack".into()),
            LibraryName::Short("m".into()),
            LibraryName::LinkerOption("-fopenmp".into()),
        ];
        assert_eq!(one("-L/opt/lib -L rel -llapack -l m -fopenmp"), expected);
        // A lone option at the end has no operand; it must not swallow anything or panic.
        assert_eq!(one("-l"), [LibraryName::Short(String::new())]);
    }
}
