//! What the tests publish: the files of tests/routines, compiled and put beside their libraries.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use farcall_client::{ConnectOptions, ServeOptions};

use crate::server::library_directory;
use crate::{program, root};

/// A directory of a test's own, removed at its end.
#[derive(Debug)]
pub struct Directory(pub PathBuf);

impl Directory {
    /// A fresh one.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn new() -> Directory {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let unique = format!(
            "farcall-test-{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(unique);
        std::fs::create_dir_all(&path).expect("temporary directories can be made");
        Directory(path)
    }

    /// Writes a file.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        self.write_bytes(name, text.as_bytes())
    }

    /// Writes a file of any bytes.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn write_bytes(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, content).expect("a temporary file can be written");
        path
    }

    /// What a file holds.
    ///
    /// # Panics
    /// When it cannot be read.
    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.0.join(name)).expect("the file is there")
    }

    /// What lies in it, in order.
    ///
    /// # Panics
    /// When it is gone.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).expect("the directory is there");
        let mut names: Vec<String> = entries
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

impl Default for Directory {
    fn default() -> Self {
        Directory::new()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A manifest with these options of the server, and defaults for everything else.
pub fn manifest(options: &str) -> String {
    manifest_of(options, "")
}

/// The same with options of the spawner.
pub fn manifest_of(server: &str, spawner: &str) -> String {
    // A server of its user's own lets its code do what its user may: what is tested is what others
    // are let do.
    let spawner = format!("{spawner}\nlimits.confine = true");
    let plugins = [
        ("directory", "directory", ""),
        ("spawner-local", "spawner", spawner.as_str()),
        ("rpc-server", "rpc", server),
    ];
    let section = |(name, slot, options): &(&str, &str, &str)| {
        format!("[[plugin]]\nname = \"{name}\"\nslot = \"{slot}\"\n[plugin.options]\n{options}\n")
    };
    plugins.iter().map(section).collect()
}

/// Runs a compiler: `source` of tests/routines into `output`, with the compiler for its ending.
///
/// # Panics
/// When it fails.
pub fn compile(source: &str, output: &Path, options: &[&str]) {
    let compiler = if source.ends_with(".c") { "cc" } else { "gfortran" };
    // Beside and then moved over: another test program may be using the last one.
    let new = output.with_extension(format!("new-{}", std::process::id()));
    let mut command = Command::new(compiler);
    command
        .arg(root().join("tests/routines").join(source))
        .arg("-o")
        .arg(&new)
        .args(options)
        .arg("-O1");
    // gfortran leaves module files where it runs.
    command.current_dir(output.parent().expect("outputs lie in a directory"));
    let done = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(done.status.success(), "{command:?}: {}", String::from_utf8_lossy(&done.stderr));
    std::fs::rename(&new, output).expect("what was compiled can be moved");
}

/// Whether the machine can compile Fortran; tests of it say so and pass where it cannot.
pub fn has_fortran() -> bool {
    let found = Command::new("gfortran").arg("--version").output().is_ok();
    if !found {
        eprintln!("skipped: no gfortran on this machine");
    }
    found
}

/// Where compiled fixtures of this build lie.
fn folder(name: &str) -> PathBuf {
    let folder = program().with_file_name("end-to-end").join(name);
    std::fs::create_dir_all(&folder).expect("the build directory can be written");
    folder
}

/// Puts an interface file beside its code, under whose name it finds it.
fn place(idl: &str, folder: &Path, marker: &str, code: &str) -> PathBuf {
    let text = std::fs::read_to_string(root().join("tests/routines").join(idl))
        .expect("the interface file exists");
    let file = folder.join(idl);
    let new = folder.join(format!("{idl}.new-{}", std::process::id()));
    std::fs::write(&new, text.replace(marker, code)).expect("the build directory can be written");
    std::fs::rename(&new, &file).expect("files can be moved");
    file
}

fn shared_or_linked(stem: &str, ending: &str, marker: &str, linked: bool) -> PathBuf {
    let folder = folder(if linked { "linked" } else { "generic" });
    let code = if linked { format!("{stem}.o") } else { format!("lib{stem}.so") };
    let options: &[&str] = if linked { &["-c", "-fPIC"] } else { &["-shared", "-fPIC"] };
    compile(&format!("{stem}.{ending}"), &folder.join(&code), options);
    // A shared library beside the interface file is named by path; a bare name is looked up where
    // the system looks.
    let code = if linked { code } else { format!("./{code}") };
    place(&format!("{stem}.idl"), &folder, marker, &code)
}

/// battery.idl: for the generic host, or linked.
///
/// # Panics
/// When it cannot be compiled.
pub fn battery(linked: bool) -> PathBuf {
    static FILES: [OnceLock<PathBuf>; 2] = [OnceLock::new(), OnceLock::new()];
    FILES[usize::from(linked)]
        .get_or_init(|| shared_or_linked("battery", "c", "BATTERY_CODE", linked))
        .clone()
}

/// trouble.idl: for the generic host, or linked.
///
/// # Panics
/// When it cannot be compiled.
pub fn trouble(linked: bool) -> PathBuf {
    static FILES: [OnceLock<PathBuf>; 2] = [OnceLock::new(), OnceLock::new()];
    FILES[usize::from(linked)]
        .get_or_init(|| shared_or_linked("trouble", "c", "TROUBLE_CODE", linked))
        .clone()
}

/// wild.idl: for the generic host, or linked.
///
/// # Panics
/// When it cannot be compiled.
pub fn wild(linked: bool) -> PathBuf {
    static FILES: [OnceLock<PathBuf>; 2] = [OnceLock::new(), OnceLock::new()];
    FILES[usize::from(linked)]
        .get_or_init(|| shared_or_linked("wild", "c", "WILD_CODE", linked))
        .clone()
}

/// share.idl: for the generic host, or linked.
///
/// # Panics
/// When it cannot be compiled.
pub fn share(linked: bool) -> PathBuf {
    static FILES: [OnceLock<PathBuf>; 2] = [OnceLock::new(), OnceLock::new()];
    FILES[usize::from(linked)]
        .get_or_init(|| shared_or_linked("share", "c", "SHARE_CODE", linked))
        .clone()
}

/// fortran.idl: for the generic host, or linked.
///
/// # Panics
/// When it cannot be compiled.
pub fn fortran(linked: bool) -> PathBuf {
    static FILES: [OnceLock<PathBuf>; 2] = [OnceLock::new(), OnceLock::new()];
    FILES[usize::from(linked)]
        .get_or_init(|| shared_or_linked("fortran", "f90", "FORTRAN_CODE", linked))
        .clone()
}

/// nested.idl and inner.idl, which use libfarcall.so: for the generic host, or linked.
///
/// # Panics
/// When they cannot be compiled.
pub fn nested(linked: bool) -> Vec<PathBuf> {
    static FILES: [OnceLock<Vec<PathBuf>>; 2] = [OnceLock::new(), OnceLock::new()];
    let make = || with_farcall("nested", &["nested.idl", "inner.idl"], "NESTED_CODE", linked);
    FILES[usize::from(linked)].get_or_init(make).clone()
}

/// heard.idl, which uses libfarcall.so: for the generic host, or linked.
///
/// # Panics
/// When it cannot be compiled.
pub fn heard(linked: bool) -> PathBuf {
    static FILES: [OnceLock<PathBuf>; 2] = [OnceLock::new(), OnceLock::new()];
    let make = || with_farcall("heard", &["heard.idl"], "HEARD_CODE", linked).remove(0);
    FILES[usize::from(linked)].get_or_init(make).clone()
}

/// back.idl, which uses libfarcall.so: for the generic host, or linked.
///
/// # Panics
/// When it cannot be compiled.
pub fn back(linked: bool) -> PathBuf {
    static FILES: [OnceLock<PathBuf>; 2] = [OnceLock::new(), OnceLock::new()];
    let make = || with_farcall("back", &["back.idl"], "BACK_CODE", linked).remove(0);
    FILES[usize::from(linked)].get_or_init(make).clone()
}

/// Compiles code that uses libfarcall.so, and puts its interface files beside it.
fn with_farcall(stem: &str, files: &[&str], marker: &str, linked: bool) -> Vec<PathBuf> {
    let folder = folder(if linked { "linked" } else { "generic" });
    let library = library_directory();
    let headers = root().join("clients");
    let there = library.display();
    let headers =
        ["c", "gridrpc"].map(|of| format!("-I{}", headers.join(of).join("include").display()));
    let search = [format!("-L{there}"), format!("-Wl,-rpath,{there}")];
    let code = if linked { format!("{stem}.o") } else { format!("lib{stem}.so") };
    let linking =
        if linked { vec!["-c"] } else { vec!["-shared", &search[0], &search[1], "-lfarcall"] };
    let options: Vec<&str> =
        ["-fPIC", "-std=gnu11", &headers[0], &headers[1]].into_iter().chain(linking).collect();
    compile(&format!("{stem}.c"), &folder.join(&code), &options);
    let code = if linked { code } else { format!("./{code}") };
    files.iter().map(|idl| place(idl, &folder, marker, &code)).collect()
}

/// inline.idl with the object that it requires.
///
/// # Panics
/// When it cannot be compiled.
pub fn inline() -> PathBuf {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    let make = || {
        let folder = folder("inline");
        compile("object.c", &folder.join("object.o"), &["-c", "-fPIC"]);
        place("inline.idl", &folder, "nothing to replace", "")
    };
    FILE.get_or_init(make).clone()
}

/// resident.idl: what makes data, and uses it.
pub fn resident() -> PathBuf {
    root().join("tests/routines/resident.idl")
}

/// objects.idl: classes.
pub fn objects() -> PathBuf {
    root().join("tests/routines/objects.idl")
}

/// How clients of a list start its private server, which writes what it learns to this folder and
/// not to the user's own.
///
/// # Panics
/// When the folder is gone.
pub fn options_of_lists(folder: &Directory) -> ConnectOptions {
    let learned = folder.0.join("learned").display().to_string();
    let text = format!(
        "[[plugin]]\nname = \"metaserver\"\nslot = \"metaserver\"\n[plugin.options]\n\
         learned_file = \"{learned}\"\n"
    );
    let manifest = folder.write("list.toml", &text);
    let start = format!(
        "#!/bin/sh\nFARCALL_LIBRARY_DIRECTORY={} exec {} \"$@\"\n",
        library_directory().display(),
        program().display()
    );
    let server = folder.write("server", &start);
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(&server, executable).expect("it was just written");
    let here = ServeOptions {
        program: Some(server),
        files: Vec::new(),
        arguments: vec!["--manifest".to_owned(), manifest.display().to_string()],
        timeout: None,
    };
    ConnectOptions { here, ..ConnectOptions::default() }
}
