//! The generated C, as text; whether it compiles is for `tests/linked.rs`.
#![allow(clippy::unwrap_used)]

use super::*;
use farcall_idl::interface::{
    Code, ElementType, Field, Implementation, Interface, Mode, Order, Parameter, Shape,
    StringConvention,
};

fn parameter(name: &str, mode: Mode, element: ElementType, array: bool) -> Parameter {
    let shape =
        if array { Shape::Array { dimensions: vec![], order: Order::Row } } else { Shape::Scalar };
    Parameter { shape, constant: name == "fixed", ..Parameter::scalar(name, mode, element) }
}

fn module(code: Vec<Code>, parameters: &[Parameter]) -> Module {
    let structs = vec![StructType {
        name: "point".into(),
        fields: vec![
            Field { name: "x".into(), element: ElementType::Float64, count: 1, offset: 0 },
            Field { name: "tag".into(), element: ElementType::Int32, count: 4, offset: 8 },
        ],
    }];
    let routine = |code| Routine {
        interface: Interface {
            module: "m".into(),
            name: "f".into(),
            aliases: vec![],
            doc: String::new(),
            structs: structs.clone(),
            parameters: parameters.to_vec(),
            idempotent: false,
            complexity: None,
            processors: None,
            resources: Default::default(),
            class: String::new(),
            class_doc: String::new(),
        },
        implementation: Implementation {
            language: Language::C,
            strings: StringConvention::End,
            code,
            required: vec![],
            backend: String::new(),
            distribution: Vec::new(),
        },
    };
    Module {
        name: "m".into(),
        routines: code.into_iter().map(routine).collect(),
        classes: vec![],
        libraries: vec![],
        globals: vec![],
        compile_options: vec![],
        compiler: None,
        linker: None,
        executables_max: 0,
    }
}

fn body() -> Code {
    Code::Body { text: " return; ".into(), file: "a \"quoted\" dir/m.idl".into(), line: 7 }
}

fn symbol(name: &str) -> Code {
    Code::Symbol { symbol: name.into(), arguments: vec![], result: None }
}

#[test]
fn parameters_are_what_bodies_expect() {
    let parameters = [
        parameter("n", Mode::In, ElementType::Int32, false),
        parameter("w", Mode::Work, ElementType::UInt64, false),
        parameter("a", Mode::InOut, ElementType::Complex128, true),
        parameter("fixed", Mode::In, ElementType::Float32, true),
        parameter("o", Mode::Out, ElementType::Int16, false),
        parameter("p", Mode::In, ElementType::Struct(0), false),
        parameter("s", Mode::In, ElementType::String, false),
        parameter("t", Mode::Out, ElementType::String, false),
        parameter("u", Mode::In, ElementType::String, true),
        parameter("file", Mode::Out, ElementType::Filename, false),
        parameter("files", Mode::In, ElementType::Filename, true),
    ];
    let sources = sources(&module(vec![body()], &parameters));
    let expected = "void farcall_body_0(int n, unsigned long w, dcomplex *a, const float *fixed, \
                    short *o, point p, char *s, char **t, char **u, char *file, char **files)\n";
    assert!(sources[0].text.contains(expected), "{}", sources[0].text);
    assert!(sources[0].text.contains("typedef struct point { double x; int tag[4]; } point;\n"));
}

#[test]
fn functions_of_callers_return_what_they_say() {
    let truth = Parameter { logical: true, ..parameter("on", Mode::In, ElementType::UInt8, false) };
    let value = parameter("result", Mode::Out, ElementType::Float64, true);
    let value = Parameter { returned: true, ..value };
    let listed = vec![parameter("x", Mode::In, ElementType::Float64, false), value];
    let callback = Shape::Callback { parameters: listed };
    let function = parameter("f", Mode::In, ElementType::Char, false);
    let parameters = [truth, Parameter { shape: callback, ..function }];
    let sources = sources(&module(vec![body()], &parameters));
    let expected = "void farcall_body_0(_Bool on, double (*f)(double x))\n";
    assert!(sources[0].text.contains(expected), "{}", sources[0].text);
}

#[test]
fn marks_lead_to_the_idl_and_back() {
    let sources = sources(&module(vec![body()], &[]));
    let text = &sources[0].text;
    assert!(text.contains("#line 7 \"a \\\"quoted\\\" dir/m.idl\"\n return; \n"), "{text}");
    assert!(text.contains("void farcall_body_0(void)\n"));
    // The mark behind the body names the line that follows it.
    let lines: Vec<&str> = text.lines().collect();
    let back = lines.iter().rposition(|line| line.starts_with("#line")).unwrap();
    assert_eq!(lines[back], format!("#line {} \"routine_0.c\"", back + 2));
}

#[test]
fn the_table_names_each_code_once() {
    let mut module = module(vec![body(), symbol("dgesv_"), symbol("dgesv_"), symbol("own")], &[]);
    module.globals = vec![("static void own(void) {} /* not dgesv_x */".into(), "m.idl".into(), 1)];
    let sources = sources(&module);
    let table = &sources.last().unwrap().text;
    assert!(table.contains("extern void farcall_symbol_1(void) __asm__(\"dgesv_\");\n"), "{table}");
    assert_eq!(table.matches("\"dgesv_\", ").count(), 1);
    assert!(table.contains("farcall_entries[2].function = farcall_address_3();"));
    assert!(table.contains("farcall_executable_main(argc, argv, farcall_entries, 3)"));
    // Only the body and the function of Globals see Globals.
    assert_eq!(copies_of_globals(&module), 2);
}

#[test]
fn only_what_mpi_starts_knows_an_mpi() {
    let mut parallel = module(vec![body()], &[]);
    let knows = |module: &Module| {
        sources(module).iter().filter(|file| file.text.contains("<mpi.h>")).count()
    };
    assert_eq!(knows(&parallel), 0);
    parallel.routines[0].implementation.backend = "MPI".into();
    // The code, and the table that tells the library of it before anything else.
    assert_eq!(knows(&parallel), 2);
    let table = sources(&parallel).pop().unwrap().text;
    assert!(
        table.contains("{\n    farcall_executable_ranks(&farcall_ranks_functions);\n    return "),
        "{table}"
    );
    assert!(
        stub(&parallel, Dialect::NinfG, "f.c", b"module")
            .contains("farcall_executable_ranks(&farcall_ranks_functions);")
    );
    // Bodies of Ninf-G find the rank that runs them.
    let Code::Body { text, .. } = &mut parallel.routines[0].implementation.code else {
        panic!("a body")
    };
    *text = " if (ng_stub_rank > 0) goto ng_stub_mpi_end; ".into();
    let text = stub(&parallel, Dialect::NinfG, "f.c", b"module");
    assert!(
        text.contains("MPI_Comm_rank(MPI_COMM_WORLD, &ng_stub_rank); {")
            && text.contains("ng_stub_mpi_end: ; }"),
        "{text}"
    );
}

#[test]
fn words_are_whole() {
    assert!(has_word("void solve(int);", "solve"));
    for text in ["resolve(1)", "solve_2()", "solver", ""] {
        assert!(!has_word(text, "solve"), "{text}");
    }
    // Nothing is declared by the empty name.
    assert!(!has_word("anything", ""));
}

#[test]
fn names_do_not_break_out_of_comments() {
    // Hostile: a file called so, whose stem becomes the module's name.
    let mut module = module(vec![body()], &[]);
    module.name = "x */ int main(void) { return 1; } /* \\\n y".into();
    let text = sources(&module).pop().unwrap().text;
    assert_eq!(text.matches("*/").count(), 1, "{text}");
}
