//! NumPy files: round trips, what NumPy itself wrote, hostile headers, and damage at random.

#![allow(clippy::unwrap_used)]

use farcall_base::{Random, SeededRandom};

use super::*;
use crate::any_shape;

fn file(header: &str, elements: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&u16::try_from(header.len()).unwrap().to_le_bytes());
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend_from_slice(elements);
    bytes
}

fn parse(bytes: &[u8]) -> Result<Data> {
    read(&mut &*bytes, bytes.len() as u64, &any_shape)
}

fn written(data: &Data) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&mut bytes, data).unwrap();
    bytes
}

#[test]
fn numbers_of_16_bits_are_read_as_32() {
    let halves =
        [0x0000, 0x3c00, 0xc000, 0x7bff, 0x0400, 0x0001, 0x3555, 0x7c00, 0xfc00, 0x8000_u16];
    let singles = [
        0.0,
        1.0,
        -2.0,
        65504.0,
        6.103_515_6e-5,
        5.960_464_5e-8,
        0.333_251_95,
        f32::INFINITY,
        -f32::INFINITY,
        -0.0,
    ];
    for (order, bytes) in [('<', halves.map(u16::to_le_bytes)), ('>', halves.map(u16::to_be_bytes))]
    {
        let header = format!("{{'descr': '{order}f2', 'fortran_order': False, 'shape': (10,)}}");
        let data = parse(&file(&header, bytes.as_flattened())).unwrap();
        assert_eq!((data.element, &data.shape[..]), (ElementType::Float32, &[10][..]));
        assert_eq!(data.bytes, singles.map(f32::to_ne_bytes).as_flattened());
        assert!(parse(&file(&header, &[0; 40])).is_err(), "its length is that of 16 bits");
    }
    assert!(single(0x7e01).is_nan());
}

#[test]
fn every_type_and_shape_comes_back() {
    let shapes: [&[u64]; 5] = [&[], &[3], &[2, 3], &[0, 4], &[2, 1, 2]];
    for element in [
        ElementType::Int8,
        ElementType::UInt8,
        ElementType::Int16,
        ElementType::UInt16,
        ElementType::Int32,
        ElementType::UInt32,
        ElementType::Int64,
        ElementType::UInt64,
        ElementType::Float32,
        ElementType::Float64,
        ElementType::Complex64,
        ElementType::Complex128,
        ElementType::Char,
    ] {
        for (shape, order) in
            shapes.iter().flat_map(|shape| [(shape, Order::Row), (shape, Order::Column)])
        {
            let count = bytes_of(shape, element).unwrap();
            let bytes = (0..count).map(|byte| byte as u8).collect();
            let data = Data { element, shape: shape.to_vec(), order, bytes, decimal: false };
            let file = written(&data);
            assert_eq!((file.len() as u64 - count) % 64, 0, "elements are aligned");
            assert_eq!(parse(&file).unwrap(), data);
        }
    }
}

#[test]
fn what_numpy_wrote_is_read() {
    // numpy.save of numpy.asfortranarray([[1, 2], [3, 4]]) as '>i2', of version 2 and with its keys
    // in another order.
    let header = "{'shape': (2, 2), 'fortran_order': True, 'descr': '>i2'}  \n";
    let mut bytes = b"\x93NUMPY\x02\x00".to_vec();
    bytes.extend_from_slice(&u32::try_from(header.len()).unwrap().to_le_bytes());
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend_from_slice(&[0, 1, 0, 3, 0, 2, 0, 4]);
    let data = parse(&bytes).unwrap();
    assert_eq!(
        (data.element, data.order, data.shape),
        (ElementType::Int16, Order::Column, vec![2, 2])
    );
    assert_eq!(data.bytes, [1_i16, 3, 2, 4].map(i16::to_ne_bytes).concat());
    // Complex numbers are swapped by halves.
    let swapped = file(
        "{'descr': '>c8', 'fortran_order': False, 'shape': ()}",
        &[0x3f, 0x80, 0, 0, 0x40, 0, 0, 0],
    );
    assert_eq!(parse(&swapped).unwrap().bytes, [1.0_f32, 2.0].map(f32::to_ne_bytes).concat());
}

#[test]
fn hostile_files_are_refused_with_a_reason() {
    let good = "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}";
    let header = |from: &str, to: &str| file(&good.replace(from, to), &[0; 8]);
    let cases: Vec<(Vec<u8>, &str)> = vec![
        // Nothing, and a beginning of something.
        (Vec::new(), "truncated"),
        (b"\x93NUMPY\x01".to_vec(), "truncated"),
        // A zip archive of arrays (.npz) under the wrong name.
        (b"PK\x03\x04 and more".to_vec(), "does not start"),
        (b"\x93NUMPY\x09\x00\x00\x00".to_vec(), "version 9"),
        // A header of 4 GiB.
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff".to_vec(), "limit"),
        // A header longer than the file.
        (b"\x93NUMPY\x01\x00\xff\x00{}".to_vec(), "truncated"),
        // More elements than the file has, and fewer.
        (header("(1,)", "(2,)"), "length"),
        (header("(1,)", "(0,)"), "length"),
        // Terabytes, and a product that overflows to something small.
        (header("(1,)", "(1099511627776,)"), "16 GiB"),
        (header("(1,)", "(4294967296, 4294967296)"), "16 GiB"),
        // An extent beyond 64 bits, a negative one, none between commas.
        (header("(1,)", "(99999999999999999999,)"), "not a number"),
        (header("(1,)", "(-1,)"), "not a number"),
        (header("(1,)", "(,)"), "not a number"),
        (header("(1,)", &format!("({})", "1,".repeat(40))), "dimensions"),
        // Executable content: pickled objects.
        (header("<f8", "|O"), "objects"),
        (header("'<f8'", "[('x', '<f8')]"), "records"),
        (header("<f8", "<U4"), "no routine accepts"),
        (header("False", "Maybe"), "True or False"),
        (header("'fortran_order': False, ", ""), "lacks"),
        (header("'shape'", "'shapes'"), "unknown key"),
        (header("(1,)}", "(1,)"), "expected"),
        (header("(1,)}", "(1,)} + 1"), "extra data"),
        (header("'descr'", "descr"), "malformed"),
        (file("{'descr", &[]), "within a string"),
        (file("\u{93}", &[]), "expected"),
    ];
    for (bytes, reason) in cases {
        let error = parse(&bytes).unwrap_err().to_string();
        assert!(error.contains(reason), "{error} should say \"{reason}\"");
    }
    // Latin-1 in the header is no text for us.
    let mut bytes = file("{'descr'", &[]);
    bytes[12] = 0xff;
    assert!(parse(&bytes).unwrap_err().to_string().contains("not text"));
}

#[test]
fn damage_at_random_never_panics() {
    let mut random = SeededRandom::new(7);
    let data = Data {
        element: ElementType::Float64,
        shape: vec![2, 3],
        order: Order::Column,
        bytes: vec![1; 48],
        decimal: false,
    };
    let whole = written(&data);
    for _ in 0..20_000 {
        let mut bytes = whole.clone();
        for _ in 0..1 + random.next() % 4 {
            let place = (random.next() % bytes.len() as u64) as usize;
            bytes[place] = random.next() as u8;
        }
        bytes.truncate((random.next() % (2 * bytes.len() as u64)) as usize);
        if let Ok(data) = parse(&bytes) {
            assert_eq!(data.bytes.len() as u64, bytes_of(&data.shape, data.element).unwrap());
        }
    }
}
