//! Words and signs of a statement.

/// A word, number, text or sign. Words are in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    Word(String),
    Number(String),
    /// What stands between the quotes.
    Text(String),
    Sign(&'static str),
    /// A character that no statement has.
    Other(char),
}

impl Token {
    /// Whether it is this sign.
    pub fn is(&self, sign: &str) -> bool {
        matches!(self, Token::Sign(own) if *own == sign)
    }

    /// The word that it is.
    pub fn word(&self) -> Option<&str> {
        if let Token::Word(word) = self { Some(word) } else { None }
    }

    /// Whether it is this word, in lower case.
    pub fn is_word(&self, word: &str) -> bool {
        self.word() == Some(word)
    }
}

const SIGNS: [&str; 24] = [
    "::", "=>", "**", "==", "/=", "<=", ">=", "//", "(", ")", ",", ":", "=", "*", "/", "+", "-",
    "%", "[", "]", "<", ">", "&", "@",
];

/// Words and signs of one statement at most.
const TOKENS_MAX: usize = 20_000;

/// The tokens of a statement; a longer one is cut off where no declaration is that long.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        if tokens.len() == TOKENS_MAX {
            break;
        }
        let (token, length) = next(rest, first);
        tokens.push(token);
        rest = rest[length..].trim_start();
    }
    tokens
}

/// The first token and its bytes.
fn next(rest: &str, first: char) -> (Token, usize) {
    let span = |accepts: fn(char) -> bool| rest.find(|one| !accepts(one)).unwrap_or(rest.len());
    if first.is_ascii_alphabetic() || first == '_' {
        let length = span(|one| one.is_ascii_alphanumeric() || one == '_' || one == '$');
        return (Token::Word(rest[..length].to_ascii_lowercase()), length);
    }
    if first.is_ascii_digit()
        || (first == '.' && rest[1..].starts_with(|one: char| one.is_ascii_digit()))
    {
        return number(rest);
    }
    if first == '\'' || first == '"' {
        let end = rest[1..].find(first).map_or(rest.len(), |index| index + 2);
        return (Token::Text(rest[1..end].trim_end_matches(first).to_owned()), end);
    }
    if first == '.' {
        // .true., .and.: a word of their own.
        if let Some(end) = rest[1..]
            .find('.')
            .filter(|end| rest[1..1 + end].chars().all(|one| one.is_ascii_alphabetic()))
        {
            return (Token::Word(rest[..end + 2].to_ascii_lowercase()), end + 2);
        }
    }
    for sign in SIGNS {
        if rest.starts_with(sign) {
            return (Token::Sign(sign), sign.len());
        }
    }
    (Token::Other(first), first.len_utf8())
}

/// A number with its exponent and kind: `1.d0`, `12_8`.
fn number(rest: &str) -> (Token, usize) {
    let bytes = rest.as_bytes();
    let digits = |mut at: usize| {
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    };
    let mut end = digits(0);
    if bytes.get(end) == Some(&b'.') && !bytes.get(end + 1).is_some_and(u8::is_ascii_alphabetic)
        || bytes.get(end) == Some(&b'.')
            && matches!(bytes.get(end + 1), Some(b'd' | b'D' | b'e' | b'E'))
    {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'd' | b'D' | b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + sign);
        if exponent > end + 1 + sign {
            end = exponent;
        }
    }
    if bytes.get(end) == Some(&b'_') {
        end = bytes[end + 1..]
            .iter()
            .position(|one| !one.is_ascii_alphanumeric() && *one != b'_')
            .map_or(bytes.len(), |length| end + 1 + length);
    }
    (Token::Number(rest[..end].to_ascii_lowercase()), end)
}

/// Cuts tokens at the commas that stand in no parentheses.
pub fn split_commas(tokens: &[Token]) -> Vec<&[Token]> {
    let mut parts = Vec::new();
    let mut begin = 0;
    let mut depth = 0usize;
    for (index, token) in tokens.iter().enumerate() {
        if token.is("(") || token.is("[") {
            depth += 1;
        } else if token.is(")") || token.is("]") {
            depth = depth.saturating_sub(1);
        } else if depth == 0 && token.is(",") {
            parts.push(&tokens[begin..index]);
            begin = index + 1;
        }
    }
    if !tokens.is_empty() {
        parts.push(&tokens[begin..]);
    }
    parts
}

/// What stands in the parentheses that `tokens` begin with, and what behind them.
pub fn parenthesised(tokens: &[Token]) -> Option<(&[Token], &[Token])> {
    tokens.first().filter(|first| first.is("("))?;
    let mut depth = 0usize;
    for (index, token) in tokens.iter().enumerate() {
        if token.is("(") {
            depth += 1;
        } else if token.is(")") {
            depth -= 1;
            if depth == 0 {
                return Some((&tokens[1..index], &tokens[index + 1..]));
            }
        }
    }
    None
}
