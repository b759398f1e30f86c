//! Numbers of the canonical encoding: map keys, and the codes of enumerations (spec/idl.md, section
//! 7).
//!
//! A number never changes its meaning and is never used again.

use crate::expression::{BinaryOperator, Function, UnaryOperator};
use crate::interface::{Distribution, ElementType, Language, Mode, StringConvention};

/// Bytes of an encoded interface at most.
pub const INTERFACE_BYTES_MAX: usize = 1 << 18;
/// Bytes of an encoded module at most.
pub const MODULE_BYTES_MAX: usize = 1 << 26;
/// Parameters of a routine at most.
pub const PARAMETERS_MAX: usize = 1024;
/// Dimensions of an array at most.
pub const DIMENSIONS_MAX: usize = 32;
/// Struct types of an interface at most.
pub const STRUCTS_MAX: usize = 256;

/// Keys of an interface.
pub(crate) mod interface {
    pub const MODULE: i64 = 1;
    pub const NAME: i64 = 2;
    pub const ALIASES: i64 = 3;
    pub const DOC: i64 = 4;
    pub const STRUCTS: i64 = 5;
    pub const PARAMETERS: i64 = 6;
    pub const IDEMPOTENT: i64 = 7;
    pub const COMPLEXITY: i64 = 8;
    pub const PROCESSORS: i64 = 9;
    pub const CLASS: i64 = 13;
    pub const CLASS_DOC: i64 = 14;
    pub const RESOURCES: i64 = 15;
}

/// Keys of a struct type and, from 3 on, of a field.
pub(crate) mod structure {
    pub const NAME: i64 = 1;
    pub const FIELDS: i64 = 2;
    pub const ELEMENT: i64 = 3;
    pub const COUNT: i64 = 4;
}

/// Keys of a parameter.
pub(crate) mod parameter {
    pub const NAME: i64 = 1;
    pub const MODE: i64 = 2;
    pub const ELEMENT: i64 = 3;
    pub const DIMENSIONS: i64 = 4;
    pub const COLUMN: i64 = 5;
    pub const CALLBACK: i64 = 6;
    pub const WHEN: i64 = 7;
    pub const DEFAULT: i64 = 8;
    pub const CONSTANT: i64 = 9;
    pub const DOC: i64 = 10;
    pub const UNIT: i64 = 11;
    pub const DOMAIN: i64 = 12;
    pub const WIDE: i64 = 13;
    pub const STREAM: i64 = 14;
    pub const LOGICAL: i64 = 15;
    pub const RETURNED: i64 = 16;
    pub const CAPTURED: i64 = 17;
    pub const GIVEN: i64 = 18;
}

/// Keys of a dimension.
pub(crate) mod dimension {
    pub const SIZE: i64 = 1;
    pub const START: i64 = 2;
    pub const END: i64 = 3;
    pub const STRIDE: i64 = 4;
}

/// Keys of an implementation.
pub(crate) mod implementation {
    pub const LANGUAGE: i64 = 1;
    pub const STRINGS: i64 = 2;
    pub const SYMBOL: i64 = 3;
    pub const ARGUMENTS: i64 = 4;
    pub const RESULT: i64 = 5;
    pub const BODY: i64 = 6;
    pub const REQUIRED: i64 = 7;
    pub const BACKEND: i64 = 8;
    pub const DISTRIBUTION: i64 = 9;
    /// Critical: an executable that does not know it would call such functions wrongly.
    pub const RETURNING_CALLBACKS: i64 = -1;
    /// Critical: an executable that does not know it would leave such arrays' results behind.
    pub const GIVEN_ARRAYS: i64 = -2;
}

/// Keys of a module and, where the words are the same, of a class and a routine.
pub(crate) mod module {
    pub const NAME: i64 = 1;
    pub const ROUTINES: i64 = 2;
    pub const CLASSES: i64 = 3;
    pub const LIBRARIES: i64 = 4;
    pub const GLOBALS: i64 = 5;
    pub const COMPILE_OPTIONS: i64 = 6;
    pub const COMPILER: i64 = 7;
    pub const LINKER: i64 = 8;
    pub const EXECUTABLES_MAX: i64 = 9;
}

