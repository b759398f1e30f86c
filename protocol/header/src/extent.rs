//! What stands between the brackets of an array.

use crate::token::{Kind, Token};

/// Words that say nothing of the size.
const QUALIFIERS: [&str; 7] =
    ["static", "const", "restrict", "volatile", "__restrict", "__restrict__", "__const"];

/// The size of a dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extent {
    /// `[]`, `[*]`
    Missing,
    /// In the words of the interface language.
    Is(String),
    /// What is not understood.
    Unknown(String),
}

impl Extent {
    /// Reads what stands between the brackets.
    pub fn of(tokens: &[Token]) -> Extent {
        let is_size = |token: &&Token| !token.word().is_some_and(|word| QUALIFIERS.contains(&word));
        let tokens: Vec<&Token> = tokens.iter().filter(is_size).collect();
        let is_star = tokens.len() == 1 && tokens[0].is('*');
        if tokens.is_empty() || is_star {
            return Extent::Missing;
        }
        let mut text = String::new();
        let mut is_known = true;
        for token in tokens {
            match &token.kind {
                Kind::Word(word) => text.push_str(word),
                Kind::Number(number) => {
                    text.push_str(number.trim_end_matches(['u', 'U', 'l', 'L']))
                }
                Kind::Sign(sign) => {
                    is_known &= "+-*/()".contains(*sign);
                    text.push(*sign);
                }
                Kind::Text | Kind::Dots => is_known = false,
            }
        }
        let is_call = text.contains("sizeof");
        if is_known && !is_call { Extent::Is(text) } else { Extent::Unknown(text) }
    }

    /// The names in it.
    pub fn names(&self) -> Vec<&str> {
        let Extent::Is(text) = self else { return Vec::new() };
        let words = text.split(|one: char| !one.is_alphanumeric() && one != '_');
        words
            .filter(|word| word.starts_with(|one: char| one.is_alphabetic() || one == '_'))
            .collect()
    }
}
