//! spec/vectors/interface.json: encodings, hashes and layouts that every implementation must agree
//! on.

use std::path::Path;

use crate::fixture::*;
use farcall_base::Bytes;
use farcall_idl::decode::decode_interface;
use farcall_idl::encode::{call_hash, contract_hash, encode_interface};
use farcall_idl::interface::{ElementType, Interface, Shape};
use farcall_idl::json::{hexadecimal, to_json};
use farcall_idl::layout::{ArrayLayout, ParameterLayout, resolve};
use farcall_idl::scalar::ScalarValue;
use farcall_idl::values::ByteValues;
use serde_json::{Value, json};

const LIMIT: Bytes = Bytes(1 << 30);

fn gesv(n: i64, nrhs: i64, lda: i64, ldb: i64) -> Value {
    json!({"n": n, "nrhs": nrhs, "lda": lda, "ldb": ldb})
}

/// Calls of the fixtures' interfaces: values of scalars, of small arrays and of strings.
fn cases() -> Vec<(Interface, Vec<Value>)> {
    let gesdd = |jobz: &str| json!({"jobz": jobz, "m": 5, "n": 3, "lda": 6, "ldu": 5, "ldvt": 3});
    let gemm = json!({"m": 2, "n": 3, "k": 4, "lda": 4, "ldb": 4, "ldc": 2, "transa": "T"});
    let dot = |n: i64, incx: i64| json!({"n": n, "incx": incx});
    let within = |trans: &str, k: i64| json!({"trans": trans, "n": 3, "k": k, "T": 1.0});
    let scaled = |beta: Value| match beta {
        Value::Null => json!({"m": 2, "n": 3, "ldc": 4}),
        beta => json!({"m": 2, "n": 3, "beta": beta, "ldc": 4}),
    };
    let huge = gesv(2_000_000_000, 1, 2_000_000_000, 2_000_000_000);
    let sizes = json!({"n": 5, "title": "hello", "sizes": [2, 4, 0]});
    vec![
        (
            dgesv(),
            vec![
                gesv(3, 2, 3, 3),
                gesv(3, 2, 5, 4),
                gesv(0, 1, 1, 1),
                gesv(-1, 1, 1, 1),
                gesv(3, 1, 2, 3),
                huge,
                gesv(20_000, 1, 20_000, 20_000),
            ],
        ),
        (dgemm(), vec![gemm]),
        (dgesdd(), vec![gesdd("N"), gesdd("S"), gesdd("A")]),
        (
            ddot(),
            vec![dot(4, -2), dot(i64::from(i32::MAX), i64::from(i32::MIN)), json!({"incx": 1})],
        ),
        (dsyev(), vec![json!({"n": 4, "lda": 4})]),
        (selection(), vec![json!({"n": 10})]),
        (medley(), vec![sizes]),
        (
            limited(),
            vec![within("N", 1), within("t", 3), within("X", 1), within("N", 0), within("N", 4)],
        ),
        (product(ElementType::Float64), vec![scaled(json!(0.0)), scaled(json!(-0.5))]),
        (
            product(ElementType::Complex128),
            vec![scaled(json!([0.0, 0.0])), scaled(json!([0.0, 1.0])), scaled(Value::Null)],
        ),
    ]
}

/// One parameter's bytes from JSON: a number, a letter, text, or an array of numbers.
fn bytes(element: ElementType, shape: &Shape, value: &Value) -> Vec<u8> {
    let one = |value: &Value| {
        if element == ElementType::Float64 {
            return value.as_f64().unwrap().to_ne_bytes().to_vec();
        }
        let mut bytes = vec![0; 16];
        let width = [1, 2, 4, 8].into_iter().find(|width| {
            ScalarValue::Integer(value.as_i64().unwrap())
                .write(element, &mut bytes[..*width])
                .is_ok()
        });
        bytes.truncate(width.expect("a number in range"));
        bytes
    };
    match value {
        Value::String(text) => text.as_bytes().to_vec(),
        Value::Array(parts) if element == ElementType::Complex128 => {
            parts.iter().flat_map(|part| part.as_f64().unwrap().to_ne_bytes()).collect()
        }
        Value::Array(values) if *shape != Shape::Scalar => values.iter().flat_map(one).collect(),
        number => one(number),
    }
}

