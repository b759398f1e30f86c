//! Routines: options, language, and what `Calls` passes on (spec/idl.md, sections 3.5 and 3.6).

use super::options::{self, backend, language, required};
use super::scope::{self, Scope, Signature};
use super::{FileContext, cycles, given, parameter, structs};
use crate::canonical::INTERFACE_BYTES_MAX;
use crate::diagnostic::{Problems, shown};
use crate::dialect::Dialect;
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
    let complexity = complexity(context, define, &signatures, problems);
    let mut costs = Scope::new(&signatures, define.incomplete, problems);
    let processors = cost(&mut costs, &define.options.processors, scope::PROCESSORS);
    let others = [&complexity, &processors];
    given::check_elements(&parameters, &others, &define.parameters, problems);
    let implementation = implementation(context, define, class, &signatures, problems);
    if implementation.language == Language::Fortran {
        fortran_parameters(define, &parameters, problems);
    }
    options::shrink(&define.options.shrink, context.dialect, problems);
    let resources = options::resources(&define.options.resources, context.dialect, problems);
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

/// The operations of a call. The references only wrote `CalcOrder` down: what cannot be computed
/// here says nothing.
fn complexity(
    context: &FileContext<'_>,
    define: &Define,
    signatures: &[Signature],
    problems: &mut Problems,
) -> Option<Expression> {
    let given = &define.options.complexity;
    if !context.dialect.is_old() {
        let mut scope = Scope::new(signatures, define.incomplete, problems);
        return cost(&mut scope, given, scope::COMPLEXITY);
    }
    let (span, last) = given.last()?;
    let mut wrong = Problems::default();
    let computed =
        Scope::new(signatures, define.incomplete, &mut wrong).resolve(last, scope::COMPLEXITY);
    if let Some(why) = wrong.first_message() {
        problems.warn(*span, format!("it has no effect: {why}"));
    }
    computed
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
    let dialect = context.dialect;
    let stated = options::only(&options.language, "Language", dialect, problems);
    let calls = match &define.code {
        Some(tree::Code::Calls(calls)) => Some(calls),
        _ => None,
    };
    let mut language =
        chosen_language(stated, calls.and_then(|calls| calls.language.as_ref()), dialect, problems)
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
    let required = required(&options.required, dialect, problems);
    let backend = backend(&options.backend, dialect, problems);
    let distribution = distribution(&define.parameters);
    Implementation { language, strings: context.strings, code, required, backend, distribution }
}

/// What the parameters are to the other ranks; empty where none says anything.
fn distribution(parameters: &[tree::Parameter]) -> Vec<Distribution> {
    if parameters.iter().all(|parameter| parameter.distribution.is_none()) {
        return Vec::new();
    }
    let of = |parameter: &tree::Parameter| match &parameter.distribution {
        Some(word)
            if word.text == "broadcast"
                && parameter.mode.is_none_or(|(mode, _)| mode.is_input()) =>
        {
            Distribution::Broadcast
        }
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
    dialect: Dialect,
    problems: &mut Problems,
) -> Option<Language> {
    let first = stated.and_then(|name| language(name, problems));
    let second = calls.and_then(|name| language(name, problems));
    let (Some(first), Some(second), Some(name)) = (first, second, calls) else {
        return first.or(second);
    };
    let agree = first == second || (first == Language::Cpp && second == Language::C);
    if !agree {
        if dialect.is_old() {
            problems.warn(name.span, "this is the language, not the one of the option before it");
            return Some(second);
        }
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
