//! Numbers of element types, and of error kinds, as farcall.h has them.

use farcall_client::idl::interface::ElementType;

/// `FARCALL_VOID`: whatever the interface says.
pub const VOID: u32 = 0;
/// `FARCALL_CHAR`.
pub const CHAR: u32 = 1;
/// `FARCALL_STRUCT`.
pub const STRUCT: u32 = 14;

/// The number of a type. Strings and files are text, of chars.
pub fn number(element: ElementType) -> u32 {
    element.abi_number()
}

/// The type with a number, for a parameter whose own type is `declared`. `None` for a number that
/// no version has.
pub fn of_number(number: u32, declared: ElementType) -> Option<ElementType> {
    Some(match number {
        VOID => declared,
        CHAR => ElementType::Char,
        2 => ElementType::Int8,
        3 => ElementType::UInt8,
        4 => ElementType::Int16,
        5 => ElementType::UInt16,
        6 => ElementType::Int32,
        7 => ElementType::UInt32,
        8 => ElementType::Int64,
        9 => ElementType::UInt64,
        10 => ElementType::Float32,
        11 => ElementType::Float64,
        12 => ElementType::Complex64,
        13 => ElementType::Complex128,
        STRUCT if matches!(declared, ElementType::Struct(_)) => declared,
        // A struct for something else is refused by the client: index 65535 is nobody's.
        STRUCT => ElementType::Struct(u16::MAX),
        _ => return None,
    })
}

/// What C calls the type with a number.
pub fn c_name(number: u32) -> &'static str {
    match number {
        VOID => "void",
        CHAR => "char",
        2 => "signed char",
        3 => "unsigned char",
        4 => "short",
        5 => "unsigned short",
        6 => "int",
        7 => "unsigned int",
        8 => "long (64 bits)",
        9 => "unsigned long (64 bits)",
        10 => "float",
        11 => "double",
        12 => "float complex",
        13 => "double complex",
        STRUCT => "struct",
        _ => "an unknown type",
    }
}

/// Whether the number is one of a type whose values are whole numbers.
pub fn is_whole(number: u32) -> bool {
    (CHAR..=9).contains(&number)
}

/// Whether values of the type are unsigned.
pub fn is_unsigned(number: u32) -> bool {
    matches!(number, 3 | 5 | 7 | 9)
}

/// Whether values of the type are real numbers that need not be whole.
pub fn is_real(number: u32) -> bool {
    matches!(number, 10 | 11)
}

/// Whether values of the type are complex.
pub fn is_complex(number: u32) -> bool {
    matches!(number, 12 | 13)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_types_are_inverse() {
        for one in 1..STRUCT {
            let element = of_number(one, ElementType::Float64).expect("a known number");
            assert_eq!(number(element), one);
        }
        assert_eq!(of_number(STRUCT, ElementType::Struct(3)), Some(ElementType::Struct(3)));
        assert_eq!(of_number(VOID, ElementType::Int16), Some(ElementType::Int16));
        assert_eq!(of_number(15, ElementType::Int16), None, "a number of a later version");
    }
}
