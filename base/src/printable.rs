//! Text of others as a terminal may show it.

use std::borrow::Cow;

/// `text` without anything that would command a terminal: control characters other than line ends and tabs are spelled,
/// as `\u{1b}`.
pub fn printable(text: &str) -> Cow<'_, str> {
    let commands = |letter: char| letter.is_control() && letter != '\n' && letter != '\t';
    if !text.contains(commands) {
        return Cow::Borrowed(text);
    }
    let mut spelled = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if commands(letter) { spelled.extend(letter.escape_default()) } else { spelled.push(letter) }
    }
    Cow::Owned(spelled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_commands_a_terminal_is_spelled_and_the_rest_stays() {
        assert_eq!(printable("a\x1b[31mb\x07\u{9b}2J\x7f\0\r\n"), "a\\u{1b}[31mb\\u{7}\\u{9b}2J\\u{7f}\\u{0}\\r\n");
        let plain = "two lines,\n\ta tab, \\u{1b}, grüße und 漢字";
        assert!(matches!(printable(plain), Cow::Borrowed(same) if same == plain));
        let once = printable("\x1b[0m").into_owned();
        assert_eq!(printable(&once), once, "what was spelled is not spelled again");
    }
}
