//! How a C call passes each parameter: the tags of farcall-native.h, and what they are called in
//! messages.

use farcall_base::abi::element::{CHAR, STRUCT, UINT8, VOID};
use farcall_base::abi::tag::{CONST, ELEMENT, OTHER, POINTER, TEXT};
use farcall_client::idl::interface::{ElementType, Mode, Parameter, Shape};

use crate::element;

/// The tag that a parameter asks for.
pub fn passing(parameter: &Parameter) -> u32 {
    let constant = if parameter.mode == Mode::In { CONST } else { 0 };
    let text = matches!(parameter.element, ElementType::String | ElementType::Filename);
    match &parameter.shape {
        Shape::Callback { .. } => VOID | POINTER | OTHER,
        // A `FILE *`.
        Shape::Scalar if parameter.stream => VOID | POINTER | OTHER,
        // A path is read in every mode.
        Shape::Scalar if parameter.element == ElementType::Filename => CHAR | POINTER | CONST,
        Shape::Scalar if text && parameter.mode == Mode::In => CHAR | POINTER | CONST,
        _ if text => CHAR | POINTER | TEXT | constant,
        Shape::Scalar if matches!(parameter.element, ElementType::Struct(_)) => {
            STRUCT | POINTER | constant
        }
        Shape::Scalar => parameter.element.abi_number(),
        Shape::Array { .. } => parameter.element.abi_number() | POINTER | constant,
    }
}

/// Whether what a caller passed may stand where `wanted` is asked for.
pub fn fits(given: u32, wanted: u32) -> bool {
    match (given & POINTER != 0, wanted & POINTER != 0) {
        (false, false) => value_fits(given & ELEMENT, wanted & ELEMENT),
        (true, true) => pointer_fits(given, wanted),
        _ => false,
    }
}

/// As C converts, but for what would lose something: fractions and imaginary parts.
fn value_fits(given: u32, wanted: u32) -> bool {
    let real = element::is_whole(given) || element::is_real(given);
    if element::is_whole(wanted) {
        element::is_whole(given)
    } else if element::is_real(wanted) {
        real
    } else {
        element::is_complex(wanted) && (real || element::is_complex(given))
    }
}

fn pointer_fits(given: u32, wanted: u32) -> bool {
    if given & CONST != 0 && wanted & CONST == 0 {
        return false;
    }
    // A bare `void *` may be anything.
    if given & ELEMENT == VOID && given & OTHER == 0 {
        return true;
    }
    if (given ^ wanted) & TEXT != 0 {
        return false;
    }
    let byte = |element: u32| (CHAR..=UINT8).contains(&element);
    let given_element = given & ELEMENT;
    let wanted_element = wanted & ELEMENT;
    match wanted_element {
        // A function or an open file: its type says nothing, as with a struct's.
        VOID if wanted & OTHER != 0 => given & OTHER != 0,
        STRUCT => given & OTHER != 0,
        // Text and small numbers: `char` may be any byte, and any byte a `char`.
        _ if given & OTHER != 0 => false,
        _ => given_element == wanted_element || (byte(given_element) && byte(wanted_element)),
    }
}

/// A tag in C's words: "const double *".
pub fn c_type(tag: u32) -> String {
    let name = element::c_name(tag & ELEMENT);
    let constant = if tag & CONST != 0 { "const " } else { "" };
    match tag {
        _ if tag & OTHER != 0 => "a pointer to something else".to_owned(),
        _ if tag & TEXT != 0 => format!("{constant}char **"),
        _ if tag & POINTER != 0 => format!("{constant}{name} *"),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use farcall_base::abi::element::{
        COMPLEX128 as COMPLEX, FLOAT32 as FLOAT, FLOAT64 as DOUBLE, INT32 as INT,
    };

    use super::*;

    #[test]
    fn values_convert_only_without_loss() {
        assert!(
            fits(INT, DOUBLE) && fits(DOUBLE, FLOAT) && fits(FLOAT, COMPLEX) && fits(CHAR, INT)
        );
        // A fraction would be lost, and an imaginary part.
        assert!(!fits(DOUBLE, INT) && !fits(COMPLEX, DOUBLE));
        // An address is no number, and a number no address.
        assert!(!fits(INT, INT | POINTER) && !fits(INT | POINTER, INT));
    }

    #[test]
    fn pointers_have_the_very_type() {
        assert!(
            fits(DOUBLE | POINTER, DOUBLE | POINTER)
                && fits(DOUBLE | POINTER, DOUBLE | POINTER | CONST)
        );
        assert!(fits(VOID | POINTER, DOUBLE | POINTER), "void * is taken on trust");
        assert!(fits(UINT8 | POINTER, CHAR | POINTER), "any byte is a char");
        // Half as many bytes as the routine writes; memory that must not be written to; a FILE *;
        // text for its place.
        assert!(!fits(FLOAT | POINTER, DOUBLE | POINTER));
        assert!(!fits(DOUBLE | POINTER | CONST, DOUBLE | POINTER));
        assert!(!fits(VOID | POINTER | CONST, DOUBLE | POINTER));
        assert!(!fits(VOID | POINTER | OTHER, DOUBLE | POINTER));
        assert!(!fits(CHAR | POINTER, CHAR | POINTER | TEXT));
        assert!(!fits(CHAR | POINTER | TEXT, CHAR | POINTER));
    }

    #[test]
    fn tags_read_as_c() {
        assert_eq!(c_type(DOUBLE | POINTER | CONST), "const double *");
        assert_eq!(c_type(CHAR | POINTER | TEXT), "char **");
        assert_eq!(c_type(INT), "int");
        let function = VOID | POINTER | OTHER;
        assert!(
            fits(function, function)
                && fits(VOID | POINTER, function)
                && !fits(DOUBLE | POINTER, function)
        );
        assert_eq!(c_type(POINTER | OTHER), "a pointer to something else");
    }
}
