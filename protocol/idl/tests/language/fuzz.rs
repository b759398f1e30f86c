//! Hostile text: whatever it is, compilation ends, does not panic, and says a bounded amount about
//! it.
//!
//! What does compile must be fit to travel: it validates and survives encoding.

use std::fs;
use std::path::Path;

use farcall_base::{Random, SeededRandom};
use farcall_golden::fuzz_rounds;

use crate::judge;

/// Words and signs from which soup is made: more of what nests and of what opens without closing.
const SOUP: [&str; 66] = [
    "Define",
    "DefClass",
    "DefMethod",
    "DefState",
    "Struct",
    "Variants ? = x y, n =",
    "Globals",
    "Module",
    "Library",
    "Calls",
    "Required",
    "CalcOrder",
    "Alias",
    "Idempotent",
    "Language",
    "FortranFormat",
    "IN",
    "OUT",
    "INOUT",
    "WORK",
    "mode_in",
    "int",
    "double",
    "string",
    "char",
    "long",
    "unsigned",
    "point",
    "n",
    "m",
    "a",
    "when",
    "given",
    "column",
    "unit",
    "const",
    "broadcast",
    "(",
    ")",
    "(",
    "[",
    "]",
    "[",
    "{",
    "}",
    ",",
    ",",
    ";",
    ":",
    "?",
    "=",
    "==",
    "*",
    "^",
    "-",
    "!",
    "/",
    "\"x\"",
    "\"",
    "'c'",
    "'",
    "1",
    "0x",
    "1.5e",
    "/*",
    "\n# 3 \"f\"\n",
];

fn pick<'t, T>(random: &mut SeededRandom, list: &'t [T]) -> &'t T {
    &list[below(random, list.len())]
}

fn below(random: &mut SeededRandom, limit: usize) -> usize {
    usize::try_from(random.next() % limit.max(1) as u64).unwrap()
}

fn valid_texts() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/valid");
    let mut paths: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "idl"));
    paths.sort();
    paths.iter().map(|path| fs::read_to_string(path).unwrap()).collect()
}

#[test]
fn soup_of_words_never_panics() {
    let mut random = SeededRandom::new(0x1d1_0001);
    for _ in 0..fuzz_rounds(10_000) {
        let length = below(&mut random, 60);
        let words: Vec<&str> = (0..length).map(|_| *pick(&mut random, &SOUP)).collect();
        judge::text(&words.join(if random.next() & 1 == 0 { " " } else { "" }));
    }
}

#[test]
fn soup_inside_a_routine_never_panics() {
    let mut random = SeededRandom::new(0x1d1_0002);
    for _ in 0..fuzz_rounds(5_000) {
        let mut words = || (0..8).map(|_| *pick(&mut random, &SOUP)).collect::<Vec<_>>().join(" ");
        judge::text(&format!(
            "Define f(IN int n, IN double a[{}], OUT int m{}) {} Calls f(n);",
            words(),
            words(),
            words()
        ));
    }
}

/// One routine of a file, so that a mutation hits what is read and not a far corner.
fn routine<'t>(random: &mut SeededRandom, texts: &'t [String]) -> &'t str {
    let text = pick(random, texts);
    let starts: Vec<usize> = text.match_indices("\nDefine ").map(|(at, _)| at).collect();
    if starts.is_empty() {
        return text;
    }
    let index = below(random, starts.len());
    &text[starts[index]..starts.get(index + 1).copied().unwrap_or(text.len())]
}

#[test]
fn mutated_files_never_panic() {
    let mut random = SeededRandom::new(0x1d1_0003);
    let texts = valid_texts();
    let mut valid = 0;
    let mut wrong = 0;
    for _ in 0..fuzz_rounds(10_000) {
        let mut bytes = routine(&mut random, &texts).as_bytes().to_vec();
        for _ in 0..=below(&mut random, 3) {
            mutate(&mut random, &mut bytes);
        }
        match judge::text(&String::from_utf8_lossy(&bytes)) {
            true => valid += 1,
            false => wrong += 1,
        }
    }
    // Both ways out of the compiler must have been tried.
    assert!(valid > 500 && wrong > 500, "{valid} valid, {wrong} wrong");
}

/// Deletes, doubles, replaces or moves a piece.
fn mutate(random: &mut SeededRandom, bytes: &mut Vec<u8>) {
    let at = below(random, bytes.len());
    let end = (at + 1 + below(random, 8)).min(bytes.len());
    match random.next() % 5 {
        0 => drop(bytes.drain(at..end)),
        1 => {
            let piece = bytes[at..end].to_vec();
            drop(bytes.splice(at..at, piece));
        }
        2 => drop(bytes.splice(at..at, pick(random, &SOUP).bytes())),
        3 if at < bytes.len() => bytes[at] = u8::try_from(random.next() & 0x7f).unwrap(),
        _ => bytes.truncate(at),
    }
}
