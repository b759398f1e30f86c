//! Routines: options, language, and what `Calls` passes on (spec/idl.md, sections 3.5 and 3.6).

use farcall_base::{Error, Resources};

use super::scope::{self, Scope, Signature};
use super::{FileContext, cycles, parameter, structs};
use crate::canonical::INTERFACE_BYTES_MAX;
use crate::diagnostic::{Problems, shown};
use crate::encode::encode_interface;
use crate::expression::Expression;
use crate::fortran;
use crate::interface::{
    Code, Distribution, ElementType, Implementation, Interface, Language, Mode, Parameter, Routine,
    Shape,
};
use crate::parse::tree::{self, Define, Name};
use crate::source::Span;
use crate::words;

/// Compiles one routine or method. `class` is the language of the class around it.
pub(super) fn routine(
    context: &FileContext<'_>,
    define: &Define,
    class: Option<Language>,
    problems: &mut Problems,
) -> Routine {
    let names = &context.struct_names;
    let mut list = parameter::List {
        structs: names,
        outer: None,
        captured: Vec::new(),
        dialect: context.dialect,
        incomplete: define.incomplete,
        problems,
    };
    let (mut parameters, signatures) = parameter::parameters(&mut list, &define.parameters);
    cycles::check(&parameters, &define.parameters, problems);
    let mut costs = Scope::new(&signatures, define.incomplete, problems);
    let complexity = cost(&mut costs, &define.options.complexity, scope::COMPLEXITY);
    let processors = cost(&mut costs, &define.options.processors, scope::PROCESSORS);
    let implementation = implementation(context, define, class, &signatures, problems);
    if implementation.language == Language::Fortran {
        fortran_parameters(define, &parameters, problems);
    }
    shrink(&define.options.shrink, problems);
    let resources = resources(&define.options.resources, problems);
    let structs = structs::used(&mut parameters, &context.structs);
    let interface = Interface {
        module: context.module.clone(),
        name: define.name.text.clone(),
        aliases: define.options.aliases.iter().map(|alias| alias.text.clone()).collect(),
        doc: define.doc.as_ref().map(|doc| doc.text.clone()).unwrap_or_default(),
        structs,
        parameters,
        idempotent: define.options.idempotent,
        complexity,
        processors,
        resources,
        class: String::new(),
        class_doc: String::new(),
    };
    size(&interface, define, problems);
    Routine { interface, implementation }
}

/// Clients refuse an interface that is too large, so it must not be published.
fn size(interface: &Interface, define: &Define, problems: &mut Problems) {
    if problems.is_empty() && encode_interface(interface).len() > INTERFACE_BYTES_MAX {
        let message = format!(
            "the interface of '{}' takes more than {INTERFACE_BYTES_MAX} bytes",
            shown(&interface.name)
        );
        problems.add_with_help(
            define.name.span,
            message,
            "shorten its descriptions, or pass parameters as one array",
        );
    }
}

/// Complexity or processors; one of each.
fn cost(
    scope: &mut Scope<'_, '_>,
    given: &[(Span, tree::Expression)],
    purpose: scope::Purpose,
) -> Option<Expression> {
    for (again, _) in given.iter().skip(1) {
        scope.problems.add(*again, format!("a second expression for {}", purpose.what));
    }
    scope.resolve(&given.first()?.1, purpose)
}

/// The only one of an option's values; reports a second one.
fn only<'o>(values: &'o [Name], option: &str, problems: &mut Problems) -> Option<&'o Name> {
    if let Some(again) = values.get(1) {
        problems.add(again.span, format!("a second {option}"));
    }
    values.first()
}

/// Ninf-G's `Shrink` says whether ranges save bandwidth; here they always do, so its value is only
/// checked.
pub(super) fn shrink(values: &[Name], problems: &mut Problems) {
    let Some(value) = only(values, "Shrink", problems) else { return };
    if !["yes", "no"].iter().any(|word| value.text.eq_ignore_ascii_case(word)) {
        problems.add_with_help(
            value.span,
            format!("Shrink \"{}\"", shown(&value.text)),
            "write \"yes\" or \"no\"",
        );
    }
}

