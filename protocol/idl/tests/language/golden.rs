//! Golden files: `tests/golden/valid` compiles to the text beside each file, `tests/golden/wrong`
//! to its diagnostics.
//!
//! `FARCALL_REWRITE=1 cargo test -p farcall-idl` writes them again; read the difference before you
//! commit it.

use std::fs;
use std::path::{Path, PathBuf};

use farcall_idl::{compile, needs_preprocessor};

use crate::language::dump;

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(folder);
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "idl"));
    files.sort();
    files
}

fn compare(idl: &Path, found: &str) -> Option<String> {
    let golden = idl.with_extension("txt");
    if std::env::var_os("FARCALL_REWRITE").is_some() {
        fs::write(&golden, found).unwrap();
    }
    let wanted = fs::read_to_string(&golden).unwrap_or_default();
    (wanted != found).then(|| format!("{} differs; found:\n{found}\n", golden.display()))
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

#[test]
fn valid_files_compile_to_their_golden_modules() {
    let mut wrong = String::new();
    for path in files("valid") {
        let text = fs::read_to_string(&path).unwrap();
        assert!(!needs_preprocessor(&text), "{}", path.display());
        match compile(&name(&path), &text) {
            Ok(module) => {
                for routine in &module.routines {
                    routine.interface.validate().unwrap();
                }
                wrong.extend(compare(&path, &dump::module(&module)));
            }
            Err(diagnostics) => wrong.push_str(&format!("{}:\n{diagnostics}\n", path.display())),
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn wrong_files_give_their_golden_diagnostics() {
    let mut wrong = String::new();
    let paths = files("wrong");
    assert!(paths.len() >= 40);
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        match compile(&name(&path), &text) {
            Ok(_) => wrong.push_str(&format!("{} compiles\n", path.display())),
            Err(diagnostics) => wrong.extend(compare(&path, &format!("{diagnostics}\n"))),
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn published_routines_compile() {
    let routines = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../routines");
    for file in ["lapack/lapack.idl", "lapack/eigen.idl", "lapack/blas.idl", "ep/ep.idl"] {
        let text = fs::read_to_string(routines.join(file)).unwrap();
        assert!(!needs_preprocessor(&text), "{file}");
        if let Err(diagnostics) = compile(file, &text) {
            panic!("{file}:\n{diagnostics}");
        }
    }
}
