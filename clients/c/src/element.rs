//! What the numbers of `enum farcall_element` mean.

use farcall_base::abi::element::{
    CHAR, COMPLEX64, COMPLEX128, FLOAT32, FLOAT64, INT8, INT16, INT32, INT64, STRUCT, UINT8,
    UINT16, UINT32, UINT64, VOID,
};
use farcall_client::idl::interface::ElementType;

/// The type with a number, for a parameter whose own type is `declared`. `None` for a number that
/// no version has.
pub fn of_number(number: u32, declared: ElementType) -> Option<ElementType> {
    Some(match number {
        VOID => declared,
        CHAR => ElementType::Char,
        INT8 => ElementType::Int8,
        UINT8 => ElementType::UInt8,
        INT16 => ElementType::Int16,
        UINT16 => ElementType::UInt16,
        INT32 => ElementType::Int32,
        UINT32 => ElementType::UInt32,
        INT64 => ElementType::Int64,
        UINT64 => ElementType::UInt64,
        FLOAT32 => ElementType::Float32,
        FLOAT64 => ElementType::Float64,
        COMPLEX64 => ElementType::Complex64,
        COMPLEX128 => ElementType::Complex128,
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
        INT8 => "signed char",
        UINT8 => "unsigned char",
        INT16 => "short",
        UINT16 => "unsigned short",
        INT32 => "int",
        UINT32 => "unsigned int",
        INT64 => "long (64 bits)",
        UINT64 => "unsigned long (64 bits)",
        FLOAT32 => "float",
        FLOAT64 => "double",
        COMPLEX64 => "float complex",
        COMPLEX128 => "double complex",
        STRUCT => "struct",
        _ => "an unknown type",
    }
}

/// Whether the number is one of a type whose values are whole numbers.
pub fn is_whole(number: u32) -> bool {
    (CHAR..=UINT64).contains(&number)
}

/// Whether values of the type are unsigned.
pub fn is_unsigned(number: u32) -> bool {
    matches!(number, UINT8 | UINT16 | UINT32 | UINT64)
}

/// Whether values of the type are real numbers that need not be whole.
pub fn is_real(number: u32) -> bool {
    matches!(number, FLOAT32 | FLOAT64)
}

/// Whether values of the type are complex.
pub fn is_complex(number: u32) -> bool {
    matches!(number, COMPLEX64 | COMPLEX128)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_types_are_inverse() {
        for one in CHAR..STRUCT {
            let element = of_number(one, ElementType::Float64).expect("a known number");
            assert_eq!(element.abi_number(), one);
        }
        assert_eq!(of_number(STRUCT, ElementType::Struct(3)), Some(ElementType::Struct(3)));
        assert_eq!(of_number(VOID, ElementType::Int16), Some(ElementType::Int16));
        assert_eq!(of_number(STRUCT + 1, ElementType::Int16), None, "a number of a later version");
    }
}