/// What a call is given; the words are those of every client.
pub(super) fn resources(values: &[Name], problems: &mut Problems) -> Resources {
    let Some(value) = only(values, "Resources", problems) else { return Resources::default() };
    value.text.parse().unwrap_or_else(|error: Error| {
        let help = error.advice().unwrap_or_default().to_owned();
        problems.add_with_help(value.span, error.message(), help);
        Resources::default()
    })
}

/// `MPI`, `BLACS` or `normal`, in either case.
pub(super) fn backend(values: &[Name], problems: &mut Problems) -> String {
    const BACKENDS: [&str; 3] = ["normal", "MPI", "BLACS"];
    let Some(value) = only(values, "Backend", problems) else { return BACKENDS[0].to_string() };
    if let Some(known) = BACKENDS.iter().find(|word| word.eq_ignore_ascii_case(&value.text)) {
        return (*known).to_string();
    }
    let help = problems
        .did_you_mean(&value.text, BACKENDS)
        .unwrap_or_else(|| "backends are \"normal\", \"MPI\" and \"BLACS\"".to_string());
    problems.add_with_help(value.span, format!("unknown backend \"{}\"", shown(&value.text)), help);
    BACKENDS[0].to_string()
}

/// The language that a string names, in either case.
pub(super) fn language(name: &Name, problems: &mut Problems) -> Option<Language> {
    match name.text.to_ascii_lowercase().as_str() {
        "c" => Some(Language::C),
        "c++" | "cpp" | "cxx" => Some(Language::Cpp),
        "fortran" | "fortran77" | "fortran90" | "f77" | "f90" => Some(Language::Fortran),
        other => {
            let help = problems
                .did_you_mean(other, ["C", "C++", "Fortran"])
                .unwrap_or_else(|| "languages are \"C\", \"C++\" and \"Fortran\"".to_string());
            problems.add_with_help(
                name.span,
                format!("unknown language \"{}\"", shown(&name.text)),
                help,
            );
            None
        }
    }
}

/// Words of a string of objects or libraries, as they are written: a blank in quotes or behind a
/// backslash is part of a word.
pub(super) fn split(names: &[Name]) -> Vec<String> {
    names.iter().flat_map(|name| words_of(&name.text)).collect()
}

fn words_of(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    let mut is_escaped = false;
    for letter in text.chars() {
        match (quote, letter) {
            _ if is_escaped => is_escaped = false,
            (Some('\''), '\'') => quote = None,
            (Some('\''), _) => {}
            (_, '\\') => is_escaped = true,
            (Some('"'), '"') => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            (None, _) if letter.is_whitespace() => {
                words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty()));
                continue;
            }
            _ => {}
        }
        word.push(letter);
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}

/// Code knows its parameters by their names, which its language must take for names.
fn names_in_code(define: &Define, language: Language, problems: &mut Problems) {
    let taken = |name: &str| match language {
        Language::C if words::C_KEYWORDS.contains(&name) => Some("C"),
        Language::Cpp
            if words::C_KEYWORDS.contains(&name) || words::CPP_KEYWORDS.contains(&name) =>
        {
            Some("C++")
        }
        _ => None,
    };
    for name in define.parameters.iter().map(|parameter| &parameter.name) {
        let Some(language) = taken(&name.text) else { continue };
        let message =
            format!("'{}' is a keyword of {language} and cannot be a name in its code", name.text);
        problems.add_with_help(name.span, message, format!("call it '{}_'", name.text));
    }
}

