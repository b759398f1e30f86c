//! Mistakes, each with its whole message (`tests/golden/mistakes.txt`), and texts that are damaged
//! at random.

use farcall_base::{Error, Random, SeededRandom};
use farcall_golden::{Conversation, fuzz_rounds, play_all};
use farcall_platform::{MISTAKES_MAX, Platform};

use super::judge;

/// Uses every key there is.
const WHOLE: &str = include_str!("../whole.toml");

/// The whole platform with parts replaced: `OLD => NEW`, several with ` && ` between them. `\n` is
/// a new line, `TEXT: …` is all of another text.
struct Replaced;

impl Conversation for Replaced {
    fn begin(_: &str) -> Replaced {
        Replaced
    }

    fn event(&mut self, event: &str) -> Vec<String> {
        let event = event.replace("\\n", "\n");
        let mut text = WHOLE.to_owned();
        if let Some(other) = event.strip_prefix("TEXT: ") {
            text = other.to_owned();
        } else {
            for change in event.split(" && ") {
                let (old, new) = change.split_once(" => ").unwrap();
                assert_eq!(text.matches(old).count(), 1, "{old:?} stands once in the text");
                text = text.replace(old, new);
            }
        }
        match Platform::read(&text, "p.toml") {
            Ok(_) => vec!["it is read".to_owned()],
            Err(mistakes) => mistakes.to_string().lines().map(str::to_owned).collect(),
        }
    }
}

#[test]
fn golden_mistakes() {
    play_all::<Replaced>(env!("CARGO_MANIFEST_DIR"), 1);
}

#[test]
fn the_first_mistake_is_the_error_and_the_others_are_its_source() {
    let refuse = |text: &str| Error::from(Platform::read(text, "f").unwrap_err());
    let error = refuse("name = 1\nsites = 2\n");
    assert!(error.to_string().contains("line: 1, column: 8, mistakes: "), "{error}");
    let others = std::error::Error::source(&error).unwrap().to_string();
    assert!(others.contains("line: 2, column: 9"), "{others}");
    let one = refuse("[\n").to_string();
    assert!(!one.contains("mistakes"), "{one}");
}

#[test]
fn many_mistakes_are_counted() {
    let text: String = (0..10_000).map(|number| format!("key{number} = 1\n")).collect();
    let mistakes = Platform::read(&text, "f").unwrap_err();
    assert_eq!(mistakes.list().len(), MISTAKES_MAX);
    assert!(mistakes.omitted() >= 9_980, "{}", mistakes.omitted());
    assert!(mistakes.to_string().ends_with(" other mistakes"));
}

#[test]
fn a_text_that_is_too_large_is_refused_unread() {
    let mistakes = Platform::read(&"#".repeat((1 << 20) + 1), "f").unwrap_err();
    let message = mistakes.list()[0].to_string();
    assert!(message.contains("the file is too large for a platform"), "{message}");
}

#[test]
fn the_largest_lists_are_refused_or_read_in_time() {
    let site = |number: usize| format!("[[site]]\nname = \"s{number}\"\nmembers = 1\n");
    let shared = "name = \"x\"\n[member]\nmessage = \"0 s\"\n[inside]\nlatency = \"0 s\"\n\
        rate = \"1 B/s\"\n[gateway]\nout = \"0 s\"\nin = \"0 s\"\n";
    let sites = |count: usize| (0..count).map(site).collect::<String>();
    let link = "[between]\nlatency = \"0 s\"\nrate = \"1 B/s\"\n";
    assert!(Platform::read(&(shared.to_owned() + &sites(1_000) + link), "f").is_ok());
    let many = Platform::read(&(shared.to_owned() + &sites(1_001) + link), "f").unwrap_err();
    assert!(many.to_string().contains("too many sites"), "{many}");
    // Names that are nearly those of sites, many times: their nearest are not all looked for.
    let pairs = "[[between.pair]]\nfrom = \"s99x\"\nto = \"s98x\"\n".repeat(15_000);
    let unknown = Platform::read(&(shared.to_owned() + &sites(1_000) + link + &pairs), "f");
    assert!(unknown.unwrap_err().omitted() > 29_000);
}

/// Whatever stands in a text, it is read or refused in words, and at a place that it has.
#[test]
fn fuzz_of_platforms_never_panics() {
    let parts: Vec<&str> = WHOLE.split_inclusive([' ', '\n', '"', '=']).collect();
    let mut random = SeededRandom::new(27);
    let mut read = 0;
    let mut refused = 0;
    for round in 0..fuzz_rounds(20_000) {
        let mut text = WHOLE.to_owned();
        for _ in 0..=random.next() % 4 {
            change(&mut text, &parts, &mut random);
        }
        match judge::text(&text, &|| format!("round {round} of seed 27")) {
            true => read += 1,
            false => refused += 1,
        }
    }
    assert!(read > 100 && refused > 1_000, "{read} read, {refused} refused");
}

/// Takes out, doubles, moves or replaces something.
fn change(text: &mut String, parts: &[&str], random: &mut SeededRandom) {
    let mut at = random.next() as usize % (text.len() + 1);
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let part = parts[random.next() as usize % parts.len()];
    match random.next() % 5 {
        0 => text.insert_str(at, part),
        1 => text.truncate(at),
        2 if text.contains(part) => *text = text.replacen(part, "", 1),
        3 => {
            let letters = ['0', '9', '-', '.', '"', '[', ']', '\u{b5}', '\0', '=', 'x', '\n'];
            text.insert(at, letters[random.next() as usize % letters.len()]);
        }
        _ => {
            let other = parts[random.next() as usize % parts.len()];
            *text = text.replacen(part, other, 1);
        }
    }
}
