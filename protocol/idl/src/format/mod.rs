//! Interface files in their canonical layout: same words, same comments, other blanks (`farcall
//! fmt`).
//!
//! What is laid out are tokens, not what they mean: a declaration is written again only if the same
//! tokens and comments are in it afterwards, and stays as it is otherwise. So no file can come to
//! mean something else.

mod definition;
mod pieces;
mod rows;
mod spacing;
mod structural;

use crate::compile::{FILE_BYTES_MAX, compile, needs_preprocessor};
use crate::diagnostic::{Diagnostics, Problems};
use crate::lexer;
use crate::source::Source;
use crate::token::Kind;
use crate::words;
use pieces::{Gap, Piece};
use spacing::{Names, line};

/// Columns of a line, where that is possible: as the project's own files have it.
const WIDTH: usize = 120;
/// One level of a list or class.
const INDENT: usize = 4;

/// The text in its canonical layout, of which formatting again changes nothing.
///
/// # Errors
/// The mistakes of a text that does not compile. A text for the C preprocessor is not compiled, and
/// what only the preprocessor understands is left as it is.
pub fn format(file: &str, text: &str) -> Result<String, Diagnostics> {
    if !needs_preprocessor(text) || text.len() > FILE_BYTES_MAX {
        compile(file, text)?;
    }
    let mut source = Source::new(file, text);
    let mut problems = Problems::default();
    let lexed = lexer::scan(&mut source, &mut problems);
    if !problems.is_empty() {
        return Err(problems.finish(&source));
    }
    let pieces = pieces::read(text, &lexed.tokens);
    let mut out = Writer::default();
    let (end, all) = pieces.split_last().expect("the last token is the end");
    declarations(&mut out, text, all, 0);
    out.gap(&end.gap, 0);
    let trimmed = out.text.trim_end();
    Ok(if trimmed.is_empty() { String::new() } else { format!("{trimmed}\n") })
}

/// What is written so far.
#[derive(Default)]
struct Writer {
    text: String,
}

impl Writer {
    /// Goes to a new line, and leaves one empty where the author left any.
    fn next_line(&mut self, line_ends: usize, indent: usize) {
        if !self.text.is_empty() {
            self.text.push_str(if line_ends > 1 { "\n\n" } else { "\n" });
        }
        self.text.push_str(&" ".repeat(indent));
    }

    /// What stands between two declarations: comments and directives stay on their lines.
    fn gap(&mut self, gap: &Gap<'_>, indent: usize) {
        for remark in &gap.remarks {
            if remark.line_ends == 0 && !self.text.is_empty() {
                self.text.push(' ');
            } else {
                self.next_line(remark.line_ends, if remark.is_directive() { 0 } else { indent });
            }
            self.text.push_str(remark.text);
        }
    }
}

/// Writes declarations of a file, or members of a class.
fn declarations(out: &mut Writer, text: &str, pieces: &[Piece<'_>], indent: usize) {
    let mut at = 0;
    while let Some(first) = pieces.get(at) {
        let length = extent(&pieces[at..]);
        let whole = &pieces[at..at + length];
        if first.is(";") && first.gap.remarks.is_empty() && !out.text.is_empty() {
            out.text.push(';');
        } else {
            out.gap(&first.gap, indent);
            out.next_line(first.gap.line_ends, indent);
            let written = &text[first.start..whole[length - 1].end];
            out.text.push_str(&kept(written, laid_out(text, whole, indent)));
        }
        at += length;
    }
}

/// The layout if it has all that was written, else what was written.
fn kept(written: &str, laid_out: Option<String>) -> String {
    laid_out.filter(|text| content(text) == content(written)).unwrap_or_else(|| written.to_owned())
}

/// Words, signs and comments of a text in their order.
fn content(text: &str) -> Vec<&str> {
    let lexed = lexer::scan(&mut Source::new("", text), &mut Problems::default());
    let pieces = pieces::read(text, &lexed.tokens);
    let mut content = Vec::with_capacity(pieces.len());
    let mut remarks = Vec::new();
    for piece in pieces {
        // A comment may come to stand on the other side of a comma.
        remarks.extend(piece.gap.remarks.iter().map(|remark| remark.text));
        content.push(piece.text);
    }
    content.extend(remarks);
    content
}

/// A declaration in its layout, at `indent`; none where comments stand in its midst, or it is not
/// understood.
fn laid_out(text: &str, pieces: &[Piece<'_>], indent: usize) -> Option<String> {
    match pieces[0].text {
        "Define" | "DefMethod" => definition::definition(pieces, indent),
        "DefClass" => structural::class(text, pieces, indent),
        "Struct" => structural::structure(pieces, indent),
        "Variants" => {
            Some(spacing::filled(&spacing::words(pieces, Names::Words)?, indent, "Variants ".len()))
        }
        word if is_declaration(pieces) || word == "DefState" => line(pieces, Names::Words),
        _ => None,
    }
}

/// Whether a declaration or member begins here.
fn is_declaration(pieces: &[Piece<'_>]) -> bool {
    let symbol = |at: usize, wanted: &str| pieces.get(at).is_some_and(|piece| piece.is(wanted));
    match pieces[0].text {
        _ if pieces[0].kind != Kind::Word => false,
        "Struct" => symbol(2, "{"),
        "Variants" => symbol(1, "?") || symbol(1, ";"),
        "DefMethod" | "DefState" => true,
        word => words::DECLARATIONS.contains(&word),
    }
}

/// How many pieces belong to what begins here; at least one.
fn extent(pieces: &[Piece<'_>]) -> usize {
    let ends =
        |wanted: &dyn Fn(&Piece<'_>) -> bool| pieces.iter().position(wanted).map(|at| at + 1);
    let found = match pieces[0].text {
        _ if !is_declaration(pieces) => None,
        "Define" | "DefMethod" => ends(&|piece| piece.kind == Kind::Body || piece.is(";")),
        "DefClass" | "Struct" => ends(&|piece| piece.is("}")),
        "Globals" | "DefState" => ends(&|piece| piece.kind == Kind::Body),
        _ => ends(&|piece| piece.is(";")),
    };
    // What only the preprocessor understands reaches to the next declaration that begins a line.
    let begins = |at: usize| pieces[at].gap.breaks() && is_declaration(&pieces[at..]);
    found.unwrap_or_else(|| match pieces[0].is(";") {
        true => 1,
        false => (1..pieces.len()).find(|at| begins(*at)).unwrap_or(pieces.len()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_change_the_words_is_not_written() {
        let written = "Define f(IN int n /* how many */)  Calls f(n);";
        assert_eq!(
            kept(written, Some("Define f(IN int n /* how many */) Calls f(n);".into())).len(),
            written.len() - 1
        );
        assert_eq!(kept(written, Some("Define f(IN int n) Calls f(n);".into())), written);
        assert_eq!(
            kept(written, Some("Define f(IN int m /* how many */) Calls f(n);".into())),
            written
        );
        assert_eq!(kept(written, None), written);
    }
}
