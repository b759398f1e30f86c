//! Parameters and results in the interface language; what cannot be decided is said.

use crate::context::Context;
use crate::extent::Extent;
use crate::function::{Function, Parameter};
use crate::headers::Headers;
use crate::sizes::{has_numbers, is_number, size_of};
use crate::types::{Qualified, Type};
use crate::{Place, Problem};

/// Words that the interface language keeps, and C does not.
const RESERVED: [&str; 10] = [
    "string",
    "scomplex",
    "dcomplex",
    "filename",
    "allocate",
    "broadcast",
    "mode_in",
    "mode_out",
    "mode_inout",
    "mode_work",
];

/// A parameter in the interface language.
#[derive(Clone, Debug)]
pub struct Drafted {
    /// `IN double x[n]`
    pub text: String,
    pub name: String,
    pub is_callback: bool,
    pub notes: Vec<String>,
}

/// The parameters of a function, or of one that is passed.
pub struct List<'a> {
    pub headers: &'a Headers,
    /// In messages.
    pub function: &'a str,
    pub parameters: &'a [Parameter],
    /// Those that callers do not pass: handles, what callbacks are given.
    pub hidden: Vec<usize>,
    pub context: Option<Context>,
    pub is_callback: bool,
    pub problems: Vec<Problem>,
}

/// The name of a parameter in the interface.
pub fn interface_name(name: &str) -> String {
    if RESERVED.contains(&name) { format!("{name}_") } else { name.to_owned() }
}

