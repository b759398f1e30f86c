//! Calls real C code: every type by value and by reference, results, registers and stack, texts,
//! structs.

use std::ffi::CStr;

use crate::fixture::*;
use farcall_base::ErrorKind;
use farcall_executable::library::Libraries;
use farcall_idl::interface::*;
use farcall_native::invoke::{Prepared, Slot, invoke};

/// One element type, its C name, and a value whose every byte matters.
macro_rules! for_each_type {
    ($each:ident) => {
        $each!(Char, "char", i8, -77);
        $each!(Int8, "signed char", i8, i8::MIN);
        $each!(UInt8, "unsigned char", u8, 0xfe);
        $each!(Int16, "short", i16, -12345);
        $each!(UInt16, "unsigned short", u16, 0xfedc);
        $each!(Int32, "int", i32, -1_234_567_890);
        $each!(UInt32, "unsigned", u32, 0xfedc_ba98);
        $each!(Int64, "long", i64, -0x0123_4567_89ab_cdef);
        $each!(UInt64, "unsigned long", u64, 0xfedc_ba98_7654_3210);
        $each!(Float32, "float", f32, -1.5e-30);
        $each!(Float64, "double", f64, 1.5e300);
        $each!(Complex64, "scomplex", [f32; 2], [1.25, -3.5e20]);
        $each!(Complex128, "dcomplex", [f64; 2], [-1e200, 2.5]);
    };
}

const COMPLEX: &str = "#include <complex.h>\n#include <stdlib.h>\n#include <string.h>\n\
    typedef struct { float r, i; } scomplex; typedef struct { double r, i; } dcomplex;\n";

#[test]
fn every_type_by_value_by_reference_and_as_result() {
    let mut source = COMPLEX.to_string();
    macro_rules! define {
        ($element:ident, $c:literal, $rust:ty, $value:expr) => {
            source += &format!(
                "void give_{0}({1} x, {1} *y) {{ *y = x; }}\n{1} same_{0}({1} x) {{ return x; }}\n",
                stringify!($element),
                $c
            );
        };
    }
    for_each_type!(define);
    let directory = Directory::new("types");
    let library = directory.shared("types.c", &source);
    macro_rules! check {
        ($element:ident, $c:literal, $rust:ty, $value:expr) => {
            let element = ElementType::$element;
            let mut input: $rust = $value;
            let mut output: $rust = Default::default();
            let parameters = vec![scalar("x", Mode::In, element), array("y", Mode::Out, element)];
            let give = routine(
                Language::C,
                concat!("give_", stringify!($element)),
                parameters.clone(),
                None,
            );
            call(&library, &give, &mut [on(&mut input), on(&mut output)]);
            assert_eq!(output, $value, "by value, {}", $c);
            // Bytes behind the result must stay: libffi itself widens small integers to a register.
            let mut guarded: [$rust; 2] = Default::default();
            let same =
                routine(Language::C, concat!("same_", stringify!($element)), parameters, Some(1));
            call(&library, &same, &mut [on(&mut input), all(&mut guarded)]);
            assert_eq!(guarded, [$value, Default::default()], "as result, {}", $c);
        };
    }
    for_each_type!(check);
}

