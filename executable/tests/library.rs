//! Opens real shared libraries: every spelling, order of search, libraries that need one another,
//! and each failure.

use std::path::Path;
use std::process::Command;

use crate::fixture::*;
use farcall_base::{Error, ErrorKind};
use farcall_executable::library::{Libraries, library_names, needs_link};
use farcall_executable::serve::check_module;
use farcall_idl::interface::*;

fn open(texts: &[&str], base: &Path) -> Result<Libraries, Error> {
    Libraries::open(&texts.iter().map(|text| text.to_string()).collect::<Vec<_>>(), base)
}

/// The number that the function `which` gives.
fn number(libraries: &Libraries, symbol: &str) -> i32 {
    let mut value = 0i32;
    let parameters = vec![scalar("value", Mode::Out, ElementType::Int32)];
    call_in(libraries, &routine(Language::C, symbol, parameters, Some(0)), &mut [on(&mut value)]);
    value
}

#[test]
fn finds_every_spelling() {
    let directory = Directory::new("spellings");
    directory.shared("one.c", "int one(void) { return 1; }");
    directory.compile("two.c", "int two(void) { return 2; }", "libtwo.so.3", &["-shared", "-fPIC"]);
    let base = &directory.0;
    let path = base.join("libone.so").display().to_string();
    for name in [
        "libone.so",
        "./libone.so",
        path.as_str(),
        "-L. -lone",
        &format!("-L{} -lone", base.display()),
    ] {
        assert_eq!(number(&open(&[name], base).unwrap(), "one"), 1, "{name}");
    }
    // Only `libtwo.so.3` exists, without the link that development packages bring.
    assert_eq!(number(&open(&["-L. -ltwo"], base).unwrap(), "two"), 2);
    let both = open(&["libone.so -L. -ltwo"], base).unwrap();
    assert_eq!((number(&both, "one"), number(&both, "two")), (1, 2));
    // libc and libm need no name.
    assert!(open(&[], base).unwrap().find("cos").is_ok());
    // On a machine with development packages `libm.so` is a text for linkers; the library behind it
    // is meant.
    assert!(open(&["-lm"], base).unwrap().find("cos").is_ok());
}

#[test]
fn names_travel_to_another_directory() {
    let directory = Directory::new("with a space");
    directory.shared("one.c", "int one(void) { return 1; }");
    let mut module = module(vec![]);
    module.libraries = vec!["./libone.so libone.so libm.so.6".into(), "-L. -lone".into()];
    let names = library_names(&module, &directory.0);
    assert_eq!(names.len(), 5, "{names:?}");
    assert_eq!(names[2], "libm.so.6");
    for name in [&names[0], &names[1], &names[3..].join(" ")] {
        assert_eq!(number(&open(&[name], Path::new("/")).unwrap(), "one"), 1, "{name}");
    }
}

#[test]
fn searches_in_order_and_keeps_libraries_apart() {
    let directory = Directory::new("order");
    let source = |value| {
        format!(
            "int inner(void) {{ return {value}; }} int outer{value}(void) {{ return inner(); }}"
        )
    };
    directory.shared("a.c", &source(1));
    directory.shared("b.c", &source(2));
    let libraries = open(&["liba.so", "libb.so"], &directory.0).unwrap();
    assert_eq!(number(&libraries, "inner"), 1);
    // Two BLAS builds in one module: with RTLD_GLOBAL this would be 1, and with ILP64 a crash.
    assert_eq!(number(&libraries, "outer2"), 2);
}

#[test]
fn libraries_that_need_one_another_meet() {
    let directory = Directory::new("need");
    directory.shared("top.c", "int middle(void); int top(void) { return middle() + 1; }");
    directory.shared(
        "middle.c",
        "int base(void); int middle(void) { return base() + 1; } int both(void) { return 2; }",
    );
    directory.shared("base.c", "int base(void) { return 1; } int both(void) { return 1; }");
    // The order of a linker: what needs before what gives.
    let libraries = open(&["libtop.so libmiddle.so libbase.so"], &directory.0).unwrap();
    assert_eq!(number(&libraries, "top"), 3);
    // The order of search stays that of the IDL, whichever opened first.
    assert_eq!(number(&libraries, "both"), 2);
}

#[test]
fn says_what_a_library_lacks() {
    let directory = Directory::new("lacks");
    directory.shared(
        "lonely.c",
        "int nowhere_defined(void); int lonely(void) { return nowhere_defined(); }",
    );
    let error = open(&["liblonely.so"], &directory.0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().contains("nowhere_defined"), "{error}");
    assert!(error.to_string().contains("`Library`"), "{error}");
}

