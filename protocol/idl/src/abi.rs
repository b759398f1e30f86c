//! The numbers of types and modes in the C ABI (spec/c-abi.md, section 5).

use farcall_base::abi::{element, mode};

use crate::interface::{ElementType, Mode};

impl ElementType {
    /// Its number in `enum farcall_element`. Strings and files are text, of chars.
    pub fn abi_number(self) -> u32 {
        match self {
            ElementType::Char | ElementType::String | ElementType::Filename => element::CHAR,
            ElementType::Int8 => element::INT8,
            ElementType::UInt8 => element::UINT8,
            ElementType::Int16 => element::INT16,
            ElementType::UInt16 => element::UINT16,
            ElementType::Int32 => element::INT32,
            ElementType::UInt32 => element::UINT32,
            ElementType::Int64 => element::INT64,
            ElementType::UInt64 => element::UINT64,
            ElementType::Float32 => element::FLOAT32,
            ElementType::Float64 => element::FLOAT64,
            ElementType::Complex64 => element::COMPLEX64,
            ElementType::Complex128 => element::COMPLEX128,
            ElementType::Struct(_) => element::STRUCT,
        }
    }
}

impl Mode {
    /// Its number in `enum farcall_mode`.
    pub fn abi_number(self) -> u32 {
        match self {
            Mode::In => mode::IN,
            Mode::Out => mode::OUT,
            Mode::InOut => mode::INOUT,
            Mode::Work => mode::WORK,
        }
    }
}
