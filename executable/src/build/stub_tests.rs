//! The files that `ng_gen` writes, as text; whether they build is for the end-to-end tests.
#![allow(clippy::unwrap_used)]

use super::*;

fn names() -> StubNames {
    StubNames {
        dialect: farcall_idl::Dialect::NinfG,
        idl: "sub/x.idl".into(),
        stem: "x".into(),
        options: vec!["--no-cpp".into()],
        prefix: "/opt/ng".into(),
    }
}

fn files(idl: &str) -> Vec<StubFile> {
    stubs(&farcall_idl::compile("x.idl", idl).unwrap(), &names()).unwrap()
}

const SAMPLE: &str = "Module sample; CompileOptions \"-O3\"; CompileOptions \"CFLAGS = -g\"; \
    Library \"-lm -Llib\";\nGlobals { static int count; }\n\
    Define sleep(IN int n) Required \"sample.o\" { sleep(n); }\n\
    Define solve(IN int n, INOUT double x[n]) \"solves\" Calls \"C\" solve_(n, x);\n";

#[test]
fn each_definition_is_a_file_with_a_main_of_its_own() {
    let files = files(SAMPLE);
    let listed: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(listed, ["_stub_sleep.c", "_stub_solve.c", "sample.mak", "x.mak"]);
    for (file, other) in [(0, "farcall_symbol_1"), (1, "farcall_body_0")] {
        let text = &files[file].text;
        assert_eq!(text.matches("int main(").count(), 1);
        assert!(
            !text.contains(other)
                && text.contains("farcall_stub_main(argc, argv, farcall_entries, 1,"),
            "{text}"
        );
    }
    assert!(
        files[0].text.contains("static int count;") && files[0].text.contains("\"_stub_sleep.c\"")
    );
    assert!(files[1].text.contains("__asm__(\"solve_\")"), "{}", files[1].text);
}

#[test]
fn a_stub_carries_its_interface_and_not_its_code() {
    let module = farcall_idl::compile("x.idl", SAMPLE).unwrap();
    let part = carried(&parts(&module)[0].module);
    let again = farcall_idl::decode::decode_module(&encode_module(&part)).unwrap();
    assert_eq!(again.routines[0].interface, module.routines[0].interface);
    assert!(
        matches!(&again.routines[0].implementation.code, Code::Body { text, .. } if text.is_empty())
    );
    assert!(again.globals.is_empty());
}

#[test]
fn a_class_is_one_executable_with_all_its_methods() {
    let files = files(
        "Module m; DefClass Counter Required \"c.o\" { DefState { int count; } DefMethod \
         _initialize() { count = 1; } DefMethod add(IN int n) { count += n; } }\nDefine f(IN int \
         n) { }\n",
    );
    let listed: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(listed, ["_stub_f.c", "_stub_Counter.c", "m.mak", "x.mak"]);
    let text = &files[1].text;
    assert!(text.contains("int count;") && text.contains("farcall_entries, 2,"), "{text}");
    assert_eq!(files[2].text, "include x.mak\n");
    assert!(files[3].text.contains("_stub_Counter: _stub_Counter.o c.o\n"));
}

#[test]
fn the_makefile_has_the_names_that_old_makefiles_use() {
    let files = files(SAMPLE);
    let text = &files[3].text;
    for line in [
        "NG_DIR ?= /opt/ng",
        "include $(NG_DIR)/lib/template.mk",
        "NG_USER_CFLAGS += -O3",
        "CFLAGS = -g",
        "all: ng_stubs",
        "_stub_sleep: _stub_sleep.o sample.o",
        "_stub_solve: _stub_solve.o ",
        "\t$(NG_DIR)/bin/ng_gen --no-cpp sub/x.idl",
        "install: all",
        "clean:",
        "veryclean: clean",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    let linked = "-lm -L$(CURDIR)/lib -Wl,-rpath,$(CURDIR)/lib";
    assert!(
        text.contains(&format!(
            "{linked} $$($(NG_DIR)/bin/ng_config --run-times sample.o) $(LIBS)"
        )),
        "{text}"
    );
    assert!(text.contains(&format!("{linked} $(LIBS)")), "{text}");
}

#[test]
fn variables_of_make_may_stand_for_options() {
    let makefile = files("Module m; Library \"$(LIBS_OF_X)\"; Define f(IN int n) { }\n").pop();
    let text = makefile.expect("a makefile").text;
    let files = "$(filter-out -%,$(LIBS_OF_X))";
    assert!(text.contains(&format!("_stub_f: _stub_f.o {files}\n")), "{text}");
    assert!(text.contains("-o $@ _stub_f.o $(LIBS_OF_X) "), "{text}");
    assert!(text.contains(&format!("--run-times {files})")), "{text}");
}

#[test]
fn a_cpp_compiler_compiles_all_as_cpp() {
    let files = files("Module m; Compiler \"g++ -Wall\"; Define f(IN int n) { }\n");
    assert!(
        files[0].text.contains("extern \"C\" void farcall_body_0(int n) throw()\n"),
        "{}",
        files[0].text
    );
    assert!(
        files[2].text.contains("NG_COMPILER = g++ -Wall\nNG_LINKER = g++ -Wall\n"),
        "{}",
        files[2].text
    );
}

#[test]
fn definitions_in_c_and_in_cpp_stand_in_one_file() {
    let makefile =
        files("Module m; Define f(IN int n) { }\nDefine g(IN int n) Language \"C++\" { }\n")
            .pop()
            .unwrap()
            .text;
    let rule = |start: &str| {
        makefile.lines().skip_while(|line| !line.starts_with(start)).nth(1).unwrap_or("").to_owned()
    };
    assert!(
        rule("_stub_f.o:").starts_with("\t$(NG_COMPILER) ")
            && rule("_stub_f:").starts_with("\t$(NG_LINKER) ")
    );
    assert!(
        rule("_stub_g.o:").starts_with("\t$(CXX) ") && rule("_stub_g:").starts_with("\t$(CXX) "),
        "{makefile}"
    );
}

#[test]
fn nothing_of_a_file_becomes_a_rule_of_its_own() {
    // Hostile: words that would run commands of their own when the makefile is used.
    let text = files(
        "Module m; Library \"-lx;touch${IFS}y\"; Define f(IN int n) Required \"a`id`.o\" { }\n",
    )
    .pop()
    .unwrap();
    assert!(
        text.text.contains("'-lx;touch$${IFS}y'") && text.text.contains("'a`id`.o'"),
        "{}",
        text.text
    );
    let module = farcall_idl::compile("x.idl", "Module m; Define f(IN int n) { }").unwrap();
    for wrong in ["a b", "a;b", "$(x)", "a\nb", ""] {
        let error = stubs(&module, &StubNames { idl: wrong.into(), ..names() }).unwrap_err();
        assert!(error.to_string().contains("cannot be used in a makefile"), "{error}");
    }
    let empty = farcall_idl::compile("x.idl", "Module m;").unwrap();
    assert!(stubs(&empty, &names()).unwrap_err().to_string().contains("there is nothing to build"));
}
