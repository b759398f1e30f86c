//! One declaration: specifiers, declarators, parameters (C11, section 6.7).

use crate::Place;
use crate::extent::Extent;
use crate::function::{Function, Parameter};
use crate::headers::Headers;
use crate::layout::Layout;
use crate::token::{Kind, Token};
use crate::types::{self, Qualified, Struct, Type};

/// Declarators in one another, and stars, at most.
const DEPTH_MAX: usize = 64;
/// Words that are followed by parentheses and say nothing here.
const ANNOTATIONS: [&str; 10] = [
    "__attribute__",
    "__attribute",
    "__declspec",
    "__asm__",
    "__asm",
    "asm",
    "_Alignas",
    "alignas",
    "__nonnull",
    "__malloc__",
];
/// Words that say nothing here.
const SILENT: [&str; 17] = [
    "extern",
    "register",
    "inline",
    "__inline",
    "__inline__",
    "_Noreturn",
    "__extension__",
    "volatile",
    "__volatile__",
    "restrict",
    "__restrict",
    "__restrict__",
    "auto",
    "_Thread_local",
    "__thread",
    "__signed__",
    "_Atomic",
];

/// What is wrong with a declaration.
pub struct Mistake {
    pub place: Place,
    pub message: String,
}

/// A declarator: its name, if it has one, and its type.
pub struct Declared {
    pub name: Option<String>,
    pub place: Place,
    pub of: Qualified,
}

/// What stands before the declarators.
pub struct Specifiers {
    pub of: Qualified,
    pub is_typedef: bool,
    pub is_static: bool,
}

/// What a declarator makes of the type before it.
enum Step {
    /// Whether the pointer itself is const.
    Pointer(bool),
    Array(Extent),
    Function(Vec<Parameter>, Option<&'static str>),
}

/// Reads the tokens of one declaration.
pub struct Parser<'a> {
    pub tokens: &'a [Token],
    pub at: usize,
    /// Declarators and structs that are open.
    pub depth: usize,
    /// What annotations have said, and nobody has taken.
    pub layout: Layout,
    pub headers: &'a mut Headers,
}

