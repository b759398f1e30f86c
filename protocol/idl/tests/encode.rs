//! Canonical encoding: round trip, hostile bytes with their reasons, fuzz, contract hash.

use crate::fixture::*;
use crate::judge;
use farcall_base::{ErrorKind, Random, SeededRandom};
use farcall_idl::decode::{decode_interface, decode_module};
use farcall_idl::encode::{call_hash, contract_hash, encode_interface, encode_module};
use farcall_idl::expression::Expression;
use farcall_idl::interface::{
    Class, Code, Distribution, Domain, ElementType, Implementation, Interface, Language, Module,
    Parameter, Routine, Shape, StringConvention,
};

fn routine(interface: Interface, code: Code) -> Routine {
    let implementation = Implementation {
        language: Language::Fortran,
        strings: StringConvention::After,
        code,
        required: vec!["x.o".into()],
        backend: "MPI".into(),
        distribution: vec![Distribution::Root, Distribution::Allocate, Distribution::Broadcast],
    };
    Routine { interface, implementation }
}

fn module() -> Module {
    let symbol = |arguments| Code::Symbol { symbol: "dgesv_".into(), arguments, result: Some(2) };
    let body = Code::Body { text: "r[0] = 1;".into(), file: "a.idl".into(), line: 7 };
    let class = Class {
        name: "counter".into(),
        doc: "counts".into(),
        state: Some(("int count;".into(), "a.idl".into(), 9)),
        methods: vec![routine(interface("add", vec![int("n")]), body.clone())],
        required: Vec::new(),
        backend: "normal".into(),
        language: Language::Cpp,
    };
    Module {
        name: "test".into(),
        routines: vec![routine(dgesv(), symbol(vec![7, 0, 1])), routine(medley(), body)],
        classes: vec![class],
        libraries: vec!["libopenblas.so.0".into()],
        globals: vec![("#include <math.h>".into(), "a.idl".into(), 3)],
        compile_options: vec!["-O2".into()],
        compiler: Some("gcc".into()),
        linker: None,
        executables_max: 0,
    }
}

#[test]
fn interfaces_survive_the_round_trip() {
    for interface in all() {
        let bytes = encode_interface(&interface);
        assert_eq!(decode_interface(&bytes).unwrap(), interface);
    }
}

#[test]
fn modules_survive_the_round_trip() {
    let module = module();
    assert_eq!(decode_module(&encode_module(&module)).unwrap(), module);
}

#[test]
fn constants_survive_in_their_shortest_form() {
    let reals = [
        0.0,
        -0.0,
        1.0,
        65504.0,
        65536.0,
        5.960_464_477_539_063e-8,
        0.1,
        1e300,
        3.5e-5,
        1.0 / 3.0,
        f64::MIN_POSITIVE,
        16_777_217.0,
    ];
    for value in reals {
        let with =
            Interface { complexity: Some(Expression::Real(value)), ..interface("f", vec![]) };
        let back = decode_interface(&encode_interface(&with)).unwrap();
        let Some(Expression::Real(read)) = back.complexity else {
            panic!("{value} became another constant")
        };
        assert_eq!(read.to_bits(), value.to_bits(), "{value}");
    }
    for value in [0, 23, 24, -1, -24, -25, 255, 256, 65536, i64::MAX, i64::MIN] {
        let with = Interface { complexity: Some(i(value)), ..interface("f", vec![]) };
        assert_eq!(decode_interface(&encode_interface(&with)).unwrap(), with, "{value}");
    }
    // 1.0 as a half: 0xf93c00, not nine bytes.
    let one = Interface { complexity: Some(Expression::Real(1.0)), ..interface("f", vec![]) };
    assert!(encode_interface(&one).ends_with(&[0x08, 0xf9, 0x3c, 0x00]));
}

/// Bytes of `f()` in module `test`, for surgery: a3 01 64 "test" 02 61 "f" …
fn small(rest: &[u8], entries: u8) -> Vec<u8> {
    let mut bytes = vec![0xa0 + entries, 0x02, 0x61, b'f'];
    bytes.extend(rest);
    bytes
}

