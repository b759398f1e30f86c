//! The words of the language (spec/idl.md, section 2.3), so that the parser and the advice agree on
//! them.

use crate::interface::{ElementType, Mode};

/// Mode words, in both spellings.
pub(crate) const MODES: [(&str, Mode); 8] = [
    ("IN", Mode::In),
    ("OUT", Mode::Out),
    ("INOUT", Mode::InOut),
    ("WORK", Mode::Work),
    ("mode_in", Mode::In),
    ("mode_out", Mode::Out),
    ("mode_inout", Mode::InOut),
    ("mode_work", Mode::Work),
];

/// How an argument is spread over the processes of an MPI routine.
pub(crate) const DISTRIBUTIONS: [&str; 2] = ["allocate", "broadcast"];

/// Type words of Ninf-G: reserved, never names.
pub(crate) const CORE_TYPES: [&str; 10] = [
    "char", "short", "int", "long", "float", "double", "string", "scomplex", "dcomplex", "filename",
];

/// Type words of ours and of Ninf 1 that stand for one type each.
pub(crate) const SINGLE_TYPES: [(&str, ElementType); 17] = [
    ("int8", ElementType::Int8),
    ("int16", ElementType::Int16),
    ("int32", ElementType::Int32),
    ("int64", ElementType::Int64),
    ("uint8", ElementType::UInt8),
    ("uint16", ElementType::UInt16),
    ("uint32", ElementType::UInt32),
    ("uint64", ElementType::UInt64),
    ("size_t", ElementType::UInt64),
    ("longlong", ElementType::Int64),
    (LOGICAL, ElementType::Int32),
    (BOOL, ElementType::UInt8),
    ("_Bool", ElementType::UInt8),
    ("float32", ElementType::Float32),
    ("float64", ElementType::Float64),
    ("complex64", ElementType::Complex64),
    ("complex128", ElementType::Complex128),
];

/// A file that C has as an open `FILE *` (Ninf 1).
pub(crate) const FILE_POINTER: &str = "filepointer";

/// A LOGICAL of Fortran.
pub(crate) const LOGICAL: &str = "logical";

/// C's type of true and false: one byte.
pub(crate) const BOOL: &str = "bool";

/// The types of true and false.
pub(crate) const TRUTHS: [&str; 3] = [LOGICAL, BOOL, "_Bool"];

/// Bytes of whatever type (Ninf 1).
pub(crate) const VOID: &str = "void";

/// Type words that modify another one or have a meaning beside their element.
pub(crate) const OTHER_TYPES: [&str; 4] = ["unsigned", "signed", VOID, FILE_POINTER];

/// Words of C that no parameter of code in C can have for a name; type words that an interface file
/// has, too, are none.
pub(crate) const C_KEYWORDS: [&str; 27] = [
    "auto", "break", "case", "const", "continue", "default", "do", "else", "enum", "extern", "for",
    "goto", "if", "inline", "register", "restrict", "return", "signed", "sizeof", "static",
    "struct", "switch", "typedef", "union", "unsigned", "volatile", "while",
];

/// Words that C++ adds to those.
pub(crate) const CPP_KEYWORDS: [&str; 34] = [
    "bool",
    "catch",
    "class",
    "const_cast",
    "constexpr",
    "decltype",
    "delete",
    "dynamic_cast",
    "explicit",
    "export",
    "false",
    "friend",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "nullptr",
    "operator",
    "private",
    "protected",
    "public",
    "reinterpret_cast",
    "static_assert",
    "static_cast",
    "template",
    "this",
    "throw",
    "true",
    "try",
    "typeid",
    "typename",
    "using",
    "virtual",
    "wchar_t",
];

/// How many processes a module may have: `executables_max = 1;`.
pub(crate) const EXECUTABLES_MAX: &str = "executables_max";

/// Words that begin a declaration.
pub(crate) const DECLARATIONS: [&str; 13] = [
    "Module",
    "CompileOptions",
    "Compiler",
    "Linker",
    "Globals",
    "Library",
    "FortranFormat",
    "FortranStringConvention",
    "Define",
    "DefClass",
    "Struct",
    "Variants",
    EXECUTABLES_MAX,
];

/// Words that may follow an interface.
pub(crate) const OPTIONS: [&str; 11] = [
    "Required",
    "Backend",
    "Shrink",
    "CalcOrder",
    "Complexity",
    "Processors",
    "Resources",
    "Language",
    "Alias",
    "Idempotent",
    "Calls",
];

/// Words that may follow a declarator.
pub(crate) const CLAUSES: [&str; 6] = ["column", "where", "when", "unit", "among", "given"];

/// The mode that a word names.
pub(crate) fn mode(word: &str) -> Option<Mode> {
    MODES.iter().find(|(name, _)| *name == word).map(|(_, mode)| *mode)
}

/// Whether a word is a type word of ours that Ninf-G does not reserve.
pub(crate) fn is_added_type(word: &str) -> bool {
    OTHER_TYPES.contains(&word) || SINGLE_TYPES.iter().any(|(name, _)| *name == word)
}

/// Whether a type means 64 bits wherever it is read; a `long` had 32 in Ninf 1.
pub(crate) fn says_64_bits<'a>(mut words: impl Iterator<Item = &'a str> + Clone) -> bool {
    words.clone().filter(|word| *word == "long").count() == 2
        || words.any(|word| ["longlong", "int64", "uint64", "size_t"].contains(&word))
}

/// Every type word.
pub(crate) fn types<'a>() -> impl Iterator<Item = &'a str> {
    CORE_TYPES
        .into_iter()
        .chain(SINGLE_TYPES.into_iter().map(|(name, _)| name))
        .chain(["unsigned", FILE_POINTER])
}
