//! One executable statement after another.

use super::{Block, Body, Names, without_keyword};
use crate::source::Statement;
use crate::token::{Token, parenthesised, split_commas};

/// Controls of input and output that give a variable a value.
const SET_BY_CONTROL: [&str; 6] = ["iostat", "iomsg", "size", "newunit", "stat", "errmsg"];
/// Controls that go elsewhere.
const JUMPS: [&str; 3] = ["end", "err", "eor"];

impl Body {
    /// Takes a statement; false for one that is not known here.
    pub fn statement(&mut self, names: Names<'_>, statement: &Statement, all: &[Token]) -> bool {
        self.line = statement.line;
        self.is_there = true;
        let (label, all) = match all.split_first() {
            Some((Token::Number(label), rest)) => (label.as_str(), rest),
            _ => (statement.label.as_str(), all),
        };
        // The name of a construct.
        let all = match all {
            [Token::Word(_), Token::Sign(":"), rest @ ..] => rest,
            _ => all,
        };
        let is_known = all.is_empty() || self.unlabelled(names, all);
        if !label.is_empty() {
            let is_here = |block: &Block| matches!(block, Block::Label(own) if own == label);
            while self.blocks.last().is_some_and(is_here) {
                self.blocks.pop();
            }
        }
        is_known
    }

    fn unlabelled(&mut self, names: Names<'_>, all: &[Token]) -> bool {
        if let Some((target, value)) = assignment(all) {
            if let ([Token::Word(one)], [Token::Word(other)]) = (target, value) {
                self.agree(names, one, other);
            }
            self.expression(names, value);
            self.target(names, target);
            return true;
        }
        if all.iter().any(|token| token.is("=>")) && !all[0].is_word("associate") {
            self.unclear(all);
            return true;
        }
        let Some(word) = all[0].word() else { return false };
        let rest = &all[1..];
        match word {
            "if" => self.condition(names, rest),
            "do" => self.begin_loop(names, rest),
            "call" => self.subroutine(names, rest),
            "read" | "write" | "print" | "accept" | "type" | "encode" | "decode" => {
                self.transfer(names, word, rest)
            }
            "select" | "block" | "critical" => {
                self.blocks.push(Block::Named);
                self.expression(names, rest.get(1..).unwrap_or(&[]));
            }
            "associate" => {
                self.blocks.push(Block::Named);
                self.unclear(rest);
            }
            "where" | "forall" => self.masked(names, rest),
            "end" | "enddo" | "endif" | "endselect" | "endwhere" | "endforall" | "endassociate"
            | "endblock" => self.end_block(word, rest),
            "else" | "elseif" | "elsewhere" | "case" => {
                self.expression(names, after(rest, &["if", "default"]))
            }
            "go" | "goto" | "return" | "stop" | "error" => {
                self.expression(names, after(rest, &["to", "stop"]));
                self.may_have_left = true;
            }
            "assign" => self.unclear(rest),
            "continue" | "cycle" | "exit" | "format" | "pause" | "contains" | "class" | "flush" => {
            }
            "open" | "close" | "inquire" | "rewind" | "backspace" | "endfile" | "allocate"
            | "deallocate" | "nullify" | "wait" | "sync" => self.unclear(rest),
            _ => return false,
        }
        true
    }

    /// `if (condition) statement`, `if (condition) then`, `if (expression) 10, 20, 30`.
    fn condition(&mut self, names: Names<'_>, rest: &[Token]) {
        let Some((condition, behind)) = parenthesised(rest) else { return self.unclear(rest) };
        self.expression(names, condition);
        match behind {
            [Token::Word(then)] if then == "then" => self.blocks.push(Block::Named),
            [Token::Number(_), ..] | [] => self.may_have_left = true,
            _ => self.inside(names, behind),
        }
    }

    /// A statement that need not be executed.
    fn inside(&mut self, names: Names<'_>, all: &[Token]) {
        self.blocks.push(Block::Named);
        if !self.unlabelled(names, all) {
            self.unclear(all);
        }
        self.blocks.pop();
    }

    /// `do 10 i = 1, n`, `do i = 1, n`, `do while (…)`, `do concurrent (…)`, `do`.
    fn begin_loop(&mut self, names: Names<'_>, rest: &[Token]) {
        let (block, rest) = match rest {
            [Token::Number(label), rest @ ..] => (Block::Label(label.clone()), rest),
            _ => (Block::Named, rest),
        };
        let rest = rest.strip_prefix(&[Token::Sign(",")]).unwrap_or(rest);
        match rest {
            [Token::Word(variable), Token::Sign("="), bounds @ ..] => {
                self.expression(names, bounds);
                self.sets(variable);
                self.walks += 1;
                self.loops.insert(variable.clone(), self.walks);
            }
            [Token::Word(word), condition @ ..] if word == "while" => {
                self.expression(names, condition)
            }
            [Token::Word(word), header @ ..] if word == "concurrent" => self.unclear(header),
            _ => self.expression(names, rest),
        }
        self.blocks.push(block);
    }

