//! The tree to the data model, with every rule that the grammar cannot express (spec/idl.md,
//! sections 3 to 5).

mod callback;
mod constant;
mod cycles;
mod domain;
mod given;
mod options;
mod parameter;
mod routine;
mod scope;
mod strings;
mod structs;
mod types;

use std::collections::{HashMap, HashSet};

use crate::diagnostic::{Problems, shown};
use crate::dialect::Dialect;
use crate::fortran;
use crate::interface::{
    Class, Code, FINALIZE, INITIALIZE, Language, Module, StringConvention, StructType,
};
use crate::parse::tree::{self, Define, File, Name};
use crate::source::{Source, Span};

/// What all routines of a file share.
pub(crate) struct FileContext<'a> {
    source: &'a Source<'a>,
    dialect: Dialect,
    module: String,
    structs: Vec<StructType>,
    struct_names: Vec<&'a str>,
    fortran_format: String,
    strings: StringConvention,
}

impl FileContext<'_> {
    /// Raw C without its braces, and where it begins.
    fn raw(&self, span: Span) -> (String, String, u32) {
        let text = self.source.slice(span);
        let text = text.strip_prefix('{').unwrap_or(text);
        let place = self.source.place(span.start + 1);
        (text.strip_suffix('}').unwrap_or(text).to_string(), place.file, place.line)
    }

    /// Inline code.
    fn body(&self, span: Span) -> Code {
        let (text, file, line) = self.raw(span);
        Code::Body { text, file, line }
    }
}

/// Compiles the tree. The result counts only if no problem was reported.
pub(crate) fn check<'a>(
    source: &'a Source<'a>,
    file_name: &str,
    tree: &'a File,
    dialect: Dialect,
    problems: &mut Problems,
) -> Module {
    let context = FileContext {
        source,
        dialect,
        module: module_name(file_name, &tree.module, dialect, problems),
        structs: structs::compile(&tree.structs, problems),
        struct_names: tree.structs.iter().map(|structure| structure.name.text.as_str()).collect(),
        fortran_format: fortran_format(&tree.fortran_format, dialect, problems),
        strings: strings::convention(
            agreed(&tree.fortran_strings, "FortranStringConvention", dialect, problems),
            problems,
        ),
    };
    let defined = unique_names(source, tree, dialect, problems);
    let routines = defined.into_iter().map(|define| {
        hook_name(define, problems);
        routine::routine(&context, define, None, problems)
    });
    let routines = routines.collect();
    let classes =
        tree.classes.iter().map(|class| compile_class(&context, class, problems)).collect();
    Module {
        routines,
        classes,
        libraries: options::split(&tree.libraries),
        globals: tree.globals.iter().map(|span| context.raw(*span)).collect(),
        compile_options: tree.compile_options.iter().map(|option| option.text.clone()).collect(),
        compiler: agreed(&tree.compiler, "Compiler", dialect, problems)
            .map(|name| name.text.clone()),
        linker: agreed(&tree.linker, "Linker", dialect, problems).map(|name| name.text.clone()),
        executables_max: executables_max(&tree.executables_max, dialect, problems),
        name: context.module,
    }
}

/// The value of a declaration that a file makes once; the same value again does no harm (a header
/// read twice). The references take the last one.
fn agreed<'n>(
    values: &'n [Name],
    what: &str,
    dialect: Dialect,
    problems: &mut Problems,
) -> Option<&'n Name> {
    let first = values.first()?;
    if dialect.is_old() {
        let last = values.last()?;
        let other = values.iter().find(|other| other.text != last.text);
        if let Some(other) = other {
            problems.warn(other.span, format!("a later {what} replaces this one"));
        }
        return Some(last);
    }
    for other in values.iter().filter(|other| other.text != first.text) {
        problems.add(other.span, format!("a second {what}, different from the first"));
    }
    Some(first)
}