impl List<'_> {
    fn problem(&mut self, place: Place, message: impl std::fmt::Display) {
        self.problems.push(Problem::new(place, format!("{}: {message}", self.function)));
    }

    /// All parameters that callers pass, in order.
    pub fn draft(&mut self) -> Vec<Drafted> {
        let all = self.parameters;
        let seen = (0..all.len()).filter(|index| !self.hidden.contains(index));
        let seen: Vec<usize> = seen.collect();
        seen.into_iter().map(|index| self.one(index)).collect()
    }

    fn one(&mut self, index: usize) -> Drafted {
        let parameter = &self.parameters[index];
        let name = interface_name(&parameter.name);
        let mut drafted = Drafted {
            text: String::new(),
            name: name.clone(),
            is_callback: false,
            notes: Vec::new(),
        };
        if let Some(function) = parameter.kind.function() {
            drafted.is_callback = true;
            drafted.text = self.callback(parameter, function);
            return drafted;
        }
        drafted.text = match &parameter.kind {
            Type::Pointer(to) | Type::Array(to, _) => {
                self.pointer(index, to, &name, &mut drafted.notes)
            }
            kind => {
                let word = self.word(parameter.place, &parameter.name, kind);
                format!("IN {word} {name}")
            }
        };
        drafted
    }

    /// The word for one value, or `?` with a problem.
    fn word(&mut self, place: Place, name: &str, kind: &Type) -> String {
        if let Type::Other(reason) = kind {
            self.problem(place, format!("parameter {name} {reason}"));
            return "?".to_owned();
        }
        let Type::Struct(tag) = kind else { return kind.word().unwrap_or("?").to_owned() };
        let refusal = match self.headers.fields(tag) {
            None => Some("which the header does not define".to_owned()),
            Some(fields) => {
                fields.refusal.clone().map(|why| format!("which cannot be passed: {why}"))
            }
        };
        if let Some(why) = refusal {
            let c_name = self.headers.c_name(tag);
            let advice = "describe a function that takes its parts";
            self.problem(place, format!("parameter {name} is a {c_name}, {why}; {advice}"));
        }
        self.headers.name_of(tag).to_owned()
    }

    /// A pointer or an array.
    fn pointer(
        &mut self,
        index: usize,
        to: &Qualified,
        name: &str,
        notes: &mut Vec<String>,
    ) -> String {
        let parameter = &self.parameters[index];
        let place = parameter.place;
        let (element, extents) = elements(&parameter.kind, to);
        let is_fixed = extents.first().is_some_and(|extent| *extent != Extent::Missing);
        let own = parameter.name.clone();
        match &element.kind {
            Type::Char if element.is_const && !is_fixed && extents.len() == 1 => {
                return format!("IN string {name}");
            }
            Type::Pointer(inner) if inner.kind == Type::Char => {
                return self.texts(index, inner.is_const, name);
            }
            Type::Pointer(_) | Type::Array(..) | Type::Function(_) => {
                let message = "is an array of pointers: describe a function that takes one array";
                self.problem(place, format!("parameter {own} {message}"));
                return format!("? {name}");
            }
            Type::Struct(tag) if tag == "FILE" => {
                let forms = "IN, OUT or INOUT filepointer";
                self.problem(place, format!("parameter {own} is a FILE: write {forms} {name}"));
                return format!("? filepointer {name}");
            }
            Type::Struct(tag) if self.headers.fields(tag).is_none() => {
                let c_name = self.headers.c_name(tag);
                let message =
                    "is a handle: its maker must be in the header, and it must come first";
                self.problem(place, format!("parameter {own}, a {c_name}, {message}"));
                return format!("? {name}");
            }
            _ => {}
        }
        let word = match &element.kind {
            Type::Void => "void".to_owned(),
            kind => self.word(place, &own, kind),
        };
        let sizes = self.sizes(index, &extents, element, notes);
        let is_const = element.is_const || to.is_const;
        if !is_const {
            notes.push("not const in the header: change it to IN or OUT".to_owned());
        }
        format!("{} {word} {name}{sizes}", if is_const { "IN" } else { "INOUT" })
    }

    /// An array of texts.
    fn texts(&mut self, index: usize, is_const: bool, name: &str) -> String {
        let parameter = &self.parameters[index];
        match size_of(self.parameters, &self.hidden, index).filter(|_| is_const) {
            Some(size) => {
                format!("IN string {name}[{}]", interface_name(&self.parameters[size].name))
            }
            None => {
                let message = "is an array of texts, or a place for one: write IN string names[n], \
                               or OUT string text";
                self.problem(parameter.place, format!("parameter {} {message}", parameter.name));
                format!("? string {name}[?]")
            }
        }
    }

    /// The brackets, with what is known of them.
    fn sizes(
        &mut self,
        index: usize,
        extents: &[Extent],
        element: &Qualified,
        notes: &mut Vec<String>,
    ) -> String {
        let parameter = &self.parameters[index];
        let mut text = String::new();
        for extent in extents {
            let size = match extent {
                Extent::Is(size) if self.is_known(extent) => Ok(size.clone()),
                Extent::Is(size) | Extent::Unknown(size) => {
                    Err(format!("has the size `{size}`, which names what no caller passes"))
                }
                Extent::Missing => match size_of(self.parameters, &self.hidden, index) {
                    Some(size) => {
                        let name = interface_name(&self.parameters[size].name);
                        notes.push(format!("its size is taken to be {name}, which stands by it"));
                        Ok(name)
                    }
                    None if self.is_one(element) => {
                        notes.push("taken to be one struct, and no array".to_owned());
                        Ok("1".to_owned())
                    }
                    None => {
                        Err("points to an unknown number of values: replace the `?` with it, 1 \
                                 for one value"
                            .to_owned())
                    }
                },
            };
            let size = size.unwrap_or_else(|why| {
                self.problem(parameter.place, format!("parameter {} {why}", parameter.name));
                "?".to_owned()
            });
            text.push_str(&format!("[{size}]"));
        }
        text
    }

    /// Where nothing could say how many there are, a struct is one.
    fn is_one(&self, element: &Qualified) -> bool {
        matches!(element.kind, Type::Struct(_)) && !has_numbers(self.parameters)
    }

    fn is_known(&self, extent: &Extent) -> bool {
        let is_passed =
            |name: &str| self.parameters.iter().any(|one| one.name == name && is_number(one));
        extent.names().into_iter().all(is_passed)
    }

    /// `double f(IN double x)`
    fn callback(&mut self, parameter: &Parameter, function: &Function) -> String {
        let name = interface_name(&parameter.name);
        if self.is_callback {
            self.problem(parameter.place, "a function that is passed takes another one");
            return format!("{name}(?)");
        }
        if let Some(why) = function.refusal {
            self.problem(parameter.place, format!("parameter {name}: {why}"));
        }
        let is_own = |one: &Context| self.parameters[one.callback].name == parameter.name;
        let hidden = self.context.filter(is_own).map(|one| one.given);
        let mut inner = List {
            headers: self.headers,
            function: self.function,
            parameters: &function.parameters,
            hidden: hidden.into_iter().collect(),
            context: None,
            is_callback: true,
            problems: Vec::new(),
        };
        let list: Vec<String> = inner.draft().into_iter().map(|one| one.text).collect();
        self.problems.append(&mut inner.problems);
        let value = match &function.result.kind {
            Type::Void => String::new(),
            kind if kind.word().is_some() => {
                self.word(parameter.place, &parameter.name, kind) + " "
            }
            _ => {
                let message = "is a function that returns a pointer, which a server cannot pass";
                self.problem(parameter.place, format!("parameter {name} {message}"));
                "? ".to_owned()
            }
        };
        format!("{value}{name}({})", list.join(", "))
    }
}

/// What a pointer to `to` is of in the end, and its sizes from the outermost.
fn elements<'a>(kind: &Type, to: &'a Qualified) -> (&'a Qualified, Vec<Extent>) {
    let first = match kind {
        Type::Array(_, extent) => extent.clone(),
        _ => Extent::Missing,
    };
    let mut extents = vec![first];
    let mut of = to;
    while let Type::Array(inner, extent) = &of.kind {
        extents.push(extent.clone());
        of = inner;
    }
    (of, extents)
}
