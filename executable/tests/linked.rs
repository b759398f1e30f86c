//! Builds executables with the machine's compilers and calls what is in them, through a stub of
//! `libfarcall.so`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Barrier;

use crate::fixture::*;
use farcall_base::{Error, ErrorKind};
use farcall_executable::build::{BuildOptions, Built, build, entry_name};
use farcall_idl::interface::*;

/// Stands for `libfarcall.so`: calls the entry that the first argument names, and lists all without
/// one.
const STUB: &str = r#"
#include <stdio.h>
#include <string.h>
struct farcall_entry { const char *name; void (*function)(void); };
int farcall_executable_main(int argc, char **argv, const struct farcall_entry *e, size_t count)
{
    double x[4] = { 1, 2, 3, 4 };
    size_t i;
    for (i = 0; i < count; i++) {
        if (argc < 2) printf("%s\n", e[i].name);
        else if (!strcmp(e[i].name, argv[1])) {
            ((void (*)(int, double *)) e[i].function)(4, x);
            printf("%g %g %g %g\n", x[0], x[1], x[2], x[3]);
        }
    }
    return 0;
}
"#;

/// A module's place: the stub, the cache, and the directory of its IDL file.
struct Site(Directory);

impl Site {
    fn new(name: &str) -> Site {
        let directory = Directory::new(name);
        directory.shared("farcall.c", STUB);
        std::fs::create_dir(directory.0.join("module")).unwrap();
        Site(directory)
    }

    fn source(&self) -> PathBuf {
        self.0.0.join("module")
    }

    fn options(&self) -> BuildOptions {
        BuildOptions::new(self.0.0.join("cache"), self.0.0.clone(), self.source())
    }

    fn build(&self, module: &Module) -> Result<Built, Error> {
        build(module, &self.options())
    }

    /// Compiles an object into the module's directory.
    fn object(&self, name: &str, source: &str) {
        let object = format!("module/{}.o", name.split('.').next().unwrap());
        // Not position independent, as the archives of old makefiles are.
        self.0.compile(name, source, &object, &["-c", "-fno-pie"]);
    }
}

/// The four numbers after a call of routine number `index`.
fn call_built(built: &Built, module: &Module, index: usize) -> String {
    run(Command::new(&built.path).arg(entry_name(module, index).unwrap())).trim().to_string()
}

/// The parameters that the stub passes.
fn vector() -> Vec<Parameter> {
    vec![scalar("n", Mode::In, ElementType::Int32), array("x", Mode::InOut, ElementType::Float64)]
}

fn c_body(name: &str, text: &str) -> Routine {
    body(Language::C, name, vector(), text, 1)
}

#[test]
fn bodies_keep_to_themselves_and_rely_on_libc() {
    let site = Site::new("bodies");
    let mut module = module(vec![
        // A routine called `sleep` calls libc's; nothing is included by hand.
        c_body(
            "sleep",
            " int i; sleep(0); assert(n == 4); \
             for (i = 0; i < n; i++) x[i] = sqrt(x[i] * x[i]) + 1; ",
        ),
        // Statics and local prototypes of one body are nobody else's.
        c_body(
            "one",
            " static int calls; extern void callback_func(int); x[0] = ++calls; // the end",
        ),
        c_body(
            "two",
            " static int calls = 10; extern double callback_func(double, char *); x[0] = ++calls; ",
        ),
        // Complex types and the other parameters are there.
        body(
            Language::C,
            "types",
            vec![
                vector()[0].clone(),
                vector()[1].clone(),
                scalar("z", Mode::Work, ElementType::Complex128),
            ],
            " scomplex s = { 1, 2 }; dcomplex d; d.r = s.i; d.i = s.r; x[0] = d.r; x[1] = \
                sizeof(z); (void)n; ",
            1,
        ),
    ]);
    module.globals = vec![(
        "static double half(double v) { return v / 2; }\nint shared_count; int main() { return 7; \
            }"
        .into(),
        "m.idl".into(),
        3,
    )];
    module.routines.push(c_body("globals", " shared_count += 5; x[0] = half(shared_count); "));
    module.routines.push(c_body("shares", " shared_count += 1; x[0] = shared_count; "));
    let built = site.build(&module).unwrap();
    assert!(!built.reused);
    assert_eq!(call_built(&built, &module, 0), "2 3 4 5");
    assert_eq!(call_built(&built, &module, 1), "1 2 3 4");
    assert_eq!(call_built(&built, &module, 2), "11 2 3 4");
    assert_eq!(call_built(&built, &module, 3), "2 16 3 4");
    assert_eq!(call_built(&built, &module, 4), "2.5 2 3 4");
    assert_eq!(call_built(&built, &module, 5), "1 2 3 4");
}

