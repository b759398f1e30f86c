//! Which files the dynamic loader opens for a program or a library: it and all that it needs, by
//! their own run paths, the loader's variable and the system's folders (ELF, gabi "Dynamic
//! Linking"; ld.so(8)). Read from the files, and no code of theirs is run. What is not found is
//! left out: the loader will say so.
//!
//! A module may open these files, and no folder. Libraries also open others by name when they run
//! (MKL its kernels): so shared objects beside one that lies outside the system are among them.

use std::collections::{BTreeSet, VecDeque};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use farcall_services::spawner::system_files::{READABLE_FOLDERS, shared_objects};

use super::names::{self, LibraryName};

/// Beginning of a 64-bit little-endian ELF file of version 1.
const MAGIC: [u8; 7] = [0x7f, b'E', b'L', b'F', 2, 1, 1];
/// Bytes of the file header, of a program header, and of an entry of the dynamic section.
const HEADER_BYTES: usize = 64;
const SEGMENT_BYTES: usize = 56;
const ENTRY_BYTES: usize = 16;
/// More than this of anything is no program that anybody linked.
const SEGMENTS_MAX: u64 = 256;
const DYNAMIC_BYTES_MAX: u64 = 1 << 16;
const TEXT_BYTES_MAX: usize = 4096;
/// Files of one module.
const FILES_MAX: usize = 4096;
/// Files of the loader's configuration that include one another.
const CONFIGURATIONS_MAX: usize = 256;

/// Kinds of segments, and tags of the dynamic section.
const PT_LOAD: u64 = 1;
const PT_DYNAMIC: u64 = 2;
const DT_NEEDED: u64 = 1;
const DT_STRTAB: u64 = 5;
const DT_RPATH: u64 = 15;
const DT_RUNPATH: u64 = 29;

/// The files outside the system's folders that the loader opens for `program`, itself among them.
pub fn files_of_program(program: &Path) -> Vec<PathBuf> {
    beside(needed_by_program(program))
}

/// Those that it needs, without what lies beside them.
pub fn needed_by_program(program: &Path) -> BTreeSet<PathBuf> {
    Search::new().files([program.to_path_buf()])
}

/// The same for the shared libraries that an interface names, each text as [`super::library_names`]
/// gives it.
pub fn files_of_libraries(texts: &[String]) -> Vec<PathBuf> {
    beside(needed_by_libraries(texts))
}

/// Those that they need, without what lies beside them.
pub fn needed_by_libraries(texts: &[String]) -> BTreeSet<PathBuf> {
    let names = names::parse(texts);
    let root = Path::new("/");
    let folders = names::directories(&names, root);
    let roots = names.iter().flat_map(|name| match name {
        LibraryName::Shared(file) if file.contains('/') => vec![PathBuf::from(file)],
        LibraryName::Shared(file) => {
            folders.iter().map(|folder| folder.join(file)).filter(|file| file.exists()).collect()
        }
        LibraryName::Short(short) => names::shared_files(short, &folders),
        _ => Vec::new(),
    });
    let roots: Vec<PathBuf> = roots.collect();
    let bare = names.iter().filter_map(|name| match name {
        LibraryName::Shared(file) if !file.contains('/') => Some(file.clone()),
        LibraryName::Short(short) => Some(format!("lib{short}.so")),
        _ => None,
    });
    let mut search = Search::new();
    let elsewhere: Vec<PathBuf> = bare.filter_map(|name| search.find(&name, &[])).collect();
    search.folders.extend(folders);
    search.files(roots.into_iter().chain(elsewhere))
}

/// Where the loader looks.
struct Search {
    folders: Vec<PathBuf>,
}

impl Search {
    fn new() -> Search {
        let mut folders = names::system_directories();
        configured(Path::new("/etc/ld.so.conf"), &mut folders, &mut 0);
        Search { folders }
    }

