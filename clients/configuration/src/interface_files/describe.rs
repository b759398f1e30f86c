//! What an interface file says that a function takes, and whether that is what its server says.

use farcall_idl::expression::Expression;
use farcall_idl::interface::{Dimension, ElementType, Interface, Mode, Parameter, Shape};

/// The type of an argument, as Ninf-G names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataType {
    /// A number, a text or a file.
    Element(ElementType),
    /// A function of the caller.
    Callback,
}

/// Names of types. `long` has 64 bits here as on every 64-bit machine that Ninf-G ran on.
const TYPES: [(&str, ElementType); 10] = [
    ("char", ElementType::Char),
    ("short", ElementType::Int16),
    ("int", ElementType::Int32),
    ("long", ElementType::Int64),
    ("float", ElementType::Float32),
    ("double", ElementType::Float64),
    ("scomplex", ElementType::Complex64),
    ("dcomplex", ElementType::Complex128),
    ("string", ElementType::String),
    ("filename", ElementType::Filename),
];

impl DataType {
    /// The type with this name.
    pub fn named(name: &str) -> Option<DataType> {
        let element = TYPES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, element)| DataType::Element(*element));
        element.or((name == "callback").then_some(DataType::Callback))
    }

    /// Its name; `None` for a type that Ninf-G does not have.
    pub fn name(self) -> Option<&'static str> {
        match self {
            DataType::Callback => Some("callback"),
            DataType::Element(wanted) => {
                TYPES.iter().find(|(_, element)| *element == wanted).map(|(name, _)| *name)
            }
        }
    }
}

/// The mode with this name: `in`, or `mode_in` as the IDL also has it.
pub(super) fn mode_named(name: &str) -> Option<Mode> {
    Some(match name.trim_start_matches("mode_") {
        "in" => Mode::In,
        "out" => Mode::Out,
        "inout" => Mode::InOut,
        "work" => Mode::Work,
        _ => return None,
    })
}

/// A function, or a class of remote objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// `module/name`.
    pub name: String,
    /// Its methods; a function has one, called `__default__`.
    pub methods: Vec<Method>,
    /// `normal`, `MPI` or `BLACS`; empty where the file does not say.
    pub backend: String,
    /// `C`; empty where the file does not say.
    pub language: String,
}

/// A method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Method {
    /// Its name.
    pub name: String,
    /// What it takes, in order.
    pub arguments: Vec<Argument>,
}

/// An argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Where it goes.
    pub mode: Mode,
    /// Its type.
    pub data_type: DataType,
    /// Its dimensions: sizes that are constants, `None` for others; a scalar has none.
    pub sizes: Vec<Option<i64>>,
}

impl Method {
    /// How the file's word differs from the interface that the server has, in one clause; `None`
    /// where it does not.
    pub fn difference(&self, interface: &Interface) -> Option<String> {
        let ours = self.arguments.len();
        let theirs = interface.parameters.len();
        if ours != theirs {
            return Some(format!("{ours} arguments here, {theirs} there"));
        }
        let mut pairs = self.arguments.iter().zip(&interface.parameters);
        pairs.find_map(|(argument, parameter)| {
            Some(format!("{}: {}", parameter.name, argument.difference(parameter)?))
        })
    }
}

impl Argument {
    fn difference(&self, parameter: &Parameter) -> Option<String> {
        let (data_type, dimensions) = match &parameter.shape {
            Shape::Callback { .. } => (DataType::Callback, &[][..]),
            Shape::Scalar => (DataType::Element(parameter.element), &[][..]),
            Shape::Array { dimensions, .. } => {
                (DataType::Element(parameter.element), dimensions.as_slice())
            }
        };
        if self.data_type != data_type {
            let name = |data_type: DataType| data_type.name().unwrap_or("another type");
            return Some(format!("{} here, {} there", name(self.data_type), name(data_type)));
        }
        if data_type == DataType::Callback {
            return None;
        }
        if self.mode != parameter.mode {
            return Some(format!("{} here, {} there", self.mode.word(), parameter.mode.word()));
        }
        // What is one value for the IDL, an `OUT int *x`, is an array of one for Ninf-G.
        if self.sizes.len() != dimensions.len()
            && !(dimensions.is_empty() && self.sizes == [Some(1)])
        {
            return Some(format!(
                "{} dimensions here, {} there",
                self.sizes.len(),
                dimensions.len()
            ));
        }
        let sizes = dimensions.iter().map(constant);
        let differs = self
            .sizes
            .iter()
            .copied()
            .zip(sizes)
            .find(|(ours, theirs)| ours.is_some() && theirs.is_some() && ours != theirs);
        differs.map(|(ours, theirs)| {
            format!("{} elements here, {} there", ours.unwrap_or(0), theirs.unwrap_or(0))
        })
    }
}

fn constant(dimension: &Dimension) -> Option<i64> {
    match dimension.size {
        Expression::Integer(size) => Some(size),
        _ => None,
    }
}
