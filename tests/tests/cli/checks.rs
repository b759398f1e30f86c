//! `farcall check`.

use crate::cli::Shell;

const WRONG: &str =
    "Module x;\nDefine f(IN int n, IN doble x[n], OUT double y[m]) Calls \"C\" f(n, x, y);\n";

const MISTAKES: &str = "\
error: unknown type 'doble'
 --> x.idl:2:23
  |
2 | Define f(IN int n, IN doble x[n], OUT double y[m]) Calls \"C\" f(n, x, y);
  |                       ^^^^^
  = help: did you mean 'double'?

error: there is no parameter 'm'
 --> x.idl:2:48
  |
2 | Define f(IN int n, IN doble x[n], OUT double y[m]) Calls \"C\" f(n, x, y);
  |                                                ^

2 errors
";

const MISTAKES_JSON: &str = r#"[
  {
    "column": 23,
    "file": "x.idl",
    "help": "did you mean 'double'?",
    "length": 5,
    "line": 2,
    "message": "unknown type 'doble'"
  },
  {
    "column": 48,
    "file": "x.idl",
    "help": null,
    "length": 1,
    "line": 2,
    "message": "there is no parameter 'm'"
  }
]
"#;

#[test]
fn all_mistakes_come_at_once() {
    let shell = Shell::new();
    shell.folder.write("x.idl", WRONG);
    let said = shell.run(&["check", "x.idl"]);
    assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (2, "", MISTAKES));
    let said = shell.run(&["check", "--json", "x.idl"]);
    assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (2, MISTAKES_JSON, ""));
    // The same mistakes, wherever the file is used.
    for arguments in [["serve", "x.idl"].as_slice(), &["ls", "--publish", "x.idl"]] {
        let said = shell.run(arguments);
        assert_eq!((said.code, said.err.as_str()), (2, MISTAKES), "{arguments:?}");
    }
}

#[test]
fn good_files_are_summarised_without_a_compiler() {
    let shell = Shell::new();
    shell.folder.write(
        "y.idl",
        "Define f(IN int n, IN double x[n], OUT double y[n]) Calls \"C\" f(n, x, y);\n",
    );
    let checked = shell
        .command(&["check", "y.idl"])
        .env("PATH", "/nonexistent")
        .env_remove("CC")
        .output()
        .unwrap();
    let expected = "y.idl: module y, no mistakes\n  y/f  f(x, *, n=None) -> y\n";
    assert_eq!(String::from_utf8(checked.stdout).unwrap(), expected);
    assert_eq!(shell.good(&["check", "--json", "y.idl"]), "[]\n");
    // A directive needs the preprocessor, and says so where there is none.
    shell.folder.write("z.idl", "#define N 3\nDefine f(OUT double y[N]) Calls \"C\" f(y);\n");
    let checked = shell
        .command(&["check", "z.idl"])
        .env("PATH", "/nonexistent")
        .env_remove("CC")
        .output()
        .unwrap();
    assert_eq!(checked.status.code(), Some(3));
    assert!(!checked.stderr.is_empty());
    assert!(shell.good(&["check", "z.idl"]).contains("z/f"));
}

#[test]
fn a_missing_file_hides_no_mistakes() {
    let shell = Shell::new();
    shell.folder.write("x.idl", WRONG);
    shell.bad(&["check", "nothing.idl"], 3, &["nothing.idl"]);
    shell.bad(&["check", "nothing.idl", "x.idl"], 2, &["nothing.idl", "doble"]);
    shell.bad(&["check", "x.idl", "nothing.idl"], 2, &["nothing.idl", "doble"]);
    let said = shell.run(&["check", "--json", "nothing.idl"]);
    assert!(said.out.contains("\"line\": 0"), "{}", said.out);
    // Bytes that are no text, and no file named at all.
    std::fs::write(shell.path("binary.idl"), [0xff, 0xfe]).unwrap();
    shell.bad(&["check", "binary.idl"], 2, &["UTF-8"]);
    shell.bad(&["check"], 2, &["FILE.idl"]);
}

/// A file as its author typed it, and as `farcall fmt` lays it out.
const TYPED: &str =
    "Module t;\nDefine f( IN double x,OUT double y )Calls \"C\" y=f( x ); // twice x\n";
const LAID_OUT: &str =
    "Module t;\nDefine f(IN double x, OUT double y) Calls \"C\" y = f(x); // twice x\n";

#[test]
fn files_are_laid_out_in_place() {
    let shell = Shell::new();
    shell.folder.write("t.idl", TYPED);
    shell.folder.write("good.idl", LAID_OUT);
    shell.bad(&["fmt", "--check", "good.idl", "t.idl"], 1, &["t.idl needs formatting"]);
    assert_eq!(
        std::fs::read_to_string(shell.path("t.idl")).unwrap(),
        TYPED,
        "--check changes nothing"
    );
    assert_eq!(shell.good(&["fmt", "t.idl", "good.idl"]), "");
    assert_eq!(std::fs::read_to_string(shell.path("t.idl")).unwrap(), LAID_OUT);
    assert_eq!(shell.good(&["fmt", "--check", "t.idl"]), "");
}

#[test]
fn a_file_with_mistakes_stays_as_it_is() {
    let shell = Shell::new();
    shell.folder.write("x.idl", WRONG);
    shell.folder.write("t.idl", TYPED);
    shell.bad(&["fmt", "x.idl", "t.idl"], 2, &["unknown type 'doble'"]);
    assert_eq!(std::fs::read_to_string(shell.path("x.idl")).unwrap(), WRONG);
    assert_eq!(
        std::fs::read_to_string(shell.path("t.idl")).unwrap(),
        LAID_OUT,
        "other files are laid out"
    );
    // Bytes that are no text would be lost.
    std::fs::write(shell.path("latin.idl"), b"Module t; /* \xe9 */\n").unwrap();
    shell.bad(&["fmt", "latin.idl"], 2, &["not UTF-8", "iconv"]);
    shell.bad(&["fmt", "nothing.idl"], 3, &["nothing.idl"]);
}

#[test]
fn standard_input_is_laid_out_on_standard_output() {
    let shell = Shell::new();
    shell.folder.write("t.idl", TYPED);
    let input = std::fs::File::open(shell.path("t.idl")).unwrap();
    let said = shell.command(&["fmt", "-"]).stdin(input).output().unwrap();
    assert_eq!(
        (said.status.code(), String::from_utf8(said.stdout).unwrap().as_str()),
        (Some(0), LAID_OUT)
    );
}
