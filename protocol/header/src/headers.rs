//! All declarations of some headers: what names stand for, and the functions of those that are
//! asked for.

use std::collections::HashMap;

use crate::declaration::{Mistake, Parser};
use crate::function::Function;
use crate::layout::{Layout, natural, natural_of};
use crate::token::{Kind, Token, Tokens};
use crate::types::{Qualified, Struct, Type};
use crate::{Problem, Source};

/// What headers declare.
#[derive(Default)]
pub struct Headers {
    typedefs: HashMap<String, Qualified>,
    structs: HashMap<String, Struct>,
    /// Their tags, in the order of the headers.
    tags: Vec<String>,
    /// What a struct's tag is called in typedefs: the first name.
    names: HashMap<String, String>,
    /// In the order of the headers.
    pub functions: Vec<Function>,
    pub problems: Vec<Problem>,
    pub notes: Vec<Problem>,
}

impl Headers {
    /// Reads them one after the other: what an earlier one defines is known in later ones.
    pub fn read(sources: &[Source<'_>]) -> Headers {
        let mut headers = Headers::default();
        for source in sources {
            let tokens = Tokens::of(source.name, source.text);
            headers.take(source.name, &tokens.list);
        }
        headers
    }

    pub fn typedef(&self, name: &str) -> Option<&Qualified> {
        self.typedefs.get(name)
    }

    /// The fields of a struct; `None` for one that is opaque.
    pub fn fields(&self, tag: &str) -> Option<&Struct> {
        self.structs.get(tag)
    }

    /// What people call a struct.
    pub fn name_of<'a>(&'a self, tag: &'a str) -> &'a str {
        self.names.get(tag).map_or(tag, String::as_str)
    }

    /// The type as C writes it.
    pub fn c_name(&self, tag: &str) -> String {
        match self.names.get(tag) {
            Some(name) => name.clone(),
            None if tag == "FILE" => tag.to_owned(),
            None => format!("struct {tag}"),
        }
    }

    pub fn define(&mut self, tag: String, fields: Struct) {
        if self.structs.insert(tag.clone(), fields).is_none() {
            self.tags.push(tag);
        }
    }

    /// Bytes that a type is aligned to; 1 for one that is not known.
    fn natural(&self, of: &Type) -> u32 {
        let fields = match of {
            Type::Struct(tag) => self.structs.get(tag),
            _ => return natural(of).unwrap_or(1),
        };
        let all = fields.iter().flat_map(|own| &own.fields).map(|field| natural_of(field.word));
        all.max().unwrap_or(1)
    }

    /// Refuses the struct of a declaration that has annotations before it.
    fn lay_out(&mut self, of: &Type, layout: &Layout, line: usize) {
        if let Type::Struct(tag) = of
            && let Some(own) = self.structs.get_mut(tag)
        {
            own.lay_out(layout, line);
        }
    }

    /// The structs with fields, by the names that people know, in the order of the headers.
    pub fn defined(&self) -> impl Iterator<Item = (&str, &Struct)> {
        self.tags.iter().map(|tag| (self.name_of(tag), &self.structs[tag]))
    }

    /// Takes every declaration of a file and of what it includes.
    fn take(&mut self, name: &str, tokens: &[Token]) {
        let mut at = 0;
        while at < tokens.len() {
            let is_asked = tokens[at].file == 0;
            let mut parser =
                Parser { tokens, at, depth: 0, layout: Layout::default(), headers: self };
            let outcome = external(&mut parser);
            let behind = parser.at.max(at + 1);
            match outcome {
                Ok(found) => {
                    at = behind;
                    self.keep(name, found, is_asked);
                }
                Err(mistake) => {
                    at = recovered(tokens, behind);
                    if is_asked {
                        self.problems.push(of(Problem::new(mistake.place, mistake.message), name));
                    }
                }
            }
        }
    }

    fn keep(&mut self, name: &str, found: Vec<External>, is_asked: bool) {
        for external in found {
            match external {
                External::Typedef(own, of) => {
                    if let Type::Struct(tag) = &of.kind {
                        self.names.entry(tag.clone()).or_insert_with(|| own.clone());
                    }
                    self.typedefs.insert(own, of);
                }
                External::Function(function) if is_asked => {
                    let is_known = self.functions.iter().any(|one| one.name == function.name);
                    if !is_known {
                        self.functions.push(Function { file: name.to_owned(), ..*function });
                    }
                }
                External::Note(problem) if is_asked => self.notes.push(of(problem, name)),
                External::Function(_) | External::Note(_) => {}
            }
        }
    }
}

fn of(problem: Problem, name: &str) -> Problem {
    Problem { file: name.to_owned(), ..problem }
}

/// What an external declaration declares.
enum External {
    Typedef(String, Qualified),
    Function(Box<Function>),
    Note(Problem),
}

/// One declaration with all its declarators.
fn external(parser: &mut Parser<'_>) -> Result<Vec<External>, Mistake> {
    let mut found = Vec::new();
    let doc = parser.peek().and_then(|token| token.comment.clone()).unwrap_or_default();
    // `extern "C" {`, its end, and a semicolon alone.
    if parser.eat(';') || parser.eat('}') {
        return Ok(found);
    }
    let is_linkage = parser.tokens.get(parser.at + 1).is_some_and(|token| token.kind == Kind::Text);
    if is_linkage {
        parser.at += 2;
        parser.eat('{');
        return Ok(found);
    }
    if parser.peek().and_then(Token::word) == Some("_Static_assert") {
        parser.at += 1;
        parser.skip_pair();
        return Ok(found);
    }
    let line = parser.place().line;
    let specifiers = parser.specifiers()?;
    let common = std::mem::take(&mut parser.layout);
    if parser.is(';') {
        parser.headers.lay_out(&specifiers.of.kind, &common, line);
    }
    while !parser.eat(';') {
        let declared = parser.declarator(&specifiers.of)?;
        parser.skip_annotations();
        let mut layout = std::mem::take(&mut parser.layout);
        layout.add(common.clone());
        let Some(name) = declared.name else { return Err(parser.mistake("a name")) };
        match declared.of.kind {
            _ if specifiers.is_typedef => {
                let of = named(parser.headers, &name, declared.of, &layout, line);
                found.push(External::Typedef(name, of));
            }
            Type::Function(function) => {
                let has_body = parser.is('{');
                if has_body {
                    parser.skip_pair();
                }
                let place = declared.place;
                let own = Function { name, doc: doc.clone(), place, ..*function };
                found.push(of_function(own, has_body || specifiers.is_static));
                if has_body {
                    return Ok(found);
                }
            }
            _ => {
                let message =
                    format!("{name} is a variable, which callers cannot see: not drafted");
                found.push(External::Note(Problem::new(declared.place, message)));
                if parser.eat('=') {
                    skip_value(parser);
                }
            }
        }
        if !parser.eat(',') && !parser.is(';') {
            return Err(parser.mistake("`;` behind a declaration"));
        }
    }
    Ok(found)
}

/// A function, unless the header itself has it.
fn of_function(function: Function, is_own: bool) -> External {
    if !is_own {
        return External::Function(Box::new(function));
    }
    let message =
        format!("{} is part of the header, and in no library: not drafted", function.name);
    External::Note(Problem::new(function.place, message))
}

/// What a typedef names: no number and no struct, where its annotations change that.
fn named(headers: &Headers, name: &str, of: Qualified, layout: &Layout, line: usize) -> Qualified {
    match layout.refusal(headers.natural(&of.kind)) {
        Some(why) => Type::Other(format!("has the type {name}, which {why} (line {line})")).plain(),
        None => of,
    }
}

fn skip_value(parser: &mut Parser<'_>) {
    while parser.peek().is_some_and(|token| !token.is(';') && !token.is(',')) {
        let is_pair = parser.is('{') || parser.is('(') || parser.is('[');
        if is_pair {
            parser.skip_pair();
        } else {
            parser.at += 1;
        }
    }
}

/// Behind the declaration that was not understood.
fn recovered(tokens: &[Token], from: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(from) {
        match token.kind {
            Kind::Sign('{' | '(') => depth += 1,
            Kind::Sign('}' | ')') => depth = depth.saturating_sub(1),
            Kind::Sign(';') if depth == 0 => return at + 1,
            _ => {}
        }
    }
    tokens.len()
}