#[test]
fn c99_complex_travels_as_our_struct() {
    let directory = Directory::new("complex");
    let source = format!(
        "{COMPLEX}void f(float _Complex x, int pad, double _Complex y, double *out) \
         {{ out[0] = crealf(x); out[1] = cimagf(x); out[2] = creal(y); out[3] = cimag(y); out[4] \
         = pad; }}\ndouble _Complex g(double _Complex a, double _Complex b) {{ return a * b; }}\n\
         float _Complex h(float _Complex a) {{ return a * I; }}\n"
    );
    let library = directory.shared("complex.c", &source);
    let complex64 = ElementType::Complex64;
    let complex128 = ElementType::Complex128;
    let parameters = vec![
        scalar("x", Mode::In, complex64),
        scalar("pad", Mode::In, ElementType::Int32),
        scalar("y", Mode::In, complex128),
        array("out", Mode::Out, ElementType::Float64),
    ];
    let mut x = [1.5f32, -2.5];
    let mut pad = 7i32;
    let mut y = [3.0f64, 4.0];
    let mut out = [0.0f64; 5];
    let mut slots = [on(&mut x), on(&mut pad), on(&mut y), all(&mut out)];
    call(&library, &routine(Language::C, "f", parameters, None), &mut slots);
    assert_eq!(out, [1.5, -2.5, 3.0, 4.0, 7.0]);

    let mut a = [1.0f64, 2.0];
    let mut b = [3.0f64, 4.0];
    let mut product = [0.0f64; 2];
    let binary = ["a", "b"].map(|name| scalar(name, Mode::In, complex128));
    let parameters = binary.into_iter().chain([array("p", Mode::Out, complex128)]).collect();
    call(
        &library,
        &routine(Language::C, "g", parameters, Some(2)),
        &mut [on(&mut a), on(&mut b), on(&mut product)],
    );
    assert_eq!(product, [-5.0, 10.0]);

    let mut a = [1.0f32, 2.0];
    let mut turned = [0.0f32; 2];
    let parameters = vec![scalar("a", Mode::In, complex64), scalar("t", Mode::Out, complex64)];
    call(
        &library,
        &routine(Language::C, "h", parameters, Some(1)),
        &mut [on(&mut a), on(&mut turned)],
    );
    assert_eq!(turned, [-2.0, 1.0]);
}

#[test]
fn eighty_mixed_arguments_fill_registers_and_stack() {
    // 80 is beyond what a call keeps without heap, and every type meets both registers and stack.
    const COUNT: usize = 80;
    let kinds = [
        ("int", ElementType::Int32),
        ("double", ElementType::Float64),
        ("char", ElementType::Char),
        ("float", ElementType::Float32),
        ("scomplex", ElementType::Complex64),
        ("long", ElementType::Int64),
        ("dcomplex", ElementType::Complex128),
        ("short", ElementType::Int16),
    ];
    let mut source = format!("{COMPLEX}void f(");
    let mut code = String::new();
    let mut parameters = Vec::new();
    for index in 0..COUNT {
        let (name, element) = kinds[index % kinds.len()];
        source += &format!("{name} x{index}, ");
        let field = if name.ends_with("complex") { ".i" } else { "" };
        code += &format!("out[{index}] = x{index}{field}; ");
        parameters.push(scalar(&format!("x{index}"), Mode::In, element));
    }
    source += &format!("double *out) {{ {code} }}\n");
    parameters.push(array("out", Mode::Out, ElementType::Float64));
    let directory = Directory::new("many");
    let library = directory.shared("many.c", &source);

    let mut ints: Vec<i32> = (0..COUNT as i32).collect();
    let mut longs: Vec<i64> = (0..COUNT as i64).collect();
    let mut shorts: Vec<i16> = (0..COUNT as i16).collect();
    let mut chars: Vec<i8> = (0..COUNT as i8).collect();
    let mut doubles: Vec<f64> = (0..COUNT).map(|i| i as f64).collect();
    let mut floats: Vec<f32> = (0..COUNT).map(|i| i as f32).collect();
    let mut singles: Vec<[f32; 2]> = (0..COUNT).map(|i| [-1.0, i as f32]).collect();
    let mut pairs: Vec<[f64; 2]> = (0..COUNT).map(|i| [-1.0, i as f64]).collect();
    let mut out = vec![-1.0f64; COUNT];
    let mut slots: Vec<Slot> = (0..COUNT)
        .map(|i| match i % 8 {
            0 => on(&mut ints[i]),
            1 => on(&mut doubles[i]),
            2 => on(&mut chars[i]),
            3 => on(&mut floats[i]),
            4 => on(&mut singles[i]),
            5 => on(&mut longs[i]),
            6 => on(&mut pairs[i]),
            _ => on(&mut shorts[i]),
        })
        .collect();
    slots.push(all(&mut out));
    call(&library, &routine(Language::C, "f", parameters, None), &mut slots);
    assert_eq!(out, doubles);
}