    /// A needed library, by the run path of who needs it, and then as for all.
    fn find(&self, name: &str, run_path: &[PathBuf]) -> Option<PathBuf> {
        if name.contains('/') {
            return Some(PathBuf::from(name)).filter(|file| file.is_file());
        }
        run_path
            .iter()
            .chain(&self.folders)
            .map(|folder| folder.join(name))
            .find(|file| file.is_file())
    }

    fn files(&self, roots: impl IntoIterator<Item = PathBuf>) -> BTreeSet<PathBuf> {
        let mut files = BTreeSet::new();
        let mut waiting: VecDeque<(PathBuf, Vec<PathBuf>)> =
            roots.into_iter().map(|root| (root, Vec::new())).collect();
        while let Some((file, inherited)) = waiting.pop_front() {
            let Ok(real) = file.canonicalize() else { continue };
            // What the system has can be read anyway, and needs what the system has.
            if is_of_the_system(&real) || files.len() >= FILES_MAX || files.contains(&real) {
                continue;
            }
            // A link by a library's name may lead anywhere: what is no library is not opened for
            // it.
            let Some(dynamic) = Dynamic::read(&real) else { continue };
            files.insert(real.clone());
            let (needed, mut run_path) = dynamic.needs(&file);
            // An older run path (RPATH) is passed on to what is loaded; a newer one is not. Looking
            // in both costs nothing.
            run_path.extend(inherited);
            for name in needed {
                waiting.extend(self.find(&name, &run_path).map(|found| (found, run_path.clone())));
            }
        }
        files
    }
}

/// The files, and the shared objects beside those that are shared objects.
fn beside(files: BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let folders: BTreeSet<PathBuf> = files
        .iter()
        .filter(|file| file.file_name().is_some_and(|name| name.to_string_lossy().contains(".so")))
        .filter_map(|file| file.parent().map(Path::to_path_buf))
        .collect();
    let others = folders
        .iter()
        .flat_map(|folder| shared_objects(folder))
        .filter_map(|file| file.canonicalize().ok());
    let others = others.filter(|file| !is_of_the_system(file) && Dynamic::read(file).is_some());
    let others: Vec<PathBuf> = others.take(FILES_MAX).collect();
    files.into_iter().chain(others).collect::<BTreeSet<_>>().into_iter().collect()
}

fn is_of_the_system(file: &Path) -> bool {
    READABLE_FOLDERS.iter().any(|folder| file.starts_with(folder))
}

/// The folders that a file of the loader's configuration names, and those that it includes.
fn configured(file: &Path, folders: &mut Vec<PathBuf>, read: &mut usize) {
    *read += 1;
    let Ok(text) = std::fs::read_to_string(file) else { return };
    if *read > CONFIGURATIONS_MAX {
        return;
    }
    for line in text.lines().map(|line| line.split('#').next().unwrap_or_default().trim()) {
        if let Some(pattern) = line.strip_prefix("include ") {
            for included in matching(pattern.trim()) {
                configured(&included, folders, read);
            }
        } else if line.starts_with('/') {
            folders.push(PathBuf::from(line));
        }
    }
}

/// The files of `/etc/ld.so.conf.d/*.conf`: no other form of pattern is in use.
fn matching(pattern: &str) -> Vec<PathBuf> {
    let pattern = Path::new("/etc").join(pattern);
    let (Some(folder), Some(name)) =
        (pattern.parent(), pattern.file_name().and_then(|name| name.to_str()))
    else {
        return Vec::new();
    };
    let Some((begin, end)) = name.split_once('*') else { return vec![pattern.clone()] };
    let entries =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let fits = |path: &PathBuf| {
        path.file_name().is_some_and(|name| {
            let name = name.to_string_lossy();
            name.starts_with(begin) && name.ends_with(end)
        })
    };
    let mut files: Vec<PathBuf> = entries.filter(fits).collect();
    files.sort();
    files
}

/// The dynamic section of a program or library.
struct Dynamic {
    file: File,
    segments: Vec<u8>,
    entries: Vec<u8>,
}

