//! `Define` and `DefMethod`: on one line as written, or the parameters, each option and the body
//! below each other.

use super::pieces::{Gap, Piece};
use super::rows::rows;
use super::spacing::{Names, line, part};
use super::{INDENT, WIDTH};
use crate::token::Kind;
use crate::words;

/// A definition cut into its parts.
struct Definition<'p, 'a> {
    /// `Define name`.
    name: &'p [Piece<'a>],
    parameters: &'p [Piece<'a>],
    close: &'p Piece<'a>,
    /// Description, options and code.
    parts: Vec<&'p [Piece<'a>]>,
}

/// The definition at `indent`; none if comments stand where no line may end.
pub(super) fn definition(pieces: &[Piece<'_>], indent: usize) -> Option<String> {
    let whole = cut(pieces)?;
    if let Some(text) = in_one_line(&whole, pieces, indent) {
        return Some(text);
    }
    let mut text = head(&whole, indent)?;
    for pieces in &whole.parts {
        below(&mut text, &pieces[0].gap, indent)?;
        text.push_str(&part(pieces, indent)?);
    }
    Some(text)
}

fn cut<'p, 'a>(pieces: &'p [Piece<'a>]) -> Option<Definition<'p, 'a>> {
    let open = pieces.iter().position(|piece| piece.is("("))?;
    let close = open + closing(&pieces[open..])?;
    Some(Definition {
        name: &pieces[..open],
        parameters: &pieces[open + 1..close],
        close: &pieces[close],
        parts: parts(&pieces[close + 1..]),
    })
}

/// How far the parenthesis at the start reaches.
fn closing(pieces: &[Piece<'_>]) -> Option<usize> {
    let mut depth = 0_usize;
    pieces.iter().position(|piece| {
        depth += usize::from(piece.is("("));
        depth -= usize::from(piece.is(")"));
        depth == 0
    })
}

/// Description, each option, and the code.
pub(super) fn parts<'p, 'a>(pieces: &'p [Piece<'a>]) -> Vec<&'p [Piece<'a>]> {
    let mut parts = Vec::new();
    let mut rest = pieces;
    while !rest.is_empty() {
        let (part, others) = rest.split_at(part_length(rest));
        parts.push(part);
        rest = others;
    }
    parts
}

/// Pieces of the part that begins here, with the comma behind it.
fn part_length(pieces: &[Piece<'_>]) -> usize {
    let first = &pieces[0];
    let starts = |at: usize| {
        let piece = &pieces[at];
        let option = piece.kind == Kind::Word && words::OPTIONS.contains(&piece.text);
        // Neighbouring strings are one description; those of an alias are its own.
        let listed = first.text == "Alias" || first.kind == Kind::Text && !pieces[at - 1].is(",");
        option || piece.kind == Kind::Body || (piece.kind == Kind::Text && !listed)
    };
    let begin = match first.text {
        "Calls" => return pieces.len(),
        "Required" | "Backend" | "Shrink" | "Language" => 2,
        _ => 1,
    };
    (begin..pieces.len()).find(|at| starts(*at)).unwrap_or(pieces.len())
}

/// The whole definition on the line on which the author had it, if it fits. A body may follow
/// below.
fn in_one_line(whole: &Definition<'_, '_>, pieces: &[Piece<'_>], indent: usize) -> Option<String> {
    let (last, head) = pieces.split_last()?;
    let body = last.kind == Kind::Body;
    let own = if body { head } else { pieces };
    if own[1..].iter().any(|piece| piece.gap.breaks()) {
        return None;
    }
    let mut text =
        format!("{}({})", line(whole.name, Names::Varying)?, line(whole.parameters, Names::Never)?);
    if !whole.close.gap.remarks.is_empty()
        || whole.parameters.first().is_some_and(|first| !first.gap.remarks.is_empty())
    {
        return None;
    }
    for part_pieces in &whole.parts {
        let code = part_pieces[0].kind == Kind::Body;
        if !part_pieces[0].gap.remarks.is_empty() {
            return None;
        }
        text.push_str(&if code && part_pieces[0].gap.breaks() {
            format!("\n{}", " ".repeat(indent))
        } else {
            " ".into()
        });
        text.push_str(&part(part_pieces, 0)?);
    }
    let fits = indent + text.lines().next().map_or(0, |line| line.chars().count()) <= WIDTH;
    (fits && (body || !text.contains('\n'))).then_some(text)
}

/// `Define name(…)`, on one line as written, or with a line for each parameter.
fn head(whole: &Definition<'_, '_>, indent: usize) -> Option<String> {
    let name = line(whole.name, Names::Varying)?;
    let gaps = whole.parameters.iter().chain([whole.close]).map(|piece| &piece.gap);
    let written_in_one = gaps.clone().all(|gap| !gap.breaks() && gap.remarks.is_empty());
    if written_in_one
        || (whole.parameters.is_empty() && gaps.clone().all(|gap| gap.remarks.is_empty()))
    {
        let text = format!("{name}({})", line(whole.parameters, Names::Never)?);
        if indent + text.chars().count() <= WIDTH || whole.parameters.is_empty() {
            return Some(text);
        }
    }
    let list = rows(whole.parameters, ",", whole.close, indent + INDENT)?;
    Some(format!("{name}({list}\n{})", " ".repeat(indent)))
}

/// Goes to the next line, with the comments that stand before it.
pub(super) fn below(text: &mut String, gap: &Gap<'_>, indent: usize) -> Option<()> {
    for remark in &gap.remarks {
        if remark.is_directive() {
            return None;
        }
        match remark.line_ends {
            0 => text.push(' '),
            _ => text.push_str(&format!("\n{}", " ".repeat(indent))),
        }
        text.push_str(remark.text);
    }
    text.push_str(&format!("\n{}", " ".repeat(indent)));
    Some(())
}
