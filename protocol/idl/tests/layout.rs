//! Layouts of calls: sizes, ranges, runs, limits, and what hostile values lead to.

use crate::fixture::*;
use farcall_base::{Bytes, ErrorKind, Result};
use farcall_idl::element::swap_bytes;
use farcall_idl::evaluate::Values;
use farcall_idl::interface::{Dimension, ElementType, Interface, Order};
use farcall_idl::layout::{
    ArrayLayout, CallLayout, ParameterLayout, ResolvedDimension, TEXTS_MAX, certain_refusal,
    resolve, resolve_results,
};
use farcall_idl::scalar::ScalarValue;
use farcall_idl::values::ByteValues;

const LIMIT: Bytes = Bytes(1 << 30);

fn integers(interface: &Interface, given: &[(&str, i64)]) -> Vec<Option<Vec<u8>>> {
    let given: Vec<_> =
        given.iter().map(|(name, value)| (*name, ScalarValue::Integer(*value))).collect();
    bytes_of(interface, &given)
}

fn resolved(interface: &Interface, given: &[(&str, i64)]) -> Result<CallLayout> {
    let bytes = integers(interface, given);
    resolve(interface, &ByteValues::new(interface, slices(&bytes)), LIMIT)
}

fn array_of<'a>(interface: &Interface, layout: &'a CallLayout, name: &str) -> &'a ArrayLayout {
    let index = interface.parameters.iter().position(|p| p.name == name).unwrap();
    match &layout.parameters[index] {
        ParameterLayout::Array(array) => array,
        other => panic!("{name} is {other:?}"),
    }
}

#[test]
fn leading_dimension_gives_one_run_per_column() {
    let dgesv = dgesv();
    let layout = resolved(&dgesv, &[("n", 3), ("nrhs", 2), ("lda", 5), ("ldb", 3)]).unwrap();
    let a = array_of(&dgesv, &layout, "A");
    assert_eq!((a.full_bytes, a.transfer_bytes, a.is_contiguous()), (5 * 3 * 8, 9 * 8, false));
    assert_eq!(a.runs().collect::<Vec<_>>(), [(0, 24), (40, 24), (80, 24)]);
    assert_eq!(a.strides_bytes(), [8, 40]);
    // The leading dimension of B is its number of rows: everything is one piece.
    let b = array_of(&dgesv, &layout, "B");
    assert_eq!(b.runs().collect::<Vec<_>>(), [(0, 48)]);
    assert!(b.is_contiguous());
    assert_eq!(layout.parameters[0], ParameterLayout::Scalar { bytes: 4 });
}

/// Values that are not known yet may still fit.
#[test]
fn what_no_value_can_mend_is_refused_before_all_are_known() {
    let dgesv = dgesv();
    let refusal = |given: &[(&str, i64)]| {
        let bytes = integers(&dgesv, given);
        certain_refusal(&dgesv, &ByteValues::new(&dgesv, slices(&bytes)))
            .map(|error| error.to_string())
    };
    let wrong = refusal(&[("n", -1)]).unwrap();
    assert!(wrong.contains("negative size -1") && wrong.contains("dgesv"), "{wrong}");
    assert!(refusal(&[("n", 3), ("nrhs", 2), ("lda", 2), ("ldb", 3)]).is_some());
    for fine in [&[][..], &[("n", 3)], &[("lda", 2)], &[("n", 3), ("lda", 3), ("ldb", 5)]] {
        assert_eq!(refusal(fine), None, "{fine:?}");
    }
}

#[test]
fn an_empty_matrix_transfers_nothing() {
    let dgesv = dgesv();
    let layout = resolved(&dgesv, &[("n", 0), ("nrhs", 2), ("lda", 1), ("ldb", 1)]).unwrap();
    let b = array_of(&dgesv, &layout, "B");
    // [ldb:n] with n = 0 is no rows, although the memory has one; Ninf-G's "0 means all" would send two elements.
    assert_eq!((b.full_bytes, b.transfer_bytes, b.runs().count()), (16, 0, 0));
    assert!(b.is_contiguous());
}

