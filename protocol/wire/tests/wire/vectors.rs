//! `spec/vectors/wire.json` and `wire.txt` say what these bytes are; FARCALL_REWRITE=1 writes them
//! again.

use std::path::PathBuf;

use farcall_base::ErrorKind;
use farcall_wire::*;
use minicbor::data::Type;
use serde_json::{Map, Value, json};

use crate::body::{Body, frame, read_all};
use crate::malformed::{Malformed, malformed};
use crate::samples::{Sample, samples};

fn path(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../spec/vectors")).join(name)
}

/// Compares with the file, or writes it.
fn check(name: &str, text: &str) {
    if std::env::var_os("FARCALL_REWRITE").is_some() {
        std::fs::write(path(name), text).unwrap();
    }
    let kept = std::fs::read_to_string(path(name)).unwrap_or_default();
    assert!(
        kept == text,
        "{name} differs; read `git diff` after FARCALL_REWRITE=1 cargo test -p farcall-wire vectors"
    );
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
        .collect()
}

/// CBOR as JSON: map keys become text, byte strings `{"bytes": hex}`.
fn to_json(input: &mut minicbor::Decoder) -> Value {
    match input.datatype().unwrap() {
        Type::Bool => input.bool().unwrap().into(),
        Type::Null => input.null().map(|()| Value::Null).unwrap(),
        Type::U8 | Type::U16 | Type::U32 | Type::U64 => input.u64().unwrap().into(),
        Type::F64 => input.f64().unwrap().into(),
        Type::String => input.str().unwrap().into(),
        Type::Bytes => json!({ "bytes": hex(input.bytes().unwrap()) }),
        Type::Array => (0..input.array().unwrap().unwrap()).map(|_| to_json(input)).collect(),
        Type::Map => {
            let count = input.map().unwrap().unwrap();
            Value::Object(
                (0..count)
                    .map(|_| (input.u64().unwrap().to_string(), to_json(input)))
                    .collect::<Map<_, _>>(),
            )
        }
        other => panic!("the schema has no {other}"),
    }
}

fn bytes_of(sample: &Sample) -> Vec<u8> {
    frame(sample.header, &sample.body.encode())
}

fn describe(sample: &Sample) -> Value {
    let body = sample.body.encode();
    let message = match &sample.body {
        Body::Data(bytes) => json!({ "bytes": hex(bytes) }),
        Body::Empty(_) => Value::Null,
        _ => to_json(&mut minicbor::Decoder::new(&body)),
    };
    json!({
        "name": sample.name,
        "means": sample.means,
        "frame": {
            "kind": sample.header.kind,
            "flags": sample.header.flags.0,
            "slot": sample.header.slot,
            "channel": sample.header.channel.0,
            "sequence": sample.header.sequence,
            "length": body.len(),
        },
        "message": message,
        "hex": hex(&bytes_of(sample)),
    })
}

fn describe_malformed(malformed: &Malformed) -> Value {
    json!({
        "name": format!("malformed/{}", malformed.name),
        "why": malformed.why,
        "error": malformed.error.name(),
        "hex": hex(&malformed.stream),
    })
}

/// The deep ones would fill the file; their tests make them again.
fn fits_a_file(malformed: &Malformed) -> bool {
    malformed.stream.len() < 1000
}

#[test]
fn json() {
    let mut list: Vec<Value> = samples().iter().map(describe).collect();
    list.extend(malformed().iter().filter(|one| fits_a_file(one)).map(describe_malformed));
    check("wire.json", &(serde_json::to_string_pretty(&list).unwrap() + "\n"));
}

/// For readers without JSON: one line a frame, header fields in their order, then all its bytes.
#[test]
fn text() {
    let line = |sample: &Sample| {
        let FrameHeader { kind, flags, slot, channel, sequence, .. } = sample.header;
        let length = sample.body.encode().len();
        let bytes = hex(&bytes_of(sample));
        format!("{} {kind} {} {slot} {channel} {sequence} {length} {bytes}\n", sample.name, flags.0)
    };
    let head =
        "# name kind flags slot channel sequence length hex; made from wire.json's samples\n";
    check("wire.txt", &(head.to_owned() + &samples().iter().map(line).collect::<String>()));
}

/// The file's bytes, not the encoder's, are read here: a change of both at once would show.
#[test]
fn the_file_reads_as_the_samples() {
    let list: Vec<Value> =
        serde_json::from_str(&std::fs::read_to_string(path("wire.json")).unwrap()).unwrap();
    let bytes = |name: &str| {
        let vector = list.iter().find(|vector| vector["name"] == name).expect(name);
        unhex(vector["hex"].as_str().unwrap())
    };
    let hello = bytes("hello/client");
    for sample in samples() {
        let stream = [&PREFACE[..], &hello, &bytes(sample.name)].concat();
        let frames = read_all(&stream).unwrap();
        let (header, body) = frames.last().unwrap();
        assert_eq!(body, &sample.body, "{}", sample.name);
        assert_eq!(FrameHeader { length: 0, ..*header }, sample.header, "{}", sample.name);
    }
    for vector in list.iter().filter(|vector| !vector["error"].is_null()) {
        let error = read_all(&unhex(vector["hex"].as_str().unwrap())).unwrap_err();
        assert_eq!(error.kind().name(), vector["error"], "{}", vector["name"]);
    }
}

#[test]
fn every_frame_kind_and_error_named_here_exists() {
    let kinds: std::collections::BTreeSet<u8> =
        samples().iter().map(|sample| sample.header.kind).collect();
    assert_eq!(
        kinds.into_iter().collect::<Vec<_>>(),
        (1..=15).collect::<Vec<_>>(),
        "a kind has no vector"
    );
    assert!(malformed().iter().any(|one| one.error == ErrorKind::Version));
}
