//! `farcall call`: arguments in, results out.

use std::process::Stdio;

use farcall_tests::{battery, inline};

use crate::cli::{Shell, said};

const SOLVED: &str = "\
a: double[2][2]
   4.0   1.0
  0.25  2.75
ipiv: int[2]
  1  2
b: double[2]
  0.09090909090909091  0.6363636363636364
info = 0
";

const SOLVED_JSON: &str = r#"{
  "a": [[4.0, 1.0], [0.25, 2.75]],
  "ipiv": [1, 2],
  "b": [0.09090909090909091, 0.6363636363636364],
  "info": 0
}
"#;

/// The results alone of what `--json` prints: behind them stands where the call ran.
fn results(json: &str) -> String {
    let (results, server) = json.split_once(",\n  \"server\": \"unix:").expect("it says where");
    assert!(server.ends_with("\"\n}\n"), "{json}");
    format!("{results}\n}}\n")
}

#[test]
fn inline_arrays_are_solved_and_printed() {
    let shell = Shell::new();
    assert_eq!(shell.good(&["call", "dgesv", "[[4,1],[1,3]]", "[1,2]"]), SOLVED);
    assert_eq!(
        results(&shell.good(&["call", "lapack/dgesv", "--json", "b=[1,2]", "[[4,1],[1,3]]"])),
        SOLVED_JSON
    );
    assert_eq!(shell.good(&["call", "ddot", "[1,2,3]", "[4,5,6]"]), "dot = 32.0\n");
    assert_eq!(shell.good(&["call", "zdotu", "[1+2j, 2]", "[1j, 3]"]), "dot = 4.0+1.0j\n");
    assert_eq!(
        results(&shell.good(&["call", "zdotu", "[1+2j, 2]", "[1j, 3]", "--json"])),
        "{\n  \"dot\": [4.0, 1.0]\n}\n"
    );
    assert_eq!(
        shell.good(&["call", "daxpy", "[1,2]", "[0,-0.0]", "alpha=-1.5"]),
        "y: double[2]\n  -1.5  -3.0\n"
    );
    // A result that the routine does not refer to under these options.
    let values = shell.good(&["call", "dgesdd", "[[3,0],[0,4]]", "jobz=N"]);
    assert!(values.contains("s: double[2]\n  4.0  3.0\nu: not computed\n"), "{values}");
}

#[test]
fn files_go_in_and_out() {
    let shell = Shell::new();
    shell.folder.write(
        "a.mtx",
        "%%MatrixMarket matrix coordinate real symmetric\n% two by two\n2 2 3\n1 \
            1 4\n2 1 1\n2 2 3\n",
    );
    shell.folder.write("b.mtx", "%%MatrixMarket matrix array integer general\n2 1\n1\n2\n");
    let out = ["--out", "b=x.npy", "--out", "a=lu.npy", "--out", "ipiv=p.mtx"];
    let text = shell.good(&[&["call", "dgesv", "@a.mtx", "@b.mtx"], &out[..]].concat());
    assert!(
        text.starts_with(
            "a: double[2][2], in lu.npy\nipiv: int[2], in p.mtx\nb: double[2][1], in x.npy\n"
        ),
        "{text}"
    );
    let file = std::fs::read(shell.path("lu.npy")).unwrap();
    let header = String::from_utf8_lossy(&file[10..128]);
    assert!(
        header.starts_with("{'descr': '<f8', 'fortran_order': True, 'shape': (2, 2), }"),
        "{header}"
    );
    assert_eq!(
        file[128..],
        [4.0_f64, 0.25, 1.0, 2.75].map(f64::to_le_bytes).concat(),
        "column by column"
    );
    let pivots = std::fs::read_to_string(shell.path("p.mtx")).unwrap();
    assert_eq!(pivots, "%%MatrixMarket matrix array integer general\n2 1\n1\n2\n");
    // What was written is an argument again, and a result may go over its own argument.
    let solved = ["call", "dgetrs", "@lu.npy", "@p.mtx", "[1,2]", "--out", "b=x.npy", "--json"];
    assert_eq!(
        results(&shell.good(&solved)),
        "{\n  \"b\": {\"file\": \"x.npy\"},\n  \"info\": 0\n}\n"
    );
    let input = std::fs::File::open(shell.path("x.npy")).unwrap();
    let said = said(
        shell
            .command(&["call", "ddot", "@-", "[11,0]"])
            .stdin(Stdio::from(input))
            .output()
            .unwrap(),
    );
    assert!(said.out.starts_with("dot = 1.0"), "{}{}", said.out, said.err);
    let left = std::fs::read_dir(&shell.folder.0).unwrap().flatten();
    assert!(
        !left.into_iter().any(|entry| entry.file_name().to_string_lossy().contains("partial")),
        "nothing is left over"
    );
}