fn refused(bytes: &[u8], kind: ErrorKind, word: &str) {
    let error = decode_interface(bytes).unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(word), "{word:?} is not in: {error}");
}

#[test]
fn malformed_bytes_are_refused_for_the_right_reason() {
    use ErrorKind::{LimitExceeded, Protocol};
    assert!(decode_interface(&small(&[], 1)).is_ok());
    // Nothing at all.
    refused(&[], Protocol, "end too early");
    // No map: an array.
    refused(&[0x80], Protocol, "");
    // Bytes behind the end could smuggle a second reading.
    refused(&small(&[0x00], 1), Protocol, "follow the end");
    // The same key twice: two readers might pick different values.
    refused(&[0xa2, 0x02, 0x61, b'f', 0x02, 0x61, b'g'], Protocol, "repeated");
    // Keys out of order: the same interface with another hash.
    refused(&[0xa2, 0x07, 0xf5, 0x02, 0x61, b'f'], Protocol, "out of order");
    // Key 2 in two bytes instead of one.
    refused(&[0xa1, 0x18, 0x02, 0x61, b'f'], Protocol, "shortest");
    // A text of length 1 whose length takes two bytes.
    refused(&[0xa1, 0x02, 0x78, 0x01, b'f'], Protocol, "shortest");
    // A map, an array and a text of unknown length.
    refused(&[0xbf, 0x02, 0x61, b'f', 0xff], Protocol, "without a length");
    refused(&small(&[0x06, 0x9f, 0xff], 2), Protocol, "without a length");
    refused(&[0xa1, 0x02, 0x7f, 0x61, b'f', 0xff], Protocol, "");
    // A text that claims 2^62 bytes: nothing may be allocated on its word.
    refused(&[0xa1, 0x02, 0x7b, 0x40, 0, 0, 0, 0, 0, 0, 0], Protocol, "end too early");
    // 2^40 parameters, none of them there.
    refused(&small(&[0x06, 0x9b, 0, 0, 1, 0, 0, 0, 0, 0], 2), Protocol, "end too early");
    // No UTF-8.
    refused(&[0xa1, 0x02, 0x61, 0xff], Protocol, "");
    // 1.0 in 64 bits; infinity.
    refused(&small(&[0x08, 0xfb, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0], 2), Protocol, "shortest");
    refused(&small(&[0x08, 0xf9, 0x7c, 0x00], 2), Protocol, "infinite");
    // A million bytes of anything.
    refused(&vec![0x81; 1 << 20], LimitExceeded, "more than");
}

#[test]
fn malformed_interfaces_are_refused_for_the_right_reason() {
    use ErrorKind::{Protocol, Version};
    // `false` has no business here: it is the absence of the key.
    refused(&small(&[0x07, 0xf4], 2), Protocol, "omitting the key");
    // Key -1: a critical one of a later version.
    refused(&small(&[0x20, 0x00], 2), Version, "feature -1");
    // A parameter with mode 9.
    refused(&small(&[0x06, 0x81, 0xa2, 0x02, 0x09, 0x03, 0x05], 2), Protocol, "unknown mode 9");
    // A parameter without a type.
    refused(&small(&[0x06, 0x81, 0xa1, 0x02, 0x00], 2), Protocol, "type is missing");
    // Element type 300 = struct 44, of which there is none.
    refused(
        &small(&[0x06, 0x81, 0xa2, 0x02, 0x00, 0x03, 0x19, 0x01, 0x2c], 2),
        Protocol,
        "struct number 44",
    );
    // Complexity refers to parameter 7 of none.
    refused(&small(&[0x08, 0x82, 0x00, 0x07], 2), Protocol, "parameter number 7");
}

