//! Splits an option string of the IDL into words as a shell would, without a shell: quotes and
//! backslashes only.

/// The words of `text`. A quote that never closes ends with the text.
///
/// `$(…)`, globs and the like stay as written: an IDL file never runs a command through its
/// options.
pub(crate) fn split(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (Some('\''), _) => word.get_or_insert_default().push(letter),
            (_, '\\') => word.get_or_insert_default().extend(letters.next()),
            (None, '\'' | '"') => {
                quote = Some(letter);
                // An empty pair of quotes is a word too.
                word.get_or_insert_default();
            }
            (None, _) if letter.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

/// `word` so that [`split`] gives it back as one.
pub(crate) fn quoted(word: &str) -> String {
    let mut quoted = String::with_capacity(word.len());
    for letter in word.chars() {
        if letter.is_whitespace() || matches!(letter, '\'' | '"' | '\\') {
            quoted.push('\\');
        }
        quoted.push(letter);
    }
    if quoted.is_empty() { "''".into() } else { quoted }
}

#[cfg(test)]
mod tests {
    use super::{quoted, split};

    #[test]
    fn quoted_words_come_back() {
        for word in ["plain", "two words", "", "it's", "a\\b\"c", "tab\tnew\nline", "ünï ©"] {
            assert_eq!(split(&quoted(word)), [word]);
        }
    }

    #[test]
    fn splits_as_a_shell_does() {
        assert_eq!(split("-lfoo  -L/opt/lib\tlibbar.so.3"), ["-lfoo", "-L/opt/lib", "libbar.so.3"]);
        assert_eq!(split(r#"-DNAME="two words" 'a b'"#), ["-DNAME=two words", "a b"]);
        assert_eq!(split(r"a\ b"), ["a b"]);
        assert_eq!(split("   "), Vec::<String>::new());
        assert_eq!(split("''"), [""]);
    }

    #[test]
    fn leaves_commands_alone() {
        // Hostile: a shell would run this. Here it is three harmless words for the linker to
        // reject.
        assert_eq!(split("$(rm -rf x)"), ["$(rm", "-rf", "x)"]);
        // Hostile: an open quote must neither hang nor lose the rest.
        assert_eq!(split("-l\"foo bar"), ["-lfoo bar"]);
        assert_eq!(split("end\\"), ["end"]);
    }
}