#[test]
fn arguments_come_in_the_order_of_calls() {
    let directory = Directory::new("order");
    let library = directory.shared("order.c", "void f(double *y, int n, double a) { y[n] = a; }");
    let parameters = vec![
        scalar("a", Mode::In, ElementType::Float64),
        scalar("unused", Mode::In, ElementType::Int32),
        array("y", Mode::InOut, ElementType::Float64),
        scalar("n", Mode::Work, ElementType::Int32),
    ];
    let mut routine = routine(Language::C, "f", parameters, None);
    routine.implementation.code =
        Code::Symbol { symbol: "f".into(), arguments: vec![2, 3, 0], result: None };
    let mut a = 2.5f64;
    let mut n = 1i32;
    let mut y = [0.0f64; 3];
    // A parameter that the code does not take needs no memory either.
    call(&library, &routine, &mut [on(&mut a), Slot::null(), all(&mut y), on(&mut n)]);
    assert_eq!(y, [0.0, 2.5, 0.0]);
}

const TEXTS: &str = "#include <string.h>\n#include <stdlib.h>\n\
    void length(char *s, long *n) { *n = s ? (long)strlen(s) : -1; }\n\
    void fixed(char **o) { *o = \"static text\"; }\n\
    void alias(char *i, char **o) { *o = i + 2; }\n\
    void untouched(char **o) { (void)o; }\n\
    void change(char **io) { (*io)[0] = 'J'; }\n\
    char *result(int which) { return which ? \"yes\" : 0; }\n\
    void rows(int n, char **in, char **out) { int i; for (i = 0; i < n; i++) out[n - 1 - i] = \
    in[i]; }\n";

fn string(name: &str, mode: Mode) -> Parameter {
    scalar(name, mode, ElementType::String)
}

fn in_c(symbol: &str, parameters: Vec<Parameter>) -> Routine {
    routine(Language::C, symbol, parameters, None)
}

fn shown(slot: &Slot) -> String {
    unsafe { CStr::from_ptr(slot.memory.cast()) }.to_str().unwrap().to_string()
}

#[test]
fn texts_that_go_in() {
    let directory = Directory::new("texts-in");
    let library = directory.shared("texts.c", TEXTS);
    let parameters = vec![string("s", Mode::In), array("n", Mode::Out, ElementType::Int64)];
    let length = in_c("length", parameters);
    let mut n = 0i64;
    call(&library, &length, &mut [text(&mut b"hello\0".to_owned()), on(&mut n)]);
    assert_eq!(n, 5);
    call(&library, &length, &mut [Slot::null(), on(&mut n)]);
    assert_eq!(n, -1, "a NULL text stays NULL");
}

#[test]
fn texts_out_static_aliased_and_changed() {
    let directory = Directory::new("texts-out");
    let library = directory.shared("texts.c", TEXTS);
    let mut slots = [Slot::null()];
    call(&library, &in_c("fixed", vec![string("o", Mode::Out)]), &mut slots);
    assert_eq!(shown(&slots[0]), "static text");
    call(&library, &in_c("untouched", vec![string("o", Mode::Out)]), &mut [Slot::null()]);

    let mut input = *b"an alias\0";
    let mut slots = [text(&mut input), Slot::null()];
    let alias = in_c("alias", vec![string("i", Mode::In), string("o", Mode::Out)]);
    call(&library, &alias, &mut slots);
    assert_eq!(shown(&slots[1]), " alias");
    // The routine's pointer itself, not a copy.
    assert_eq!(slots[1].memory, unsafe { input.as_mut_ptr().add(2) });

    let mut word = *b"jay\0";
    let mut slots = [text(&mut word)];
    call(&library, &in_c("change", vec![string("io", Mode::InOut)]), &mut slots);
    assert_eq!(shown(&slots[0]), "Jay");
}

