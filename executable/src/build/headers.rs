//! Reads the dependency files that compilers write (`-MMD`): the headers that a cached executable
//! rests on.

use std::path::{Path, PathBuf};

/// The prerequisites in the text of a make rule, `target: a b \` and so on; `\ ` is a space in a
/// name, `$$` a dollar.
pub(crate) fn prerequisites(rule: &str) -> Vec<PathBuf> {
    let Some((_, list)) = rule.split_once(": ") else { return Vec::new() };
    let mut names = Vec::new();
    let mut name = String::new();
    let mut letters = list.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, letters.peek()) {
            ('\\', Some('\n')) => {}
            ('\\', Some(' ' | '#' | '\\')) | ('$', Some('$')) => name.extend(letters.next()),
            _ if letter.is_whitespace() => {
                if !name.is_empty() {
                    names.push(PathBuf::from(std::mem::take(&mut name)));
                }
            }
            _ => name.push(letter),
        }
    }
    if !name.is_empty() {
        names.push(name.into());
    }
    names
}

/// The headers of several rules, absolute, each once, without what lies in `workspace` (our own
/// generated files).
pub(crate) fn headers(rules: &[String], base: &Path, workspace: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> =
        rules.iter().flat_map(|rule| prerequisites(rule)).map(|path| base.join(path)).collect();
    all.retain(|path| !path.starts_with(workspace));
    all.sort();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_gcc_writes() {
        let rule = "/w/r.o: /w/r.c /home/x/a\\ b.h \\\n cost$$.h inc/c\\#.h\n";
        let expected = ["/w/r.c", "/home/x/a b.h", "cost$.h", "inc/c#.h"].map(PathBuf::from);
        assert_eq!(prerequisites(rule), expected);
        let all = headers(&[rule.into(), rule.into()], Path::new("/home/x"), Path::new("/w"));
        assert_eq!(
            all,
            ["/home/x/a b.h", "/home/x/cost$.h", "/home/x/inc/c#.h"].map(PathBuf::from)
        );
    }

    #[test]
    fn takes_no_harm_from_other_text() {
        // No rule at all, a rule without prerequisites, a file that ends in the middle of an
        // escape.
        for text in ["", "nothing here", "a.o: ", "a.o: \\"] {
            assert!(prerequisites(text).len() <= 1, "{text:?}");
        }
    }
}
