//! Canonical encoding: deterministic CBOR (RFC 8949, 4.2.1) with integer keys; equal interfaces
//! give equal bytes (spec/idl.md, section 7).

use minicbor::Encoder;
use sha2::{Digest, Sha256};

use crate::canonical::{self, Coded, STRUCT_BASE, node};
use crate::expression::Expression;
use crate::interface::{
    Class, Code, Dimension, Domain, ElementType, Field, Interface, Module, Order, Parameter,
    Routine, Shape, StructType,
};

/// The canonical encoding of an interface, as it travels to clients.
pub fn encode_interface(interface: &Interface) -> Vec<u8> {
    interface_map(interface, Part::Whole)
}

/// SHA-256 over the part of the canonical encoding that a call depends on.
///
/// In: modes, types, shapes, storage order, sizes and ranges, `when`, defaults, `const`, struct
/// layouts, callbacks, `idempotent`. Out: all names, documentation, units, aliases, complexity,
/// processors, resources, and domains, which decide whether a call is accepted and not what travels. A client
/// that holds an interface with this hash marshals correctly, whatever else was edited.
pub fn contract_hash(interface: &Interface) -> [u8; 32] {
    Sha256::digest(interface_map(interface, Part::Contract)).into()
}

/// The hash that a call is opened with: the contract's, and of an interface with arrays that are
/// only given under a condition one over these conditions, too. A caller that leaves out such an
/// array says so that it may.
pub fn call_hash(interface: &Interface) -> [u8; 32] {
    Sha256::digest(interface_map(interface, Part::Call)).into()
}

/// The canonical encoding of a module with its implementations: what a server gives its
/// executables, never a client.
pub fn encode_module(module: &Module) -> Vec<u8> {
    use canonical::module as key;
    let mut map = Map::default();
    map.text(key::NAME, &module.name);
    map.list(key::ROUTINES, &module.routines, |body, routine| body.extend(routine_map(routine)));
    map.list(key::CLASSES, &module.classes, |body, class| body.extend(class_map(class)));
    map.list(key::LIBRARIES, &module.libraries, |body, text| put_text(body, text));
    map.list(key::GLOBALS, &module.globals, put_source);
    map.list(key::COMPILE_OPTIONS, &module.compile_options, |body, text| put_text(body, text));
    map.option(key::COMPILER, module.compiler.as_ref(), |body, text| put_text(body, text));
    map.option(key::LINKER, module.linker.as_ref(), |body, text| put_text(body, text));
    if module.executables_max > 0 {
        map.number(key::EXECUTABLES_MAX, module.executables_max.into());
    }
    map.finish()
}

/// Which keys are written.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Whole,
    Contract,
    /// The contract, and when arrays are given.
    Call,
}

/// A map under construction: its entries, in ascending order of their keys.
#[derive(Default)]
struct Map {
    body: Vec<u8>,
    entries: u64,
}

impl Map {
    fn key(&mut self, key: i64) -> &mut Vec<u8> {
        self.entries += 1;
        put(&mut self.body, |encoder| encoder.i64(key).map(drop));
        &mut self.body
    }

    /// A text; left out when empty.
    fn text(&mut self, key: i64, text: &str) {
        if !text.is_empty() {
            put_text(self.key(key), text);
        }
    }

    fn number(&mut self, key: i64, number: u64) {
        put(self.key(key), |encoder| encoder.u64(number).map(drop));
    }

    /// `true`; left out when false.
    fn flag(&mut self, key: i64, value: bool) {
        if value {
            put(self.key(key), |encoder| encoder.bool(true).map(drop));
        }
    }

    fn option<T>(&mut self, key: i64, value: Option<&T>, write: impl Fn(&mut Vec<u8>, &T)) {
        if let Some(value) = value {
            write(self.key(key), value);
        }
    }

    /// An array; left out when empty.
    fn list<T>(&mut self, key: i64, items: &[T], write: impl Fn(&mut Vec<u8>, &T)) {
        if !items.is_empty() {
            put_list(self.key(key), items, write);
        }
    }

    fn finish(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.body.len() + 9);
        put(&mut bytes, |encoder| encoder.map(self.entries).map(drop));
        bytes.extend(self.body);
        bytes
    }
}

type Failure = minicbor::encode::Error<std::convert::Infallible>;

fn put(bytes: &mut Vec<u8>, write: impl FnOnce(&mut Encoder<&mut Vec<u8>>) -> Result<(), Failure>) {
    write(&mut Encoder::new(bytes)).expect("a vector takes all bytes");
}

fn put_text(bytes: &mut Vec<u8>, text: &str) {
    put(bytes, |encoder| encoder.str(text).map(drop));
}

fn put_list<T>(bytes: &mut Vec<u8>, items: &[T], write: impl Fn(&mut Vec<u8>, &T)) {
    put(bytes, |encoder| encoder.array(items.len() as u64).map(drop));
    items.iter().for_each(|item| write(bytes, item));
}

