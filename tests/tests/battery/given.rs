//! INOUT arrays that a call does not read.

use farcall_client::{
    Argument, Array, ArrayMut, CallOptions, Destination, Error, Outputs, Routine,
};

use crate::battery::{Setting, client};

/// In the message, in one block or shared memory, and in several.
const SIZES: [usize; 3] = [3, 5_000, 400_000];

fn numbers(count: usize) -> Vec<f64> {
    (1..=count).map(|i| i as f64).collect()
}

fn call(blend: &Routine, x: &[f64], beta: f64, y: Option<&[f64]>) -> Result<Outputs, Error> {
    let mut all = vec![("x", Array::vector(x).into()), ("beta", beta.into())];
    all.extend(y.map(|y| ("y", Array::vector(y).into())));
    blend.call(all)
}

/// INOUT arrays among so many parameters are written over.
fn in_place(count: usize) -> Vec<Destination<'static>> {
    (0..count).map(|_| Destination::InPlace).collect()
}

pub fn arrays_that_are_not_read_stay_where_they_are(setting: Setting) {
    let blend = client(setting).routine("blend").unwrap();
    for count in SIZES {
        let x = numbers(count);
        let y = vec![f64::NAN; count];
        let mut sum = x.clone();
        sum[count - 1] = 0.0;
        // Twice each: the second call finds what was worked out for the first.
        for y in [None, Some(&y), None, Some(&y)] {
            let outputs = call(&blend, &x, 0.0, y.map(Vec::as_slice)).unwrap();
            assert!(outputs.array::<f64>("y").unwrap() == sum, "{count} numbers, {}", y.is_some());
            assert_eq!(outputs.scalar::<f64>("first").unwrap(), 0.0, "the routine saw y");
        }
        // And what is read travels, also between calls that do not read it.
        for beta in [2.0, -1.0] {
            let outputs = call(&blend, &x, beta, Some(&x)).unwrap();
            let wanted: Vec<f64> = x.iter().map(|x| x + beta * x).collect();
            assert!(outputs.array::<f64>("y").unwrap() == wanted, "{count} numbers, beta {beta}");
            assert_eq!(outputs.scalar::<f64>("first").unwrap(), 1.0);
            let error = call(&blend, &x, beta, None).err().unwrap().to_string();
            assert!(error.contains("blend needs y: not given"), "{error}");
        }
        // Nothing was said of beta, whose default is 0.
        assert!(blend.call([("x", Array::vector(&x).into())]).is_ok());
    }
}

pub fn what_the_routine_leaves_is_zero_and_nobody_s(setting: Setting) {
    let blend = client(setting).routine("blend").unwrap();
    for count in SIZES {
        // Memory that the call before left full.
        let x = numbers(count);
        call(&blend, &x, 1.0, Some(&x)).unwrap();
        let last = call(&blend, &x, 0.0, None).unwrap().array::<f64>("y").unwrap()[count - 1];
        assert_eq!(last, 0.0, "{count} numbers");
        // In the caller's own array, too.
        let mut y = vec![7.0; count];
        let over = ArrayMut::vector(&mut y).into();
        let arguments = vec![
            Argument::Integer(count as i64),
            0.0.into(),
            Array::vector(&x).into(),
            over,
            Argument::Unset,
        ];
        blend.call_positional(arguments, in_place(4), &CallOptions::default()).unwrap();
        assert_eq!((y[count - 1], y[0], y[count - 2]), (0.0, 1.0, (count - 1) as f64));
    }
}

pub fn gaps_of_what_is_not_read_stay_the_caller_s(setting: Setting) {
    let padded = client(setting).routine("padded").unwrap();
    for (m, n) in [(2_usize, 3_usize), (300, 200)] {
        let ldc = m + 2;
        let mut c = vec![f64::NAN; ldc * n];
        for beta in [0.0, 2.0] {
            let over = ArrayMut::strided(&mut c, 0, &[m as u64, n as u64], &[1, ldc as i64]);
            let [rows, columns, leading] = [m, n, ldc].map(|size| Argument::Integer(size as i64));
            let arguments = vec![rows, columns, beta.into(), over.into(), leading];
            padded.call_positional(arguments, in_place(4), &CallOptions::default()).unwrap();
            for j in 0..n {
                let column = &c[j * ldc..(j + 1) * ldc];
                let factor = if beta == 0.0 { 1.0 } else { 1.0 + beta };
                assert!((0..m).all(|i| column[i] == factor * i as f64), "beta {beta}, column {j}");
                assert!(column[m..].iter().all(|gap| gap.is_nan()), "beta {beta}, column {j}");
            }
        }
    }
}
