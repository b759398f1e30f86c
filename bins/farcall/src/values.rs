//! Values as people write them on the command line: `3`, `1e-6`, `1+2j`, `[[1, 2], [3, 4]]`,
//! `@matrix.npy`.

use std::ffi::OsString;
use std::path::Path;

use farcall_base::{Error, ErrorKind, Result};
use farcall_client::{Argument, Array};
use farcall_idl::expression::Expression;
use farcall_idl::interface::{ElementType, Interface, Order, Parameter, Shape};
use farcall_idl::scalar::ScalarValue;

use crate::files;
use farcall_formats::data::{Data, check_range, element_bytes, real, shown};

/// Dimensions of an inline array at most: brackets nest this deep.
const DEPTH_MAX: usize = 16;

/// Marks an argument that begins like an option and is a number: no argument of a process can begin
/// with it.
const MARK: char = '\0';

/// The arguments of `farcall call`, with such numbers as `-inf` and `-1+2j` marked, so that they
/// are not read as options. Those that clap knows as numbers stay as they are.
pub fn marked_numbers(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.collect();
    if arguments.get(1).is_none_or(|command| command != "call") {
        return arguments;
    }
    for argument in &mut arguments {
        let Some(digits) = argument.to_str().and_then(|text| text.strip_prefix('-')) else {
            continue;
        };
        let plain = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
            && digits.parse::<f64>().is_ok();
        if !plain && number(&format!("-{digits}")).is_ok() {
            *argument = format!("{MARK}-{digits}").into();
        }
    }
    arguments
}

/// What the user wrote.
pub fn unmarked(argument: &str) -> &str {
    argument.strip_prefix(MARK).unwrap_or(argument)
}

/// An argument of a call.
pub enum Value {
    /// An array of numbers or characters.
    Array(Data),
    /// Anything else.
    Other(Argument<'static>),
}

impl Value {
    /// What the call gets. It is taken out: once.
    pub fn argument(&mut self) -> Argument<'_> {
        match self {
            Value::Array(data) => {
                Array::of_bytes(&data.bytes, data.element, &data.shape, data.order).into()
            }
            Value::Other(argument) => std::mem::take(argument),
        }
    }
}

impl From<Argument<'static>> for Value {
    fn from(argument: Argument<'static>) -> Value {
        Value::Other(argument)
    }
}

fn wrong(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidArgument, "read a value", message)
}

/// The value that `text` means for a parameter.
///
/// # Errors
/// `InvalidArgument` that names the parameter and says what it takes; `NotFound` for a file.
pub fn value(interface: &Interface, parameter: &Parameter, text: &str) -> Result<Value> {
    value_for(parameter, text).map_err(|error| {
        let takes = farcall_idl::idl::parameter_text(
            interface.scope(),
            &Parameter { doc: String::new(), ..parameter.clone() },
        );
        error.with("parameter", takes)
    })
}

/// By what the parameter is, and not by what the text looks like: `3` is a number, a character or a
/// text.
fn value_for(parameter: &Parameter, text: &str) -> Result<Value> {
    let array = matches!(parameter.shape, Shape::Array { .. });
    match (parameter.element, &parameter.shape) {
        (_, Shape::Callback { .. }) => {
            Err(wrong("a function cannot be passed on the command line")
                .fix("call the routine from a program"))
        }
        (ElementType::Struct(_), _) => Err(wrong("a struct cannot be passed on the command line")
            .fix("call the routine from a program")),
        (ElementType::Filename, Shape::Scalar) => {
            Ok(Argument::Text(text.as_bytes().to_vec()).into())
        }
        (ElementType::String, Shape::Scalar) => Ok(Argument::Text(text.as_bytes().to_vec()).into()),
        // Files by their paths.
        (ElementType::String | ElementType::Filename, _) => texts(text),
        (_, Shape::Array { .. }) if is_url(text) => Ok(Argument::Url(text[1..].to_owned()).into()),
        (_, Shape::Array { dimensions, .. }) if text.starts_with('@') => {
            of_file(parameter, dimensions.len(), &text[1..])
        }
        (ElementType::Char, _) => character(array, text),
        _ if text.starts_with('@') => of_file(parameter, 0, &text[1..]),
        _ if array && text == "null" => Ok(Argument::Null.into()),
        _ => numbers(parameter, text),
    }
}

