//! Parameter lists: modes, types, declarators, clauses and callbacks (spec/idl.md, sections 3.2 to
//! 3.4 and 3.8).

use super::Parser;
use super::tree::{Domain, Expression, Name, Parameter};
use crate::canonical::PARAMETERS_MAX;
use crate::diagnostic::shown;
use crate::nearest::nearest;
use crate::source::Span;
use crate::token::Kind;
use crate::words;

/// Mode and type words, in whatever order they stand.
#[derive(Default)]
struct Specifiers {
    mode: Option<(crate::interface::Mode, Span)>,
    types: Vec<Name>,
    constant: Option<Span>,
    distribution: Option<Name>,
    /// A mode word was meant but misspelt; reported.
    mode_reported: bool,
}

impl Parser<'_, '_> {
    /// The list behind `(`, with its `)`; true if some parameter could not be read.
    pub(super) fn parameters(&mut self, inside_callback: bool) -> (Vec<Parameter>, bool) {
        let mut list = Vec::new();
        let mut incomplete = false;
        if self.eat(")") {
            return (list, false);
        }
        loop {
            let first = self.peek().span;
            match self.parameter(inside_callback) {
                Some(parameter) => list.push(parameter),
                None => {
                    incomplete = true;
                    self.skip_parameter();
                }
            }
            if list.len() > PARAMETERS_MAX {
                self.problems
                    .add(first, format!("a routine has at most {PARAMETERS_MAX} parameters"));
                self.skip_list();
                return (list, true);
            }
            if self.eat(",") {
                continue;
            }
            let closed = self.eat(")");
            if closed || !self.go_on_without_comma() {
                return (list, incomplete || !closed);
            }
        }
    }

    /// Between two parameters without a comma; false if the list cannot go on.
    fn go_on_without_comma(&mut self) -> bool {
        let another =
            words::mode(self.word()).is_some() || words::CORE_TYPES.contains(&self.word());
        let found = self.found();
        let message = format!("expected ',' or ')' after the parameter, found {found}");
        let span =
            if another || self.at_end() { self.previous().behind() } else { self.peek().span };
        let function = "a callback has no mode: f(IN double x, OUT double y) or, where it returns \
            a number, double f(IN double x)";
        self.problems.add_with(span, message, self.at_symbol("(").then(|| function.to_owned()));
        if another {
            return true;
        }
        self.skip_parameter();
        let more = self.eat(",");
        if !more {
            self.eat(")");
        }
        more
    }

