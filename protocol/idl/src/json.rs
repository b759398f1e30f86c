//! A compiled interface as JSON, for programs that are not ours. The keys are stable (spec/idl.md,
//! section 7).

use serde_json::{Map, Value, json};

use crate::encode::contract_hash;
use crate::expression::Expression;
use crate::idl::parameter_text;
use crate::interface::{Dimension, Domain, Field, Interface, Order, Parameter, Shape, StructType};
use crate::scope::Scope;
use crate::signature::{following, needed, positional_in, signature};

/// The interface as JSON. Keys whose value would be empty, false or absent are left out;
/// expressions are IDL text.
pub fn to_json(interface: &Interface) -> Value {
    let scope = interface.scope();
    let mut map = Map::new();
    let text = |expression: &Option<Expression>| {
        expression.as_ref().map(|e| scope.expression_text(e).into())
    };
    put(&mut map, "name", Some(interface.name.clone().into()));
    put(&mut map, "module", text_value(&interface.module));
    put(&mut map, "full_name", Some(interface.full_name().into()));
    put(&mut map, "class", text_value(&interface.class));
    put(&mut map, "class_doc", text_value(&interface.class_doc));
    put(&mut map, "aliases", list_value(&interface.aliases));
    put(&mut map, "doc", text_value(&interface.doc));
    put(&mut map, "signature", Some(signature(interface).into()));
    let parameters = &interface.parameters;
    put(&mut map, "positional", Some(names(parameters, &needed(interface)).into()));
    put(&mut map, "following", list_value(&names(parameters, &following(interface))));
    put(
        &mut map,
        "structs",
        list_value(&interface.structs.iter().map(struct_value).collect::<Vec<_>>()),
    );
    put(&mut map, "parameters", Some(parameter_values(scope)));
    put(&mut map, "idempotent", flag_value(interface.idempotent));
    put(&mut map, "complexity", text(&interface.complexity));
    put(&mut map, "processors", text(&interface.processors));
    put(&mut map, "resources", text_value(&interface.resources.to_string()));
    put(&mut map, "contract_hash", Some(hexadecimal(&contract_hash(interface)).into()));
    Value::Object(map)
}

/// Bytes as lower-case hexadecimal digits.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn put(map: &mut Map<String, Value>, key: &str, value: Option<Value>) {
    if let Some(value) = value {
        map.insert(key.to_owned(), value);
    }
}

fn text_value(text: &str) -> Option<Value> {
    (!text.is_empty()).then(|| text.into())
}

fn flag_value(flag: bool) -> Option<Value> {
    flag.then_some(Value::Bool(true))
}

fn list_value<T: Clone + Into<Value>>(list: &[T]) -> Option<Value> {
    (!list.is_empty()).then(|| list.to_vec().into())
}

fn names(parameters: &[Parameter], indexes: &[usize]) -> Vec<String> {
    indexes.iter().map(|index| parameters[*index].name.clone()).collect()
}

fn struct_value(structure: &StructType) -> Value {
    let fields: Vec<Value> = structure.fields.iter().map(field_value).collect();
    json!({
        "name": structure.name,
        "bytes": structure.size(),
        "alignment": structure.alignment(),
        "fields": fields,
    })
}

fn field_value(field: &Field) -> Value {
    json!({
        "name": field.name,
        "type": field.element.name(),
        "count": field.count,
        "offset": field.offset,
    })
}

fn parameter_values(scope: Scope<'_>) -> Value {
    scope.parameters.iter().map(|parameter| parameter_value(scope, parameter)).collect()
}

fn parameter_value(scope: Scope<'_>, parameter: &Parameter) -> Value {
    let text = |expression: &Option<Expression>| {
        expression.as_ref().map(|e| scope.expression_text(e).into())
    };
    let mut map = Map::new();
    put(&mut map, "name", Some(parameter.name.clone().into()));
    put(&mut map, "idl", Some(parameter_text(scope, parameter).into()));
    match &parameter.shape {
        Shape::Callback { parameters } => {
            let inner = Scope { parameters, structs: scope.structs };
            put(&mut map, "shape", Some("callback".into()));
            put(&mut map, "positional", Some(names(parameters, &positional_in(inner)).into()));
            put(&mut map, "parameters", Some(parameter_values(inner)));
        }
        shape => {
            put(&mut map, "mode", Some(parameter.mode.word().to_ascii_lowercase().into()));
            put(&mut map, "type", Some(scope.element_text(parameter.element).into()));
            put_shape(&mut map, scope, shape);
        }
    }
    put(&mut map, "when", text(&parameter.when));
    put(&mut map, "given", text(&parameter.given));
    put(&mut map, "default", text(&parameter.default));
    match &parameter.domain {
        Some(Domain::Characters(characters)) => put(&mut map, "among", text_value(characters)),
        Some(Domain::Condition(condition)) => {
            put(&mut map, "where", Some(scope.expression_text(condition).into()))
        }
        None => {}
    }
    put(&mut map, "constant", flag_value(parameter.constant));
    put(&mut map, "logical", flag_value(parameter.logical));
    put(&mut map, "returned", flag_value(parameter.returned));
    put(&mut map, "captured", flag_value(parameter.captured.is_some()));
    put(&mut map, "doc", text_value(&parameter.doc));
    put(&mut map, "unit", text_value(&parameter.unit));
    Value::Object(map)
}

fn put_shape(map: &mut Map<String, Value>, scope: Scope<'_>, shape: &Shape) {
    let Shape::Array { dimensions, order } = shape else {
        put(map, "shape", Some("scalar".into()));
        return;
    };
    put(map, "shape", Some("array".into()));
    let values: Vec<Value> =
        dimensions.iter().map(|dimension| dimension_value(scope, dimension)).collect();
    put(map, "dimensions", Some(values.into()));
    put(map, "order", Some(if *order == Order::Column { "column" } else { "row" }.into()));
}

fn dimension_value(scope: Scope<'_>, dimension: &Dimension) -> Value {
    let text = |expression: &Option<Expression>| {
        expression.as_ref().map(|e| scope.expression_text(e).into())
    };
    let mut map = Map::new();
    put(&mut map, "size", Some(scope.expression_text(&dimension.size).into()));
    put(&mut map, "start", text(&dimension.start));
    put(&mut map, "end", text(&dimension.end));
    put(&mut map, "stride", text(&dimension.stride));
    Value::Object(map)
}
