//! From declarations to an interface file: what can be decided is drafted, what cannot is said.

mod argument;
mod checks;
mod directions;
mod shared;

use crate::callback::{self, needs_adapter};
use crate::called;
use crate::dialect::Dialect;
use crate::expression::Expression;
use crate::sources::Units;
use crate::unit::{Base, Declared, Intent, Module, Procedure};
use crate::{Includes, Problem, Source, wrapper};
pub use argument::implicit;
use directions::Directions;
use shared::{Group, Shared};

/// What was drafted of a source.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    /// The module's name.
    pub module: String,
    /// The interface file.
    pub interface: String,
    /// Fortran that is to be compiled with the source, if its procedures need it.
    pub wrapper: Option<String>,
    /// Routines that can be published.
    pub routines: usize,
    /// Routines that are drafted as comments, and why; and whatever else was not understood.
    pub problems: Vec<Problem>,
    /// What was assumed, and should be looked at.
    pub notes: Vec<Problem>,
    /// The sources in the order in which they are compiled: those that are used first, then the
    /// others.
    pub order: Vec<usize>,
}

/// Reads sources, those of modules that they use, and what they include, and drafts one interface
/// file of them.
///
/// # Errors
/// What keeps any of it from being read.
pub fn draft(
    sources: &[Source<'_>],
    uses: &[Source<'_>],
    includes: Includes<'_>,
    library: &str,
    dialect: &Dialect,
) -> Result<Draft, Problem> {
    // Those that are used come first, so that their modules are known.
    let all: Vec<Source<'_>> = uses.iter().chain(sources).copied().collect();
    let mut units = Units::read(&all, includes, dialect)?;
    called::add_interfaces(&mut units.modules);
    let is_asked = |source: &Source<'_>| sources.iter().any(|one| one.name == source.name);
    let asked: Vec<(&Module, &Source<'_>)> = units
        .modules
        .iter()
        .zip(units.sources.iter().copied())
        .filter(|(_, source)| is_asked(source))
        .collect();
    let problems = units.problems.iter();
    let problems = problems.filter(|problem| sources.iter().any(|one| one.name == problem.file));
    let mut draft = Draft {
        module: module_name(sources, &asked, library),
        order: units.order.clone(),
        problems: problems.cloned().collect(),
        ..Draft::default()
    };
    let directions = Directions::of(&units.modules);
    let mut routines: Vec<Routine> = Vec::new();
    let mut procedures = Vec::new();
    let each = asked.iter().flat_map(|(module, source)| {
        module.procedures.iter().map(move |one| (*module, *source, one))
    });
    for (module, source, procedure) in each {
        let Some(entry) = module.name_outside(&procedure.name) else { continue };
        let mut routine = Routine::of(module, procedure, &directions);
        routine.entry = entry.to_owned();
        routine.file = source.name.to_owned();
        if let Some(other) = routines.iter().find(|other| other.name == routine.name) {
            let place = format!("{}, line {}", file_name(&other.file), other.line);
            let what = format!("{}: {place} has a procedure of this name, too", routine.name);
            let fix = "scan the files of one module at a time";
            draft
                .problems
                .push(Problem::new(procedure.line, format!("{what}; {fix}")).of(source.name));
            continue;
        }
        routines.push(routine);
        procedures.push((module, procedure));
    }
    let groups = Shared::of(&units.modules, &directions).groups(&procedures);
    let head = head(&draft.module, sources, library, dialect);
    write(&mut draft, sources, &routines, &groups, head);
    Ok(draft)
}

/// That of the only module, the only source's, or the library's.
fn module_name(sources: &[Source<'_>], asked: &[(&Module, &Source<'_>)], library: &str) -> String {
    let named: Vec<&Module> =
        asked.iter().map(|(module, _)| *module).filter(|module| !module.name.is_empty()).collect();
    if let ([one], 1) = (named.as_slice(), sources.len()) {
        return one.name.clone();
    }
    let stem = match sources {
        [one] => file_name(one.name),
        _ => file_name(library).strip_prefix("lib").unwrap_or(file_name(library)),
    };
    let stem = stem.split('.').next().unwrap_or_default();
    let name: String =
        stem.chars().filter(|one| one.is_ascii_alphanumeric() || *one == '_').collect();
    // Names begin with a letter.
    let is_name = name.starts_with(|one: char| !one.is_ascii_digit());
    if is_name { name } else { format!("module{name}") }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// What the draft was made from.
fn from(sources: &[Source<'_>]) -> String {
    match sources {
        [one] => file_name(one.name).to_owned(),
        _ => format!("{} sources", sources.len()),
    }
}

/// What stands before the routines.
fn head(module: &str, sources: &[Source<'_>], library: &str, dialect: &Dialect) -> String {
    let from = from(sources);
    let remark = dialect.remark().map_or_else(String::new, |remark| format!("/* {remark} */\n"));
    format!(
        "/* Drafted by `farcall scan` from {from}. Check it, above all where a comment asks for \
            it. */\n{remark}Module {module};\nLibrary \"{library}\";\n"
    )
}

/// Puts the file together: routines in the order of the sources, so that both can be read side by
/// side.
fn write(
    draft: &mut Draft,
    sources: &[Source<'_>],
    routines: &[Routine],
    groups: &[Group],
    mut text: String,
) {
    let from = from(sources);
    let mut wrappers = Vec::new();
    for (number, routine) in routines.iter().enumerate() {
        text.push_str(&text_of(number, routines, groups));
        let here = |problem: &Problem| problem.clone().of(&routine.file);
        draft.problems.extend(routine.problems.iter().map(here));
        draft.notes.extend(routine.notes.iter().map(here));
        if routine.problems.is_empty() {
            draft.routines += 1;
            wrappers.extend(routine.module.is_some().then(|| wrapper::write(routine)));
        }
    }
    draft.notes.extend(groups.iter().map(|group| group.note(routines)));
    let place = |name: &str| sources.iter().position(|one| one.name == name);
    draft.problems.sort_by_key(|problem| (place(&problem.file), problem.line));
    draft.interface = text;
    if !wrappers.is_empty() {
        let head = format!(
            "! Made by `farcall scan` from {from}: a server calls these wrappers instead of the \
             module procedures,\n! whose names and assumed-shape arguments depend on the \
             compiler. Compile this file with the same\n! compiler, after {from}.\n"
        );
        draft.wrapper = Some(format!("{head}\n{}", wrappers.join("\n")));
    }
}

/// The definition of a routine. The methods of a class stand together, in the place of the first.
fn text_of(number: usize, routines: &[Routine], groups: &[Group]) -> String {
    let group = groups.iter().find(|group| group.routines.contains(&number));
    match group.filter(|group| group.is_class(routines)) {
        None => format!("\n{}", routines[number].text("Define")),
        Some(group) if group.routines[0] == number => group.text(routines),
        Some(_) => String::new(),
    }
}

/// How the server calls the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// `bind(C)`, numbers that are given by value.
    C,
    /// By reference, with lengths of CHARACTERs.
    Fortran,
}

/// A routine in the making.
#[derive(Clone, Debug)]
pub struct Routine {
    pub name: String,
    /// The source's name.
    pub file: String,
    pub line: usize,
    /// What others call it by.
    pub entry: String,
    /// Of a module procedure.
    pub module: Option<String>,
    pub style: Style,
    pub parameters: Vec<Parameter>,
    /// Names of extents of assumed-shape arguments.
    pub extents: Vec<(String, String)>,
    /// Index of the parameter that is a function's result.
    pub result: Option<usize>,
    pub is_pure: bool,
    /// What the linker calls it, with `bind(C)`.
    pub binding: Option<String>,
    pub problems: Vec<Problem>,
    notes: Vec<Problem>,
}

/// A dummy argument as a parameter.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// In the procedure.
    pub dummy: String,
    /// In the interface.
    pub name: String,
    pub intent: Intent,
    pub base: Base,
    pub kind: i64,
    /// Extents of an array, none of a scalar; `None` for one that is not known.
    pub extents: Vec<Option<Expression>>,
    /// How long a CHARACTER is; `None` for `*`.
    pub length: Option<Expression>,
    /// The procedure that is passed.
    pub callback: Option<Box<Routine>>,
    /// What the source says.
    pub declared: Declared,
    pub notes: Vec<String>,
}

/// Letters of a name (Fortran 2018, section 6.2.2).
const NAME_MAX: usize = 63;

/// Words that the interface language keeps, in lower case.
const RESERVED: [&str; 17] = [
    "char",
    "short",
    "int",
    "long",
    "float",
    "double",
    "string",
    "scomplex",
    "dcomplex",
    "filename",
    "allocate",
    "broadcast",
    "const",
    "mode_in",
    "mode_out",
    "mode_inout",
    "mode_work",
];

/// Names of arguments may be words of the interface language, which has no `$` in names.
fn interface_name(dummy: &str) -> String {
    let name = dummy.replace('$', "_");
    if RESERVED.contains(&name.as_str()) { format!("{name}_") } else { name }
}

impl Routine {
    /// Takes the arguments in order: extents may name those that come later, but sizes of arrays
    /// only earlier ones.
    fn of(module: &Module, procedure: &Procedure, directions: &Directions) -> Routine {
        let in_module = !module.name.is_empty();
        let binding = procedure.binding.clone();
        let mut routine = Routine {
            name: procedure.name.clone(),
            file: String::new(),
            line: procedure.line,
            entry: procedure.name.clone(),
            module: in_module.then(|| module.name.clone()),
            style: if in_module || binding.is_some() { Style::C } else { Style::Fortran },
            parameters: Vec::new(),
            extents: Vec::new(),
            result: None,
            is_pure: procedure.pure,
            binding,
            problems: Vec::new(),
            notes: Vec::new(),
        };
        for problem in &procedure.problems {
            routine.problem(problem.line, &problem.message);
        }
        if procedure.name.contains('$') {
            let fix = "rename it, or pass a procedure without one that calls it";
            routine
                .problem(procedure.line, format!("its name has a `$`, as no interface's: {fix}"));
        }
        if procedure.has_alternate_returns {
            routine.problem(procedure.line, "it has alternate returns (*)");
        }
        for dummy in procedure.dummies.iter().chain(&procedure.result) {
            let is_result =
                procedure.result.as_ref() == Some(dummy) && !procedure.dummies.contains(dummy);
            let parameter = routine.parameter(module, procedure, dummy, is_result, directions);
            if is_result {
                routine.result = Some(routine.parameters.len());
            }
            routine.parameters.push(parameter);
        }
        routine.check_result(procedure);
        routine.note_intents(procedure);
        routine.note_order(procedure);
        // Only numbers go by value, and as C lays them out.
        if routine.parameters.iter().any(|one| {
            one.callback.is_some() || matches!(one.base, Base::Character | Base::Logical)
        }) {
            routine.style = Style::Fortran;
        }
        if !in_module {
            routine.check_passing(procedure);
        } else if callback::longest_name(&routine) > NAME_MAX {
            routine.problem(procedure.line, "its name is too long for a wrapper: shorten it");
        }
        routine
    }

    /// What the library calls the wrapper.
    pub fn wrapper_name(&self) -> String {
        format!("farcall_{}_{}", self.module.as_deref().unwrap_or(""), self.name)
    }

    /// Keeps the routine from being published; it is drafted all the same, as a comment.
    fn problem(&mut self, line: usize, message: impl AsRef<str>) {
        let message = format!("{}: {}", self.name, message.as_ref());
        self.problems.push(Problem::new(line, message));
    }

    /// A procedure that is passed. What is not called through a wrapper can take but what a server
    /// passes.
    fn callback(&mut self, dummy: &str, interface: &Procedure) -> Option<Box<Routine>> {
        let home = Module { name: self.module.clone().unwrap_or_default(), ..Module::default() };
        let named = Procedure { name: dummy.to_owned(), ..interface.clone() };
        let mut inner = Routine::of(&home, &named, &Directions::default());
        inner.style = Style::Fortran;
        self.problems.append(&mut inner.problems);
        self.notes.append(&mut inner.notes);
        if let Some(line) = interface.called_in {
            let message = "its arguments are those of its calls here: check types and sizes";
            self.notes.push(Problem::new(line, format!("{}: {dummy}: {message}", self.name)));
        }
        if self.module.is_none() && needs_adapter(&inner) {
            let message = format!(
                "argument {dummy} is not a plain procedure: put {} into a module; scan then makes \
                 a wrapper",
                self.name
            );
            self.problem(interface.line, message);
        }
        for one in &inner.parameters {
            let refused = [
                (one.callback.is_some(), "has a procedure argument"),
                (one.declared.optional, "has OPTIONAL arguments"),
            ];
            for (_, why) in refused.into_iter().filter(|(applies, _)| *applies) {
                self.problem(
                    interface.line,
                    format!("argument {dummy} {why}, which a server cannot pass"),
                );
            }
        }
        let result = inner.result.map(|result| &inner.parameters[result]);
        if self.module.is_none() && result.is_some_and(|one| one.base == Base::Character) {
            self.problem(
                interface.line,
                format!("argument {dummy} is a function that returns text: make it a subroutine"),
            );
        }
        if result.is_some_and(Parameter::is_array) {
            self.problem(
                interface.line,
                format!(
                    "argument {dummy} is a function that returns an array: make it a subroutine"
                ),
            );
        }
        Some(Box::new(inner))
    }
}
