//! Words that readers have to read twice: tools/tidy/words.txt lists them with plainer ones, and
//! their counts only fall.

use crate::tree::{SourceFile, Tree, Violation};

/// Documents that tell what was, in the words of their time.
const EXEMPT: &[&str] = &["CHANGELOG.md"];

/// A word or phrase that the house no longer uses.
#[derive(Debug, PartialEq, Eq)]
pub struct Banned {
    /// Its words, in lower case.
    pub phrase: Vec<String>,
    /// How often the tree still has it.
    pub count: usize,
    /// What to write in its place.
    pub instead: String,
}

/// A word of prose, its line, and whether punctuation stands before and behind it.
struct Word<'a> {
    text: &'a str,
    line: usize,
    begins: bool,
    ends: bool,
}

/// Reads the list: `count phrase: what to write` per line, `#` comments. A line that is none of
/// these is an error.
pub fn read(list: &str) -> Result<Vec<Banned>, Vec<Violation>> {
    let lines = list
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    let (read, refused): (Vec<_>, Vec<_>) =
        lines.map(|(index, line)| read_line(line).ok_or(index + 1)).partition(Result::is_ok);
    let at = |number| {
        Violation::new(
            format!("tools/tidy/words.txt:{number}"),
            "a line is `count phrase: what to write`",
        )
    };
    let refused: Vec<Violation> = refused.into_iter().filter_map(Result::err).map(at).collect();
    if refused.is_empty() { Ok(read.into_iter().flatten().collect()) } else { Err(refused) }
}

fn read_line(line: &str) -> Option<Banned> {
    let (counted, instead) = line.split_once(':')?;
    let (count, phrase) = counted.split_once(' ')?;
    let phrase: Vec<String> = phrase.split_whitespace().map(str::to_lowercase).collect();
    let instead = instead.trim().to_string();
    let is_complete = !phrase.is_empty() && !instead.is_empty();
    Some(Banned { phrase, count: count.parse().ok()?, instead }).filter(|_| is_complete)
}

/// Phrases that the tree has more often than the list says, and counts that are too high by now.
pub fn violations(tree: &Tree, banned: &[Banned]) -> Vec<Violation> {
    let places = places(tree, banned);
    banned.iter().zip(&places).flat_map(|(one, places)| judge(one, places)).collect()
}

fn judge(one: &Banned, places: &[String]) -> Vec<Violation> {
    let phrase = one.phrase.join(" ");
    let found = places.len();
    let listed = one.count;
    let instead = &one.instead;
    match found.cmp(&listed) {
        std::cmp::Ordering::Equal => Vec::new(),
        std::cmp::Ordering::Less => {
            let problem = format!(
                "`{phrase}` occurs {found} times now; lower its {listed}, or run with \
                    FARCALL_REWRITE=1"
            );
            vec![Violation::new("tools/tidy/words.txt", problem)]
        }
        std::cmp::Ordering::Greater => {
            let problem = format!("`{phrase}` ({found} times, {listed} at most); write: {instead}");
            places.iter().map(|place| Violation::new(place, problem.clone())).collect()
        }
    }
}

/// The list with the counts that have fallen.
pub fn lowered(list: &str, tree: &Tree) -> String {
    let lower = |line: &str| {
        let Some(one) = read_line(line).filter(|_| !line.starts_with('#')) else {
            return format!("{line}\n");
        };
        let found = places(tree, std::slice::from_ref(&one))[0].len();
        format!("{} {}: {}\n", found.min(one.count), one.phrase.join(" "), one.instead)
    };
    list.lines().map(lower).collect()
}

/// Where each phrase stands: in documents, and in comments and texts of sources.
fn places(tree: &Tree, banned: &[Banned]) -> Vec<Vec<String>> {
    let mut found = vec![Vec::new(); banned.len()];
    for (path, text) in tree.documents.iter().filter(|(path, _)| !EXEMPT.contains(&path.as_str())) {
        search(path, text, banned, &mut found);
    }
    for file in &tree.sources {
        search(&file.path, &prose(file), banned, &mut found);
    }
    found
}