#[test]
fn cpp_bodies_and_functions_behind_globals() {
    let site = Site::new("cpp");
    let mut module = module(vec![
        body(
            Language::Cpp,
            "sum",
            vector(),
            " std::vector<double> v(x, x + n); x[0] = total(v); ",
            1,
        ),
        routine(Language::Cpp, "twice", vector(), None),
        // Static in Globals: no linker sees it, the table does.
        routine(Language::C, "hidden", vector(), None),
    ]);
    module.globals = vec![(
        "#ifdef __cplusplus\n#include <numeric>\n#include <vector>\n\
         static double total(const std::vector<double> &v) { return std::accumulate(v.begin(), \
         v.end(), 0.0); }\nnamespace { struct Twice { void operator()(double &y) const { y *= 2; \
         } }; }\nvoid twice(int n, double *x) { Twice f; for (int i = 0; i < n; i++) f(x[i]); }\n\
         #else\nstatic void hidden(int n, double *x) { x[n - 1] = -1; }\n#endif\n"
            .into(),
        "m.idl".into(),
        1,
    )];
    let built = site.build(&module).unwrap();
    assert_eq!(call_built(&built, &module, 0), "10 2 3 4");
    assert_eq!(call_built(&built, &module, 1), "2 4 6 8");
    assert_eq!(call_built(&built, &module, 2), "1 2 3 -1");
}

#[test]
fn objects_archives_and_libraries() {
    let site = Site::new("objects");
    site.object("plain.c", "void increase(int n, double *x) { while (n--) x[n] += 1; }");
    site.object("inner.c", "double factor(void) { return 3; }");
    site.object(
        "outer.c",
        "double factor(void); void scale(int n, double *x) { while (n--) x[n] *= factor(); }",
    );
    for (archive, object) in [("libouter.a", "outer.o"), ("libinner.a", "inner.o")] {
        run(Command::new("ar").args(["rcs", archive, object]).current_dir(site.source()));
    }
    let shared = "void negate(int n, double *x) { while (n--) x[n] = -x[n]; }";
    let options = ["-shared", "-fPIC", "-Wl,-soname,libnegate.so.2"];
    site.0.compile("negate.c", shared, "module/libnegate.so.2", &options);
    let mut calls = routine(Language::C, "increase", vector(), None);
    calls.implementation.required = vec!["plain.o".into()];
    let mut again = c_body("again", " extern void increase(int, double *); increase(n, x); ");
    again.implementation.required = vec!["plain.o".into()];
    let scale = routine(Language::C, "scale", vector(), None);
    let negate = routine(Language::C, "negate", vector(), None);
    let mut module = module(vec![calls, again, scale, negate]);
    // The archive that gives stands before the one that needs it.
    module.libraries = vec!["libinner.a -L. -louter".into(), "libnegate.so.2 -lm".into()];
    let built = site.build(&module).unwrap();
    assert_eq!(call_built(&built, &module, 0), "2 3 4 5");
    assert_eq!(call_built(&built, &module, 1), "2 3 4 5");
    assert_eq!(call_built(&built, &module, 2), "3 6 9 12");
    assert_eq!(call_built(&built, &module, 3), "-1 -2 -3 -4");
    let names = run(&mut Command::new(&built.path));
    assert_eq!(
        names.lines().collect::<Vec<_>>(),
        ["increase", "farcall_body_1", "scale", "negate"]
    );
}