#[test]
fn conditions_choose_sizes_and_absence() {
    let dgesdd = dgesdd();
    let sizes = [("m", 4), ("n", 3), ("lda", 4), ("ldu", 4), ("ldvt", 3)];
    let with = |jobz: char| {
        let all: Vec<_> =
            sizes.iter().copied().chain([("jobz", i64::from(u32::from(jobz)))]).collect();
        resolved(&dgesdd, &all).unwrap()
    };
    assert_eq!(with('N').parameters[6], ParameterLayout::Absent);
    assert_eq!(array_of(&dgesdd, &with('S'), "U").transfer_bytes, 4 * 3 * 8);
    assert_eq!(array_of(&dgesdd, &with('A'), "U").transfer_bytes, 4 * 4 * 8);
    // WORK arrays exist in memory and never travel; their size comes from a WORK scalar.
    let layout = with('A');
    let work = array_of(&dgesdd, &layout, "work");
    assert_eq!((work.full_bytes, work.transfer_bytes, work.runs().count()), (4 * 12 * 8, 0, 0));
}

/// Brute force: the elements that travel, in storage order, joined where they are neighbours.
fn expected_runs(dimensions: &[ResolvedDimension], order: Order, element: u64) -> Vec<(u64, u64)> {
    let mut dimensions = dimensions.to_vec();
    if order == Order::Row {
        dimensions.reverse();
    }
    let total: u64 = dimensions.iter().map(|d| d.size).product();
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for index in 0..total {
        let mut rest = index;
        let travels = dimensions.iter().all(|d| {
            let at = rest % d.size;
            rest /= d.size;
            at >= d.start && at < d.end && (at - d.start).is_multiple_of(d.stride)
        });
        match runs.last_mut() {
            Some((offset, length)) if travels && *offset + *length == index * element => {
                *length += element
            }
            _ if travels => runs.push((index * element, element)),
            _ => {}
        }
    }
    runs
}

#[test]
fn runs_equal_brute_force_for_all_small_arrays() {
    let ranges: Vec<ResolvedDimension> = (0..4_u64)
        .flat_map(|size| {
            (0..=size).flat_map(move |start| (start..=size).map(move |end| (size, start, end)))
        })
        .flat_map(|(size, start, end)| (1..4).map(move |stride| (size, start, end, stride)))
        .map(|(size, start, end, stride)| ResolvedDimension {
            size,
            start,
            end,
            stride,
            count: (end - start).div_ceil(stride),
        })
        .collect();
    let mut checked = 0;
    for (first, second) in ranges.iter().flat_map(|a| ranges.iter().map(move |b| (*a, *b))) {
        for (order, third) in [(Order::Row, first), (Order::Column, second)] {
            let dimensions = vec![first, second, third];
            let counts: u64 = dimensions.iter().map(|d| d.count).product();
            let full = 8 * dimensions.iter().map(|d| d.size).product::<u64>();
            let array = ArrayLayout {
                is_given: true,
                dimensions: dimensions.clone(),
                order,
                element_bytes: 8,
                full_bytes: full,
                transfer_bytes: 8 * counts,
            };
            let runs: Vec<_> = array.runs().collect();
            assert_eq!(runs, expected_runs(&dimensions, order, 8), "{array:?}");
            assert_eq!(array.is_contiguous(), runs.len() <= 1, "{array:?}");
            checked += 1;
        }
    }
    assert!(checked > 5000);
}

#[test]
fn results_have_the_length_that_the_routine_reports() {
    let selection = selection();
    let before = resolved(&selection, &[("n", 10)]).unwrap();
    // Before the call the bound counts.
    assert_eq!(array_of(&selection, &before, "w").transfer_bytes, 80);
    let after = |m: i64| {
        let bytes = integers(&selection, &[("n", 10), ("m", m)]);
        resolve_results(&selection, &ByteValues::new(&selection, slices(&bytes)), &before)
    };
    assert_eq!(array_of(&selection, &after(4).unwrap(), "w").runs().collect::<Vec<_>>(), [(0, 32)]);
    // A count of zero is no elements, not "all".
    assert_eq!(array_of(&selection, &after(0).unwrap(), "w").transfer_bytes, 0);
    for outside in [11, -1, i64::from(i32::MAX)] {
        let error = after(outside).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::RoutineFailed, "{error}");
        assert!(error.to_string().contains("w[n:m]"), "{error}");
    }
    // The routine never said how many.
    assert!(after_without_m(&selection, &before).is_err());
}

fn after_without_m(selection: &Interface, before: &CallLayout) -> Result<CallLayout> {
    let bytes = integers(selection, &[("n", 10)]);
    resolve_results(selection, &ByteValues::new(selection, slices(&bytes)), before)
}

