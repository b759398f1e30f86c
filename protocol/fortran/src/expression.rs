//! Expressions of extents: read from tokens, and written in the interface language or in Fortran.

use crate::token::{Token, parenthesised, split_commas};

/// An integer expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expression {
    Number(i64),
    Name(String),
    /// `size(a)` or `size(a, 2)`: of an argument.
    Size(String, Option<usize>),
    Minus(Box<Expression>),
    Binary(char, Box<Expression>, Box<Expression>),
    /// `min` or `max`, of at least two.
    Extreme(&'static str, Vec<Expression>),
}

/// Expressions nest at most so deep, as in the interface language.
const DEPTH_MAX: usize = 60;

/// Reads a whole expression; `None` for one that has no form here.
pub fn read(tokens: &[Token]) -> Option<Expression> {
    let mut reader = Reader { tokens, at: 0 };
    let read = reader.sum(0)?;
    (reader.at == tokens.len()).then_some(read)
}

struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
}

/// Shorter than the boxes.
fn binary(operator: char, left: Expression, right: Expression) -> Expression {
    Expression::Binary(operator, Box::new(left), Box::new(right))
}

impl Reader<'_> {
    /// Takes one of these signs, if it is next.
    fn sign(&mut self, signs: &[&'static str]) -> Option<&'static str> {
        let token = self.tokens.get(self.at)?;
        let found = signs.iter().find(|sign| token.is(sign))?;
        self.at += 1;
        Some(found)
    }

    /// A sign stands before a whole term: `-n*2` is `-(n*2)`.
    fn sum(&mut self, depth: usize) -> Option<Expression> {
        let negative = self.sign(&["-", "+"]) == Some("-");
        let first = self.product(depth)?;
        let mut left = if negative { Expression::Minus(Box::new(first)) } else { first };
        while let Some(sign) = self.sign(&["+", "-"]) {
            left = binary(if sign == "+" { '+' } else { '-' }, left, self.product(depth)?);
        }
        Some(left)
    }

    /// Groups to the left, as division needs it.
    fn product(&mut self, depth: usize) -> Option<Expression> {
        let mut left = self.power(depth)?;
        while let Some(sign) = self.sign(&["*", "/"]) {
            left = binary(if sign == "*" { '*' } else { '/' }, left, self.power(depth)?);
        }
        Some(left)
    }

    /// Groups to the right.
    fn power(&mut self, depth: usize) -> Option<Expression> {
        let base = self.primary(depth)?;
        if self.sign(&["**"]).is_none() {
            return Some(base);
        }
        (depth < DEPTH_MAX)
            .then(|| self.power(depth + 1))
            .flatten()
            .map(|exponent| binary('^', base, exponent))
    }

    /// A number, a name, a function, or whatever stands in parentheses.
    fn primary(&mut self, depth: usize) -> Option<Expression> {
        let rest = &self.tokens[self.at..];
        match rest.first()? {
            Token::Number(text) => {
                self.at += 1;
                text.split('_').next()?.parse().ok().map(Expression::Number)
            }
            Token::Sign("(") if depth < DEPTH_MAX => {
                let (inside, behind) = parenthesised(rest)?;
                self.at += rest.len() - behind.len();
                Reader { tokens: inside, at: 0 }.whole(depth + 1)
            }
            Token::Word(name)
                if rest.get(1).is_some_and(|next| next.is("(")) && depth < DEPTH_MAX =>
            {
                let (inside, behind) = parenthesised(&rest[1..])?;
                self.at += rest.len() - behind.len();
                function(name, inside, depth)
            }
            Token::Word(name) if !name.starts_with('.') => {
                self.at += 1;
                Some(Expression::Name(name.clone()))
            }
            _ => None,
        }
    }

    /// An expression that is all of the tokens.
    fn whole(mut self, depth: usize) -> Option<Expression> {
        let read = self.sum(depth)?;
        (self.at == self.tokens.len()).then_some(read)
    }
}

/// Functions that the interface language has, too, or that name an extent.
fn function(name: &str, inside: &[Token], depth: usize) -> Option<Expression> {
    let arguments = split_commas(inside);
    match (name, arguments.as_slice()) {
        ("size", [array]) => Some(Expression::Size(only_word(array)?, None)),
        ("size" | "ubound", [array, dimension] | [array, dimension, _]) => match dimension {
            [rest @ .., Token::Number(number)]
                if rest.is_empty()
                    || matches!(rest, [word, Token::Sign("=")] if word.is_word("dim")) =>
            {
                let number = number.parse().ok().filter(|number| (1..=15).contains(number))?;
                Some(Expression::Size(only_word(array)?, Some(number)))
            }
            _ => None,
        },
        ("min" | "max", [_, _, ..]) => {
            let read = |one: &&[Token]| Reader { tokens: one, at: 0 }.whole(depth + 1);
            let all: Option<Vec<_>> = arguments.iter().map(read).collect();
            all.map(|all| Expression::Extreme(if name == "min" { "min" } else { "max" }, all))
        }
        _ => None,
    }
}

/// A name alone.
fn only_word(tokens: &[Token]) -> Option<String> {
    match tokens {
        [Token::Word(word)] => Some(word.clone()),
        _ => None,
    }
}

/// In which language an expression is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Language {
    Interface,
    Fortran,
}