impl Dynamic {
    /// What the file says; `None` where it has none, or is no ELF file.
    fn read(path: &Path) -> Option<Dynamic> {
        let file = File::open(path).ok()?;
        let header = read(&file, 0, HEADER_BYTES)?;
        if !header.starts_with(&MAGIC) {
            return None;
        }
        let offset = number(&header, 32, 8)?;
        let count = number(&header, 56, 2)?;
        let size = usize::try_from(count.min(SEGMENTS_MAX)).ok()? * SEGMENT_BYTES;
        let segments = read(&file, offset, size)?;
        let dynamic = segments
            .chunks_exact(SEGMENT_BYTES)
            .find(|part| number(part, 0, 4) == Some(PT_DYNAMIC))?;
        let bytes = number(dynamic, 32, 8)?.min(DYNAMIC_BYTES_MAX);
        let entries = read(&file, number(dynamic, 8, 8)?, usize::try_from(bytes).ok()?)?;
        Some(Dynamic { file, segments, entries })
    }

    /// Names of what it needs, and the folders of its run path.
    fn needs(&self, path: &Path) -> (Vec<String>, Vec<PathBuf>) {
        let needed = self.texts(DT_NEEDED);
        let newer = self.texts(DT_RUNPATH);
        let run_path = if newer.is_empty() { self.texts(DT_RPATH) } else { newer };
        let origin = path
            .canonicalize()
            .ok()
            .and_then(|path| path.parent().map(Path::to_path_buf))
            .unwrap_or_default();
        let folder = |text: &str| {
            PathBuf::from(
                text.replace("${ORIGIN}", "$ORIGIN").replace("$ORIGIN", &origin.to_string_lossy()),
            )
        };
        let folders = run_path
            .iter()
            .flat_map(|path| path.split(':'))
            .filter(|path| !path.is_empty())
            .map(folder);
        (needed, folders.filter(|folder| folder.is_absolute()).collect())
    }

    fn texts(&self, tag: u64) -> Vec<String> {
        let entries = || self.entries.chunks_exact(ENTRY_BYTES);
        let of_tag = |wanted: u64| {
            entries()
                .filter(move |entry| number(entry, 0, 8) == Some(wanted))
                .filter_map(|entry| number(entry, 8, 8))
        };
        let Some(table) = of_tag(DT_STRTAB).next() else { return Vec::new() };
        of_tag(tag).filter_map(|text| self.text(table.checked_add(text)?)).collect()
    }

    /// The section names addresses in memory; segments say what of the file is there.
    fn text(&self, address: u64) -> Option<String> {
        let loaded = self
            .segments
            .chunks_exact(SEGMENT_BYTES)
            .filter(|part| number(part, 0, 4) == Some(PT_LOAD));
        let place = loaded.filter_map(|part| {
            let within = address
                .checked_sub(number(part, 16, 8)?)
                .filter(|at| Some(*at) < number(part, 32, 8))?;
            number(part, 8, 8)?.checked_add(within)
        });
        let mut text = vec![0; TEXT_BYTES_MAX];
        let count = self.file.read_at(&mut text, place.into_iter().next()?).ok()?;
        let text = text[..count].split(|byte| *byte == 0).next()?;
        String::from_utf8(text.to_vec()).ok()
    }
}

fn read(file: &File, offset: u64, size: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; size];
    file.read_exact_at(&mut bytes, offset).ok()?;
    Some(bytes)
}

