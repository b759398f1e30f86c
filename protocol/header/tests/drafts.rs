//! Golden drafts of headers, and headers that are damaged. FARCALL_REWRITE=1 renews the drafts.

#![allow(clippy::unwrap_used)]

use std::fmt::Write;
use std::path::{Path, PathBuf};

use farcall_header::{Draft, Source, draft, plain};
use farcall_idl::compile;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// All that is drafted of a header, as text.
fn told(draft: &Draft) -> String {
    let mut all = String::new();
    for (kind, problems) in [("error", &draft.problems), ("note", &draft.notes)] {
        for one in problems {
            writeln!(all, "{}:{}: {kind}: {}", one.place.line, one.place.column, one.message)
                .unwrap();
        }
    }
    format!("{all}\n{}", draft.interface)
}

fn drafted(name: &str, text: &str) -> Draft {
    let text = plain(text).unwrap_or_else(|| text.to_owned());
    draft(&[Source { name, text: &text }], "./lib.so", None)
}

fn headers() -> Vec<(PathBuf, String)> {
    let entries = std::fs::read_dir(folder()).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "h"));
    files.sort();
    files.into_iter().map(|file| (file.clone(), std::fs::read_to_string(&file).unwrap())).collect()
}

#[test]
fn golden_drafts() {
    let all = headers();
    assert!(all.len() >= 2);
    for (file, text) in all {
        let name = file.file_name().unwrap().to_str().unwrap();
        let golden = file.with_file_name(format!("{name}.draft"));
        let now = told(&drafted(name, &text));
        if std::env::var_os("FARCALL_REWRITE").is_some() {
            std::fs::write(&golden, &now).unwrap();
        }
        assert_eq!(now, std::fs::read_to_string(&golden).unwrap(), "{name}");
    }
}

#[test]
fn what_is_drafted_compiles() {
    for (file, text) in headers() {
        let draft = drafted("a.h", &text);
        let module = compile("a.idl", &draft.interface);
        let module = module.unwrap_or_else(|wrong| panic!("{}\n{wrong}", draft.interface));
        let methods: usize = module.classes.iter().map(|class| class.methods.len()).sum();
        assert_eq!(module.routines.len() + methods, draft.routines, "{}", file.display());
    }
}

#[test]
fn mistakes_cost_their_declaration_alone() {
    let text =
        "int a(int x;\nint b(int x);\nvoid c(unknown x);\nstruct s { int (x; };\nint d(void);";
    let draft = drafted("a.h", text);
    let places: Vec<(usize, usize)> =
        draft.problems.iter().map(|one| (one.place.line, one.place.column)).collect();
    assert_eq!(places, [(1, 12), (3, 16), (4, 18)], "{:?}", draft.problems);
    assert!(draft.interface.contains("Define b(") && draft.interface.contains("Define d("));
}

#[test]
fn what_is_included_is_known_and_not_drafted() {
    let text = "# 1 \"a.h\"\n# 1 \"b.h\" 1\ntypedef float real;\nreal other(real x);\n\
                # 2 \"a.h\" 2\nreal own(real x);\n";
    let draft = draft(&[Source { name: "a.h", text }], "./lib.so", None);
    assert_eq!(draft.routines, 1);
    assert!(draft.interface.contains("IN float x") && !draft.interface.contains("other"));
}

#[test]
fn damaged_headers_are_no_trouble() {
    for (_, text) in headers() {
        for (at, _) in text.char_indices() {
            drop(drafted("a.h", &text[..at]));
            drop(drafted("a.h", &text[at..]));
        }
    }
    let deep = "(".repeat(100_000);
    drop(drafted("a.h", &format!("int f{deep}")));
    drop(drafted("a.h", &format!("int f(int {deep}")));
    drop(drafted("a.h", &format!("int {}f;", "*".repeat(100_000))));
}

#[test]
fn libraries_that_keep_data_run_in_one_process() {
    let of = |text: &str| draft(&[Source { name: "a.h", text }], "./lib.so", Some("counter, gain"));
    let kept = of("int count(void);\n");
    let module = compile("a.idl", &kept.interface).unwrap();
    assert_eq!(module.executables_max, 1, "{}", kept.interface);
    let told = |draft: &Draft| draft.notes.iter().any(|one| one.message.contains("counter, gain"));
    assert!(told(&kept), "{:?}", kept.notes);
    // Each object has its own process, and nothing else is called.
    let class =
        of("typedef struct s s;\ns *s_new(int n);\nint s_next(s *it);\nvoid s_free(s *it);\n");
    assert!(!told(&class) && !class.interface.contains("executables_max"), "{}", class.interface);
    let commented = of("void f(double *x);\n");
    assert!(!told(&commented), "{:?}", commented.notes);
}

#[test]
fn second_makers_are_said_to_be_so() {
    let class = "typedef struct sim sim;\nint sim_open(const char *path, sim **out);\n%\n\
                 double sim_mean(const sim *s);\nvoid sim_close(sim *s);\n";
    for other in ["sim *sim_new(int n);", "int sim_load(int key, sim **made);"] {
        let drafted = drafted("a.h", &class.replace('%', other));
        let [problem] = drafted.problems.as_slice() else { panic!("{:?}", drafted.problems) };
        let message = &problem.message;
        assert!(message.contains("makes a sim, as sim_open does"), "{message}");
        assert_eq!(problem.place.line, 3);
        let text = &drafted.interface;
        assert!(
            text.contains("    // DefMethod _initialize(") && !text.contains("(char *)"),
            "{text}"
        );
        assert_eq!(compile("a.idl", text).unwrap().classes[0].methods.len(), 3);
        // Either one may be the maker.
        let swapped = text.replace("    DefMethod _initialize(", "    DefMethod _other(");
        assert!(compile("a.idl", &swapped).is_ok());
    }
    let other = drafted("a.h", &class.replace('%', "sim *sim_copy(const sim *s);"));
    assert!(other.problems[0].message.contains("returns a sim *"), "{:?}", other.problems);
}