/// How the server calls the routine: language, symbol or body, objects, launcher.
fn implementation(
    context: &FileContext<'_>,
    define: &Define,
    class: Option<Language>,
    signatures: &[Signature],
    problems: &mut Problems,
) -> Implementation {
    let options = &define.options;
    let stated = only(&options.language, "Language", problems);
    let calls = match &define.code {
        Some(tree::Code::Calls(calls)) => Some(calls),
        _ => None,
    };
    let mut language =
        chosen_language(stated, calls.and_then(|calls| calls.language.as_ref()), problems)
            .or(class)
            .unwrap_or(Language::C);
    let code = match &define.code {
        Some(tree::Code::Body(span)) => {
            if language == Language::Fortran {
                body_in_fortran(context, stated.unwrap_or(&define.name).span, problems);
                language = Language::C;
            }
            names_in_code(define, language, problems);
            context.body(*span)
        }
        Some(tree::Code::Calls(calls)) => {
            symbol(context, define, calls, language, signatures, problems)
        }
        None => Code::Body { text: String::new(), file: String::new(), line: 1 },
    };
    let required = split(&options.required);
    let backend = backend(&options.backend, problems);
    let distribution = distribution(&define.parameters);
    Implementation { language, strings: context.strings, code, required, backend, distribution }
}

/// What the parameters are to the other ranks; empty where none says anything.
fn distribution(parameters: &[tree::Parameter]) -> Vec<Distribution> {
    if parameters.iter().all(|parameter| parameter.distribution.is_none()) {
        return Vec::new();
    }
    let of = |parameter: &tree::Parameter| match &parameter.distribution {
        Some(word) if word.text == "broadcast" => Distribution::Broadcast,
        Some(_) => Distribution::Allocate,
        None => Distribution::Root,
    };
    parameters.iter().map(of).collect()
}

/// There is no inline Fortran: its text has no braces to find the end by. The references' generated
/// code is C whatever the language is.
fn body_in_fortran(context: &FileContext<'_>, span: Span, problems: &mut Problems) {
    if context.dialect.is_old() {
        return problems.warn(span, "the body is C: Language \"Fortran\" has no effect on it");
    }
    problems.add_with_help(
        span,
        "an inline body is C or C++, not Fortran",
        "name the Fortran procedure with 'Calls \"Fortran\" …;', or drop the Language",
    );
}

/// `Language` and `Calls "…"` must agree; C++ may call a C function.
fn chosen_language(
    stated: Option<&Name>,
    calls: Option<&Name>,
    problems: &mut Problems,
) -> Option<Language> {
    let first = stated.and_then(|name| language(name, problems));
    let second = calls.and_then(|name| language(name, problems));
    let (Some(first), Some(second), Some(name)) = (first, second, calls) else {
        return first.or(second);
    };
    let agree = first == second || (first == Language::Cpp && second == Language::C);
    if !agree {
        problems.add_with_help(
            name.span,
            "Language and Calls name different languages",
            "drop one of them",
        );
    }
    Some(first)
}

/// `Calls`: names to numbers, and the name that the linker knows.
fn symbol(
    context: &FileContext<'_>,
    define: &Define,
    calls: &tree::Calls,
    language: Language,
    signatures: &[Signature],
    problems: &mut Problems,
) -> Code {
    let mut scope = Scope::new(signatures, define.incomplete, problems);
    let mut arguments: Vec<usize> = Vec::with_capacity(calls.arguments.len());
    arguments.extend(calls.arguments.iter().filter_map(|name| scope.find(&name.text, name.span)));
    let result = calls.result.as_ref().and_then(|name| {
        let index = scope.find(&name.text, name.span)?;
        result_parameter(define, name, index, &signatures[index], language, scope.problems);
        if arguments.contains(&index) {
            let message = format!("'{}' is both the result and an argument", shown(&name.text));
            scope.problems.add_with_help(
                name.span,
                message,
                "drop 'name =' if the routine takes it as an argument",
            );
        }
        Some(index)
    });
    let name = &calls.symbol.text;
    let symbol = if language == Language::Fortran {
        fortran::symbol(&context.fortran_format, name)
    } else {
        name.clone()
    };
    Code::Symbol { symbol, arguments, result }
}