/// A number of so many bytes.
fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let mut word = [0; 8];
    word[..size].copy_from_slice(bytes.get(at..at.checked_add(size)?)?);
    Some(u64::from_le_bytes(word))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::process::Command;

    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path =
                std::env::temp_dir().join(format!("farcall-loaded-{name}-{}", std::process::id()));
            std::fs::create_dir_all(path.join("lib")).unwrap();
            std::fs::create_dir_all(path.join("bin")).unwrap();
            Folder(path.canonicalize().unwrap())
        }

        /// Links what this is, if there is a compiler.
        fn link(&self, source: &str, output: &str, options: &[&str]) -> Option<PathBuf> {
            let text = self.0.join("source.c");
            let output = self.0.join(output);
            std::fs::write(&text, source).unwrap();
            let mut compiler = Command::new("cc");
            compiler.arg(&text).arg("-o").arg(&output).args(options);
            compiler.status().is_ok_and(|status| status.success()).then_some(output)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_program_brings_what_it_needs_along_its_run_path() {
        let folder = Folder::new("chain");
        let place = format!("-L{}", folder.0.join("lib").display());
        let shared = ["-shared", "-fPIC", "-Wl,-soname,libinner.so.1"];
        let Some(inner) =
            folder.link("int inner(void) { return 1; }", "lib/libinner.so.1", &shared)
        else {
            return;
        };
        std::os::unix::fs::symlink(&inner, folder.0.join("lib/libinner.so")).unwrap();
        let outer = "int inner(void); int outer(void) { return inner(); }";
        let options = ["-shared", "-fPIC", &place, "-linner", "-Wl,-rpath,$ORIGIN"];
        let outer = folder.link(outer, "lib/libouter.so", &options).unwrap();
        let program = "int outer(void); int main(void) { return outer(); }";
        let options =
            [&place, "-louter", "-Wl,-rpath,$ORIGIN/../lib", "-Wl,-rpath-link", &place[2..]];
        let program = folder.link(program, "bin/program", &options).unwrap();
        std::fs::write(folder.0.join("lib/secret.pem"), "").unwrap();
        std::fs::write(folder.0.join("bin/secret.pem"), "").unwrap();
        std::os::unix::fs::symlink(
            folder.0.join("lib/secret.pem"),
            folder.0.join("lib/liblink.so"),
        )
        .unwrap();
        let mut wanted = vec![program.clone(), inner.clone(), outer.clone()];
        wanted.sort();
        assert_eq!(files_of_program(&program), wanted);
        let named = [outer.display().to_string()];
        assert_eq!(files_of_libraries(&named), wanted[1..]);
        let searched = [place.clone(), "-louter".to_owned()];
        assert_eq!(files_of_libraries(&searched), wanted[1..]);
        assert!(files_of_libraries(&["libm.so.6".to_owned(), "-lnothing".to_owned()]).is_empty());
    }

    #[test]
    fn a_file_that_is_no_program_or_lies_leads_nowhere_else() {
        let folder = Folder::new("lies");
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        // Empty, text, cut short, and with each number of the header as large as can be.
        let mut files = vec![Vec::new(), b"#!/bin/sh\n".to_vec(), own[..HEADER_BYTES].to_vec()];
        for at in [32, 56] {
            let mut file = own[..4096].to_vec();
            file[at..at + 8].fill(0xff);
            files.push(file);
        }
        let path = folder.0.join("file");
        for file in files {
            std::fs::write(&path, file).unwrap();
            assert!(files_of_program(&path).is_empty());
        }
        assert!(files_of_program(Path::new("/nonexistent")).is_empty());
    }

    #[test]
    fn damaged_files_end_the_search() {
        let folder = Folder::new("damaged");
        let Some(program) =
            folder.link("int main(void) { return 0; }", "bin/program", &["-Wl,-rpath,/a:/b"])
        else {
            return;
        };
        let whole = std::fs::read(&program).unwrap();
        let mut random = farcall_base::SeededRandom::new(11);
        let path = folder.0.join("file");
        for _ in 0..500 {
            let mut file = whole.clone();
            for _ in 0..8 {
                let at = farcall_base::Random::next(&mut random) as usize % file.len().min(1024);
                file[at] = farcall_base::Random::next(&mut random) as u8;
            }
            std::fs::write(&path, file).unwrap();
            assert!(files_of_program(&path).len() <= 3);
        }
    }
}