fn put_source(bytes: &mut Vec<u8>, (text, file, line): &(String, String, u32)) {
    put(bytes, |encoder| encoder.array(3)?.str(text)?.str(file)?.u32(*line).map(drop));
}

fn interface_map(interface: &Interface, part: Part) -> Vec<u8> {
    use canonical::interface as key;
    let mut map = Map::default();
    if part == Part::Whole {
        map.text(key::MODULE, &interface.module);
        map.text(key::NAME, &interface.name);
        map.list(key::ALIASES, &interface.aliases, |body, alias| put_text(body, alias));
        map.text(key::DOC, &interface.doc);
    }
    map.list(key::STRUCTS, &interface.structs, |body, structure| {
        body.extend(struct_map(structure, part))
    });
    map.list(key::PARAMETERS, &interface.parameters, |body, one| {
        body.extend(parameter_map(one, part))
    });
    map.flag(key::IDEMPOTENT, interface.idempotent);
    if part == Part::Whole {
        map.option(key::COMPLEXITY, interface.complexity.as_ref(), put_expression);
        map.option(key::PROCESSORS, interface.processors.as_ref(), put_expression);
        map.text(key::CLASS, &interface.class);
        map.text(key::CLASS_DOC, &interface.class_doc);
        map.text(key::RESOURCES, &interface.resources.to_string());
    }
    map.finish()
}

fn struct_map(structure: &StructType, part: Part) -> Vec<u8> {
    use canonical::structure as key;
    let field_map = |field: &Field| {
        let mut map = Map::default();
        map.text(key::NAME, name_for(&field.name, part));
        map.number(key::ELEMENT, element_code(field.element));
        map.number(key::COUNT, field.count.into());
        map.finish()
    };
    let mut map = Map::default();
    map.text(key::NAME, name_for(&structure.name, part));
    map.list(key::FIELDS, &structure.fields, |body, field| body.extend(field_map(field)));
    map.finish()
}

/// Names are no part of the contract.
fn name_for(name: &str, part: Part) -> &str {
    if part == Part::Whole { name } else { "" }
}

fn element_code(element: ElementType) -> u64 {
    match element {
        ElementType::Struct(index) => STRUCT_BASE + u64::from(index),
        _ => element.code(),
    }
}

fn parameter_map(parameter: &Parameter, part: Part) -> Vec<u8> {
    use canonical::parameter as key;
    let mut map = Map::default();
    map.text(key::NAME, name_for(&parameter.name, part));
    map.number(key::MODE, parameter.mode.code());
    map.number(key::ELEMENT, element_code(parameter.element));
    match &parameter.shape {
        Shape::Scalar => {}
        // These two are written even when empty: their presence tells the shape.
        Shape::Array { dimensions, order } => {
            put_list(map.key(key::DIMENSIONS), dimensions, |body, one| {
                body.extend(dimension_map(one))
            });
            map.flag(key::COLUMN, *order == Order::Column);
        }
        Shape::Callback { parameters } => {
            put_list(map.key(key::CALLBACK), parameters, |body, one| {
                body.extend(parameter_map(one, part))
            });
        }
    }
    map.option(key::WHEN, parameter.when.as_ref(), put_expression);
    map.option(key::DEFAULT, parameter.default.as_ref(), put_expression);
    map.flag(key::CONSTANT, parameter.constant);
    if part == Part::Whole {
        map.text(key::DOC, &parameter.doc);
        map.text(key::UNIT, &parameter.unit);
        map.option(key::DOMAIN, parameter.domain.as_ref(), put_domain);
        map.flag(key::WIDE, parameter.wide);
        map.flag(key::STREAM, parameter.stream);
        map.flag(key::LOGICAL, parameter.logical);
        map.flag(key::RETURNED, parameter.returned);
        if let Some(routines) = parameter.captured {
            map.number(key::CAPTURED, routines.into());
        }
    }
    if part != Part::Contract {
        map.option(key::GIVEN, parameter.given.as_ref(), put_expression);
    }
    map.finish()
}

/// Text for a set of characters; anything else is a condition.
fn put_domain(bytes: &mut Vec<u8>, domain: &Domain) {
    match domain {
        Domain::Characters(characters) => put_text(bytes, characters),
        Domain::Condition(condition) => put_expression(bytes, condition),
    }
}

fn dimension_map(dimension: &Dimension) -> Vec<u8> {
    use canonical::dimension as key;
    let mut map = Map::default();
    put_expression(map.key(key::SIZE), &dimension.size);
    map.option(key::START, dimension.start.as_ref(), put_expression);
    map.option(key::END, dimension.end.as_ref(), put_expression);
    map.option(key::STRIDE, dimension.stride.as_ref(), put_expression);
    map.finish()
}

