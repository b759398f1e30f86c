//! From the text of an IDL file to its running code: preprocessor, compiler of the language,
//! builder, call.

use std::process::Command;

use crate::fixture::*;
use farcall_executable::build::{BuildOptions, build, entry_name, preprocess};
use farcall_executable::library::{Libraries, needs_link};
use farcall_idl::interface::*;

/// Stands for `libfarcall.so`: calls each routine with a vector of four and prints it.
const STUB: &str = r#"
#include <stdio.h>
struct farcall_entry { const char *name; void (*function)(void); };
int farcall_executable_main(int argc, char **argv, const struct farcall_entry *e, unsigned long count)
{
    unsigned long i;
    for (i = 0; i < count; i++) {
        double x[4] = { 1, 2, 3, 4 };
        ((void (*)(int, double *)) e[i].function)(4, x);
        printf("%s %g %g %g %g\n", e[i].name, x[0], x[1], x[2], x[3]);
    }
    return argc != 1 || argv[0] == 0;
}
"#;

const IDL: &str = r#"#include "module.h"
Globals {
#include <math.h>
#include "own.h"
  static double square(double x) { return pow(x, SQUARE); }
}
Define squares(IN int n, INOUT double x[n]) "with a body" OPTIONS
{
  int i;
  for (i = 0; i < n; i++) x[i] = square(x[i]);
#ifdef BROKEN
  undeclared = 1;
#endif
}
Define sleep(IN int n, INOUT double x[n]) { sleep(0); x[0] = MIN(n, 9); }
"#;

fn compiled(directory: &Directory, idl: &str) -> Module {
    directory.write(
        "module.h",
        "Module numbers;\n#define OPTIONS Backend \"normal\"\n#define MIN(a, b) ((a) < (b) ? (a) \
        : (b))\n",
    );
    directory.write("own.h", "#define SQUARE 2\n");
    let file = directory.write("numbers.idl", idl);
    assert!(farcall_idl::needs_preprocessor(idl));
    farcall_idl::compile("numbers.idl", &preprocess(&file).unwrap())
        .unwrap_or_else(|errors| panic!("{errors:?}"))
}

#[test]
fn a_preprocessed_module_with_bodies_runs() {
    let directory = Directory::new("from-idl");
    directory.shared("farcall.c", STUB);
    let module = compiled(&directory, IDL);
    assert!(needs_link(&module));
    let options =
        BuildOptions::new(directory.0.join("cache"), directory.0.clone(), directory.0.clone());
    let built = build(&module, &options).unwrap();
    assert_eq!(built.warnings, "");
    assert_eq!(entry_name(&module, 1).as_deref(), Some("farcall_body_1"));
    let expected = "farcall_body_0 1 4 9 16\nfarcall_body_1 4 2 3 4\n";
    assert_eq!(run(&mut Command::new(&built.path)), expected);
    // A mistake is reported at its line, through preprocessor marks and all.
    let broken = compiled(&directory, &format!("#define BROKEN\n{IDL}"));
    let error = build(&broken, &options).unwrap_err().to_string();
    assert!(error.contains("numbers.idl:13:"), "{error}");
}

#[test]
fn a_shared_library_is_called_as_its_idl_says() {
    let directory = Directory::new("calls");
    directory.shared(
        "dot.c",
        "double dot(double *y, int n, const double *x) { return n * x[0] * y[n - 1]; }",
    );
    let idl = "Library \"libdot.so\";\n\
        Define dot(IN int n, IN double x[n], IN double y[n], OUT double value) Calls \"C\" value \
        = dot(y, n, x);";
    assert!(!farcall_idl::needs_preprocessor(idl));
    let module = farcall_idl::compile("dot.idl", idl).unwrap_or_else(|errors| panic!("{errors:?}"));
    assert!(!needs_link(&module));
    let libraries = Libraries::of_module(&module, &directory.0).unwrap();
    let mut n = 2i32;
    let mut x = [3.0f64, 0.0];
    let mut y = [0.0f64, 5.0];
    let mut value = 0.0f64;
    let mut slots = [on(&mut n), all(&mut x), all(&mut y), on(&mut value)];
    call_in(&libraries, &module.routines[0], &mut slots);
    assert_eq!(value, 30.0);
}