/// The declared name or the file's stem, with everything in it that no name may hold replaced.
fn module_name(file: &str, given: &[Name], dialect: Dialect, problems: &mut Problems) -> String {
    if let Some(name) = agreed(given, "Module", dialect, problems) {
        if !is_name(&name.text) {
            let help = "use letters, digits, '_' and '-', and begin with a letter";
            problems.add_with_help(
                name.span,
                format!("'{}' is not a module name", shown(&name.text)),
                help,
            );
        }
        return name.text.clone();
    }
    let base = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let stem = base.split_once('.').map_or(base, |(stem, _)| stem);
    let clean: String =
        stem.chars().map(|c| if is_name_part(c) { c } else { '_' }).take(128).collect();
    if clean.is_empty() { "unnamed".to_string() } else { clean }
}

/// Names of routines, classes and modules: they become parts of commands, files and attributes.
fn is_name(text: &str) -> bool {
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins && text.len() <= NAME_LENGTH_MAX && text.chars().all(is_name_part)
}

/// Characters of a name.
const NAME_LENGTH_MAX: usize = 128;

fn is_name_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_$-".contains(c)
}

/// Processes that the module may have at a time; 0: as many as the server has places for.
fn executables_max(given: &[Name], dialect: Dialect, problems: &mut Problems) -> u32 {
    let Some(count) = agreed(given, crate::words::EXECUTABLES_MAX, dialect, problems) else {
        return 0;
    };
    if let Ok(count @ 1..=EXECUTABLES_MOST) = count.text.parse() {
        return count;
    }
    let help = "write executables_max = 1; for routines that share data in one process";
    let message = format!("executables_max is not a number from 1 to {EXECUTABLES_MOST}");
    problems.add_with_help(count.span, message, help);
    0
}

/// More processes than this no module asks for.
const EXECUTABLES_MOST: u32 = 1_000_000;

/// The format of linker names. A wrong one would show only as an undefined symbol on the server.
fn fortran_format(given: &[Name], dialect: Dialect, problems: &mut Problems) -> String {
    let Some(format) = agreed(given, "FortranFormat", dialect, problems) else {
        return fortran::DEFAULT_FORMAT.to_string();
    };
    if let Some(wrong) = fortran::wrong_format(&format.text) {
        let message = format!("this format does not make a linker name: {wrong}");
        problems.add_with_help(
            format.span,
            message,
            "\"%s_\" puts one '_' after the name; '%l' is upper case",
        );
        return fortran::DEFAULT_FORMAT.to_string();
    }
    format.text.clone()
}

/// Routines, their aliases and classes share the names of a module. The routines that count: of two
/// of one name, the references' generators wrote the code of the second over that of the first.
fn unique_names<'a>(
    source: &Source<'_>,
    tree: &'a File,
    dialect: Dialect,
    problems: &mut Problems,
) -> Vec<&'a Define> {
    let mut defined: Vec<&Define> = tree.routines.iter().collect();
    if dialect.is_old() {
        let mut seen = HashSet::new();
        defined.reverse();
        defined.retain(|define| {
            let is_last = seen.insert(&define.name.text);
            if !is_last {
                let name = shown(&define.name.text);
                problems.warn(define.name.span, format!("a later '{name}' replaces this one"));
            }
            is_last
        });
        defined.reverse();
    }
    every_name_once(source, &defined, tree, problems);
    defined
}

fn every_name_once(source: &Source<'_>, defined: &[&Define], tree: &File, problems: &mut Problems) {
    let mut seen: HashMap<&str, Span> = HashMap::new();
    let routines = defined
        .iter()
        .flat_map(|define| std::iter::once(&define.name).chain(&define.options.aliases));
    for name in routines.chain(tree.classes.iter().map(|class| &class.name)) {
        if !is_name(&name.text) {
            let help = "use letters, digits, '_' and '-', and begin with a letter";
            problems.add_with_help(
                name.span,
                format!("'{}' is not a routine name", shown(&name.text)),
                help,
            );
        }
        match seen.get(name.text.as_str()) {
            Some(_) if problems.is_full() => problems.add(name.span, "defined twice"),
            Some(first) => {
                let place = source.place(first.start);
                let message = format!("'{}' is defined twice", shown(&name.text));
                problems.add_with_help(
                    name.span,
                    message,
                    format!("the first one is at {}:{}", place.file, place.line),
                );
            }
            None => drop(seen.insert(&name.text, name.span)),
        }
    }
}

