//! Type declarations and attribute statements.

use crate::constant::{Constants, value};
use crate::expression::{self, Expression};
use crate::token::{Token, parenthesised, split_commas};
use crate::unit::{Base, Bound, Declared, Intent, Length, TypeSpec};

/// Words that declarations begin with.
const DECLARATIONS: [&str; 24] = [
    "allocatable",
    "asynchronous",
    "byte",
    "character",
    "class",
    "codimension",
    "complex",
    "contiguous",
    "dimension",
    "double",
    "doubleprecision",
    "external",
    "integer",
    "intent",
    "logical",
    "optional",
    "pointer",
    "procedure",
    "real",
    "target",
    "type",
    "value",
    "virtual",
    "volatile",
];

/// Whether a statement that begins with this word declares something.
pub fn is_declaration(word: &str) -> bool {
    DECLARATIONS.contains(&word)
}

/// Reads the type that a declaration or a function begins with, and what follows it.
pub fn type_spec<'a>(
    tokens: &'a [Token],
    constants: &Constants,
) -> Option<(TypeSpec, &'a [Token])> {
    let word = tokens.first()?.word()?;
    let second = tokens.get(1);
    let kinds = constants.kinds;
    let of =
        |base, kind| TypeSpec { base, kind: Ok(kind), length: Length::Is(Expression::Number(1)) };
    let (mut spec, rest) = match word {
        "integer" => (of(Base::Integer, kinds.integer), &tokens[1..]),
        "real" => (of(Base::Real, kinds.real), &tokens[1..]),
        "complex" => (of(Base::Complex, kinds.real), &tokens[1..]),
        "logical" => (of(Base::Logical, kinds.integer), &tokens[1..]),
        "byte" => (of(Base::Integer, 1), &tokens[1..]),
        "character" => return character(&tokens[1..], constants),
        "double" if second.is_some_and(|next| next.is_word("precision")) => {
            return Some((of(Base::Real, kinds.double), &tokens[2..]));
        }
        "double" if second.is_some_and(|next| next.is_word("complex")) => {
            return Some((of(Base::Complex, kinds.double), &tokens[2..]));
        }
        "doubleprecision" => return Some((of(Base::Real, kinds.double), &tokens[1..])),
        "type" | "class" => {
            let (inside, rest) = parenthesised(&tokens[1..])?;
            let name = inside.first().and_then(Token::word).unwrap_or("*").to_owned();
            return Some((of(Base::Derived(name), 0), rest));
        }
        _ => return None,
    };
    let (kind, rest) = kind(rest, constants)?;
    if let Some(kind) = kind {
        // REAL*8 counts bytes, and COMPLEX*16 both halves; kinds in parentheses count one.
        let star = tokens[1].is("*");
        spec.kind =
            kind.map(|kind| if star && spec.base == Base::Complex { kind / 2 } else { kind });
    }
    Some((spec, rest))
}

type Kind = Option<Result<i64, String>>;

/// `*8`, `(8)`, `(kind=dp)`, or nothing.
fn kind<'a>(tokens: &'a [Token], constants: &Constants) -> Option<(Kind, &'a [Token])> {
    if tokens.first().is_some_and(|first| first.is("*")) {
        let Some(Token::Number(bytes)) = tokens.get(1) else { return None };
        return Some((Some(bytes.parse().map_err(|_| bytes.clone())), &tokens[2..]));
    }
    let Some((inside, rest)) = parenthesised(tokens) else { return Some((None, tokens)) };
    let of = if inside.len() > 2 && inside[0].is_word("kind") && inside[1].is("=") {
        &inside[2..]
    } else {
        inside
    };
    Some((Some(value(of, constants).ok_or_else(|| words(of))), rest))
}

/// Tokens as text, for messages.
pub fn words(tokens: &[Token]) -> String {
    let all: Vec<&str> = tokens
        .iter()
        .map(|token| match token {
            Token::Word(text) | Token::Number(text) => text.as_str(),
            Token::Text(_) => "'…'",
            Token::Sign(sign) => sign,
            Token::Other(_) => "?",
        })
        .take(40)
        .collect();
    all.concat()
}

/// A length between parentheses: a constant, an expression of arguments, `*`, or `:`.
fn length(tokens: &[Token], constants: &Constants) -> Length {
    match tokens {
        [one] if one.is("*") => Length::Assumed,
        [one] if one.is(":") => Length::Unknown,
        _ => match value(tokens, constants)
            .map(Expression::Number)
            .or_else(|| expression::read(tokens))
        {
            Some(expression) => Length::Is(expression),
            None => Length::Unknown,
        },
    }
}

