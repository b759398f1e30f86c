//! Single values: every type, by value and by reference, as results, as texts and structs.

use farcall_client::idl::interface::{ElementType, Order};
use farcall_client::{Argument, Array, Element, Output, Outputs, View};

use crate::battery::{Setting, client};

fn bytes_of<T: Element>(elements: &[T]) -> Vec<u8> {
    // SAFETY: elements are plain numbers.
    unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }.to_vec()
}

fn packed(outputs: &Outputs, name: &str) -> Vec<u8> {
    match outputs.get(name).unwrap() {
        Output::Array(array) => array.packed(Order::Row).unwrap(),
        _ => panic!("{name} is not an array"),
    }
}

/// x and y change places, z keeps the old y: every byte of every element has moved through C once.
fn swap<T: Element + PartialEq + std::fmt::Debug>(setting: Setting, routine: &str, values: [T; 3]) {
    let swap = client(setting).routine(routine).unwrap();
    for n in [0_usize, 1, 3, 700] {
        let x: Vec<T> = (0..n).map(|i| values[i % 3]).collect();
        let y: Vec<T> = (0..n).map(|i| values[(i + 1) % 3]).collect();
        let scalar = Argument::Raw(bytes_of(&values[2..]));
        let outputs = swap.call([
            ("x", Array::vector(&x).into()),
            ("y", Array::vector(&y).into()),
            ("s", scalar),
        ]);
        let outputs = outputs.unwrap_or_else(|error| panic!("{routine}, n = {n}: {error}"));
        assert_eq!(packed(&outputs, "y"), bytes_of(&x), "{routine}, n = {n}");
        assert_eq!(packed(&outputs, "z"), bytes_of(&y), "{routine}, n = {n}");
        assert_eq!(packed(&outputs, "one"), bytes_of(&values[2..]), "{routine}, n = {n}");
    }
}

pub fn all_element_types(setting: Setting) {
    swap(setting, "swap_int8", [i8::MIN, -1, 77]);
    swap(setting, "swap_uint8", [0_u8, 0xff, 0x80]);
    swap(setting, "swap_char", [0_u8, 0xff, b'x']);
    swap(setting, "swap_int16", [i16::MIN, -2, 12345]);
    swap(setting, "swap_uint16", [0_u16, 0xfedc, 0x8000]);
    swap(setting, "swap_int32", [i32::MIN, -3, 1_234_567_890]);
    swap(setting, "swap_uint32", [0_u32, 0xfedc_ba98, 1 << 31]);
    swap(setting, "swap_int64", [i64::MIN, -4, 0x0123_4567_89ab_cdef]);
    swap(setting, "swap_uint64", [0_u64, u64::MAX, 1 << 63]);
    swap(setting, "swap_float", [f32::MIN_POSITIVE, -1.5e30, f32::INFINITY]);
    swap(setting, "swap_double", [f64::MIN_POSITIVE, -1.5e300, -0.0]);
    swap(setting, "swap_scomplex", [[1.25_f32, -3.5], [0.0, -0.0], [f32::MAX, 7.0]]);
    swap(setting, "swap_dcomplex", [[1.25_f64, -3.5], [0.0, -0.0], [f64::MAX, 7.0]]);
}

pub fn function_results(setting: Setting) {
    let client = client(setting);
    let call = |name: &str, x: Argument| client.routine(name).unwrap().call([("x", x)]).unwrap();
    assert_eq!(call("f_double", 1.25.into()).scalar::<f64>("r").unwrap(), 2.5);
    assert_eq!(call("f_float", 1.25.into()).scalar::<f32>("r").unwrap(), 2.5);
    assert_eq!(call("f_int", (-21).into()).scalar::<i32>("r").unwrap(), -42);
    assert_eq!(call("f_int8", 100.into()).scalar::<i8>("r").unwrap(), -100);
    assert_eq!(
        call("f_dcomplex", Argument::Complex(3.0, 4.0)).scalar::<[f64; 2]>("r").unwrap(),
        [-4.0, 3.0]
    );
    assert_eq!(
        call("f_scomplex", Argument::Complex(3.0, 4.0)).scalar::<[f32; 2]>("r").unwrap(),
        [-4.0, 3.0]
    );
}

