//! What options of compilers, forms and names make of sources.

#![allow(clippy::unwrap_used)]

use farcall_fortran::{Dialect, Draft, Form, Problem, Source, draft};

fn drafted(name: &str, text: &str, compiler: &str) -> Result<Draft, Problem> {
    let words: Vec<String> = compiler.split_whitespace().map(str::to_owned).collect();
    let dialect = Dialect::of(&words).unwrap();
    let source = Source { name, text, form: dialect.form_of(name) };
    draft(&[source], &[], &|_, _| Err("none".to_owned()), "./lib.so", &dialect)
}

fn interface(name: &str, text: &str, compiler: &str) -> String {
    drafted(name, text, compiler).unwrap().interface
}

const SUM: &str = "      SUBROUTINE SUM(N, X, S, D, L, Z, E)
      DIMENSION X(N)
      REAL*4 E
      DOUBLE PRECISION D
      LOGICAL L
      COMPLEX Z
      S = X(1) + D + E
      IF (L) Z = S
      END
";

#[test]
fn kinds_follow_the_compilers_options() {
    let plain = interface("a.f", SUM, "gfortran");
    for text in ["int n", "float x", "float s", "double d", "logical l", "scomplex z", "float e"] {
        assert!(plain.contains(text), "{text}: {plain}");
    }
    assert!(!plain.contains("options give"));
    let wide = "gfortran -fdefault-real-8 -fdefault-double-8 -fdefault-integer-8";
    for compiler in [wide, "ifx -r8 -i8", "nvfortran -Mr8 -Mi8"] {
        let text = interface("a.f", SUM, compiler);
        for wanted in
            ["int64 n", "double x", "double s", "double d", "int64 l", "dcomplex z", "float e"]
        {
            assert!(text.contains(wanted), "{compiler}: {wanted}: {text}");
        }
        assert!(text.contains("INTEGER 8 bytes, REAL 8 and DOUBLE PRECISION 8"), "{text}");
    }
    // DOUBLE PRECISION grows, too, to what the interface language does not have.
    let draft = drafted("a.f", SUM, "gfortran -fdefault-real-8").unwrap();
    assert!(draft.problems[0].message.contains("argument d has kind 16"), "{:?}", draft.problems);
}

#[test]
fn kinds_of_literals_follow_too() {
    let text = "module m\n  integer, parameter :: wp = kind(1.0), ip = kind(0), dp = kind(1d0)\n\
                contains\n  subroutine f(x, k, y)\n    real(wp), intent(in) :: x\n    \
                integer(ip), intent(in) :: k\n    real(8), intent(out) :: y\n    y = x*k\n  \
                end subroutine\nend module\n";
    let plain = interface("m.f90", text, "gfortran");
    assert!(plain.contains("IN float x") && plain.contains("IN int k"), "{plain}");
    let wide = interface("m.f90", text, "ifx -r8 -i8");
    assert!(wide.contains("IN double x") && wide.contains("IN int64 k"), "{wide}");
}

#[test]
fn variables_that_an_option_keeps_make_a_class() {
    let text = "      SUBROUTINE NEXT(I)\n      SAVE\n      K = K + I\n      I = K\n      END\n";
    let saved = drafted("a.f", text, "gfortran").unwrap();
    let kept = drafted("a.f", &text.replace("      SAVE\n", ""), "gfortran -fno-automatic");
    let told = |draft: &Draft| draft.notes.iter().any(|one| one.message.contains("keeps state"));
    assert!(told(&saved) && told(&kept.unwrap()));
}

#[test]
fn free_form_in_a_file_of_fixed_form_is_told() {
    let free = "subroutine s(x)\n  real :: x\n  x = 2*x\nend subroutine\n";
    for (name, text) in [
        ("a.f", free),
        ("a.for", "! a comment\n\n  real function f(x)\n  f = x\nend\n"),
        ("a.F", "module m\ncontains\nend module\n"),
    ] {
        let problem = drafted(name, text, "gfortran").unwrap_err();
        assert!(problem.message.contains("-ffree-form"), "{}", problem.message);
    }
    assert!(interface("a.f", free, "gfortran -ffree-form").contains("INOUT float x"));
    // Labels, tabs, comments and INCLUDE lines are none of that.
    let fixed = "C A\n*B\n      SUBROUTINE S(X)\ninclude 'a.inc'\n\tX = 1\n 10   CONTINUE\n\
                 10\tX = 2\n      END\n";
    assert!(drafted("a.f", fixed, "gfortran").is_ok());
}

#[test]
fn long_lines_of_fixed_form_are_read_if_the_compiler_does() {
    let blanks = " ".repeat(60);
    let text = format!("      SUBROUTINE S({blanks}A,\n     1 B)\n      A = B\n      END\n");
    assert!(interface("a.f", &text, "gfortran -ffixed-line-length-132").contains("OUT float a"));
    assert!(interface("a.f", &text, "ifx -extend-source").contains("OUT float a"));
}

#[test]
fn parts_of_texts_are_no_calls() {
    for text in [
        "      SUBROUTINE S(R, C)\n      IMPLICIT CHARACTER*4 (C)\n      R = ICHAR(C(4:4))\n      \
         END\n",
        "      SUBROUTINE S(R, C)\n      IMPLICIT CHARACTER*4 (C)\n      \
         IF (C(:2) .EQ. 'AB') R = 1\n      END\n",
        "      SUBROUTINE S(R, C)\n      IMPLICIT CHARACTER*4 (A-D)\n      I = 2\n      R = 0\n      \
         IF (C(I:) .EQ. 'AB') R = 1\n      END\n",
    ] {
        let draft = drafted("a.f", text, "gfortran").unwrap();
        assert!(draft.problems.is_empty(), "{:?}", draft.problems);
        assert!(draft.interface.contains("IN char c[4]"), "{}", draft.interface);
    }
}

#[test]
fn texts_say_what_they_lack() {
    let array = "      SUBROUTINE S(N, NAMES, L)\n      CHARACTER*(*) NAMES(N)\n      L = \
                 LEN(NAMES(1))\n      END\n";
    let draft = drafted("a.f", array, "gfortran").unwrap();
    let message = &draft.problems[0].message;
    assert!(
        message.contains("names is an array of CHARACTERs without a fixed length"),
        "{message}"
    );
    let written = "      SUBROUTINE S(T)\n      CHARACTER*(*) T\n      T = 'A'\n      END\n";
    let draft = drafted("a.f", written, "gfortran").unwrap();
    assert!(draft.problems[0].message.contains("t is written to and has no fixed length"));
}

#[test]
fn names_that_interfaces_do_not_have_are_told() {
    let text = "      SUBROUTINE A$B(X$Y)\n      X$Y = 1\n      END\n";
    let draft = drafted("a.f", text, "gfortran -fdollar-ok").unwrap();
    assert!(draft.problems[0].message.contains("its name has a `$`"), "{:?}", draft.problems);
    let text = "      SUBROUTINE AB(X$Y)\n      X$Y = 1\n      END\n";
    assert!(interface("a.f", text, "gfortran -fdollar-ok").contains("OUT float x_y"));
    let name = |file: &str| interface(file, text, "gfortran").contains("Module module2d;");
    assert!(name("2d.f") && name("2-d.f"));
    assert_eq!(Form::of("a b.f"), Form::Fixed(72));
}
