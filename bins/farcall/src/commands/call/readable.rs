//! Results as a person reads them: values, short arrays in full, of long ones the corners.

use std::io::{self, Write};
use std::path::PathBuf;

use farcall_base::printable_line;
use farcall_client::{Output, Outputs, OwnedArray};
use farcall_idl::interface::{ElementType, Interface, Parameter};
use farcall_idl::scalar::ScalarValue;
use farcall_idl::signature::results;

use super::elements::{Elements, Notation, is_single, shortest};

/// Arrays with more elements are abridged.
const WHOLE_MAX: u64 = 200;
/// Of an abridged dimension this many positions are shown at either end.
const EDGE: u64 = 3;
/// Of files that are longer, only the length is shown.
const FILE_MAX: usize = 1000;
/// Stands for what is left out.
const GAP: &str = "…";

/// One result after another, in the order of the interface.
pub fn write(
    out: &mut dyn Write,
    interface: &Interface,
    outputs: &Outputs,
    written: &[(usize, PathBuf)],
) -> io::Result<()> {
    for (index, parameter) in results(interface) {
        let name = &parameter.name;
        let file =
            written.iter().find(|(known, _)| *known == index).map(|(_, path)| path.display());
        match (outputs.all().get(index).unwrap_or(&Output::None), file) {
            (Output::Array(array), Some(file)) => {
                writeln!(out, "{name}: {}, in {file}", kind(interface, array))?
            }
            (Output::Array(array), None) => write_array(out, interface, parameter, array)?,
            (Output::None, _) => writeln!(out, "{name}: not computed")?,
            (Output::Data(data), _) => writeln!(out, "{name}: data {}", data.id())?,
            (Output::Stayed(shape), _) => writeln!(out, "{name}: {shape:?}")?,
            (Output::Null, _) | (Output::Text(None), _) => writeln!(out, "{name} = null")?,
            (Output::Written(bytes), Some(file)) => {
                writeln!(out, "{name}: {} bytes, in {file}", bytes[0])?
            }
            (Output::Written(shape), None) => writeln!(out, "{name}: {shape:?}")?,
            (Output::Text(Some(content)), _) if is_long_file(parameter, content) => {
                writeln!(
                    out,
                    "{name}: {} bytes; --out {name}=FILE writes them to a file",
                    content.len()
                )?;
            }
            (Output::Text(Some(text)), _) => writeln!(out, "{name} = {}", quoted(text))?,
            (Output::Texts(texts), _) => {
                let texts: Vec<_> = texts
                    .iter()
                    .map(|text| text.as_deref().map_or_else(|| "null".to_owned(), quoted))
                    .collect();
                match texts.as_slice() {
                    [one] if is_single(parameter, 1) => writeln!(out, "{name} = {one}")?,
                    several => writeln!(out, "{name} = [{}]", several.join(", "))?,
                }
            }
        }
    }
    Ok(())
}

/// Whether a content is more than anybody reads on a terminal.
fn is_long_file(parameter: &Parameter, content: &[u8]) -> bool {
    parameter.element == ElementType::Filename && content.len() > FILE_MAX
}

/// Text with its control characters escaped: a result must not drive the terminal. What is not
/// UTF-8 is shown byte by byte.
fn quoted(text: &[u8]) -> String {
    let Ok(text) = std::str::from_utf8(text) else { return format!("\"{}\"", text.escape_ascii()) };
    let escaped: String = text
        .chars()
        .map(|letter| match u8::try_from(letter) {
            Ok(byte) if byte.is_ascii() => byte.escape_ascii().to_string(),
            _ => printable_line(letter.encode_utf8(&mut [0; 4])).into_owned(),
        })
        .collect();
    format!("\"{escaped}\"")
}

/// `double[1000][3]`.
fn kind(interface: &Interface, array: &OwnedArray) -> String {
    let extents: String = array.shape.iter().map(|extent| format!("[{extent}]")).collect();
    interface.scope().element_text(array.element) + &extents
}

