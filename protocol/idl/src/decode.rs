//! Decodes the canonical encoding, trusting nothing (spec/idl.md, section 7).
//!
//! What comes out has passed [`Interface::validate`]: no index in it can make later code fail.
//! Every list grows by what was really read, never by what a header promised.

use farcall_base::{Error, ErrorKind, Resources, Result};

use crate::canonical::{self, Coded, INTERFACE_BYTES_MAX, MODULE_BYTES_MAX, STRUCT_BASE, node};
use crate::evaluate::EXPRESSION_DEPTH_MAX;
use crate::expression::Expression;
use crate::interface::{
    Class, Code, Dimension, Domain, ElementType, Implementation, Interface, Language, Mode, Module,
    Order, Parameter, Routine, Shape, StringConvention, StructType,
};
use crate::reader::Reader;

/// Decodes an interface.
///
/// # Errors
/// `Protocol` for bytes that are no canonical encoding or contradict themselves; `Version` for a
/// critical key of a later version; `LimitExceeded` for too many bytes.
pub fn decode_interface(bytes: &[u8]) -> Result<Interface> {
    whole(bytes, INTERFACE_BYTES_MAX, read_interface)
}

/// Decodes a module with its implementations, as a server gives it to an executable.
///
/// # Errors
/// As [`decode_interface`].
pub fn decode_module(bytes: &[u8]) -> Result<Module> {
    whole(bytes, MODULE_BYTES_MAX, read_module)
}

