//! Writes the C of a linked executable: one file per inline body or class, and one with the table
//! and `main`.
//!
//! Each body is a function `farcall_body_<n>` in a file of its own, so that a routine called
//! `sleep` may call libc's `sleep()`, and statics of one body never meet those of another.
//! Parameters are pointers without extents, as in Ninf-G: bodies index by hand (`a[i * n + j]`) and
//! hand arrays on to libraries; a VLA type would break both, C++ has none, and `column` order has
//! no C type at all. `#line` leads the compiler's messages back to the IDL file.

mod declaration;
mod surroundings;

use std::fmt::Write;

use farcall_idl::Dialect;
use farcall_idl::interface::{Class, Code, Language, Module, Routine, StructType};

use super::entry_name;
use declaration::{linkage, prototype, struct_type};
use surroundings::Surroundings;

/// What a program that MPI starts tells its server's library of its MPI: C and C++ alike.
const RANKS: &str = include_str!("ranks.c");

/// What bodies take for granted: Ninf-G's generated files included these, and half of all IDL files
/// rely on it.
const HEADERS: [&str; 16] = [
    "assert.h",
    "ctype.h",
    "errno.h",
    "limits.h",
    "math.h",
    "signal.h",
    "stdarg.h",
    "stddef.h",
    "stdint.h",
    "stdio.h",
    "stdlib.h",
    "string.h",
    "sys/time.h",
    "sys/types.h",
    "time.h",
    "unistd.h",
];

/// The one of these that has short names, which old files have for other things.
const MATH: &str = "math.h";
const MATH_NAMES: [&str; 7] = ["gamma", "j0", "j1", "jn", "y0", "y1", "yn"];

/// What newer compilers refuse in C and older ones took with a warning.
const OLD_C: [&str; 6] = [
    "#if defined __GNUC__ && !defined __cplusplus",
    "#pragma GCC diagnostic warning \"-Wimplicit-function-declaration\"",
    "#pragma GCC diagnostic warning \"-Wimplicit-int\"",
    "#pragma GCC diagnostic warning \"-Wint-conversion\"",
    "#pragma GCC diagnostic warning \"-Wincompatible-pointer-types\"",
    "#endif",
];

/// A generated file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    /// Name without directory: `body_0.c`, `body_1.cc`.
    pub name: String,
    /// Its text.
    pub text: String,
    /// The compiler it is for.
    pub language: SourceLanguage,
    /// Where this is not empty, the only symbols that other files may see: the state of a class is
    /// its own.
    pub visible: Vec<String>,
}

/// The compiler a file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SourceLanguage {
    /// C.
    C,
    /// C++.
    Cpp,
}

/// All files of the module; the last is the table with `main`.
pub(crate) fn sources(module: &Module) -> Vec<Source> {
    let dialect = Dialect::Farcall;
    let context = Context { structs: all_structs(module), module, dialect, file: None };
    let mut files = context.code_files();
    files.push(table(module));
    files
}

/// The class whose method a routine is.
fn class_of<'a>(module: &'a Module, routine: &Routine) -> Option<&'a Class> {
    routine.interface.method()?;
    module.classes.iter().find(|class| class.name == routine.interface.class)
}

/// How many of the files hold a copy of the module's `Globals`.
pub(crate) fn copies_of_globals(module: &Module) -> usize {
    if module.globals.is_empty() {
        return 0;
    }
    let with_file = |routine: &&Routine| {
        matches!(routine.implementation.code, Code::Body { .. })
            || symbol_of_globals(module, routine).is_some()
    };
    module.routines.iter().filter(with_file).count()
}

/// The symbol of a `Calls` that must be seen through `Globals`: a function defined or declared
/// there (perhaps `static`), or a C++ one, whose linker name only its declaration tells.
fn symbol_of_globals<'a>(module: &Module, routine: &'a Routine) -> Option<&'a str> {
    let Code::Symbol { symbol, .. } = &routine.implementation.code else { return None };
    let state = class_of(module, routine).and_then(|class| class.state.as_ref());
    let mut texts = module.globals.iter().chain(state).map(|(text, _, _)| text);
    let declared = texts.any(|text| has_word(text, symbol));
    let has_text = !module.globals.is_empty() || state.is_some();
    let cpp = routine.implementation.language == Language::Cpp && has_text;
    (declared || cpp).then_some(symbol)
}

/// Whether `word` stands in `text` as an identifier of its own.
fn has_word(text: &str, word: &str) -> bool {
    let inside = |letter: Option<char>| {
        letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_')
    };
    !word.is_empty()
        && text.match_indices(word).any(|(at, _)| {
            !inside(text[..at].chars().next_back())
                && !inside(text[at + word.len()..].chars().next())
        })
}

/// Every struct of the module once: `Globals` may use any of them in any file.
fn all_structs(module: &Module) -> Vec<&StructType> {
    let mut structs: Vec<&StructType> = Vec::new();
    for found in module.routines.iter().flat_map(|routine| &routine.interface.structs) {
        if !structs.iter().any(|known| known.name == found.name) {
            structs.push(found);
        }
    }
    structs
}

