//! From declarations to an interface file: what can be decided is drafted, what cannot is said.

use crate::callback::{self, interface_of, needs_adapter};
use crate::expression::Expression;
use crate::interface::type_word;
use crate::parse::parse;
use crate::source::statements;
use crate::unit::{Base, Bound, Declared, Intent, Length, Module, Procedure, TypeSpec};
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

/// The type of a name that is not declared.
fn implicit(procedure: &Procedure, name: &str) -> Option<TypeSpec> {
    if procedure.implicit.none {
        return None;
    }
    let letter = name.chars().next()?;
    let rule = procedure
        .implicit
        .rules
        .iter()
        .rev()
        .find(|(first, last, _)| (*first..=*last).contains(&letter));
    let base = if ('i'..='n').contains(&letter) { Base::Integer } else { Base::Real };
    let default = TypeSpec { base, kind: Ok(4), length: Length::Is(Expression::Number(1)) };
    Some(rule.map_or(default, |(.., spec)| spec.clone()))
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

    /// What is called without a wrapper takes its arguments by the rules of one language: by
    /// reference, but for numbers of C.
    fn check_passing(&mut self, procedure: &Procedure) {
        let by_name = |one: &Parameter| (one.dummy.clone(), one.declared.line);
        let by_value = self.parameters.iter().find(|one| one.declared.by_value).map(by_name);
        let by_reference = |one: &&Parameter| {
            one.intent == Intent::In && !one.is_array() && !one.declared.by_value
        };
        let by_reference = self.parameters.iter().find(by_reference).map(by_name);
        let wrapper = format!("put {} into a module; scan then makes a wrapper", self.name);
        match (procedure.binding.is_some(), self.style, by_value, by_reference) {
            (false, _, Some((dummy, line)), _) => {
                self.problem(
                    line,
                    format!("argument {dummy} is VALUE outside a module: {wrapper}"),
                );
            }
            (true, Style::Fortran, ..) => {
                self.problem(
                    procedure.line,
                    format!("it is bind(C) and has arguments that are not numbers: {wrapper}"),
                );
            }
            (true, Style::C, _, Some((dummy, line))) => {
                self.problem(
                    line,
                    format!(
                        "argument {dummy} is a number that a bind(C) procedure only reads, and is \
                            not VALUE: {wrapper}"
                    ),
                );
            }
            _ => {}
        }
    }

    /// One note for all arguments of which the source does not say whether they are written to.
    fn note_intents(&mut self, procedure: &Procedure) {
        let told = |one: &&Parameter| {
            one.declared.intent.is_some() || one.declared.by_value || one.callback.is_some()
        };
        let dummies = self
            .parameters
            .iter()
            .enumerate()
            .filter(|(index, _)| Some(*index) != self.result)
            .map(|(_, one)| one);
        let without: Vec<&str> = dummies
            .filter(|one| !told(one) && !one.declared.external)
            .map(|one| one.dummy.as_str())
            .collect();
        if !without.is_empty() {
            let message = format!(
                "{}: no INTENT for {}: drafted as INOUT; change them to IN or OUT",
                self.name,
                without.join(", ")
            );
            self.notes.push(Problem::new(procedure.line, message));
        }
    }

    /// A note where the interface's order is another than the procedure's: it has callbacks last.
    fn note_order(&mut self, procedure: &Procedure) {
        let dummies = self
            .parameters
            .iter()
            .enumerate()
            .filter(|(index, _)| Some(*index) != self.result)
            .map(|(_, one)| one);
        let (passed, plain): (Vec<_>, Vec<_>) =
            dummies.clone().partition(|one| one.callback.is_some());
        let ordered = || plain.iter().chain(&passed).map(|one| one.dummy.as_str());
        if dummies.map(|one| one.dummy.as_str()).ne(ordered()) {
            let order = ordered().collect::<Vec<_>>().join(", ");
            let message =
                format!("{}: procedure arguments must be last in a call: {order}", self.name);
            self.notes.push(Problem::new(procedure.line, message));
        }
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

    /// Everything about one argument. What cannot be decided leaves its default, which only the
    /// comment shows.
    fn parameter(
        &mut self,
        module: &Module,
        procedure: &Procedure,
        dummy: &str,
        is_result: bool,
    ) -> Parameter {
        let nothing = Declared { line: procedure.line, ..Declared::default() };
        let declared = procedure.declared.get(dummy).unwrap_or(&nothing);
        let mut parameter = Parameter {
            dummy: dummy.to_owned(),
            name: interface_name(dummy),
            intent: Intent::InOut,
            base: Base::Integer,
            kind: 4,
            extents: Vec::new(),
            length: None,
            callback: None,
            declared: declared.clone(),
            notes: Vec::new(),
        };
        if is_result && dummy == self.name {
            parameter.name = "result".to_owned();
        }
        if let Some(interface) = interface_of(module, procedure, dummy) {
            parameter.intent = Intent::In;
            parameter.callback = self.callback(dummy, interface);
            return parameter;
        }
        self.refuse_attributes(dummy, declared);
        self.take_type(procedure, &mut parameter, declared);
        self.take_intent(&mut parameter, declared, is_result);
        self.take_shape(procedure, &mut parameter, declared);
        if declared.optional {
            let note = "optional in Fortran; always passed here";
            parameter.notes.push(note.to_owned());
            self.notes.push(Problem::new(declared.line, format!("{}: {dummy}: {note}", self.name)));
        }
        parameter
    }

    /// Attributes that need the caller's descriptor, or the compiler's knowledge of an interface.
    fn refuse_attributes(&mut self, dummy: &str, declared: &Declared) {
        let refused = [
            (declared.allocatable, "is ALLOCATABLE: give it explicit or assumed shape"),
            (declared.pointer, "is a POINTER: give it explicit or assumed shape"),
            (
                declared.assumed_rank,
                "has assumed rank: an array of a routine has a fixed number of dimensions",
            ),
            (
                declared.external && declared.interface.is_none(),
                "is a procedure with undeclared arguments: add an interface block",
            ),
            (
                declared.interface.is_some(),
                "is a procedure with its interface in another file: pass that file with --uses",
            ),
        ];
        for (applies, why) in refused {
            if applies {
                self.problem(declared.line, format!("argument {dummy} {why}"));
            }
        }
    }

    /// The type and its kind; of CHARACTERs the length, too.
    fn take_type(&mut self, procedure: &Procedure, parameter: &mut Parameter, declared: &Declared) {
        let dummy = parameter.dummy.clone();
        let spec = declared.type_spec.clone().or_else(|| implicit(procedure, &dummy));
        if let (None, false, Some(unread)) =
            (&declared.type_spec, procedure.implicit.none, procedure.unread.first())
        {
            self.problem(
                procedure.line,
                format!("argument {dummy} may be declared in an INCLUDE file; {unread}"),
            );
        }
        let Some(spec) = spec.filter(|_| !declared.external) else {
            if !declared.external {
                self.problem(declared.line, format!("argument {dummy} is not declared"));
            }
            return;
        };
        parameter.base = spec.base.clone();
        match &spec.kind {
            Ok(kind) => parameter.kind = *kind,
            Err(words) => {
                let uses = "pass the file of the module that defines it with --uses";
                let advice = procedure.unread.first().map_or(uses, String::as_str);
                self.problem(
                    declared.line,
                    format!("argument {dummy}: unknown kind `{words}`; {advice}"),
                );
                return;
            }
        }
        if spec.base == Base::Derived("*".to_owned()) {
            self.problem(
                declared.line,
                format!("argument {dummy} has no fixed type: each argument of a routine needs one"),
            );
        } else if let Base::Derived(name) = &spec.base {
            self.problem(
                declared.line,
                format!("argument {dummy} has the derived type {name}: pass its components"),
            );
        } else if type_word(&spec.base, parameter.kind).is_none() {
            self.problem(
                declared.line,
                format!(
                    "argument {dummy} has kind {}, which the interface language does not have",
                    parameter.kind
                ),
            );
        }
        if spec.base == Base::Character {
            match &spec.length {
                Length::Assumed => parameter.length = None,
                Length::Is(length) => match self.resolved(procedure, length) {
                    Ok(length) => parameter.length = Some(length),
                    Err(name) => self.problem(
                        declared.line,
                        format!(
                            "argument {dummy}: its length names {name}, which is neither an \
                                argument nor a constant"
                        ),
                    ),
                },
                Length::Unknown => self.problem(
                    declared.line,
                    format!(
                        "argument {dummy}: its length cannot be \
                        determined"
                    ),
                ),
            }
        }
    }

    /// Without INTENT, a procedure may do anything with an argument: INOUT is right then, if not
    /// always short.
    fn take_intent(&mut self, parameter: &mut Parameter, declared: &Declared, is_result: bool) {
        parameter.intent = match declared.intent {
            _ if is_result => Intent::Out,
            Some(intent) => intent,
            None if declared.by_value => Intent::In,
            None => {
                parameter.notes.push("no INTENT in the source: change it to IN or OUT".to_owned());
                Intent::InOut
            }
        };
    }

    /// The extents. Those of assumed shape become arguments of the wrapper, behind all others.
    fn take_shape(
        &mut self,
        procedure: &Procedure,
        parameter: &mut Parameter,
        declared: &Declared,
    ) {
        let dummy = parameter.dummy.clone();
        for (index, bound) in declared.shape.iter().enumerate() {
            let number = index + 1;
            let size = format!("argument {dummy}: the size of dimension {number}");
            let extent = match bound {
                // It was refused already.
                _ if declared.assumed_rank => None,
                Bound::Extent(expression) => {
                    self.resolved(procedure, expression).map(Some).unwrap_or_else(|name| {
                        let unread = procedure
                            .unread
                            .first()
                            .map_or_else(String::new, |unread| format!("; {unread}"));
                        let reason =
                            "which is neither an argument that callers pass nor a constant";
                        self.problem(
                            declared.line,
                            format!("{size} names {name}, {reason}{unread}"),
                        );
                        None
                    })
                }
                Bound::AssumedShape if self.module.is_some() && self.result.is_none() => {
                    let name = self.unused(procedure, &format!("{dummy}_{number}"));
                    self.extents.push((
                        name.clone(),
                        format!("size of dimension {number} of {}", parameter.name),
                    ));
                    Some(Expression::Name(name))
                }
                Bound::AssumedShape => {
                    let fix = format!("put {} into one", self.name);
                    self.problem(
                        declared.line,
                        format!("argument {dummy} has assumed shape outside a module: {fix}"),
                    );
                    None
                }
                Bound::AssumedSize => {
                    self.problem(
                        declared.line,
                        format!("{size} is not declared (`*`); replace the `?` with it"),
                    );
                    None
                }
                Bound::Unknown => {
                    self.problem(
                        declared.line,
                        format!("{size} cannot be determined; replace the `?` with it"),
                    );
                    None
                }
            };
            parameter.extents.push(extent);
        }
        let is_text = parameter.base == Base::Character;
        if is_text && !parameter.extents.is_empty() && self.module.is_some() {
            self.problem(
                declared.line,
                format!(
                    "argument {dummy} is an array of CHARACTERs: pass it as one text, or as \
                    integers"
                ),
            );
        } else if is_text
            && parameter.length.is_none()
            && (parameter.intent != Intent::In || !parameter.extents.is_empty())
        {
            self.problem(
                declared.line,
                format!(
                    "argument {dummy} is written to and has no fixed length: declare one, such as \
                        character(len=80)"
                ),
            );
        }
    }

    /// A name for an extent that nothing else has.
    fn unused(&self, procedure: &Procedure, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        while procedure.dummies.contains(&name)
            || procedure.result.as_ref() == Some(&name)
            || self.extents.iter().any(|(one, _)| *one == name)
        {
            name.push('_');
        }
        name
    }

    /// An expression in terms of parameters and numbers.
    fn resolved(
        &self,
        procedure: &Procedure,
        expression: &Expression,
    ) -> Result<Expression, String> {
        expression.resolved(&|one| match one {
            Expression::Name(name) => {
                if procedure.dummies.contains(name) {
                    return is_size(procedure, name)
                        .then(|| Expression::Name(interface_name(name)));
                }
                procedure.constants.get(name).copied().map(Expression::Number)
            }
            Expression::Size(array, dimension) => {
                let known = self.parameters.iter().find(|known| known.dummy == *array)?;
                match dimension {
                    Some(dimension) => known.extents.get(dimension - 1)?.clone(),
                    None => {
                        let mut extents = known.extents.iter().cloned();
                        let first = extents.next()??;
                        extents.try_fold(first, |product, one| {
                            Some(Expression::Binary('*', Box::new(product), Box::new(one?)))
                        })
                    }
                }
            }
            _ => None,
        })
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

    /// What functions may return: numbers by value where they are called directly, anything that
    /// has a shape through a wrapper.
    fn check_result(&mut self, procedure: &Procedure) {
        let Some(result) = self.result.map(|index| &self.parameters[index]) else { return };
        let outside = self.module.is_none();
        if outside && result.base == Base::Character {
            self.problem(
                procedure.line,
                "it is a function that returns text: put it into a module",
            );
        } else if outside && !result.extents.is_empty() {
            self.problem(
                procedure.line,
                "it is a function that returns an array: put it into a module",
            );
        }
    }
}

/// Whether an argument may stand in extents: an integer that is given.
fn is_size(procedure: &Procedure, name: &str) -> bool {
    let declared = procedure.declared.get(name);
    let spec = declared.and_then(|one| one.type_spec.clone()).or_else(|| implicit(procedure, name));
    let given = declared.is_none_or(|one| one.intent != Some(Intent::Out) && one.shape.is_empty());
    given && spec.is_some_and(|spec| spec.base == Base::Integer)
}