fn search(path: &str, text: &str, banned: &[Banned], found: &mut [Vec<String>]) {
    let words = words(text);
    for at in 0..words.len() {
        for (one, places) in banned.iter().zip(found.iter_mut()) {
            if is_here(&one.phrase, &words[at..]) {
                places.push(format!("{path}:{}", words[at].line));
            }
        }
    }
}

/// A source with its code blanked: comments and texts are left.
fn prose(file: &SourceFile) -> String {
    let code = file.scanned.code.as_bytes();
    let bytes = file.text.bytes().enumerate();
    let kept = bytes.map(|(at, byte)| if code[at].is_ascii_whitespace() { byte } else { b' ' });
    String::from_utf8(kept.collect()).expect("only ASCII bytes are blanked")
}

/// The words of a text, without what has marks alone, such as the start of a comment's line.
fn words(text: &str) -> Vec<Word<'_>> {
    let numbered = text.lines().enumerate();
    let words = numbered
        .flat_map(|(index, line)| line.split_whitespace().map(move |word| bare(word, index + 1)));
    words.filter(|word| !word.text.is_empty()).collect()
}

fn bare(word: &str, line: usize) -> Word<'_> {
    let is_mark = |c: char| !c.is_alphanumeric() && c != '_';
    let left = word.trim_start_matches(is_mark);
    let text = left.trim_end_matches(is_mark);
    Word { text, line, begins: left.len() < word.len(), ends: text.len() < left.len() }
}

/// Whether the words begin with a phrase. Punctuation may surround it, and does not stand in it.
fn is_here(phrase: &[String], words: &[Word]) -> bool {
    let last = phrase.len() - 1;
    words.len() > last
        && phrase.iter().zip(words).enumerate().all(|(at, (wanted, word))| {
            let is_broken = (at > 0 && word.begins) || (at < last && word.ends);
            // Only the first word may begin a sentence: `is None` is Python's.
            !is_broken
                && if at == 0 {
                    word.text.eq_ignore_ascii_case(wanted)
                } else {
                    word.text == wanted
                }
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "# A comment.\n0 yonder: there\n1 art thou: are you\n";

    fn tree(page: &str, source: &str) -> Tree {
        let source = SourceFile::new("a.rs", source.to_string()).expect("a Rust file");
        Tree {
            root: "/".into(),
            sources: vec![source],
            documents: vec![("a.md".to_string(), page.to_string())],
        }
    }

    fn found(page: &str, source: &str) -> Vec<String> {
        let violations = violations(&tree(page, source), &read(LIST).expect("a good list"));
        violations.into_iter().map(|one| format!("{} {}", one.place, one.problem)).collect()
    }

    #[test]
    fn pages_comments_and_texts_are_searched_and_code_is_not() {
        let source = "// It is Yonder.\nfn yonder() { say(\"(yonder)\"); let yonder_too = 1; }\n";
        let found = found("It stands\nyonder: art thou?", source);
        let places: Vec<&str> = found.iter().filter_map(|one| one.split(' ').next()).collect();
        assert_eq!(places, ["a.md:2", "a.rs:1", "a.rs:2"]);
        assert!(found[0].ends_with("(3 times, 0 at most); write: there"), "{}", found[0]);
    }

    #[test]
    fn a_phrase_may_continue_on_the_next_line_and_not_in_the_next_sentence() {
        assert!(found("Nothing.", "//! Who art\n//! thou\n").is_empty());
        assert_eq!(found("This is art. Thou too.", "//! x y\n").len(), 1);
    }

    #[test]
    fn counts_only_fall() {
        assert!(found("Art thou", "").is_empty());
        assert!(found("Art Thou", "")[0].contains("lower its 1"), "a name of its own");
        assert_eq!(found("Art thou? Art thou!", "").len(), 2);
        assert!(found("", "")[0].contains("lower its 1"));
        assert_eq!(lowered(LIST, &tree("", "")), LIST.replace("1 art", "0 art"));
        assert_eq!(lowered(LIST, &tree("art thou art thou yonder", "")), LIST);
    }

    #[test]
    fn a_line_without_a_better_word_is_refused() {
        for line in ["0 yonder", "0 yonder: ", "yonder: there", "0 : there"] {
            assert_eq!(read(line).expect_err(line)[0].place, "tools/tidy/words.txt:1");
        }
    }
}