#[test]
fn texts_as_results_and_null() {
    let directory = Directory::new("texts-result");
    let library = directory.shared("texts.c", TEXTS);
    let parameters = vec![scalar("which", Mode::In, ElementType::Int32), string("o", Mode::Out)];
    let result = routine(Language::C, "result", parameters, Some(1));
    let mut yes = 1i32;
    let mut slots = [on(&mut yes), Slot::null()];
    call(&library, &result, &mut slots);
    assert_eq!(shown(&slots[1]), "yes");

    let mut no = 0i32;
    let mut slots = [on(&mut no), slots[1]];
    call(&library, &result, &mut slots);
    assert!(slots[1].memory.is_null(), "a NULL result replaces what was there");
}

#[test]
fn arrays_of_texts() {
    let directory = Directory::new("texts-rows");
    let library = directory.shared("texts.c", TEXTS);
    let mut one = *b"one\0";
    let mut two = *b"two\0";
    let mut given = [one.as_mut_ptr(), two.as_mut_ptr()];
    let mut taken = [std::ptr::null_mut::<u8>(); 2];
    let parameters = vec![
        scalar("n", Mode::In, ElementType::Int32),
        array("in", Mode::In, ElementType::String),
        array("out", Mode::Out, ElementType::String),
    ];
    let mut n = 2i32;
    let mut arguments = [on(&mut n), all(&mut given), all(&mut taken)];
    call(&library, &in_c("rows", parameters), &mut arguments);
    assert_eq!(taken, [given[1], given[0]]);
}

fn field(name: &str, element: ElementType, count: u32, offset: u32) -> Field {
    Field { name: name.into(), element, count, offset }
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Point {
    x: f64,
    tag: [i32; 3],
    letter: i8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Small {
    a: f32,
    b: [i16; 2],
}

#[test]
fn structs_by_value_by_pointer_and_as_results() {
    let source = "struct point { double x; int tag[3]; char letter; };\n\
        struct small { float a; short b[2]; };\n\
        struct point f(struct point p, struct small s, struct point *q) \
        { *q = p; q->tag[2] = s.b[1]; p.x += s.a; return p; }\n\
        struct small g(struct small s) { s.b[0] += 1; return s; }\n";
    let directory = Directory::new("structs");
    let library = directory.shared("structs.c", source);
    let structs = vec![
        StructType {
            name: "point".into(),
            fields: vec![
                field("x", ElementType::Float64, 1, 0),
                field("tag", ElementType::Int32, 3, 8),
                field("letter", ElementType::Char, 1, 20),
            ],
        },
        StructType {
            name: "small".into(),
            fields: vec![
                field("a", ElementType::Float32, 1, 0),
                field("b", ElementType::Int16, 2, 4),
            ],
        },
    ];
    let point = ElementType::Struct(0);
    let small = ElementType::Struct(1);
    let parameters = vec![
        scalar("p", Mode::In, point),
        scalar("s", Mode::In, small),
        array("q", Mode::Out, point),
        scalar("r", Mode::Out, point),
    ];
    let mut f = routine(Language::C, "f", parameters, Some(3));
    f.interface.structs = structs.clone();
    let mut p = Point { x: 1.5, tag: [1, 2, 3], letter: 65 };
    let mut s = Small { a: 0.25, b: [7, -8] };
    let mut q = Point::default();
    let mut r = Point::default();
    call(&library, &f, &mut [on(&mut p), on(&mut s), on(&mut q), on(&mut r)]);
    assert_eq!(q, Point { x: 1.5, tag: [1, 2, -8], letter: 65 });
    assert_eq!(r, Point { x: 1.75, tag: [1, 2, 3], letter: 65 });

    let mut g = routine(
        Language::C,
        "g",
        vec![scalar("s", Mode::In, small), scalar("t", Mode::Out, small)],
        Some(1),
    );
    g.interface.structs = structs;
    let mut t = [Small::default(); 2];
    call(&library, &g, &mut [on(&mut s), all(&mut t)]);
    assert_eq!(t, [Small { a: 0.25, b: [8, -8] }, Small::default()]);
}

fn entry() -> farcall_executable::entry::EntryPoint {
    Libraries::open(&[], std::path::Path::new("/")).unwrap().find("abs").unwrap()
}

#[test]
fn refuses_what_does_not_fit() {
    let absolute = routine(
        Language::C,
        "abs",
        vec![scalar("x", Mode::In, ElementType::Int32), scalar("y", Mode::Out, ElementType::Int32)],
        Some(1),
    );
    let prepared = Prepared::new(&absolute, entry()).unwrap();
    let mut x = -3i32;
    let mut y = 0i32;
    unsafe { invoke(&prepared, &mut [on(&mut x), on(&mut y)]) }.unwrap();
    assert_eq!(y, 3);
    // Fewer slots than parameters: would read past the end.
    let error = unsafe { invoke(&prepared, &mut [on(&mut x)]) }.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal);
    // A value, then a result, that is nowhere: would read or write NULL.
    for slots in [&mut [Slot::null(), on(&mut y)], &mut [on(&mut x), Slot::null()]] {
        let error = unsafe { invoke(&prepared, slots) }.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains("test/abs"), "{error}");
    }
}

