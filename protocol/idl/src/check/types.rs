//! Type words to element types (spec/idl.md, section 3.2).

use crate::diagnostic::{Problems, shown};
use crate::interface::ElementType;
use crate::parse::tree::Name;
use crate::source::Span;
use crate::words;

/// The element type that the words name; reports and returns `None` if they name none.
///
/// `structs` are the names of the file's structs, in order.
pub(super) fn element_type(
    types: &[Name],
    structs: &[&str],
    problems: &mut Problems,
) -> Option<ElementType> {
    let first = types.first()?;
    let span = first.span.to(types[types.len() - 1].span);
    if let [only] = types
        && let Some(index) = structs.iter().position(|name| *name == only.text)
    {
        return Some(ElementType::Struct(u16::try_from(index).unwrap_or(u16::MAX)));
    }
    if let Some(unknown) = types.iter().find(|word| !is_type_word(&word.text)) {
        unknown_type(unknown, structs, problems);
        return None;
    }
    let single = |word: &Name| words::SINGLE_TYPES.iter().find(|(name, _)| *name == word.text);
    if let [only] = types
        && let Some((_, element)) = single(only)
    {
        return Some(*element);
    }
    combined(types, span, problems)
}

/// Whether a word is or modifies a type.
fn is_type_word(word: &str) -> bool {
    words::CORE_TYPES.contains(&word) || words::is_added_type(word)
}

/// The file's own structs come first among the candidates: a slip in them is the likelier one.
fn unknown_type(word: &Name, structs: &[&str], problems: &mut Problems) {
    let candidates = structs.iter().copied().chain(words::types());
    let help = problems.did_you_mean(&word.text, candidates).unwrap_or_else(|| {
        "types are int, long, double, dcomplex, string, … and the structs of this file".to_string()
    });
    problems.add_with_help(word.span, format!("unknown type '{}'", shown(&word.text)), help);
}

/// Several words, in any order: `unsigned long int`.
fn combined(types: &[Name], span: Span, problems: &mut Problems) -> Option<ElementType> {
    let mut words: Vec<&str> = types.iter().map(|word| word.text.as_str()).collect();
    words.sort_unstable();
    let element = match words.as_slice() {
        ["char"] => ElementType::Char,
        ["char", "signed"] => ElementType::Int8,
        ["char", "unsigned"] => ElementType::UInt8,
        ["short"] | ["int", "short"] | ["short", "signed"] | ["int", "short", "signed"] => {
            ElementType::Int16
        }
        ["short", "unsigned"] | ["int", "short", "unsigned"] => ElementType::UInt16,
        ["int"] | ["signed"] | ["int", "signed"] => ElementType::Int32,
        ["unsigned"] | ["int", "unsigned"] => ElementType::UInt32,
        ["long"] | ["int", "long"] | ["long", "signed"] | ["int", "long", "signed"] => {
            ElementType::Int64
        }
        ["long", "long"] | ["int", "long", "long"] | ["long", "long", "signed"] => {
            ElementType::Int64
        }
        ["long", "unsigned"] | ["int", "long", "unsigned"] => ElementType::UInt64,
        ["long", "long", "unsigned"] | ["int", "long", "long", "unsigned"] => ElementType::UInt64,
        ["float"] => ElementType::Float32,
        // Ninf-G knows `long float`.
        ["double"] | ["float", "long"] => ElementType::Float64,
        ["scomplex"] => ElementType::Complex64,
        ["dcomplex"] => ElementType::Complex128,
        ["string"] => ElementType::String,
        ["filename"] => ElementType::Filename,
        // What they add to these is looked at with the declarator.
        [words::FILE_POINTER] => ElementType::Filename,
        [words::VOID] => ElementType::UInt8,
        _ => {
            refuse(&words, span, problems);
            return None;
        }
    };
    Some(element)
}

/// Types that other compilers know are refused with what to use instead.
fn refuse(words: &[&str], span: Span, problems: &mut Problems) {
    let (message, help) = match words {
        ["double", "long"] => ("'long double' differs from machine to machine", "use double"),
        _ => (
            "these words together are not a type",
            "examples are: unsigned int, long long, double, dcomplex, size_t",
        ),
    };
    problems.add_with_help(span, message, help);
}
