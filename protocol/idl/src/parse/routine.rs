//! `Define` and `DefMethod`: interface, options and body (spec/idl.md, sections 3.1, 3.5 and 3.6).

use super::Parser;
use super::tree::{Calls, Code, Define, File, Name, Options};
use crate::diagnostic::shown;
use crate::token::Kind;
use crate::words;

impl Parser<'_, '_> {
    /// `Define`. A routine without a body is kept: its names and sizes are still worth checking.
    pub(super) fn define(&mut self, file: &mut File) {
        self.advance();
        if self.at_symbol("?") {
            return self.define_variants(file);
        }
        match self.routine() {
            Some(routine) => file.routines.push(routine),
            None => self.skip_declaration(),
        }
    }

    /// What follows `Define` or `DefMethod`; `None` if not even its name and parenthesis are there.
    pub(super) fn routine(&mut self) -> Option<Define> {
        let name = self.varying_name("the routine's name")?;
        if !self.close("(", "after the routine's name") {
            return None;
        }
        let (parameters, incomplete) = self.parameters(false);
        let mut doc = None;
        let options = self.options(&mut doc);
        let code = self.code(&name);
        Some(Define { name, parameters, incomplete, doc, options, code })
    }

    /// Description and options in any order, with or without commas, up to the body.
    pub(super) fn options(&mut self, doc: &mut Option<Name>) -> Options {
        let mut options = Options::default();
        loop {
            self.eat(",");
            let token = self.peek();
            match (token.kind, self.word()) {
                (Kind::Text, _) => {
                    let text = self.description();
                    if doc.is_some() {
                        self.problems.add_with_help(
                            text.span,
                            "a string without an option before it",
                            format!("write one of {} before it", words::OPTIONS.join(", ")),
                        );
                    }
                    doc.get_or_insert(text);
                }
                (Kind::Word, "Calls" | "DefMethod" | "DefState") => return options,
                (Kind::Word, word) if words::OPTIONS.contains(&word) => {
                    if self.option(word, &mut options).is_none() {
                        self.skip_option();
                    }
                }
                (Kind::Word, word) if !self.at_declaration() => self.unknown_option(word),
                _ => return options,
            }
        }
    }

    /// One option. `None` after a mistake in it.
    fn option(&mut self, word: &str, options: &mut Options) -> Option<()> {
        let span = self.advance().span;
        match word {
            "Required" => options.required.push(self.string("the objects in double quotes")?),
            "Backend" => options.backend.push(self.string("\"MPI\", \"BLACS\" or \"normal\"")?),
            "Shrink" => options.shrink.push(self.string("\"yes\" or \"no\"")?),
            "Language" => options.language.push(self.string("\"C\", \"C++\" or \"Fortran\"")?),
            "CalcOrder" | "Complexity" => options.complexity.push((span, self.expression()?)),
            "Processors" => options.processors.push((span, self.expression()?)),
            "Resources" => options
                .resources
                .push(self.string("what a call is given, such as \"cores=4, memory=2 GB\"")?),
            "Idempotent" => options.idempotent = true,
            _ => self.aliases(options)?,
        }
        Some(())
    }

    /// Names or strings with commas between them. A comma may also end the option.
    fn aliases(&mut self, options: &mut Options) -> Option<()> {
        loop {
            let alias = match self.peek().kind {
                Kind::Word => self.take_name(),
                Kind::Symbol("?") => self.varying_name("another name of the routine")?,
                _ => self.string("another name of the routine")?,
            };
            options.aliases.push(alias);
            let next = self.peek_at(1);
            let option_next = words::OPTIONS.contains(&self.word_at(1));
            if !self.at_symbol(",")
                || option_next
                || !matches!(next.kind, Kind::Word | Kind::Text | Kind::Symbol("?"))
            {
                return Some(());
            }
            self.advance();
        }
    }

    /// Skips to the next option, body or declaration.
    fn skip_option(&mut self) {
        while !self.at_end() && !self.at_declaration() && !words::OPTIONS.contains(&self.word()) {
            if matches!(self.peek().kind, Kind::Body | Kind::Symbol(";" | "{" | "}" | ",")) {
                return;
            }
            self.advance();
        }
    }

    /// A word where an option should be.
    fn unknown_option(&mut self, word: &str) {
        let help = self
            .problems
            .did_you_mean(word, words::OPTIONS)
            .unwrap_or_else(|| format!("options are {}", words::OPTIONS.join(", ")));
        self.problems.add_with_help(
            self.peek().span,
            format!("unknown option '{}'", shown(word)),
            help,
        );
        self.advance();
        // What belonged to the option goes with it, and only that: a description may follow.
        if matches!(self.peek().kind, Kind::Text | Kind::Integer | Kind::Real) {
            self.advance();
        } else {
            self.skip_option();
        }
    }

    /// The body, or the report that it is missing.
    fn code(&mut self, routine: &Name) -> Option<Code> {
        if self.peek().kind == Kind::Body {
            return Some(Code::Body(self.advance().span));
        }
        if self.word() == "Calls" {
            let calls = self.calls();
            if calls.is_none() {
                self.skip_declaration();
            }
            return calls.map(Code::Calls);
        }
        let message = format!("'{}' has no body: found {}", shown(&routine.text), self.found());
        let token = self.peek();
        let span = if self.at_end() || self.at_declaration() {
            self.previous().behind()
        } else {
            token.span
        };
        self.problems.add_with_help(
            span,
            message,
            "end it with 'Calls \"C\" function(…);' or with '{ C text }'",
        );
        if !self.at_declaration()
            && !matches!(self.word(), "DefMethod" | "DefState")
            && !self.at_symbol("}")
        {
            self.skip_declaration();
        }
        None
    }

    /// `Calls ["LANGUAGE"] [result =] symbol(names);`
    fn calls(&mut self) -> Option<Calls> {
        self.advance();
        let language =
            if self.peek().kind == Kind::Text { self.string("the language") } else { None };
        let mut symbol = self.varying_name("the name of the function to call")?;
        let mut result = None;
        if self.eat("=") {
            result = Some(std::mem::replace(
                &mut symbol,
                self.varying_name("the name of the function to call")?,
            ));
        }
        if !self.close("(", "after the name of the function to call") {
            return None;
        }
        let arguments = self.arguments()?;
        self.close(";", "after Calls");
        Some(Calls { language, result, symbol, arguments })
    }

    /// Names of parameters up to `)`.
    fn arguments(&mut self) -> Option<Vec<Name>> {
        let mut list = Vec::new();
        if self.eat(")") {
            return Some(list);
        }
        loop {
            if self.peek().kind != Kind::Word {
                let message = format!("only parameters can be passed, found {}", self.found());
                let help = "for a constant, declare a WORK scalar: 'WORK int one = 1'";
                self.problems.add_with_help(self.peek().span, message, help);
                return None;
            }
            list.push(self.take_name());
            if self.eat(")") {
                return Some(list);
            }
            if !self.close(",", "or ')' between the arguments") {
                return None;
            }
        }
    }
}
