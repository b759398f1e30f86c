//! What the executable statements of a procedure do with its names: from that follows whether a
//! dummy argument without INTENT is read or set, and that one is called.
//!
//! Only what is certain counts. A name in a statement that is not understood is unclear, and
//! unclear names stay INOUT.

mod intrinsics;
mod statements;

use std::collections::HashMap;

use crate::token::{Token, parenthesised, split_commas};
use crate::unit::Declared;
use intrinsics::is_intrinsic;
pub use statements::is_assignment;

/// What was seen of one name.
#[derive(Clone, Debug, Default)]
pub struct Use {
    pub read: bool,
    pub written: bool,
    /// In a statement that says neither.
    pub unclear: bool,
    /// The first statement that names it sets all of it, and is always executed.
    pub set_first: bool,
    /// The line in which it is called.
    pub called: Option<usize>,
    /// Where it is passed: the procedure, and which argument.
    pub passed: Vec<(String, Position)>,
}

/// Which argument of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Position {
    /// From 0.
    Number(usize),
    Keyword(String),
}

/// A call of a dummy argument.
#[derive(Clone, Debug)]
pub struct Call {
    pub callee: String,
    pub line: usize,
    /// In an expression.
    pub is_function: bool,
    pub arguments: Vec<Given>,
}

/// What a call gives for an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    /// A variable.
    Whole(String),
    /// An element or a section of an array, or a part of a text.
    Part,
    Value,
}

/// What encloses a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Block {
    /// Until its `end`.
    Named,
    /// A loop that a label ends.
    Label(String),
}

/// The executable statements of a procedure, as far as they were read.
#[derive(Clone, Debug, Default)]
pub struct Body {
    pub uses: HashMap<String, Use>,
    /// What walks along dimensions of arrays: a loop or an operation, the array, the dimension from
    /// 0. What the same one walks along has one size.
    pub walked: Vec<(usize, String, usize)>,
    /// Calls of dummy arguments.
    pub calls: Vec<Call>,
    /// The variables of loops, and the number of the loop that each has begun last.
    loops: HashMap<String, usize>,
    /// Loops and operations so far.
    walks: usize,
    /// Whether there are any statements: of a declaration alone nothing follows.
    pub is_there: bool,
    blocks: Vec<Block>,
    /// A statement may have gone elsewhere: those behind it need not be executed.
    may_have_left: bool,
    line: usize,
}

/// What is declared where the statements stand.
#[derive(Clone, Copy)]
pub struct Names<'a> {
    pub declared: &'a HashMap<String, Declared>,
    pub dummies: &'a [String],
}

impl Names<'_> {
    fn is_array(&self, name: &str) -> bool {
        self.declared.get(name).is_some_and(|one| !one.shape.is_empty() || one.assumed_rank)
    }

    /// Whether a name that the language has a function of is another procedure here.
    fn is_procedure(&self, name: &str) -> bool {
        self.dummies.iter().any(|dummy| dummy == name)
            || self.declared.get(name).is_some_and(|one| one.external)
    }

    /// Whether `name(…)` is a part of a variable and no call: no argument of a call has a colon,
    /// whatever is declared of the name, or follows from its first letter.
    fn has_parts(&self, name: &str, inside: &[Token]) -> bool {
        let has_colon = |part: &[Token]| {
            let mut depth = 0i32;
            part.iter().any(|token| {
                depth += i32::from(token.is("(")) - i32::from(token.is(")"));
                depth == 0 && token.is(":")
            })
        };
        self.is_array(name) || has_colon(inside)
    }
}

impl Body {
    fn of(&mut self, name: &str) -> &mut Use {
        self.uses.entry(name.to_owned()).or_default()
    }

    fn reads(&mut self, name: &str) {
        self.of(name).read = true;
    }

    fn sets_part(&mut self, name: &str) {
        self.of(name).written = true;
    }

    /// All of a name gets a value.
    fn sets(&mut self, name: &str) {
        let is_certain = self.blocks.is_empty() && !self.may_have_left;
        let is_first = !self.uses.contains_key(name);
        let seen = self.of(name);
        seen.written = true;
        seen.set_first |= is_first && is_certain;
    }

    /// Names of a statement that may do anything with them.
    pub fn unclear(&mut self, tokens: &[Token]) {
        for word in tokens.iter().filter_map(Token::word) {
            self.of(word).unclear = true;
        }
    }

    /// Whole arrays of one operation have one shape.
    fn agree(&mut self, names: Names<'_>, one: &str, other: &str) {
        if !names.is_array(one) || !names.is_array(other) {
            return;
        }
        let ranks = [one, other].map(|name| names.declared[name].shape.len());
        for dimension in 0..ranks[0].min(ranks[1]) {
            self.walks += 1;
            for name in [one, other] {
                self.walked.push((self.walks, name.to_owned(), dimension));
            }
        }
    }

