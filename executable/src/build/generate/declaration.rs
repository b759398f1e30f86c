//! What a body is declared as: its parameters in the words of C or C++.

use std::fmt::Write;

use farcall_idl::Dialect;
use farcall_idl::interface::{ElementType, Field, Interface, Parameter, Shape, StructType};

/// What stands before a definition that C code calls.
pub(super) fn linkage(cpp: bool) -> &'static str {
    if cpp { "extern \"C\" " } else { "" }
}

/// A struct of the interface file.
pub(super) fn struct_type(description: &StructType) -> String {
    let mut fields = String::new();
    for Field { name, element, count, .. } in &description.fields {
        let extent = if *count == 1 { String::new() } else { format!("[{count}]") };
        // A fixed array of one element stays a scalar: both lie alike, and the compiled interface
        // does not tell.
        let _ = write!(fields, " {} {name}{extent};", element_type(*element, &[]));
    }
    format!("typedef struct {0} {{{fields} }} {0};", description.name)
}

/// The head of a body.
pub(super) fn prototype(
    index: usize,
    interface: &Interface,
    dialect: Dialect,
    cpp: bool,
) -> String {
    let words = Words { structs: &interface.structs, cpp };
    let mut parameters = interface.parameters.clone();
    let is_complex = |one: &&mut Parameter| {
        matches!(one.element, ElementType::Complex64 | ElementType::Complex128)
    };
    if dialect == Dialect::Ninf {
        parameters.iter_mut().filter(is_complex).for_each(|one| one.name = renamed(&one.name));
    }
    let list = words.list(&parameters);
    // An exception that nobody catches ends the process where it is thrown, with its type and text
    // on standard error, before it unwinds what is not C++'s. Not `noexcept`: `-ansi` means C++98.
    let catches = if cpp { " throw()" } else { "" };
    format!("{}void farcall_body_{index}({list}){catches}", linkage(cpp))
}

/// The name of a parameter whose own name stands for something else in the body.
pub(super) fn renamed(name: &str) -> String {
    format!("farcall_{name}")
}

/// The language of the body, and the structs that it knows.
struct Words<'a> {
    structs: &'a [StructType],
    cpp: bool,
}

impl Words<'_> {
    /// Parameters that code passes.
    fn list(&self, parameters: &[Parameter]) -> String {
        let listed = parameters.iter().filter(|parameter| parameter.is_passed());
        let all: Vec<String> = listed.map(|parameter| self.declaration(parameter)).collect();
        if all.is_empty() { "void".into() } else { all.join(", ") }
    }

    /// A parameter as the body sees it; agrees with `Signature::of_body`.
    fn declaration(&self, parameter: &Parameter) -> String {
        if let Shape::Callback { parameters } = &parameter.shape {
            let value = parameter.function_value().map_or("void", |value| self.c_type(value));
            return format!("{value} (*{})({})", parameter.name, self.list(parameters));
        }
        let scalar = parameter.shape == Shape::Scalar;
        let by_value = scalar && !parameter.mode.is_output();
        if parameter.stream {
            return format!("FILE *{}", parameter.name);
        }
        let stars = match parameter.element {
            ElementType::Filename if scalar => "*",
            ElementType::Filename => "**",
            ElementType::String if by_value => "*",
            ElementType::String => "**",
            _ if by_value => "",
            _ => "*",
        };
        // The promise `const` makes of an array is one that the compiler can hold the body to.
        let constant = if parameter.constant && stars == "*" { "const " } else { "" };
        format!("{constant}{} {stars}{}", self.c_type(parameter), parameter.name)
    }

    fn c_type(&self, parameter: &Parameter) -> &str {
        match parameter.element {
            ElementType::UInt8 if parameter.logical && self.cpp => "bool",
            ElementType::UInt8 if parameter.logical => "_Bool",
            element => element_type(element, self.structs),
        }
    }
}

fn element_type(element: ElementType, structs: &[StructType]) -> &str {
    match element {
        ElementType::Char | ElementType::String | ElementType::Filename => "char",
        ElementType::Int8 => "signed char",
        ElementType::UInt8 => "unsigned char",
        ElementType::Int16 => "short",
        ElementType::UInt16 => "unsigned short",
        ElementType::Int32 => "int",
        ElementType::UInt32 => "unsigned int",
        ElementType::Int64 => "long",
        ElementType::UInt64 => "unsigned long",
        ElementType::Float32 => "float",
        ElementType::Float64 => "double",
        ElementType::Complex64 => "scomplex",
        ElementType::Complex128 => "dcomplex",
        ElementType::Struct(index) => {
            structs.get(usize::from(index)).map_or("void", |found| found.name.as_str())
        }
    }
}
