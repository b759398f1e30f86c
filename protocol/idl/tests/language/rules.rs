//! Rules that no golden file shows well: limits, places, structured access, and files that are
//! large by nature.

use farcall_base::{Error, ErrorKind};
use farcall_idl::decode::{decode_interface, decode_module};
use farcall_idl::encode::{contract_hash, encode_interface, encode_module};
use farcall_idl::help::help_page;
use farcall_idl::idl::to_idl;
use farcall_idl::interface::{ElementType, Mode, Module, Parameter, Shape};
use farcall_idl::json::to_json;
use farcall_idl::{DIAGNOSTICS_MAX, Diagnostics, FILE_BYTES_MAX, compile};

fn valid(text: &str) -> Module {
    compile("test.idl", text).unwrap_or_else(|diagnostics| panic!("{diagnostics}"))
}

fn wrong(text: &str) -> Diagnostics {
    compile("test.idl", text).expect_err("the text must be refused")
}

#[test]
fn many_globals_and_many_callback_parameters_are_no_problem() {
    // Ninf-G stops at 100 Globals; its callbacks must take at least 32 parameters.
    let globals = "Globals { static int k; }\n".repeat(300);
    let parameters: Vec<String> = (0..64).map(|index| format!("IN int p{index}")).collect();
    let text = format!("{globals}Define f(IN int n, g({})) {{ }}", parameters.join(", "));
    let module = valid(&text);
    assert_eq!(module.globals.len(), 300);
    let Shape::Callback { parameters } = &module.routines[0].interface.parameters[1].shape else {
        panic!("no callback")
    };
    assert_eq!(parameters.len(), 64);
}

#[test]
fn the_module_is_named_by_the_file_where_it_names_none() {
    for (file, name) in [
        ("a/b/solver.idl", "solver"),
        ("x.y.idl", "x"),
        ("", "unnamed"),
        ("two words.idl", "two_words"),
    ] {
        assert_eq!(compile(file, "").unwrap().name, name);
    }
    assert_eq!(valid("Module m;").name, "m");
    // A header that is read twice says the same twice.
    assert_eq!(valid("Module m; Module m;").name, "m");
}

#[test]
fn diagnostics_give_place_and_help_to_programs() {
    let found = wrong("Define f(IN int rows,\n\tIN double a[row]) Calls f(rows);");
    let [diagnostic] = found.list() else { panic!("{found}") };
    assert_eq!((diagnostic.line, diagnostic.column, diagnostic.length), (2, 14, 3));
    assert_eq!(diagnostic.file, "test.idl");
    assert_eq!(diagnostic.message, "there is no parameter 'row'");
    assert_eq!(diagnostic.help.as_deref(), Some("did you mean 'rows'?"));
    assert_eq!(diagnostic.source_line, "\tIN double a[row]) Calls f(rows);");
}

#[test]
fn diagnostics_become_the_house_error() {
    let error = Error::from(wrong("Define f(IN double a[k]) Calls g(b);"));
    assert_eq!(error.kind(), ErrorKind::InvalidSource);
    let text = error.to_string();
    assert!(text.contains("there is no parameter 'k'") && text.contains("test.idl:1:22"), "{text}");
    assert!(text.contains("errors: 2"), "{text}");
    // The whole list is there for who wants it.
    assert!(
        std::error::Error::source(&error)
            .unwrap()
            .to_string()
            .contains("there is no parameter 'b'")
    );
}

#[test]
fn the_caret_stands_under_the_mistake() {
    let text = wrong("Module m;\nDefine f(IN\tint n) Calls f(nn);").to_string();
    let lines: Vec<&str> = text.lines().collect();
    let line = lines.iter().find(|line| line.contains("Calls")).unwrap();
    let caret = lines.iter().find(|line| line.contains('^')).unwrap();
    assert_eq!(line.find("nn").unwrap(), caret.find("^^").unwrap());
}

#[test]
fn control_characters_are_spelled() {
    let problems = wrong("Define f(IN int \0 n) Calls \"C\" f(n);").to_string();
    assert!(
        problems.starts_with(
            "error: '\\x00' has no meaning in an interface file\n --> test.idl:1:17\n"
        ),
        "{problems}"
    );
}

#[test]
fn mistakes_beyond_the_limit_are_counted() {
    let text: String =
        (0..200).map(|index| format!("Define f{index}(IN double a[k]) Calls f(a);\n")).collect();
    let found = wrong(&text);
    assert_eq!(found.list().len(), DIAGNOSTICS_MAX);
    assert_eq!(found.omitted(), 200 - DIAGNOSTICS_MAX);
    assert!(found.to_string().ends_with("200 errors, the first 50 are shown"));
}

