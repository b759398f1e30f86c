//! What an interface can say about arrays: order, leading dimensions, ranges, conditions, results
//! of unknown size.

use farcall_client::{Argument, Array, ArrayMut, Element, Output, View};

use crate::battery::{Setting, client};

fn numbers(count: usize) -> Vec<f64> {
    (0..count).map(|i| i as f64 + 0.25).collect()
}

pub fn rows_and_columns_with_leading_dimensions(setting: Setting) {
    let client = client(setting);
    let transpose = client.routine("transpose").unwrap();
    let mixed = client.routine("mixed").unwrap();
    for (m, n) in [(1_usize, 1_usize), (2, 3), (40, 50)] {
        let a = numbers(m * n);
        let rows = m as u64;
        let columns = n as u64;
        let b = transpose.call([("a", Array::rows(&a, &[rows, columns]).into())]).unwrap();
        let b = b.array::<f64>("b").unwrap();
        assert!((0..m * n).all(|k| b[k % n * m + k / n] == a[k]), "{m} x {n}");
        // A caller's columns where the interface wants rows: the elements go by their indexes.
        let by_columns: Vec<f64> = (0..m * n).map(|k| a[k % m * n + k / m]).collect();
        let b =
            transpose.call([("a", Array::columns(&by_columns, &[rows, columns]).into())]).unwrap();
        let b = b.array::<f64>("b").unwrap();
        assert!((0..m * n).all(|k| b[k % n * m + k / n] == a[k]), "{m} x {n} by columns");
        // Between the columns of `c` lies what the routine must not be able to reach: with ldc
        // given, the server has room of its own there, and whatever the routine does to it stays
        // there.
        for ldc in [m, m + 3] {
            let c = numbers(m * n);
            let arguments = [
                ("a", Array::rows(&a, &[rows, columns]).into()),
                ("c", Array::columns(&c, &[rows, columns]).into()),
                ("ldc", Argument::Integer(ldc as i64)),
            ];
            let c_after = mixed.call(arguments).unwrap().array::<f64>("c").unwrap();
            let fits = |k: usize| c_after[k] == c[k] + a[k % m * n + k / m];
            assert!(c_after.len() == m * n && (0..m * n).all(fits), "{m} x {n}, ldc = {ldc}");
        }
    }
}

pub fn ranges_and_strides(setting: Setting) {
    let stride = client(setting).routine("stride").unwrap();
    for (n, from, step) in
        [(10_i64, 0_i64, 1_i64), (10, 3, 2), (1, 0, 5), (9, 8, 1), (5000, 1, 3), (300_000, 0, 7)]
    {
        let count = ((n - from) + step - 1) / step;
        let x = numbers(count as usize);
        let arguments = [
            ("n", Argument::Integer(n)),
            ("from", Argument::Integer(from)),
            ("step", Argument::Integer(step)),
            ("x", Array::vector(&x).into()),
        ];
        let outputs =
            stride.call(arguments).unwrap_or_else(|error| panic!("{n}:{from}:{step}: {error}"));
        let wanted: Vec<f64> = x.iter().map(|x| 2.0 * x).collect();
        assert_eq!(outputs.array::<f64>("y").unwrap(), wanted, "{n}:{from}:{step}");
    }
}

pub fn arguments_that_are_not_referenced(setting: Setting) {
    let maybe = client(setting).routine("maybe").unwrap();
    let x = [1.0, 2.0, 3.0];
    let outputs = maybe.call([("flag", 1.into()), ("x", Array::vector(&x).into())]).unwrap();
    assert_eq!(outputs.array::<f64>("y").unwrap(), [-1.0, -2.0, -3.0]);
    assert_eq!(outputs.scalar::<i32>("used").unwrap(), 1);
    let outputs = maybe.call([("flag", 0.into()), ("n", 3.into())]).unwrap();
    assert!(matches!(outputs.get("y").unwrap(), Output::Null | Output::None));
    assert_eq!(outputs.scalar::<i32>("used").unwrap(), 0);
    // However many elements: what is not referenced takes no memory anywhere.
    let outputs = maybe.call([("flag", 0.into()), ("n", i64::from(i32::MAX).into())]).unwrap();
    assert_eq!(outputs.scalar::<i32>("used").unwrap(), 0);
}

pub fn results_sized_by_the_routine(setting: Setting) {
    let some = client(setting).routine("some").unwrap();
    // The bound and what comes back on either side of what travels inside a message (4096 bytes,
    // 512 numbers).
    for (n, want) in
        [(4_usize, 2_usize), (4, 0), (4, 4), (511, 511), (513, 1), (600, 0), (600, 512), (600, 513)]
    {
        let arguments =
            [("n", Argument::Integer(n as i64)), ("want", Argument::Integer(want as i64))];
        let outputs = some.call(arguments).unwrap_or_else(|error| panic!("{want} of {n}: {error}"));
        assert_eq!(outputs.scalar::<i32>("m").unwrap(), want as i32);
        let w: Vec<f64> = (1..=want).map(|i| i as f64).collect();
        assert_eq!(outputs.array::<f64>("w").unwrap(), w, "{want} of {n}");
        let z = outputs.array::<f64>("z").unwrap();
        assert_eq!(z.len(), n * want, "{want} of {n}");
        assert!(
            z.iter().enumerate().all(|(k, z)| *z == (100 * (k / n) + k % n) as f64),
            "{want} of {n}"
        );
    }
    // Into the caller's array: what the routine did not find stays as it was.
    let mut w = vec![-7.0; 600];
    let arguments =
        [("n", 600.into()), ("want", 520.into()), ("w", ArrayMut::vector(&mut w).into())];
    if let Ok(outputs) = some.call(arguments) {
        assert!(matches!(outputs.get("w").unwrap(), Output::Written(shape) if shape[..] == [520]));
        assert!(w[..520].iter().enumerate().all(|(i, w)| *w == (i + 1) as f64));
        assert!(w[520..].iter().all(|w| *w == -7.0));
    } else {
        panic!(
            "{}",
            some.call([("n", 600.into()), ("want", 520.into())])
                .err()
                .map(|e| e.to_string())
                .unwrap_or_default()
        );
    }
    // A routine that claims more than its bound: its numbers are not believed.
    let error =
        some.call([("n", 4.into()), ("want", 5.into())]).err().expect("5 of 4 is impossible");
    assert!(error.to_string().contains('w') || error.to_string().contains('m'), "{error}");
    assert!(some.call([("n", 4.into()), ("want", (-1).into())]).is_err());
    assert_eq!(
        some.call([("n", 4.into()), ("want", 1.into())]).unwrap().array::<f64>("w").unwrap(),
        [1.0]
    );
}

pub fn null_and_bare_pointers(setting: Setting) {
    let client = client(setting);
    let touch = client.routine("touch").unwrap();
    // NULL goes as NULL: the routine says that it has nothing to do.
    let outputs = touch.call([("n", 0.into()), ("x", Argument::Null)]).unwrap();
    assert!(matches!(outputs.get("x").unwrap(), Output::Null));
    // What C passes: an address, and all sizes as arguments of their own.
    for n in [4_usize, 1000] {
        let mut x: Vec<f64> = numbers(n);
        // SAFETY: `x` has as many numbers as `n` says.
        let bare = unsafe { View::new(x.as_mut_ptr().cast(), f64::TYPE, None) };
        let outputs = touch.call([("n", (n as i64).into()), ("x", Argument::Array(bare))]).unwrap();
        assert!(
            outputs
                .array::<f64>("x")
                .unwrap()
                .iter()
                .zip(numbers(n))
                .all(|(after, before)| *after == before + 1.0)
        );
    }
}