#[test]
fn malformed_domains_are_refused_for_the_right_reason() {
    use ErrorKind::Protocol;
    // Sets of characters that another reader would take for another set: lower case, one twice,
    // none, no ASCII.
    let limited = |domain: &[u8]| {
        small(&[&[0x06, 0x81, 0xa3, 0x02, 0x00, 0x03, 0x00, 0x0c], domain].concat(), 2)
    };
    assert!(decode_interface(&limited(b"\x62NT")).is_ok());
    refused(&limited(b"\x62Nt"), Protocol, "lower case");
    refused(&limited(b"\x62NN"), Protocol, "'N' twice");
    refused(&limited(b"\x60"), Protocol, "is empty");
    refused(&limited(b"\x62\xc3\xa9"), Protocol, "not a visible ASCII");
    // Neither text nor expression: true; and a condition on a parameter that does not exist.
    refused(&limited(&[0xf5]), Protocol, "");
    refused(&limited(&[0x82, 0x00, 0x01]), Protocol, "number 1, which does not exist");
    // A set of characters for an int; a domain of a result, which nobody could check before the
    // call.
    refused(
        &small(&[0x06, 0x81, 0xa3, 0x02, 0x00, 0x03, 0x05, 0x0c, 0x61, b'N'], 2),
        Protocol,
        "is not a character",
    );
    refused(
        &small(&[0x06, 0x81, 0xa3, 0x02, 0x01, 0x03, 0x00, 0x0c, 0x61, b'N'], 2),
        Protocol,
        "has a domain",
    );
}

#[test]
fn deep_nesting_is_refused_before_the_stack_ends() {
    // -(-(-(… thousands of levels.
    let mut deep = [0x83_u8, 0x02, 0x00].repeat(50_000);
    deep.push(0x01);
    refused(&small(&[&[0x08], deep.as_slice()].concat(), 2), ErrorKind::Protocol, "nests deeper");
    // The same inside an unknown key that is skipped: ends without overflowing the stack, one way
    // or the other.
    let skipped = [[0x81_u8].repeat(200_000), vec![0x00]].concat();
    let bytes = small(&[&[0x18, 0x63], skipped.as_slice()].concat(), 2);
    let _ = decode_interface(&bytes);
}

#[test]
fn unknown_optional_keys_are_skipped() {
    // Key 99 with a nested value.
    let bytes = small(&[0x18, 0x63, 0x82, 0x01, 0xa1, 0x00, 0x61, b'x'], 2);
    assert_eq!(decode_interface(&bytes).unwrap().name, "f");
}

#[test]
fn hash_changes_with_the_contract_and_only_with_it() {
    let base = dgesv();
    let hash = contract_hash(&base);
    let mut prose = base.clone();
    prose.doc = "other words".into();
    prose.name = "gesv".into();
    prose.module = "mine".into();
    prose.aliases.clear();
    prose.complexity = None;
    prose.parameters[0].name = "order".into();
    prose.parameters[0].unit = "1".into();
    // A domain decides whether a call is accepted. What travels is the same.
    prose.parameters[0].domain = Some(Domain::Condition(i(1)));
    // So does a name of its type.
    prose.parameters[0].wide = true;
    prose.parameters[0].logical = true;
    prose.parameters[0].returned = true;
    assert_eq!(contract_hash(&prose), hash);
    assert_eq!(call_hash(&prose), hash, "no array is given under a condition");
    let changes: [fn(&mut Interface); 6] = [
        |it| it.idempotent = false,
        |it| it.parameters[0].element = Int64,
        |it| it.parameters[2].mode = In,
        |it| it.parameters[3].default = Some(p(0)),
        |it| it.parameters[2].constant = true,
        |it| drop(it.parameters.pop()),
    ];
    for (index, change) in changes.into_iter().enumerate() {
        let mut changed = base.clone();
        change(&mut changed);
        assert_ne!(contract_hash(&changed), hash, "change {index}");
    }
}