/// A text that knows its own lines, to come back from `#line`.
struct Text {
    name: String,
    text: String,
}

impl Text {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Raw text of the IDL file, with the compiler's eyes on that file meanwhile.
    fn raw(&mut self, raw: &str, file: &str, line: u32) {
        self.line(&format!("#line {line} \"{}\"", quoted(file)));
        self.line(raw);
        let next = self.text.matches('\n').count() + 2;
        let name = self.name.clone();
        self.line(&format!("#line {next} \"{name}\""));
    }
}

/// The text inside a C string literal.
fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// The text inside a C comment: a file's name, hence a module's, may hold anything.
fn uncommented(text: &str) -> String {
    text.replace('*', "_").replace(['\n', '\\'], " ")
}

struct Context<'a> {
    structs: Vec<&'a StructType>,
    module: &'a Module,
    /// Whose generated code bodies rely on.
    dialect: Dialect,
    /// The file that all code goes to; each routine has its own where it is not said.
    file: Option<&'a str>,
}

impl Context<'_> {
    /// The files of all code: one for each routine, and one for each class.
    fn code_files(&self) -> Vec<Source> {
        let routines = self.module.routines.iter().enumerate();
        let routines = routines.filter(|(_, routine)| class_of(self.module, routine).is_none());
        let classes = self.module.classes.iter().enumerate();
        let routines = routines.filter_map(|(index, routine)| self.routine(index, routine));
        routines.chain(classes.filter_map(|(index, class)| self.class(index, class))).collect()
    }

    /// A file of this name, or the one that all code goes to.
    fn text(&self, name: String) -> Text {
        Text { name: self.file.map_or(name, str::to_owned), text: String::new() }
    }

    /// The file of a routine that needs one.
    fn routine(&self, index: usize, routine: &Routine) -> Option<Source> {
        let cpp = routine.implementation.language == Language::Cpp;
        let (language, ending) =
            if cpp { (SourceLanguage::Cpp, "cc") } else { (SourceLanguage::C, "c") };
        let mut text = self.text(format!("routine_{index}.{ending}"));
        self.preamble(&mut text, &routine.interface.full_name());
        self.code(&mut text, index, routine, cpp)?;
        Some(Source { name: text.name, text: text.text, language, visible: Vec::new() })
    }

    /// The file of a class: its state, and all methods that see it.
    fn class(&self, number: usize, class: &Class) -> Option<Source> {
        let routines = self.module.routines.iter().enumerate();
        let methods = || {
            routines.clone().filter(|(_, one)| {
                one.interface.method().is_some() && one.interface.class == class.name
            })
        };
        let cpp = class.language == Language::Cpp
            || methods().any(|(_, method)| method.implementation.language == Language::Cpp);
        let (language, ending) =
            if cpp { (SourceLanguage::Cpp, "cc") } else { (SourceLanguage::C, "c") };
        let mut text = self.text(format!("class_{number}.{ending}"));
        self.preamble(&mut text, &class.name);
        if let Some((state, file, line)) = &class.state {
            // C++ has a word for what is this file's own; objects of C are made so after they are
            // compiled.
            text.line(if cpp { "namespace {" } else { "" });
            text.raw(state, file, *line);
            text.line(if cpp { "}" } else { "" });
        }
        let visible: Vec<String> = methods()
            .filter_map(|(index, method)| self.code(&mut text, index, method, cpp))
            .collect();
        let is_empty = visible.is_empty();
        let visible = if cpp { Vec::new() } else { visible };
        (!is_empty).then_some(Source { name: text.name, text: text.text, language, visible })
    }

    /// What a routine needs in its file, if anything; returns the symbol by which the table finds
    /// it.
    fn code(&self, text: &mut Text, index: usize, routine: &Routine, cpp: bool) -> Option<String> {
        match &routine.implementation.code {
            Code::Body { text: body, file, line } => {
                text.line(&prototype(index, &routine.interface, self.dialect, cpp));
                let given = Surroundings::of(self.dialect, routine, body);
                text.line(&format!("{{{}", given.before));
                text.raw(body, file, *line);
                text.line(&format!("{}}}", given.behind));
                Some(format!("farcall_body_{index}"))
            }
            Code::Symbol { .. } => {
                let symbol = symbol_of_globals(self.module, routine)?;
                text.line(&format!("{}void (*farcall_address_{index}(void))(void)", linkage(cpp)));
                text.line(&format!("{{ return (void (*)(void)){symbol}; }}"));
                Some(format!("farcall_address_{index}"))
            }
        }
    }

    /// Whether an old file's own names are some of `<math.h>`, which the references did not include.
    fn has_math_names(&self) -> bool {
        let globals = self.module.globals.iter().map(|(text, _, _)| text);
        self.dialect.is_old()
            && globals.flat_map(|text| MATH_NAMES.map(|name| has_word(text, name))).any(|has| has)
    }

    /// Headers, the types of the IDL and the module's `Globals`.
    fn preamble(&self, text: &mut Text, name: &str) {
        text.line(&format!(
            "/* Code of {}; generated, the source is the IDL file. */",
            uncommented(name)
        ));
        if self.dialect.is_old() {
            // Functions without a declaration and the like were warnings to the compilers of then.
            OLD_C.iter().for_each(|line| text.line(line));
        }
        for header in HEADERS.iter().filter(|header| **header != MATH || !self.has_math_names()) {
            text.line(&format!("#include <{header}>"));
        }
        if self.module.is_parallel() {
            text.line("#include <mpi.h>");
        }
        if self.dialect.is_old() {
            // It has the two types as well.
            text.line("#include <grpc_stub.h>");
        } else {
            // Headers that bodies include have them as well.
            text.line("#define FARCALL_COMPLEX_TYPES");
            text.line("typedef struct { float r, i; } scomplex;");
            text.line("typedef struct { double r, i; } dcomplex;");
        }
        for description in &self.structs {
            text.line(&struct_type(description));
        }
        for (globals, file, line) in &self.module.globals {
            text.raw(globals, file, *line);
        }
    }
}

