//! From the text of a configuration file to its sections: lines, words, quotes and comments.
//!
//! ```text
//! <SECTION>
//! attribute  value          # comment
//! attribute  "a value with blanks"
//! </SECTION>
//! ```

use std::path::Path;
use std::sync::Arc;

use super::mistake::{Place, Remarks, shown};

/// The one attribute whose quoted value may go on over several lines.
const LONG_ATTRIBUTE: &str = "job_rslExtensions";

/// A word with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    pub text: String,
    pub place: Place,
}

/// A line `attribute value`.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub name: Word,
    pub values: Vec<Word>,
}

/// `<NAME>`, its lines, `</NAME>`.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    pub name: Word,
    pub items: Vec<Item>,
}

/// Reads the sections of a file. Whatever is wrong is noted, and reading goes on behind it.
pub(crate) fn sections(file: &Arc<Path>, text: &str, remarks: &mut Remarks) -> Vec<Section> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader =
        Reader { file, lines: text.split('\n').zip(1..).collect(), next: 0, remarks, open: None };
    let mut sections = Vec::new();
    while let Some((line, number)) = reader.take_line() {
        let begin = line.trim_start();
        match begin.chars().next() {
            None | Some('#') => {}
            Some('<') => sections.extend(reader.tag(line, number)),
            Some(_) => reader.item(line, number),
        }
    }
    if let Some(section) = reader.open.take() {
        reader.unclosed(&section);
    }
    sections
}

struct Reader<'a> {
    file: &'a Arc<Path>,
    lines: Vec<(&'a str, u32)>,
    next: usize,
    remarks: &'a mut Remarks,
    open: Option<Section>,
}

impl<'a> Reader<'a> {
    fn take_line(&mut self) -> Option<(&'a str, u32)> {
        let (line, number) = *self.lines.get(self.next)?;
        self.next += 1;
        // Files come from other systems, too.
        Some((line.strip_suffix('\r').unwrap_or(line), number))
    }

    /// The place of byte `at` of a line.
    fn place(&self, line: &str, number: u32, at: usize) -> Place {
        let column = line[..at].chars().count() + 1;
        Place {
            file: self.file.clone(),
            line: number,
            column: u32::try_from(column).unwrap_or(u32::MAX),
        }
    }

    /// A line that begins with `<`; gives the section that it ends.
    fn tag(&mut self, line: &str, number: u32) -> Option<Section> {
        let at = line.len() - line.trim_start().len();
        let place = self.place(line, number, at);
        let Some((name, rest)) = line[at + 1..].split_once('>') else {
            self.remarks.mistake(
                &place,
                "the bracket < is not closed",
                Some("write <SECTION> or </SECTION>".into()),
            );
            return None;
        };
        let behind = rest.trim_start();
        if !behind.is_empty() && !behind.starts_with('#') {
            let place = self.place(line, number, line.len() - behind.len());
            let advice = "put the following text on its own line";
            self.remarks.mistake(
                &place,
                "a section's name must be alone on its line",
                Some(advice.into()),
            );
        }
        match name.trim().strip_prefix('/') {
            Some(name) => self.close(name.trim(), place),
            None => {
                self.begin(Word { text: name.trim().to_owned(), place });
                None
            }
        }
    }

    fn begin(&mut self, name: Word) {
        if let Some(open) = self.open.replace(Section { name, items: Vec::new() }) {
            self.unclosed(&open);
        }
    }

    fn unclosed(&mut self, section: &Section) {
        let name = shown(&section.name.text);
        let advice = format!("end it with </{name}> on its own line");
        self.remarks.mistake(
            &section.name.place,
            format!("the section {name} is not closed"),
            Some(advice),
        );
    }

    fn close(&mut self, name: &str, place: Place) -> Option<Section> {
        let Some(open) = self.open.take() else {
            self.remarks.mistake(
                &place,
                format!("</{}> ends a section that was not opened", shown(name)),
                None,
            );
            return None;
        };
        if open.name.text != name {
            let advice = format!("write </{}>", shown(&open.name.text));
            self.remarks.mistake(
                &place,
                format!("</{}> ends another section", shown(name)),
                Some(advice),
            );
        }
        Some(open)
    }

    fn item(&mut self, line: &'a str, number: u32) {
        let mut words = self.words(line, number).into_iter();
        let Some(name) = words.next() else { return };
        let item = Item { name, values: words.collect() };
        match &mut self.open {
            Some(section) => section.items.push(item),
            None => {
                let message = format!("{} is outside any section", shown(&item.name.text));
                self.remarks.mistake(
                    &item.name.place,
                    message,
                    Some("put it between <SERVER> and </SERVER>".into()),
                );
            }
        }
    }

    /// The words of a line, up to a comment.
    fn words(&mut self, line: &'a str, number: u32) -> Vec<Word> {
        let mut line = line;
        let mut number = number;
        let mut at = 0;
        let mut words: Vec<Word> = Vec::new();
        loop {
            let rest = &line[at..];
            let blank = rest.len() - rest.trim_start().len();
            at += blank;
            let Some(first) = line[at..].chars().next().filter(|first| *first != '#') else {
                return words;
            };
            let place = self.place(line, number, at);
            if first != '"' {
                let length = line[at..]
                    .find(|c: char| c.is_whitespace() || c == '#')
                    .unwrap_or(line.len() - at);
                words.push(Word { text: line[at..at + length].to_owned(), place });
                at += length;
                continue;
            }
            let long = words.first().is_some_and(|word| word.text == LONG_ATTRIBUTE);
            let mut text = String::new();
            at += 1;
            while let Err(()) = unquote(line, &mut at, &mut text) {
                match long.then(|| self.take_line()).flatten() {
                    Some((next, next_number)) => (line, number, at) = (next, next_number, 0),
                    None => {
                        let advice = "end the value with \" on the same line";
                        self.remarks.mistake(&place, "a quote is not closed", Some(advice.into()));
                        return words;
                    }
                }
                text.push('\n');
            }
            words.push(Word { text, place });
        }
    }
}

/// Adds what stands before the closing quote to `text`, and moves behind the quote; `Err` where the
/// line has none.
fn unquote(line: &str, at: &mut usize, text: &mut String) -> Result<(), ()> {
    let mut letters = line[*at..].char_indices().peekable();
    while let Some((offset, letter)) = letters.next() {
        match (letter, letters.peek()) {
            ('\\', Some((_, next @ ('"' | '\\')))) => {
                text.push(*next);
                letters.next();
            }
            ('"', _) => {
                *at += offset + 1;
                return Ok(());
            }
            _ => text.push(letter),
        }
    }
    Err(())
}