#[test]
fn validation_finds_what_the_decoder_must_not_let_through() {
    let bad =
        |parameters: Vec<Parameter>| interface("f", parameters).validate().unwrap_err().to_string();
    assert!(bad(vec![scalar(Work, Int32, "lwork")]).contains("WORK scalar without a value"));
    assert!(bad(vec![array(In, Float64, "x", vec![])]).contains("without dimensions"));
    assert!(bad(vec![array(In, Float64, "x", vec![dim(p(1))])]).contains("number 1"));
    assert!(
        bad(vec![int("n"), with_default(int("m"), Expression::Element(0, Box::new(i(0))))])
            .contains("not an array")
    );
    let limited = |domain: Expression| allowed(int("n"), Domain::Condition(domain));
    // What a condition refers to must be there before anything else of the call: no array, no
    // result, no string.
    assert!(
        bad(vec![limited(p(1)), array(In, Int32, "m", vec![dim(i(1))])])
            .contains("something other")
    );
    assert!(
        bad(vec![limited(p(1)), scalar(In, ElementType::String, "s")]).contains("something other")
    );
    assert!(
        bad(vec![allowed(array(In, Int32, "m", vec![dim(i(1))]), Domain::Condition(i(1)))])
            .contains("only IN")
    );
    let callback = Shape::Callback { parameters: vec![limited(i(1))] };
    assert!(bad(vec![Parameter { shape: callback, ..int("f") }]).contains("domain or callback"));
    let valued = |value: Parameter, more: Vec<Parameter>| {
        let value = Parameter { returned: true, ..value };
        let parameters = more.into_iter().chain([value]).collect();
        bad(vec![Parameter { shape: Shape::Callback { parameters }, ..int("f") }])
    };
    let one = |mode, element| array(mode, element, "r", vec![dim(i(1))]);
    assert!(valued(int("r"), vec![]).contains("not one OUT number"));
    assert!(valued(one(InOut, Float64), vec![]).contains("not one OUT number"));
    assert!(valued(one(Out, ElementType::String), vec![]).contains("not one OUT number"));
    let twice = Parameter { returned: true, ..one(Out, Float64) };
    assert!(valued(one(Out, Float64), vec![twice]).contains("more than one value"));
    assert!(bad(vec![Parameter { returned: true, ..one(Out, Int32) }]).contains("outside"));
    assert!(bad((0..2000).map(|_| int("n")).collect()).contains("more than"));
}

#[test]
fn fuzz_of_encodings_never_panics_and_decodes_to_one_encoding() {
    let mut random = SeededRandom::new(0x1d1);
    let seeds: Vec<Vec<u8>> = all().iter().map(encode_interface).collect();
    let mut good = 0;
    let mut bad = 0;
    for _ in 0..farcall_golden::fuzz_rounds(30_000) {
        let mut bytes = seeds[(random.next() % seeds.len() as u64) as usize].clone();
        for _ in 0..1 + random.next() % 3 {
            let at = (random.next() % bytes.len() as u64) as usize;
            match random.next() % 4 {
                0 => bytes[at] = random.next() as u8,
                1 => bytes[at] ^= 1 << (random.next() % 8),
                2 => drop(bytes.remove(at)),
                _ => bytes.insert(at, random.next() as u8),
            }
        }
        *(if judge::interface(&mut random, &bytes) { &mut good } else { &mut bad }) += 1;
    }
    // Both ways must have been taken often, or the loop tests nothing.
    assert!(good > 1000 && bad > 1000, "{good} good, {bad} bad");
}

#[test]
fn fuzz_of_modules_never_panics() {
    let mut random = SeededRandom::new(0xe1);
    let seed = encode_module(&module());
    let mut good = 0;
    let mut bad = 0;
    for _ in 0..farcall_golden::fuzz_rounds(10_000) {
        let mut bytes = seed.clone();
        let at = (random.next() % bytes.len() as u64) as usize;
        match random.next() % 3 {
            0 => bytes[at] = random.next() as u8,
            1 => bytes.truncate(at),
            _ => bytes[at] ^= 1 << (random.next() % 8),
        }
        *(if judge::module(&bytes) { &mut good } else { &mut bad }) += 1;
    }
    assert!(good > 500 && bad > 500, "{good} good, {bad} bad");
    // A symbol called with parameter 200 of 8.
    let mut wrong = module();
    wrong.routines[0].implementation.code =
        Code::Symbol { symbol: "dgesv_".into(), arguments: vec![200], result: None };
    assert!(
        decode_module(&encode_module(&wrong))
            .unwrap_err()
            .to_string()
            .contains("parameter it lacks")
    );
}
