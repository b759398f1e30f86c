//! What does not fit is refused, with what, where and the fix: arguments, names, and files that
//! cannot be served.

use std::path::Path;
use std::process::Output;

use farcall_client::{Argument, Array, Client, Destination, Error, ErrorKind};
use farcall_tests::{Directory, Server, Transport, battery, root};

fn err<T>(outcome: Result<T, Error>) -> Error {
    match outcome {
        Ok(_) => panic!("this cannot work"),
        Err(error) => error,
    }
}

/// The error's kind, and words that its text must hold.
fn check(error: &Error, kind: ErrorKind, words: &[&str]) {
    let text = error.to_string();
    assert_eq!(error.kind(), kind, "{text}");
    for word in words {
        assert!(text.contains(word), "\"{word}\" is missing in: {text}");
    }
}

fn refuses_arguments(transport: Transport) {
    let server =
        Server::start(transport, &[root().join("routines/lapack/lapack.idl"), battery(false)], &[]);
    let client = server.client();
    wrong_names_types_and_ranks(&client);
    sizes_that_disagree(&client);
    sizes_that_overflow(&client);
    // None of it did any harm.
    let one = [2.0];
    let solved = [("a", Array::columns(&one, &[1, 1]).into()), ("b", Array::vector(&one).into())];
    let solved = client.routine("dgesv").unwrap().call(solved).unwrap();
    assert_eq!(solved.array::<f64>("b").unwrap(), [1.0]);
}

fn wrong_names_types_and_ranks(client: &Client) {
    let matrix = [1.0_f64; 9];
    let vector = [1.0_f64; 3];
    let a = || -> Argument<'_> { Array::columns(&matrix, &[3, 3]).into() };
    let b = || -> Argument<'_> { Array::vector(&vector).into() };
    let dgesv = client.routine("dgesv").unwrap();
    let error = err(dgesv.call([("a", a())]));
    check(&error, ErrorKind::InvalidArgument, &["needs", "b=…"]);
    let error = err(dgesv.call([("a", a()), ("b", b()), ("c", b())]));
    check(&error, ErrorKind::InvalidArgument, &["no parameter \"c\"", "a, lda"]);
    let singles = [1.0_f32; 9];
    let error = err(dgesv.call([("a", Array::columns(&singles, &[3, 3]).into()), ("b", b())]));
    check(&error, ErrorKind::InvalidArgument, &["a is an array of float", "double"]);
    let error = err(dgesv.call([("a", Array::columns(&matrix, &[3, 3, 1]).into()), ("b", b())]));
    check(&error, ErrorKind::InvalidArgument, &["a"]);
    let error = err(dgesv.call([("a", 3.into()), ("b", b())]));
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    let error = err(dgesv.call([("a", a()), ("b", "text".into())]));
    check(&error, ErrorKind::InvalidArgument, &["b"]);
    let error = err(dgesv.call([("a", a()), ("b", b()), ("n", 2.5.into())]));
    check(&error, ErrorKind::InvalidArgument, &["n"]);
    let touch = client.routine("touch").unwrap();
    let error = err(touch.call([("n", Array::vector(&vector).into()), ("x", b())]));
    check(&error, ErrorKind::InvalidArgument, &["n"]);
    let greet = client.routine("greet").unwrap();
    check(
        &err(greet.call([("name", "a\0b".into())])),
        ErrorKind::InvalidArgument,
        &["NUL", "name"],
    );
    // Positional: one per parameter.
    let none = farcall_client::CallOptions::default();
    assert!(touch.call_positional(vec![1.into()], Vec::new(), &none).is_err());
    // A result cannot go where others only read.
    let read_only = vec![Argument::Unset, b()];
    let places = vec![Destination::New, Destination::InPlace];
    let error = err(touch.call_positional(read_only, places, &none));
    check(&error, ErrorKind::InvalidArgument, &["x is read-only", "ArrayMut"]);
    let some = client.routine("some").unwrap();
    let error = err(some.call([("n", 3.into()), ("want", 1.into()), ("w", b())]));
    check(&error, ErrorKind::InvalidArgument, &["w is read-only"]);
}

fn sizes_that_disagree(client: &Client) {
    let numbers = [1.0_f64; 12];
    let dgesv = client.routine("dgesv").unwrap();
    // The matrix is not square: whoever is wrong, both shapes are named.
    let rectangle = [
        ("a", Array::columns(&numbers, &[3, 4]).into()),
        ("b", Array::vector(&numbers[..3]).into()),
    ];
    check(&err(dgesv.call(rectangle)), ErrorKind::InvalidArgument, &["a", "3", "4"]);
    let short = [
        ("a", Array::columns(&numbers, &[3, 3]).into()),
        ("b", Array::vector(&numbers[..2]).into()),
    ];
    check(&err(dgesv.call(short)), ErrorKind::InvalidArgument, &["b", "2", "3"]);
    let lda = [
        ("a", Array::columns(&numbers, &[3, 3]).into()),
        ("b", Array::vector(&numbers[..3]).into()),
        ("lda", 2.into()),
    ];
    check(&err(dgesv.call(lda)), ErrorKind::InvalidArgument, &["a", "lda"]);
    let touch = client.routine("touch").unwrap();
    let wrong = touch.call([("n", 5.into()), ("x", Array::vector(&numbers[..3]).into())]);
    check(&err(wrong), ErrorKind::InvalidArgument, &["x", "5", "3"]);
}