#[test]
fn a_file_that_is_too_large_is_refused_unread() {
    let found = wrong(&" ".repeat(FILE_BYTES_MAX + 1));
    assert!(found.list()[0].message.contains("bytes"));
    // At the limit it is read.
    assert!(compile("test.idl", &" ".repeat(FILE_BYTES_MAX)).is_ok());
}

#[test]
fn large_hostile_files_end_quickly() {
    // Each would overflow the stack or take quadratic time in a careless reader.
    let size = 1 << 17;
    let pieces = [
        "(",
        "[",
        "{",
        "Define f(",
        "-",
        "a[",
        "*",
        "n^",
        "\"",
        "'",
        "/*",
        "# 1 \"a\"\n",
        "Struct a {",
        "DefClass a {",
        "Define f(IN int n, ",
        "IN ",
        "é",
        "{ # }",
        "Define f(){",
        "when ",
        "1?",
        "g(",
        "Module m;",
        "f=",
        "@ ",
        "Define f(){\n",
        "Define f()Calls f(a);",
        "R\"(",
        "'a' ",
        "# ",
        "\"\\\"\n",
        "IN int a[(",
        "Define f(IN int a[",
        "{}",
        "Define f(){'\n}\n",
    ];
    for piece in pieces {
        let started = std::time::Instant::now();
        let many = piece.repeat(size / piece.len());
        for begin in ["", "x ", "Define f(IN int n, IN double a[", "Define f() {"] {
            let _ = compile("test.idl", &format!("{begin}{many}"));
        }
        assert!(started.elapsed().as_secs() < 3, "{piece:?} took {:?}", started.elapsed());
    }
}

#[test]
fn variants_multiply_words_only_up_to_the_limit_of_a_file() {
    // 16 variants of 40 words each, 2,000 times: 80,000 words that would become 1,280,000.
    let variants =
        format!("Variants ? = {};\n", "abcdefghijklmnop".split("").collect::<Vec<_>>().join(" "));
    let parameters: Vec<String> = (0..10).map(|index| format!("IN int p{index}")).collect();
    let define =
        |index: usize| format!("Define ?f{index}({}) Calls f(p0);\n", parameters.join(", "));
    let text = |count: usize| variants.clone() + &(0..count).map(define).collect::<String>();
    assert_eq!(valid(&text(100)).routines.len(), 1600);
    let found = wrong(&text(2000));
    assert!(found.list()[0].message.contains("more than 1000000 words"), "{found}");
}

#[test]
fn too_many_parameters_are_refused() {
    let parameters: Vec<String> = (0..1025).map(|index| format!("IN int p{index}")).collect();
    let found = wrong(&format!(
        "Define f({}) Calls f(p1);\nDefine g(IN int n) Calls g(k);",
        parameters.join(", ")
    ));
    assert!(found.list()[0].message.contains("at most 1024 parameters"), "{found}");
    // The next routine is still looked at.
    assert!(found.to_string().contains("there is no parameter 'k'"), "{found}");
}

#[test]
fn an_interface_that_no_client_would_take_is_refused() {
    let found = wrong(&format!("Define f(IN int n) \"{}\" Calls f(n);", "x".repeat(300_000)));
    assert!(found.list()[0].message.contains("bytes"), "{found}");
}

#[test]
fn places_in_preprocessed_text_are_those_of_the_headers() {
    let text = "# 1 \"main.idl\"\n# 30 \"macros.h\" 1\nDefine f(IN int a[k]) {\n# 70 \
        \"body.c\"\n}\nDefine g(IN int a[k]) {}";
    let found = wrong(text);
    let places: Vec<(&str, u32)> =
        found.list().iter().map(|one| (one.file.as_str(), one.line)).collect();
    // The mark inside the body moves what follows, as it does for the C compiler.
    assert_eq!(places, [("macros.h", 30), ("body.c", 71)]);
}

#[test]
fn lines_of_other_systems_are_lines() {
    assert_eq!(valid("\u{feff}Module m;\r\n").name, "m");
    let found = wrong("Module m;\r\nDefine f(IN double a[k]) Calls f(a);\r\n");
    assert_eq!((found.list()[0].line, found.list()[0].column), (2, 22));
    assert!(!found.to_string().contains('\r'));
}

#[test]
fn expressions_as_text_compile_to_themselves() {
    let text = include_str!("../golden/valid/expressions.idl");
    let first = valid(text);
    let interface = &first.routines[0].interface;
    let results = interface.parameters.iter().filter(|parameter| parameter.mode == Mode::Out);
    let sizes: Vec<String> = results
        .map(|parameter| {
            format!("OUT double {}{}", parameter.name, interface.scope().dimensions_text(parameter))
        })
        .collect();
    let complexity = interface.expression_text(interface.complexity.as_ref().unwrap());
    let inputs = "IN int n, IN int m, IN int k, IN int v[n], IN char c, IN double x";
    let again = valid(&format!(
        "Define precedence({inputs}, {}) Complexity {complexity} {{ }}",
        sizes.join(", ")
    ));
    assert_eq!(again.routines[0].interface.parameters, interface.parameters);
    assert_eq!(again.routines[0].interface.complexity, interface.complexity);
}

