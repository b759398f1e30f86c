//! The canonical layout: every interface file of the repository keeps its words, its comments and
//! its meaning, and is at its end after one pass; so do the same files with their blanks thrown
//! about.

use std::fs;
use std::path::{Path, PathBuf};

use farcall_idl::format::format;
use farcall_idl::{compile, needs_preprocessor};

use crate::language::dump;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// All interface files, but those whose mistakes are the point.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir()
            && !["target", "build", "wrong"].contains(&name.as_str())
            && !name.starts_with('.')
        {
            files(&path, found);
        } else if name.ends_with(".idl") {
            found.push(path);
        }
    }
}

fn all() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    files(&repository(), &mut found);
    found.sort();
    assert!(found.len() > 25, "{found:?}");
    found.into_iter().map(|path| (path.clone(), fs::read_to_string(&path).unwrap())).collect()
}

/// Everything that a text says, without the lines at which it says it.
fn meaning(text: &str) -> String {
    const FILE: &str = "PLACE";
    let shown = dump::module(&compile(FILE, text).unwrap());
    let numbers = |part: &str| {
        let part = part
            .trim_start_matches([':', '"', ',', ' ', '\\'])
            .trim_start_matches(|c: char| c.is_ascii_digit());
        part.trim_end_matches(['\\', '"', ' '])
            .trim_end_matches(|c: char| c.is_ascii_digit())
            .to_owned()
    };
    shown.split(FILE).map(numbers).collect::<Vec<_>>().join(FILE)
}

/// What is no blank, in its order; a comment may come to stand on the other side of a comma.
fn signs(text: &str) -> String {
    let mut signs: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
    signs.sort_unstable();
    signs.into_iter().collect()
}

/// Checks what must hold of every text; gives the layout.
fn check(what: &str, text: &str) -> String {
    let once = format(what, text).unwrap_or_else(|mistakes| panic!("{what}:\n{mistakes}"));
    assert_eq!(signs(&once), signs(text), "{what} has other words:\n{once}");
    let twice =
        format(what, &once).unwrap_or_else(|mistakes| panic!("{what}:\n{mistakes}\n{once}"));
    assert_eq!(twice, once, "{what} is not at its end after one pass");
    if !needs_preprocessor(text) {
        assert_eq!(meaning(&once), meaning(text), "{what} means something else");
    }
    once
}

#[test]
fn every_file_of_the_repository_keeps_its_meaning() {
    for (path, text) in all() {
        check(&path.display().to_string(), &text);
    }
}

/// A generator of numbers that are the same in each run (Knuth, TAOCP 2, 3.3.4).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// The text with other blanks: longer, shorter and other line ends, and comments of either kind
/// between the words.
fn thrown_about(text: &str, numbers: &mut Numbers) -> String {
    let mut made = String::new();
    for line in text.split_inclusive('\n') {
        // Strings, bodies, comments and directives are more than one line, or hold blanks of their
        // own.
        let plain = !line.contains(['"', '\'', '{', '}', '#', '/', '\\']);
        for word in line.split_inclusive(' ') {
            made.push_str(word.trim_end_matches(' '));
            if word.ends_with(' ') {
                let other = ["\n", "   ", " /* a */ ", " // b\n", "\n\n\n/* c */\n", "\t"];
                let chosen =
                    if plain { usize::try_from(numbers.below(24)).unwrap() } else { other.len() };
                made.push_str(other.get(chosen).unwrap_or(&" "));
            }
        }
    }
    made
}

#[test]
fn files_with_other_blanks_keep_their_meaning() {
    for seed in 0..20 {
        let mut numbers = Numbers(seed);
        for (path, text) in all() {
            // A body may run over lines that look like an interface's: it must stay as it is, so it
            // is left out.
            if !needs_preprocessor(&text) && !text.contains("Globals") && !text.contains("\n{\n") {
                let other = thrown_about(&text, &mut numbers);
                if compile("other", &other).is_ok() {
                    check(&format!("{} with seed {seed}", path.display()), &other);
                }
            }
        }
    }
}

#[test]
fn a_layout_is_as_this_one() {
    let written = "Module  x ; Library \"-lm\";//math\n\n\n\nDefine solve( IN int n \"order\",// \
                   sizes\n/* in place */ INOUT double a[ n+1 ][lda : n ] column\n\"matrix\" ,\n  \
                   IN int lda=max( 1,n ) where lda>=-1)\n\"Solves.\" Idempotent Complexity 2.0 / \
                   3.0*n ^3\n /* as written */ {\n  body( );\n}\nDefine one( IN double x,OUT \
                   double y )Calls\"C\" y=one( x );\n";
    let laid_out = "Module x;\nLibrary \"-lm\"; //math\n\nDefine solve(\n    \
                    IN int n                                \"order\", // sizes\n    \
                    /* in place */\n    \
                    INOUT double a[n + 1][lda:n] column     \"matrix\",\n    \
                    IN int lda = max(1, n) where lda >= -1\n)\n\
                    \"Solves.\"\nIdempotent\nComplexity 2.0/3.0*n^3\n/* as written */\n{\n  body( \
                    );\n}\nDefine one(IN double x, OUT double y) Calls \"C\" y = one(x);\n";
    let found = format("x.idl", written).unwrap();
    assert_eq!(found, laid_out, "{found}");
    check("x.idl", written);
}
