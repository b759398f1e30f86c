//! Size expressions: one evaluator for both sides, with overflow and range checks (spec/idl.md,
//! section 5).

/// An expression over the routine's parameters. Integers are 64 bits; every step is checked.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// A constant; a character constant is its code.
    Integer(i64),
    /// A constant with a fraction; only complexity may use it.
    Real(f64),
    /// The value of scalar parameter number `.0` (or element 0 of a one-element array).
    Parameter(u16),
    /// Element `.1` of array parameter number `.0`.
    Element(u16, Box<Expression>),
    /// One operand.
    Unary(UnaryOperator, Box<Expression>),
    /// Two operands.
    Binary(BinaryOperator, Box<Expression>, Box<Expression>),
    /// `condition ? then : otherwise`.
    Select(Box<Expression>, Box<Expression>, Box<Expression>),
    /// A built-in function.
    Call(Function, Vec<Expression>),
}

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOperator {
    /// `-x`.
    Negate,
    /// `!x`.
    Not,
}

/// Operators with two operands; `^` is power and binds tighter than `*` (gridrpc traps).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is its own name")]
pub enum BinaryOperator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Power,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    And,
    Or,
    ShiftLeft,
    ShiftRight,
    BitAnd,
}

/// Built-in functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    /// Smallest of its arguments.
    Min,
    /// Largest of its arguments.
    Max,
    /// Absolute value.
    Abs,
    /// Natural logarithm; complexity only.
    Log,
    /// Base-2 logarithm; complexity only.
    Log2,
    /// Square root; complexity only.
    Sqrt,
    /// Number of bytes of a string parameter, without its NUL.
    Length,
}