#[test]
fn hostile_sizes_are_errors_that_name_the_parameter() {
    let dgesv = dgesv();
    let with = |n: i64, lda: i64| {
        resolved(&dgesv, &[("n", n), ("nrhs", 1), ("lda", lda), ("ldb", n.max(1))])
    };
    // Negative order.
    let error = with(-1, 3).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(
        error.to_string().contains("A[lda:n][n]") && error.to_string().contains("n = -1"),
        "{error}"
    );
    // Leading dimension below the number of rows: rows would overlap.
    let error = with(4, 3).unwrap_err();
    assert!(
        error.to_string().contains("[lda:n]") && error.to_string().contains("lda = 3"),
        "{error}"
    );
    // 2^31 squared elements: fits 64 bits, not this machine.
    let error = with(2_000_000_000, 2_000_000_000).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    // Large, but a machine might have it: the limit speaks.
    let error = with(20_000, 20_000).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    assert!(
        error.to_string().contains("A[lda:n][n]") && error.to_string().contains("1 GiB"),
        "{error}"
    );
    // Texts: each has one byte on its way, and far more where it arrives.
    let texts =
        interface("say", vec![int("n"), array(Out, ElementType::String, "s", vec![dim(p(0))])]);
    let most = TEXTS_MAX as i64;
    assert!(resolved(&texts, &[("n", most)]).is_ok());
    let error = resolved(&texts, &[("n", most + 1)]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    assert!(error.to_string().contains("1048577 texts"), "{error}");
    // A size that nobody passed.
    let error = resolved(&dgesv, &[("nrhs", 1), ("lda", 3), ("ldb", 3)]).unwrap_err();
    assert!(error.to_string().contains("n has no value"), "{error}");
}

#[test]
fn ranges_that_do_not_fit_say_which_value_and_what_would_do() {
    let refused = |interface: &Interface, given: &[(&str, i64)]| {
        let error = resolved(interface, given).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        (error.message().to_owned(), error.advice().unwrap().to_owned())
    };
    let (message, advice) = refused(&dgesv(), &[("n", 2), ("nrhs", 1), ("lda", 1), ("ldb", 2)]);
    assert_eq!(message, "lda = 1 is less than n = 2");
    assert_eq!(advice, "omit it, or pass at least 2");
    let with = |size, start: Option<_>, end, stride: Option<_>| {
        let range = Dimension { size, start, end: Some(end), stride };
        interface(
            "one",
            vec![
                int("n"),
                int("m"),
                array(In, Float64, "x", vec![range]),
                array(Out, Float64, "y", vec![dim(p(0))]),
            ],
        )
    };
    let given = [("n", 4), ("m", -1)];
    // A size that is needed elsewhere cannot be left out.
    let (message, advice) = refused(&with(p(0), None, i(9), None), &given);
    assert_eq!(
        (message.as_str(), advice.as_str()),
        ("n = 4 is less than the end 9 of the range of x", "pass at least 9")
    );
    let (message, advice) = refused(&with(i(3), None, add(p(0), i(1)), None), &given);
    assert_eq!(message, "the size 3 of x is less than n + 1 = 5 (with n = 4)");
    assert_eq!(advice, "pass values that make the size of x 5 or more");
    // Nobody reads a long expression; its values say what it came from.
    let long = add(times(p(0), times(abs(p(1)), add(p(0), p(1)))), add(p(0), p(1)));
    let (message, _) = refused(&with(i(3), None, long, None), &given);
    assert_eq!(
        message,
        "the size 3 of x is less than the end 15 of the range of x (with n = 4 and m = -1)"
    );
    let (message, advice) = refused(&with(p(0), None, p(0), Some(p(1))), &given);
    assert_eq!(
        (message.as_str(), advice.as_str()),
        ("m = -1 is less than 1", "pass 1 or more for m")
    );
    assert_eq!(refused(&with(p(0), Some(p(1)), p(0), None), &given).0, "m = -1 is negative");
    assert_eq!(
        refused(&with(p(0), Some(p(0)), i(2), None), &given).0,
        "the end 2 of the range of x is less than n = 4"
    );
}

#[test]
fn every_error_names_the_routine() {
    let named = |error: farcall_base::Error| {
        error.to_string().contains("(routine: test/")
            || error.to_string().contains(", routine: test/")
    };
    let dgesv = dgesv();
    assert!(named(
        resolved(&dgesv, &[("n", -1), ("nrhs", 1), ("lda", 1), ("ldb", 1)]).unwrap_err()
    ));
    assert!(named(resolved(&dgesv, &[]).unwrap_err()));
    let limited = limited();
    let error = resolved(&limited, &[("trans", 88), ("n", 1), ("k", 1)]).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("check values: trans = 'X' is not one of N, T, C (routine: test/limited)"),
        "{error}"
    );
    let selection = selection();
    let before = resolved(&selection, &[("n", 3)]).unwrap();
    let bytes = integers(&selection, &[("n", 3), ("m", 4)]);
    let error = resolve_results(&selection, &ByteValues::new(&selection, slices(&bytes)), &before)
        .unwrap_err();
    assert!(named(error));
}

