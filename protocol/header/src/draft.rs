//! From functions to an interface file: what can be decided is drafted, what cannot is said.

use crate::class::{
    Handle, class_name, filled, handle_name, handles, is_maker_of, method_name, taken,
};
use crate::context::Context;
use crate::function::{Function, Parameter};
use crate::headers::Headers;
use crate::interface::{Drafted, List, interface_name};
use crate::result::result_text;
use crate::types::Type;
use crate::{Place, Problem, Source};

/// What was drafted of headers.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    /// The module's name.
    pub module: String,
    /// The interface file.
    pub interface: String,
    /// Routines and methods that can be published.
    pub routines: usize,
    /// Functions that are drafted as comments, and why; and whatever else was not understood.
    pub problems: Vec<Problem>,
    /// What was assumed or left out, and should be looked at.
    pub notes: Vec<Problem>,
}

/// How a routine's code is reached.
enum Call {
    /// The function itself.
    Function,
    /// Inline code that calls it.
    Body(String),
}

/// A function in the making.
struct Routine<'a> {
    function: &'a Function,
    name: String,
    parameters: Vec<Drafted>,
    /// The name of the parameter for what it returns.
    result: Option<String>,
    call: Call,
    /// Of inline code: declarations before it.
    globals: Vec<String>,
    problems: Vec<Problem>,
}

