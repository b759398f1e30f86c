//! Results as JSON, written as they are read: an array of any size needs no second copy as a tree.
//!
//! Arrays are nested lists in logical order, complex numbers are [re, im], and what JSON has no number for is the
//! string "NaN", "Infinity" or "-Infinity".

use std::io::{self, Write};
use std::path::PathBuf;

use farcall_client::{Output, Outputs};
use farcall_idl::element::ScalarValue;
use farcall_idl::interface::{ElementType, Interface};
use farcall_idl::signature::results;

use super::Elements;

/// One object with a key per result, in the order of the interface.
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
            Some((_, path)) => write!(out, "{{\"file\": {}}}", quoted(&path.display().to_string()))?,
            None => write_output(out, interface, output)?,
        }
    }
    writeln!(out, "{}", if separator == "{" { "{}" } else { "\n}" })
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn text(bytes: &[u8]) -> String {
    quoted(&String::from_utf8_lossy(bytes))
}

fn optional_text(bytes: &Option<Vec<u8>>) -> String {
    bytes.as_deref().map_or_else(|| "null".to_owned(), text)
}

fn write_output(out: &mut dyn Write, interface: &Interface, output: &Output) -> io::Result<()> {
    match output {
        Output::None | Output::Null | Output::Written(_) => write!(out, "null"),
        Output::Text(bytes) => write!(out, "{}", optional_text(bytes)),
        Output::Texts(texts) => {
            write!(out, "[{}]", texts.iter().map(optional_text).collect::<Vec<_>>().join(", "))
        }
        Output::Array(array) => {
            let elements = Elements::of(interface, array)?;
            let mut next = 0;
            write_level(out, &elements, &array.shape, &mut next)
        }
    }
}

fn write_level(out: &mut dyn Write, elements: &Elements<'_>, shape: &[u64], next: &mut u64) -> io::Result<()> {
    match shape {
        [] => {
            *next += 1;
            out.write_all(element(elements, *next - 1).as_bytes())
        }
        // Characters in a row are text.
        [count] if elements.array.element == ElementType::Char => {
            let start = (*next as usize).min(elements.bytes.len());
            let end = (start + *count as usize).min(elements.bytes.len());
            *next += count;
            out.write_all(text(&elements.bytes[start..end]).as_bytes())
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

/// One element; a struct is an object of its fields.
fn element(elements: &Elements<'_>, index: u64) -> String {
    let bytes = elements.one(index);
    let ElementType::Struct(structure) = elements.array.element else {
        return scalar(elements.array.element, bytes, 0);
    };
    let Some(structure) = elements.interface.structs.get(usize::from(structure)) else { return "null".to_owned() };
    let fields = structure.fields.iter().map(|field| {
        let part = bytes.get(field.offset as usize..).unwrap_or_default();
        let values: Vec<_> = (0..field.count).map(|one| scalar(field.element, part, one.into())).collect();
        let value = if field.count == 1 { values.concat() } else { format!("[{}]", values.join(", ")) };
        format!("{}: {value}", quoted(&field.name))
    });
    format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
}

fn scalar(element: ElementType, bytes: &[u8], index: u64) -> String {
    match ScalarValue::read(element, bytes, index) {
        None => "null".to_owned(),
        Some(ScalarValue::Integer(code)) if element == ElementType::Char => text(&[code as u8]),
        Some(ScalarValue::Integer(value)) => value.to_string(),
        Some(ScalarValue::Unsigned(value)) => value.to_string(),
        Some(ScalarValue::Real(value)) => real(element, value),
        Some(ScalarValue::Complex(re, im)) => format!("[{}, {}]", real(element, re), real(element, im)),
    }
}

fn real(element: ElementType, value: f64) -> String {
    if value.is_nan() {
        return "\"NaN\"".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "\"Infinity\"" } else { "\"-Infinity\"" }.to_owned();
    }
    match element {
        // The shortest text that is this float again.
        ElementType::Float32 | ElementType::Complex64 => format!("{:?}", value as f32),
        _ => format!("{value:?}"),
    }
}