#[test]
fn says_what_is_missing_or_damaged() {
    let directory = Directory::new("missing");
    for name in ["libnothing.so.7", "/no/such/libnothing.so", "-lnothing_of_this_name"] {
        let error = open(&[name], &directory.0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        let text = error.to_string();
        assert!(text.contains(name) && text.contains("LD_LIBRARY_PATH"), "{text}");
    }
    // A text in place of a library: the loader's own words, and no advice to install what is there.
    directory.write("libtext.so", "this is no library");
    let text = open(&["./libtext.so"], &directory.0).unwrap_err().to_string();
    assert!(text.contains("invalid ELF header") || text.contains("file too short"), "{text}");
    assert!(!text.contains("install it"), "{text}");
    // An object can only be linked.
    let error = open(&["solve.o"], &directory.0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidSource);
    // A NUL cannot be part of a file's name; it must not end the name early either.
    assert!(open(&["lib\0x.so"], &directory.0).is_err());
    // Hostile: thousands of libraries.
    let many = "libm.so.6 ".repeat(300);
    assert_eq!(open(&[many.as_str()], &directory.0).unwrap_err().kind(), ErrorKind::LimitExceeded);
}

#[test]
fn says_which_symbol_is_near() {
    let directory = Directory::new("near");
    directory.shared("near.c", "void solve_(void) {} void factorize(void) {} int data_only = 1;");
    let libraries = open(&["libnear.so"], &directory.0).unwrap();
    let advice = |symbol: &str| {
        let error = libraries.find(symbol).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.to_string().contains("libnear.so"), "{error}");
        error.advice().unwrap().to_string()
    };
    assert!(advice("solve").contains("Calls \"Fortran\""));
    assert!(advice("factorize_").contains("Calls \"C\""));
    assert_eq!(advice("factorise"), "did you mean \"factorize\"?");
    assert!(advice("sol\0ve").contains("nm -D") || advice("sol\0ve").contains("did you mean"));
}

#[test]
fn knows_what_needs_a_linker() {
    let calls = routine(Language::C, "solve", vec![], None);
    let with = |change: &dyn Fn(&mut Module)| {
        let mut module = module(vec![calls.clone()]);
        change(&mut module);
        needs_link(&module)
    };
    assert!(!with(&|_| {}));
    assert!(!with(&|m| m.libraries = vec!["-lm libopenblas.so.0 /opt/x/libq.so".into()]));
    assert!(!with(&|m| m.globals = vec![("\n  ".into(), "f".into(), 1)]));
    assert!(with(&|m| m.libraries = vec!["-lm libsolve.a".into()]));
    assert!(with(&|m| m.routines[0].implementation.required = vec!["solve.o".into()]));
    assert!(with(&|m| m.globals = vec![("int x;".into(), "f".into(), 1)]));
    assert!(with(&|m| m.routines.push(body(Language::C, "b", vec![], "", 1))));
}

#[test]
fn reads_symbols_of_a_real_library() {
    // A misspelt LAPACK name, against the 30 MB that OpenBLAS has on many machines.
    if let Ok(libraries) = open(&["libopenblas.so.0"], Path::new("/")) {
        assert_eq!(
            libraries.find("dgesw_").unwrap_err().advice(),
            Some("did you mean \"dgesv_\"?")
        );
    } else {
        eprintln!("skipped: no libopenblas.so.0");
    }
    // Stripped of its section headers a library still loads and is called; only the advice is
    // poorer.
    let directory = Directory::new("stripped");
    directory.shared("bare.c", "int bare(void) { return 4; }");
    run(Command::new("strip").arg(directory.0.join("libbare.so")));
    assert_eq!(number(&open(&["libbare.so"], &directory.0).unwrap(), "bare"), 4);
}

#[test]
fn variables_are_no_routines() {
    let directory = Directory::new("variable");
    directory.shared(
        "data.c",
        "int answer = 5; int zeros[8]; const char *const names = \"\"; int solve(void) { return \
            1; }",
    );
    directory.shared("code.c", "int answer(void) { return 2; }");
    let libraries = open(&["libdata.so"], &directory.0).unwrap();
    for variable in ["answer", "zeros", "names"] {
        let error = libraries.find(variable).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        let text = error.to_string();
        assert!(
            text.contains(&format!("\"{variable}\" is a variable")) && text.contains("libdata.so"),
            "{text}"
        );
    }
    assert_eq!(number(&libraries, "solve"), 1);
    // It hides no function of that name behind it, and a function that is chosen at load time (cos)
    // is one.
    assert_eq!(number(&open(&["libdata.so libcode.so"], &directory.0).unwrap(), "answer"), 2);
    assert!(libraries.find("cos").is_ok());
}

#[test]
fn a_module_names_all_that_is_missing() {
    let directory = Directory::new("missing");
    let library = directory.shared("some.c", "int present(void) { return 1; }");
    let routine = |name: &str| {
        let mut routine = routine(
            Language::C,
            name,
            vec![scalar("value", Mode::Out, ElementType::Int32)],
            Some(0),
        );
        routine.interface.name = name.into();
        routine
    };
    let publication = |names: &[&str]| {
        let module = module(names.iter().map(|name| routine(name)).collect());
        farcall_wire::Publication {
            module: farcall_idl::encode::encode_module(&module),
            libraries: vec![library.display().to_string()],
            object: None,
        }
    };
    check_module(&publication(&["present"])).unwrap();
    let text = check_module(&publication(&["present", "gone"])).unwrap_err().to_string();
    assert!(
        text.contains("no function \"gone\"") && text.contains("needed by: test/gone"),
        "{text}"
    );
    assert!(!text.contains("also wrong"), "{text}");
    let text = check_module(&publication(&["gone", "present", "lost"])).unwrap_err().to_string();
    assert!(
        text.contains("needed by: test/gone")
            && text.contains("also wrong: test/lost: no function \"lost\""),
        "{text}"
    );
    // A thousand missing ones are named in a few lines.
    let many: Vec<String> = (0..1000).map(|number| format!("gone{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let text = check_module(&publication(&many)).unwrap_err().to_string();
    assert!(text.contains("test/gone7") && text.len() < 2000, "{text}");
}
