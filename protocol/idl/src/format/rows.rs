//! Parameters and fields below each other: one a line, descriptions and comments in columns.

use super::WIDTH;
use super::pieces::{Gap, Piece};
use super::spacing::{Names, filled, line, words};
use crate::token::Kind;

/// One line of a list.
struct Row {
    /// Comments on lines of their own before it.
    above: Vec<String>,
    empty_line: bool,
    declaration: String,
    /// The description, with what follows it; several where the author ended a line between two
    /// strings.
    description: Vec<String>,
    separator: &'static str,
    /// A comment at the end of the line.
    beside: String,
}

/// A list cut at its commas or semicolons, in lines at `indent`; `end` is the token behind it. None
/// where comments stand in the midst of a row.
pub(super) fn rows(
    pieces: &[Piece<'_>],
    separator: &'static str,
    end: &Piece<'_>,
    indent: usize,
) -> Option<String> {
    let mut list: Vec<Row> = Vec::new();
    let mut opening = String::new();
    for own in cut(pieces, separator) {
        let remarks = Remarks::of(&own[0].gap)?;
        list.last_mut().map_or(&mut opening, |row| &mut row.beside).push_str(&remarks.beside);
        let mut row = Row::new(own, separator)?;
        row.above = remarks.above;
        row.empty_line = own[0].gap.has_empty_line() && !list.is_empty();
        list.push(row);
    }
    let remarks = Remarks::of(&end.gap)?;
    list.last_mut()?.beside.push_str(&remarks.beside);
    let mut text = opening;
    write_rows(&mut text, &list, indent);
    remarks
        .above
        .iter()
        .for_each(|remark| text.push_str(&format!("\n{}{remark}", " ".repeat(indent))));
    Some(text)
}

/// The rows of a list, each with its comma or semicolon.
fn cut<'p, 'a>(pieces: &'p [Piece<'a>], separator: &str) -> Vec<&'p [Piece<'a>]> {
    let mut depth = 0_usize;
    let ends = |piece: &Piece<'_>| {
        match piece.text {
            "(" | "[" => depth += 1,
            ")" | "]" => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && piece.is(separator)
    };
    pieces.split_inclusive(ends).collect()
}

/// The comments before a row.
struct Remarks {
    /// At the end of the line before.
    beside: String,
    /// On lines of their own.
    above: Vec<String>,
}

impl Remarks {
    fn of(gap: &Gap<'_>) -> Option<Remarks> {
        if gap.remarks.iter().any(|remark| remark.is_directive()) {
            return None;
        }
        // Between two rows of one line: it belongs to the second.
        let in_line = gap.line_ends == 0
            && gap.remarks.iter().all(|remark| remark.line_ends == 0 && remark.fits_in_line());
        let begin =
            gap.remarks.iter().take_while(|remark| remark.line_ends == 0 && !in_line).count();
        let text = |remark: &super::pieces::Remark<'_>| remark.text.to_owned();
        let (beside, above) = gap.remarks.split_at(begin);
        let beside = beside.iter().map(|remark| format!(" {}", remark.text)).collect();
        Some(Remarks { beside, above: above.iter().map(text).collect() })
    }
}

impl Row {
    fn new(pieces: &[Piece<'_>], separator: &'static str) -> Option<Row> {
        let (last, rest) = pieces.split_last()?;
        let separated = last.is(separator);
        let own = if separated { rest } else { pieces };
        if separated && !last.gap.remarks.is_empty() {
            return None;
        }
        let split = description(own).unwrap_or(own.len());
        // Lines end between neighbouring strings alone: a width of nothing else matters here.
        let text = if split < own.len() {
            filled(&words(&own[split..], Names::Never)?, 0, 0)
        } else {
            String::new()
        };
        if own.get(split).is_some_and(|first| split > 0 && !first.gap.remarks.is_empty()) {
            return None;
        }
        Some(Row {
            above: Vec::new(),
            empty_line: false,
            declaration: line(&own[..split], Names::Never)?,
            description: text.lines().map(str::to_owned).collect(),
            separator: if separated { separator } else { "" },
            beside: String::new(),
        })
    }
}

/// Where the description of a parameter begins: at a string that is no clause's own, outside of
/// parentheses.
fn description(pieces: &[Piece<'_>]) -> Option<usize> {
    let mut depth = 0_usize;
    (0..pieces.len()).find(|&at| {
        match pieces[at].text {
            "(" | "[" => depth += 1,
            ")" | "]" => depth = depth.saturating_sub(1),
            _ => {}
        }
        let owned = at
            .checked_sub(1)
            .is_some_and(|before| ["among", "unit"].contains(&pieces[before].text));
        pieces[at].kind == Kind::Text && depth == 0 && !owned
    })
}

fn write_rows(text: &mut String, rows: &[Row], indent: usize) {
    let width = |text: &str| text.chars().count();
    let described = rows.iter().filter(|row| !row.description.is_empty());
    let cells = described.map(|row| {
        let widest = row.description.iter().map(|line| width(line)).max().unwrap_or(0);
        (indent + width(&row.declaration) + 2, widest + row.separator.len())
    });
    let place = column(cells.collect(), 4);
    let lines: Vec<String> = rows.iter().map(|row| row_text(row, indent, place)).collect();
    let last_width = |lines: &str| width(lines.rsplit('\n').next().unwrap_or(lines));
    let remarked = rows.iter().zip(&lines).filter(|(row, _)| !row.beside.is_empty());
    let beside =
        column(remarked.map(|(row, lines)| (last_width(lines), width(&row.beside))).collect(), 1);
    for (row, lines) in rows.iter().zip(lines) {
        let blank = " ".repeat(indent);
        text.push_str(if row.empty_line { "\n\n" } else { "\n" });
        row.above.iter().for_each(|remark| text.push_str(&format!("{blank}{remark}\n")));
        let padding =
            if row.beside.is_empty() { 0 } else { beside.saturating_sub(last_width(&lines)) };
        text.push_str(&format!("{lines}{}{}", " ".repeat(padding), row.beside));
    }
}

/// A row, without its comments; its description begins at column `place`.
fn row_text(row: &Row, indent: usize, place: usize) -> String {
    let mut text = format!("{}{}", " ".repeat(indent), row.declaration);
    for (number, line) in row.description.iter().enumerate() {
        let width = text.chars().count();
        match number {
            0 if row.declaration.is_empty() => {}
            0 => text.push_str(&" ".repeat(place.saturating_sub(width).max(1))),
            _ => text.push_str(&format!("\n{}", " ".repeat(place))),
        }
        text.push_str(line);
    }
    text + row.separator
}

/// The column of second cells: behind the longest first cell for which every line still fits. Cells
/// are (width of the first, width of the second).
fn column(mut cells: Vec<(usize, usize)>, step: usize) -> usize {
    cells.sort_unstable();
    let fits = |place: usize| {
        cells.iter().all(|(first, second)| *first.max(&place) + second <= WIDTH || *first > place)
    };
    let mut places = cells.iter().rev().map(|(first, _)| first.next_multiple_of(step));
    places.clone().find(|place| fits(*place)).or(places.next_back()).unwrap_or(0)
}