#[test]
fn long_results_show_their_corners() {
    let shell = Shell::new();
    let mut text = "%%MatrixMarket matrix coordinate integer general\n20 20 20\n".to_owned();
    (1..=20).for_each(|row| text.push_str(&format!("{row} {row} {row}\n")));
    shell.folder.write("d.mtx", &text);
    let said = shell.good(&["call", "dgetrf", "@d.mtx"]);
    let expected = "\
a: double[20][20], the corners
  1.000000       0.0       0.0  …        0.0        0.0        0.0
       0.0  2.000000       0.0  …        0.0        0.0        0.0
       0.0       0.0  3.000000  …        0.0        0.0        0.0
         …
       0.0       0.0       0.0  …  18.000000        0.0        0.0
       0.0       0.0       0.0  …        0.0  19.000000        0.0
       0.0       0.0       0.0  …        0.0        0.0  20.000000
";
    assert!(said.starts_with(expected), "{said}");
    let json = shell.good(&["call", "dgetrf", "@d.mtx", "--json"]);
    assert_eq!(json.matches("20.0").count(), 1, "JSON is whole");
    assert_eq!(json.matches("0.0").count(), 382, "with every zero (10.0 and 20.0 end in one too)");
}

#[test]
fn every_kind_of_value_comes_and_goes() {
    let shell = Shell::new();
    let call =
        |arguments: &[&str]| shell.good_of(&battery(false), &[&["call"], arguments].concat());
    assert_eq!(call(&["f_float", "0.1"]), "r = 0.2\n", "the shortest text that is this float");
    assert_eq!(call(&["f_int", "-7"]), "r = -14\n", "a negative number is no option");
    assert_eq!(call(&["f_scomplex", "x=-1.5+2j"]), "r = -2.0-1.5j\n");
    assert_eq!(
        call(&["greet", "name=a=b"]),
        "greeting = \"hello, a=b\"\nlength = 3\n",
        "text is taken as it is"
    );
    assert_eq!(
        results(&call(&["greet", "", "--json"])),
        "{\n  \"greeting\": null,\n  \"length\": 0\n}\n"
    );
    assert_eq!(
        call(&["defaults", "n=2"]),
        "y: double[2]\n  0.0  2.5\nd = 'q'\n",
        "all arguments have defaults"
    );
    assert_eq!(
        call(&["swap_char", "s", "abc", "xyz", "--json"]).matches("\"abc\"").count(),
        1,
        "characters are text"
    );
    assert_eq!(call(&["touch", "[]"]), "x: double[0]\n");
    assert_eq!(
        call(&["transpose", "[[1,2],[3,4],[5,6]]"]),
        "b: double[2][3]\n  1.0  3.0  5.0\n  2.0  4.0  6.0\n"
    );
    let odd = call(&["f_double", "nan", "--json"]);
    assert_eq!(results(&odd), "{\n  \"r\": \"NaN\"\n}\n", "JSON has no such number");
    let unsigned = call(&["swap_uint64", "1", "[18446744073709551615]", "[0]"]);
    assert!(unsigned.contains("18446744073709551615"), "{unsigned}");
}

#[test]
fn files_are_arguments_and_results() {
    let shell = Shell::new();
    let [given, log] =
        [("given", "numbers"), ("log", "begun")].map(|(name, text)| shell.folder.write(name, text));
    let call = |more: &[&str]| {
        shell.good_of(
            &battery(false),
            &[&["call", "files", "given", "log", "--json"], more].concat(),
        )
    };
    let said = call(&["--out", "made=made"]);
    assert!(
        said.contains("\"made\": {\"file\": \"made\"}") && said.contains("\"size\": 7"),
        "{said}"
    );
    let read = |name: &str| std::fs::read_to_string(shell.path(name)).unwrap();
    assert_eq!([read("given"), read("log"), read("made")], ["numbers", "begun+", "numbers!"]);
    // Without a name for it, the content is shown.
    assert!(call(&[]).contains("numbers!"));
    let publish = ["--publish", battery(false).to_str().unwrap()].map(str::to_owned);
    let bad = |arguments: &[&str], code, reason| {
        shell.bad(
            &[&["call", "files"], arguments, &[&publish[0], &publish[1]]].concat(),
            code,
            &[reason],
        );
    };
    bad(&["missing", "log"], 3, "check that it exists");
    bad(&["given", "log", "--out", "changed=x"], 2, "replaced in place");
    bad(&["given", "log", "--out", "made=x", "--out", "made=y"], 2, "--out made was passed twice");
    bad(&["given", "log", "--out", "made=./log"], 2, "another result has the same file");
    assert_eq!(
        [std::fs::read(given).unwrap().len(), std::fs::read(log).unwrap().len()],
        [7, 7],
        "as the calls left them"
    );
}

#[test]
fn code_in_the_interface_file_is_compiled_and_called() {
    let shell = Shell::new();
    assert_eq!(shell.good_of(&inline(), &["call", "norm2", "[3, 4]"]), "r = 25.0\n");
}