#[test]
fn fortran_objects_bring_their_run_time() {
    if !has_fortran() {
        return;
    }
    let site = Site::new("fortran");
    let source = "subroutine fill(n, x)\n integer, value :: n\n real(8) :: x(n)\n character(20) \
        :: line\nwrite(line, '(i4)') n\n read(line, *) x(1)\n x(1) = x(1) * 10\n end subroutine\n";
    site.object("fill.f90", source);
    let mut fill = routine(Language::C, "fill_", vector(), None);
    fill.implementation.required = vec!["fill.o".into()];
    let module = module(vec![fill]);
    assert_eq!(call_built(&site.build(&module).unwrap(), &module, 0), "40 2 3 4");
}

#[test]
fn options_reach_compiler_and_linker() {
    let site = Site::new("options");
    let mut module = module(vec![c_body("f", " x[0] = VALUE; x[1] = sin(OTHER); ")]);
    module.compile_options =
        vec!["-DVALUE='7 + 1' -std=gnu89".into(), "CFLAGS = -DOTHER=0".into(), "LDLIBS=-lm".into()];
    assert_eq!(call_built(&site.build(&module).unwrap(), &module, 0), "8 0 3 4");
    module.compile_options.push("CC = icc".into());
    let error = site.build(&module).unwrap_err();
    assert!(error.to_string().contains("\"CC\""), "{error}");
}

#[test]
fn a_second_build_finds_the_first_until_something_changes() {
    let site = Site::new("cache");
    std::fs::write(site.source().join("own.h"), "#define FIRST 5\n").unwrap();
    site.object("plain.c", "double plain(void) { return 1; }");
    let text = "\n#include \"own.h\"\n extern double plain(void); x[0] = FIRST; x[1] = plain(); ";
    let mut module = module(vec![c_body("f", text)]);
    module.libraries = vec!["plain.o".into()];
    let first = site.build(&module).unwrap();
    let begin = std::time::Instant::now();
    let second = site.build(&module).unwrap();
    assert!(second.reused && second.path == first.path);
    assert!(begin.elapsed().as_millis() < 100, "{:?}", begin.elapsed());
    assert_eq!(call_built(&second, &module, 0), "5 1 3 4");
    // A header that only the compiler knows of.
    std::fs::write(site.source().join("own.h"), "#define FIRST 6\n").unwrap();
    let third = site.build(&module).unwrap();
    assert!(!third.reused);
    assert_eq!(call_built(&third, &module, 0), "6 1 3 4");
    // And back: the first executable is still there.
    std::fs::write(site.source().join("own.h"), "#define FIRST 5\n").unwrap();
    assert_eq!(
        site.build(&module).unwrap(),
        Built { path: first.path, reused: true, warnings: String::new() }
    );
    // An object, an option.
    site.object("plain.c", "double plain(void) { return 2; }");
    assert_eq!(call_built(&site.build(&module).unwrap(), &module, 0), "5 2 3 4");
    module.compile_options = vec!["-DUNUSED".into()];
    assert!(!site.build(&module).unwrap().reused);
    // Nothing is left of the builds themselves.
    let left = std::fs::read_dir(site.0.0.join("cache")).unwrap().flatten();
    let building = left.filter(|item| item.file_name().to_string_lossy().starts_with("building-"));
    assert_eq!(building.count(), 0);
}

