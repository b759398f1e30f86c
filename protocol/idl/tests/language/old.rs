//! Files of Ninf-G and of the first Ninf, construct by construct: what they meant there they mean
//! here, and what is likely a mistake is said (spec/idl.md, section 9.1).

use farcall_idl::idl::to_idl;
use farcall_idl::interface::{Code, Distribution, Language, Module};
use farcall_idl::{Compiled, Dialect, compile, compile_as};

fn read(dialect: Dialect, text: &str) -> Compiled {
    compile_as(dialect, "old.idl", text)
        .unwrap_or_else(|diagnostics| panic!("{text}\n{diagnostics}"))
}

/// The module as the text says it, and what was said of it: the same for both generators.
fn read_by_both(text: &str) -> (Module, Vec<String>) {
    let compiled = read(Dialect::NinfG, text);
    assert_eq!(compiled.module, read(Dialect::Ninf, text).module, "{text}");
    let warnings = compiled.warnings.iter();
    (compiled.module, warnings.map(|warning| warning.message.clone()).collect())
}

/// What parameters are, where Farcall's own dialect reads them otherwise or not at all: the old
/// list, the same in Farcall's words, and the words of a warning.
const PARAMETERS: [(&str, &str, &str); 22] = [
    // Power binds as C's exclusive or does.
    ("IN int n, IN int a[2*n^2]", "IN int n, IN int a[(2*n)^2]", "this is (2*n)^(2)"),
    ("IN int n, IN int a[n^2+1]", "IN int n, IN int a[n^(2 + 1)]", "this is (n)^(2+1)"),
    ("IN int n, IN int a[-n^2]", "IN int n, IN int a[(-n)^2]", "this is (-n)^(2)"),
    ("IN int n, IN int a[n^2^3]", "IN int n, IN int a[(n^2)^3]", "this is (n^2)^(3)"),
    ("IN int n, IN int a[2*(n^2)]", "IN int n, IN int a[2*n^2]", ""),
    ("IN int n, IN int a[(n+1)^(n-1)]", "IN int n, IN int a[(n + 1)^(n - 1)]", ""),
    ("IN int n, IN int a[n^3]", "IN int n, IN int a[n^3]", ""),
    // Comparisons chain, and conditions group to the left.
    (
        "IN int n, IN int a[0 < n < 9 ? n : 1]",
        "IN int n, IN int a[(0 < n) < 9 ? n : 1]",
        "this compares the truth, 0 or 1, of the comparison before it",
    ),
    (
        "IN int n, IN int a[n > 9 ? 9 : n > 1 ? n : 1]",
        "IN int n, IN int a[(n > 9 ? 9 : n > 1) ? n : 1]",
        "all that stands before this '?' is its condition",
    ),
    (
        "IN int n, IN int a[n > 9 ? 9 : (n > 1 ? n : 1)]",
        "IN int n, IN int a[n > 9 ? 9 : n > 1 ? n : 1]",
        "",
    ),
    // One element where no size is given, a character as well.
    ("OUT int a[]", "OUT int a[1]", "the size of 'a' is not given: it is one element"),
    ("IN char a[]", "IN char a[1]", "the size of 'a' is not given: it is one element"),
    ("INOUT int n[], IN int a[n]", "INOUT int n[1], IN int a[n]", "the size of 'n' is not given"),
    // A star is a dimension of one element.
    ("OUT int *a", "OUT int a[1]", ""),
    ("IN int n, IN int *a[n]", "IN int n, IN int a[n][1]", "'a' is an array of elements"),
    ("OUT string **a", "OUT string a[1][1]", "'a' is an array of elements, not of pointers"),
    // An end of 0 is the whole size.
    ("IN int n, IN int e, IN int a[n:e]", "IN int n, IN int e, IN int a[n:e == 0 ? n : e]", ""),
    ("IN int n, IN int a[n:0]", "IN int n, IN int a[n:n]", ""),
    // Words of a type around the mode, and modes of both spellings.
    ("long mode_in int n, mode_inout short int a[n]", "IN long n, INOUT short a[n]", ""),
    ("IN long float x, OUT long int a[1]", "IN double x, OUT long a[1]", ""),
    // Words that Farcall has added are names in old files.
    (
        "IN int when, IN int unit, IN int column, INOUT double among[when], OUT int where[unit]",
        "IN int when, IN int unit, IN int column, INOUT double among[when], OUT int where[unit]",
        "",
    ),
    (
        "IN int bool, IN int logical, OUT int size_t[bool]",
        "IN int bool, IN int logical, OUT int size_t[bool]",
        "",
    ),
];