fn sizes_that_overflow(client: &Client) {
    let some = client.routine("some").unwrap();
    let error = err(some.call([("n", (-3).into()), ("want", 0.into())]));
    check(&error, ErrorKind::InvalidArgument, &["w", "-3"]);
    let error = err(some.call([("n", i64::MAX.into()), ("want", 0.into())]));
    check(&error, ErrorKind::InvalidArgument, &["n"]);
    // The bound of w fits; the square of z does not fit anywhere.
    let error = err(some.call([("n", i32::MAX.into()), ("want", 0.into())]));
    assert!(
        matches!(error.kind(), ErrorKind::LimitExceeded | ErrorKind::InvalidArgument),
        "{error}"
    );
    let touch = client.routine("touch").unwrap();
    // SAFETY: no memory has so many numbers: whatever stands here is never looked at.
    let bare = unsafe { farcall_client::View::new(std::ptr::null_mut(), DOUBLE, None) };
    let error = err(touch.call([("n", i64::MAX.into()), ("x", Argument::Array(bare))]));
    assert!(
        matches!(error.kind(), ErrorKind::LimitExceeded | ErrorKind::InvalidArgument),
        "{error}"
    );
}

const DOUBLE: farcall_client::idl::interface::ElementType = <f64 as farcall_client::Element>::TYPE;

#[test]
fn wrong_arguments_over_shared_memory() {
    refuses_arguments(Transport::Unix);
}

#[test]
fn wrong_arguments_over_tcp() {
    refuses_arguments(Transport::Tcp);
}

#[test]
fn names_that_are_unknown_or_ambiguous() {
    let directory = Directory::new();
    let module = |name: &str| {
        let text = format!(
            "Module {name};\nLibrary \"libm.so.6\";\nDefine cosine(IN double x, OUT double r) \
                            Calls \"C\" r = cos(x);\n"
        );
        directory.write(&format!("{name}.idl"), &text)
    };
    let server = Server::start(Transport::Unix, &[module("first"), module("second")], &[]);
    let client = server.client();
    let error = err(client.routine("cosine").map(|_| ()));
    check(&error, ErrorKind::Ambiguous, &["first/cosine", "second/cosine"]);
    let error = err(client.routine("first/cosien").map(|_| ()));
    check(&error, ErrorKind::NotFound, &["first/cosine"]);
    let error = err(client.routine("").map(|_| ()));
    assert!(matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidArgument), "{error}");
    let long = "x".repeat(100_000);
    assert!(client.routine(&long).is_err());
    let outputs = client.routine("second/cosine").unwrap().call([("x", 0.0.into())]).unwrap();
    assert_eq!(outputs.scalar::<f64>("r").unwrap(), 1.0);
}

fn refused(file: &Path) -> (Option<i32>, String) {
    let Output { status, stderr, .. } = Server::refused(&[file.to_str().unwrap()]);
    (status.code(), String::from_utf8_lossy(&stderr).into_owned())
}

#[test]
fn a_missing_library_or_symbol_is_found_at_the_start() {
    let directory = Directory::new();
    let text = "Module m;\nLibrary \"libnowhere.so.3\";\nDefine f(IN int n) Calls \"C\" f(n);\n";
    let (status, said) = refused(&directory.write("library.idl", text));
    assert_eq!(status, Some(3), "{said}");
    assert!(said.contains("libnowhere.so.3"), "{said}");
    let text = "Module m;\nLibrary \"libm.so.6\";\nDefine f(IN double x, OUT double r) Calls \
        \"C\" r = cosinus(x);\n";
    let (status, said) = refused(&directory.write("symbol.idl", text));
    assert_eq!(status, Some(3), "{said}");
    assert!(said.contains("cosinus") && said.contains("libm.so.6"), "{said}");
    let (status, said) = refused(&directory.0.join("no-such-file.idl"));
    assert_eq!(status, Some(3), "{said}");
    assert!(said.contains("no-such-file.idl"), "{said}");
}

#[test]
fn all_mistakes_of_a_file_come_at_once() {
    let directory = Directory::new();
    let text = "Module m;\nDefine f(IN int n, IN double a[nn]) Calls f(n, a);\nDefine g(IN \
                integer k) Calls g(k);\nDefine h(IN int n) Calls h(m);\n";
    let (status, said) = refused(&directory.write("wrong.idl", text));
    assert_eq!(status, Some(2), "{said}");
    for place in ["wrong.idl:2:", "wrong.idl:3:", "wrong.idl:4:"] {
        assert!(said.contains(place), "{place} is missing in: {said}");
    }
    assert!(said.contains('^'), "a caret shows the place: {said}");
    let (status, said) = refused(&directory.write("binary.idl", "Module m;\n\u{0}\u{1}\n"));
    assert_eq!(status, Some(2), "{said}");
    std::fs::write(directory.0.join("latin.idl"), b"Module caf\xe9;\n").unwrap();
    let (status, said) = refused(&directory.0.join("latin.idl"));
    assert_eq!(status, Some(2), "{said}");
}

#[test]
fn two_files_cannot_publish_one_module() {
    let directory = Directory::new();
    let text = "Module m;\nLibrary \"libm.so.6\";\nDefine f(IN double x, OUT double r) Calls \
        \"C\" r = cos(x);\n";
    let one = directory.write("one.idl", text);
    let two = directory.write("two.idl", text);
    let output = Server::refused(&[one.to_str().unwrap(), two.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("\"m\""), "{said}");
}
