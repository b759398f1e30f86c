//! What was drafted, in the interface language.

use crate::draft::{Parameter, Routine, Style};
use crate::expression::{Expression, Language};
use crate::unit::{Base, Intent};

/// The interface language's word for a type.
pub fn type_word(base: &Base, kind: i64) -> Option<&'static str> {
    Some(match (base, kind) {
        (Base::Integer, 1) => "int8",
        (Base::Logical, 1) => "bool",
        (Base::Integer, 2) | (Base::Logical, 2) => "short",
        (Base::Integer, 4) => "int",
        (Base::Integer | Base::Logical, 8) => "int64",
        (Base::Logical, 4) => "logical",
        (Base::Real, 4) => "float",
        (Base::Real, 8) => "double",
        (Base::Complex, 4) => "scomplex",
        (Base::Complex, 8) => "dcomplex",
        (Base::Character, 1) => "char",
        _ => return None,
    })
}

impl Parameter {
    /// Whether it is a procedure, declared or not.
    fn is_procedure(&self) -> bool {
        self.callback.is_some() || self.declared.external
    }

    /// Whether it has dimensions, a CHARACTER's length not among them.
    pub fn is_array(&self) -> bool {
        !self.extents.is_empty()
    }

    /// `INOUT double a[n][m] column "…"`
    fn text(&self) -> String {
        if let Some(passed) = &self.callback {
            return passed.function_text(&self.name);
        }
        if self.declared.external {
            let spec = self.declared.type_spec.as_ref();
            let kind = spec.and_then(|spec| type_word(&spec.base, *spec.kind.as_ref().ok()?));
            return format!(
                "{}{}(?)",
                kind.map_or_else(String::new, |word| format!("{word} ")),
                self.name
            );
        }
        let mode = match self.intent {
            Intent::In => "IN",
            Intent::Out => "OUT",
            Intent::InOut => "INOUT",
        };
        let is_text = self.base == Base::Character;
        // A single character is a char. The procedure reads as many as it declares, so that only a
        // length of `*` takes a text as it is; another is filled up with blanks.
        let single = self.length == Some(Expression::Number(1));
        let has_any_length = is_text && self.length.is_none();
        let word = match () {
            () if has_any_length && self.intent == Intent::In && !self.is_array() => "string",
            () => type_word(&self.base, self.kind).unwrap_or("?"),
        };
        let mut text = format!("{mode} {word} {}", self.name);
        if word == "char"
            && !(single && !self.is_array() && self.intent == Intent::In)
            && !(single && self.is_array())
        {
            text.push_str(&format!(
                "[{}]",
                self.length
                    .as_ref()
                    .map_or_else(|| "?".to_owned(), |length| length.write(Language::Interface))
            ));
        }
        for extent in &self.extents {
            text.push_str(&format!(
                "[{}]",
                extent
                    .as_ref()
                    .map_or_else(|| "?".to_owned(), |one| one.write(Language::Interface))
            ));
        }
        if self.extents.len() > 1 || (self.is_array() && is_text && !single) {
            text.push_str(" column");
        }
        if !self.declared.comment.is_empty() {
            let clean: String = self
                .declared
                .comment
                .chars()
                .filter(|one| !one.is_control())
                .map(|one| if one == '"' || one == '\\' { '\'' } else { one })
                .collect();
            text.push_str(&format!(" \"{clean}\""));
        }
        text
    }
}

impl Routine {
    /// The procedure as a callback of that name: `double f(IN double x)`. One that an adapter calls
    /// is a subroutine, whose result is an argument.
    fn function_text(&self, name: &str) -> String {
        let value = self.result.filter(|_| self.module.is_none());
        let passed = self.parameters.iter().enumerate().filter(|(index, _)| Some(*index) != value);
        let inner = passed.map(|(_, one)| one.text()).chain(self.extent_texts());
        let value = value.map(|index| &self.parameters[index]);
        let value = value.and_then(|one| type_word(&one.base, one.kind));
        let value = value.unwrap_or("void");
        format!("{value} {name}({})", inner.collect::<Vec<_>>().join(", "))
    }

    /// Extents of arrays of assumed shape, as parameters.
    fn extent_texts(&self) -> impl Iterator<Item = String> {
        self.extents.iter().map(|(name, doc)| format!("IN int64 {name} \"{doc}\""))
    }

    /// The definition, which begins with `word`; a comment where there are problems.
    pub fn text(&self, word: &str) -> String {
        let mut lines = Vec::new();
        let mut arguments: Vec<(String, &[String])> = Vec::new();
        // Callbacks come last in a list, whatever their place in the call.
        let (callbacks, plain): (Vec<_>, Vec<_>) =
            self.parameters.iter().partition(|one| one.is_procedure());
        arguments.extend(plain.iter().map(|one| (one.text(), one.notes.as_slice())));
        arguments.extend(self.extent_texts().map(|text| (text, &[] as &[String])));
        arguments.extend(callbacks.iter().map(|one| (one.text(), one.notes.as_slice())));
        lines.push(format!("{word} {}(", self.name));
        let count = arguments.len();
        for (index, (text, notes)) in arguments.into_iter().enumerate() {
            for note in notes {
                lines.push(format!("    /* {note} */"));
            }
            lines.push(format!("    {text}{}", if index + 1 < count { "," } else { "" }));
        }
        lines.push(")".to_owned());
        lines.push(self.call());
        if self.problems.is_empty() {
            return lines.join("\n") + "\n";
        }
        let why = self
            .problems
            .iter()
            .map(|problem| format!("// line {}: {}\n", problem.line, problem.message));
        let body = lines.iter().map(|line| format!("// {line}\n"));
        format!(
            "// Not published. Decide this and remove the slashes:\n{}{}",
            why.collect::<String>(),
            body.collect::<String>()
        )
    }

    /// Which code it is, with the arguments in the procedure's own order.
    fn call(&self) -> String {
        let result = self.result.filter(|_| self.module.is_none());
        let passed = self.parameters.iter().enumerate().filter(|(index, _)| Some(*index) != result);
        let mut names: Vec<&str> = passed.map(|(_, one)| one.name.as_str()).collect();
        names.extend(self.extents.iter().map(|(name, _)| name.as_str()));
        let language = if self.style == Style::C { "C" } else { "Fortran" };
        let function = match (&self.module, &self.binding) {
            (Some(_), _) => self.wrapper_name(),
            (None, Some(binding)) => binding.clone(),
            (None, None) => self.name.clone(),
        };
        let value =
            result.map_or_else(String::new, |index| format!("{} = ", self.parameters[index].name));
        format!("Calls \"{language}\" {value}{function}({});", names.join(", "))
    }
}