#[test]
fn parameters_are_what_they_were() {
    for (old, new, said) in PARAMETERS {
        let (module, warnings) = read_by_both(&format!("Module old;\nDefine f({old}) {{ }}"));
        let same = compile("old.idl", &format!("Module old;\nDefine f({new}) {{ }}"));
        let same = same.unwrap_or_else(|diagnostics| panic!("{new}\n{diagnostics}"));
        let routine = &module.routines[0].interface;
        assert_eq!(*routine, same.routines[0].interface, "{old}:\n{}", to_idl(routine));
        match said {
            "" => assert!(warnings.is_empty(), "{old}: {warnings:?}"),
            _ => assert!(warnings.len() == 1 && warnings[0].contains(said), "{old}: {warnings:?}"),
        }
    }
}

/// Whole files: what each is, its text, what holds of the module, and the words of its warnings.
type Holds = fn(&Module) -> bool;
const FILES: [(&str, &str, Holds, &[&str]); 17] = [
    (
        "the last of several declarations",
        "Module a; FortranFormat \"%s_\"; Compiler \"cc\"; Linker \"ld\";\n\
         Module b; FortranFormat \"%l\"; Compiler \"mpicc\"; Linker \"mpicc\";\n\
         Define f(IN int n) Calls \"Fortran\" f(n);",
        |module| {
            module.name == "b"
                && module.compiler.as_deref() == Some("mpicc")
                && module.linker.as_deref() == Some("mpicc")
                && symbol(module) == "F"
        },
        &[
            "a later Module replaces this one",
            "a later FortranFormat replaces this one",
            "a later Compiler replaces this one",
            "a later Linker replaces this one",
        ],
    ),
    (
        "the same said twice",
        "Module a; Module a; FortranFormat \"%s_\"; FortranFormat \"%s_\";\nDefine f(IN int n) { }",
        |module| module.name == "a",
        &[],
    ),
    (
        "the last of several options",
        "Define f(IN int n) \"words\" Required \"a.o\" Required \"b.o c.o\" Backend \"MPI\" \
         Backend \"normal\" Language \"C++\" Language \"C\" Shrink \"yes\" Shrink \"no\" { }",
        |module| {
            let made = &module.routines[0].implementation;
            made.required == ["b.o", "c.o"] && !made.is_parallel() && made.language == Language::C
        },
        &[
            "a later Required replaces this one",
            "a later Backend replaces this one",
            "a later Language replaces this one",
            "a later Shrink replaces this one",
        ],
    ),
    (
        "options in any order, before and behind each other",
        "Define f(IN int n) Shrink \"yes\" CalcOrder n \"words\" Backend \"mpi\" Required \"a.o\"\n\
         { }",
        |module| {
            let routine = &module.routines[0];
            routine.implementation.is_parallel() && routine.interface.doc == "words"
        },
        &[],
    ),
    (
        "CalcOrder as on paper, since it was only written down",
        "Define f(IN int n) CalcOrder 2*n^3 { }",
        |module| {
            let same = compile("old.idl", "Define f(IN int n) Complexity 2*(n^3) { }");
            same.is_ok_and(|same| {
                same.routines[0].interface.complexity == module.routines[0].interface.complexity
            })
        },
        &[],
    ),
    (
        "CalcOrder of what is unknown before the call",
        "Define f(IN int n, OUT int m[1], IN double a[n][n]) CalcOrder n*m { }",
        |module| module.routines[0].interface.complexity.is_none(),
        &["it has no effect: 'm' is OUT"],
    ),
    (
        "Shrink with another word",
        "Define f(IN int n) Shrink \"true\" { }",
        |_| true,
        &["Shrink is \"yes\" or \"no\"; it has no effect here"],
    ),
    (
        "a language before a body",
        "Define f(IN int n) Language \"FORTRAN\" { }",
        |module| module.routines[0].implementation.language == Language::C,
        &["the body is C: Language \"Fortran\" has no effect on it"],
    ),
    (
        "the language of Calls",
        "Define f(IN int n) Language \"C\" Calls \"Fortran\" f(n);",
        |module| symbol(module) == "f_",
        &["this is the language, not the one of the option before it"],
    ),
    (
        "Calls with some of the arguments, in another order, and one twice",
        "Define f(IN int n, OUT int m[1], IN double x) Calls g(m, n, n);",
        |module| symbol(module) == "g",
        &[],
    ),
    (
        "broadcast of what is not sent",
        "Define f(IN int n, broadcast OUT int m[n], allocate OUT int k[n], IN broadcast int j[n]) \
         Backend \"MPI\" { }",
        |module| {
            let made = &module.routines[0].implementation;
            made.distribution(1) == Distribution::Allocate
                && made.distribution(2) == Distribution::Allocate
                && made.distribution(3) == Distribution::Broadcast
        },
        &["'m' is not sent to the routine, so it cannot be broadcast"],
    ),
    (
        "a routine that is defined twice",
        "Define f(IN int n) { } Define g(IN int n) { } Define f(IN int n, OUT int m[1]) { }",
        |module| {
            let names: Vec<_> = module.routines.iter().map(|one| &one.interface.name).collect();
            names == ["g", "f"] && module.routines[1].interface.parameters.len() == 2
        },
        &["a later 'f' replaces this one"],
    ),
    (
        "a callback's sizes of the routine's parameters, which win over its own",
        "Define f(IN int n, IN int k, g(IN int n, IN double part[n - k], OUT double sum[1])) { }",
        |module| {
            let text = to_idl(&module.routines[0].interface);
            text.contains("part[n_ - k]") || text.contains("part[n - k]")
        },
        &[],
    ),
    (
        "callbacks alone, and with many parameters",
        "Define f(g(IN int a, IN int b), h()) { }",
        |module| module.routines[0].interface.parameters.len() == 2,
        &[],
    ),
    (
        "stray semicolons, comments with quotes and braces",
        "Module m;;\nGlobals { /* } don't \" */ int k; // it's {\n };\n\
         Define f(IN int n) { /* { \" ' */ };\nDefClass c { DefState { int k; } ; DefMethod m() \
         { k = 1; }; };",
        |module| module.globals.len() == 1 && module.classes.len() == 1,
        &[],
    ),
    (
        "classes with hooks and ordinary methods of like names",
        "DefClass c \"words\" Required \"a.o\" Language \"C\" { DefState { int k; } DefMethod \
         _initialize(IN int n) { k = n; } DefMethod initialize() { } DefMethod _finalize() { } \
         DefMethod get(OUT int *n) \"words\" CalcOrder 1 { *n = k; } }",
        |module| module.classes[0].methods.len() == 4,
        &[],
    ),
    (
        "bytes that are no UTF-8 in code and in words",
        "Define f(IN int n) \"\u{10fffc}\u{10ffcb}\" { puts(\"\u{10ffc6}\u{10fffc}\"); }",
        |module| {
            let routine = &module.routines[0];
            let Code::Body { text, .. } = &routine.implementation.code else { return false };
            farcall_idl::restore_bytes(text) == b" puts(\"\xc6\xfc\"); "
                && routine.interface.doc == "\u{fffd}\u{fffd}"
        },
        &[],
    ),
];

