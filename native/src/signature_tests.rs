//! Orders of machine arguments for each convention.
#![allow(clippy::unwrap_used)]

use super::*;
use farcall_idl::interface::{Interface, Order};

fn parameter(name: &str, mode: Mode, element: ElementType, array: bool) -> Parameter {
    let shape =
        if array { Shape::Array { dimensions: vec![], order: Order::Row } } else { Shape::Scalar };
    Parameter { shape, ..Parameter::scalar(name, mode, element) }
}

fn signature(
    language: Language,
    strings: StringConvention,
    parameters: Vec<Parameter>,
    code: Code,
) -> Result<Signature> {
    let interface = Interface {
        module: "m".into(),
        name: "f".into(),
        aliases: vec![],
        doc: String::new(),
        structs: vec![],
        parameters,
        idempotent: false,
        complexity: None,
        processors: None,
        resources: Default::default(),
        class: String::new(),
        class_doc: String::new(),
    };
    let required = vec![];
    let backend = String::new();
    let distribution = vec![];
    let implementation =
        Implementation { language, strings, code, required, backend, distribution };
    Signature::of(&Routine { interface, implementation })
}

/// One of everything: number, array, text, answered text, character.
fn mixed() -> Vec<Parameter> {
    vec![
        parameter("n", Mode::In, ElementType::Int32, false),
        parameter("a", Mode::In, ElementType::Float64, true),
        parameter("s", Mode::In, ElementType::String, false),
        parameter("t", Mode::InOut, ElementType::String, false),
        parameter("c", Mode::In, ElementType::Char, false),
        parameter("w", Mode::Work, ElementType::Int64, false),
        parameter("i", Mode::Out, ElementType::Int32, false),
    ]
}

fn symbol(arguments: &[usize], result: Option<usize>) -> Code {
    Code::Symbol { symbol: "f".into(), arguments: arguments.to_vec(), result }
}

#[test]
fn c_takes_values_and_pointers() {
    use Passing::*;
    let expected = [
        Value(0, ElementType::Int32),
        Pointer(1),
        Pointer(2),
        PointerToPointer(3),
        Value(4, ElementType::Char),
        Value(5, ElementType::Int64),
        Pointer(6),
    ];
    let all = [0, 1, 2, 3, 4, 5, 6];
    let c = signature(Language::C, StringConvention::End, mixed(), symbol(&all, None)).unwrap();
    assert_eq!(c.arguments, expected);
    // A body has the C convention, whatever its language.
    let text = Code::Body { text: String::new(), file: String::new(), line: 1 };
    let body = signature(Language::Fortran, StringConvention::End, mixed(), text).unwrap();
    assert_eq!(body, c);
}

#[test]
fn fortran_takes_references_and_lengths() {
    use Passing::*;
    let order = [2, 0, 4, 3];
    let fortran = |strings| {
        signature(Language::Fortran, strings, mixed(), symbol(&order, None)).unwrap().arguments
    };
    let end =
        [Pointer(2), Pointer(0), Pointer(4), Pointer(3), TextLength(2), LengthOne, TextLength(3)];
    assert_eq!(fortran(StringConvention::End), end);
    let after =
        [Pointer(2), TextLength(2), Pointer(0), Pointer(4), LengthOne, Pointer(3), TextLength(3)];
    assert_eq!(fortran(StringConvention::After), after);
    assert_eq!(fortran(StringConvention::None), end[..4]);
}

#[test]
fn results_go_to_their_slots() {
    let returned = |language, index| {
        signature(language, StringConvention::End, mixed(), symbol(&[0], Some(index)))
            .map(|signature| signature.returned)
    };
    assert_eq!(returned(Language::C, 6).unwrap(), Returned::Value(6, ElementType::Int32));
    assert_eq!(returned(Language::C, 3).unwrap(), Returned::Text(3));
    let place = vec![parameter("t", Mode::Out, ElementType::String, true)];
    let code = symbol(&[], Some(0));
    let named = signature(Language::C, StringConvention::End, place, code).unwrap();
    assert_eq!(named.returned, Returned::TextAt(0));
    // Errors name the routine and the parameter.
    let error = returned(Language::Fortran, 3).unwrap_err().to_string();
    assert!(error.contains("m/f") && error.contains("parameter: t"), "{error}");
    assert!(returned(Language::C, 99).is_err());
}
