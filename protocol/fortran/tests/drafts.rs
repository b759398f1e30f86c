//! Golden drafts of sources, and sources that are damaged. FARCALL_REWRITE=1 renews the drafts.

#![allow(clippy::unwrap_used)]

use std::fmt::Write;
use std::path::{Path, PathBuf};

use farcall_fortran::{Dialect, FILE_BYTES_MAX, Form, Source, draft};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// Files that sources include.
fn included(_: &str, name: &str) -> Result<String, String> {
    match name {
        "sizes.inc" => Ok("      INTEGER NMAX\n      PARAMETER (NMAX=100)\n".to_owned()),
        "itself.inc" => Ok("      INCLUDE 'itself.inc'\n".to_owned()),
        _ => Err("there is no such file".to_owned()),
    }
}

/// All that is drafted of a source, as text.
fn drafted(name: &str, text: &str) -> String {
    let source = &[Source { name, text, form: Form::of(name) }];
    let draft = match draft(source, &[], &included, "./lib.so", &Dialect::default()) {
        Ok(draft) => draft,
        Err(problem) => return format!("{}: {}\n", problem.line, problem.message),
    };
    let mut all = String::new();
    for (kind, problems) in [("error", &draft.problems), ("note", &draft.notes)] {
        for problem in problems {
            writeln!(all, "{}: {kind}: {}", problem.line, problem.message)
                .expect("a string takes any text");
        }
    }
    format!("{all}\n{}\n{}", draft.interface, draft.wrapper.unwrap_or_default())
}

fn sources() -> Vec<(PathBuf, String)> {
    let entries = std::fs::read_dir(folder()).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending != "draft"));
    files.sort();
    files.into_iter().map(|file| (file.clone(), std::fs::read_to_string(&file).unwrap())).collect()
}

#[test]
fn golden_drafts() {
    let all = sources();
    assert!(all.len() >= 3);
    for (file, text) in all {
        let name = file.file_name().unwrap().to_str().unwrap();
        let golden = file.with_file_name(format!("{name}.draft"));
        let now = drafted(name, &text);
        if std::env::var_os("FARCALL_REWRITE").is_some() {
            std::fs::write(&golden, &now).unwrap();
        }
        assert_eq!(now, std::fs::read_to_string(&golden).unwrap(), "{name}");
    }
}

/// Numbers that are the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most.max(1)
    }
}

/// Cuts, doubles and exchanges pieces of a text.
fn damaged(text: &str, numbers: &mut Numbers) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    for _ in 0..1 + numbers.below(8) {
        let at = numbers.below(characters.len());
        let length = numbers.below(40);
        let end = (at + length).min(characters.len());
        match numbers.below(4) {
            0 => drop(characters.drain(at..end)),
            1 => {
                let piece: Vec<char> = characters[at..end].to_vec();
                let to = numbers.below(characters.len());
                characters.splice(to..to, piece);
            }
            2 => {
                let sign = ['(', ')', '&', '\n', ',', '*', ':', '\'', '%', 'é', '\0', '.']
                    [numbers.below(12)];
                characters.insert(at.min(characters.len()), sign);
            }
            _ => characters.truncate(end),
        }
    }
    characters.into_iter().collect()
}

#[test]
fn damaged_sources_are_drafted_or_refused() {
    let times = std::env::var("FARCALL_FUZZ_TIMES")
        .ok()
        .and_then(|times| times.parse().ok())
        .unwrap_or(1usize);
    let seed = 20_261;
    let mut numbers = Numbers(seed);
    for (file, text) in sources() {
        let name = file.file_name().unwrap().to_str().unwrap();
        for round in 0..1000 * times {
            let damaged = damaged(&text, &mut numbers);
            let other = if round % 2 == 0 { name } else { "other.f" };
            let done = std::panic::catch_unwind(|| drafted(other, &damaged));
            assert!(done.is_ok(), "{name}, seed {seed}, round {round}:\n{damaged}");
        }
    }
}