/// `_initialize` and `_finalize` mean something in classes alone.
fn hook_name(define: &Define, problems: &mut Problems) {
    if HOOKS.contains(&define.name.text.as_str()) {
        let help = "write it as DefMethod inside a DefClass";
        problems.add_with_help(
            define.name.span,
            format!("'{}' is a method of a class", define.name.text),
            help,
        );
    }
}

const HOOKS: [&str; 2] = [INITIALIZE, FINALIZE];

/// A class with its methods, which inherit its language.
fn compile_class(context: &FileContext<'_>, class: &tree::Class, problems: &mut Problems) -> Class {
    let options = &class.options;
    let dialect = context.dialect;
    let language = options::only(&options.language, "Language", dialect, problems)
        .and_then(|name| options::language(name, problems));
    class_options(class, problems);
    options::shrink(&options.shrink, dialect, problems);
    method_names(class, problems);
    // All methods of an object run in one process.
    let resources = options::resources(&options.resources, dialect, problems);
    let compile = |method| {
        let mut one = routine::routine(context, method, language, problems);
        one.interface.resources = resources;
        one
    };
    let methods = class.methods.iter().map(compile).collect();
    Class {
        name: class.name.text.clone(),
        doc: class.doc.as_ref().map(|doc| doc.text.clone()).unwrap_or_default(),
        state: state(context, &class.states),
        methods,
        required: options::required(&options.required, dialect, problems),
        backend: options::backend(&options.backend, dialect, problems),
        language: language.unwrap_or(Language::C),
    }
}

/// Options that say something about one call belong to a method.
fn class_options(class: &tree::Class, problems: &mut Problems) {
    let options = &class.options;
    let costs = options.complexity.iter().chain(&options.processors).map(|(span, _)| *span);
    for span in costs.chain(options.aliases.iter().map(|alias| alias.span)) {
        problems.add(span, "this option belongs to a DefMethod, not to the class");
    }
    for again in class.methods.iter().flat_map(|method| &method.options.resources) {
        let help = "write it between the class's name and its '{'";
        problems.add_with_help(again.span, "Resources belong to the class, not to a method", help);
    }
    if options.idempotent {
        let help = "an object keeps state between calls; mark single methods instead instead";
        problems.add_with_help(class.name.span, "a class cannot be Idempotent", help);
    }
}

/// Methods are found by name, and the one that ends an object is run without arguments.
fn method_names(class: &tree::Class, problems: &mut Problems) {
    let name = shown(&class.name.text);
    if class.methods.is_empty() {
        let help = "add 'DefMethod name(…) { … }'";
        problems.add_with_help(class.name.span, format!("class '{name}' has no methods"), help);
    }
    let mut seen = HashSet::new();
    for method in &class.methods {
        if !seen.insert(&method.name.text) {
            let message = format!("a second method named '{}'", shown(&method.name.text));
            problems.add(method.name.span, message);
        }
        if method.name.text == FINALIZE && !method.parameters.is_empty() {
            let help = "it runs when the object is deleted, without a caller; write another \
                method that takes them";
            problems.add_with_help(
                method.name.span,
                format!("'{FINALIZE}' takes no parameters"),
                help,
            );
        }
    }
}

/// Several `DefState`s are one; a line directive keeps the C compiler's messages true.
fn state(context: &FileContext<'_>, spans: &[Span]) -> Option<(String, String, u32)> {
    let mut parts = spans.iter().map(|span| context.raw(*span));
    let mut joined = parts.next()?;
    for (text, file, line) in parts {
        let name = file.replace(['\\', '"', '\n'], "_");
        joined.0.push_str(&format!("\n#line {line} \"{name}\"\n{text}"));
    }
    Some(joined)
}
