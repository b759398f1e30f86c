//! JSON with the place of every value, as far as network files need it: whole numbers alone.

use crate::input::{InputError, Source};

/// How deep values may lie in one another.
const DEPTH_MAX: usize = 16;

/// A value and the byte at which it begins.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) at: usize,
    pub(super) value: Value,
}

/// A value of JSON.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Null,
    Truth,
    Number(i64),
    Text(String),
    List(Vec<Node>),
    Table(Vec<(String, Node)>),
}

impl Node {
    /// What a message calls it.
    pub(super) fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "null",
            Value::Truth => "a truth value",
            Value::Number(_) => "a number",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Table(_) => "an object",
        }
    }

    /// The member of an object with a name.
    pub(super) fn member(&self, name: &str) -> Option<&Node> {
        let Value::Table(members) = &self.value else { return None };
        members.iter().find(|(known, _)| known == name).map(|(_, node)| node)
    }
}

/// Reads a text as one value.
pub(super) fn parse(source: &Source<'_>) -> Result<Node, InputError> {
    let mut parser = Parser { source, bytes: source.text.as_bytes(), at: 0, depth: 0 };
    let node = parser.value()?;
    match parser.peek() {
        None => Ok(node),
        Some(_) => Err(parser.expected("the end of the file")),
    }
}

struct Parser<'a> {
    source: &'a Source<'a>,
    bytes: &'a [u8],
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn error(&self, problem: impl Into<String>) -> InputError {
        self.source.error_at_byte(self.at, problem)
    }

    fn expected(&self, what: &str) -> InputError {
        let rest = self.source.text.get(self.at..).and_then(|rest| rest.chars().next());
        match rest {
            Some(found) => self.error(format!("`{found}` is here, expected {what}")),
            None => self.error(format!("the file ends, expected {what}; is it complete?")),
        }
    }

    /// The next byte that is no white space.
    fn peek(&mut self) -> Option<u8> {
        let rest = &self.bytes[self.at..];
        self.at += rest.iter().take_while(|byte| b" \t\r\n".contains(byte)).count();
        self.bytes.get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn value(&mut self) -> Result<Node, InputError> {
        let first = self.peek();
        let at = self.at;
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.error(format!("more than {DEPTH_MAX} values lie in one another")));
        }
        let value = match first {
            Some(b'{') => Value::Table(self.list(b'}', Self::pair)?),
            Some(b'[') => Value::List(self.list(b']', Self::value)?),
            Some(b'"') => Value::Text(self.text()?),
            Some(b'-' | b'0'..=b'9') => Value::Number(self.number()?),
            _ => self.word()?,
        };
        self.depth -= 1;
        Ok(Node { at, value })
    }

    /// What stands between an opening sign and `end`, with commas between.
    fn list<T>(
        &mut self,
        end: u8,
        mut item: impl FnMut(&mut Self) -> Result<T, InputError>,
    ) -> Result<Vec<T>, InputError> {
        self.at += 1;
        let mut items = Vec::new();
        if self.eat(end) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.eat(end) {
                return Ok(items);
            }
            if !self.eat(b',') {
                return Err(self.expected(&format!("`,` or `{}`", end as char)));
            }
        }
    }

    fn pair(&mut self) -> Result<(String, Node), InputError> {
        if self.peek() != Some(b'"') {
            return Err(self.expected("a name in quotes"));
        }
        let name = self.text()?;
        if !self.eat(b':') {
            return Err(self.expected("`:`"));
        }
        Ok((name, self.value()?))
    }

    fn word(&mut self) -> Result<Value, InputError> {
        let words = [("null", Value::Null), ("true", Value::Truth), ("false", Value::Truth)];
        for (word, value) in words {
            if self.bytes[self.at..].starts_with(word.as_bytes()) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.expected("a value: an object, a list, a text, a whole number or null"))
    }

    fn number(&mut self) -> Result<i64, InputError> {
        let begin = self.at;
        let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        let length = self.bytes[begin..].iter().take_while(is_part).count();
        let text = &self.source.text[begin..begin + length];
        let number = text
            .parse()
            .map_err(|_| self.error(format!("`{text}` is no whole number; write digits alone")))?;
        self.at += length;
        Ok(number)
    }

    /// A text in quotes. Escapes stay as they are written: no name here has any.
    fn text(&mut self) -> Result<String, InputError> {
        let begin = self.at + 1;
        let mut end = begin;
        while let Some(byte) = self.bytes.get(end) {
            match byte {
                b'"' => {
                    self.at = end + 1;
                    return Ok(self.source.text[begin..end].to_string());
                }
                b'\\' => end += 2,
                b'\n' => break,
                _ => end += 1,
            }
        }
        Err(self.error("a text without its closing quote"))
    }
}
