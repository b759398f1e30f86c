//! Which compiler and linker a module gets, and with which options.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use farcall_base::{Error, ErrorKind, Result};
use farcall_idl::interface::{Language, Module};

use super::confined::{check_program, check_words};
use super::generate::SourceLanguage;
use crate::library::names::{self, LibraryName};
use crate::words;

/// Compilers, linker and the module's own options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Toolchain {
    c: Vec<String>,
    cpp: Vec<String>,
    linker: Vec<String>,
    compile_options: Vec<String>,
    link_options: Vec<String>,
}

impl Toolchain {
    /// What the module names with `Compiler`, `Linker` and `CompileOptions`; `cc` and `c++` where
    /// it names nothing, and `mpicc` and `mpicxx` for routines of MPI.
    pub fn of(module: &Module) -> Result<Toolchain> {
        let named = |text: &Option<String>| {
            text.as_deref().map(words::split).filter(|words| !words.is_empty())
        };
        let compiler = named(&module.compiler);
        let default = |program: &str| compiler.clone().unwrap_or_else(|| vec![program.to_string()]);
        let parallel = module.is_parallel();
        let has_cpp =
            module.routines.iter().any(|routine| routine.implementation.language == Language::Cpp);
        let linker =
            named(&module.linker).unwrap_or_else(|| default(compiler_for(has_cpp, parallel)));
        let c = default(compiler_for(false, parallel));
        let cpp = default(compiler_for(true, parallel));
        let mut toolchain =
            Toolchain { c, cpp, linker, compile_options: Vec::new(), link_options: Vec::new() };
        module.compile_options.iter().try_for_each(|text| toolchain.add_options(text))?;
        Ok(toolchain)
    }

    /// Plain options serve compiler and linker both (`-fopenmp`); `CFLAGS = …` and `LDFLAGS = …`
    /// one of them, because Ninf-G copied these strings into a makefile.
    fn add_options(&mut self, text: &str) -> Result<()> {
        let assignment = text
            .split_once('=')
            .filter(|(name, _)| is_variable(name.trim_end_matches(['+', ':', ' '])));
        let Some((name, value)) = assignment else {
            self.compile_options.extend(words::split(text));
            self.link_options.extend(words::split(text));
            return Ok(());
        };
        match name.trim_end_matches(['+', ':', ' ']).trim() {
            "CFLAGS" | "CPPFLAGS" | "CXXFLAGS" => self.compile_options.extend(words::split(value)),
            "LDFLAGS" | "LDLIBS" | "LIBS" => self.link_options.extend(words::split(value)),
            other => {
                let message = format!("CompileOptions sets the make variable \"{other}\"");
                return Err(Error::new(ErrorKind::InvalidSource, "build the module", message).fix(
                    "set CFLAGS, CPPFLAGS, CXXFLAGS, LDFLAGS or LDLIBS, or write the options \
                        without a variable",
                ));
            }
        }
        Ok(())
    }

    /// Program and options that compile a file of `language`.
    ///
    /// Objects need not be position independent: archives that physicists bring along seldom are,
    /// and one image per module gains nothing from it.
    pub fn compile(&self, language: SourceLanguage) -> Vec<String> {
        let program = if language == SourceLanguage::Cpp { &self.cpp } else { &self.c };
        let ours = ["-O2", "-g1", "-fno-pie"].map(String::from);
        [program.as_slice(), ours.as_slice(), self.compile_options.as_slice()].concat()
    }

    /// Program that links.
    pub fn linker(&self) -> &[String] {
        &self.linker
    }

    /// Options of the module for the link.
    pub fn link_options(&self) -> &[String] {
        &self.link_options
    }

    /// Refuses programs that are no known compilers, and words of the module, and `arguments` of
    /// its link, that are not known to name none.
    pub fn check(&self, arguments: &[String]) -> Result<()> {
        for words in [&self.c, &self.cpp, &self.linker] {
            let Some((program, behind)) = words.split_first() else { continue };
            check_program(program)?;
            let sequences: [&[String]; 4] =
                [behind, &self.compile_options, &self.link_options, arguments];
            sequences.into_iter().try_for_each(|words| check_words(program, words))?;
        }
        Ok(())
    }

    /// Compilers and linker.
    pub fn programs(&self) -> impl Iterator<Item = &str> {
        [&self.c, &self.cpp, &self.linker]
            .into_iter()
            .filter_map(|words| words.first())
            .map(String::as_str)
    }

    /// All options of the module's.
    pub fn words(&self) -> Vec<String> {
        let behind =
            [&self.c, &self.cpp, &self.linker].into_iter().flat_map(|words| words.iter().skip(1));
        behind.chain(&self.compile_options).chain(&self.link_options).cloned().collect()
    }