    fn find_agreeing(&mut self, names: Names<'_>, tokens: &[Token]) {
        let is_whole =
            |at: usize| !tokens.get(at + 1).is_some_and(|next| next.is("(") || next.is("%"));
        for (at, three) in tokens.windows(3).enumerate() {
            if let [Token::Word(one), Token::Sign("+" | "-" | "*" | "/"), Token::Word(other)] =
                three
                && is_whole(at + 2)
            {
                self.agree(names, one, other);
            }
        }
    }

    /// An expression: its variables are read, and its functions called.
    fn expression(&mut self, names: Names<'_>, tokens: &[Token]) {
        self.find_agreeing(names, tokens);
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            at += 1;
            let is_component = at > 1 && tokens[at - 2].is("%");
            let Some(word) = token.word().filter(|word| !is_component && !word.starts_with('.'))
            else {
                continue;
            };
            match parenthesised(&tokens[at..]) {
                Some((inside, behind)) => {
                    self.indexed(names, word, inside);
                    at = tokens.len() - behind.len();
                }
                None => self.reads(word),
            }
        }
    }

    /// `name(…)` in an expression.
    fn indexed(&mut self, names: Names<'_>, word: &str, inside: &[Token]) {
        if names.has_parts(word, inside) {
            self.reads(word);
            self.walk(names, word, inside);
            self.expression(names, inside);
        } else if is_intrinsic(word) && !names.is_procedure(word) {
            if let ("dot_product", [Token::Word(one), Token::Sign(","), Token::Word(other)]) =
                (word, inside)
            {
                self.agree(names, one, other);
            }
            for part in split_commas(inside) {
                self.expression(names, without_keyword(part).1);
            }
        } else {
            self.call(names, word, inside, true);
        }
    }

    /// Remembers which variable walks along which dimension.
    fn walk(&mut self, names: Names<'_>, array: &str, inside: &[Token]) {
        if !names.is_array(array) {
            return;
        }
        for (dimension, part) in split_commas(inside).into_iter().enumerate() {
            if let [Token::Word(index)] = part
                && let Some(number) = self.loops.get(index)
            {
                let walked = (*number, array.to_owned(), dimension);
                if !self.walked.contains(&walked) {
                    self.walked.push(walked);
                }
            }
        }
    }

    /// A call of a subroutine or function: what becomes of the variables that it is given is its
    /// matter.
    fn call(&mut self, names: Names<'_>, callee: &str, inside: &[Token], is_function: bool) {
        let line = self.line;
        self.of(callee).called.get_or_insert(line);
        if names.dummies.iter().any(|dummy| dummy == callee) {
            let arguments = split_commas(inside).into_iter().map(|part| given(names, part));
            let arguments = arguments.collect();
            self.calls.push(Call { callee: callee.to_owned(), line, is_function, arguments });
        }
        for (number, part) in split_commas(inside).into_iter().enumerate() {
            let (keyword, part) = without_keyword(part);
            let position =
                keyword.map_or(Position::Number(number), |word| Position::Keyword(word.to_owned()));
            match part {
                [Token::Word(name)] if !name.starts_with('.') => {
                    self.of(name).passed.push((callee.to_owned(), position));
                }
                [Token::Sign("*" | "&"), Token::Number(_)] => self.may_have_left = true,
                [Token::Word(name), rest @ ..] => match parenthesised(rest) {
                    Some((parts, [])) if names.has_parts(name, parts) => {
                        self.of(name).passed.push((callee.to_owned(), position));
                        self.expression(names, parts);
                    }
                    _ => self.expression(names, part),
                },
                _ => self.expression(names, part),
            }
        }
    }

    /// What an assignment or a READ gives a value to.
    fn target(&mut self, names: Names<'_>, tokens: &[Token]) {
        match tokens {
            [Token::Word(name)] => self.sets(name),
            [Token::Word(name), rest @ ..] => {
                if let Some((inside, _)) = parenthesised(rest) {
                    self.walk(names, name, inside);
                    self.expression(names, inside);
                }
                self.sets_part(name);
            }
            _ => self.unclear(tokens),
        }
    }
}

fn given(names: Names<'_>, part: &[Token]) -> Given {
    match part {
        [Token::Word(name)] if !name.starts_with('.') => Given::Whole(name.clone()),
        [Token::Word(name), rest @ ..] => match parenthesised(rest) {
            Some((parts, [])) if names.has_parts(name, parts) => Given::Part,
            _ => Given::Value,
        },
        _ => Given::Value,
    }
}

/// `keyword = value` in a list of arguments.
fn without_keyword(part: &[Token]) -> (Option<&str>, &[Token]) {
    match part {
        [Token::Word(word), Token::Sign("="), rest @ ..] => (Some(word), rest),
        _ => (None, part),
    }
}