pub fn defaults_and_characters(setting: Setting) {
    let defaults = client(setting).routine("defaults").unwrap();
    let outputs = defaults.call([]).unwrap();
    assert_eq!(outputs.array::<f64>("y").unwrap(), [0.0, 2.5, 5.0, 7.5]);
    assert_eq!(packed(&outputs, "d"), b"q");
    let outputs =
        defaults.call([("n", 2.into()), ("f", (-1.0).into()), ("c", 'Z'.into())]).unwrap();
    assert_eq!(outputs.array::<f64>("y").unwrap(), [0.0, -1.0]);
    assert_eq!(packed(&outputs, "d"), b"Z");
}

pub fn strings(setting: Setting) {
    let greet = client(setting).routine("greet").unwrap();
    // An OUT scalar is an array of one, texts included.
    let text = |outputs: &Outputs| match outputs.get("greeting").unwrap() {
        Output::Texts(texts) if texts.len() == 1 => {
            texts[0].clone().map(|text| String::from_utf8(text).unwrap())
        }
        _ => panic!("a greeting is a text"),
    };
    let outputs = greet.call([("name", "Ada".into())]).unwrap();
    assert_eq!(text(&outputs).as_deref(), Some("hello, Ada"));
    assert_eq!(outputs.scalar::<i32>("length").unwrap(), 3);
    // Bytes are bytes; a long text goes as well as a short one.
    let long = "é".repeat(30_000);
    let outputs = greet.call([("name", long.as_str().into())]).unwrap();
    assert_eq!(text(&outputs).unwrap(), format!("hello, {long}"));
    // An empty text is not NULL, and NULL is not an empty text: neither there nor back.
    let outputs = greet.call([("name", "".into())]).unwrap();
    assert_eq!((text(&outputs), outputs.scalar::<i32>("length").unwrap()), (None, 0));
    let outputs = greet.call([("name", Argument::Null)]).unwrap();
    assert_eq!(
        (text(&outputs).as_deref(), outputs.scalar::<i32>("length").unwrap()),
        (Some("hello, nobody"), -1)
    );
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    x: f64,
    tag: i32,
    w: [f32; 3],
}

pub fn structs(setting: Setting) {
    let points = client(setting).routine("points").unwrap();
    let p = Point { x: 0.5, tag: -1, w: [1.0, 2.0, 3.0] };
    for n in [1_u64, 3, 400] {
        let mut q: Vec<Point> =
            (0..n).map(|i| Point { x: i as f64, tag: i as i32, w: [i as f32; 3] }).collect();
        let wanted: Vec<Point> = q
            .iter()
            .map(|q| Point {
                x: q.x + p.x,
                tag: q.tag + p.tag,
                w: [q.w[0] + 1.0, q.w[1] + 2.0, q.w[2] + 3.0],
            })
            .collect();
        // SAFETY: a point is 24 bytes without gaps.
        let raw =
            unsafe { std::slice::from_raw_parts((&raw const p).cast::<u8>(), size_of::<Point>()) }
                .to_vec();
        let shape = Some((vec![n], vec![size_of::<Point>() as i64]));
        // SAFETY: as many points as the shape says, which nobody changes before the call is over.
        let array = unsafe { View::new(q.as_mut_ptr().cast(), ElementType::Struct(0), shape) };
        let outputs =
            points.call([("p", Argument::Raw(raw)), ("q", Argument::Array(array))]).unwrap();
        let bytes = packed(&outputs, "q");
        assert_eq!(bytes.len(), wanted.len() * size_of::<Point>());
        // SAFETY: as many bytes as points; they may lie unaligned.
        let got: Vec<Point> = (0..n as usize)
            .map(|i| unsafe { bytes.as_ptr().cast::<Point>().add(i).read_unaligned() })
            .collect();
        assert_eq!(got, wanted, "n = {n}");
    }
}

pub fn aliases_and_permuted_arguments(setting: Setting) {
    let client = client(setting);
    let x = [1.0, 2.0];
    for name in ["touch", "increment", "bump", "battery/touch", "battery/increment"] {
        let routine = client.routine(name).unwrap();
        assert_eq!(routine.name(), "battery/touch");
        let outputs = routine.call([("x", Array::vector(&x).into())]).unwrap();
        assert_eq!(outputs.array::<f64>("x").unwrap(), [2.0, 3.0], "{name}");
    }
    let outputs =
        client.routine("permuted").unwrap().call([("a", 3.into()), ("b", 5.into())]).unwrap();
    assert_eq!(outputs.scalar::<i32>("r").unwrap(), 1533);
    let names: Vec<String> =
        client.routines().unwrap().iter().map(|routine| routine.name().to_owned()).collect();
    assert!(names.iter().any(|name| name == "battery/echo"), "{names:?}");
    assert!(names.is_sorted(), "{names:?}");
}
