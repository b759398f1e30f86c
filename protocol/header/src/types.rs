//! Types of C, as far as they can be passed.

use crate::Place;
use crate::extent::Extent;
use crate::function::Function;
use crate::layout::{Layout, natural, natural_of};

/// A type, and whether what has it may be written to.
#[derive(Clone, Debug, PartialEq)]
pub struct Qualified {
    pub kind: Type,
    pub is_const: bool,
}

/// What a type is.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    Void,
    Char,
    Bool,
    /// Of the interface language, by this word.
    Number(&'static str),
    /// By its tag, or the name of a typedef that has none.
    Struct(String),
    Pointer(Box<Qualified>),
    Array(Box<Qualified>, Extent),
    Function(Box<Function>),
    /// Why it cannot be passed.
    Other(String),
}

impl Type {
    /// Itself, not const.
    pub fn plain(self) -> Qualified {
        Qualified { kind: self, is_const: false }
    }

    /// Whether sizes may be of it.
    pub fn is_integer(&self) -> bool {
        let reals = ["float", "double", "scomplex", "dcomplex"];
        matches!(self, Type::Number(word) if !reals.contains(word))
    }

    /// The word of the interface language, for what is one value.
    pub fn word(&self) -> Option<&str> {
        match self {
            Type::Char => Some("char"),
            Type::Bool => Some("bool"),
            Type::Number(word) => Some(word),
            Type::Struct(tag) => Some(tag),
            _ => None,
        }
    }

    /// What it points to, as a parameter: arrays are passed so.
    pub fn pointee(&self) -> Option<&Qualified> {
        match self {
            Type::Pointer(to) | Type::Array(to, _) => Some(to),
            _ => None,
        }
    }

    /// The function that it points to.
    pub fn function(&self) -> Option<&Function> {
        match self {
            Type::Function(function) => Some(function),
            Type::Pointer(to) => to.kind.function(),
            _ => None,
        }
    }
}

/// A struct with fields, and why it cannot be passed, where it cannot.
#[derive(Clone, Debug, Default)]
pub struct Struct {
    pub fields: Vec<Field>,
    pub refusal: Option<String>,
}

/// A field of numbers.
#[derive(Clone, Debug)]
pub struct Field {
    pub name: String,
    pub word: &'static str,
    /// `[3][4]`
    pub extents: String,
}

impl Struct {
    /// Takes a field, or why it cannot be one.
    pub fn add(&mut self, name: String, place: Place, of: &Qualified) {
        let mut extents = String::new();
        let mut kind = &of.kind;
        while let Type::Array(inner, Extent::Is(text)) = kind {
            extents.push_str(&format!("[{text}]"));
            kind = &inner.kind;
        }
        let word = match kind {
            Type::Char => Some("char"),
            Type::Bool => Some("uint8"),
            Type::Number(word) => Some(*word),
            _ => None,
        };
        match word {
            Some(word) => self.fields.push(Field { name, word, extents }),
            None => {
                let what = "which is no number, no character and no array of them";
                let line = place.line;
                self.refusal.get_or_insert(format!("its field {name} (line {line}), {what}"));
            }
        }
    }
}

impl Struct {
    /// Refuses a field that does not lie where C would put it.
    pub fn lay_out_field(&mut self, name: &str, place: Place, of: &Qualified, layout: &Layout) {
        let natural = natural(&of.kind).unwrap_or(1);
        if let Some(why) = layout.refusal(natural) {
            self.refusal.get_or_insert(format!("its field {name} (line {}) {why}", place.line));
        }
    }

    /// Refuses a struct whose fields, or whose size, are not what C would make of it.
    pub fn lay_out(&mut self, layout: &Layout, line: usize) {
        let natural = self.fields.iter().map(|field| natural_of(field.word)).max().unwrap_or(1);
        if let Some(why) = layout.refusal(natural) {
            self.refusal.get_or_insert(format!("it {why} (line {line})"));
        }
    }
}

/// Words that make a type together, in alphabetical order, and the interface language's word.
const COMBINED: [(&str, &str); 31] = [
    ("char signed", "int8"),
    ("char unsigned", "uint8"),
    ("short", "short"),
    ("short signed", "short"),
    ("int short", "short"),
    ("int short signed", "short"),
    ("short unsigned", "uint16"),
    ("int short unsigned", "uint16"),
    ("int", "int"),
    ("signed", "int"),
    ("int signed", "int"),
    ("unsigned", "unsigned"),
    ("int unsigned", "unsigned"),
    ("long", "long"),
    ("long signed", "long"),
    ("int long", "long"),
    ("int long signed", "long"),
    ("long unsigned", "uint64"),
    ("int long unsigned", "uint64"),
    ("long long", "int64"),
    ("int long long", "int64"),
    ("long long signed", "int64"),
    ("int long long signed", "int64"),
    ("long long unsigned", "uint64"),
    ("int long long unsigned", "uint64"),
    ("float", "float"),
    ("double", "double"),
    ("_Complex float", "scomplex"),
    ("_Complex double", "dcomplex"),
    ("_Complex", "dcomplex"),
    ("enum", "int"),
];

/// Names of the language's own headers.
const NAMED: [(&str, &str); 16] = [
    ("size_t", "size_t"),
    ("ssize_t", "int64"),
    ("ptrdiff_t", "int64"),
    ("intptr_t", "int64"),
    ("uintptr_t", "uint64"),
    ("int8_t", "int8"),
    ("int16_t", "int16"),
    ("int32_t", "int32"),
    ("int64_t", "int64"),
    ("uint8_t", "uint8"),
    ("uint16_t", "uint16"),
    ("uint32_t", "uint32"),
    ("uint64_t", "uint64"),
    ("off_t", "int64"),
    ("time_t", "int64"),
    ("wchar_t", "int32"),
];

/// Words of types.
pub const WORDS: [&str; 11] = [
    "char", "short", "int", "long", "float", "double", "signed", "unsigned", "void", "_Complex",
    "_Bool",
];

/// The type that words make together.
pub fn combined(words: &[String]) -> Type {
    let mut sorted: Vec<&str> = words.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    let all = sorted.join(" ");
    match all.as_str() {
        "void" => return Type::Void,
        "char" => return Type::Char,
        "_Bool" => return Type::Bool,
        _ => {}
    }
    let found = COMBINED.iter().find(|(words, _)| *words == all);
    found.map_or_else(
        || Type::Other(format!("has the type {}, which a server cannot pass", words.join(" "))),
        |(_, word)| Type::Number(word),
    )
}

/// The type of a name that headers of the language define, in this system's size.
pub fn named(name: &str) -> Option<Type> {
    let found = NAMED.iter().find(|(own, _)| *own == name);
    found.map(|(_, word)| Type::Number(word))
}
