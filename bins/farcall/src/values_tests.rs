//! Values on the command line: every notation, mistakes with their reasons, and damage at random.

#![allow(clippy::unwrap_used)]

use farcall_base::{Random, SeededRandom};

use super::*;

fn of(element: ElementType) -> Parameter {
    let source = "Define f(IN int x) { }";
    let module = farcall_idl::compile("f.idl", source).unwrap();
    Parameter { element, ..module.routines[0].interface.parameters[0].clone() }
}

#[test]
fn truth_values_are_words_or_numbers() {
    let logical = Parameter { logical: true, ..of(ElementType::Int32) };
    let read = |text| inline(&logical, text).map(|data| (data.shape, data.bytes));
    let one = |value: i32| (vec![], value.to_ne_bytes().to_vec());
    for (text, value) in [("true", 1), ("False", 0), (".TRUE.", 1), ("1", 1), ("0", 0), ("5", 5)] {
        assert_eq!(read(text).unwrap(), one(value), "{text}");
    }
    assert_eq!(read("[true, false, 1]").unwrap().0, [3]);
    let error = read("yes").unwrap_err().to_string();
    assert!(error.contains("write true or false, 1 or 0"), "{error}");
    assert!(inline(&of(ElementType::Int32), "true").is_err());
}

fn reals(text: &str) -> (Vec<u64>, Vec<f64>) {
    let data = inline(&of(ElementType::Float64), text).unwrap();
    let numbers =
        data.bytes.chunks_exact(8).map(|one| f64::from_ne_bytes(one.try_into().unwrap())).collect();
    (data.shape, numbers)
}

#[test]
fn arrays_are_nested_lists() {
    assert_eq!(reals("3"), (vec![], vec![3.0]));
    assert_eq!(reals(" [1, 2.5 ,-3e2]"), (vec![3], vec![1.0, 2.5, -300.0]));
    assert_eq!(reals("[[1,2],[3,4],[5,6]]"), (vec![3, 2], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    assert_eq!(reals("[]"), (vec![0], vec![]));
    assert_eq!(reals("[[],[]]"), (vec![2, 0], vec![]));
    let (_, odd) = reals("[\"NaN\", \"-Infinity\", inf, 1D-2]");
    assert!(odd[0].is_nan());
    assert_eq!(odd[1..], [f64::NEG_INFINITY, f64::INFINITY, 0.01]);
}

#[test]
fn complex_numbers_are_written_as_in_python() {
    for (text, re, im) in [
        ("1+2j", 1.0, 2.0),
        ("-1e-3-2.5e+2j", -1e-3, -250.0),
        ("2j", 0.0, 2.0),
        ("-j", 0.0, -1.0),
        ("1-i", 1.0, -1.0),
        ("1e+5j", 0.0, 1e5),
        ("+.5-.5J", 0.5, -0.5),
    ] {
        assert_eq!(number(text).unwrap(), ScalarValue::Complex(re, im), "{text}");
    }
    assert_eq!(inline(&of(ElementType::Complex64), "[1+2j, 3]").unwrap().bytes.len(), 16);
}

#[test]
fn numbers_are_no_options() {
    let marked = |words: &[&str]| {
        let words = words.iter().map(OsString::from);
        marked_numbers(words)
            .iter()
            .map(|word| word.to_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let given = [
        "farcall", "call", "f", "-inf", "-nan", "-1+2j", "-j", "-3", "-.5e3", "--json", "-h",
        "x=-inf", "-",
    ];
    let expected = [
        "farcall", "call", "f", "\0-inf", "\0-nan", "\0-1+2j", "\0-j", "-3", "-.5e3", "--json",
        "-h", "x=-inf", "-",
    ];
    assert_eq!(marked(&given), expected);
    assert_eq!(
        marked(&["farcall", "check", "-inf"]),
        ["farcall", "check", "-inf"],
        "that is the name of a file"
    );
    assert_eq!(unmarked("\0-inf"), "-inf");
    assert_eq!(unmarked("-3"), "-3");
}

#[test]
fn mistakes_say_what_is_wrong() {
    let cases = [
        (ElementType::Float64, "", "missing"),
        (ElementType::Float64, "one", "\"one\" is not a number"),
        (ElementType::Float64, "[1, two]", "\"two\" is not a number"),
        (ElementType::Float64, "[1,,2]", "missing"),
        (ElementType::Float64, "[1, 2", "] is missing"),
        (ElementType::Float64, "[1 2]", "not a number"),
        (ElementType::Float64, "[[1] [2]]", "comma"),
        (ElementType::Float64, "[1]]", "follows"),
        (ElementType::Float64, "[[1, 2], [3]]", "different lengths: 2 and 1"),
        (ElementType::Float64, "[1, [2]]", "a list where"),
        (ElementType::Float64, "[[1], 2]", "a number where"),
        (ElementType::Float64, "[[], 2]", "a number where"),
        (ElementType::Float64, "1+2j", "does not fit double"),
        (ElementType::Int32, "1.5", "does not fit int"),
        (ElementType::Int32, "[1, 2147483648]", "does not fit int"),
        (ElementType::UInt8, "-1", "does not fit"),
        // Finite in the text, infinite as a float.
        (ElementType::Float32, "1e39", "too large"),
        (ElementType::Complex64, "1+1e39j", "too large"),
        // Digits are never infinite.
        (ElementType::Float64, "1e999", "1e999 is too large for a double"),
        (ElementType::Float64, "[1, -1D400]", "-1D400 is too large for a double"),
        (ElementType::Complex128, "1+1e400j", "not a number"),
        (ElementType::Float64, "1+j+j", "not a number"),
        (ElementType::Float64, "é", "not a number"),
    ];
    for (element, text, reason) in cases {
        let error = inline(&of(element), text).unwrap_err().to_string();
        assert!(error.contains(reason), "{text}: {error} should say \"{reason}\"");
    }
    // Brackets that would overflow the stack of a recursive reader.
    assert!(inline(&of(ElementType::Float64), &"[".repeat(100_000)).is_err());
}

#[test]
fn damage_at_random_never_panics() {
    let mut random = SeededRandom::new(3);
    let letters = b"[[[]]],,,0123456789.eEdDjJ+-\"naif \xc3\xa9";
    for _ in 0..50_000 {
        let length = random.next() % 24;
        let bytes: Vec<u8> =
            (0..length).map(|_| letters[(random.next() % letters.len() as u64) as usize]).collect();
        let text = String::from_utf8_lossy(&bytes);
        if let Ok(data) = inline(&of(ElementType::Complex128), &text) {
            let count: u64 = data.shape.iter().product();
            assert_eq!(data.bytes.len() as u64, 16 * count, "{text}");
        }
    }
}
