//! Results as JSON, written as they are read: an array of any size needs no second copy as a tree.
//!
//! Arrays are nested lists in logical order, complex numbers are [re, im], and what JSON has no
//! number for is the string "NaN", "Infinity" or "-Infinity". What was not computed is null.

use std::io::{self, Write};
use std::path::PathBuf;

use farcall_client::{Output, Outputs};
use farcall_idl::interface::{ElementType, Interface, Parameter};
use farcall_idl::scalar::ScalarValue;
use farcall_idl::signature::results;

use super::elements::{Elements, Notation, is_single, shortest};
use crate::output::json_line;

/// The key of where the call ran.
const SERVER: &str = "server";

/// One object with a key per result, in the order of the interface, and the server behind them.
pub fn write(
    out: &mut dyn Write,
    interface: &Interface,
    outputs: &Outputs,
    written: &[(usize, PathBuf)],
) -> io::Result<()> {
    let mut separator = "{";
    for (index, parameter) in results(interface) {
        write!(out, "{separator}\n  {}: ", quoted(&parameter.name))?;
        separator = ",";
        let output = outputs.all().get(index).unwrap_or(&Output::None);
        match written.iter().find(|(known, _)| *known == index) {
            Some((_, path)) => {
                write!(out, "{{\"file\": {}}}", quoted(&path.display().to_string()))?
            }
            None => write_output(out, interface, parameter, output)?,
        }
    }
    // A result of this name has precedence over it.
    if !results(interface).any(|(_, parameter)| parameter.name == SERVER) {
        write!(out, "{separator}\n  {}: {}", quoted(SERVER), quoted(outputs.server()))?;
        separator = ",";
    }
    writeln!(out, "{}", if separator == "{" { "{}" } else { "\n}" })
}

fn quoted(text: &str) -> String {
    json_line(&serde_json::Value::from(text))
}

/// Bytes that are no UTF-8 are replaced: JSON has no other text.
fn text(bytes: &[u8]) -> String {
    quoted(&String::from_utf8_lossy(bytes))
}

fn optional_text(bytes: &Option<Vec<u8>>) -> String {
    bytes.as_deref().map_or_else(|| "null".to_owned(), text)
}

/// The value of one key.
fn write_output(
    out: &mut dyn Write,
    interface: &Interface,
    parameter: &Parameter,
    output: &Output,
) -> io::Result<()> {
    match output {
        Output::None | Output::Null | Output::Written(_) | Output::Stayed(_) => {
            write!(out, "null")
        }
        Output::Data(data) => write!(out, "\"{}\"", data.id()),
        Output::Text(bytes) => write!(out, "{}", optional_text(bytes)),
        Output::Texts(texts) if is_single(parameter, texts.len() as u64) => {
            write!(out, "{}", texts.iter().map(optional_text).collect::<String>())
        }
        Output::Texts(texts) => {
            write!(out, "[{}]", texts.iter().map(optional_text).collect::<Vec<_>>().join(", "))
        }
        Output::Array(array) => {
            let elements = Elements::of(interface, parameter, array)?;
            let shape: &[u64] =
                if is_single(parameter, array.shape.iter().product()) { &[] } else { &array.shape };
            write_level(out, &elements, shape, &mut 0)
        }
    }
}

/// The list of one dimension; `next` is the element that comes next, by rows.
fn write_level(
    out: &mut dyn Write,
    elements: &Elements<'_>,
    shape: &[u64],
    next: &mut u64,
) -> io::Result<()> {
    match shape {
        [] => {
            *next += 1;
            out.write_all(elements.text(*next - 1, &Json).as_bytes())
        }
        // Characters in a row are text.
        [count] if elements.element() == ElementType::Char => {
            let start = (*next as usize).min(elements.bytes().len());
            let end = (start + *count as usize).min(elements.bytes().len());
            *next += count;
            out.write_all(text(&elements.bytes()[start..end]).as_bytes())
        }
        [count, inner @ ..] => {
            write!(out, "[")?;
            for position in 0..*count {
                if position > 0 {
                    write!(out, ", ")?;
                }
                write_level(out, elements, inner, next)?;
            }
            write!(out, "]")
        }
    }
}

/// Numbers and structs as JSON.
struct Json;

impl Notation for Json {
    fn scalar(&self, element: ElementType, value: ScalarValue) -> String {
        match value {
            ScalarValue::Integer(code) if element == ElementType::Char => text(&[code as u8]),
            ScalarValue::Integer(value) => value.to_string(),
            ScalarValue::Unsigned(value) => value.to_string(),
            ScalarValue::Real(value) => real(element, value),
            ScalarValue::Complex(re, im) => {
                format!("[{}, {}]", real(element, re), real(element, im))
            }
        }
    }

    fn fields(&self, fields: &[(&str, String)]) -> String {
        let fields: Vec<_> =
            fields.iter().map(|(name, value)| format!("{}: {value}", quoted(name))).collect();
        format!("{{{}}}", fields.join(", "))
    }
}

/// A number that JSON has, or its name in quotes.
fn real(element: ElementType, value: f64) -> String {
    if value.is_nan() {
        return "\"NaN\"".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "\"Infinity\"" } else { "\"-Infinity\"" }.to_owned();
    }
    shortest(element, value)
}
