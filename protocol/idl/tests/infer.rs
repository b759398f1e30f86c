//! Inference of scalars from array extents, and the signatures that follow from it.

use crate::fixture::*;
use farcall_base::{ErrorKind, Result};
use farcall_idl::expression::{BinaryOperator, Expression};
use farcall_idl::infer::{Arguments, Given, complete, complete_sizes};
use farcall_idl::interface::{Dimension, Domain, ElementType, Interface, Shape};
use farcall_idl::scalar::ScalarValue;
use farcall_idl::signature::{positional, signature};

/// What a caller gives who names only these.
fn given<'a>(interface: &Interface, named: &[(&str, Given<'a>)]) -> Vec<Given<'a>> {
    interface
        .caller_parameters()
        .map(|(_, parameter)| {
            named.iter().find(|(name, _)| *name == parameter.name).map_or(Given::Unset, |(_, g)| *g)
        })
        .collect()
}

/// Completes a call in which only the named parameters are given.
fn call(interface: &Interface, named: &[(&str, Given<'_>)]) -> Result<Arguments> {
    let given = given(interface, named);
    assert!(named.iter().all(|(name, _)| interface.parameters.iter().any(|p| p.name == *name)));
    complete(interface, &given)
}

fn value(interface: &Interface, arguments: &Arguments, name: &str) -> ScalarValue {
    arguments.scalars[interface.parameters.iter().position(|p| p.name == name).unwrap()].unwrap()
}

fn integers(interface: &Interface, arguments: &Arguments, names: &[&str]) -> Vec<i64> {
    names.iter().map(|name| value(interface, arguments, name).integer().unwrap()).collect()
}

fn shape(shape: &[u64]) -> Given<'_> {
    Given::Array { shape }
}

#[test]
fn what_follows_from_a_later_number_stays_open() {
    let dgesv = dgesv();
    // The order of A is another call's result: nrhs is known, and leading dimensions are asked for.
    let arrays = [("A", Given::Other), ("B", shape(&[5, 2])), ("n", Given::Later)];
    let error = call(&dgesv, &arrays).unwrap_err().to_string();
    assert!(error.contains("needs lda and ldb"), "{error}");
    let leading = [("lda", Given::Integer(5)), ("ldb", Given::Integer(5))];
    let all = call(&dgesv, &[&arrays[..], &leading[..]].concat()).unwrap();
    assert_eq!(integers(&dgesv, &all, &["nrhs", "lda", "ldb"]), [2, 5, 5]);
    let n = dgesv.parameters.iter().position(|one| one.name == "n").unwrap();
    assert_eq!(all.scalars[n], None);
    // What is known and contradicts itself is refused all the same.
    let wide = [("A", Given::Other), ("B", shape(&[5, 2])), ("n", Given::Later)];
    let named = [("nrhs", Given::Integer(3)), leading[0], leading[1]];
    assert!(call(&dgesv, &[&wide[..], &named[..]].concat()).is_err());
}

#[test]
fn sizes_alone_do_where_nothing_is_called() {
    let dgesv = dgesv();
    let names = ["n", "nrhs", "lda", "ldb"];
    // Leading dimensions follow; a size that nothing determines is 1, and is told.
    let n = [("n", Given::Integer(4000))];
    let (all, assumed) = complete_sizes(&dgesv, &given(&dgesv, &n)).unwrap();
    assert_eq!(integers(&dgesv, &all, &names), [4000, 1, 4000, 4000]);
    let assumed: Vec<&str> =
        assumed.iter().map(|index| dgesv.parameters[*index].name.as_str()).collect();
    assert_eq!(assumed, ["nrhs"]);
    // An array tells its own.
    let b = [("n", Given::Integer(4000)), ("B", shape(&[4000, 3]))];
    let (all, assumed) = complete_sizes(&dgesv, &given(&dgesv, &b)).unwrap();
    assert_eq!(integers(&dgesv, &all, &names), [4000, 3, 4000, 4000]);
    assert!(assumed.is_empty());
    let misfit = [("n", Given::Integer(4000)), ("B", shape(&[5, 3]))];
    let error = complete_sizes(&dgesv, &given(&dgesv, &misfit)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
}

#[test]
fn dgesv_takes_two_arrays() {
    let dgesv = dgesv();
    let names = ["n", "nrhs", "lda", "ldb"];
    let all = call(&dgesv, &[("A", shape(&[5, 5])), ("B", shape(&[5, 2]))]).unwrap();
    assert_eq!(integers(&dgesv, &all, &names), [5, 2, 5, 5]);
    assert_eq!(all.lower_ranks, []);
    // A vector is one column, and its result is a vector again.
    let all = call(&dgesv, &[("A", shape(&[5, 5])), ("B", shape(&[5]))]).unwrap();
    assert_eq!(integers(&dgesv, &all, &names), [5, 1, 5, 5]);
    assert_eq!(all.lower_ranks, [(5, 1)]);
    // A leading dimension of the caller's own.
    let all =
        call(&dgesv, &[("A", shape(&[5, 5])), ("B", shape(&[5])), ("lda", Given::Integer(8))])
            .unwrap();
    assert_eq!(integers(&dgesv, &all, &names), [5, 1, 8, 5]);
    // Nothing to solve: leading dimensions stay at least 1.
    let all = call(&dgesv, &[("A", shape(&[0, 0])), ("B", shape(&[0, 2]))]).unwrap();
    assert_eq!(integers(&dgesv, &all, &names), [0, 2, 1, 1]);
}

#[test]
fn disagreements_say_where_each_value_came_from() {
    let dgesv = dgesv();
    let error = call(&dgesv, &[("A", shape(&[3, 4])), ("B", shape(&[3]))]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert_eq!(error.message(), "A is 3 x 4, and both extents are n");
    assert_eq!(error.advice(), Some("A must be square"));
    let error = call(&dgesv, &[("A", shape(&[3, 3])), ("B", shape(&[4]))]).unwrap_err();
    assert!(error.message().contains("n = 3 from A axis 0, n = 4 from B axis 0"), "{error}");
    let error =
        call(&dgesv, &[("n", Given::Integer(2)), ("A", shape(&[3, 3])), ("B", shape(&[3]))])
            .unwrap_err();
    assert!(error.message().contains("n = 2 as given, n = 3 from A axis 0"), "{error}");
    // Too many dimensions, and far too few.
    let error = call(&dgesv, &[("A", shape(&[3, 3, 1])), ("B", shape(&[3]))]).unwrap_err();
    assert!(error.message().contains("3 dimensions"), "{error}");
    let error = call(&dgesv, &[("A", shape(&[9])), ("B", shape(&[9]))]).unwrap_err();
    assert!(error.to_string().contains("a missing dimension counts as 1"), "{error}");
}

#[test]
fn arrays_that_must_have_equal_sides_say_so() {
    let cube = |last: Expression| {
        interface("f", vec![int("n"), column(In, "T", vec![dim(p(0)), dim(i(2)), dim(last)])])
    };
    let error = call(&cube(p(0)), &[("T", shape(&[3, 2, 4]))]).unwrap_err();
    assert_eq!(error.message(), "T is 3 x 2 x 4, and the extents of axes 0 and 2 are both n");
    // Two sides of one matrix that differ by one are no matter of a square.
    let error = call(&cube(add(p(0), i(1))), &[("T", shape(&[3, 2, 5]))]).unwrap_err();
    assert!(error.message().ends_with("n = 3 from T axis 0, n = 4 from T axis 2"), "{error}");
    let half =
        interface("f", vec![int("n"), column(In, "A", vec![dim(times(i(2), p(0))), dim(p(0))])]);
    let error = call(&half, &[("A", shape(&[4, 3]))]).unwrap_err();
    assert!(error.message().ends_with("n = 2 from A axis 0, n = 3 from A axis 1"), "{error}");
    // Nor is a matrix whose order the caller gives.
    let named = [("n", Given::Integer(2)), ("A", shape(&[2, 3])), ("B", shape(&[2]))];
    let error = call(&dgesv(), &named).unwrap_err();
    assert!(error.message().contains("n = 2 as given, n = 3 from A axis 1"), "{error}");
}

#[test]
fn gemm_follows_its_conditions() {
    let dgemm = dgemm();
    let names = ["m", "n", "k", "lda", "ldb", "ldc"];
    let arrays = |a: &'static [u64], b: &'static [u64]| {
        [("A", shape(a)), ("B", shape(b)), ("C", shape(&[2, 4]))]
    };
    let all = call(&dgemm, &arrays(&[2, 3], &[3, 4])).unwrap();
    assert_eq!(integers(&dgemm, &all, &names), [2, 4, 3, 2, 3, 2]);
    assert_eq!(value(&dgemm, &all, "alpha"), ScalarValue::Real(1.0));
    let turned = [
        &arrays(&[3, 2], &[4, 3])[..],
        &[("transa", Given::Text("T")), ("transb", Given::Text("T"))],
    ]
    .concat();
    let all = call(&dgemm, &turned).unwrap();
    assert_eq!(integers(&dgemm, &all, &names), [2, 4, 3, 3, 4, 2]);
    // The same arrays without the letters do not fit.
    let error = call(&dgemm, &arrays(&[3, 2], &[4, 3])).unwrap_err();
    let wanted = "B has shape (4, 3), which does not fit: k = 2 from A axis 1, k = 4 from B axis \
        0 with transb = 'N'";
    assert_eq!(error.message(), wanted);
    assert!(
        signature(&dgemm).starts_with("dgemm(A, B, C, *, transa='N', transb='N', m=None,"),
        "{}",
        signature(&dgemm)
    );
}

#[test]
fn gels_wants_room_for_the_larger_side() {
    let dgels = dgels();
    let all = call(&dgels, &[("A", shape(&[6, 3])), ("B", shape(&[6, 2]))]).unwrap();
    assert_eq!(integers(&dgels, &all, &["m", "n", "nrhs", "lda", "ldb"]), [6, 3, 2, 6, 6]);
    // Fewer equations than unknowns: B must have room for the solution.
    let error = call(&dgels, &[("A", shape(&[3, 6])), ("B", shape(&[3, 2]))]).unwrap_err();
    let wanted = "B is 3 x 2; with m = 3 (axis 0 of A) and n = 6 (axis 1 of A) its axis 0 must \
        have 6 elements (max(m, n))";
    assert_eq!(error.message(), wanted);
    assert_eq!(error.advice(), Some("pass B with 6 elements along axis 0"));
}

#[test]
fn gesdd_sizes_results_that_nobody_passes() {
    let dgesdd = dgesdd();
    let with = |jobz| {
        let all = call(&dgesdd, &[("jobz", Given::Text(jobz)), ("A", shape(&[5, 3]))]).unwrap();
        integers(&dgesdd, &all, &["m", "n", "lda", "ldu", "ldvt"])
    };
    assert_eq!(with("S"), [5, 3, 5, 5, 3]);
    assert_eq!(with("A"), [5, 3, 5, 5, 3]);
    // U and VT are not referred to: any leading dimension of 1 or more will do.
    assert_eq!(with("N"), [5, 3, 5, 1, 1]);
    assert_eq!(positional(&dgesdd), [0, 3]);
    // jobz is a letter, and one.
    for wrong in [Given::Text("AB"), Given::Text(""), Given::Integer(1000), Given::Real(1.0)] {
        assert!(call(&dgesdd, &[("jobz", wrong), ("A", shape(&[5, 3]))]).is_err());
    }
}

#[test]
fn ddot_with_and_without_increment() {
    let ddot = ddot();
    let x = shape(&[7]);
    let all = call(&ddot, &[("x", x), ("y", x)]).unwrap();
    assert_eq!(integers(&ddot, &all, &["n", "incx", "incy"]), [7, 1, 1]);
    // Every second element of x, four of them; backwards.
    let all = call(&ddot, &[("x", x), ("incx", Given::Integer(-2)), ("y", shape(&[4]))]).unwrap();
    assert_eq!(integers(&ddot, &all, &["n", "incx", "incy"]), [4, -2, 1]);
    // No whole n makes 1 + (n - 1) * 3 equal 9.
    assert!(
        call(&ddot, &[("x", shape(&[9])), ("incx", Given::Integer(3)), ("y", shape(&[4]))])
            .is_err()
    );
    assert_eq!(signature(&ddot), "ddot(x, y, *, n=None, incx=1, incy=1) -> dot");
}

/// `ddot` as it is published: n elements travel, and lie |incx| apart in the routine's memory.
fn strided_ddot() -> Interface {
    let mut ddot = ddot();
    for (array, increment) in [(1, 2), (3, 4)] {
        let Shape::Array { dimensions, .. } = &mut ddot.parameters[array].shape else {
            panic!("x and y are arrays")
        };
        let extent = dimensions[0].size.clone();
        let stride = Some(max(i(1), abs(p(increment))));
        dimensions[0] =
            Dimension { size: extent.clone(), start: Some(i(0)), end: Some(extent), stride };
    }
    ddot
}

#[test]
fn strided_ddot_takes_what_travels() {
    let ddot = strided_ddot();
    assert_eq!(signature(&ddot), "ddot(x, y, *, n=None, incx=1, incy=1) -> dot");
    let x = ("x", shape(&[7]));
    let y = ("y", shape(&[7]));
    for (incx, incy) in [(1, 1), (2, 1), (-3, 5), (i32::MAX.into(), -1)] {
        let all =
            call(&ddot, &[x, y, ("incx", Given::Integer(incx)), ("incy", Given::Integer(incy))])
                .unwrap();
        assert_eq!(integers(&ddot, &all, &["n"]), [7], "{incx}, {incy}");
    }
    let all = call(&ddot, &[x, y]).unwrap();
    assert_eq!(integers(&ddot, &all, &["n", "incx", "incy"]), [7, 1, 1]);
    let error = call(&ddot, &[x, ("y", shape(&[6])), ("incx", Given::Integer(2))]).unwrap_err();
    // The expression behind it is long, and a reader needs the numbers alone.
    assert_eq!(
        error.message(),
        "y has 6 elements; with n = 7 (from x) and incy = 1 it must have 7"
    );
    assert_eq!(error.advice(), Some("pass y with 7 elements"));
    let three = ("x", shape(&[3]));
    let two = [("n", Given::Integer(2)), ("incx", Given::Integer(1))];
    let error = call(&ddot, &[three, ("y", shape(&[2])), two[0], two[1]]).unwrap_err();
    assert_eq!(error.message(), "x has 3 elements; with n = 2 and incx = 1 it must have 2");
    // An increment of 0 is one element, used again and again: it says nothing about n, and the
    // other array does.
    let [one, zero] = [("x", shape(&[1])), ("incx", Given::Integer(0))];
    let all = call(&ddot, &[one, y, zero]).unwrap();
    assert_eq!(integers(&ddot, &all, &["n"]), [7]);
    let error =
        call(&ddot, &[one, zero, ("y", shape(&[1])), ("incy", Given::Integer(0))]).unwrap_err();
    assert!(error.message().contains("needs n"), "{error}");
}

#[test]
fn an_extent_that_no_value_gives_is_refused() {
    let ddot = ddot();
    let arrays = [("x", shape(&[9])), ("y", shape(&[9]))];
    let increments = [("incx", Given::Integer(-3)), ("incy", Given::Integer(3))];
    // BLAS would read seven of the nine, or one behind the end: neither is what the caller wrote.
    let error = call(&ddot, &[&arrays[..], &increments].concat()).unwrap_err();
    let wanted = "x has 9 elements, which no n gives with incx = -3";
    assert_eq!(error.message(), wanted);
    assert!(error.to_string().ends_with("pass x with 7 or 10 elements"), "{error}");
    // With n given, the extent that it makes is what is missing.
    let named = [&arrays[..], &increments, &[("n", Given::Integer(3))]].concat();
    let error = call(&ddot, &named).unwrap_err();
    assert_eq!(
        error.message(),
        "x has 9 elements; with n = 3 and incx = -3 it must have 7 (1 + (n - 1) * abs(incx))"
    );
}

#[test]
fn quotients_without_a_rest_are_solved() {
    let quotient = |dividend, divisor| {
        Expression::Binary(BinaryOperator::Divide, Box::new(dividend), Box::new(divisor))
    };
    let inferred = |extent: Expression, elements: u64| {
        let one =
            interface("one", vec![int("n"), int("k"), array(In, Float64, "x", vec![dim(extent)])]);
        let given = [("x", Given::Array { shape: &[elements] }), ("k", Given::Integer(6))];
        let all = call(&one, &given).ok()?;
        Some(integers(&one, &all, &["n"])[0])
    };
    // (6*n + 5)/6 is n, and (4*n + 1)/2 is 2*n; n/2, k*n/2 and 6/n hide something.
    assert_eq!(inferred(quotient(add(times(p(1), p(0)), i(5)), p(1)), 8), Some(8));
    assert_eq!(inferred(quotient(add(times(p(0), i(4)), i(1)), i(2)), 8), Some(4));
    assert_eq!(inferred(quotient(add(times(p(0), i(4)), i(1)), i(2)), 7), None);
    assert_eq!(inferred(quotient(p(0), i(2)), 8), None);
    assert_eq!(inferred(quotient(times(p(0), i(3)), i(2)), 3), None);
    assert_eq!(inferred(quotient(times(p(1), p(0)), i(2)), 3), None);
    assert_eq!(inferred(quotient(p(1), p(0)), 3), None);
    // 0 divides nothing, and what is multiplied by the unknown itself is no line.
    assert_eq!(inferred(quotient(p(0), i(0)), 3), None);
    assert_eq!(inferred(quotient(times(p(0), p(0)), p(0)), 3), None);
}

#[test]
fn increments_without_default_are_never_guessed() {
    let mut ddot = ddot();
    ddot.parameters[2].default = None;
    ddot.parameters[4].default = None;
    // The sign of an increment cannot be seen in an extent.
    assert_eq!(positional(&ddot), [1, 2, 3, 4]);
    let error = call(&ddot, &[("x", shape(&[7])), ("y", shape(&[7]))]).unwrap_err();
    assert!(error.message().contains("incx") && error.message().contains("incy"), "{error}");
}

#[test]
fn dsyev_and_selection() {
    let dsyev = dsyev();
    let all = call(&dsyev, &[("A", shape(&[4, 4])), ("jobz", Given::Text("V"))]).unwrap();
    assert_eq!(integers(&dsyev, &all, &["jobz", "uplo", "n", "lda"]), [86, 85, 4, 4]);
    assert_eq!(
        signature(&dsyev),
        "dsyev(A, *, jobz='N', uplo='U', n=None, lda=None) -> (A, w, info)"
    );
    let selection = selection();
    let all = call(&selection, &[("x", shape(&[9]))]).unwrap();
    assert_eq!(integers(&selection, &all, &["n"]), [9]);
}

#[test]
fn dgesv_reads_well() {
    assert_eq!(positional(&dgesv()), [2, 5]);
    assert_eq!(
        signature(&dgesv()),
        "dgesv(A, B, *, n=None, nrhs=None, lda=None, ldb=None) -> (A, ipiv, B, info)"
    );
}

#[test]
fn strides_count_the_elements_that_travel() {
    let range = Dimension { size: p(0), start: Some(i(1)), end: Some(i(0)), stride: Some(i(2)) };
    let one = interface("one", vec![int("n"), array(In, Float64, "x", vec![range])]);
    // n is given: elements 1, 3, 5 of 6.
    assert!(call(&one, &[("n", Given::Integer(6)), ("x", shape(&[3]))]).is_ok());
    let error = call(&one, &[("n", Given::Integer(6)), ("x", shape(&[4]))]).unwrap_err();
    assert_eq!(error.message(), "x has 4 elements; with n = 6 it must have 3");
    // A quotient hides the last bit of n: it is not guessed.
    assert!(call(&one, &[("x", shape(&[3]))]).is_err());
    assert_eq!(positional(&one), [0, 1]);
}

#[test]
fn sizes_from_elements_and_strings() {
    let medley = medley();
    let sizes: Vec<u8> = [2_i32, 4, 0].iter().flat_map(|value| value.to_ne_bytes()).collect();
    let mut named = vec![
        ("points", shape(&[5])),
        ("title", Given::Text("hello")),
        ("sizes", Given::Elements { shape: &[3], bytes: &sizes }),
        ("names", Given::Other),
        ("input", Given::Text("data.txt")),
        ("f", Given::Other),
    ];
    let all = call(&medley, &named).unwrap();
    assert_eq!(integers(&medley, &all, &["n"]), [5]);
    // The file is missing.
    named.remove(4);
    let error = call(&medley, &named).unwrap_err();
    assert!(error.message().contains("input"), "{error}");
}

#[test]
fn values_that_do_not_fit_are_refused() {
    let dgesv = dgesv();
    let huge = 3_000_000_000;
    let error = call(&dgesv, &[("A", shape(&[huge, huge])), ("B", shape(&[huge]))]).unwrap_err();
    assert!(error.to_string().contains("3000000000 does not fit int"), "{error}");
    let source = "taken from: axis 0 of A, which is 3000000000 x 3000000000";
    assert!(error.to_string().contains(source), "{error}");
    assert!(call(&dgesv, &[("n", Given::Real(2.0))]).is_err());
    assert!(call(&dgesv, &[("A", Given::Text("abc")), ("B", shape(&[3]))]).is_err());
    assert!(
        complete(&dgesv, &[Given::Unset])
            .unwrap_err()
            .message()
            .contains("takes 8 arguments, not 1")
    );
    let unsigned = interface("u", vec![scalar(In, ElementType::UInt8, "k")]);
    assert!(call(&unsigned, &[("k", Given::Integer(256))]).is_err());
    assert!(call(&unsigned, &[("k", Given::Integer(255))]).is_ok());
}

#[test]
fn values_outside_their_domain_are_refused_before_extents() {
    let mut dgemm = dgemm();
    dgemm.parameters[0].domain = Some(Domain::Characters("NTC".into()));
    let arrays = [("A", shape(&[2, 3])), ("B", shape(&[3, 4])), ("C", shape(&[2, 4]))];
    let with = |letter| call(&dgemm, &[&arrays[..], &[("transa", Given::Text(letter))]].concat());
    // As 'T' the extents would disagree; that is not what is wrong.
    assert_eq!(with("X").unwrap_err().message(), "transa = 'X' is not one of N, T, C");
    assert!(with("N").is_ok());
    let limited = limited();
    let with = |k, t| {
        // Letters match in either case, and reach the routine as they are.
        let given = [
            ("x", shape(&[3])),
            ("k", Given::Integer(k)),
            ("T", Given::Real(t)),
            ("trans", Given::Text("t")),
        ];
        call(&limited, &given).map_err(|error| error.message().to_owned())
    };
    assert!(with(3, 0.5).is_ok());
    assert_eq!(with(4, 0.5).unwrap_err(), "k = 4, but 1 <= k && k <= n must hold (n = 3)");
    assert_eq!(with(1, -2.5).unwrap_err(), "T = -2.5, but T > 0.0 must hold");
    assert_eq!(with(1, f64::NAN).unwrap_err(), "T = NaN, but T > 0.0 must hold");
}

#[test]
fn every_error_names_the_routine() {
    let wrong: [&[(&str, Given<'_>)]; 4] = [
        &[],
        &[("A", shape(&[3, 4])), ("B", shape(&[3]))],
        &[("A", shape(&[3, 3, 3]))],
        &[("n", Given::Text("three"))],
    ];
    for named in wrong {
        let error = call(&dgesv(), named).unwrap_err();
        assert!(error.to_string().contains("(routine: test/dgesv)"), "{error}");
    }
}

#[test]
fn what_is_missing_is_listed_at_once() {
    let error = call(&dgesv(), &[]).unwrap_err();
    // A and B bring n, nrhs, lda and ldb with them.
    assert_eq!(error.message(), "dgesv needs A and B: not given");
    assert_eq!(error.advice(), Some("pass A=…, B=…"));
    let error = call(&dgesv(), &[("A", shape(&[3, 3]))]).unwrap_err();
    assert_eq!(error.message(), "dgesv needs B: not given");
    // Only C is missing, and brings n, although A and B have given m and k.
    let error = call(&dgemm(), &[("A", shape(&[2, 3])), ("C", shape(&[2, 4]))]).unwrap_err();
    assert_eq!(error.message(), "dgemm needs B: not given");
    // A default that follows from what is missing is not missing itself.
    let mut dgesv = dgesv();
    dgesv.parameters[3].default = Some(p(0));
    assert_eq!(call(&dgesv, &[]).unwrap_err().message(), "dgesv needs A and B: not given");
}

#[test]
fn scalars_that_no_array_would_determine_are_listed() {
    let needs = |interface: &Interface, named: &[(&str, Given<'_>)]| {
        call(interface, named).unwrap_err().message().to_owned()
    };
    let vectors = |extent: Expression| {
        let parameters = vec![int("n"), int("k"), array(In, Float64, "x", vec![dim(extent)])];
        interface("f", parameters)
    };
    // Nobody sizes by k, x brings the sum of both only, and |n| hides a sign.
    let both = "f needs n and x: not passed, and no other argument determines it";
    assert_eq!(needs(&vectors(abs(p(0))), &[("k", Given::Integer(1))]), both);
    assert_eq!(
        needs(&vectors(p(0)), &[]),
        "f needs k and x: not passed, and no other argument determines it"
    );
    assert_eq!(
        needs(&vectors(add(p(0), p(1))), &[("k", Given::Integer(2))]),
        "f needs x: not given"
    );
    let sum = needs(&vectors(add(p(0), p(1))), &[]);
    // One of the two is enough, the one that goes by position.
    assert_eq!(sum, "f needs k and x: not passed, and no other argument determines it");
    let hidden = needs(&vectors(add(abs(p(0)), p(1))), &[]);
    assert_eq!(hidden, "f needs n and x: not passed, and no other argument determines it");
    // x is there, and no whole n makes it fit: x cannot be asked for again.
    let half = Expression::Binary(BinaryOperator::Divide, Box::new(p(0)), Box::new(i(2)));
    let half = needs(&vectors(half), &[("x", shape(&[4])), ("k", Given::Integer(1))]);
    assert_eq!(half, "f needs n: not passed, and no other argument determines it");
}
