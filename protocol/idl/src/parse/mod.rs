//! Tokens to a tree (spec/idl.md, section 3). A mistake is reported and skipped, so that one run
//! finds them all.
//!
//! A function that returns `None` has reported why; its caller skips to a place from which it can
//! go on.

mod class;
mod constant;
mod declarator;
mod expression;
mod parameter;
mod routine;
pub(crate) mod tree;
mod variants;

use crate::bytes::readable;
use crate::diagnostic::{Problems, shown};
use crate::dialect::Dialect;
use crate::lexer::UNREADABLE;
use crate::source::{Source, Span};
use crate::token::{Kind, Token};
use crate::words;
use tree::{File, Name};
use variants::Variants;

/// The parser's position and what it reports to.
pub(crate) struct Parser<'p, 'a> {
    source: &'p Source<'a>,
    tokens: &'p [Token],
    at: usize,
    /// Open parentheses and operators without a right side: bounds recursion.
    nesting: usize,
    variants: Variants<'a>,
    dialect: Dialect,
    /// Whether operators group as in the references: in sizes of their files.
    groups_as_before: bool,
    problems: &'p mut Problems,
}

/// Reads all tokens.
pub(crate) fn parse<'a>(
    source: &Source<'a>,
    tokens: &[Token],
    dialect: Dialect,
    problems: &mut Problems,
) -> File {
    let mut parser = Parser {
        source,
        tokens,
        at: 0,
        nesting: 0,
        variants: Variants::default(),
        dialect,
        groups_as_before: false,
        problems,
    };
    let mut file = File::default();
    while !parser.at_end() {
        let before = parser.at;
        parser.declaration(&mut file);
        if parser.at == before {
            // Every way through `declaration` moves on; should one not, this ends the loop.
            parser.advance();
        }
    }
    file
}

