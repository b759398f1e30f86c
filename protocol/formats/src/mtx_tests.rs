//! Matrix Market files: every kind of matrix, hostile ones, and damage at random.

#![allow(clippy::unwrap_used)]

use farcall_base::{Random, SeededRandom};

use super::*;
use crate::any_shape;

fn reals(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

fn matrix(kind: &str, rest: &str) -> Result<Data> {
    read(&format!("%%MatrixMarket matrix {kind}\n% a comment\n\n{rest}"), &any_shape)
}

#[test]
fn dense_matrices_come_by_columns() {
    let data = matrix("array real general", "2 3\n1\n2\n3.5\n-4\n5e2\n6D-1\n").unwrap();
    assert_eq!((data.shape, data.order, data.decimal), (vec![2, 3], Order::Column, true));
    assert_eq!(data.bytes, reals(&[1.0, 2.0, 3.5, -4.0, 500.0, 0.6]));
    let symmetric = matrix("array real symmetric", "2 2\n1\n2\n3\n").unwrap();
    assert_eq!(symmetric.bytes, reals(&[1.0, 2.0, 2.0, 3.0]));
    let skew = matrix("array real skew-symmetric", "3 3\n1\n2\n3\n").unwrap();
    assert_eq!(skew.bytes, reals(&[0.0, 1.0, 2.0, -1.0, 0.0, 3.0, -2.0, -3.0, 0.0]));
    let hermitian = matrix("array complex Hermitian", "2 2\n1 0\n2 3\n4 0\n").unwrap();
    assert_eq!(hermitian.bytes, reals(&[1.0, 0.0, 2.0, 3.0, 2.0, -3.0, 4.0, 0.0]));
}

#[test]
fn sparse_matrices_become_dense() {
    let data = matrix("coordinate real general", "2 2 3\n1 1 4\n2 1 1.5\n1 1 1\n").unwrap();
    assert_eq!(data.bytes, reals(&[5.0, 1.5, 0.0, 0.0]), "entries of one place add up");
    let data = matrix("coordinate integer skew-symmetric", "2 2 1\n2 1 -9\n").unwrap();
    assert_eq!(data.element, ElementType::Int64);
    assert_eq!(data.bytes, [0_i64, -9, 9, 0].map(i64::to_ne_bytes).concat());
    let data = matrix("coordinate pattern symmetric", "2 2 1\n2 1\n").unwrap();
    assert_eq!(data.bytes, [0_i64, 1, 1, 0].map(i64::to_ne_bytes).concat());
}

#[test]
fn what_is_written_is_read() {
    let complex = Data {
        element: ElementType::Complex128,
        shape: vec![2, 2],
        order: Order::Row,
        bytes: reals(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 1e-300, 0.1]),
        decimal: false,
    };
    let mut text = Vec::new();
    write(&mut text, &complex).unwrap();
    let back = read(std::str::from_utf8(&text).unwrap(), &any_shape).unwrap();
    assert_eq!(back.bytes, reals(&[1.0, 2.0, 5.0, 6.0, 3.0, 4.0, 1e-300, 0.1]), "by columns now");
    let cube = Data { shape: vec![1, 1, 1], bytes: reals(&[1.0, 0.0]), ..complex };
    assert!(write(&mut Vec::new(), &cube).is_err());
}

#[test]
fn hostile_files_are_refused_with_a_reason() {
    let dense = "array real general";
    let sparse = "coordinate real general";
    let cases = [
        ("vector real general", "1 1\n1\n", "unknown format"),
        ("array quaternion general", "1 1\n1\n", "type of numbers"),
        // A dense matrix without values, and a real one that claims to be Hermitian.
        ("array pattern general", "1 1\n", "type of numbers"),
        ("array real hermitian", "1 1\n1\n", "symmetry"),
        (dense, "", "the file ends before"),
        (dense, "2\n", "two numbers"),
        (sparse, "2 2\n", "three numbers"),
        (dense, "-1 2\n", "two numbers"),
        (dense, "2 1\n1\n", "ends after 1 of 2"),
        (dense, "1 1\n1\n2\n", "more than"),
        (dense, "1 1\n1 2\n", "more than one entry"),
        (dense, "1 1\none\n", "not a number"),
        (dense, "1 1\n1e999\n", "too large for a double"),
        ("array complex general", "1 1\n1\n", "no value"),
        // A value and its sum beyond 64 bits.
        ("array integer general", "1 1\n9223372036854775808\n", "64-bit integer"),
        ("coordinate integer general", "1 1 2\n1 1 9223372036854775807\n1 1 1\n", "64 bits"),
        ("coordinate integer skew-symmetric", "2 2 1\n2 1 -9223372036854775808\n", "64 bits"),
        // Indexes start at 1 and end with the matrix.
        (sparse, "2 2 1\n0 1 1\n", "from 1 to 2"),
        (sparse, "2 2 1\n1 3 1\n", "from 1 to 2"),
        ("array real symmetric", "1 2\n", "rows"),
        ("coordinate real symmetric", "2 2 1\n1 2 1\n", "above the diagonal"),
        ("coordinate real skew-symmetric", "2 2 1\n1 1 1\n", "on the diagonal"),
        ("coordinate complex hermitian", "1 1 1\n1 1 1 1\n", "must be real"),
        // Twenty bytes that ask for exabytes, for an overflow, and for what a limit forbids.
        (sparse, "4000000000 4000000000 0\n", "4 GiB"),
        (sparse, "18446744073709551615 2 0\n", "too large"),
        (sparse, "30000 30000 0\n", "4 GiB"),
    ];
    for (kind, rest, reason) in cases {
        let error = matrix(kind, rest).unwrap_err().to_string();
        assert!(error.contains(reason), "{kind}: {error} should say \"{reason}\"");
        assert!(error.contains("line") || reason.contains("GiB"), "{error} names the line");
    }
    assert!(read("", &any_shape).is_err());
    assert!(read("1 2 3", &any_shape).unwrap_err().to_string().contains("does not start"));
}

#[test]
fn damage_at_random_never_panics() {
    let mut random = SeededRandom::new(11);
    let wholes = [
        "%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n",
        "%%MatrixMarket matrix coordinate complex hermitian\n3 3 2\n2 1 1 2\n3 3 1 0\n",
        "%%MatrixMarket matrix array integer skew-symmetric\n3 3\n1\n2\n3\n",
    ];
    for round in 0..20_000 {
        let mut bytes = wholes[round % wholes.len()].as_bytes().to_vec();
        for _ in 0..1 + random.next() % 3 {
            // Mostly in the numbers: a damaged first line is refused at once.
            let place = 30 + (random.next() % (bytes.len() as u64 - 30)) as usize;
            bytes[place] = b"0123456789 .-\n%e"[(random.next() % 16) as usize];
        }
        let Ok(text) = std::str::from_utf8(&bytes) else { continue };
        if let Ok(data) = read(text, &any_shape) {
            assert_eq!(data.bytes.len() as u64, bytes_of(&data.shape, data.element).unwrap());
        }
    }
}