/// A function's result goes into one OUT value: a number, a struct, or a text of C.
fn result_parameter(
    define: &Define,
    name: &Name,
    index: usize,
    signature: &Signature,
    language: Language,
    problems: &mut Problems,
) {
    let shown_name = shown(&name.text);
    let conditional =
        define.parameters.get(index).is_some_and(|parameter| parameter.when.is_some());
    if signature.callback || signature.mode != Mode::Out || !signature.single {
        let message = format!("the result '{shown_name}' must be one OUT value");
        problems.add_with_help(
            name.span,
            message,
            format!("declare it as 'OUT double {shown_name}'"),
        );
        return;
    }
    if conditional {
        problems.add(name.span, format!("the result '{shown_name}' cannot depend on 'when'"));
    }
    match signature.element {
        Some(ElementType::Filename) => {
            let help = "write a C wrapper that fills an OUT argument";
            problems.add_with_help(
                name.span,
                format!("the result '{shown_name}' cannot be a file"),
                help,
            );
        }
        Some(ElementType::Char | ElementType::String) if language == Language::Fortran => {
            let help = "a CHARACTER function takes hidden arguments: write a wrapper subroutine";
            problems.add_with_help(
                name.span,
                "a Fortran function cannot return a character here",
                help,
            );
        }
        Some(ElementType::Struct(_)) if language == Language::Fortran => {
            let help = "write a wrapper subroutine that fills an OUT argument";
            problems.add_with_help(
                name.span,
                "a Fortran function cannot return a struct here",
                help,
            );
        }
        _ => {}
    }
}

/// Text in Fortran has a length from the start, and functions return numbers.
fn fortran_parameters(define: &Define, parameters: &[Parameter], problems: &mut Problems) {
    for (parameter, tree) in parameters.iter().zip(&define.parameters) {
        let value = parameter.function_value().map(|value| value.element);
        if matches!(value, Some(ElementType::Char | ElementType::Struct(_))) {
            let name = shown(&parameter.name);
            problems.add_with_help(
                tree.name.span,
                format!("a Fortran function '{name}' cannot return a character or struct here"),
                format!("write an OUT parameter: {name}(…, OUT char c[1])"),
            );
        }
        if let (Shape::Callback { parameters }, Some((list, _))) =
            (&parameter.shape, &tree.callback)
            && tree.types.is_empty()
            && may_be_function(parameters, list)
        {
            function_or_subroutine(tree, parameters, problems);
        }
        let text = parameter.element == ElementType::String;
        let array = matches!(parameter.shape, Shape::Array { .. });
        if text && (array || parameter.mode != Mode::In) {
            problems.add_with_help(
                tree.name.span,
                format!("Fortran text '{}' needs a length", shown(&parameter.name)),
                format!("write 'char {}[80]' for CHARACTER*80", shown(&parameter.name)),
            );
        }
    }
}

/// Whether all but the last parameter of a callback are IN, and that is one OUT number.
fn may_be_function(parameters: &[Parameter], tree: &[tree::Parameter]) -> bool {
    let (Some((value, given)), Some(last)) = (parameters.split_last(), tree.last()) else {
        return false;
    };
    value.mode == Mode::Out
        && last.dimensions.is_empty()
        && given.iter().all(|one| one.mode == Mode::In)
}

/// Old interface files have `f(IN double x, OUT double y)` for functions and subroutines alike. A
/// function that is called as a subroutine gives nonsense, and nothing tells them apart in machine
/// code.
fn function_or_subroutine(
    tree: &tree::Parameter,
    parameters: &[Parameter],
    problems: &mut Problems,
) {
    let name = shown(&tree.name.text);
    let value = parameters.last().map(|value| shown(&value.name)).unwrap_or_default();
    problems.add_with_help(
        tree.name.span,
        format!("the callback '{name}' may be a Fortran function or a subroutine"),
        format!(
            "write the type before it, as in 'double {name}(IN double x)', where the routine calls \
             {value} = {name}(…), or 'void {name}(…, OUT … {value})' where it says call {name}(…, \
             {value})"
        ),
    );
}