#[test]
fn the_sum_of_all_arrays_is_limited_not_each() {
    let parameters =
        (0..4).map(|k| array(In, Float64, &format!("x{k}"), vec![dim(i(1 << 25))])).collect();
    let four = interface("four", parameters);
    // Each of the four arrays is 256 MiB: together exactly the limit; one byte less refuses the
    // last.
    let none = ByteValues::new(&four, Vec::new());
    assert!(resolve(&four, &none, LIMIT).is_ok());
    let error = resolve(&four, &none, Bytes(LIMIT.0 - 1)).unwrap_err();
    assert!(error.to_string().contains("x3"), "{error}");
}

#[test]
fn work_scalars_that_fail_say_why() {
    let parameters = vec![
        scalar(In, Int64, "n"),
        with_default(scalar(Work, Int32, "lwork"), times(p(0), p(0))),
        array(Work, Float64, "work", vec![dim(p(1))]),
    ];
    let squared = interface("squared", parameters);
    let error = resolved(&squared, &[("n", i64::MAX)]).unwrap_err();
    assert!(
        error.to_string().contains("n * n overflows 64 bits (n = 9223372036854775807)"),
        "{error}"
    );
    // 10^10 is a fine number, but not for the int that the routine takes.
    let error = resolved(&squared, &[("n", 100_000)]).unwrap_err();
    assert!(error.to_string().contains("10000000000 does not fit int"), "{error}");
}

#[test]
fn defaults_are_computed_once_even_in_hostile_chains() {
    // Each of eight WORK scalars refers to the next 60 times: 60^8 evaluations without memory of
    // earlier results.
    let sum = |next: u16| (0..59).fold(p(next), |sum, _| add(sum, p(next)));
    let mut parameters: Vec<_> = (0..8)
        .map(|k| {
            with_default(
                scalar(Work, Int64, &format!("w{k}")),
                if k < 7 { sum(k + 1) } else { i(0) },
            )
        })
        .collect();
    parameters.push(array(Work, Float64, "work", vec![dim(p(0))]));
    let chain = interface("chain", parameters);
    chain.validate().unwrap();
    assert!(resolved(&chain, &[]).is_ok());
}

#[test]
fn circular_defaults_end() {
    let parameters = vec![
        with_default(int("a"), p(1)),
        with_default(int("b"), p(0)),
        array(In, Float64, "x", vec![dim(p(0))]),
    ];
    let circle = interface("circle", parameters);
    assert!(circle.validate().is_err());
    assert!(resolved(&circle, &[]).is_err());
}

#[test]
fn structs_strings_files_and_callbacks() {
    let medley = medley();
    let mut bytes = integers(&medley, &[("n", 5)]);
    bytes[2] = Some(b"hello\0".to_vec());
    bytes[3] = Some([2_i32, 4, 0].iter().flat_map(|v| v.to_ne_bytes()).collect());
    let slices = slices(&bytes);
    let values = ByteValues::new(&medley, slices);
    assert_eq!(values.length(2), Some(5));
    let layout = resolve(&medley, &values, LIMIT).unwrap();
    // char, padding to 8, double, three shorts, padding to 8.
    assert_eq!(array_of(&medley, &layout, "points").full_bytes, 5 * 24);
    assert_eq!(layout.parameters[2], ParameterLayout::Text);
    // z[sizes[1]][n : 1, 0, 2]: rows of 5, elements 1 and 3 of each.
    let z = array_of(&medley, &layout, "z");
    assert_eq!(z.runs().take(3).collect::<Vec<_>>(), [(16, 16), (48, 16), (96, 16)]);
    assert_eq!(z.transfer_bytes, 4 * 2 * 16);
    assert_eq!(layout.parameters[5], ParameterLayout::TextArray { count: 2 });
    assert_eq!(array_of(&medley, &layout, "echo").full_bytes, 6);
    assert_eq!(layout.parameters[8], ParameterLayout::Callback);
    // Scalars, the array whose elements give sizes, and the string whose length does.
    assert_eq!(medley.inline_parameters(), [0, 2, 3]);
    assert_eq!(selection().inline_results(), [2]);
}