/// Keys of a class.
pub(crate) mod class {
    pub const NAME: i64 = 1;
    pub const DOC: i64 = 2;
    pub const STATE: i64 = 3;
    pub const METHODS: i64 = 4;
    pub const REQUIRED: i64 = 5;
    pub const BACKEND: i64 = 6;
    pub const LANGUAGE: i64 = 7;
}

/// Keys of a routine.
pub(crate) mod routine {
    pub const INTERFACE: i64 = 1;
    pub const IMPLEMENTATION: i64 = 2;
}

/// First numbers of an expression's array.
pub(crate) mod node {
    pub const PARAMETER: u64 = 0;
    pub const ELEMENT: u64 = 1;
    pub const UNARY: u64 = 2;
    pub const BINARY: u64 = 3;
    pub const SELECT: u64 = 4;
    pub const CALL: u64 = 5;
}

/// Struct number `i` has element code `STRUCT_BASE + i`.
pub(crate) const STRUCT_BASE: u64 = 256;

/// A closed set whose members have numbers: their places in the table.
pub(crate) trait Coded: Copy + PartialEq + 'static {
    const ALL: &'static [Self];
    const WHAT: &'static str;

    fn code(self) -> u64 {
        Self::ALL.iter().position(|one| *one == self).expect("the table has every member") as u64
    }

    fn from_code(code: u64) -> Option<Self> {
        Self::ALL.get(usize::try_from(code).ok()?).copied()
    }
}

impl Coded for Mode {
    const ALL: &'static [Self] = &[Mode::In, Mode::Out, Mode::InOut, Mode::Work];
    const WHAT: &'static str = "mode";
}

/// The element types that are no structs.
impl Coded for ElementType {
    const ALL: &'static [Self] = &[
        ElementType::Char,
        ElementType::Int8,
        ElementType::UInt8,
        ElementType::Int16,
        ElementType::UInt16,
        ElementType::Int32,
        ElementType::UInt32,
        ElementType::Int64,
        ElementType::UInt64,
        ElementType::Float32,
        ElementType::Float64,
        ElementType::Complex64,
        ElementType::Complex128,
        ElementType::String,
        ElementType::Filename,
    ];
    const WHAT: &'static str = "element type";
}

impl Coded for UnaryOperator {
    const ALL: &'static [Self] = &[UnaryOperator::Negate, UnaryOperator::Not];
    const WHAT: &'static str = "unary operator";
}

impl Coded for BinaryOperator {
    const ALL: &'static [Self] = &[
        BinaryOperator::Add,
        BinaryOperator::Subtract,
        BinaryOperator::Multiply,
        BinaryOperator::Divide,
        BinaryOperator::Remainder,
        BinaryOperator::Power,
        BinaryOperator::Less,
        BinaryOperator::LessEqual,
        BinaryOperator::Greater,
        BinaryOperator::GreaterEqual,
        BinaryOperator::Equal,
        BinaryOperator::NotEqual,
        BinaryOperator::And,
        BinaryOperator::Or,
        BinaryOperator::ShiftLeft,
        BinaryOperator::ShiftRight,
        BinaryOperator::BitAnd,
    ];
    const WHAT: &'static str = "binary operator";
}

impl Coded for Function {
    const ALL: &'static [Self] = &[
        Function::Min,
        Function::Max,
        Function::Abs,
        Function::Log,
        Function::Log2,
        Function::Sqrt,
        Function::Length,
    ];
    const WHAT: &'static str = "function";
}

impl Coded for Distribution {
    const ALL: &'static [Self] =
        &[Distribution::Root, Distribution::Broadcast, Distribution::Allocate];
    const WHAT: &'static str = "distribution";
}

impl Coded for Language {
    const ALL: &'static [Self] = &[Language::C, Language::Cpp, Language::Fortran];
    const WHAT: &'static str = "language";
}

impl Coded for StringConvention {
    const ALL: &'static [Self] =
        &[StringConvention::End, StringConvention::After, StringConvention::None];
    const WHAT: &'static str = "string convention";
}