fn array_json(array: &ArrayLayout) -> Value {
    let dimensions: Vec<Value> = array
        .dimensions
        .iter()
        .map(|d| json!([d.size, d.start, d.end, d.stride, d.count]))
        .collect();
    let runs: Vec<Value> = array.runs().map(|(offset, length)| json!([offset, length])).collect();
    let mut json = json!({
        "dimensions": dimensions,
        "element_bytes": array.element_bytes,
        "full_bytes": array.full_bytes,
        "transfer_bytes": array.transfer_bytes,
        "runs": runs,
    });
    if !array.is_given {
        json["given"] = false.into();
    }
    json!({"array": json})
}

/// What a call of `interface` with these values resolves to: its layout, or the kind of its error.
fn outcome(interface: &Interface, given: &Value) -> Value {
    let held: Vec<Option<Vec<u8>>> = interface
        .parameters
        .iter()
        .map(|p| given.get(&p.name).map(|value| bytes(p.element, &p.shape, value)))
        .collect();
    let values = ByteValues::new(interface, slices(&held));
    let layout = match resolve(interface, &values, LIMIT) {
        Ok(layout) => layout,
        Err(error) => return json!({"given": given, "error": error.kind().name()}),
    };
    let one = |layout: &ParameterLayout| match layout {
        ParameterLayout::Absent => json!("absent"),
        ParameterLayout::Scalar { bytes } => json!({"scalar": bytes}),
        ParameterLayout::Array(array) => array_json(array),
        ParameterLayout::Text => json!("text"),
        ParameterLayout::TextArray { count } => json!({"texts": count}),
        ParameterLayout::Callback => json!("callback"),
    };
    json!({"given": given, "layout": layout.parameters.iter().map(one).collect::<Vec<_>>()})
}

fn made() -> Value {
    let entry = |(interface, cases): (Interface, Vec<Value>)| {
        let mut entry = json!({
            "name": interface.name,
            "cbor_hex": hexadecimal(&encode_interface(&interface)),
            "contract_hash": hexadecimal(&contract_hash(&interface)),
            "json": to_json(&interface),
            "cases": cases.iter().map(|given| outcome(&interface, given)).collect::<Vec<_>>(),
        });
        if call_hash(&interface) != contract_hash(&interface) {
            entry["call_hash"] = hexadecimal(&call_hash(&interface)).into();
        }
        entry
    };
    json!({
        "about": "Compiled interfaces: canonical encoding, contract hash, the hash that calls are \
                  opened with where it is another, JSON, and the layout of calls with these values \
                  (spec/idl.md, sections 6 and 7). dimensions: size, \
                  start, end, stride, count; runs: offset, length.",
        "limit_bytes": LIMIT.0,
        "interfaces": cases().into_iter().map(entry).collect::<Vec<_>>(),
    })
}

#[test]
fn vectors_hold() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors/interface.json");
    if std::env::var_os("FARCALL_REWRITE").is_some() {
        std::fs::write(&path, serde_json::to_string_pretty(&made()).unwrap() + "\n").unwrap();
    }
    let text = std::fs::read_to_string(&path).expect("spec/vectors/interface.json");
    let file: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(file, made(), "run with FARCALL_REWRITE=1 if the change is meant");
    // The file alone is enough: from its bytes and values comes what it says.
    for entry in file["interfaces"].as_array().unwrap() {
        let hex = entry["cbor_hex"].as_str().unwrap();
        let bytes: Vec<u8> = (0..hex.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
            .collect();
        let interface = decode_interface(&bytes).unwrap();
        for case in entry["cases"].as_array().unwrap() {
            assert_eq!(outcome(&interface, &case["given"]), *case, "{}", interface.name);
        }
    }
}