#[test]
fn callbacks_count_their_own_parameters() {
    let medley = medley();
    let scope = medley.callback_scope(8).unwrap();
    let n = 7_i32.to_ne_bytes();
    let values = ByteValues::in_scope(scope, vec![Some(&n[..])]);
    let layout = farcall_idl::layout::resolve_in(scope, &values, LIMIT).unwrap();
    assert!(
        matches!(&layout.parameters[1], ParameterLayout::Array(array) if array.full_bytes == 56)
    );
}

#[test]
fn byte_order_swaps_per_field_and_per_half() {
    let medley = medley();
    let mut point = vec![0_u8; 24];
    point[8..16].copy_from_slice(&1.5_f64.to_le_bytes());
    point[16..18].copy_from_slice(&7_i16.to_le_bytes());
    swap_bytes(&medley, ElementType::Struct(0), &mut point);
    assert_eq!(point[8..16], 1.5_f64.to_be_bytes());
    assert_eq!(point[16..18], 7_i16.to_be_bytes());
    let mut complex: Vec<u8> = [1.0_f64, 2.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    swap_bytes(&medley, Complex128, &mut complex);
    // The halves keep their places.
    assert_eq!(complex[..8], 1.0_f64.to_be_bytes());
}

#[test]
fn ranges_follow_the_rules() {
    let range = |start: Option<i64>, end: Option<i64>, stride: Option<i64>| {
        let dimension =
            Dimension { size: p(0), start: start.map(i), end: end.map(i), stride: stride.map(i) };
        let one = interface("one", vec![int("n"), array(In, Float64, "x", vec![dimension])]);
        resolved(&one, &[("n", 10)]).map(|layout| array_of(&one, &layout, "x").dimensions[0])
    };
    let triple = |start, end, stride| {
        let d = range(start, end, stride).unwrap();
        (d.start, d.end, d.stride, d.count)
    };
    assert_eq!(triple(None, None, None), (0, 10, 1, 10));
    assert_eq!(triple(Some(2), Some(0), Some(0)), (2, 10, 1, 8));
    assert_eq!(triple(Some(1), Some(9), Some(3)), (1, 9, 3, 3));
    assert_eq!(triple(Some(5), Some(5), None), (5, 5, 1, 0));
    for (start, end, stride) in [
        (Some(-1), None, None),
        (Some(6), Some(5), None),
        (None, Some(11), None),
        (None, None, Some(-1)),
    ] {
        assert!(range(start, end, stride).is_err());
    }
}

#[test]
fn an_empty_array_with_a_monstrous_side_is_refused() {
    // 2^62 x 0 elements need no memory, but offsets within would not fit a pointer.
    let parameters =
        vec![scalar(In, Int64, "n"), array(In, Float64, "x", vec![dim(p(0)), dim(i(0))])];
    let thin = interface("thin", parameters);
    assert!(resolved(&thin, &[("n", 1 << 62)]).is_err());
    assert!(resolved(&thin, &[("n", 1 << 40)]).is_ok());
}

/// Prints what resolving a call costs; every call pays it on both sides.
#[test]
#[ignore = "a measurement: run with --release -- --ignored --nocapture"]
fn cost_of_a_small_call() {
    for (interface, given) in [
        (ddot(), vec![("n", 4)]),
        (dgesv(), vec![("n", 3), ("nrhs", 2), ("lda", 5), ("ldb", 3)]),
        (dgesdd(), vec![("jobz", 65), ("m", 4), ("n", 3), ("lda", 4), ("ldu", 4), ("ldvt", 3)]),
    ] {
        let bytes = integers(&interface, &given);
        let rounds = 200_000;
        let begin = std::time::Instant::now();
        for _ in 0..rounds {
            let values = ByteValues::new(&interface, slices(&bytes));
            std::hint::black_box(resolve(&interface, &values, LIMIT).unwrap());
        }
        println!("{}: {} ns", interface.name, begin.elapsed().as_nanos() / rounds);
    }
}