#[test]
fn builds_at_once_agree() {
    let site = Site::new("at-once");
    let module = module(vec![c_body("f", " x[0] = 9; ")]);
    let barrier = Barrier::new(4);
    let paths = std::thread::scope(|scope| {
        let builder = || {
            barrier.wait();
            site.build(&module).unwrap().path
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(builder)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(paths.iter().all(|path| path == &paths[0]));
    let built = Built { path: paths[0].clone(), reused: true, warnings: String::new() };
    assert_eq!(call_built(&built, &module, 0), "9 2 3 4");
}

#[test]
fn errors_point_into_the_idl_file() {
    let site = Site::new("errors");
    let module =
        module(vec![body(Language::C, "f", vector(), "\n  x[0] = 1;\n  undeclared = n;\n", 41)]);
    let error = site.build(&module).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidSource);
    let text = error.to_string();
    // The body begins behind the brace of line 41; the mistake is in its third line.
    assert!(text.contains("module.idl:43"), "{text}");
    assert!(text.contains("undeclared") && text.contains("cc -O2"), "{text}");
    // Warnings of a build that succeeds are kept for the one who serves it.
    let module =
        crate::fixture::module(vec![c_body("g", " int i = strlen(n); x[0] = i; (void)x; ")]);
    let warned = site.build(&module).unwrap();
    assert!(warned.warnings.contains("module.idl:1"), "{}", warned.warnings);
}

#[test]
fn says_what_is_missing() {
    let site = Site::new("missing");
    let refused = |change: &dyn Fn(&mut Module)| {
        let mut module = module(vec![c_body("f", " x[0] = 1; ")]);
        change(&mut module);
        let error = site.build(&module).unwrap_err();
        (error.kind(), error.to_string())
    };
    let (kind, text) =
        refused(&|m| m.routines[0].implementation.required = vec!["absent.o".into()]);
    assert_eq!(kind, ErrorKind::Unavailable);
    assert!(text.contains("absent.o") && text.contains("IDL file's directory"), "{text}");
    let (_, text) = refused(&|m| m.libraries = vec!["-lnothing_of_this_name".into()]);
    assert!(
        text.contains("cannot find -lnothing_of_this_name") && text.contains("development package"),
        "{text}"
    );
    let (_, text) = refused(&|m| m.routines.push(routine(Language::C, "not_there", vec![], None)));
    assert!(text.contains("not_there") && text.contains("`Required`"), "{text}");
    let (kind, text) = refused(&|m| m.compiler = Some("no-such-compiler-7".into()));
    assert_eq!(kind, ErrorKind::Unavailable);
    assert!(text.contains("no-such-compiler-7") && text.contains("apt install gcc"), "{text}");
    let (_, text) =
        refused(&|m| m.globals = vec![("#include \"nowhere.h\"".into(), "m.idl".into(), 2)]);
    assert!(text.contains("m.idl:2") && text.contains("-I"), "{text}");
    // In the words of a compiler that has no room for what it writes.
    let full = "#error cannot write x.s: No space left on device";
    let (_, text) = refused(&|m| m.globals = vec![(full.into(), "m.idl".into(), 2)]);
    assert!(text.contains("free disk space"), "{text}");
    let mut files = callback("g");
    files.shape =
        Shape::Callback { parameters: vec![scalar("f", Mode::In, ElementType::Filename)] };
    let (_, text) = refused(&|m| m.routines[0].interface.parameters.push(files.clone()));
    assert!(text.contains("cannot have files"), "{text}");
    // Two objects that define one symbol stay a mistake: only copies of Globals may meet.
    site.object("first.c", "int twin(void) { return 1; }");
    site.object("second.c", "int twin(void) { return 2; }");
    let (_, text) = refused(&|m| m.libraries = vec!["first.o second.o".into()]);
    assert!(text.contains("multiple definition"), "{text}");
}

#[test]
fn refuses_a_cache_that_others_can_write_to() {
    use std::os::unix::fs::PermissionsExt;
    let site = Site::new("unsafe-cache");
    let cache = site.0.0.join("cache");
    std::fs::create_dir(&cache).unwrap();
    std::fs::set_permissions(&cache, std::fs::Permissions::from_mode(0o777)).unwrap();
    // Hostile: whoever can put a file there would have us run it.
    let error = site.build(&module(vec![c_body("f", "")])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
}

#[test]
fn a_compiler_that_never_ends_is_ended() {
    use std::os::unix::fs::PermissionsExt;
    let site = Site::new("endless");
    let compiler = site.0.write("slow", "#!/bin/sh\nsleep 1000 & wait\n");
    std::fs::set_permissions(&compiler, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut module = module(vec![c_body("f", "")]);
    module.compiler = Some(compiler.display().to_string());
    let options =
        BuildOptions { time_max: std::time::Duration::from_millis(300), ..site.options() };
    let begin = std::time::Instant::now();
    assert_eq!(build(&module, &options).unwrap_err().kind(), ErrorKind::TimedOut);
    // Its own child held the pipes open; the kill must have reached it too.
    assert!(begin.elapsed().as_secs() < 10);
    assert!(Path::new(&options.directory).exists());
}
