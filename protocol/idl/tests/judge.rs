//! What must hold of any text and any bytes that are taken for an interface: asked by the loops with
//! fixed seeds, and by the fuzz targets of `tests/fuzz`, which include this file.

use farcall_base::{Bytes, Random, SeededRandom};
use farcall_idl::decode::{decode_interface, decode_module};
use farcall_idl::encode::{call_hash, contract_hash, encode_interface, encode_module};
use farcall_idl::interface::{Interface, Mode, Parameter};
use farcall_idl::layout::{ParameterLayout, resolve};
use farcall_idl::values::ByteValues;
use farcall_idl::{DIAGNOSTICS_MAX, Dialect, compile_as, needs_preprocessor};

/// Compiles and checks what must hold for any text; true if the text is valid.
pub fn text(text: &str) -> bool {
    needs_preprocessor(text);
    text_in(Dialect::NinfG, text);
    text_in(Dialect::Farcall, text)
}

/// The same in one dialect.
fn text_in(dialect: Dialect, text: &str) -> bool {
    match compile_as(dialect, "fuzz.idl", text) {
        Ok(compiled) => {
            assert!(compiled.warnings.len() <= DIAGNOSTICS_MAX, "{text}");
            for routine in &compiled.module.routines {
                routine.interface.validate().unwrap();
                let bytes = encode_interface(&routine.interface);
                assert_eq!(decode_interface(&bytes).unwrap(), routine.interface);
            }
            true
        }
        Err(diagnostics) => {
            assert!((1..=DIAGNOSTICS_MAX).contains(&diagnostics.list().len()), "{text}");
            let rendered = diagnostics.to_string();
            assert!(
                rendered.len() < DIAGNOSTICS_MAX * 3000,
                "{} bytes about {text}",
                rendered.len()
            );
            false
        }
    }
}

/// Decodes an interface, encodes it again, and uses it with values that `random` gives; whether the
/// bytes were one.
pub fn interface(random: &mut SeededRandom, bytes: &[u8]) -> bool {
    let Ok(interface) = decode_interface(bytes) else { return false };
    assert_eq!(decode_interface(&encode_interface(&interface)).unwrap(), interface);
    exercise(random, &interface);
    true
}

/// Decodes a module and encodes it again; whether the bytes were one.
pub fn module(bytes: &[u8]) -> bool {
    let Ok(module) = decode_module(bytes) else { return false };
    assert_eq!(decode_module(&encode_module(&module)).unwrap(), module);
    true
}

/// Values that the seed chooses, extreme ones among them.
fn random_bytes(random: &mut SeededRandom, interface: &Interface) -> Vec<Option<Vec<u8>>> {
    let draw = |random: &mut SeededRandom| match random.next() % 6 {
        0 => i64::MAX,
        1 => -1,
        2 => 0,
        _ => (random.next() % 100) as i64,
    };
    let mut one = |_: &Parameter| {
        let words: Vec<u8> = (0..4).flat_map(|_| draw(random).to_ne_bytes()).collect();
        (!random.next().is_multiple_of(8)).then_some(words)
    };
    interface.parameters.iter().map(&mut one).collect()
}

/// Uses everything a decoded interface offers; nothing may panic, and what comes out keeps its
/// bounds.
fn exercise(random: &mut SeededRandom, interface: &Interface) {
    let bytes = random_bytes(random, interface);
    let slices: Vec<_> = bytes.iter().map(Option::as_deref).collect();
    let values = ByteValues::new(interface, slices);
    let limit = Bytes(1 << 24);
    let is_conditional = interface.parameters.iter().any(|one| one.given.is_some());
    assert_eq!(call_hash(interface) != contract_hash(interface), is_conditional);
    let _ = interface.complexity.as_ref().map(|complexity| complexity.evaluate_real(&values));
    if let Ok(layout) = resolve(interface, &values, limit) {
        for (declared, parameter) in interface.parameters.iter().zip(&layout.parameters) {
            if let ParameterLayout::Array(array) = parameter {
                assert!(array.is_given || declared.given.is_some() && declared.mode == Mode::InOut);
                let total: u64 = array
                    .runs()
                    .take(10_000)
                    .map(|(offset, length)| {
                        assert!(offset + length <= array.full_bytes);
                        length
                    })
                    .sum();
                assert!(
                    total <= array.transfer_bytes
                        && array.transfer_bytes <= array.full_bytes
                        && array.full_bytes <= limit.0
                );
            }
        }
    }
}
