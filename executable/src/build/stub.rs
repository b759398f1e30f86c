//! Stub executables as Ninf-G has them: one program for each `Define` and `DefClass`, made by a
//! makefile from generated C.
//!
//! Old Makefiles rely on the names: `x.idl` gives `x.mak`, `_stub_NAME.c`, and by these
//! `_stub_NAME`, `_stub_NAME.inf`, `MODULE.HOST.nrf` and the older `MODULE.HOST.ngdef`. Each
//! program is an image of its own, so that definitions may use one name for different things.

use std::fmt::Write;

use farcall_base::{Error, ErrorKind, Result};
use farcall_idl::Dialect;
use farcall_idl::encode::encode_module;
use farcall_idl::interface::{Code, Language, Module};

use super::toolchain::compiler_for;
use super::{generate, refuse_unserved};
use crate::library::names::{self, LibraryName};
use crate::words;

/// A file to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StubFile {
    /// Its name, without a folder.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// What the makefile says of where it comes from.
#[derive(Clone, Debug)]
pub struct StubNames {
    /// The interface file, as `make` finds it.
    pub idl: String,
    /// The interface file's name without its ending: that of the makefile.
    pub stem: String,
    /// Whose generator it replaces.
    pub dialect: Dialect,
    /// Options of `ng_gen` with which it was read.
    pub options: Vec<String>,
    /// The prefix that is used where `$NG_DIR` is not set.
    pub prefix: String,
}

/// The makefile, and the code of each stub executable of `module`.
///
/// # Errors
/// `InvalidSource` for what no executable can be made of, and for names that make a makefile mean
/// something else.
pub fn stubs(module: &Module, names: &StubNames) -> Result<Vec<StubFile>> {
    for word in [&names.idl, &names.stem, &module.name].into_iter().chain(&names.options) {
        check_word(word)?;
    }
    let parts = parts(module);
    if parts.is_empty() {
        return Err(Error::new(
            ErrorKind::InvalidSource,
            "make stub executables",
            "there is nothing to build",
        )
        .with("file", &names.idl)
        .fix("write a Define or a DefClass"));
    }
    parts.iter().try_for_each(|part| {
        refuse_unserved(&part.module).map_err(|error| error.with("stub", &part.name))
    })?;
    let sources = parts.iter().map(|part| {
        let name = format!("{}.c", part.program());
        let text = generate::stub(
            &part.module,
            names.dialect,
            &name,
            &encode_module(&carried(&part.module)),
        );
        StubFile { name, text }
    });
    let named = |stem: &str, text| StubFile { name: format!("{stem}.mak"), text };
    let makefile = named(&names.stem, makefile(module, &parts, names));
    // The references name it after the module; two files of one module have two.
    let by_module = (module.name != names.stem)
        .then(|| named(&module.name, format!("include {}.mak\n", names.stem)));
    Ok(sources.chain(by_module).chain([makefile]).collect())
}

/// What one program is made of.
struct Part {
    name: String,
    module: Module,
}

impl Part {
    fn program(&self) -> String {
        format!("_stub_{}", self.name)
    }
}

/// A module for each routine and each class of `module`.
fn parts(module: &Module) -> Vec<Part> {
    let empty = Module { routines: Vec::new(), classes: Vec::new(), ..module.clone() };
    let routines = module.routines.iter().map(|routine| Part {
        name: routine.interface.name.clone(),
        module: Module { routines: vec![routine.clone()], ..empty.clone() },
    });
    let classes = module.classes.iter().map(|class| Part {
        name: class.name.clone(),
        module: Module { classes: vec![class.clone()], ..empty.clone() }.with_methods(),
    });
    let mut parts: Vec<Part> = routines.chain(classes).collect();
    parts.iter_mut().for_each(|part| compile_as_named(&mut part.module));
    parts
}

/// A C++ compiler takes every file for C++: with one, all code is.
fn compile_as_named(module: &mut Module) {
    if !module.compiler.as_ref().is_some_and(|compiler| is_cpp(compiler)) {
        return;
    }
    module.classes.iter_mut().for_each(|class| class.language = Language::Cpp);
    for routine in &mut module.routines {
        if routine.implementation.language == Language::C
            && matches!(routine.implementation.code, Code::Body { .. })
        {
            routine.implementation.language = Language::Cpp;
        }
    }
}

/// Whether this is the command of a C++ compiler: `g++-13 -O2`.
fn is_cpp(command: &str) -> bool {
    words::split(command)
        .first()
        .is_some_and(|program| program.rsplit('/').next().unwrap_or("").contains("++"))
}

/// The module as the program carries it: without the code, which is compiled.
fn carried(module: &Module) -> Module {
    let mut carried = Module { globals: Vec::new(), ..module.clone() };
    carried.classes.iter_mut().for_each(|class| class.state = None);
    for routine in &mut carried.routines {
        if let Code::Body { text, .. } = &mut routine.implementation.code {
            text.clear();
        }
    }
    carried
}