    fn subroutine(&mut self, names: Names<'_>, rest: &[Token]) {
        let Some((Token::Word(name), behind)) = rest.split_first() else {
            return self.unclear(rest);
        };
        match parenthesised(behind) {
            Some((inside, [])) => self.call(names, name, inside, false),
            None if behind.is_empty() => self.call(names, name, &[], false),
            // A procedure that is a component.
            _ => self.unclear(rest),
        }
    }

    /// `where (mask) a = b`, `forall (i = 1:n) a(i) = b(i)`, and the blocks.
    fn masked(&mut self, names: Names<'_>, rest: &[Token]) {
        let Some((mask, behind)) = parenthesised(rest) else { return self.unclear(rest) };
        self.expression(names, mask);
        if behind.is_empty() {
            self.blocks.push(Block::Named);
        } else {
            self.inside(names, behind);
        }
    }

    /// Loops that a label ends are ended by their label.
    fn end_block(&mut self, word: &str, rest: &[Token]) {
        let ends_unit = word == "end" && rest.is_empty();
        if !ends_unit && self.blocks.last() == Some(&Block::Named) {
            self.blocks.pop();
        }
    }

    /// Input and output: `read (control) list`, `print format, list`.
    fn transfer(&mut self, names: Names<'_>, word: &str, rest: &[Token]) {
        let is_input = matches!(word, "read" | "accept" | "decode");
        let list = match parenthesised(rest) {
            Some((control, list)) => {
                self.control(names, control, word);
                list
            }
            // The first part is the format.
            None => {
                rest.iter().position(|token| token.is(",")).map_or(&[][..], |at| &rest[at + 1..])
            }
        };
        let list = list.strip_prefix(&[Token::Sign(",")]).unwrap_or(list);
        for item in split_commas(list) {
            match (is_input, item) {
                (true, [Token::Sign("("), ..]) => self.unclear(item),
                (true, _) => self.target(names, item),
                (false, _) => self.expression(names, item),
            }
        }
    }

    fn control(&mut self, names: Names<'_>, control: &[Token], word: &str) {
        for (number, part) in split_commas(control).into_iter().enumerate() {
            let (keyword, value) = without_keyword(part);
            let is_file = number == 0 && keyword.is_none() || keyword == Some("unit");
            match keyword {
                Some(keyword) if JUMPS.contains(&keyword) => self.may_have_left = true,
                Some(keyword) if SET_BY_CONTROL.contains(&keyword) => self.unclear(value),
                // What is written to may be a text.
                _ if is_file && word != "read" => self.unclear(value),
                _ => self.expression(names, value),
            }
        }
    }
}

/// What stands behind the first of the words, where it is there.
fn after<'a>(rest: &'a [Token], words: &[&str]) -> &'a [Token] {
    match rest.first().and_then(Token::word) {
        Some(word) if words.contains(&word) => &rest[1..],
        _ => rest,
    }
}

/// Whether a statement gives a variable a value.
pub fn is_assignment(all: &[Token]) -> bool {
    assignment(all).is_some()
}

/// The two sides of `a = b`, `a(i) = b`, `a%b(i) = c`.
fn assignment(all: &[Token]) -> Option<(&[Token], &[Token])> {
    all.first()?.word()?;
    let mut depth = 0i32;
    let at = all.iter().position(|token| {
        depth += i32::from(token.is("(")) - i32::from(token.is(")"));
        depth == 0 && token.is("=")
    })?;
    is_designator(&all[..at]).then_some((&all[..at], &all[at + 1..]))
}

/// `a`, `a(i)`, `a(i)(1:2)`, `a%b(i)`.
fn is_designator(tokens: &[Token]) -> bool {
    let mut rest = match tokens {
        [Token::Word(_), rest @ ..] => rest,
        _ => return false,
    };
    while !rest.is_empty() {
        rest = match rest {
            [Token::Sign("%"), Token::Word(_), behind @ ..] => behind,
            _ => match parenthesised(rest) {
                Some((_, behind)) => behind,
                None => return false,
            },
        };
    }
    true
}