fn symbol(module: &Module) -> &str {
    match &module.routines[0].implementation.code {
        Code::Symbol { symbol, .. } => symbol,
        Code::Body { .. } => "",
    }
}

#[test]
fn files_mean_what_they_meant() {
    for (what, text, holds, said) in FILES {
        let (module, warnings) = read_by_both(text);
        assert!(holds(&module), "{what}: {module:#?}");
        let all = warnings.len() == said.len()
            && said.iter().all(|words| warnings.iter().any(|warning| warning.contains(words)));
        assert!(all, "{what}: {warnings:?}");
    }
}

#[test]
fn types_of_the_first_ninf_are_read() {
    let text = "Define f(IN unsigned int u, IN longlong l, IN filepointer p, IN void b[u], \
                IN unsigned char c[2], IN long n, CALLBACK g(IN long k)) \"words\", Required \
                \"a.o\", CalcOrder n, { }";
    let compiled = read(Dialect::Ninf, text);
    assert!(compiled.warnings.is_empty());
    assert_eq!(compiled.module.routines[0].interface.parameters.len(), 7);
}

/// Farcall's own dialect says no where the old ones say a word.
#[test]
fn files_for_farcall_are_read_as_strictly_as_before() {
    for text in [
        "Module a; Module b;",
        "Define f(IN int n) Required \"a\" Backend \"MPI\" Backend \"MPI\" { }",
        "Define f(IN int n, IN int a[0 < n < 9]) { }",
        "Define f(IN int n, IN int *a[n]) { }",
        "Define f(OUT int a[]) { }",
        "Define f(IN int n) { } Define f(IN int n) { }",
        "Define f(OUT int m[1]) CalcOrder m { }",
        "Define f(OUT broadcast int m[1]) { }",
        "Define f(IN int n) Language \"C\" Calls \"Fortran\" f(n);",
    ] {
        assert!(compile("new.idl", text).is_err(), "{text}");
    }
    let module =
        compile("new.idl", "Define f(IN int n, IN int a[2*n^2], IN char s[]) { }").unwrap();
    let text = to_idl(&module.routines[0].interface);
    assert!(text.contains("a[2 * n ^ 2]") && text.contains("IN string s"), "{text}");
}
