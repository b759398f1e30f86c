//! INOUT arrays that are read only under a condition: what it evaluates to, which hashes it
//! changes, and what an interface that was not compiled here may say.

use crate::fixture::*;
use farcall_base::{Bytes, ErrorKind, Result};
use farcall_idl::decode::{decode_interface, decode_module};
use farcall_idl::encode::{call_hash, contract_hash, encode_interface, encode_module};
use farcall_idl::expression::{BinaryOperator as B, Expression};
use farcall_idl::infer::{Given, complete, complete_sizes};
use farcall_idl::interface::ElementType::{
    self, Char, Complex64, Complex128, Filename, Float32, Float64, Int32, Int64,
};
use farcall_idl::interface::Mode::{self, In, InOut, Out, Work};
use farcall_idl::interface::{Interface, Parameter, Shape};
use farcall_idl::layout::{CallLayout, ParameterLayout, resolve};
use farcall_idl::scalar::ScalarValue::{self, Complex, Integer, Real};
use farcall_idl::signature::signature;
use farcall_idl::sizer::Sizer;
use farcall_idl::values::ByteValues;

const LIMIT: Bytes = Bytes(1 << 30);

fn compiled(parameters: &str) -> Interface {
    let text = format!("Module t; Define f({parameters}) {{ }}");
    let module = farcall_idl::compile("t.idl", &text).unwrap_or_else(|why| panic!("{why}"));
    module.routines.into_iter().next().unwrap().interface
}

fn laid_out(interface: &Interface, given: &[(&str, ScalarValue)]) -> Result<CallLayout> {
    let bytes = bytes_of(interface, given);
    resolve(interface, &ByteValues::new(interface, slices(&bytes)), LIMIT)
}

/// Which way the last array of an interface goes in a call with these values.
fn way(interface: &Interface, given: &[(&str, ScalarValue)]) -> Mode {
    let layout = laid_out(interface, given).unwrap();
    let last = interface.parameters.iter().zip(&layout.parameters).next_back().unwrap();
    last.1.mode(last.0)
}

#[test]
fn a_condition_on_a_number_says_which_way_an_array_goes() {
    let of = |element: ElementType| {
        compiled(&format!("IN {} beta, INOUT double c[2] given when beta != 0", element.name()))
    };
    for element in [Int32, Int64, Float32, Float64, Complex64, Complex128] {
        let beta = |value| way(&of(element), &[("beta", value)]);
        assert_eq!(beta(Integer(0)), Out, "{element:?}");
        assert_eq!(beta(Integer(-1)), InOut, "{element:?}");
    }
    let real = |value| way(&of(Float64), &[("beta", Real(value))]);
    assert_eq!((real(-0.0), real(f64::MIN_POSITIVE)), (Out, InOut));
    assert_eq!((real(f64::NAN), real(f64::INFINITY)), (InOut, InOut));
    let complex = |re, im| way(&of(Complex128), &[("beta", Complex(re, im))]);
    assert_eq!((complex(0.0, -0.0), complex(0.0, 1e-300)), (Out, InOut));
    assert_eq!((complex(f64::NAN, 0.0), complex(0.0, f64::NAN)), (InOut, InOut));
}

