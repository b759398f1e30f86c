//! The arguments of a call in a few words, for lists of calls.

use farcall_idl::interface::{ElementType, Interface, Mode, Parameter};

use super::Argument;
use crate::array::View;

/// Letters of one text.
const TEXT_MAX: usize = 24;
/// Bytes of them all: less than what a server takes, so that the mark of an end fits behind.
const BYTES_MAX: usize = 120;

/// What was passed for the parameters that a routine reads, as `n=31 x[1000]`: numbers and texts
/// as they are, arrays by their sizes.
pub fn in_short(interface: &Interface, arguments: &[Argument<'_>]) -> String {
    let mut all = String::new();
    let read = |(parameter, _): &(&Parameter, &Argument<'_>)| {
        matches!(parameter.mode, Mode::In | Mode::InOut)
    };
    let given = interface.parameters.iter().zip(arguments).filter(read);
    for one in given.filter_map(|(parameter, argument)| word(parameter, argument)) {
        if all.len() + one.len() > BYTES_MAX {
            all.push_str(" ...");
            break;
        }
        if !all.is_empty() {
            all.push(' ');
        }
        all.push_str(&one);
    }
    all
}

fn word(parameter: &Parameter, argument: &Argument<'_>) -> Option<String> {
    let name = &parameter.name;
    let value = match argument {
        Argument::Unset | Argument::Null | Argument::Callback(_) => return None,
        Argument::Integer(number) => number.to_string(),
        Argument::Real(number) => number_text(*number),
        Argument::Complex(re, im) => complex_text(*re, *im),
        Argument::Raw(bytes) => raw_text(parameter.element, bytes)?,
        Argument::Text(text) => quoted(text),
        Argument::Texts(texts) => return Some(format!("{name}[{}]", texts.len())),
        Argument::Url(url) => quoted(url.as_bytes()),
        Argument::Data(data) => data.id().to_string(),
        Argument::Array(view) => return Some(format!("{name}[{}]", sizes(view))),
    };
    Some(format!("{name}={value}"))
}

/// Nothing for an array whose sizes the interface gives, of which others speak.
fn sizes(view: &View<'_>) -> String {
    let shape = view.place.shape.iter().flat_map(|(extents, _)| extents);
    shape.map(u64::to_string).collect::<Vec<_>>().join(",")
}

fn quoted(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let mut short: String = text.chars().take(TEXT_MAX).collect();
    if short.len() < text.len() {
        short.push_str("...");
    }
    format!("\"{short}\"")
}

/// As short as it can be read back: 0.1, 1e300, 3.
fn number_text(number: f64) -> String {
    let text = format!("{number:?}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

fn complex_text(re: f64, im: f64) -> String {
    format!("({}, {})", number_text(re), number_text(im))
}

/// One value in this machine's bytes; of a struct or a file nothing is said.
fn raw_text(element: ElementType, bytes: &[u8]) -> Option<String> {
    macro_rules! number {
        ($type:ty) => {
            <$type>::from_ne_bytes(bytes.try_into().ok()?)
        };
    }
    let real = |at: usize| bytes.get(at..at + 8)?.try_into().ok().map(f64::from_ne_bytes);
    let single = |at: usize| bytes.get(at..at + 4)?.try_into().ok().map(f32::from_ne_bytes);
    Some(match element {
        ElementType::Char => quoted(bytes),
        ElementType::Int8 => number!(i8).to_string(),
        ElementType::UInt8 => number!(u8).to_string(),
        ElementType::Int16 => number!(i16).to_string(),
        ElementType::UInt16 => number!(u16).to_string(),
        ElementType::Int32 => number!(i32).to_string(),
        ElementType::UInt32 => number!(u32).to_string(),
        ElementType::Int64 => number!(i64).to_string(),
        ElementType::UInt64 => number!(u64).to_string(),
        ElementType::Float32 => number!(f32).to_string(),
        ElementType::Float64 => number_text(number!(f64)),
        ElementType::Complex64 => complex_text(single(0)?.into(), single(4)?.into()),
        ElementType::Complex128 => complex_text(real(0)?, real(8)?),
        ElementType::Struct(_) | ElementType::String | ElementType::Filename => return None,
    })
}
