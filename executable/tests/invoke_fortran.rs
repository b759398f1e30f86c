//! Calls real Fortran code as gfortran compiles it: references, hidden lengths, function results.

use crate::fixture::*;
use farcall_base::ErrorKind;
use farcall_executable::library::Libraries;
use farcall_idl::interface::*;
use farcall_native::invoke::{Prepared, Slot};

const FORTRAN: Language = Language::Fortran;

#[test]
fn every_type_by_reference() {
    if !has_fortran() {
        return;
    }
    let directory = Directory::new("references");
    let source = "subroutine f(i1, i2, i4, i8, r4, r8, c4, c8, l, out)\n\
        integer(1) :: i1\n integer(2) :: i2\n integer(4) :: i4\n integer(8) :: i8\n real(4) :: \
        r4\n real(8) :: r8\ncomplex(4) :: c4\n complex(8) :: c8\n logical :: l\n real(8) :: \
        out(11)\nout = [dble(i1), dble(i2), dble(i4), dble(i8), dble(r4), r8, dble(real(c4)), \
          dble(aimag(c4)), &\ndble(c8), aimag(c8), merge(1d0, 0d0, l)]\n i4 = 99\n end \
          subroutine\n";
    let library = directory.shared("references.f90", source);
    let parameters = vec![
        scalar("i1", Mode::In, ElementType::Int8),
        scalar("i2", Mode::In, ElementType::Int16),
        scalar("i4", Mode::InOut, ElementType::Int32),
        scalar("i8", Mode::In, ElementType::Int64),
        scalar("r4", Mode::In, ElementType::Float32),
        scalar("r8", Mode::In, ElementType::Float64),
        scalar("c4", Mode::In, ElementType::Complex64),
        scalar("c8", Mode::In, ElementType::Complex128),
        scalar("l", Mode::In, ElementType::Int32),
        array("out", Mode::Out, ElementType::Float64),
    ];
    let mut i1 = -8i8;
    let mut i2 = -16i16;
    let mut i4 = -32i32;
    let mut i8 = -64i64;
    let mut l = 1i32;
    let mut r4 = 0.5f32;
    let mut r8 = 0.25f64;
    let mut c4 = [1.5f32, 2.5];
    let mut c8 = [3.5f64, 4.5];
    let mut out = [0.0f64; 11];
    let mut slots = [
        on(&mut i1),
        on(&mut i2),
        on(&mut i4),
        on(&mut i8),
        on(&mut r4),
        on(&mut r8),
        on(&mut c4),
        on(&mut c8),
        on(&mut l),
        all(&mut out),
    ];
    call(&library, &routine(FORTRAN, "f_", parameters, None), &mut slots);
    assert_eq!(out, [-8.0, -16.0, -32.0, -64.0, 0.5, 0.25, 1.5, 2.5, 3.5, 4.5, 1.0]);
    assert_eq!(i4, 99);
}

#[test]
fn hidden_lengths_behind_all_arguments() {
    if !has_fortran() {
        return;
    }
    let directory = Directory::new("lengths");
    // Every CHARACTER is of assumed length, so a wrong length shows. More than six arguments put
    // lengths on the stack.
    let source = "subroutine f(one, n, text, array, x, path, lengths)\n\
        character(*) :: one, text, path\n character(*) :: array(2)\n integer :: n\n real(8) :: x\n\
        integer :: lengths(5)\n\
        lengths = [len(one), len(text), len(array), len(path), n]\n\
        if (one /= 'T' .or. array(2) /= 'wxyz' .or. x /= 2.5d0 .or. path /= '/p') lengths = -1\n\
        text(1:1) = 'H'\n end subroutine\n";
    let library = directory.shared("lengths.f90", source);
    let parameters = vec![
        scalar("one", Mode::In, ElementType::Char),
        scalar("n", Mode::In, ElementType::Int32),
        scalar("text", Mode::InOut, ElementType::String),
        array("array", Mode::In, ElementType::Char),
        scalar("x", Mode::In, ElementType::Float64),
        scalar("path", Mode::In, ElementType::Filename),
        array("lengths", Mode::Out, ElementType::Int32),
    ];
    let mut one = *b"T";
    let mut n = 5i32;
    let mut greeting = *b"hello world\0";
    let mut array = *b"abcdwxyz";
    let mut x = 2.5f64;
    let mut path = *b"/p\0";
    let mut lengths = [0i32; 5];
    let mut slots = [
        on(&mut one),
        on(&mut n),
        text(&mut greeting),
        // Two CHARACTER*4: the slot's length is that of one.
        Slot::new(array.as_mut_ptr(), 4),
        on(&mut x),
        text(&mut path),
        all(&mut lengths),
    ];
    call(&library, &routine(FORTRAN, "f_", parameters, None), &mut slots);
    assert_eq!(lengths, [1, 11, 4, 2, 5]);
    assert_eq!(&greeting, b"Hello world\0");
}

