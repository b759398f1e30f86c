//! Struct types of a file, and which of them an interface uses (spec/idl.md, section 3.9).

use std::collections::HashSet;

use super::constant;
use super::scope::{SIZE, Scope};
use super::types;
use crate::canonical::STRUCTS_MAX;
use crate::diagnostic::{Problems, shown};
use crate::interface::{ElementType, Parameter, Shape, StructType};
use crate::parse::tree;
use crate::words;

/// Elements of one field; what is larger belongs into a parameter.
const ELEMENTS_MAX: i64 = 1 << 24;

/// All structs of the file, in order. A wrong one gets a stand-in, so that the numbers of the
/// others stay right.
pub(super) fn compile(trees: &[tree::Struct], problems: &mut Problems) -> Vec<StructType> {
    if let Some(more) = trees.get(STRUCTS_MAX) {
        problems.add(more.name.span, format!("a file has at most {STRUCTS_MAX} structs"));
    }
    let mut names = HashSet::new();
    for structure in trees {
        let name = &structure.name;
        if words::CORE_TYPES.contains(&name.text.as_str()) || words::is_added_type(&name.text) {
            problems.add(
                name.span,
                format!("'{}' is a type of the interface language", shown(&name.text)),
            );
        } else if !names.insert(name.text.as_str()) {
            problems.add(name.span, format!("a second struct named '{}'", shown(&name.text)));
        }
    }
    trees.iter().map(|structure| one(structure, &names, problems)).collect()
}

/// One struct, laid out as C does.
fn one(tree: &tree::Struct, structs: &HashSet<&str>, problems: &mut Problems) -> StructType {
    let mut names = HashSet::new();
    let mut fields = Vec::new();
    let mut whole = true;
    for field in &tree.fields {
        if !names.insert(&field.name.text) {
            problems.add(
                field.name.span,
                format!("a second field named '{}'", shown(&field.name.text)),
            );
        }
        match (field_type(field, structs, problems), field_count(field, problems)) {
            (Some(element), Some(count)) => fields.push((field.name.text.clone(), element, count)),
            _ => whole = false,
        }
    }
    let name = &tree.name;
    match StructType::lay_out(&name.text, fields) {
        Ok(structure) => structure,
        Err(error) => {
            // Where fields were refused, what is left over proves nothing.
            if whole {
                problems.add_with(name.span, error.message(), error.advice().map(str::to_string));
            }
            StructType { name: name.text.clone(), fields: Vec::new() }
        }
    }
}

/// Numbers and characters only: a struct travels as one block of memory.
fn field_type(
    field: &tree::Field,
    structs: &HashSet<&str>,
    problems: &mut Problems,
) -> Option<ElementType> {
    if let Some(inner) = field.types.first().filter(|word| structs.contains(word.text.as_str())) {
        problems.add_with_help(
            inner.span,
            "a struct cannot hold another struct",
            "write the other struct's fields here",
        );
        return None;
    }
    let element = types::element_type(&field.types, &[], problems)?;
    let has_no_size = field.types[0].text == words::VOID;
    if has_no_size || matches!(element, ElementType::String | ElementType::Filename) {
        let help = format!("use 'char {}[64]' for text of bounded length", shown(&field.name.text));
        problems.add_with_help(
            field.types[0].span,
            "a struct can hold only numbers and characters",
            help,
        );
        return None;
    }
    Some(element)
}

/// The product of a field's dimensions, which are constants.
fn field_count(field: &tree::Field, problems: &mut Problems) -> Option<u32> {
    let mut count = 1_i64;
    for dimension in &field.dimensions {
        let constant = match dimension {
            tree::Dimension::Sized(extent) if extent.end.is_none() => Some(&extent.size),
            _ => None,
        };
        let Some(size) = constant else {
            let message = format!(
                "field '{}' needs constant sizes, as in 'double x[3]'",
                shown(&field.name.text)
            );
            problems.add(field.name.span, message);
            return None;
        };
        let mut scope = Scope::new(&[], true, problems);
        let known =
            scope.resolve(size, SIZE).and_then(|size| constant::value(&size).ok().flatten());
        match known {
            Some(size) if (1..=ELEMENTS_MAX).contains(&size) => count = count.saturating_mul(size),
            _ => {
                problems.add(size.span, "the size of a field must be a constant of at least 1");
                return None;
            }
        }
    }
    match u32::try_from(count) {
        Ok(count) if i64::from(count) <= ELEMENTS_MAX => Some(count),
        _ => {
            problems
                .add(field.name.span, "this field is too large; pass it as an array of its own");
            None
        }
    }
}

/// The structs that parameters use, in order of first use; their numbers in the parameters change
/// accordingly.
pub(super) fn used(parameters: &mut [Parameter], all: &[StructType]) -> Vec<StructType> {
    let mut order: Vec<u16> = Vec::new();
    renumber(parameters, &mut order);
    order.iter().filter_map(|index| all.get(usize::from(*index)).cloned()).collect()
}

/// Parameters and those of callbacks share the interface's list.
fn renumber(parameters: &mut [Parameter], order: &mut Vec<u16>) {
    for parameter in parameters {
        if let Shape::Callback { parameters } = &mut parameter.shape {
            renumber(parameters, order);
        }
        if let ElementType::Struct(index) = parameter.element {
            let position = order.iter().position(|seen| *seen == index).unwrap_or_else(|| {
                order.push(index);
                order.len() - 1
            });
            parameter.element = ElementType::Struct(
                u16::try_from(position).expect("no more structs than parameters"),
            );
        }
    }
}
