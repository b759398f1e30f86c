//! Where a routine's code may come from: the interface file itself, objects, and Fortran.

use farcall_client::idl::interface::Order;
use farcall_client::{Argument, Array, Output, Outputs};
use farcall_tests::{Directory, Server, Transport, fortran, has_fortran, inline};

#[test]
fn code_in_the_interface_file_is_linked_with_globals_and_objects() {
    let server = Server::start(Transport::Unix, &[inline()], &[]);
    let client = server.client();
    let x = [1.0, 2.0, 3.0];
    let norm = client.routine("norm2").unwrap().call([("x", Array::vector(&x).into())]).unwrap();
    assert_eq!(norm.scalar::<f64>("r").unwrap(), 14.0);
    let tripled =
        client.routine("triple").unwrap().call([("x", Array::vector(&x).into())]).unwrap();
    assert_eq!(tripled.array::<f64>("x").unwrap(), [3.0, 6.0, 9.0]);
    // One executable serves call after call: its globals live on.
    let count = client.routine("count").unwrap();
    let counts: Vec<i32> = (0..3).map(|_| count.call([]).unwrap().scalar("r").unwrap()).collect();
    assert_eq!(counts, [1, 2, 3]);
}

fn characters(outputs: &Outputs, name: &str) -> Vec<u8> {
    match outputs.get(name).unwrap() {
        Output::Array(array) => array.packed(Order::Row).unwrap(),
        _ => panic!("{name} is not an array"),
    }
}

fn calls_fortran(transport: Transport, linked: bool) {
    if !has_fortran() {
        return;
    }
    let server = Server::start(transport, &[fortran(linked)], &[]);
    let client = server.client();
    let call = |name: &str, x: Argument| client.routine(name).unwrap().call([("x", x)]).unwrap();
    let a = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let scaled = [("factor", 10.0.into()), ("a", Array::columns(&a, &[2, 3]).into())];
    let scaled = client.routine("fscale").unwrap().call(scaled).unwrap();
    assert_eq!(scaled.array::<f64>("a").unwrap(), [11.0, 21.0, 32.0, 42.0, 53.0, 63.0]);
    let named = [("mode", 'm'.into()), ("text", "seven b".into())];
    let named = client.routine("fname").unwrap().call(named).unwrap();
    assert_eq!(named.scalar::<i32>("length").unwrap(), 7);
    assert_eq!(characters(&named, "answer"), b"m:seven b           ");
    let text = client.routine("ftext").unwrap().call([("text", "any length".into())]).unwrap();
    assert_eq!(text.scalar::<i32>("length").unwrap(), 10);
    assert_eq!(call("fdouble", 1.5.into()).scalar::<f64>("r").unwrap(), 3.0);
    assert_eq!(call("fsingle", 1.5.into()).scalar::<f32>("r").unwrap(), 3.0);
    assert_eq!(call("finteger", 4.into()).scalar::<i32>("r").unwrap(), 8);
    assert_eq!(
        call("fcomplex", Argument::Complex(1.0, 2.0)).scalar::<[f64; 2]>("r").unwrap(),
        [-2.0, 1.0]
    );
    assert_eq!(
        call("fscomplex", Argument::Complex(1.0, 2.0)).scalar::<[f32; 2]>("r").unwrap(),
        [-2.0, 1.0]
    );
    assert_eq!(call("flogical", 1.into()).scalar::<i32>("r").unwrap(), 0);
    // Fortran's own buffers must not end up in the protocol.
    let printed = client.routine("fprint").unwrap().call([("n", 5000.into())]).unwrap();
    assert_eq!(printed.scalar::<i32>("done").unwrap(), 5000);
}

#[test]
fn fortran_is_called_in_a_library() {
    calls_fortran(Transport::Unix, false);
}

#[test]
fn fortran_is_called_in_an_object() {
    calls_fortran(Transport::Tcp, true);
}

#[test]
fn code_that_does_not_compile_is_reported_with_the_line_of_the_interface_file() {
    let directory = Directory::new();
    let file = directory
        .write("wrong.idl", "Module wrong;\nDefine f(OUT int r)\n{\n    *r = nowhere;\n}\n");
    let output = Server::refused(&[file.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(said.contains("wrong.idl:4") && said.contains("nowhere"), "{said}");
}