/// Whether the server is to fetch it: `@https://…`, `@http://…`, or `@file:/…`, which is a file of
/// the server's.
fn is_url(text: &str) -> bool {
    ["@https://", "@http://", "@file:/"].iter().any(|begin| text.starts_with(begin))
}

/// One character, or as many as an array has. They are bytes: what is not ASCII counts as several.
fn character(array: bool, text: &str) -> Result<Value> {
    if !array && text.len() != 1 {
        return Err(wrong(format!("\"{}\" is not one character", text.escape_debug())));
    }
    Ok(Argument::Text(text.as_bytes().to_vec()).into())
}

/// Strings may contain anything, so they are quoted as in JSON.
fn texts(text: &str) -> Result<Value> {
    let texts: Vec<Option<String>> = serde_json::from_str(text).map_err(|error| {
        wrong(error.to_string()).fix("write an array of strings as JSON: '[\"one\", \"two\"]'")
    })?;
    Ok(Argument::Texts(texts.into_iter().map(|text| text.map(String::into_bytes)).collect()).into())
}

/// The array of a file, or its only number for a parameter without dimensions.
fn of_file(parameter: &Parameter, rank: usize, path: &str) -> Result<Value> {
    let fits =
        |shape: &[u64]| check_count(parameter, shape).map_err(|error| error.with("file", path));
    let mut data = files::read(Path::new(path), &fits)?;
    // Matrix Market knows matrices only: a vector is one with a single column (or row).
    if data.decimal && rank < 2 && data.shape.contains(&1) {
        data.shape.retain(|extent| *extent != 1);
        data.shape.resize(rank, 1);
    }
    let data = data.converted(parameter.element).map_err(|error| error.with("file", path))?;
    if rank > 0 {
        return Ok(Value::Array(data));
    }
    if !data.shape.is_empty() {
        return Err(one_number(&data.shape).with("file", path));
    }
    Ok(Argument::Raw(data.bytes).into())
}

/// Where the interface alone says how many numbers there are, a file of other numbers costs no
/// memory.
fn check_count(parameter: &Parameter, shape: &[u64]) -> Result<()> {
    let found = shape.iter().fold(1_u64, |product, extent| product.saturating_mul(*extent));
    let Shape::Array { dimensions, .. } = &parameter.shape else {
        return if found == 1 { Ok(()) } else { Err(one_number(shape)) };
    };
    let mut wanted = 1_u64;
    for dimension in dimensions {
        let Expression::Integer(size) = dimension.size else { return Ok(()) };
        wanted = wanted.saturating_mul(u64::try_from(size).unwrap_or(0));
    }
    if wanted == found {
        return Ok(());
    }
    Err(wrong(format!(
        "the file has an array of shape {shape:?}, and the routine needs {wanted} numbers"
    )))
}

fn one_number(shape: &[u64]) -> Error {
    wrong(format!("the file has an array of shape {shape:?}, and the routine needs one number"))
}

/// Numbers are read into the parameter's own type at once: text has no type to convert from.
fn numbers(parameter: &Parameter, text: &str) -> Result<Value> {
    let data = inline(parameter, text)?;
    match parameter.shape {
        Shape::Scalar if data.shape.is_empty() => Ok(Argument::Raw(data.bytes).into()),
        Shape::Scalar => Err(wrong("an array was passed, and the routine needs one number")),
        _ => {
            // One number stands for an array of one.
            let shape = if data.shape.is_empty() { vec![1] } else { data.shape };
            Ok(Value::Array(Data { shape, ..data }))
        }
    }
}

/// Numbers in nested brackets, separated by commas; numbers may be quoted as in JSON.
fn inline(parameter: &Parameter, text: &str) -> Result<Data> {
    let element = parameter.element;
    let mut reader = Brackets {
        rest: text.trim(),
        element,
        logical: parameter.logical,
        bytes: Vec::new(),
        shape: Vec::new(),
        seen: false,
    };
    reader.item(0)?;
    if !reader.rest.is_empty() {
        return Err(wrong(format!("\"{}\" follows the value", shown(reader.rest))));
    }
    let Brackets { bytes, shape, .. } = reader;
    Ok(Data { element, shape, order: Order::Row, bytes, decimal: true })
}

struct Brackets<'a> {
    rest: &'a str,
    element: ElementType,
    /// Whether they say true or false: then these words stand for them.
    logical: bool,
    bytes: Vec<u8>,
    /// Extents of the first list at each depth; every other one must have them too.
    shape: Vec<u64>,
    /// Whether a number was read: then the number of dimensions is known.
    seen: bool,
}