impl Expression {
    /// `upper - lower + 1`, as short as it can be said.
    pub fn extent(lower: Option<Expression>, upper: Expression) -> Expression {
        match (lower, upper) {
            (None | Some(Expression::Number(1)), upper) => upper,
            (Some(Expression::Number(lower)), Expression::Number(upper)) => {
                Expression::Number(upper.saturating_sub(lower).saturating_add(1).max(0))
            }
            (Some(Expression::Number(lower)), upper) if lower <= 0 => {
                match lower.checked_neg().and_then(|n| n.checked_add(1)) {
                    Some(more) => binary('+', upper, Expression::Number(more)),
                    None => upper,
                }
            }
            (Some(lower), upper) => binary('+', binary('-', upper, lower), Expression::Number(1)),
        }
    }

    /// Replaces names by what `known` says of them. `Err` with the name of which it knows nothing.
    pub fn resolved(
        &self,
        known: &impl Fn(&Expression) -> Option<Expression>,
    ) -> Result<Expression, String> {
        let again = |one: &Expression| one.resolved(known);
        Ok(match self {
            Expression::Number(_) => self.clone(),
            Expression::Name(name) | Expression::Size(name, _) => {
                known(self).ok_or_else(|| name.clone())?
            }
            Expression::Minus(one) => Expression::Minus(Box::new(again(one)?)),
            Expression::Binary(operator, left, right) => {
                binary(*operator, again(left)?, again(right)?)
            }
            Expression::Extreme(name, all) => {
                Expression::Extreme(name, all.iter().map(again).collect::<Result<_, String>>()?)
            }
        })
    }

    /// Its text.
    pub fn write(&self, language: Language) -> String {
        self.within(language, 0)
    }

    /// Its text, in parentheses if it binds less than `level`: 1 sums, 2 products, 3 powers.
    fn within(&self, language: Language, level: u8) -> String {
        let (text, own) = match self {
            Expression::Number(number) if *number < 0 => (number.to_string(), 0),
            Expression::Number(number) => (number.to_string(), 4),
            Expression::Name(name) => (name.clone(), 4),
            Expression::Size(name, _) => (format!("size({name})"), 4),
            Expression::Minus(one) => (format!("-{}", one.within(language, 2)), 0),
            Expression::Binary(operator, left, right) => {
                let own = match operator {
                    '+' | '-' => 1,
                    '*' | '/' => 2,
                    _ => 3,
                };
                let (left_level, right_level) =
                    if *operator == '^' { (4, 3) } else { (own, own + 1) };
                let sign = match (operator, language) {
                    ('^', Language::Fortran) => "**".to_owned(),
                    ('+' | '-', _) => format!(" {operator} "),
                    _ => operator.to_string(),
                };
                (
                    format!(
                        "{}{sign}{}",
                        left.within(language, left_level),
                        right.within(language, right_level)
                    ),
                    own,
                )
            }
            Expression::Extreme(name, all) => {
                let all: Vec<_> = all.iter().map(|one| one.within(language, 0)).collect();
                (format!("{name}({})", all.join(", ")), 4)
            }
        };
        if own < level { format!("({text})") } else { text }
    }

    /// Its value, where it has no names.
    pub fn value(&self) -> Option<i64> {
        match self {
            Expression::Number(number) => Some(*number),
            Expression::Name(_) | Expression::Size(..) => None,
            Expression::Minus(one) => one.value()?.checked_neg(),
            Expression::Binary(operator, left, right) => {
                let left = left.value()?;
                let right = right.value()?;
                match operator {
                    '+' => left.checked_add(right),
                    '-' => left.checked_sub(right),
                    '*' => left.checked_mul(right),
                    '/' => left.checked_div(right),
                    _ => left.checked_pow(u32::try_from(right).ok()?),
                }
            }
            Expression::Extreme(name, all) => {
                let all: Option<Vec<i64>> = all.iter().map(Expression::value).collect();
                if *name == "min" { all?.into_iter().min() } else { all?.into_iter().max() }
            }
        }
    }

    /// The names in it.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Expression::Number(_) => Vec::new(),
            Expression::Name(name) | Expression::Size(name, _) => vec![name],
            Expression::Minus(one) => one.names(),
            Expression::Binary(_, left, right) => [left.names(), right.names()].concat(),
            Expression::Extreme(_, all) => all.iter().flat_map(Expression::names).collect(),
        }
    }
}