    /// Skips to the comma or parenthesis behind a parameter that could not be read.
    fn skip_parameter(&mut self) {
        let mut depth = 0_usize;
        while !self.at_end() && !self.at_declaration() && self.word() != "Calls" {
            match self.peek().kind {
                Kind::Symbol(";") | Kind::Body => return,
                Kind::Symbol("," | ")") if depth == 0 => return,
                Kind::Symbol("(" | "[") => depth += 1,
                Kind::Symbol(")" | "]") => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.advance();
        }
    }

    /// Skips the rest of a list that is too long.
    fn skip_list(&mut self) {
        loop {
            self.skip_parameter();
            if !self.eat(",") {
                self.eat(")");
                return;
            }
        }
    }

    /// A parameter with its clauses. `None` only if not even its name could be read.
    fn parameter(&mut self, inside_callback: bool) -> Option<Parameter> {
        if let Some(name) = self.callback_name() {
            return self.callback(name, Vec::new(), inside_callback);
        }
        let first = self.peek();
        if first.kind != Kind::Word {
            self.expected("a parameter (mode, type and name)");
            return None;
        }
        let mut specifiers = self.specifiers();
        if self.at_typed_callback(&specifiers) {
            let name = self.take_name();
            return self.callback(name, specifiers.types, inside_callback);
        }
        let (name, dimensions) = self.declarator(0)?;
        self.complete(&mut specifiers, first.span, &name);
        let mut parameter = Parameter {
            mode: specifiers.mode,
            types: specifiers.types,
            constant: specifiers.constant,
            distribution: specifiers.distribution,
            name,
            dimensions,
            column: None,
            when: None,
            given: None,
            default: None,
            domain: None,
            doc: None,
            unit: None,
            callback: None,
        };
        // A clause that cannot be read costs the clause, not the parameter.
        while self.clause(&mut parameter).unwrap_or_else(|| {
            self.skip_parameter();
            false
        }) {}
        Some(parameter)
    }

    /// `name(`, where `name` is no word of the language; Ninf 1 allows the word CALLBACK in front.
    fn callback_name(&mut self) -> Option<Name> {
        if self.word() == "CALLBACK" && self.peek_at(1).kind == Kind::Word {
            self.advance();
        }
        let known = self.word().is_empty() || self.is_specifier();
        let callback = !known && self.peek_at(1).kind == Kind::Symbol("(");
        callback.then(|| self.take_name())
    }

    /// `double name(`: a type without a mode, and a name with a list of its own.
    fn at_typed_callback(&self, specifiers: &Specifiers) -> bool {
        let bare = specifiers.mode.is_none()
            && !specifiers.mode_reported
            && specifiers.constant.is_none()
            && specifiers.distribution.is_none();
        let named = self.peek().kind == Kind::Word && self.peek_at(1).kind == Kind::Symbol("(");
        bare && !specifiers.types.is_empty() && named && !self.is_specifier()
    }

    /// Whether the word here can only be a mode, a type or what goes with them.
    fn is_specifier(&self) -> bool {
        let word = self.word();
        words::mode(word).is_some()
            || words::CORE_TYPES.contains(&word)
            || words::DISTRIBUTIONS.contains(&word)
            || word == "const"
    }

    /// `name(parameters)`, behind the name, of a function that returns a value of these types. A
    /// callback inside a callback could never be called back.
    fn callback(
        &mut self,
        name: Name,
        types: Vec<Name>,
        inside_callback: bool,
    ) -> Option<Parameter> {
        self.advance();
        if inside_callback {
            self.problems.add_with_help(
                name.span,
                "a callback cannot take a callback",
                "pass numbers or arrays instead",
            );
            self.skip_list();
            return None;
        }
        let list = self.parameters(true);
        Some(Parameter {
            mode: None,
            types,
            constant: None,
            distribution: None,
            name,
            dimensions: Vec::new(),
            column: None,
            when: None,
            given: None,
            default: None,
            domain: None,
            doc: (self.peek().kind == Kind::Text).then(|| self.description()),
            unit: None,
            callback: Some(list),
        })
    }

    /// All words before the declarator. Their order is free: `long mode_in int n` is in the papers.
    fn specifiers(&mut self) -> Specifiers {
        let mut specifiers = Specifiers::default();
        while self.peek().kind == Kind::Word
            && !self.at_typed_callback(&specifiers)
            && self.specifier(&mut specifiers)
        {}
        specifiers
    }

    /// Takes one mode or type word; false if the word here is the name.
    fn specifier(&mut self, specifiers: &mut Specifiers) -> bool {
        let word = self.word();
        if let Some(mode) = words::mode(word) {
            let span = self.advance().span;
            if specifiers.mode.is_some() {
                self.problems.add(span, format!("a second mode: '{word}'"));
            }
            specifiers.mode.get_or_insert((mode, span));
        } else if words::DISTRIBUTIONS.contains(&word) {
            specifiers.distribution = Some(self.take_name());
        } else if word == "const" {
            specifiers.constant = Some(self.advance().span);
        } else if words::CORE_TYPES.contains(&word) {
            let name = self.take_name();
            specifiers.types.push(name);
        } else {
            return self.other_specifier(specifiers);
        }
        true
    }

    /// A word that Ninf-G does not reserve is a type only where a name still follows.
    fn other_specifier(&mut self, specifiers: &mut Specifiers) -> bool {
        let name_follows = matches!(self.peek_at(1).kind, Kind::Word | Kind::Symbol("*" | "("));
        let clause_follows =
            words::CLAUSES.contains(&self.word_at(1)) && self.peek_at(2).kind != Kind::Symbol(",");
        if !name_follows || (clause_follows && !specifiers.types.is_empty()) {
            return false;
        }
        let word = self.word();
        let known_type = words::is_added_type(word);
        let meant =
            if specifiers.mode.is_none() && !known_type { self.misspelt_mode(word) } else { None };
        match meant {
            Some(meant) => {
                let message = format!("unknown mode '{}'", shown(word));
                self.problems.add_with_help(
                    self.peek().span,
                    message,
                    format!("did you mean '{meant}'?"),
                );
                specifiers.mode_reported = true;
                specifiers.mode = words::mode(meant).map(|mode| (mode, self.peek().span));
                self.advance();
                true
            }
            _ if known_type || specifiers.types.is_empty() => {
                let name = self.take_name();
                specifiers.types.push(name);
                true
            }
            _ => false,
        }
    }

    /// The mode that a word was meant to be, unless it is nearer to a type: `itnn` is `int`, not
    /// `IN`.
    fn misspelt_mode(&self, word: &str) -> Option<&'static str> {
        if self.problems.is_full() {
            return None;
        }
        let meant = nearest(word, words::MODES.into_iter().map(|(name, _)| name))?;
        // On a tie it is the mode: that is what is missing.
        let both = std::iter::once(meant).chain(words::types());
        (nearest(word, both) == Some(meant)).then_some(meant)
    }