/// `*10`, `*(*)`, `(10)`, `(len=*, kind=c_char)`, `(kind=c_char)`, or nothing.
fn character<'a>(tokens: &'a [Token], constants: &Constants) -> Option<(TypeSpec, &'a [Token])> {
    let mut spec =
        TypeSpec { base: Base::Character, kind: Ok(1), length: Length::Is(Expression::Number(1)) };
    if tokens.first().is_some_and(|first| first.is("*")) {
        let (one, rest) = star_length(&tokens[1..], constants)?;
        spec.length = one;
        return Some((
            spec,
            rest.strip_prefix(&[Token::Sign(",")]).filter(|rest| !rest.is_empty()).unwrap_or(rest),
        ));
    }
    let Some((inside, rest)) = parenthesised(tokens) else { return Some((spec, tokens)) };
    for (position, part) in split_commas(inside).into_iter().enumerate() {
        let named = part.len() > 2 && part[1].is("=");
        match part.first().and_then(Token::word) {
            Some("len") if named => spec.length = length(&part[2..], constants),
            Some("kind") if named => {
                spec.kind = value(&part[2..], constants).ok_or_else(|| words(&part[2..]))
            }
            _ if position == 0 => spec.length = length(part, constants),
            _ => spec.kind = value(part, constants).ok_or_else(|| words(part)),
        }
    }
    Some((spec, rest))
}

/// What follows the star of a length.
fn star_length<'a>(tokens: &'a [Token], constants: &Constants) -> Option<(Length, &'a [Token])> {
    if let Some((inside, rest)) = parenthesised(tokens) {
        return Some((length(inside, constants), rest));
    }
    tokens.first().filter(|first| matches!(first, Token::Number(_)))?;
    Some((length(&tokens[..1], constants), &tokens[1..]))
}

/// The dimensions between parentheses.
pub fn shape(inside: &[Token], constants: &Constants) -> Vec<Bound> {
    split_commas(inside).into_iter().map(|one| bound(one, constants)).collect()
}

/// One dimension. The colon that parts its bounds stands in no parentheses: those of `size(a, 1)`
/// have others.
fn bound(tokens: &[Token], constants: &Constants) -> Bound {
    let read = |part: &[Token]| {
        value(part, constants).map(Expression::Number).or_else(|| expression::read(part))
    };
    let mut depth = 0i32;
    let colon = tokens.iter().position(|token| {
        depth += i32::from(token.is("(")) - i32::from(token.is(")"));
        depth == 0 && token.is(":")
    });
    let (lower, upper) = match colon {
        Some(at) => (&tokens[..at], &tokens[at + 1..]),
        None => (&tokens[..0], tokens),
    };
    match upper {
        [] if colon.is_some() => return Bound::AssumedShape,
        [one] if one.is("*") => return Bound::AssumedSize,
        _ => {}
    }
    let lower = match (lower.is_empty(), read(lower)) {
        (true, _) => None,
        (false, Some(read)) => Some(read),
        (false, None) => return Bound::Unknown,
    };
    read(upper).map_or(Bound::Unknown, |upper| Bound::Extent(Expression::extent(lower, upper)))
}

/// An attribute of a declaration, as of a statement of its own. False for one that says nothing
/// here.
pub fn attribute(tokens: &[Token], declared: &mut Declared, constants: &Constants) -> bool {
    let Some(word) = tokens.first().and_then(Token::word) else { return false };
    let inside = parenthesised(tokens.get(1..).unwrap_or(&[])).map(|(inside, _)| inside);
    match word {
        "intent" => {
            let text = inside.map(words).unwrap_or_default();
            declared.intent = match text.as_str() {
                "in" => Some(Intent::In),
                "out" => Some(Intent::Out),
                "inout" => Some(Intent::InOut),
                _ => declared.intent,
            };
        }
        // VIRTUAL is an old compiler's word for it.
        "dimension" | "virtual" => {
            let inside = inside.unwrap_or(&[]);
            declared.assumed_rank = is_assumed_rank(inside);
            declared.shape = shape(inside, constants);
        }
        "value" => declared.by_value = true,
        "optional" => declared.optional = true,
        "allocatable" => declared.allocatable = true,
        "pointer" => declared.pointer = true,
        "external" => declared.external = true,
        "parameter" => declared.parameter = true,
        "contiguous" => declared.others.push("contiguous"),
        "target" => declared.others.push("target"),
        "asynchronous" => declared.others.push("asynchronous"),
        "volatile" => declared.others.push("volatile"),
        _ => return false,
    }
    true
}

/// `dimension(..)`.
fn is_assumed_rank(inside: &[Token]) -> bool {
    matches!(inside, [one] if one.is_word(".."))
}

/// An entity of a declaration: its name, what is its own, and its value if it has one.
pub struct Entity<'a> {
    pub name: &'a str,
    pub shape: Option<Vec<Bound>>,
    pub assumed_rank: bool,
    pub length: Option<Length>,
    pub value: Option<&'a [Token]>,
}

/// Reads `name`, `name(shape)`, `name*8`, `name = value`.
pub fn entity<'a>(tokens: &'a [Token], constants: &Constants) -> Option<Entity<'a>> {
    let name = tokens.first()?.word()?;
    let mut one = Entity { name, shape: None, assumed_rank: false, length: None, value: None };
    let mut rest = &tokens[1..];
    if let Some((inside, behind)) = parenthesised(rest) {
        one.assumed_rank = is_assumed_rank(inside);
        one.shape = Some(shape(inside, constants));
        rest = behind;
    }
    if rest.first().is_some_and(|first| first.is("*")) {
        let (length, behind) = star_length(&rest[1..], constants)?;
        one.length = Some(length);
        rest = behind;
    }
    match rest.split_first() {
        None => Some(one),
        Some((sign, value)) if sign.is("=") || sign.is("=>") => {
            Some(Entity { value: Some(value), ..one })
        }
        _ => None,
    }
}
