//! What the parser makes of a file: names are still text, and every part knows its place.

use crate::expression::{BinaryOperator, UnaryOperator};
use crate::interface::Mode;
use crate::source::Span;

/// A name or a decoded string, with its place.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    pub text: String,
    pub span: Span,
}

/// A whole file.
#[derive(Default)]
pub(crate) struct File {
    pub module: Vec<Name>,
    pub compile_options: Vec<Name>,
    pub compiler: Vec<Name>,
    pub linker: Vec<Name>,
    pub libraries: Vec<Name>,
    pub fortran_format: Vec<Name>,
    pub fortran_strings: Vec<Name>,
    /// Digits.
    pub executables_max: Vec<Name>,
    /// Raw C with its braces.
    pub globals: Vec<Span>,
    pub structs: Vec<Struct>,
    pub routines: Vec<Define>,
    pub classes: Vec<Class>,
}

/// `Struct NAME { … }`.
pub(crate) struct Struct {
    pub name: Name,
    pub fields: Vec<Field>,
}

/// One field of a struct.
pub(crate) struct Field {
    pub types: Vec<Name>,
    pub name: Name,
    pub dimensions: Vec<Dimension>,
}

/// `Define` or `DefMethod`.
pub(crate) struct Define {
    pub name: Name,
    pub parameters: Vec<Parameter>,
    /// A parameter is missing from the list because it could not be read: unknown names prove
    /// nothing.
    pub incomplete: bool,
    pub doc: Option<Name>,
    pub options: Options,
    /// `None` if it is missing or could not be read; that has been reported.
    pub code: Option<Code>,
}

/// What stands between an interface and its body, and between a class's name and its `{`.
#[derive(Default)]
pub(crate) struct Options {
    pub required: Vec<Name>,
    pub backend: Vec<Name>,
    pub shrink: Vec<Name>,
    pub language: Vec<Name>,
    pub aliases: Vec<Name>,
    /// The place of the option's word, and the expression.
    pub complexity: Vec<(Span, Expression)>,
    pub processors: Vec<(Span, Expression)>,
    pub resources: Vec<Name>,
    pub idempotent: bool,
}

/// What runs.
pub(crate) enum Code {
    /// Raw C with its braces.
    Body(Span),
    Calls(Calls),
}

/// `Calls "LANGUAGE" [result =] symbol(arguments);`
pub(crate) struct Calls {
    pub language: Option<Name>,
    pub result: Option<Name>,
    pub symbol: Name,
    pub arguments: Vec<Name>,
}

/// `DefClass`.
pub(crate) struct Class {
    pub name: Name,
    pub doc: Option<Name>,
    pub options: Options,
    /// Raw C with its braces.
    pub states: Vec<Span>,
    pub methods: Vec<Define>,
}

/// A parameter or a callback.
pub(crate) struct Parameter {
    /// `None` for a callback, and where it is missing, which has been reported.
    pub mode: Option<(Mode, Span)>,
    /// Type words in the order of the text; of a callback, those of the value that it returns.
    /// Empty for none, and where they are missing.
    pub types: Vec<Name>,
    pub constant: Option<Span>,
    pub distribution: Option<Name>,
    pub name: Name,
    pub dimensions: Vec<Dimension>,
    pub column: Option<Span>,
    pub when: Option<Expression>,
    pub given: Option<Expression>,
    pub default: Option<Expression>,
    pub domain: Option<Domain>,
    pub doc: Option<Name>,
    pub unit: Option<Name>,
    /// Parameters of the callback, and whether some of them could not be read.
    pub callback: Option<(Vec<Parameter>, bool)>,
}

/// The values that a parameter may have.
pub(crate) enum Domain {
    /// `among "NTC"`.
    Characters(Name),
    /// `where expr`.
    Condition(Expression),
}

/// One dimension.
pub(crate) enum Dimension {
    /// `*name`: one element.
    Pointer,
    /// `[]`.
    Empty(Span),
    /// `[size]`, `[size : …]`.
    Sized(Box<Extent>),
    /// Could not be read; reported.
    Broken,
}

/// The parts of `[size : start, end, stride]`.
pub(crate) struct Extent {
    pub size: Expression,
    pub start: Option<Expression>,
    pub end: Option<Expression>,
    pub stride: Option<Expression>,
}

impl Dimension {
    /// Whether the dimension is known to hold exactly one element.
    pub(crate) fn is_one(&self) -> bool {
        match self {
            Dimension::Pointer => true,
            Dimension::Sized(extent) => matches!(extent.size.kind, ExpressionKind::Integer(1)),
            Dimension::Empty(_) | Dimension::Broken => false,
        }
    }
}

/// An expression.
pub(crate) struct Expression {
    pub kind: ExpressionKind,
    pub span: Span,
    /// Levels of operators, at most `EXPRESSION_DEPTH_MAX`: what walks the tree needs that much
    /// stack.
    pub height: u16,
}

/// Kinds of expressions.
pub(crate) enum ExpressionKind {
    Integer(i64),
    Real(f64),
    Name(String),
    Index(Box<Expression>, Box<Expression>),
    Pointee(Box<Expression>),
    Unary(UnaryOperator, Box<Expression>),
    Binary(BinaryOperator, Box<Expression>, Box<Expression>),
    Select(Box<Expression>, Box<Expression>, Box<Expression>),
    Call(Name, Vec<Expression>),
}