#[test]
fn hidden_lengths_directly_behind_and_none() {
    // No Fortran compiler of today does this, so C stands in for one.
    let directory = Directory::new("after");
    let source = "#include <stddef.h>\n\
        void after_(char *a, size_t la, int *n, char *b, size_t lb, size_t *out) { out[0]=la; \
        out[1]=lb; out[2]=*n; }\nvoid none_(char *a, int *n, char *b, size_t *out) { out[0] = *a; \
        out[1] = *b; out[2] = *n; }\n";
    let library = directory.shared("after.c", source);
    let parameters = vec![
        scalar("a", Mode::In, ElementType::Char),
        scalar("n", Mode::In, ElementType::Int32),
        array("b", Mode::In, ElementType::Char),
        array("out", Mode::Out, ElementType::UInt64),
    ];
    let cases = [
        ("after_", StringConvention::After, [1, 3, 42]),
        ("none_", StringConvention::None, [97, 98, 42]),
    ];
    for (symbol, strings, expected) in cases {
        let mut routine = routine(FORTRAN, symbol, parameters.clone(), None);
        routine.implementation.strings = strings;
        let mut a = *b"a";
        let mut n = 42i32;
        let mut b = *b"bcd";
        let mut out = [0u64; 3];
        call(&library, &routine, &mut [on(&mut a), on(&mut n), all(&mut b), all(&mut out)]);
        assert_eq!(out, expected, "{symbol}");
    }
}

#[test]
fn function_results_by_value() {
    if !has_fortran() {
        return;
    }
    let types =
        ["integer(4)", "integer(8)", "real(4)", "real(8)", "complex(4)", "complex(8)", "logical"];
    let functions = types.iter().enumerate().map(|(index, name)| {
        let value = if *name == "logical" { ".not. x" } else { "x + x" };
        format!("{name} function f{index}(x)\n {name} :: x\n f{index} = {value}\n end function\n")
    });
    let directory = Directory::new("results");
    let library = directory.shared("results.f90", &functions.collect::<String>());
    macro_rules! check {
        ($index:literal, $element:ident, $value:expr, $expected:expr) => {
            let mut x = [$value; 2];
            let mut y = [$value; 2];
            let element = ElementType::$element;
            let parameters = vec![scalar("x", Mode::In, element), array("y", Mode::Out, element)];
            let symbol = concat!("f", $index, "_");
            call(
                &library,
                &routine(FORTRAN, symbol, parameters, Some(1)),
                &mut [on(&mut x), on(&mut y)],
            );
            assert_eq!(y, [$expected, $value], "{}", types[$index]);
        };
    }
    check!(0, Int32, -7i32, -14);
    check!(1, Int64, 1i64 << 40, 1i64 << 41);
    check!(2, Float32, 1.25f32, 2.5);
    check!(3, Float64, -1.5f64, -3.0);
    check!(4, Complex64, [1.0f32, -2.0], [2.0, -4.0]);
    check!(5, Complex128, [1.0f64, -2.0], [2.0, -4.0]);
    check!(6, Int32, 1i32, 0);
}

#[test]
fn module_procedures_and_many_arguments() {
    if !has_fortran() {
        return;
    }
    let names: Vec<String> = (0..70).map(|index| format!("x{index}")).collect();
    let lines = names.iter().map(|name| format!(" real(8) :: {name}\n total = total + {name}\n"));
    let (declared, summed): (Vec<_>, Vec<_>) = lines
        .map(|line| {
            line.split_once("\n").map(|(a, b)| (a.to_string() + "\n", b.to_string())).unwrap()
        })
        .unzip();
    let source = format!(
        "module sums\ncontains\nsubroutine add({}, &\n total)\n real(8) :: total\n{}{}end \
            subroutine\nend module\n",
        names.join(", &\n "),
        declared.concat(),
        summed.concat()
    );
    let directory = Directory::new("modules");
    let library = directory.shared("modules.f90", &source);
    let mut parameters: Vec<Parameter> =
        names.iter().map(|name| scalar(name, Mode::In, ElementType::Float64)).collect();
    parameters.push(array("total", Mode::InOut, ElementType::Float64));
    let mut values: Vec<f64> = (0..70).map(f64::from).collect();
    let mut total = 0.5f64;
    let mut slots: Vec<Slot> = values.iter_mut().map(on).chain([on(&mut total)]).collect();
    call(&library, &routine(FORTRAN, "__sums_MOD_add", parameters, None), &mut slots);
    assert_eq!(total, 69.0 * 35.0 + 0.5);
}

#[test]
fn refuses_character_functions_and_texts_without_length() {
    let entry = Libraries::open(&[], std::path::Path::new("/")).unwrap().find("abs").unwrap();
    let refused = |parameters, result| {
        let error = Prepared::new(&routine(FORTRAN, "abs", parameters, result), entry).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidSource);
        error.to_string()
    };
    let function = refused(vec![array("c", Mode::Out, ElementType::Char)], Some(0));
    assert!(function.contains("subroutine"), "{function}");
    let text = refused(vec![scalar("s", Mode::Out, ElementType::String)], None);
    assert!(text.contains("char text[80]"), "{text}");
    let many = refused(vec![array("s", Mode::In, ElementType::String)], None);
    assert!(many.contains("char lines[count][80]"), "{many}");
}