    /// Identity of the compilers for the cache: path, size and time of the program behind each
    /// name.
    pub fn identity(&self) -> String {
        let programs = [&self.c, &self.cpp, &self.linker].map(|words| program_identity(&words[0]));
        format!("{self:?} {programs:?}")
    }
}

/// The compiler of modules that name none: those of an MPI know where its headers and libraries
/// are.
pub(crate) fn compiler_for(cpp: bool, parallel: bool) -> &'static str {
    match (cpp, parallel) {
        (false, false) => "cc",
        (true, false) => "c++",
        (false, true) => "mpicc",
        (true, true) => "mpicxx",
    }
}

/// A make variable's name, not an option (`-DX=1`) or a word (`a=b`).
fn is_variable(name: &str) -> bool {
    let name = name.trim();
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

fn program_identity(program: &str) -> String {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .map(|directory| directory.join(program))
        .find(|file| file.is_file());
    // An upgraded compiler behind an unchanged name shows in its size and time; the link is
    // followed.
    let metadata = found.as_ref().and_then(|file| std::fs::metadata(file).ok());
    let age = metadata.as_ref().and_then(|m| m.modified().ok()?.duration_since(UNIX_EPOCH).ok());
    format!("{found:?} {:?} {age:?}", metadata.map(|m| m.len()))
}

/// What the linker gets for the module's `Required` and `Library`, and the files among it whose
/// bytes matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Inputs {
    /// Arguments, in order.
    pub arguments: Vec<String>,
    /// Objects and archives.
    pub files: Vec<PathBuf>,
}

impl Inputs {
    /// Inputs of `module`, whose relative names start at `base`.
    pub fn of(module: &Module, base: &Path) -> Result<Inputs> {
        let mut inputs = Inputs::default();
        names::of_module(module).iter().try_for_each(|name| inputs.add(name, base))?;
        Ok(inputs)
    }

    fn add(&mut self, name: &LibraryName, base: &Path) -> Result<()> {
        match name {
            LibraryName::Short(short) => self.arguments.push(format!("-l{short}")),
            LibraryName::LinkerOption(option) => self.arguments.push(option.clone()),
            LibraryName::Directory(directory) => {
                let directory = base.join(directory);
                self.arguments.push(format!("-L{}", directory.display()));
                self.run_time_path(&directory);
            }
            LibraryName::Shared(file) if file.contains('/') || base.join(file).exists() => {
                let path = base.join(file);
                self.arguments.push(path.display().to_string());
                self.run_time_path(path.parent().unwrap_or(base));
            }
            LibraryName::Shared(file) => self.arguments.push(format!("-l:{file}")),
            LibraryName::Object(file) => {
                let path = base.join(file);
                if !path.is_file() {
                    return Err(missing_object(file, &path));
                }
                self.arguments.push(path.display().to_string());
                self.files.push(path);
            }
        }
        Ok(())
    }

    /// The executable looks for its shared libraries where the linker found them.
    fn run_time_path(&mut self, directory: &Path) {
        self.arguments.extend(["-Xlinker", "-rpath", "-Xlinker"].map(String::from));
        self.arguments.push(directory.display().to_string());
    }
}

fn missing_object(file: &str, path: &Path) -> Error {
    Error::new(ErrorKind::Unavailable, "build the module", format!("\"{file}\" does not exist"))
        .with("path", path.display())
        .fix(
            "compile it first; relative names in `Required` and `Library` start at the IDL \
            file's directory",
        )
}

/// Run-time libraries that objects of other compilers need, known by the symbols they leave
/// undefined.
const RUN_TIMES: [(&str, &str); 6] = [
    ("_gfortran_", "-lgfortran"),
    ("GOMP_", "-lgomp"),
    ("__gxx_personality_v0", "-lstdc++"),
    ("_ZNSt", "-lstdc++"),
    ("_ZdlPv", "-lstdc++"),
    ("pthread_create", "-lpthread"),
];

/// The run-time libraries that `object` (an object or archive) asks for; names lie in it in clear.
///
/// A name that is only mentioned links a library for nothing, which does no harm.
pub fn run_times(object: &[u8]) -> Vec<&'static str> {
    let mut libraries: Vec<&'static str> = Vec::new();
    for (mark, library) in RUN_TIMES {
        if !libraries.contains(&library) && contains(object, mark.as_bytes()) {
            libraries.push(library);
        }
    }
    libraries
}

/// Jumps from one first letter to the next: archives have hundreds of megabytes.
fn contains(bytes: &[u8], mark: &[u8]) -> bool {
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| *byte == mark[0]) {
        if rest[at..].starts_with(mark) {
            return true;
        }
        rest = &rest[at + 1..];
    }
    false
}

#[cfg(test)]
#[path = "toolchain_tests.rs"]
mod tests;
