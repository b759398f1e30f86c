//! Calls the machine's own BLAS and LAPACK, where it has them, as a published module would.

use std::path::Path;

use crate::fixture::*;
use farcall_executable::library::Libraries;
use farcall_idl::interface::*;

/// Runs a test against each library that the machine has.
fn with_each(names: &[&str], test: impl Fn(&Libraries)) {
    for name in names {
        match Libraries::open(&[name.to_string()], Path::new("/")) {
            Ok(libraries) => test(&libraries),
            Err(error) => eprintln!("skipped: {error}"),
        }
    }
}

fn int(name: &str) -> Parameter {
    scalar(name, Mode::In, ElementType::Int32)
}

fn doubles(name: &str, mode: Mode) -> Parameter {
    array(name, mode, ElementType::Float64)
}

#[test]
fn dgesv_solves() {
    let parameters = vec![
        int("n"),
        int("nrhs"),
        doubles("a", Mode::InOut),
        int("lda"),
        array("ipiv", Mode::Out, ElementType::Int32),
        doubles("b", Mode::InOut),
        int("ldb"),
        array("info", Mode::Out, ElementType::Int32),
    ];
    let dgesv = routine(Language::Fortran, "dgesv_", parameters, None);
    with_each(&["libopenblas.so.0", "liblapack.so.3"], |libraries| {
        let mut n = 3i32;
        let mut nrhs = 1i32;
        let mut info = -1i32;
        // Columns of [[2,1,0],[1,3,1],[0,1,4]]; its product with (1,2,3) is the right-hand side.
        let mut a = [2.0f64, 1.0, 0.0, 1.0, 3.0, 1.0, 0.0, 1.0, 4.0];
        let mut b = [4.0f64, 10.0, 14.0];
        let mut lda = 3i32;
        let mut ldb = 3i32;
        let mut pivots = [0i32; 3];
        let mut slots = [
            on(&mut n),
            on(&mut nrhs),
            all(&mut a),
            on(&mut lda),
            all(&mut pivots),
            all(&mut b),
            on(&mut ldb),
            on(&mut info),
        ];
        call_in(libraries, &dgesv, &mut slots);
        assert_eq!(info, 0);
        for (x, expected) in b.iter().zip([1.0, 2.0, 3.0]) {
            assert!((x - expected).abs() < 1e-12, "{b:?}");
        }
    });
}

#[test]
fn ddot_and_zdotu_return_by_value() {
    let vector = |element| {
        vec![
            int("n"),
            array("x", Mode::In, element),
            int("incx"),
            array("y", Mode::In, element),
            int("incy"),
        ]
    };
    let function = |symbol, element| {
        let mut parameters = vector(element);
        parameters.push(array("dot", Mode::Out, element));
        routine(Language::Fortran, symbol, parameters, Some(5))
    };
    let ddot = function("ddot_", ElementType::Float64);
    let zdotu = function("zdotu_", ElementType::Complex128);
    with_each(&["libopenblas.so.0", "libblas.so.3"], |libraries| {
        let mut n = 3i32;
        let mut one = 1i32;
        let increments = [on(&mut n), on(&mut one)];
        let mut x = [1.0f64, 2.0, 3.0];
        let mut y = [4.0f64, 5.0, 6.0];
        let mut dot = 0.0f64;
        let mut slots =
            [increments[0], all(&mut x), increments[1], all(&mut y), increments[1], on(&mut dot)];
        call_in(libraries, &ddot, &mut slots);
        assert_eq!(dot, 32.0);
        let mut x = [[1.0f64, 1.0]; 3];
        let mut y = [[0.0f64, 2.0]; 3];
        let mut dot = [0.0f64; 2];
        let mut slots =
            [increments[0], all(&mut x), increments[1], all(&mut y), increments[1], on(&mut dot)];
        call_in(libraries, &zdotu, &mut slots);
        assert_eq!(dot, [-6.0, 6.0]);
    });
}

#[test]
fn dlange_takes_a_character_and_leaves_work_alone() {
    let parameters = vec![
        scalar("norm", Mode::In, ElementType::Char),
        int("m"),
        int("n"),
        doubles("a", Mode::In),
        int("lda"),
        doubles("work", Mode::Work),
        doubles("value", Mode::Out),
    ];
    let dlange = routine(Language::Fortran, "dlange_", parameters, Some(6));
    with_each(&["libopenblas.so.0", "liblapack.so.3"], |libraries| {
        for (mut norm, expected) in [(b'1', 6.0f64), (b'I', 7.0), (b'F', 30f64.sqrt())] {
            let mut m = 2i32;
            let mut n = 2i32;
            let mut lda = 2i32;
            let mut a = [1.0f64, -3.0, 2.0, 4.0];
            let mut work = [0.0f64; 2];
            let mut value = 0.0f64;
            let mut slots = [
                on(&mut norm),
                on(&mut m),
                on(&mut n),
                all(&mut a),
                on(&mut lda),
                all(&mut work),
                on(&mut value),
            ];
            call_in(libraries, &dlange, &mut slots);
            assert!((value - expected).abs() < 1e-12, "norm {}: {value}", norm as char);
        }
    });
}