#[test]
fn hostile_sources_end_soon() {
    // Nested without end, continued without end, and too long.
    let nested =
        format!("subroutine f(x)\nreal :: x({}1{})\nend\n", "(".repeat(50_000), ")".repeat(50_000));
    assert!(drafted("f.f90", &nested).contains("error"));
    let power = format!("subroutine f(x)\nreal :: x({}1)\nend\n", "2**".repeat(50_000));
    assert!(drafted("f.f90", &power).contains("error"));
    let continued = "subroutine f(&\n".to_owned() + &"& a, &\n".repeat(5000);
    assert!(drafted("f.f90", &continued).contains("more than 2000 lines"));
    let long = " ".repeat(FILE_BYTES_MAX + 1);
    assert!(drafted("f.f90", &long).contains("more than"));
    assert!(drafted("f.f90", "include 'itself.inc'\n").contains("does it include itself?"));
    let kind = drafted(
        "f.f90",
        "subroutine f(x)\n  include 'missing.inc'\n  real(wp), intent(in) :: x\nend\n",
    );
    assert!(kind.contains("unknown kind `wp`; 'missing.inc' in line 2 cannot be read"), "{kind}");
    let open = "interface\n".repeat(10_000);
    assert!(drafted("f.f90", &open).contains("add the missing `end`"));
}

#[test]
fn preprocessor_lines_are_told() {
    assert!(drafted("f.F90", "#ifdef A\nend\n").contains("1: a line for the preprocessor"));
    assert!(drafted("f.F90", "!\n#  ifdef A\nend\n").contains("2: a line for the preprocessor"));
}

#[test]
fn lines_are_those_before_the_preprocessor() {
    let text = "# 1 \"f.F90\"\n# 1 \"<built-in>\"\n# 1 \"f.F90\"\n\n# 1 \"a.h\" 1\n!\n!\n# 3 \
        \"f.F90\" 2\nsubroutine f(x)\nreal :: x(*)\nend\n";
    assert!(
        drafted("f.F90", text).starts_with("4: error: f: argument x"),
        "{}",
        drafted("f.F90", text)
    );
}

#[test]
fn kinds_of_another_file_are_known() {
    let kinds = Source {
        name: "kinds.f90",
        text: "module kinds\ninteger, parameter :: dp = kind(1d0)\nend module\n",
        form: Form::Free,
    };
    let text = "module m\nuse kinds\ncontains\nsubroutine f(x)\nreal(dp), intent(in) :: x\nend \
        subroutine\nend module\n";
    let source = Source { name: "m.f90", text, form: Form::Free };
    assert!(
        draft(&[source], &[kinds], &included, "m.so", &Dialect::default())
            .unwrap()
            .interface
            .contains("IN double x")
    );
    let alone = draft(&[source], &[], &included, "m.so", &Dialect::default()).unwrap();
    assert!(alone.problems[0].message.contains("unknown kind `dp`"), "{:?}", alone.problems);
}

/// Several sources make one module: whose modules others use come first, and what one sets another
/// one reads.
#[test]
fn several_sources_make_one_module() {
    let of = |name: &'static str, text: &'static str| Source { name, text, form: Form::of(name) };
    let set = "      SUBROUTINE SETMAT(R)\n      COMMON /MAT/ RHO\n      RHO = R\n      END\n";
    let get = "      FUNCTION DENS(V)\n      COMMON /MAT/ RHO\n      DENS = RHO*V\n      END\n";
    let user = "subroutine twice(x)\nuse kinds, only: dp\nreal(dp) :: x\nx = 2*x\nend\n";
    let kinds = "module kinds\ninteger, parameter :: dp = kind(1d0)\nend module\n";
    let sources = [
        of("old/set.f", set),
        of("old/dens.f", get),
        of("new/user.f90", user),
        of("new/kinds.f90", kinds),
        of("other/set.f", set),
    ];
    let drafted = draft(&sources, &[], &included, "./libold.so", &Dialect::default()).unwrap();
    assert_eq!(drafted.module, "old");
    assert!(drafted.interface.contains("DefClass mat {"), "{}", drafted.interface);
    assert!(drafted.interface.contains("INOUT double x"), "{}", drafted.interface);
    let place = |number: usize| drafted.order.iter().position(|one| *one == number).unwrap();
    assert!(place(3) < place(2), "{:?}", drafted.order);
    let problems: Vec<(&str, usize)> =
        drafted.problems.iter().map(|one| (one.file.as_str(), one.line)).collect();
    assert_eq!(problems, [("other/set.f", 1)], "{:?}", drafted.problems);
    assert!(drafted.problems[0].message.contains("set.f, line 1"), "{:?}", drafted.problems);
}