/// Refuses what `make` or its shell would not take for a name.
fn check_word(word: &str) -> Result<()> {
    let plain = |c: char| c.is_alphanumeric() || "_-./+,:@%=".contains(c);
    if word.chars().all(plain) && !word.is_empty() {
        return Ok(());
    }
    let message = format!("\"{}\" cannot be used in a makefile", word.escape_debug());
    Err(Error::new(ErrorKind::InvalidArgument, "make stub executables", message)
        .fix("use only letters, digits, _, -, . and / in names"))
}

/// `text` as a makefile has it: a dollar is two, and a line ends where the text does.
fn escaped(text: &str) -> String {
    text.replace(['\n', '\r'], " ").replace('$', "$$").replace('#', "\\#")
}

/// Words of the IDL file as the shell of a rule takes them. `$(NAME)` stays make's: interface files
/// rely on that.
fn shell_words(words: &[String]) -> String {
    let plain = |word: &String| {
        !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "_-./+,:@%=$()".contains(c))
    };
    let shown = words.iter().map(|word| {
        let word = word.replace(['\n', '\r'], " ");
        if plain(&word) { word } else { format!("'{}'", escaped(&word).replace('\'', "'\\''")) }
    });
    shown.collect::<Vec<_>>().join(" ")
}

/// One that does not compile costs itself: the others are made, and the lists have those. What is
/// left of an older build is not up to date, and not listed. Who asks what would be made (`make -n`,
/// `make -q`) comes no further than the first line, which such a `make` follows.
const ALL: &str = "\
NG_MAKE = $(MAKE) --no-print-directory -f $(firstword $(MAKEFILE_LIST)) NG_NRF_FILE=$(NG_NRF_FILE)
NG_ALL_FILES = $(NG_STUB_PROGRAM) $(NG_INF_FILES) $(NG_NRF_FILE) $(NG_DIF_FILE)

all: ng_stubs

ng_stubs:
\t+@$(NG_MAKE) -k $(NG_ALL_FILES) || :
\t@$(NG_MAKE) -q $(NG_ALL_FILES) >/dev/null 2>&1 || { \\
\tmade=; lost=; \\
\tfor stub in $(NG_STUB_PROGRAM); do \\
\t\tif $(NG_MAKE) -q $$stub >/dev/null 2>&1; then made=\"$$made $$stub\"; \\
\t\telse lost=\"$$lost $$stub\"; fi; \\
\tdone; \\
\trm -f $(NG_NRF_FILE) $(NG_DIF_FILE); \\
\tif [ -n \"$$made\" ]; then \\
\t\t$(NG_DIR)/bin/ng_gen_nrf -o $(NG_NRF_FILE) $$made && \\
\t\t$(NG_DIR)/bin/ng_gen_dif -o $(NG_DIF_FILE) $$made; \\
\tfi; \\
\techo \"$(firstword $(MAKEFILE_LIST)): could not be built, for the errors above:$$lost;\" \\
\t\t\"$(NG_NRF_FILE) lists$${made:- none}\" >&2; \\
\texit 1; }

";

fn makefile(module: &Module, parts: &[Part], names: &StubNames) -> String {
    let programs: Vec<String> = parts.iter().map(Part::program).collect();
    let all = |ending: &str| {
        programs.iter().map(|name| format!("{name}{ending}")).collect::<Vec<_>>().join(" ")
    };
    let mut text = format!(
        "# {stem}.mak: makes the stub executables of module {module}; generated from {idl}.\n\n\
         {prefix}include $(NG_DIR)/lib/template.mk\n\n{options}\n\
         NG_STUB_SRC = {sources}\nNG_STUB_PROGRAM = {programs}\nNG_INF_FILES = {infs}\n\
         NG_NRF_FILE := {module}.$(shell $(NG_DIR)/bin/ng_gen_nrf --hostname).nrf\n\
         NG_DIF_FILE := $(NG_NRF_FILE:.nrf=.ngdef)\n\n\
         {all}\
         $(NG_STUB_SRC): {idl}\n\t$(NG_DIR)/bin/{generator} {ng_options}{idl}\n",
        stem = names.stem,
        module = module.name,
        idl = names.idl,
        // `make` has no way to write a folder with blanks: whoever has one sets $NG_DIR to a link.
        prefix = check_word(&names.prefix)
            .map_or(String::new(), |()| format!("NG_DIR ?= {}\n", names.prefix)),
        options = options(module),
        sources = all(".c"),
        generator = if names.dialect == Dialect::Ninf { "ninf_gen" } else { "ng_gen" },
        programs = all(""),
        infs = all(".inf"),
        all = ALL,
        ng_options = names.options.iter().map(|option| format!("{option} ")).collect::<String>(),
    );
    parts.iter().for_each(|part| rules(&mut text, part));
    let objects = all(".o");
    let _ = write!(
        text,
        "\n$(NG_NRF_FILE): $(NG_STUB_PROGRAM)\n\t$(NG_DIR)/bin/ng_gen_nrf -o $@ \
         $(NG_STUB_PROGRAM)\n\n$(NG_DIF_FILE): $(NG_STUB_PROGRAM)\n\t$(NG_DIR)/bin/ng_gen_dif -o \
         $@ $(NG_STUB_PROGRAM)\n\ninstall: all\n\t$(NG_INSTALL) -d $(NG_NRF_DIR)\n\t$(NG_INSTALL) \
         -m 644 $(NG_NRF_FILE) $(NG_DIF_FILE) $(NG_NRF_DIR)\n\nclean:\n\trm -f {objects} \
         $(NG_STUB_SRC)\n\nveryclean: clean\n\trm -f $(NG_STUB_PROGRAM) $(NG_INF_FILES) \
         $(NG_NRF_FILE) $(NG_DIF_FILE)\n\n.PHONY: all ng_stubs install clean veryclean\n"
    );
    text
}

/// The module's own compilers and options. An assignment (`CFLAGS = -O3`) is make's own, as it was
/// with Ninf-G.
fn options(module: &Module) -> String {
    let mut text = String::new();
    let compiler = &module.compiler;
    let linker = module.linker.as_ref().or(module.compiler.as_ref());
    for (variable, program) in [("NG_COMPILER", compiler.as_ref()), ("NG_LINKER", linker)] {
        if let Some(program) = program {
            let _ = writeln!(text, "{variable} = {}", program.replace(['\n', '\r'], " "));
        }
    }
    for option in &module.compile_options {
        let option = option.replace(['\n', '\r'], " ");
        let assigned =
            option.split_once('=').map(|(name, _)| name.trim_end_matches(['+', ':', '?', ' ']));
        let variable = assigned.is_some_and(|name| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
        });
        let _ = if variable {
            writeln!(text, "{option}")
        } else {
            writeln!(text, "NG_USER_CFLAGS += {option}")
        };
    }
    text
}