fn put_expression(bytes: &mut Vec<u8>, expression: &Expression) {
    let mut head = |kind: u64, length: u64, more: Option<u64>| {
        put(bytes, |encoder| {
            encoder.array(length)?.u64(kind)?;
            more.map_or(Ok(()), |number| encoder.u64(number).map(drop))
        });
    };
    match expression {
        Expression::Integer(value) => put(bytes, |encoder| encoder.i64(*value).map(drop)),
        Expression::Real(value) => put_real(bytes, *value),
        Expression::Parameter(index) => head(node::PARAMETER, 2, Some((*index).into())),
        Expression::Element(index, element) => {
            head(node::ELEMENT, 3, Some((*index).into()));
            put_expression(bytes, element);
        }
        Expression::Unary(operator, operand) => {
            head(node::UNARY, 3, Some(operator.code()));
            put_expression(bytes, operand);
        }
        Expression::Binary(operator, left, right) => {
            head(node::BINARY, 4, Some(operator.code()));
            put_expression(bytes, left);
            put_expression(bytes, right);
        }
        Expression::Select(condition, then, otherwise) => {
            head(node::SELECT, 4, None);
            [condition, then, otherwise].into_iter().for_each(|one| put_expression(bytes, one));
        }
        Expression::Call(function, arguments) => {
            head(node::CALL, 2 + arguments.len() as u64, Some(function.code()));
            arguments.iter().for_each(|argument| put_expression(bytes, argument));
        }
    }
}

/// The shortest float that holds the value, as deterministic CBOR demands: 16, 32 or 64 bits.
fn put_real(bytes: &mut Vec<u8>, value: f64) {
    if let Some(half) = half_from(value) {
        bytes.push(0xf9);
        bytes.extend(half.to_be_bytes());
    } else if f64::from(value as f32) == value {
        put(bytes, |encoder| encoder.f32(value as f32).map(drop));
    } else {
        put(bytes, |encoder| encoder.f64(value).map(drop));
    }
}

/// The bits of the half-precision number that equals `value`, if there is one.
pub(crate) fn half_from(value: f64) -> Option<u16> {
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let magnitude = value.abs();
    if magnitude == 0.0 {
        return Some(sign);
    }
    if !(2.0_f64.powi(-24)..65536.0).contains(&magnitude) {
        return None;
    }
    // Normal numbers have exponents from -14; below that the step stays 2^-24.
    let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(-14);
    let steps = magnitude / 2.0_f64.powi(exponent - 10);
    if steps.fract() != 0.0 {
        return None;
    }
    let bits = ((exponent + 14) << 10) + steps as i32;
    Some(sign | u16::try_from(bits).ok()?)
}

fn routine_map(routine: &Routine) -> Vec<u8> {
    use canonical::routine as key;
    let mut map = Map::default();
    map.key(key::INTERFACE).extend(interface_map(&routine.interface, Part::Whole));
    map.key(key::IMPLEMENTATION).extend(implementation_map(routine));
    map.finish()
}

fn implementation_map(Routine { interface, implementation }: &Routine) -> Vec<u8> {
    use canonical::implementation as key;
    let mut map = Map::default();
    map.number(key::LANGUAGE, implementation.language.code());
    map.number(key::STRINGS, implementation.strings.code());
    match &implementation.code {
        Code::Symbol { symbol, arguments, result } => {
            put_text(map.key(key::SYMBOL), symbol);
            put_list(map.key(key::ARGUMENTS), arguments, |body, index| {
                put(body, |encoder| encoder.u64(*index as u64).map(drop));
            });
            map.option(key::RESULT, result.as_ref(), |body, index| {
                put(body, |e| e.u64(*index as u64).map(drop))
            });
        }
        Code::Body { text, file, line } => {
            put(map.key(key::BODY), |encoder| {
                encoder.array(3)?.str(text)?.str(file)?.u32(*line).map(drop)
            });
        }
    }
    map.list(key::REQUIRED, &implementation.required, |body, text| put_text(body, text));
    map.text(key::BACKEND, &implementation.backend);
    map.list(key::DISTRIBUTION, &implementation.distribution, |body, word| {
        put(body, |encoder| encoder.u64(word.code()).map(drop));
    });
    map.flag(key::RETURNING_CALLBACKS, interface.has_returning_callbacks());
    map.flag(key::GIVEN_ARRAYS, interface.parameters.iter().any(|one| one.given.is_some()));
    map.finish()
}

fn class_map(class: &Class) -> Vec<u8> {
    use canonical::class as key;
    let mut map = Map::default();
    map.text(key::NAME, &class.name);
    map.text(key::DOC, &class.doc);
    map.option(key::STATE, class.state.as_ref(), put_source);
    map.list(key::METHODS, &class.methods, |body, routine| body.extend(routine_map(routine)));
    map.list(key::REQUIRED, &class.required, |body, text| put_text(body, text));
    map.text(key::BACKEND, &class.backend);
    map.number(key::LANGUAGE, class.language.code());
    map.finish()
}
