//! Arrays of every size and in every posture.

use farcall_client::{Argument, Array, ArrayMut, CallOptions, Destination, Output};

use crate::battery::{Setting, client};

fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|i| (i * 31 + i / 251) as u8).collect()
}

pub fn sizes_around_every_border(setting: Setting) {
    let client = client(setting);
    let echo = client.routine("echo").unwrap();
    let mib = 1 << 20;
    // Nothing; what goes inside a message (4096 bytes); a page; the credit that a call begins with
    // (1 MiB), whose last byte of argument must not wait for more; the longest frame (4 MiB).
    let borders = [
        0,
        1,
        7,
        8,
        9,
        4095,
        4096,
        4097,
        8192,
        65_536,
        mib - 1,
        mib,
        mib + 1,
        4 * mib - 1,
        4 * mib + 1,
    ];
    for count in borders {
        let x = bytes(count);
        let outputs = echo.call([("x", Array::vector(&x).into())]);
        let outputs = outputs.unwrap_or_else(|error| panic!("{count} bytes: {error}"));
        assert!(outputs.array::<u8>("y").unwrap() == x, "{count} bytes");
    }
    let touch = client.routine("touch").unwrap();
    for count in [0_usize, 511, 512, 513, mib / 8 - 1, mib / 8, mib / 8 + 1] {
        let x = vec![1.5; count];
        let outputs = touch.call([("x", Array::vector(&x).into())]).unwrap();
        assert!(outputs.array::<f64>("x").unwrap() == vec![2.5; count], "{count} numbers");
    }
}

pub fn views_that_are_not_contiguous(setting: Setting) {
    let client = client(setting);
    let transpose = client.routine("transpose").unwrap();
    let touch = client.routine("touch").unwrap();
    for n in [3_usize, 30, 200] {
        let a: Vec<f64> = (0..n * n).map(|i| i as f64).collect();
        let shape = [n as u64, n as u64];
        // Transposed, every other row, and backwards in both directions.
        let views = [
            (Array::strided(&a, 0, &shape, &[1, n as i64]), true),
            (Array::strided(&a, n * n - 1, &shape, &[-(n as i64), -1]), false),
        ];
        for (view, transposed) in views {
            let b = transpose.call([("a", view.into())]).unwrap().array::<f64>("b").unwrap();
            let wanted = |k: usize| if transposed { k } else { n * n - 1 - (k % n * n + k / n) };
            assert!(
                (0..n * n).all(|k| b[k] == wanted(k) as f64),
                "n = {n}, transposed: {transposed}"
            );
        }
        let x: Vec<f64> = (0..3 * n).map(|i| i as f64).collect();
        for stride in [3_i64, -3] {
            let first = if stride > 0 { 0 } else { 3 * (n - 1) };
            let every_third = Array::strided(&x, first, &[n as u64], &[stride]);
            let outputs = touch.call([("x", every_third.into())]).unwrap();
            let wanted = |i: usize| (first as i64 + stride * i as i64) as f64 + 1.0;
            let got = outputs.array::<f64>("x").unwrap();
            assert!(
                got.iter().enumerate().all(|(i, x)| *x == wanted(i)),
                "n = {n}, stride {stride}"
            );
        }
    }
}

pub fn results_in_place_and_elsewhere(setting: Setting) {
    let client = client(setting);
    let touch = client.routine("touch").unwrap();
    for n in [10_usize, 1000, 300_000] {
        let mut x = vec![0.5; 2 * n];
        for step in [1, 2] {
            let before = x.clone();
            let array = ArrayMut::strided(&mut x, 0, &[n as u64], &[step as i64]);
            let places = vec![Destination::New, Destination::InPlace];
            let outputs = touch.call_positional(
                vec![Argument::Unset, array.into()],
                places,
                &CallOptions::default(),
            );
            let outputs = outputs.unwrap();
            let Output::Written(shape) = outputs.get("x").unwrap() else { panic!("not in place") };
            assert_eq!(shape[..], [n as u64]);
            let wanted = |i: usize| {
                if i.is_multiple_of(step) && i / step < n { before[i] + 1.0 } else { before[i] }
            };
            assert!((0..2 * n).all(|i| x[i] == wanted(i)), "n = {n}, step {step}");
        }
        // Elsewhere, backwards: the argument stays as it was.
        let mut other = vec![0.0; n];
        let backwards = ArrayMut::strided(&mut other, n - 1, &[n as u64], &[-1]);
        let y: Vec<f64> = (0..n).map(|i| i as f64).collect();
        let arguments = vec![Argument::Unset, Array::vector(&y).into()];
        let places = vec![Destination::New, backwards.into()];
        touch.call_positional(arguments, places, &CallOptions::default()).unwrap();
        assert!((0..n).all(|i| other[n - 1 - i] == i as f64 + 1.0), "n = {n}");
    }
}

pub fn sixty_four_megabytes(setting: Setting) {
    let touch = client(setting).routine("touch").unwrap();
    let x: Vec<f64> = (0..8 << 20).map(f64::from).collect();
    let outputs = touch.call([("x", Array::vector(&x).into())]).unwrap();
    let got = outputs.array::<f64>("x").unwrap();
    assert!(got.len() == x.len() && got.iter().zip(&x).all(|(got, x)| *got == x + 1.0));
}