/// A variable of make in a list of objects may stand for options, too, which are no files.
fn files_of(objects: &str) -> String {
    let has_variable = objects.contains("$(") && !objects.contains("$$");
    if has_variable { format!("$(filter-out -%,{objects})") } else { objects.to_owned() }
}

/// How one program is compiled and linked, and its interface written.
fn rules(text: &mut String, part: &Part) {
    let mut objects = Vec::new();
    let mut libraries = Vec::new();
    for name in names::of_module(&part.module) {
        match name {
            LibraryName::Object(file) => objects.push(file),
            LibraryName::Short(short) => libraries.push(format!("-l{short}")),
            LibraryName::LinkerOption(option) => libraries.push(option),
            LibraryName::Directory(folder) => {
                let from = if folder.is_absolute() { "" } else { "$(CURDIR)/" };
                libraries.extend(
                    ["-L", "-Wl,-rpath,"]
                        .map(|option| format!("{option}{from}{}", folder.display())),
                );
            }
            LibraryName::Shared(file) if file.contains('/') => libraries.push(file),
            LibraryName::Shared(file) => libraries.push(format!("-l:{file}")),
        }
    }
    // Where the makefile's own directory has a rule for an object, that is what makes it.
    let program = part.program();
    let wanted = shell_words(&objects);
    let files = files_of(&wanted);
    let linked = shell_words(&libraries);
    // What objects of Fortran and C++ need beside themselves shows once they are made.
    let run_times = if objects.is_empty() {
        String::new()
    } else {
        format!(" $$($(NG_DIR)/bin/ng_config --run-times {files})")
    };
    // Definitions in C++ may stand beside others in C.
    let cpp =
        part.module.routines.iter().any(|routine| routine.implementation.language == Language::Cpp);
    let parallel = part.module.is_parallel();
    let chosen = |named: &Option<String>, otherwise| match (named, cpp, parallel) {
        (None, _, true) => compiler_for(cpp, true),
        (None, true, false) => "$(CXX)",
        _ => otherwise,
    };
    let compiler = chosen(&part.module.compiler, "$(NG_COMPILER)");
    let linker =
        chosen(&part.module.linker.clone().or(part.module.compiler.clone()), "$(NG_LINKER)");
    let _ = write!(
        text,
        "\n{program}.o: {program}.c\n\t{compiler} $(NG_CFLAGS) $(CFLAGS) $(NG_USER_CFLAGS) \
         $(NG_CPPFLAGS) -I$(NG_DIR)/include -c -o $@ {program}.c\n\n\
         {program}: {program}.o {files}\n\t{linker} $(NG_CFLAGS) $(CFLAGS) -o $@ {program}.o \
         {wanted} $(LDFLAGS) $(NG_USER_CFLAGS) {linked}{run_times} $(LIBS) $(NG_STUB_LDFLAGS)\n\n\
         {program}.inf: {program}\n\t./{program} -i $@\n",
    );
}

#[cfg(test)]
#[path = "stub_tests.rs"]
mod tests;
