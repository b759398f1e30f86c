//! The preprocessor over IDL text: macros, includes, held includes, positions.
#![allow(clippy::unwrap_used)]

use super::*;

fn preprocessed(name: &str, files: &[(&str, &str)]) -> Result<String> {
    let directory = std::env::temp_dir().join(format!("farcall-cpp-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    files.iter().for_each(|(name, text)| std::fs::write(directory.join(name), text).unwrap());
    let result = preprocess(&directory.join(files[0].0));
    std::fs::remove_dir_all(directory).unwrap();
    result
}

#[test]
fn expands_macros_of_included_files() {
    let header = "#ifdef NINFG2\n#define OPTIONS Backend \"MPI\"\n#endif\nModule scalapack;\n";
    let idl = "#include \"g.h\"\n#include <g.h>\nDefine f(IN int n, IN char unix) OPTIONS\n{ \
        x('N', \"#\"); }\n";
    let text = preprocessed("macros", &[("m.idl", idl), ("g.h", header)]).unwrap();
    assert!(text.contains("Define f(IN int n, IN char unix) Backend \"MPI\"\n"), "{text}");
    assert_eq!(text.matches("Module scalapack;").count(), 2);
    // A mark tells that line 3 of the IDL file follows.
    let mark =
        text.lines().filter(|line| line.starts_with("# 3 ") && line.contains("m.idl")).count();
    assert_eq!(mark, 1, "{text}");
}

#[test]
fn holds_includes_of_raw_code() {
    let idl = "#define N 3\nGlobals {\n  # include <math.h>\n#include \"own.h\" /* why */\n#if N \
               > 2\n int three;\n#endif\n}\nDefine f(IN int n) { /* } */ char c = '}'; \n#include \
               <stdio.h>\n}\n";
    let text = preprocessed("raw", &[("m.idl", idl)]).unwrap();
    for kept in [
        "  # include <math.h>\n",
        "#include \"own.h\" /* why */\n",
        " int three;",
        "#include <stdio.h>\n",
    ] {
        assert!(text.contains(kept), "{kept}: {text}");
    }
    assert!(!text.contains("printf") && !text.contains(HELD));
}

#[test]
fn errors_are_the_preprocessors_own() {
    let error = preprocessed("absent", &[("m.idl", "\n\n#include \"absent.h\"\n")]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidSource);
    assert!(error.to_string().contains("m.idl:3"), "{error}");
    let error = preprocess(Path::new("/no/such/file.idl")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[test]
fn reads_plain_files_only() {
    // A device that never ends, a named pipe that nobody writes to, and a directory.
    let pipe = std::env::temp_dir().join(format!("farcall-cpp-pipe-{}", std::process::id()));
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    for file in [Path::new("/dev/zero"), &pipe, Path::new("/")] {
        let error = preprocess(file).unwrap_err();
        assert!(error.to_string().contains("not a regular file"), "{error}");
    }
    std::fs::remove_file(pipe).unwrap();
    let long = " ".repeat(TEXT_BYTES_MAX + 1);
    assert_eq!(
        preprocessed("long", &[("m.idl", &long)]).unwrap_err().kind(),
        ErrorKind::LimitExceeded
    );
}

#[test]
fn bounds_the_memory_of_the_preprocessor() {
    // Hostile: a header that never ends. It runs out of its own memory, long before the machine's
    // and its time.
    let error = preprocessed("zero", &[("m.idl", "#include \"/dev/zero\"\n")]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidSource, "{error}");
    assert!(error.to_string().contains("memory"), "{error}");
}

#[test]
fn bounds_what_macros_can_make() {
    // Hostile: twenty lines that expand to a gigabyte. The pipe is closed long before. Of long
    // words, so that a preprocessor on a busy machine comes there in its time.
    let mut idl = format!("#define A0 {}\n", "x".repeat(2000));
    (1..20).for_each(|i| idl += &format!("#define A{i} A{0} A{0}\n", i - 1));
    idl += "A19\n";
    let error = preprocessed("bomb", &[("m.idl", &idl)]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
    // A file that includes itself: the preprocessor's own limit.
    let error = preprocessed("self", &[("m.idl", "#include \"m.idl\"\n")]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidSource);
}

#[test]
fn macros_of_held_headers_count_where_they_are_read() {
    let directory = std::env::temp_dir().join(format!("farcall-cpp-held-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("own.h"), "#define SIZE 3\nstatic int own;\n").unwrap();
    let idl =
        "Globals {\n#include <stdio.h>\n#include \"own.h\"\n}\nDefine f(IN int a[SIZE]) { }\n";
    let file = directory.join("m.idl");
    let with = |reads_held| {
        let preprocessor = Preprocessor { reads_held, ..Preprocessor::default() };
        preprocessor.preprocess(&file, &directory, idl).unwrap()
    };
    let left = with(HeldHeaders::Left);
    let read = with(HeldHeaders::Read);
    std::fs::remove_dir_all(directory).unwrap();
    assert!(left.contains("a[SIZE]") && read.contains("a[3]"), "{left}\n{read}");
    for text in [&left, &read] {
        assert!(text.contains("#include <stdio.h>\n#include \"own.h\"\n"), "{text}");
        assert!(!text.contains("static int own;") && !text.contains("__farcall"), "{text}");
    }
    // What follows a header is where it was.
    let mistake = farcall_idl::compile("m.idl", &read.replace("a[3]", "a[k]")).unwrap_err();
    assert_eq!(mistake.list()[0].line, 5, "{read}");
}
