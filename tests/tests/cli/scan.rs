//! `farcall scan` up to calls: options of compilers, names of files, and libraries that keep data.

use std::process::Command;

use crate::cli::{Shell, said};

const SUM: &str = "      SUBROUTINE SUM(N, X, S)\n      DIMENSION X(N)\n      S = 0\n      \
                   DO 10 I = 1, N\n   10 S = S + X(I)/3\n      END\n";

fn has_gfortran() -> bool {
    Command::new("gfortran").arg("--version").output().is_ok_and(|run| run.status.success())
}

#[test]
fn kinds_follow_options_of_the_compiler() {
    if !has_gfortran() {
        return;
    }
    for (options, sum) in [
        ("", "1.33333"),
        ("-fdefault-real-8", "1.3333333333333333"),
        ("-fdefault-integer-8", "1.33333"),
        ("-fdefault-real-8 -fdefault-integer-8", "1.3333333333333333"),
    ] {
        let shell = Shell::new();
        shell.folder.write("sum.f", SUM);
        let mut scan = shell.command(&["scan", "sum.f", "--build"]);
        let run = said(scan.env("FC", format!("gfortran {options}")).output().unwrap());
        assert_eq!(run.code, 0, "{options}: {}", run.err);
        let out = shell.good_of(&shell.path("sum.idl"), &["call", "sum", "[1, 3]"]);
        assert!(out.contains(sum), "{options}: {out}");
    }
}

#[test]
fn options_that_are_not_followed_are_named() {
    let shell = Shell::new();
    shell.folder.write("sum.f", SUM);
    shell.folder.write("sum.h", "double sum(double x);\n");
    for (variable, option, file) in
        [("FC", "-freal-4-real-8", "sum.f"), ("CC", "-fpack-struct=1", "sum.h")]
    {
        let mut scan = shell.command(&["scan", file]);
        let run = said(scan.env(variable, format!("cc {option}")).output().unwrap());
        let is_named = run.err.contains(option) && run.err.contains(variable);
        assert!(run.code != 0 && is_named, "{}", run.err);
        assert!(!shell.path("sum.idl").exists());
    }
}

#[test]
fn names_with_blanks_and_quotes_are_compiled_and_called() {
    if !has_gfortran() {
        return;
    }
    for name in ["w w", "it's", "a \"b\" $c", "2 d"] {
        let shell = Shell::new();
        let folder = shell.path("my old 'codes'");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join(format!("{name}.f")), SUM).unwrap();
        let run = said(
            shell
                .command(&["scan", &format!("{name}.f"), "--build"])
                .current_dir(&folder)
                .output()
                .unwrap(),
        );
        assert_eq!(run.code, 0, "{name}: {}{}", run.out, run.err);
        let interface = folder.join(format!("{name}.idl"));
        let out = shell.good_of(&interface, &["call", "sum", "[1, 3]"]);
        assert!(out.contains("1.33333"), "{name}: {out}");
        // The command that is shown can be run.
        let shown = run.out.split("compiling: ").nth(1).unwrap().trim();
        std::fs::remove_file(folder.join(format!("lib{name}.so"))).unwrap();
        let status = Command::new("sh").args(["-c", shown]).current_dir(&folder).status().unwrap();
        assert!(status.success() && folder.join(format!("lib{name}.so")).exists(), "{shown}");
    }
}

#[test]
fn a_library_that_keeps_data_is_drafted_for_one_process() {
    let shell = Shell::new();
    shell.folder.write("count.h", "int count(void);\n");
    shell.folder.write("count.c", "static int n; int count(void) { return ++n; }\n");
    let before = shell.run(&["scan", "count.h"]);
    assert!(before.code == 0 && !before.err.contains("keeps data"), "{}", before.err);
    let cc = ["-shared", "-fPIC", "-o", "libcount.so", "count.c"];
    let built = Command::new("cc").args(cc).current_dir(&shell.folder.0).status().unwrap();
    assert!(built.success());
    let run = shell.run(&["scan", "count.h", "--force"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.contains("count.h:1:1: note: the library keeps data between calls (n)"));
    let text = std::fs::read_to_string(shell.path("count.idl")).unwrap();
    assert!(text.contains("executables_max = 1;") && text.contains("(n)"), "{text}");
    assert!(!shell.run(&["check", "--link", "count.idl"]).err.contains("keeps data"));
}