fn whole<T>(
    bytes: &[u8],
    limit: usize,
    read: impl FnOnce(&mut Reader<'_>) -> Result<T>,
) -> Result<T> {
    if bytes.len() > limit {
        let message = format!("{} bytes are more than an encoding may have ({limit})", bytes.len());
        return Err(Error::new(ErrorKind::LimitExceeded, "decode an interface", message));
    }
    let mut reader = Reader::new(bytes);
    let value = read(&mut reader)?;
    reader.finish()?;
    Ok(value)
}

fn read_interface(reader: &mut Reader<'_>) -> Result<Interface> {
    use canonical::interface as key;
    let mut it = Interface {
        module: String::new(),
        name: String::new(),
        aliases: Vec::new(),
        doc: String::new(),
        structs: Vec::new(),
        parameters: Vec::new(),
        idempotent: false,
        complexity: None,
        processors: None,
        resources: Resources::default(),
        class: String::new(),
        class_doc: String::new(),
    };
    reader.map(|reader, key| {
        match key {
            key::MODULE => it.module = reader.text()?,
            key::NAME => it.name = reader.text()?,
            key::ALIASES => it.aliases = reader.list(Reader::text)?,
            key::DOC => it.doc = reader.text()?,
            key::STRUCTS => it.structs = reader.list(read_struct)?,
            key::PARAMETERS => {
                it.parameters = reader.list(|reader| read_parameter(reader, true))?
            }
            key::IDEMPOTENT => it.idempotent = reader.flag()?,
            key::COMPLEXITY => it.complexity = Some(read_expression(reader, 0)?),
            key::PROCESSORS => it.processors = Some(read_expression(reader, 0)?),
            key::CLASS => it.class = reader.text()?,
            key::CLASS_DOC => it.class_doc = reader.text()?,
            key::RESOURCES => it.resources = reader.text()?.parse()?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    it.validate().map_err(|error| reader.error(error.to_string()))?;
    Ok(it)
}

fn read_struct(reader: &mut Reader<'_>) -> Result<StructType> {
    use canonical::structure as key;
    let mut name = String::new();
    let mut fields = Vec::new();
    reader.map(|reader, key| {
        match key {
            key::NAME => name = reader.text()?,
            key::FIELDS => fields = reader.list(read_field)?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    // Offsets do not travel: both sides compute them by the same rule.
    StructType::lay_out(&name, fields).map_err(|error| reader.error(error.to_string()))
}

fn read_field(reader: &mut Reader<'_>) -> Result<(String, ElementType, u32)> {
    use canonical::structure as key;
    let mut name = String::new();
    let mut element = None;
    let mut count = 0;
    reader.map(|reader, key| {
        match key {
            key::NAME => name = reader.text()?,
            key::ELEMENT => element = Some(read_element(reader)?),
            key::COUNT => count = reader.small()?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok((name, reader.required(element, "a field's type")?, count))
}

fn read_element(reader: &mut Reader<'_>) -> Result<ElementType> {
    let code = reader.number()?;
    match code.checked_sub(STRUCT_BASE) {
        Some(index) => {
            let index = u16::try_from(index)
                .map_err(|_| reader.error(format!("no struct has number {index}")))?;
            Ok(ElementType::Struct(index))
        }
        None => coded(reader, code),
    }
}

fn coded<T: Coded>(reader: &Reader<'_>, code: u64) -> Result<T> {
    T::from_code(code).ok_or_else(|| reader.error(format!("unknown {} {code}", T::WHAT)))
}

fn read_coded<T: Coded>(reader: &mut Reader<'_>) -> Result<T> {
    let code = reader.number()?;
    coded(reader, code)
}

/// A callback's parameters are no callbacks themselves, so the nesting ends here.
fn read_parameter(reader: &mut Reader<'_>, callbacks: bool) -> Result<Parameter> {
    use canonical::parameter as key;
    let mut mode = None;
    let mut element = None;
    let mut dimensions = None;
    let mut order = Order::Row;
    let mut callback = None;
    let mut it = Parameter::scalar(String::new(), Mode::In, ElementType::Char);
    reader.map(|reader, key| {
        match key {
            key::NAME => it.name = reader.text()?,
            key::MODE => mode = Some(read_coded(reader)?),
            key::ELEMENT => element = Some(read_element(reader)?),
            key::DIMENSIONS => dimensions = Some(reader.list(read_dimension)?),
            key::COLUMN => order = if reader.flag()? { Order::Column } else { Order::Row },
            key::CALLBACK if callbacks => {
                callback = Some(reader.list(|reader| read_parameter(reader, false))?)
            }
            key::CALLBACK => return Err(reader.error("a callback has a callback")),
            key::WHEN => it.when = Some(read_expression(reader, 0)?),
            key::GIVEN => it.given = Some(read_expression(reader, 0)?),
            key::DEFAULT => it.default = Some(read_expression(reader, 0)?),
            key::CONSTANT => it.constant = reader.flag()?,
            key::DOC => it.doc = reader.text()?,
            key::UNIT => it.unit = reader.text()?,
            key::DOMAIN => it.domain = Some(read_domain(reader)?),
            key::WIDE => it.wide = reader.flag()?,
            key::STREAM => it.stream = reader.flag()?,
            key::LOGICAL => it.logical = reader.flag()?,
            key::RETURNED => it.returned = reader.flag()?,
            key::CAPTURED => {
                let number = reader.number()?;
                let number =
                    u16::try_from(number).map_err(|_| reader.error("a number is too large"))?;
                it.captured = Some(number);
            }
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    it.mode = reader.required(mode, "a parameter's mode")?;
    it.element = reader.required(element, "a parameter's type")?;
    it.shape = match (dimensions, callback) {
        (None, None) if order == Order::Row => Shape::Scalar,
        (Some(dimensions), None) => Shape::Array { dimensions, order },
        (None, Some(parameters)) if order == Order::Row => Shape::Callback { parameters },
        _ => return Err(reader.error(format!("parameter {} has keys of two shapes", it.name))),
    };
    Ok(it)
}

fn read_domain(reader: &mut Reader<'_>) -> Result<Domain> {
    match reader.text_here()? {
        Some(characters) => Ok(Domain::Characters(characters)),
        None => read_expression(reader, 0).map(Domain::Condition),
    }
}

fn read_dimension(reader: &mut Reader<'_>) -> Result<Dimension> {
    use canonical::dimension as key;
    let mut size = None;
    let mut start = None;
    let mut end = None;
    let mut stride = None;
    reader.map(|reader, key| {
        let place = match key {
            key::SIZE => &mut size,
            key::START => &mut start,
            key::END => &mut end,
            key::STRIDE => &mut stride,
            _ => return Ok(false),
        };
        *place = Some(read_expression(reader, 0)?);
        Ok(true)
    })?;
    Ok(Dimension { size: reader.required(size, "a dimension's size")?, start, end, stride })
}

fn read_expression(reader: &mut Reader<'_>, depth: usize) -> Result<Expression> {
    if depth >= EXPRESSION_DEPTH_MAX {
        return Err(
            reader.error(format!("an expression nests deeper than {EXPRESSION_DEPTH_MAX} levels"))
        );
    }
    if let Some(value) = reader.integer_here()? {
        return Ok(Expression::Integer(value));
    }
    if let Some(value) = reader.real_here()? {
        return Ok(Expression::Real(value));
    }
    let length = reader.array()?;
    let kind = if length == 0 {
        return Err(reader.error("an empty expression"));
    } else {
        reader.number()?
    };
    read_node(reader, kind, length, depth + 1)
}

fn read_node(reader: &mut Reader<'_>, kind: u64, length: u64, depth: usize) -> Result<Expression> {
    let boxed = |reader: &mut Reader<'_>| read_expression(reader, depth).map(Box::new);
    match (kind, length) {
        (node::PARAMETER, 2) => Ok(Expression::Parameter(reader.index()?)),
        (node::ELEMENT, 3) => Ok(Expression::Element(reader.index()?, boxed(reader)?)),
        (node::UNARY, 3) => Ok(Expression::Unary(read_coded(reader)?, boxed(reader)?)),
        (node::BINARY, 4) => {
            Ok(Expression::Binary(read_coded(reader)?, boxed(reader)?, boxed(reader)?))
        }
        (node::SELECT, 4) => Ok(Expression::Select(boxed(reader)?, boxed(reader)?, boxed(reader)?)),
        (node::CALL, 2..) => {
            let function = read_coded(reader)?;
            let arguments =
                (2..length).map(|_| read_expression(reader, depth)).collect::<Result<_>>()?;
            Ok(Expression::Call(function, arguments))
        }
        _ => Err(reader.error(format!("an expression of kind {kind} and length {length}"))),
    }
}

fn read_module(reader: &mut Reader<'_>) -> Result<Module> {
    use canonical::module as key;
    let mut it = Module {
        name: String::new(),
        routines: Vec::new(),
        classes: Vec::new(),
        libraries: Vec::new(),
        globals: Vec::new(),
        compile_options: Vec::new(),
        compiler: None,
        linker: None,
        executables_max: 0,
    };
    reader.map(|reader, key| {
        match key {
            key::NAME => it.name = reader.text()?,
            key::ROUTINES => it.routines = reader.list(read_routine)?,
            key::CLASSES => it.classes = reader.list(read_class)?,
            key::LIBRARIES => it.libraries = reader.list(Reader::text)?,
            key::GLOBALS => it.globals = reader.list(read_source)?,
            key::COMPILE_OPTIONS => it.compile_options = reader.list(Reader::text)?,
            key::COMPILER => it.compiler = Some(reader.text()?),
            key::LINKER => it.linker = Some(reader.text()?),
            key::EXECUTABLES_MAX => it.executables_max = reader.small()?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(it)
}

fn read_source(reader: &mut Reader<'_>) -> Result<(String, String, u32)> {
    match reader.array()? {
        3 => Ok((reader.text()?, reader.text()?, reader.small()?)),
        length => Err(reader.error(format!("source text with {length} parts instead of 3"))),
    }
}

fn read_class(reader: &mut Reader<'_>) -> Result<Class> {
    use canonical::class as key;
    let mut it = Class {
        name: String::new(),
        doc: String::new(),
        state: None,
        methods: Vec::new(),
        required: Vec::new(),
        backend: String::new(),
        language: Language::C,
    };
    reader.map(|reader, key| {
        match key {
            key::NAME => it.name = reader.text()?,
            key::DOC => it.doc = reader.text()?,
            key::STATE => it.state = Some(read_source(reader)?),
            key::METHODS => it.methods = reader.list(read_routine)?,
            key::REQUIRED => it.required = reader.list(Reader::text)?,
            key::BACKEND => it.backend = reader.text()?,
            key::LANGUAGE => it.language = read_coded(reader)?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(it)
}

fn read_routine(reader: &mut Reader<'_>) -> Result<Routine> {
    use canonical::routine as key;
    let mut interface = None;
    let mut implementation = None;
    reader.map(|reader, key| {
        match key {
            key::INTERFACE => interface = Some(read_interface(reader)?),
            key::IMPLEMENTATION => implementation = Some(read_implementation(reader)?),
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let interface = reader.required(interface, "a routine's interface")?;
    let implementation = reader.required(implementation, "a routine's implementation")?;
    if let Code::Symbol { arguments, result, .. } = &implementation.code
        && arguments.iter().chain(result).any(|index| *index >= interface.parameters.len())
    {
        return Err(
            reader.error(format!("{} calls its symbol with a parameter it lacks", interface.name))
        );
    }
    Ok(Routine { interface, implementation })
}

fn read_implementation(reader: &mut Reader<'_>) -> Result<Implementation> {
    use canonical::implementation as key;
    let mut symbol = None;
    let mut arguments = Vec::new();
    let mut result = None;
    let mut body = None;
    let mut language = Language::C;
    let mut strings = StringConvention::End;
    let mut required = Vec::new();
    let mut backend = String::new();
    let mut distribution = Vec::new();
    reader.map(|reader, key| {
        match key {
            key::LANGUAGE => language = read_coded(reader)?,
            key::STRINGS => strings = read_coded(reader)?,
            key::SYMBOL => symbol = Some(reader.text()?),
            key::ARGUMENTS => arguments = reader.list(|reader| reader.index().map(usize::from))?,
            key::RESULT => result = Some(usize::from(reader.index()?)),
            key::BODY => body = Some(read_source(reader)?),
            key::REQUIRED => required = reader.list(Reader::text)?,
            key::BACKEND => backend = reader.text()?,
            key::DISTRIBUTION => distribution = reader.list(read_coded)?,
            // The interface says which.
            key::RETURNING_CALLBACKS | key::GIVEN_ARRAYS => drop(reader.flag()?),
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let code = match (symbol, body) {
        (Some(symbol), None) => Code::Symbol { symbol, arguments, result },
        (None, Some((text, file, line))) => Code::Body { text, file, line },
        _ => return Err(reader.error("a routine has either a symbol or a body")),
    };
    Ok(Implementation { language, strings, code, required, backend, distribution })
}
