//! `Variants` and `Define ?name`: one text for routines that differ in single words (spec/idl.md,
//! section 3.10).
//!
//! A definition is read once for each variant. Words that stand for others are looked up where
//! tokens are, so that every other part of the parser sees what the variant says, and every mistake
//! is shown where it was written.

use std::collections::HashMap;

use super::Parser;
use super::tree::{File, Name};
use crate::lexer::TOKENS_MAX;
use crate::source::Span;
use crate::token::{Kind, Token};
use crate::words;

/// Variants of one definition.
const VARIANTS_MAX: usize = 16;
/// Words of a declaration, `?` included.
const WORDS_MAX: usize = 32;
/// The sign that stands for the start of a name.
const MARK: &str = "?";

/// What the last `Variants` said, and which variant is being read.
#[derive(Default)]
pub(super) struct Variants<'a> {
    /// One token for each variant.
    words: HashMap<&'a str, Vec<Token>>,
    count: usize,
    /// `None` outside of definitions with variants.
    current: Option<usize>,
    /// Tokens that were read again: what a short text makes of much is bounded as the text is.
    repeated: usize,
}

impl<'a> Variants<'a> {
    /// What stands for `word` in the variant that is being read.
    pub(super) fn instead_of(&self, word: &str) -> Option<Token> {
        let current = self.current?;
        self.words.get(word)?.get(current).copied()
    }

    /// Takes a word with its tokens; says what is wrong with it.
    fn insert(&mut self, word: &'a str, list: Vec<Token>) -> Result<(), String> {
        match list.len() {
            0 => return Err(format!("there is no word for '{word}'")),
            many if many > VARIANTS_MAX => {
                return Err(format!("more than {VARIANTS_MAX} variants"));
            }
            other if word != MARK && other != self.count => {
                return Err(format!("{other} words for '{word}', and {} for '?'", self.count));
            }
            count => self.count = count,
        }
        if self.words.len() >= WORDS_MAX {
            return Err(format!("more than {WORDS_MAX} words that vary"));
        }
        match self.words.insert(word, list) {
            Some(_) => Err(format!("'{word}' is listed twice")),
            None => Ok(()),
        }
    }
}

impl<'a> Parser<'_, 'a> {
    /// `Variants ? = s d, number = float double;` replaces what the last one said; `Variants;` ends
    /// it.
    pub(super) fn variants(&mut self) {
        self.advance();
        self.variants = Variants { repeated: self.variants.repeated, ..Variants::default() };
        if self.eat(";") {
            return;
        }
        if !self.at_symbol(MARK) {
            self.expected("'?' and its words, such as 'Variants ? = s d;'");
            return self.skip_declaration();
        }
        loop {
            if self.varying_word().is_none() {
                return self.skip_declaration();
            }
            if !self.eat(",") {
                break;
            }
        }
        if !self.close(";", "after Variants") {
            self.skip_declaration();
        }
    }

    /// `word = one two three`.
    fn varying_word(&mut self) -> Option<()> {
        let span = self.peek().span;
        let word = if self.at_symbol(MARK) { MARK } else { self.word() };
        if is_reserved(word) {
            let message = format!("'{word}' already has a meaning; choose another word");
            self.problems.add(span, message);
            return None;
        }
        if word.is_empty() {
            self.expected("a word that varies");
            return None;
        }
        self.advance();
        if !self.close("=", "and the words for it") {
            return None;
        }
        let list = self.alternatives(word == MARK);
        match self.variants.insert(word, list) {
            Ok(()) => Some(()),
            Err(wrong) => {
                self.problems.add_with_help(
                    span,
                    wrong,
                    "list one word or constant for each variant",
                );
                None
            }
        }
    }

    /// Words and constants up to a comma or semicolon; names begin with words.
    fn alternatives(&mut self, words_only: bool) -> Vec<Token> {
        let mut list = Vec::new();
        while match self.peek().kind {
            Kind::Word => true,
            Kind::Integer | Kind::Real | Kind::Character | Kind::Text => !words_only,
            _ => false,
        } && !self.at_declaration()
        {
            list.push(self.advance());
        }
        list
    }

    /// `Define ?name(…)`: a routine for each variant.
    pub(super) fn define_variants(&mut self, file: &mut File) {
        let first = self.at;
        let mark = self.peek().span;
        if self.variants.count == 0 {
            self.no_variants(mark);
            return self.skip_declaration();
        }
        for variant in 0..self.variants.count {
            self.at = first;
            self.variants.current = Some(variant);
            match self.routine() {
                Some(routine) => file.routines.push(routine),
                None => self.skip_declaration(),
            }
            self.variants.repeated += self.at - first;
            if self.variants.repeated > TOKENS_MAX {
                self.problems.add(
                    mark,
                    format!(
                        "the the variants make more than {TOKENS_MAX} words and signs of this file"
                    ),
                );
                break;
            }
        }
        self.variants.current = None;
    }

    /// A name of a routine or function: `?name` begins with what the variant says.
    pub(super) fn varying_name(&mut self, what: &str) -> Option<Name> {
        if !self.at_symbol(MARK) || self.peek_at(1).kind != Kind::Word {
            return self.name(what);
        }
        let mark = self.advance().span;
        let mut name = self.take_name();
        match self.variants.instead_of(MARK) {
            Some(begin) => name.text.insert_str(0, self.source.slice(begin.span)),
            None => self.no_variants(mark),
        }
        name.span = mark.to(name.span);
        Some(name)
    }

    fn no_variants(&mut self, mark: Span) {
        let help = "write 'Variants ? = s d;' before, and 'Define ?name(…)'";
        self.problems.add_with_help(mark, "'?' has no words", help);
    }
}

/// Words whose place in the grammar decides how the rest is read. Names of types are among them.
fn is_reserved(word: &str) -> bool {
    words::mode(word).is_some()
        || words::CORE_TYPES.contains(&word)
        || words::DECLARATIONS.contains(&word)
        || words::OPTIONS.contains(&word)
        || words::CLAUSES.contains(&word)
        || words::is_added_type(word)
}
