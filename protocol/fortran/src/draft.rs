//! From declarations to an interface file: what can be decided is drafted, what cannot is said.

mod argument;
mod checks;

use crate::callback::{self, needs_adapter};
use crate::expression::Expression;
use crate::parse::parse;
use crate::source::statements;
use crate::unit::{Base, Declared, Intent, Module, Procedure};
use crate::{Includes, Problem, Source, wrapper};

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
}

/// Reads a source, the sources of modules that it uses, and what they include, and drafts its
/// interface.
///
/// # Errors
/// What keeps any of it from being read.
pub fn draft(
    source: &Source<'_>,
    uses: &[Source<'_>],
    includes: Includes<'_>,
    library: &str,
) -> Result<Draft, Problem> {
    let mut others: Vec<Module> = Vec::new();
    for one in uses {
        let read = statements(one.text, one.form, includes).map_err(|problem| Problem {
            message: format!("{}: {}", one.name, problem.message),
            ..problem
        })?;
        let (modules, _) = parse(&read, &others);
        others.extend(modules.into_iter().filter(|module| !module.name.is_empty()));
    }
    let statements = statements(source.text, source.form, includes)?;
    // Modules of the file itself may use one another: a second look knows them.
    let (first, _) = parse(&statements, &others);
    others.extend(first.into_iter().filter(|module| !module.name.is_empty()));
    let (modules, problems) = parse(&statements, &others);
    let mut draft = Draft { problems, ..Draft::default() };
    let stem = source.name.rsplit('/').next().unwrap_or(source.name);
    let stem: String = stem
        .split('.')
        .next()
        .unwrap_or("module")
        .chars()
        .filter(|one| one.is_ascii_alphanumeric() || *one == '_')
        .collect();
    let named: Vec<&Module> = modules.iter().filter(|module| !module.name.is_empty()).collect();
    draft.module = match named.as_slice() {
        [one] => one.name.clone(),
        _ => stem,
    };
    let mut routines = Vec::new();
    for module in &modules {
        for procedure in module.procedures.iter().filter(|procedure| module.shows(&procedure.name))
        {
            let routine = Routine::of(module, procedure);
            if routines.iter().any(|other: &Routine| other.name == routine.name) {
                draft.problems.push(Problem::new(
                    procedure.line,
                    format!(
                        "{}: two procedures have this name; scan one file per module",
                        routine.name
                    ),
                ));
                continue;
            }
            routines.push(routine);
        }
    }
    write(&mut draft, source, &routines, library);
    Ok(draft)
}

/// Puts the file together: routines in the order of the source, so that both can be read side by
/// side.
fn write(draft: &mut Draft, source: &Source<'_>, routines: &[Routine], library: &str) {
    let file = source.name.rsplit('/').next().unwrap_or(source.name);
    let mut text = format!(
        "/* Drafted by `farcall scan` from {file}. Check it, above all where a comment asks for \
            it. */\n"
    );
    text.push_str(&format!("Module {};\nLibrary \"{library}\";\n", draft.module));
    let mut wrappers = Vec::new();
    for routine in routines {
        text.push('\n');
        text.push_str(&routine.text());
        draft.problems.extend(routine.problems.iter().cloned());
        draft.notes.extend(routine.notes.iter().cloned());
        if routine.problems.is_empty() {
            draft.routines += 1;
            wrappers.extend(routine.module.is_some().then(|| wrapper::write(routine)));
        }
    }
    draft.problems.sort_by_key(|problem| problem.line);
    draft.interface = text;
    if !wrappers.is_empty() {
        let head = format!(
            "! Made by `farcall scan` from {file}: a server calls these wrappers instead of the \
             module procedures,\n! whose names and assumed-shape arguments depend on the \
             compiler. Compile this file with the same\n! compiler, after {file}.\n"
        );
        draft.wrapper = Some(format!("{head}\n{}", wrappers.join("\n")));
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

/// Names of arguments may be words of the interface language.
fn interface_name(dummy: &str) -> String {
    if RESERVED.contains(&dummy) { format!("{dummy}_") } else { dummy.to_owned() }
}

impl Routine {
    /// Takes the arguments in order: extents may name those that come later, but sizes of arrays
    /// only earlier ones.
    fn of(module: &Module, procedure: &Procedure) -> Routine {
        let in_module = !module.name.is_empty();
        let binding = procedure.binding.clone();
        let mut routine = Routine {
            name: procedure.name.clone(),
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
        if procedure.has_alternate_returns {
            routine.problem(procedure.line, "it has alternate returns (*)");
        }
        for dummy in procedure.dummies.iter().chain(&procedure.result) {
            let is_result =
                procedure.result.as_ref() == Some(dummy) && !procedure.dummies.contains(dummy);
            let parameter = routine.parameter(module, procedure, dummy, is_result);
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
        let mut inner = Routine::of(&home, &named);
        inner.style = Style::Fortran;
        self.problems.append(&mut inner.problems);
        self.notes.append(&mut inner.notes);
        if self.module.is_none() && needs_adapter(&inner) {
            let what = if inner.result.is_some() { "a function" } else { "not a plain subroutine" };
            let message = format!(
                "argument {dummy} is {what}: put {} into a module; scan then makes a wrapper",
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
        if inner.result.is_some_and(|result| inner.parameters[result].is_array()) {
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