    /// Reports a missing mode or type at the parameter's begin or name.
    fn complete(&mut self, specifiers: &mut Specifiers, first: Span, name: &Name) {
        if specifiers.mode.is_none() && !specifiers.mode_reported {
            self.problems.add_with_help(
                first,
                format!("parameter '{}' has no mode", shown(&name.text)),
                "write IN, OUT, INOUT or WORK before its type",
            );
        }
        if specifiers.types.is_empty() && specifiers.mode.is_some() {
            self.problems.add_with_help(
                name.span,
                format!("parameter '{}' has no type", shown(&name.text)),
                "write its type after the mode, as in 'IN double x'",
            );
        }
    }

    /// One clause behind a declarator; `Some(false)` if there is none, `None` after a mistake.
    fn clause(&mut self, parameter: &mut Parameter) -> Option<bool> {
        let token = self.peek();
        match (token.kind, self.word()) {
            (Kind::Text, _) => {
                let doc = self.description();
                self.once(parameter.doc.is_some(), doc.span, "a second description");
                parameter.doc = Some(doc);
            }
            (Kind::Word, "column") => {
                self.once(parameter.column.is_some(), token.span, "a second 'column'");
                parameter.column = Some(self.advance().span);
            }
            (Kind::Word, "unit") => {
                self.advance();
                let unit = self.string("the unit in double quotes")?;
                self.once(parameter.unit.is_some(), token.span, "a second 'unit'");
                parameter.unit = Some(unit);
            }
            (Kind::Word, "when") => {
                self.advance();
                let when = self.expression()?;
                self.once(
                    parameter.when.is_some(),
                    token.span,
                    "a second 'when'; join the conditions with '&&'",
                );
                parameter.when = Some(when);
            }
            (Kind::Word, "given") => {
                let given = self.given()?;
                self.once(
                    parameter.given.is_some(),
                    token.span,
                    "a second 'given when'; join the conditions with '&&'",
                );
                parameter.given = Some(given);
            }
            (Kind::Word, "among" | "where") => {
                let domain = self.domain()?;
                self.once(parameter.domain.is_some(), token.span, "a second 'among' or 'where'");
                parameter.domain = Some(domain);
            }
            (Kind::Symbol("="), _) => return self.default_value(parameter),
            (Kind::Word, word) if !self.begins_something_else(word) => {
                return self.unknown_clause(word);
            }
            _ => return Some(false),
        }
        Some(true)
    }

    /// `among "characters"` or `where condition`.
    fn domain(&mut self) -> Option<Domain> {
        match self.take_name().text.as_str() {
            "among" => self.string("the characters in double quotes").map(Domain::Characters),
            _ => self.expression().map(Domain::Condition),
        }
    }

    /// `given when condition`.
    fn given(&mut self) -> Option<Expression> {
        self.advance();
        if self.word() != "when" {
            self.expected("'when' and the condition under which the array is read");
            return None;
        }
        self.advance();
        self.expression()
    }

    /// `= value`. Behind a condition it is a comparison with one sign too few.
    fn default_value(&mut self, parameter: &mut Parameter) -> Option<bool> {
        let sign = self.advance().span;
        let mut conditions = parameter.when.iter().chain(&parameter.given);
        let is_after = conditions.any(|condition| condition.span.end <= sign.start);
        if is_after && !parameter.dimensions.is_empty() {
            self.problems.add_with_help(
                sign,
                "'=' gives a default value",
                "to compare, write '=='",
            );
            return None;
        }
        let value = self.expression()?;
        self.once(parameter.default.is_some(), sign, "a second default value");
        parameter.default = Some(value);
        Some(true)
    }

    /// A mode or a type begins the next parameter; the comma before it is missing.
    fn begins_something_else(&self, word: &str) -> bool {
        words::mode(word).is_some()
            || words::CORE_TYPES.contains(&word)
            || self.at_declaration()
            || word == "Calls"
    }

    /// A word that is no clause ends the parameter: what it was meant to begin is not known.
    fn unknown_clause(&mut self, word: &str) -> Option<bool> {
        let help = self.problems.did_you_mean(word, words::CLAUSES).unwrap_or_else(|| {
            "a parameter may be followed by: column, when …, given when …, = value, among \"…\", \
                where …, \"description\", unit \"…\""
                .to_string()
        });
        self.problems.add_with_help(
            self.peek().span,
            format!("unknown word '{}'", shown(word)),
            help,
        );
        None
    }

    /// Reports a clause that is there already.
    fn once(&mut self, again: bool, span: Span, message: &str) {
        if again {
            self.problems.add(span, message);
        }
    }
}
