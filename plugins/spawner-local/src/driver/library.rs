//! Where a linked program finds libfarcall.so: by the run path that it was linked with (ELF, gabi "Dynamic Linking").
//!
//! The server's own library lies beside the server. A program may have been linked with another installation's, and is to
//! find that under its rules, too.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The name that programs look for.
const NAME: &str = "libfarcall.so.0";
/// Beginning of a 64-bit little-endian ELF file of version 1.
const MAGIC: [u8; 7] = [0x7f, b'E', b'L', b'F', 2, 1, 1];
/// Bytes of the file header, of a program header, and of an entry of the dynamic section.
const HEADER_BYTES: usize = 64;
const SEGMENT_BYTES: usize = 56;
const ENTRY_BYTES: usize = 16;
/// More than this of anything is no program of ours.
const SEGMENTS_MAX: u64 = 256;
const DYNAMIC_BYTES_MAX: u64 = 1 << 16;
const PATH_BYTES_MAX: usize = 4096;

/// Kinds of segments, and tags of the dynamic section.
const PT_LOAD: u64 = 1;
const PT_DYNAMIC: u64 = 2;
const DT_STRTAB: u64 = 5;
const DT_RPATH: u64 = 15;
const DT_RUNPATH: u64 = 29;

/// The library's file, where the program's run path leads to one. Anything else by that name is not it.
pub(super) fn of(program: &Path) -> Option<String> {
    let folder = program.parent()?;
    let paths = run_path(&File::open(program).ok()?)?;
    let folders = paths.split(':').map(|path| match path.strip_prefix("$ORIGIN") {
        Some(rest) => folder.join(rest.trim_start_matches('/')),
        None => PathBuf::from(path),
    });
    let found = folders.filter_map(|folder| folder.join(NAME).canonicalize().ok()).find(|file| {
        file.is_file() && file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libfarcall.so"))
    })?;
    found.to_str().filter(|path| !path.contains('\n')).map(str::to_owned)
}

/// What the file says; `None` where it has none, or is no program.
fn run_path(file: &File) -> Option<String> {
    let header = read(file, 0, HEADER_BYTES)?;
    if !header.starts_with(&MAGIC) {
        return None;
    }
    let (offset, count) = (number(&header, 32, 8)?, number(&header, 56, 2)?);
    let size = usize::try_from(count.min(SEGMENTS_MAX)).ok()? * SEGMENT_BYTES;
    let table = read(file, offset, size)?;
    let of_kind = |kind| table.chunks_exact(SEGMENT_BYTES).filter(move |part| number(part, 0, 4) == Some(kind));
    let dynamic = of_kind(PT_DYNAMIC).next()?;
    let bytes = number(dynamic, 32, 8)?.min(DYNAMIC_BYTES_MAX);
    let entries = read(file, number(dynamic, 8, 8)?, usize::try_from(bytes).ok()?)?;
    let value = |tag| entries.chunks_exact(ENTRY_BYTES).find(|entry| number(entry, 0, 8) == Some(tag));
    let value = |tag| value(tag).and_then(|entry| number(entry, 8, 8));
    let text = value(DT_STRTAB)?.checked_add(value(DT_RUNPATH).or_else(|| value(DT_RPATH))?)?;
    // The section names addresses in memory; segments say what of the file is there.
    let place = of_kind(PT_LOAD).find_map(|part| {
        let within = text.checked_sub(number(part, 16, 8)?).filter(|at| Some(*at) < number(part, 32, 8))?;
        number(part, 8, 8)?.checked_add(within)
    })?;
    let mut path = vec![0; PATH_BYTES_MAX];
    let count = file.read_at(&mut path, place).ok()?;
    let path = path[..count].split(|byte| *byte == 0).next()?;
    String::from_utf8(path.to_vec()).ok()
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
    use super::*;

    /// A program that was linked with this run path, in a folder of its own; `None` without a compiler.
    fn linked(folder: &Path, run_path: &str) -> Option<PathBuf> {
        std::fs::create_dir_all(folder).unwrap();
        let (source, program) = (folder.join("main.c"), folder.join("main"));
        std::fs::write(&source, "int main(void) { return 0; }\n").unwrap();
        let mut compiler = std::process::Command::new("cc");
        compiler.arg(&source).arg("-o").arg(&program).arg(format!("-Wl,-rpath,{run_path}"));
        compiler.status().is_ok_and(|status| status.success()).then_some(program)
    }

    #[test]
    fn the_library_is_found_where_the_program_looks_for_it() {
        let base = std::env::temp_dir().join(format!("farcall-run-path-{}", std::process::id()));
        let Some(program) = linked(&base.join("bin"), "/nonexistent:$ORIGIN/../lib") else { return };
        assert_eq!(of(&program), None, "nothing is there");
        let library = base.join("lib").join(NAME);
        std::fs::create_dir_all(base.join("lib")).unwrap();
        std::fs::write(base.join("secret"), "").unwrap();
        std::os::unix::fs::symlink(base.join("secret"), &library).unwrap();
        assert_eq!(of(&program), None, "another file by its name");
        std::fs::remove_file(&library).unwrap();
        std::fs::write(&library, "").unwrap();
        assert_eq!(of(&program).map(PathBuf::from), library.canonicalize().ok());
        std::fs::remove_dir_all(&base).unwrap();
    }

    #[test]
    fn a_file_that_is_no_program_or_lies_leads_nowhere() {
        let path = std::env::temp_dir().join(format!("farcall-no-program-{}", std::process::id()));
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        // Empty, text, cut short, and with each number of the header as large as can be.
        let mut files = vec![Vec::new(), b"#!/bin/sh\n".to_vec(), own[..HEADER_BYTES].to_vec()];
        for at in [32, 56] {
            let mut file = own[..4096].to_vec();
            file[at..at + 8].fill(0xff);
            files.push(file);
        }
        for file in files {
            std::fs::write(&path, file).unwrap();
            assert_eq!(of(&path), None);
        }
        std::fs::remove_file(&path).unwrap();
        assert_eq!(of(Path::new("/")), None);
    }
}