#[test]
fn refuses_signatures_that_no_convention_has() {
    let refused = |routine: &Routine| Prepared::new(routine, entry()).unwrap_err();
    // The order of a damaged interface points behind the parameters.
    let mut damaged = routine(Language::C, "abs", vec![], None);
    damaged.implementation.code =
        Code::Symbol { symbol: "abs".into(), arguments: vec![0], result: None };
    assert_eq!(refused(&damaged).kind(), ErrorKind::Internal);
    // A struct that nobody describes, one without fields, and one whose count would make us
    // describe 4 billion scalars.
    let mut odd =
        routine(Language::C, "abs", vec![scalar("s", Mode::In, ElementType::Struct(0))], None);
    assert_eq!(refused(&odd).kind(), ErrorKind::Internal);
    for fields in [vec![], vec![field("x", ElementType::Int8, u32::MAX, 0)]] {
        odd.interface.structs = vec![StructType { name: "odd".into(), fields }];
        assert_eq!(refused(&odd).kind(), ErrorKind::LimitExceeded);
    }
    // A result that only goes in.
    let inward =
        routine(Language::C, "abs", vec![scalar("x", Mode::In, ElementType::Int32)], Some(0));
    assert_eq!(refused(&inward).kind(), ErrorKind::InvalidSource);
}

#[test]
fn a_call_costs_little() {
    let directory = Directory::new("cost");
    let library =
        directory.shared("cost.c", "void f(int n, double *a, double *b, int *i) { i[0] = n; }");
    let parameters = vec![
        scalar("n", Mode::In, ElementType::Int32),
        array("a", Mode::InOut, ElementType::Float64),
        array("b", Mode::InOut, ElementType::Float64),
        array("i", Mode::Out, ElementType::Int32),
    ];
    let routine = routine(Language::C, "f", parameters, None);
    let libraries =
        Libraries::open(&[library.display().to_string()], std::path::Path::new("/")).unwrap();
    let prepared = Prepared::new(&routine, libraries.find("f").unwrap()).unwrap();
    let mut n = 1i32;
    let mut a = [0.0f64];
    let mut i = [0i32];
    let mut slots = [on(&mut n), all(&mut a), Slot::null(), all(&mut i)];
    // Best of several rounds: other tests share the machine. The bound is generous for builds
    // without optimisation.
    let best = (0..20).map(|_| {
        let begin = std::time::Instant::now();
        (0..10_000).for_each(|_| unsafe { invoke(&prepared, &mut slots) }.unwrap());
        begin.elapsed() / 10_000
    });
    let best = best.min().unwrap();
    eprintln!("a call of four arguments: {best:?}");
    assert!(best.as_nanos() < 1500, "{best:?}");
}
