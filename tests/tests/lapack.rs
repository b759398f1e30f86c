//! The machine's LAPACK, called through every part of the house.

use farcall_client::{Argument, Array, ErrorKind};
use farcall_tests::{client, server};

fn system(n: usize) -> (Vec<f64>, Vec<f64>) {
    let mut seed = 1_u64;
    let mut number = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as f64 / f64::from(1_u32 << 31) - 0.5
    };
    let matrix = (0..n * n).map(|_| number()).collect();
    let right = (0..n).map(|_| number()).collect();
    (matrix, right)
}

fn residual(n: usize, matrix: &[f64], x: &[f64], right: &[f64]) -> f64 {
    let row = |i: usize| (0..n).map(|j| matrix[i + j * n] * x[j]).sum::<f64>() - right[i];
    (0..n).map(|i| row(i).abs()).fold(0.0, f64::max)
}

#[test]
fn dgesv_solves_systems_of_all_sizes() {
    let server = server(&["routines/lapack/lapack.idl"]);
    let client = client(&server);
    let dgesv = client.routine("dgesv").unwrap();
    for n in [1_usize, 2, 10, 50, 100, 300] {
        let (matrix, right) = system(n);
        let a: Argument = Array::columns(&matrix, &[n as u64, n as u64]).into();
        let result = dgesv.call([("a", a), ("b", Array::vector(&right).into())]).unwrap();
        assert_eq!(result.scalar::<i32>("info").unwrap(), 0);
        let x = result.array::<f64>("b").unwrap();
        assert!(residual(n, &matrix, &x, &right) < 1e-8, "n = {n}");
    }
}

#[test]
fn unknown_routines_show_the_nearest() {
    let server = server(&["routines/lapack/lapack.idl"]);
    let Err(error) = client(&server).routine("dgesw") else { panic!("there is no dgesw") };
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("dgesv"), "{error}");
}