/// The table of entries and `main`.
///
/// Symbols are declared under names of our own with the linker's name beside it, so that a routine
/// may be called like a C keyword or a compiler's builtin.
fn table(module: &Module) -> Source {
    let ending = Ending {
        declaration: "int farcall_executable_main(int argc, char **argv, const struct \
                      farcall_entry *entries, size_t count);\n"
            .into(),
        call: "farcall_executable_main(argc, argv, farcall_entries, {count})",
    };
    let text = table_text(module, &ending);
    Source { name: "table.c".into(), text, language: SourceLanguage::C, visible: Vec::new() }
}

/// What `main` ends in.
struct Ending {
    /// What it needs to be declared.
    declaration: String,
    /// The call, with `{count}` for the number of entries.
    call: &'static str,
}

/// All the code of a module as one file that is C and C++ alike, and `main`: what `ng_gen` writes
/// for a stub executable.
///
/// `carried` is the module in its canonical encoding, which the program gives to whoever asks.
pub(crate) fn stub(module: &Module, dialect: Dialect, file: &str, carried: &[u8]) -> String {
    let structs = all_structs(module);
    let context = Context { structs, module, dialect, file: Some(file) };
    let code: String = context.code_files().into_iter().map(|file| file.text).collect();
    let bytes: Vec<String> = carried
        .chunks(20)
        .map(|row| row.iter().map(|byte| format!("{byte},")).collect::<String>())
        .collect();
    let declaration = format!(
        "int farcall_stub_main(int argc, char **argv, const struct farcall_entry *entries, size_t \
         count,\n    const unsigned char *module, size_t module_bytes);\nstatic const unsigned \
         char farcall_module[] = {{\n{}\n}};\n",
        bytes.join("\n"),
    );
    let call = "farcall_stub_main(argc, argv, farcall_entries, {count}, farcall_module, sizeof \
        farcall_module)";
    code + &table_text(module, &Ending { declaration, call })
}

fn table_text(module: &Module, ending: &Ending) -> String {
    let mut declared = String::new();
    let mut lines = String::new();
    let mut filled = String::new();
    let mut ranks = "";
    if module.is_parallel() {
        ranks = RANKS;
        filled.push_str("    farcall_executable_ranks(&farcall_ranks_functions);\n");
    }
    let mut names: Vec<String> = Vec::new();
    for (index, routine) in module.routines.iter().enumerate() {
        let name = entry_name(module, index).expect("index of an existing routine");
        if names.contains(&name) {
            continue;
        }
        let quoted_name = quoted(&name);
        if symbol_of_globals(module, routine).is_some() {
            let _ = writeln!(declared, "extern void (*farcall_address_{index}(void))(void);");
            let _ = writeln!(lines, "    {{ \"{quoted_name}\", 0 }},");
            let _ = writeln!(
                filled,
                "    farcall_entries[{}].function = farcall_address_{index}();",
                names.len()
            );
        } else {
            let symbol = match &routine.implementation.code {
                Code::Symbol { symbol, .. } => quoted(symbol),
                Code::Body { .. } => quoted_name.clone(),
            };
            let _ = writeln!(
                declared,
                "extern void farcall_symbol_{index}(void) __asm__(\"{symbol}\");"
            );
            let _ = writeln!(lines, "    {{ \"{quoted_name}\", farcall_symbol_{index} }},");
        }
        names.push(name);
    }
    format!(
        "/* Table of the routines of module {name}; generated. */\n\
         #include <stddef.h>\n\
         #ifdef __cplusplus\nextern \"C\" {{\n#endif\n\
         struct farcall_entry {{ const char *name; void (*function)(void); }};\n\
         {declaration}{declared}\
         #ifdef __cplusplus\n}}\n#endif\n{ranks}\
         static struct farcall_entry farcall_entries[] = {{\n{lines}    {{ 0, 0 }}\n}};\n\
         int main(int argc, char **argv)\n{{\n{filled}    return {call};\n}}\n",
        name = uncommented(&module.name),
        declaration = ending.declaration,
        call = ending.call.replace("{count}", &names.len().to_string()),
    )
}

#[cfg(test)]
#[path = "generate_tests.rs"]
mod tests;
