//! `DefClass` and `Struct`: the declarations whose braces hold declarations.

use super::definition::{below, parts};
use super::pieces::Piece;
use super::rows::rows;
use super::spacing::{Names, line, part};
use super::{INDENT, WIDTH, Writer, declarations};

/// A class at `indent`: its options as a routine's, its members one level deeper.
pub(super) fn class(text: &str, pieces: &[Piece<'_>], indent: usize) -> Option<String> {
    let open = pieces.iter().position(|piece| piece.is("{"))?;
    let head = &pieces[..open];
    let members = &pieces[open + 1..pieces.len() - 1];
    let mut out = Writer::default();
    if head[1..].iter().any(|piece| piece.gap.breaks() || !piece.gap.remarks.is_empty()) {
        out.text = line(head.get(..2)?, Names::Never)?;
        for pieces in parts(&head[2..]) {
            below(&mut out.text, &pieces[0].gap, indent)?;
            out.text.push_str(&part(pieces, indent)?);
        }
        below(&mut out.text, &pieces[open].gap, indent)?;
        out.text.push('{');
    } else {
        out.text = line(head, Names::Never)?;
        // The brace stands beside what fits on its line, and below it where the author had it
        // there.
        match pieces[open].gap.breaks() {
            true => below(&mut out.text, &pieces[open].gap, indent)?,
            false => out.text.push(' '),
        }
        out.text.push('{');
    }
    declarations(&mut out, text, members, indent + INDENT);
    let end = pieces.last()?;
    out.gap(&end.gap, indent + INDENT);
    out.next_line(1, indent);
    Some(out.text + "}")
}

/// A struct at `indent`: on one line as written, or with a line for each declaration of fields.
pub(super) fn structure(pieces: &[Piece<'_>], indent: usize) -> Option<String> {
    if pieces[1..].iter().all(|piece| !piece.gap.breaks()) {
        let text = line(pieces, Names::Never)?;
        if indent + text.chars().count() <= WIDTH {
            return Some(text);
        }
    }
    let open = pieces.iter().position(|piece| piece.is("{"))?;
    let (end, fields) = pieces[open + 1..].split_last()?;
    let list = rows(fields, ";", end, indent + INDENT)?;
    Some(format!("{}{list}\n{}}}", line(&pieces[..=open], Names::Never)?, " ".repeat(indent)))
}