impl Brackets<'_> {
    fn take(&mut self, one: char) -> bool {
        let Some(rest) = self.rest.strip_prefix(one) else { return false };
        self.rest = rest.trim_start();
        true
    }

    /// A list or a number. Depth is bounded before it costs stack.
    fn item(&mut self, depth: usize) -> Result<()> {
        if !self.take('[') {
            return self.number(depth);
        }
        if depth == DEPTH_MAX {
            return Err(wrong(format!("brackets nest deeper than {DEPTH_MAX}")));
        }
        let first = self.shape.len() == depth;
        if first && self.seen {
            return Err(wrong("one row has one row has a list where other rows have a number"));
        }
        if first {
            self.shape.push(u64::MAX);
        }
        let count = self.items(depth + 1)?;
        let known = &mut self.shape[depth];
        if *known != u64::MAX && *known != count {
            return Err(wrong(format!("rows have different lengths: {known} and {count}")));
        }
        *known = count;
        Ok(())
    }

    /// The rest of a list behind its bracket; a comma may precede the closing one.
    fn items(&mut self, depth: usize) -> Result<u64> {
        let mut count = 0;
        while !self.take(']') {
            self.item(depth)?;
            count += 1;
            if !self.take(',') && !self.rest.starts_with(']') {
                let message = if self.rest.is_empty() {
                    "a ] is missing".to_owned()
                } else {
                    format!("a comma is missing before \"{}\"", shown(self.rest))
                };
                return Err(wrong(message));
            }
        }
        Ok(count)
    }

    /// A number, which must stand as deep as every other one.
    fn number(&mut self, depth: usize) -> Result<()> {
        if self.shape.len() != depth {
            return Err(wrong("one row has one row has a number where other rows have a list"));
        }
        self.seen = true;
        let end = self.rest.find([',', '[', ']']).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        let word = word.trim();
        let bare = word.strip_prefix('"').and_then(|word| word.strip_suffix('"')).unwrap_or(word);
        let value = match self.logical {
            true => truth(bare)?,
            false => number(bare)?,
        };
        let start = self.bytes.len();
        self.bytes.resize(start + element_bytes(self.element) as usize, 0);
        value.write(self.element, &mut self.bytes[start..])?;
        check_range(value, self.element, &self.bytes[start..])?;
        self.rest = rest;
        Ok(())
    }
}

/// A truth value, as JSON, Python and Fortran write it, or as a number.
fn truth(word: &str) -> Result<ScalarValue> {
    match word.to_ascii_lowercase().as_str() {
        "true" | ".true." => Ok(ScalarValue::Integer(1)),
        "false" | ".false." => Ok(ScalarValue::Integer(0)),
        _ => number(word).map_err(|error| error.fix("write true or false, 1 or 0")),
    }
}

/// A number as C, Fortran or Python write it.
fn number(word: &str) -> Result<ScalarValue> {
    if let Ok(value) = word.parse::<i64>() {
        return Ok(ScalarValue::Integer(value));
    }
    if let Ok(value) = word.parse::<u64>() {
        return Ok(ScalarValue::Unsigned(value));
    }
    real(word).map(ScalarValue::Real).or_else(|error| {
        let advice =
            "write 3, 0.5, 1e-6, 1+2j, [1, 2, 3], [[1, 2], [3, 4]], @file.npy or @https://…";
        complex(word).ok_or_else(|| error.fix(advice))
    })
}

/// `1+2j`, `-0.5e-3j`, `2-j`; i does as well as j.
fn complex(word: &str) -> Option<ScalarValue> {
    let body = word.strip_suffix(['j', 'i', 'J', 'I'])?;
    let bytes = body.as_bytes();
    // The last sign that is not an exponent's begins the imaginary part.
    let sign = |at: &usize| {
        matches!(bytes[*at], b'+' | b'-')
            && !matches!(bytes[at.saturating_sub(1)], b'e' | b'E' | b'd' | b'D')
    };
    let split = (0..bytes.len()).rev().find(sign).unwrap_or(0);
    let (re, im) = body.split_at(split);
    let im = match im {
        "" | "+" => 1.0,
        "-" => -1.0,
        digits => real(digits).ok()?,
    };
    let re = if re.is_empty() { 0.0 } else { real(re).ok()? };
    Some(ScalarValue::Complex(re, im))
}

#[cfg(test)]
#[path = "values_tests.rs"]
mod tests;