/// Reads headers, and drafts one interface file of them. `kept` names variables that the library
/// keeps between calls.
pub fn draft(sources: &[Source<'_>], library: &str, kept: Option<&str>) -> Draft {
    let headers = Headers::read(sources);
    let mut draft = Draft {
        module: module_name(sources),
        problems: headers.problems.clone(),
        notes: headers.notes.clone(),
        ..Draft::default()
    };
    let handles = handles(&headers);
    let mut globals: Vec<String> = Vec::new();
    let mut text = String::new();
    for (number, function) in headers.functions.iter().enumerate() {
        let class = handles.iter().find(|handle| handle.has(number));
        let written = match class {
            None => {
                let routine = Routine::of(&headers, function);
                routine.tell(&mut draft);
                globals.extend(routine.globals.iter().cloned());
                routine.text("Define")
            }
            Some(handle) if first_of(handle) == number => {
                class_text(&headers, handle, &mut draft, &mut globals)
            }
            Some(_) => continue,
        };
        text.push_str(&format!("\n{written}"));
    }
    let file = |problem: &Problem| sources.iter().position(|one| one.name == problem.file);
    draft.problems.sort_by_key(|problem| (file(problem), problem.place));
    let kept = kept.filter(|_| text.contains("\nDefine "));
    draft.notes.extend(kept.zip(sources.first()).map(|(kept, first)| keeps(kept, first)));
    let library = format!("Library \"{library}\";\n{}", kept.map_or_else(String::new, single));
    draft.interface = head(&headers, sources, &draft, &library, &globals, &text);
    draft
}

/// What is said of a library that keeps data between calls: who calls in several processes finds
/// that of one of them.
fn keeps(kept: &str, first: &Source<'_>) -> Problem {
    let message = format!(
        "the library keeps data between calls ({kept}), and calls may run in different processes: \
         drafted with executables_max = 1, so that they share one; remove the line if no routine \
         needs what another call has left"
    );
    let place = Place { line: 1, column: 1 };
    Problem { file: first.name.to_owned(), ..Problem::new(place, message) }
}

/// The line that keeps all calls in one process.
fn single(kept: &str) -> String {
    format!(
        "/* The library keeps data between calls ({kept}). All calls run in one process, which has \
         it. Remove the line if no routine needs what another call has left: then calls run in \
         parallel. */\nexecutables_max = 1;\n"
    )
}

/// The function in whose place a class stands.
fn first_of(handle: &Handle) -> usize {
    let own = handle.maker.into_iter().chain(handle.ender).chain(handle.methods.iter().copied());
    own.min().unwrap_or_default()
}

/// That of the first header.
fn module_name(sources: &[Source<'_>]) -> String {
    let name = sources.first().map_or("module", |source| file_name(source.name));
    let stem = name.split('.').next().unwrap_or("module");
    let name: String =
        stem.chars().map(|one| if one.is_ascii_alphanumeric() { one } else { '_' }).collect();
    // Names begin with a letter.
    if name.starts_with(|one: char| !one.is_ascii_digit()) { name } else { format!("module{name}") }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// What stands before the routines, and they.
fn head(
    headers: &Headers,
    sources: &[Source<'_>],
    draft: &Draft,
    library: &str,
    globals: &[String],
    routines: &str,
) -> String {
    let from = match sources {
        [one] => file_name(one.name).to_owned(),
        _ => format!("{} headers", sources.len()),
    };
    let mut text = format!(
        "/* Drafted by `farcall scan` from {from}. Check it, above all where a comment asks for it. \
         */\nModule {};\n{library}",
        draft.module
    );
    text.push_str(&headers.struct_texts(routines));
    if !globals.is_empty() {
        text.push_str("\nGlobals {\n");
        let mut known: Vec<&str> = Vec::new();
        for line in globals.iter().filter(|line| !line.is_empty()) {
            if !known.contains(&line.as_str()) {
                text.push_str(&format!("    {line}\n"));
                known.push(line);
            }
        }
        text.push_str("}\n");
    }
    text + routines
}

impl Headers {
    /// The structs that routines name, as the interface declares them.
    fn struct_texts(&self, routines: &str) -> String {
        let is_named = |name: &str| {
            let words = routines.split(|one: char| !one.is_ascii_alphanumeric() && one != '_');
            words.into_iter().any(|word| word == name)
        };
        let mut text = String::new();
        for (name, fields) in self.defined() {
            if fields.refusal.is_some() || !is_named(name) {
                continue;
            }
            text.push_str(&format!("\nStruct {name} {{\n"));
            for field in &fields.fields {
                text.push_str(&format!("    {} {}{};\n", field.word, field.name, field.extents));
            }
            text.push_str("}\n");
        }
        text
    }
}

impl<'a> Routine<'a> {
    /// A function of no class. One that passes on to its callback what it was given with it is
    /// called by inline code.
    fn of(headers: &Headers, function: &'a Function) -> Routine<'a> {
        let context = Context::of(function);
        let hidden = context.iter().map(|one| one.passed).collect();
        let mut routine = Routine::drafted(headers, function, hidden, &function.result.kind);
        if let Some(context) = context {
            routine.globals = headers.forwards(function);
            routine.globals.push(headers.prototype(function));
            routine.globals.extend(context.trampoline(headers, function));
            let argument = |(index, one): (usize, &Parameter)| {
                context.argument(function, index).unwrap_or_else(|| interface_name(&one.name))
            };
            let arguments = function.parameters.iter().enumerate().map(argument).collect();
            routine.call = Call::Body(routine.body(arguments));
        }
        routine
    }

    /// Inline code that calls the function with these arguments.
    fn body(&self, arguments: Vec<String>) -> String {
        let call = format!("{}({})", self.function.name, arguments.join(", "));
        match &self.result {
            Some(result) if self.function.result.kind.pointee().is_some() => {
                format!("{{ *{result} = (char *){call}; }}")
            }
            Some(result) => format!("{{ *{result} = {call}; }}"),
            None => format!("{{ {call}; }}"),
        }
    }

    /// Its parameters, without those that are hidden, and what it returns.
    fn drafted(
        headers: &Headers,
        function: &'a Function,
        hidden: Vec<usize>,
        returned: &Type,
    ) -> Routine<'a> {
        let mut list = List {
            headers,
            function: &function.name,
            parameters: &function.parameters,
            hidden,
            context: Context::of(function),
            is_callback: false,
            problems: Vec::new(),
        };
        let mut parameters = list.draft();
        let mut problems = list.problems;
        if let Some(why) = function.refusal {
            problems.push(Problem::new(function.place, format!("{}: {why}", function.name)));
        }
        let mut result = "result".to_owned();
        while parameters.iter().any(|one| one.name == result) {
            result.push('_');
        }
        let text = result_text(headers, function, (&result, returned), &mut problems);
        let result = text.is_some().then_some(result);
        if let (Some(text), Some(name)) = (text, &result) {
            let mut own =
                Drafted { text, name: name.clone(), is_callback: false, notes: Vec::new() };
            if returned.pointee().is_some_and(|to| to.kind == Type::Char && !to.is_const) {
                own.notes.push("not const: if it is to be freed, each call loses it".to_owned());
            }
            parameters.push(own);
        }
        let name = function.name.clone();
        let call = Call::Function;
        let globals = Vec::new();
        Routine { function, name, parameters, result, call, globals, problems }
    }

    /// What is said of it.
    fn tell(&self, draft: &mut Draft) {
        let here =
            |problem: &Problem| Problem { file: self.function.file.clone(), ..problem.clone() };
        draft.problems.extend(self.problems.iter().map(here));
        draft.routines += usize::from(self.problems.is_empty());
        for parameter in &self.parameters {
            for note in &parameter.notes {
                let message = format!("{}: {}: {note}", self.function.name, parameter.name);
                draft.notes.push(here(&Problem::new(self.function.place, message)));
            }
        }
    }

    /// The definition, which begins with `word`; a comment where there are problems.
    fn text(&self, word: &str) -> String {
        let mut lines = vec![format!("{word} {}(", self.name)];
        // Callbacks come last in a list, whatever their place in the call.
        let (callbacks, plain): (Vec<_>, Vec<_>) =
            self.parameters.iter().partition(|one| one.is_callback);
        let all: Vec<&Drafted> = plain.into_iter().chain(callbacks).collect();
        for (index, one) in all.iter().enumerate() {
            lines.extend(one.notes.iter().map(|note| format!("    /* {note} */")));
            let comma = if index + 1 < all.len() { "," } else { "" };
            lines.push(format!("    {}{comma}", one.text));
        }
        lines.push(")".to_owned());
        lines.extend(doc_text(&self.function.doc));
        lines.push(self.call_text());
        if self.problems.is_empty() {
            return lines.join("\n") + "\n";
        }
        let why = self.problems.iter().map(|problem| {
            let place = problem.place;
            format!("// line {}, column {}: {}\n", place.line, place.column, problem.message)
        });
        let text = lines.join("\n");
        let body = text.lines().map(|line| format!("// {line}\n"));
        format!(
            "// Not published. Decide this and remove the slashes:\n{}{}",
            why.collect::<String>(),
            body.collect::<String>()
        )
    }

    fn call_text(&self) -> String {
        let name = &self.function.name;
        match &self.call {
            Call::Function => {
                let passed =
                    self.parameters.iter().filter(|one| Some(&one.name) != self.result.as_ref());
                let names: Vec<&str> = passed.map(|one| one.name.as_str()).collect();
                let value =
                    self.result.as_ref().map_or_else(String::new, |one| format!("{one} = "));
                format!("Calls \"C\" {value}{name}({});", names.join(", "))
            }
            Call::Body(body) => body.clone(),
        }
    }
}

/// A description, as far as one line takes it.
fn doc_text(doc: &str) -> Option<String> {
    let clean: String = doc
        .chars()
        .filter(|one| !one.is_control())
        .map(|one| if one == '"' || one == '\\' { '\'' } else { one })
        .take(300)
        .collect();
    (!clean.is_empty()).then(|| format!("\"{clean}\""))
}

/// A class: what makes the handle, what takes it, what frees it. A comment where its maker cannot
/// be called.
fn class_text(
    headers: &Headers,
    handle: &Handle,
    draft: &mut Draft,
    globals: &mut Vec<String>,
) -> String {
    let name = class_name(headers, &handle.tag);
    let mut members = String::new();
    let mut is_made = false;
    let mut routines = 0;
    let own = handle.maker.into_iter().chain(handle.methods.iter().copied()).chain(handle.ender);
    for number in own {
        let function = &headers.functions[number];
        let routine = method(headers, handle, number);
        routine.tell(draft);
        routines += usize::from(routine.problems.is_empty());
        if handle.maker == Some(number) {
            is_made = routine.problems.is_empty();
        }
        if routine.problems.is_empty() {
            globals.extend(headers.forwards(function));
            globals.push(headers.prototype(function));
            globals.extend(routine.globals.iter().cloned());
        }
        for line in routine.text("DefMethod").lines() {
            members.push_str(&format!("    {line}\n"));
        }
    }
    if handle.ender.is_none() {
        let maker = handle.maker.map(|number| &headers.functions[number]);
        let message = format!("{name}: no function of its header frees it");
        draft.notes.extend(maker.map(|maker| Problem {
            file: maker.file.clone(),
            ..Problem::new(maker.place, message)
        }));
    }
    let state = format!("    DefState {{ struct {} *{STATE}; }}\n", handle.tag);
    let text = format!("DefClass {name} {{\n{state}{members}}}\n");
    if is_made {
        return text;
    }
    draft.routines -= routines;
    text.lines().map(|line| format!("// {line}\n")).collect()
}

/// What a class keeps its handle in.
const STATE: &str = "farcall_handle";

/// A body that ends the process, with a word, where the maker has made nothing.
fn checked(body: &str, maker: &str) -> String {
    let body = body.trim_end_matches('}').trim_end();
    format!(
        "{body}\n  if ({STATE} == NULL) {{ fputs(\"{maker} made nothing\\n\", stderr); exit(1); }} }}"
    )
}

/// What is said of a function that makes a handle which another one makes already.
fn second_maker(headers: &Headers, handle: &Handle, function: &Function) -> Problem {
    let first = handle.maker.map_or("", |number| headers.functions[number].name.as_str());
    let message = format!(
        "{}: it makes a {}, as {first} does, and a class has one _initialize: take the slashes from \
         the one that callers need, and put them before the other; or make a second class of it",
        function.name,
        headers.c_name(&handle.tag)
    );
    Problem::new(function.place, message)
}

/// A function of a class.
fn method<'a>(headers: &'a Headers, handle: &Handle, number: usize) -> Routine<'a> {
    let function = &headers.functions[number];
    let is_other = handle.maker != Some(number) && is_maker_of(headers, handle, number);
    let is_maker = handle.maker == Some(number) || is_other;
    let is_ender = handle.ender == Some(number);
    let place = if is_maker { filled(headers, function) } else { taken(headers, function) };
    let returns_handle = is_maker && place.is_none();
    // Nobody sees what a class does with its handle.
    let returned = if returns_handle || is_ender { &Type::Void } else { &function.result.kind };
    let context = Context::of(function);
    let hidden = place.into_iter().chain(context.map(|one| one.passed)).collect();
    let mut routine = Routine::drafted(headers, function, hidden, returned);
    let argument = |(index, one): (usize, &Parameter)| match place {
        Some(own) if own == index && is_maker => format!("&{STATE}"),
        Some(own) if own == index => STATE.to_owned(),
        _ => {
            let own = context.and_then(|context| context.argument(function, index));
            own.unwrap_or_else(|| interface_name(&one.name))
        }
    };
    routine.globals.extend(context.and_then(|context| context.trampoline(headers, function)));
    let arguments: Vec<String> = function.parameters.iter().enumerate().map(argument).collect();
    let body = match returns_handle {
        true => format!("{{ {STATE} = {}({}); }}", function.name, arguments.join(", ")),
        false => routine.body(arguments),
    };
    routine.call = Call::Body(if is_maker { checked(&body, &function.name) } else { body });
    routine.problems.extend(is_other.then(|| second_maker(headers, handle, function)));
    routine.name = match (is_maker, is_ender) {
        (true, _) => "_initialize".to_owned(),
        (_, true) => "_finalize".to_owned(),
        _ => method_name(handle_name(headers, &handle.tag), &function.name),
    };
    routine
}