impl Parser<'_> {
    pub fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn word(&self) -> Option<&str> {
        self.peek().and_then(Token::word)
    }

    pub fn is(&self, sign: char) -> bool {
        self.peek().is_some_and(|token| token.is(sign))
    }

    pub fn eat(&mut self, sign: char) -> bool {
        let is_here = self.is(sign);
        self.at += usize::from(is_here);
        is_here
    }

    /// Where the parser stands.
    pub fn place(&self) -> Place {
        let token = self.peek().or(self.tokens.last());
        token.map_or_else(Place::default, |token| token.place)
    }

    pub fn mistake(&self, wanted: &str) -> Mistake {
        let found = match self.peek().map(|token| &token.kind) {
            Some(Kind::Word(text) | Kind::Number(text)) => format!("`{text}`"),
            Some(Kind::Sign(sign)) => format!("`{sign}`"),
            Some(Kind::Text) => "a string".to_owned(),
            Some(Kind::Dots) => "`...`".to_owned(),
            None => "the end".to_owned(),
        };
        Mistake { place: self.place(), message: format!("expected {wanted}, found {found}") }
    }

    /// Skips `( … )`, `[ … ]` or `{ … }`; what is inside.
    pub fn skip_pair(&mut self) -> &[Token] {
        let begin = self.at;
        let mut depth = 0_usize;
        while let Some(token) = self.peek() {
            match token.kind {
                Kind::Sign('(' | '[' | '{') => depth += 1,
                Kind::Sign(')' | ']' | '}') => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                break;
            }
        }
        &self.tokens
            [(begin + 1).min(self.at)..self.at.saturating_sub(1).max(begin + 1).min(self.at)]
    }

    /// Skips what compilers are told of a declaration, and remembers what it says of layouts.
    pub fn skip_annotations(&mut self) {
        loop {
            let is_bracket = |at: usize| self.tokens.get(at).is_some_and(|token| token.is('['));
            let word = self.word().filter(|word| ANNOTATIONS.contains(word)).map(str::to_owned);
            // `[[nodiscard]]`
            let has_pair = match &word {
                Some(_) => {
                    self.at += 1;
                    self.is('(')
                }
                None if is_bracket(self.at) && is_bracket(self.at + 1) => true,
                None => return,
            };
            if has_pair {
                let inside = self.skip_pair();
                let layout = Layout::of(word.as_deref().unwrap_or_default(), inside);
                self.layout.add(layout);
            }
        }
    }

    /// All words before the declarators.
    pub fn specifiers(&mut self) -> Result<Specifiers, Mistake> {
        let mut found = Specifiers { of: Type::Void.plain(), is_typedef: false, is_static: false };
        let mut words: Vec<String> = Vec::new();
        let mut other: Option<Type> = None;
        let begin = self.place();
        loop {
            self.skip_annotations();
            let Some(word) = self.word().map(str::to_owned) else { break };
            let has_type = other.is_some() || !words.is_empty();
            match word.as_str() {
                "const" | "__const" => found.of.is_const = true,
                "typedef" => found.is_typedef = true,
                "static" => found.is_static = true,
                "struct" | "union" | "enum" => {
                    self.at += 1;
                    other = Some(self.tagged(&word)?);
                    continue;
                }
                "complex" | "bool" if self.headers.typedef(&word).is_none() => {
                    words.push(if word == "bool" { "_Bool" } else { "_Complex" }.to_owned());
                }
                word if types::WORDS.contains(&word) => words.push(word.to_owned()),
                word if SILENT.contains(&word) => {}
                _ if has_type => break,
                _ => match self.named(&word) {
                    Some(named) => {
                        found.of.is_const |= named.is_const;
                        other = Some(named.kind);
                    }
                    None => break,
                },
            }
            self.at += 1;
        }
        found.of.kind = match (other, words.is_empty()) {
            (Some(other), _) => other,
            (None, false) => types::combined(&words),
            (None, true) => {
                let message = self.mistake("a type").message;
                return Err(Mistake { place: begin.max(self.place()), message });
            }
        };
        Ok(found)
    }

    /// What a name stands for; an unknown one, where a type must be.
    fn named(&self, word: &str) -> Option<Qualified> {
        if word == "FILE" {
            return Some(Type::Struct("FILE".to_owned()).plain());
        }
        if let Some(known) = self.headers.typedef(word) {
            return Some(known.clone());
        }
        if let Some(known) = types::named(word) {
            return Some(known.plain());
        }
        let next = self.tokens.get(self.at + 1);
        let is_type = next.is_some_and(|token| token.word().is_some() || token.is('*'));
        let unknown = format!(
            "has the type {word}, which the header does not define: include its header, or pass the \
             folder of that with --include"
        );
        is_type.then(|| Type::Other(unknown).plain())
    }

    /// `struct tag { … }`, `enum tag { … }`, behind the first word.
    fn tagged(&mut self, word: &str) -> Result<Type, Mistake> {
        let outer = std::mem::take(&mut self.layout);
        let read = self.tagged_itself(word);
        self.layout = outer;
        read
    }

    fn tagged_itself(&mut self, word: &str) -> Result<Type, Mistake> {
        self.skip_annotations();
        let place = self.place();
        let tag = self.word().map(str::to_owned);
        self.at += usize::from(tag.is_some());
        self.skip_annotations();
        if word == "enum" {
            if self.is('{') {
                self.skip_pair();
            }
            return Ok(Type::Number("int"));
        }
        if tag.is_none() && !self.is('{') {
            return Err(self.mistake("a tag or `{`"));
        }
        let tag = tag.unwrap_or_else(|| format!("struct_of_line_{}", place.line));
        if word == "union" {
            if self.is('{') {
                self.skip_pair();
            }
            return Ok(Type::Other(format!("is a union ({tag}), which a server cannot pass")));
        }
        if self.eat('{') {
            let mut own = std::mem::take(&mut self.layout);
            let mut fields = self.fields()?;
            own.add(std::mem::take(&mut self.layout));
            fields.lay_out(&own, place.line);
            self.headers.define(tag.clone(), fields);
        }
        Ok(Type::Struct(tag))
    }

    /// The fields of a struct, with the brace behind them.
    fn fields(&mut self) -> Result<Struct, Mistake> {
        self.enter()?;
        let mut fields = Struct::default();
        let packing = self.peek().and_then(|token| token.packing);
        while !self.eat('}') {
            if self.peek().is_none() {
                return Err(self.mistake("`}`"));
            }
            let specifiers = self.specifiers()?;
            let common = std::mem::take(&mut self.layout);
            while !self.eat(';') {
                let declared = self.declarator(&specifiers.of)?;
                let name = declared.name.unwrap_or_else(|| "without a name".to_owned());
                if self.eat(':') {
                    self.at += 1;
                    fields.refusal.get_or_insert(format!("its field {name} of bits"));
                } else {
                    fields.add(name.clone(), declared.place, &declared.of);
                }
                self.skip_annotations();
                let mut own = std::mem::take(&mut self.layout);
                own.add(common.clone());
                fields.lay_out_field(&name, declared.place, &declared.of, &own);
                if !self.eat(',') && !self.is(';') {
                    return Err(self.mistake("`,` or `;` behind a field"));
                }
            }
        }
        // Some compilers ask here what holds, others where the struct starts.
        let behind = self.at.checked_sub(1).and_then(|at| self.tokens.get(at)?.packing);
        self.skip_annotations();
        let packed = packing.into_iter().chain(behind).min();
        self.layout.add(Layout::packed(packed));
        self.depth -= 1;
        Ok(fields)
    }

    /// A declarator, which may be without a name.
    pub fn declarator(&mut self, base: &Qualified) -> Result<Declared, Mistake> {
        let mut steps = Vec::new();
        let mut name = None;
        let place = self.steps(&mut steps, &mut name)?;
        let mut of = base.clone();
        for step in steps.into_iter().rev() {
            let kind = match step {
                Step::Pointer(is_const) => {
                    of = Qualified { kind: Type::Pointer(Box::new(of)), is_const };
                    continue;
                }
                Step::Array(extent) => Type::Array(Box::new(of), extent),
                Step::Function(parameters, refusal) => Type::Function(Box::new(Function {
                    name: name.clone().unwrap_or_default(),
                    file: String::new(),
                    place,
                    doc: String::new(),
                    result: of,
                    parameters,
                    refusal,
                })),
            };
            of = kind.plain();
        }
        Ok(Declared { name, place, of })
    }

    /// The steps from the name outwards; where the name stands.
    fn steps(
        &mut self,
        steps: &mut Vec<Step>,
        name: &mut Option<String>,
    ) -> Result<Place, Mistake> {
        self.enter()?;
        let mut pointers = Vec::new();
        loop {
            self.skip_annotations();
            match self.word() {
                Some("const" | "__const") => {
                    pointers.iter_mut().last().into_iter().for_each(|one| *one = true)
                }
                Some(word) if SILENT.contains(&word) => {}
                _ if self.is('*') && pointers.len() < DEPTH_MAX => pointers.push(false),
                _ => break,
            }
            self.at += 1;
        }
        let mut place = self.place();
        if self.is('(') && self.is_nested() {
            self.at += 1;
            place = self.steps(steps, name)?;
            if !self.eat(')') {
                return Err(self.mistake("`)`"));
            }
        } else if let Some(word) = self.word() {
            *name = Some(word.to_owned());
            self.at += 1;
        }
        self.suffixes(steps)?;
        steps.extend(pointers.into_iter().rev().map(Step::Pointer));
        self.depth -= 1;
        Ok(place)
    }

    /// One more declarator or struct is open.
    fn enter(&mut self) -> Result<(), Mistake> {
        self.depth += 1;
        if self.depth > DEPTH_MAX { Err(self.mistake("fewer parentheses")) } else { Ok(()) }
    }

    /// Whether the parenthesis here holds a declarator, and no parameters.
    fn is_nested(&self) -> bool {
        let Some(next) = self.tokens.get(self.at + 1) else { return false };
        match next.word() {
            Some(word) => !self.begins_type(word),
            None => next.is('*') || next.is('('),
        }
    }

    fn begins_type(&self, word: &str) -> bool {
        types::WORDS.contains(&word)
            || SILENT.contains(&word)
            || ["const", "struct", "union", "enum", "bool", "complex"].contains(&word)
            || types::named(word).is_some()
            || self.headers.typedef(word).is_some()
    }

    fn suffixes(&mut self, steps: &mut Vec<Step>) -> Result<(), Mistake> {
        loop {
            self.skip_annotations();
            if self.is('[') {
                let inside = self.skip_pair();
                steps.push(Step::Array(Extent::of(inside)));
            } else if self.eat('(') {
                let (parameters, refusal) = self.parameters()?;
                steps.push(Step::Function(parameters, refusal));
            } else {
                return Ok(());
            }
        }
    }

    /// The list of a function, behind its parenthesis.
    fn parameters(&mut self) -> Result<(Vec<Parameter>, Option<&'static str>), Mistake> {
        let mut parameters: Vec<Parameter> = Vec::new();
        if self.eat(')') {
            let refusal =
                "its parameters are not declared: write (void) in the header if it has none";
            return Ok((parameters, Some(refusal)));
        }
        loop {
            if self.peek().is_some_and(|token| token.kind == Kind::Dots) {
                self.at += 1;
                let refusal =
                    "it takes any number of arguments (...): describe a function that calls it";
                return if self.eat(')') {
                    Ok((parameters, Some(refusal)))
                } else {
                    Err(self.mistake("`)`"))
                };
            }
            let specifiers = self.specifiers()?;
            let declared = self.declarator(&specifiers.of)?;
            self.skip_annotations();
            if declared.of.kind == Type::Void {
                return if self.eat(')') {
                    Ok((parameters, None))
                } else {
                    Err(self.mistake("`)` behind void"))
                };
            }
            let number = parameters.len() + 1;
            let name = declared.name.unwrap_or_else(|| format!("arg{number}"));
            parameters.push(Parameter { name, place: declared.place, kind: declared.of.kind });
            if self.eat(')') {
                return Ok((parameters, None));
            }
            if !self.eat(',') {
                return Err(self.mistake("`,` or `)` behind a parameter"));
            }
        }
    }
}