/// One value on the line of its name, an array below it.
fn write_array(
    out: &mut dyn Write,
    interface: &Interface,
    parameter: &Parameter,
    array: &OwnedArray,
) -> io::Result<()> {
    let name = &parameter.name;
    let single = is_single(parameter, array.shape.iter().product());
    let elements = Elements::of(interface, parameter, array)?;
    match array.shape.as_slice() {
        _ if single => writeln!(out, "{name} = {}", elements.text(0, &Readable { short: false })),
        [_] if array.element == ElementType::Char => {
            // What is behind a text in C is no part of it.
            let bytes = elements.bytes();
            let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            writeln!(out, "{name} = {}", quoted(&bytes[..end]))
        }
        shape => {
            let abridged = shape.iter().product::<u64>() > WHOLE_MAX;
            let note = if abridged { ", the corners" } else { "" };
            writeln!(out, "{name}: {}{note}", kind(interface, array))?;
            // Of nothing there is nothing to show: the extents say it.
            if shape.contains(&0) {
                Ok(())
            } else {
                write_level(out, &elements, shape, 0, "", abridged)
            }
        }
    }
}

/// The positions of a dimension that are shown; `None` for a gap.
fn positions(extent: u64, abridged: bool) -> Vec<Option<u64>> {
    if !abridged || extent <= 2 * EDGE + 1 {
        return (0..extent).map(Some).collect();
    }
    let begin = (0..EDGE).map(Some);
    let end = (extent - EDGE..extent).map(Some);
    begin.chain([None]).chain(end).collect()
}

/// Matrices as tables, with a line before each that says which one of a higher array it is.
fn write_level(
    out: &mut dyn Write,
    elements: &Elements<'_>,
    shape: &[u64],
    first: u64,
    place: &str,
    abridged: bool,
) -> io::Result<()> {
    match shape {
        [] => Ok(()),
        [columns] => write_table(out, elements, [1, *columns], first, abridged),
        [rows, columns] => write_table(out, elements, [*rows, *columns], first, abridged),
        [extent, inner @ ..] => {
            let step: u64 = inner.iter().product();
            for position in positions(*extent, abridged) {
                let Some(position) = position else {
                    writeln!(out, "  {GAP}")?;
                    continue;
                };
                let place = format!("{place}{position}, ");
                if inner.len() == 2 {
                    writeln!(out, "  [{place}:, :]")?;
                }
                write_level(out, elements, inner, first + position * step, &place, abridged)?;
            }
            Ok(())
        }
    }
}

/// A matrix, each column as wide as its widest number.
fn write_table(
    out: &mut dyn Write,
    elements: &Elements<'_>,
    [rows, columns]: [u64; 2],
    first: u64,
    abridged: bool,
) -> io::Result<()> {
    let cell = |row: u64, column: Option<u64>| match column {
        Some(column) => {
            elements.text(first + row * columns + column, &Readable { short: abridged })
        }
        None => GAP.to_owned(),
    };
    let line = |row: Option<u64>| match row {
        Some(row) => {
            positions(columns, abridged).into_iter().map(|column| cell(row, column)).collect()
        }
        None => vec![GAP.to_owned()],
    };
    let lines: Vec<Vec<String>> = positions(rows, abridged).into_iter().map(line).collect();
    let cells = |column: usize| lines.iter().filter_map(move |line| line.get(column));
    let count = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column| cells(column).map(|cell| cell.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count).map(width).collect();
    for line in &lines {
        let text: String =
            line.iter().zip(&widths).map(|(cell, width)| format!("  {cell:>width$}")).collect();
        writeln!(out, "{text}")?;
    }
    Ok(())
}

/// Numbers for people: in full, or with six digits.
struct Readable {
    short: bool,
}

impl Notation for Readable {
    fn scalar(&self, element: ElementType, value: ScalarValue) -> String {
        match value {
            ScalarValue::Integer(code) if element == ElementType::Char => {
                format!("'{}'", (code as u8).escape_ascii())
            }
            ScalarValue::Integer(value) => value.to_string(),
            ScalarValue::Unsigned(value) => value.to_string(),
            ScalarValue::Real(value) => self.real(element, value),
            ScalarValue::Complex(re, im) => {
                let sign = if im.is_sign_negative() { "" } else { "+" };
                format!("{}{sign}{}j", self.real(element, re), self.real(element, im))
            }
        }
    }

    fn fields(&self, fields: &[(&str, String)]) -> String {
        let fields: Vec<_> = fields.iter().map(|(name, value)| format!("{name} {value}")).collect();
        format!("{{{}}}", fields.join(", "))
    }
}

impl Readable {
    /// In full it is the shortest text that reads back as the same number; six digits are for
    /// looking at.
    fn real(&self, element: ElementType, value: f64) -> String {
        let size = value.abs();
        if !self.short || !value.is_finite() || size == 0.0 {
            return shortest(element, value);
        }
        if (1e-3..1e6).contains(&size) { format!("{value:.6}") } else { format!("{value:.6e}") }
    }
}