#[test]
fn conditions_mix_numbers_characters_and_what_is_computed() {
    let all = compiled(
        "IN char job = 'N', IN dcomplex z = 0, IN double x, IN int n, WORK int half = n / 2, \
         INOUT float c[n] given when job == 'V' && !(x <= 0.5) || z == 1 || half > 3",
    );
    let of = |job: u8, z: ScalarValue, x: f64, n: i64| {
        way(&all, &[("job", Integer(job.into())), ("z", z), ("x", Real(x)), ("n", Integer(n))])
    };
    assert_eq!(of(b'V', Integer(0), 0.6, 1), InOut);
    assert_eq!(of(b'V', Integer(0), 0.5, 1), Out);
    assert_eq!(of(b'N', Complex(1.0, 0.0), 0.0, 1), InOut);
    assert_eq!(of(b'N', Complex(1.0, 1.0), 0.0, 7), Out);
    assert_eq!(of(b'N', Integer(0), 0.0, 8), InOut);
    // What was left out has its default.
    assert_eq!(way(&all, &[("x", Real(1.0)), ("n", Integer(2))]), Out);
    // A condition that cannot be computed refuses the call; one that need not be does not.
    let divided =
        compiled("IN int n, IN double x, INOUT double c[2] given when x > 0 && 1 / n > 0");
    assert_eq!(way(&divided, &[("n", Integer(0)), ("x", Real(0.0))]), Out);
    let error = laid_out(&divided, &[("n", Integer(0)), ("x", Real(1.0))]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    assert!(error.to_string().contains("divides by zero"), "{error}");
    let error = laid_out(&divided, &[("n", Integer(1))]).unwrap_err();
    assert!(error.to_string().contains("x has no value"), "{error}");
}

#[test]
fn what_is_not_given_has_its_memory_and_comes_back_all_the_same() {
    let product = product(Float64);
    let call = |beta| {
        let values = [("m", Integer(2)), ("n", Integer(3)), ("ldc", Integer(4)), ("beta", beta)];
        let layout = laid_out(&product, &values).unwrap();
        let ParameterLayout::Array(c) = layout.parameters[4].clone() else { panic!("an array") };
        c
    };
    let left_out = call(Real(0.0));
    assert!(!left_out.is_given);
    assert_eq!((left_out.full_bytes, left_out.transfer_bytes), (4 * 3 * 8, 2 * 3 * 8));
    let given = call(Real(2.0));
    assert!(given.is_given);
    assert_eq!(given.runs().collect::<Vec<_>>(), left_out.runs().collect::<Vec<_>>());
    // The value decides: a call with another one does not share the layout.
    let sizer = Sizer::new(&product);
    let is_given = |beta: f64| {
        let values =
            [("m", Integer(2)), ("n", Integer(3)), ("ldc", Integer(4)), ("beta", Real(beta))];
        let bytes = bytes_of(&product, &values);
        let layout = sizer.resolve(&product, &slices(&bytes), LIMIT).unwrap();
        layout.parameters[4].mode(&product.parameters[4]) == InOut
    };
    assert_eq!([0.0, 1.0, 0.0].map(is_given), [false, true, false]);
}

#[test]
fn a_caller_may_leave_out_what_is_not_read() {
    let product = product(Float64);
    let x = Given::Array { shape: &[2, 3] };
    let c = Given::Array { shape: &[2, 3] };
    let unset = Given::Unset;
    let zero = Given::Real(0.0);
    let two = Given::Real(2.0);
    // m, n, X, beta, C, ldc.
    let of = |x, beta, c| complete(&product, &[unset, unset, x, beta, c, unset]);
    for beta in [unset, zero] {
        let all = of(x, beta, unset).unwrap().scalars;
        assert_eq!([all[0], all[1], all[5]].map(|one| one.unwrap().integer().unwrap()), [2, 3, 2]);
        assert!(of(x, beta, c).is_ok(), "nor need it be left out");
    }
    let error = of(x, two, unset).unwrap_err();
    assert!(error.to_string().contains("needs C: not given"), "{error}");
    // Its extents are what comes back: they must fit, whether it is read or not.
    let error = of(x, zero, Given::Array { shape: &[2, 4] }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    assert_eq!(
        signature(&product),
        "product(X, C=None, *, m=None, n=None, beta=0.0, ldc=None) -> C"
    );
}

#[test]
fn a_call_that_is_only_foretold_takes_unknown_conditions_to_hold() {
    let interface = compiled("IN int n, IN dcomplex beta, INOUT double c[n] given when beta != 0");
    let of = |beta| complete_sizes(&interface, &[Given::Integer(5), beta, Given::Unset]).unwrap();
    let (all, assumed) = of(Given::Unset);
    assert_eq!(assumed, [1]);
    assert_eq!(all.scalars[1], Some(Integer(1)));
    assert!(of(Given::Complex(0.0, 0.0)).1.is_empty());
}

#[test]
fn a_condition_is_no_part_of_the_contract_but_of_what_calls_are_opened_with() {
    let with = product(Float64);
    let mut without = with.clone();
    without.parameters[4].given = None;
    assert_eq!(contract_hash(&with), contract_hash(&without));
    assert_eq!(call_hash(&without), contract_hash(&without));
    assert_ne!(call_hash(&with), contract_hash(&with));
    let mut other = with.clone();
    other.parameters[4].given = Some(binary(B::Greater, p(3), i(0)));
    assert_ne!(call_hash(&with), call_hash(&other));
    // Names are none either.
    other.parameters[4].given.clone_from(&with.parameters[4].given);
    other.parameters[3].name = "factor".into();
    assert_eq!(call_hash(&with), call_hash(&other));
    // A reader that does not know the key skips it: it is positive, and nothing else differs.
    let key = [0x12, 0x84, 0x03, 0x0b, 0x82, 0x00, 0x03, 0x00];
    let long = encode_interface(&with);
    let at = long.windows(key.len()).position(|window| window == key).unwrap();
    assert_eq!(encode_interface(&without).len() + key.len(), long.len());
    assert_eq!(&long[at + key.len()..], &encode_interface(&without)[at..]);
    assert_eq!(decode_interface(&long).unwrap(), with);
}

#[test]
fn an_executable_that_does_not_know_the_word_refuses_the_module() {
    let module = |parameters: &str| {
        let text = format!("Module t; Define f({parameters}) Calls f(c);");
        farcall_idl::compile("t.idl", &text).unwrap()
    };
    let with = encode_module(&module("IN int n, INOUT int c[2] given when n"));
    let without = encode_module(&module("IN int n, INOUT int c[2]"));
    // The last entry of the implementation's map: -2, true.
    assert!(with.ends_with(&[0x21, 0xf5]), "{with:02x?}");
    assert!(!without.contains(&0x21), "{without:02x?}");
    assert!(decode_module(&with).is_ok());
    // So does this one with a key that it does not know.
    let mut later = with.clone();
    let last = later.len() - 2;
    later[last] = 0x22;
    assert_eq!(decode_module(&later).unwrap_err().kind(), ErrorKind::Version);
}

#[test]
fn an_interface_from_elsewhere_is_held_to_the_rules() {
    let n = || p(0);
    let x = |mode, element| array(mode, element, "x", vec![dim(i(2))]);
    let refused = |parameters: Vec<Parameter>| {
        let mut interface = interface("f", parameters);
        let error = interface.validate().unwrap_err().to_string();
        let bytes = encode_interface(&interface);
        assert_eq!(decode_interface(&bytes).unwrap_err().kind(), ErrorKind::Protocol);
        interface.parameters.iter_mut().for_each(|one| one.given = None);
        interface.validate().unwrap();
        error
    };
    let given = |parameter| vec![int("n"), given_when(parameter, n())];
    for (mode, element) in [(In, Float64), (Out, Float64), (Work, Float64), (InOut, Filename)] {
        assert!(refused(given(x(mode, element))).contains("only INOUT arrays can be"));
    }
    assert!(refused(given(int("k"))).contains("only INOUT arrays can be"));
    let on = |condition, other: Parameter| vec![other, given_when(x(InOut, Float64), condition)];
    let elsewhere = "on something other than IN or WORK numbers";
    for (condition, other) in [
        (n(), array(In, Int32, "v", vec![dim(i(1))])),
        (n(), array(Out, Int32, "v", vec![dim(i(1))])),
        (n(), scalar(In, ElementType::String, "s")),
        (Expression::Parameter(1), int("n")),
        (n(), scalar(In, Complex64, "z")),
        (binary(B::Less, n(), i(1)), scalar(In, Complex64, "z")),
        (binary(B::Equal, add(n(), i(1)), i(1)), scalar(In, Complex64, "z")),
    ] {
        assert!(refused(on(condition, other)).contains(elsewhere));
    }
    let sized = array(In, Char, "y", vec![dim(Expression::Element(1, Box::new(i(0))))]);
    let mut sizes = given(x(InOut, Int32));
    sizes.push(sized);
    assert!(refused(sizes).contains("sizes refer to its elements"));
    let callback = Parameter {
        shape: Shape::Callback { parameters: given(x(InOut, Int32)) },
        ..scalar(In, Char, "g")
    };
    let error = interface("f", vec![callback]).validate().unwrap_err().to_string();
    assert!(error.contains("cannot have x"), "{error}");
}