impl<'a> Parser<'_, 'a> {
    /// The token at the position; at the end it is `End` for ever.
    fn peek(&self) -> Token {
        self.peek_at(0)
    }

    /// A token further on. Two tokens ahead decide everything in this language.
    fn peek_at(&self, ahead: usize) -> Token {
        let last = self.tokens.len() - 1;
        let token = self.tokens[(self.at + ahead).min(last)];
        // Another word may stand in its place, but the place is where it was written.
        let instead = self
            .variants
            .instead_of(self.source.slice(token.span))
            .filter(|_| token.kind == Kind::Word);
        instead.map_or(token, |other| Token { kind: other.kind, ..token })
    }

    /// The text of a token, or of what stands in its place.
    fn text(&self, span: Span) -> &'a str {
        let written = self.source.slice(span);
        self.variants.instead_of(written).map_or(written, |other| self.source.slice(other.span))
    }

    /// Takes a token. The position never leaves the end token, so that no loop can run past it.
    fn advance(&mut self) -> Token {
        let token = self.peek();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    /// The place of what was taken last.
    fn previous(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }

    fn at_end(&self) -> bool {
        self.peek().kind == Kind::End
    }

    fn at_symbol(&self, symbol: &str) -> bool {
        matches!(self.peek().kind, Kind::Symbol(found) if found == symbol)
    }

    /// The word at the position; empty if there is none.
    fn word(&self) -> &'a str {
        self.word_at(0)
    }

    fn word_at(&self, ahead: usize) -> &'a str {
        let token = self.peek_at(ahead);
        if token.kind == Kind::Word { self.text(token.span) } else { "" }
    }

    fn eat(&mut self, symbol: &str) -> bool {
        let found = self.at_symbol(symbol);
        if found {
            self.advance();
        }
        found
    }

    fn take_name(&mut self) -> Name {
        let token = self.advance();
        Name { text: self.text(token.span).to_string(), span: token.span }
    }

    /// What stands at the position, for "found …".
    fn found(&self) -> String {
        let token = self.peek();
        match token.kind {
            Kind::End => "the end of the file".to_string(),
            Kind::Body => "C text in braces".to_string(),
            Kind::Text => "a string".to_string(),
            _ => format!("'{}'", shown(self.text(token.span))),
        }
    }

    /// Reports what should stand here instead of what does.
    fn expected(&mut self, what: &str) {
        let message = format!("expected {what}, found {}", self.found());
        let token = self.peek();
        // At the end of the file, the mistake is what is missing behind the last token.
        let span = if token.kind == Kind::End { self.previous().behind() } else { token.span };
        self.problems.add(span, message);
    }

    /// Takes `symbol`; where it is missing, points behind what came before and goes on.
    fn close(&mut self, symbol: &str, after: &str) -> bool {
        if self.eat(symbol) {
            return true;
        }
        let message = format!("expected '{symbol}' {after}, found {}", self.found());
        self.problems.add(self.previous().behind(), message);
        false
    }

    fn name(&mut self, what: &str) -> Option<Name> {
        if self.peek().kind == Kind::Word {
            return Some(self.take_name());
        }
        self.expected(what);
        None
    }

    /// One string constant.
    fn string(&mut self, what: &str) -> Option<Name> {
        if self.peek().kind != Kind::Text {
            self.expected(what);
            return None;
        }
        let span = self.advance().span;
        // A name or an option would say something else than its author wrote.
        if let Some(at) = self.text(span).find(UNREADABLE) {
            self.problems.unreadable(self.source.text, span.start as usize + at);
        }
        Some(Name { text: constant::string(self.text(span)), span })
    }

    /// Takes a description; neighbours without a comma are one, as in C. Of text in an encoding of
    /// old, what is no UTF-8 shows as the replacement character.
    fn description(&mut self) -> Name {
        let first = self.advance();
        let mut text = constant::string(self.text(first.span));
        while self.peek().kind == Kind::Text {
            let more = self.advance();
            text.push_str(&constant::string(self.text(more.span)));
        }
        Name { text: readable(text), span: first.span }
    }

    /// Whether a declaration begins here. `Struct` and `Variants` are no reserved words, so they
    /// need what follows them.
    fn at_declaration(&self) -> bool {
        match self.word() {
            "Struct" => {
                self.peek_at(1).kind == Kind::Word && self.peek_at(2).kind == Kind::Symbol("{")
            }
            "Variants" => matches!(self.peek_at(1).kind, Kind::Symbol("?" | ";")),
            word => words::DECLARATIONS.contains(&word),
        }
    }

    /// Skips to behind the next `;` or body, or to the next declaration.
    fn skip_declaration(&mut self) {
        while !self.at_end() && !self.at_declaration() {
            let token = self.advance();
            if matches!(token.kind, Kind::Body | Kind::Symbol(";" | "}")) {
                break;
            }
        }
    }

    /// One declaration, or the mistake in its place.
    fn declaration(&mut self, file: &mut File) {
        let word = self.word();
        match word {
            "Define" => self.define(file),
            "DefClass" => self.class(file),
            "Struct" => self.structure(file),
            "Globals" => self.globals(file),
            "Variants" => self.variants(),
            words::EXECUTABLES_MAX => self.executables_max(file),
            _ if words::DECLARATIONS.contains(&word) => self.setting(word, file),
            _ if self.eat(";") => {}
            _ => self.unknown_declaration(),
        }
    }

    /// `Module NAME;` and the declarations that are a word, a string and `;`.
    fn setting(&mut self, word: &str, file: &mut File) {
        self.advance();
        let takes_name = matches!(word, "Module" | "FortranStringConvention");
        let value = match self.peek().kind {
            Kind::Word if takes_name => Some(self.take_name()),
            _ => self.string(if takes_name { "a name" } else { "a string in double quotes" }),
        };
        let Some(value) = value else { return self.skip_declaration() };
        let list = match word {
            "Module" => &mut file.module,
            "CompileOptions" => &mut file.compile_options,
            "Compiler" => &mut file.compiler,
            "Linker" => &mut file.linker,
            "Library" => &mut file.libraries,
            "FortranFormat" => &mut file.fortran_format,
            _ => &mut file.fortran_strings,
        };
        list.push(value);
        if !self.close(";", &format!("after {word}")) && !self.at_declaration() {
            self.skip_declaration();
        }
    }

    /// `executables_max = NUMBER;`.
    fn executables_max(&mut self, file: &mut File) {
        self.advance();
        if !self.close("=", "after executables_max") {
            return self.skip_declaration();
        }
        if self.peek().kind != Kind::Integer {
            self.expected("a number of processes, such as 1,");
            return self.skip_declaration();
        }
        file.executables_max.push(self.take_name());
        if !self.close(";", "after executables_max") && !self.at_declaration() {
            self.skip_declaration();
        }
    }

    /// `Globals { C }`.
    fn globals(&mut self, file: &mut File) {
        self.advance();
        if self.peek().kind == Kind::Body {
            file.globals.push(self.advance().span);
        } else {
            self.expected("C text in braces after Globals");
            self.skip_declaration();
        }
    }

    /// Something that begins no declaration: a misspelt word, or a brace or body without an owner.
    fn unknown_declaration(&mut self) {
        let known = self.problems.did_you_mean(self.word(), words::DECLARATIONS);
        let help = match (self.peek().kind, known) {
            (Kind::Word, Some(known)) => known,
            (Kind::Symbol("}"), _) => "this brace closes nothing".to_string(),
            (Kind::Body, _) => "C text must follow an interface (Define) or Globals".to_string(),
            _ => format!("declarations begin with one of {}", words::DECLARATIONS.join(", ")),
        };
        let message = format!("expected a declaration, found {}", self.found());
        self.problems.add_with_help(self.peek().span, message, help);
        self.advance();
        // A stray body or brace ends itself; after anything else the rest of the sentence means
        // nothing either.
        if !matches!(self.tokens[self.at - 1].kind, Kind::Body | Kind::Symbol("}")) {
            self.skip_declaration();
        }
    }
}