#[test]
fn integers_that_say_64_bits_are_told_from_long() {
    let text = "Define f(IN long a, IN unsigned long b, IN longlong c, long IN long d, IN size_t \
                e, IN int64 g,\nIN int h, IN long long v[2], OUT longlong *w) { }";
    let interface = valid(text).routines.remove(0).interface;
    let wide: Vec<bool> = interface.parameters.iter().map(|parameter| parameter.wide).collect();
    assert_eq!(wide, [false, false, true, true, true, true, false, false, false]);
    assert_eq!(decode_interface(&encode_interface(&interface)).unwrap(), interface);
}

#[test]
fn logicals_are_told_from_int() {
    let text = "Define f(IN logical a, IN int b, INOUT logical c[2], OUT int32 *d, \
                g(IN logical x)) { }";
    let interface = valid(text).routines.remove(0).interface;
    let logical: Vec<bool> =
        interface.parameters.iter().map(|parameter| parameter.logical).collect();
    assert_eq!(logical, [true, false, true, false, false]);
    assert_eq!(decode_interface(&encode_interface(&interface)).unwrap(), interface);
    let json = to_json(&interface);
    assert_eq!(json["parameters"][0]["logical"], true);
    assert_eq!(json["parameters"][2]["idl"], "INOUT logical c[2]");
    assert_eq!(json["parameters"][4]["parameters"][0]["logical"], true);
    assert!(json["parameters"][1].get("logical").is_none());
}

#[test]
fn bools_are_bytes_that_say_true_or_false() {
    let text = "Define f(IN bool a, IN uint8 b, INOUT _Bool c[2], OUT bool d) { }";
    let interface = valid(text).routines.remove(0).interface;
    let all = |of: fn(&Parameter) -> bool| interface.parameters.iter().map(of).collect::<Vec<_>>();
    assert_eq!(all(|one| one.logical), [true, false, true, true]);
    assert_eq!(all(|one| one.element == ElementType::UInt8), [true; 4]);
    assert_eq!(to_json(&interface)["parameters"][2]["idl"], "INOUT bool c[2]");
    assert_eq!(valid(&to_idl(&interface)).routines.remove(0).interface, interface);
}

#[test]
fn callbacks_that_return_a_value_are_those_with_one_more_result() {
    let text = "Struct point { double x, y; }\nDefine f(IN double a, double g(IN double x), \
                CALLBACK bool ok(IN int n, IN double result[n]), void h(OUT int i), \
                unsigned long k(), point p(IN point q)) { }";
    let interface = valid(text).routines.remove(0).interface;
    let values: Vec<Option<(&str, ElementType, bool)>> = interface
        .parameters
        .iter()
        .map(|one| one.function_value().map(|v| (v.name.as_str(), v.element, v.logical)))
        .collect();
    let expected = [
        None,
        Some(("result", ElementType::Float64, false)),
        Some(("result_", ElementType::UInt8, true)),
        None,
        Some(("result", ElementType::UInt64, false)),
        Some(("result", ElementType::Struct(0), false)),
    ];
    assert_eq!(values, expected);
    assert_eq!(decode_interface(&encode_interface(&interface)).unwrap(), interface);
    assert_eq!(valid(&to_idl(&interface)).routines.remove(0).interface, interface);
    assert!(to_idl(&interface).contains("    double g(IN double x),\n"), "{}", to_idl(&interface));
    assert!(help_page(&interface).contains("function(x) -> double"));
    let json = to_json(&interface);
    assert_eq!(json["parameters"][1]["parameters"][1]["returned"], true);
    // On the wire they are what older ends know.
    let plain = "Define f(g(IN double x, OUT double result)) { }";
    let value = "Define f(double g(IN double x)) { }";
    let hash = |text| contract_hash(&valid(text).routines.remove(0).interface);
    assert_eq!(hash(plain), hash(value));
}

#[test]
fn an_executable_that_knows_no_function_values_refuses_their_module() {
    let critical = [0x20, 0xf5];
    let ends_with = |text: &str| encode_module(&valid(text)).ends_with(&critical);
    assert!(ends_with("Define f(double g(IN double x)) { }"));
    assert!(!ends_with("Define f(g(IN double x, OUT double y)) { }"));
    let module = valid("Define f(double g(IN double x)) { }");
    assert_eq!(decode_module(&encode_module(&module)).unwrap(), module);
}
