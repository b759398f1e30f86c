//! Text of others as a terminal, a log or a page may show it: shown, never obeyed.
//!
//! `spec/vectors/printable.txt` has what comes out for what goes in, for the layers in other
//! languages, too.

use std::borrow::Cow;

/// `text` with everything in it spelled that a reader could not see or a terminal would obey, as
/// `\x1b` or `\u{202e}`: control characters other than line ends and tabs, and what is invisible,
/// separates lines or turns the direction of writing. What was spelled is not spelled again.
pub fn printable(text: &str) -> Cow<'_, str> {
    spelled(text, |letter| is_obeyed(letter) && letter != '\n' && letter != '\t')
}

/// The same for what has no lines, such as a name: line ends and tabs are spelled, too.
pub fn printable_line(text: &str) -> Cow<'_, str> {
    spelled(text, is_obeyed)
}

/// The same for what a program writes, byte by byte, as a terminal may show it: a carriage return
/// stays as well.
pub fn printable_output(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    spelled(&text, |letter| is_obeyed(letter) && !"\n\r\t".contains(letter)).into_owned()
}

/// A text of JSON with the same characters written as JSON spells them, `\u202e`. Outside strings
/// JSON has none of them but line ends, which stay.
pub fn printable_json(text: &str) -> Cow<'_, str> {
    let is_spelled = |letter: char| is_obeyed(letter) && letter != '\n';
    if !text.contains(is_spelled) {
        return Cow::Borrowed(text);
    }
    let mut json = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if is_spelled(letter) {
            letter
                .encode_utf16(&mut [0; 2])
                .iter()
                .for_each(|unit| json.push_str(&format!("\\u{unit:04x}")));
        } else {
            json.push(letter);
        }
    }
    Cow::Owned(json)
}

/// Whether a character is obeyed rather than seen: controls (C0, DEL, C1), what Unicode calls
/// default ignorable (but for the selectors of variants of what is seen), separators of lines and
/// paragraphs, anchors of annotations, and what is not a character.
pub fn is_obeyed(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fdd0}'..='\u{fdef}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
        || u32::from(letter) & 0xfffe == 0xfffe
}

fn spelled(text: &str, is_spelled: impl Fn(char) -> bool + Copy) -> Cow<'_, str> {
    if !text.contains(is_spelled) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if is_spelled(letter) { spell(&mut shown, letter) } else { shown.push(letter) }
    }
    Cow::Owned(shown)
}

fn spell(shown: &mut String, letter: char) {
    let text = match letter {
        '\n' => "\\n".to_owned(),
        '\t' => "\\t".to_owned(),
        '\r' => "\\r".to_owned(),
        '\0'..='\u{ff}' => format!("\\x{:02x}", u32::from(letter)),
        other => format!("\\u{{{:x}}}", u32::from(other)),
    };
    shown.push_str(&text);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `TEXT LINE LINES JSON`, each a JSON string of ASCII.
    fn vectors() -> Vec<[String; 4]> {
        let text = include_str!("../../spec/vectors/printable.txt");
        let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        let read = |line: &str| {
            let parts: Vec<String> = line.split('\t').map(unescaped).collect();
            <[String; 4]>::try_from(parts).expect("four columns")
        };
        lines.map(read).collect()
    }

    /// What stands between the quotes of a JSON string.
    fn unescaped(quoted: &str) -> String {
        let mut rest =
            quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).expect("quotes");
        let mut units = Vec::new();
        while let Some(letter) = rest.chars().next() {
            rest = &rest[letter.len_utf8()..];
            if letter != '\\' {
                units.extend(letter.encode_utf16(&mut [0; 2]).iter());
                continue;
            }
            let (which, after) = rest.split_at(1);
            rest = after;
            match which {
                "u" => {
                    units.push(u16::from_str_radix(&rest[..4], 16).expect("four digits"));
                    rest = &rest[4..];
                }
                "n" => units.push(u16::from(b'\n')),
                "t" => units.push(u16::from(b'\t')),
                "r" => units.push(u16::from(b'\r')),
                "b" => units.push(8),
                "f" => units.push(12),
                other => units.extend(other.encode_utf16()),
            }
        }
        String::from_utf16(&units).expect("characters")
    }

    #[test]
    fn texts_of_others_are_spelled_as_the_vectors_say() {
        let vectors = vectors();
        assert!(vectors.len() > 20);
        for [text, line, lines, json] in vectors {
            assert_eq!(printable_line(&text), line, "{text:?}");
            assert_eq!(printable(&text), lines, "{text:?}");
            assert_eq!(printable_json(&text), json, "{text:?}");
            assert_eq!(printable(&line), line, "what was spelled is not spelled again");
        }
    }

    #[test]
    fn what_is_seen_stays_as_it_is() {
        let plain = "two lines,\n\ta tab, \\x1b, grüße, 漢字, שלום, 🛠️ and é";
        assert!(matches!(printable(plain), Cow::Borrowed(same) if same == plain));
        let json = "{\n  \"text\": \"\\u001b, grüße\"\n}";
        assert!(matches!(printable_json(json), Cow::Borrowed(same) if same == json));
    }

    #[test]
    fn what_a_program_writes_keeps_its_lines_and_returns() {
        assert_eq!(
            printable_output(b"50 %\r100 %\n\x1b[2J\xff\x9b"),
            "50 %\r100 %\n\\x1b[2J\u{fffd}\u{fffd}"
        );
    }
}
