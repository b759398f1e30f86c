//! Statements of a source: comments and continuations of free and fixed form (Fortran 2018, section 6.3).

use crate::{FILE_BYTES_MAX, Problem};

/// How a source is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Comments begin with `!`, and `&` continues a line.
    Free,
    /// Columns have meanings: comment, label, continuation, text up to column 72.
    Fixed,
}

impl Form {
    /// The form that a file's ending stands for.
    pub fn of(name: &str) -> Form {
        let ending = name.rsplit('.').next().unwrap_or("").to_ascii_lowercase();
        if ["f", "for", "ftn", "f77"].contains(&ending.as_str()) { Form::Fixed } else { Form::Free }
    }
}

/// A statement with all its lines joined.
#[derive(Clone, Debug, Default)]
pub struct Statement {
    /// Where it begins, from 1.
    pub line: usize,
    pub text: String,
    /// The comment behind its last line.
    pub comment: String,
}

/// Lines of one statement at most; the standard has 255, compilers more.
const LINES_MAX: usize = 2000;

/// Cuts a source into statements.
pub fn statements(text: &str, form: Form) -> Result<Vec<Statement>, Problem> {
    if text.len() > FILE_BYTES_MAX {
        return Err(Problem::new(1, format!("the file has more than {FILE_BYTES_MAX} bytes")));
    }
    let mut reader = Reader { statements: Vec::new(), open: None, lines: 0 };
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        if line.starts_with('#') && !line.starts_with("# ") {
            let advice = "run the preprocessor first: gfortran -E -cpp file.F90 > file.f90";
            return Err(Problem::new(number, format!("a line for the preprocessor; {advice}")));
        }
        if line.starts_with('#') {
            // A line mark that the preprocessor left.
            continue;
        }
        match form {
            Form::Free => reader.free(number, line)?,
            Form::Fixed => reader.fixed(number, line)?,
        }
    }
    reader.end();
    Ok(reader.statements)
}

struct Reader {
    statements: Vec<Statement>,
    /// A statement that may go on, and whether it must (free form).
    open: Option<(Statement, bool)>,
    lines: usize,
}

/// The code of a line, and its comment. A text that goes on over the line's end stays open.
fn split_comment(line: &str) -> (&str, &str) {
    let mut quote = None;
    for (index, byte) in line.bytes().enumerate() {
        match quote {
            Some(open) if byte == open => quote = None,
            Some(_) => {}
            None if byte == b'\'' || byte == b'"' => quote = Some(byte),
            None if byte == b'!' => {
                return (&line[..index], line[index + 1..].trim_start_matches(['!', '<', '>', ' ']).trim());
            }
            None => {}
        }
    }
    (line, "")
}

impl Reader {
    /// A line of free form.
    fn free(&mut self, number: usize, line: &str) -> Result<(), Problem> {
        let (code, comment) = split_comment(line);
        let mut code = code.trim();
        if code.is_empty() {
            // Comments and blank lines may stand between continued ones.
            return Ok(());
        }
        let continues = self.open.as_ref().is_some_and(|(_, more)| *more);
        if continues {
            code = code.strip_prefix('&').unwrap_or(code);
        } else {
            self.end();
        }
        let more = code.ends_with('&');
        let code = code.strip_suffix('&').unwrap_or(code);
        self.add(number, code, comment, more)
    }

    /// A line of fixed form. Labels in the first columns mean nothing here.
    fn fixed(&mut self, number: usize, line: &str) -> Result<(), Problem> {
        let first = line.bytes().next().unwrap_or(b' ');
        if matches!(first, b'c' | b'C' | b'*' | b'!' | b'd' | b'D') || line.trim().is_empty() {
            return Ok(());
        }
        let (continues, code) = fixed_columns(line);
        let (code, comment) = split_comment(code);
        if !continues {
            self.end();
        }
        if code.trim().is_empty() {
            return Ok(());
        }
        self.add(number, code, comment, false)
    }

    /// Puts a line behind what is open. The comment is the last line's: it stands beside what it describes.
    fn add(&mut self, number: usize, code: &str, comment: &str, more: bool) -> Result<(), Problem> {
        let (statement, must) = self.open.get_or_insert_with(|| {
            self.lines = 0;
            (Statement { line: number, ..Statement::default() }, false)
        });
        self.lines += 1;
        if self.lines > LINES_MAX {
            return Err(Problem::new(number, format!("a statement of more than {LINES_MAX} lines")));
        }
        statement.text.push_str(code);
        statement.text.push(' ');
        statement.comment = comment.to_owned();
        *must = more;
        Ok(())
    }

    /// Ends the statement that is open: one, or several between semicolons.
    fn end(&mut self) {
        let Some((statement, _)) = self.open.take() else { return };
        for part in split_semicolons(&statement.text) {
            if !part.trim().is_empty() {
                self.statements.push(Statement { text: part.trim().to_owned(), ..statement.clone() });
            }
        }
    }
}

/// Whether a line of fixed form continues the last one, and its columns from 7 to 72.
fn fixed_columns(line: &str) -> (bool, &str) {
    if let Some(rest) = line.strip_prefix('\t') {
        // A tab stands for the first columns; a digit behind it continues.
        let digit = rest.starts_with(|one: char| ('1'..='9').contains(&one));
        return (digit, if digit { &rest[1..] } else { rest });
    }
    let mark = line.chars().nth(5).is_some_and(|one| one != ' ' && one != '0');
    let from = |count: usize| line.char_indices().nth(count).map_or(line.len(), |(index, _)| index);
    (mark, &line[from(6)..from(72)])
}

/// Statements of one line; a semicolon in a text parts nothing.
fn split_semicolons(text: &str) -> Vec<&str> {
    let (mut parts, mut begin, mut quote) = (Vec::new(), 0, None);
    for (index, byte) in text.bytes().enumerate() {
        match quote {
            Some(open) if byte == open => quote = None,
            Some(_) => {}
            None if byte == b'\'' || byte == b'"' => quote = Some(byte),
            None if byte == b';' => {
                parts.push(&text[begin..index]);
                begin = index + 1;
            }
            None => {}
        }
    }
    parts.push(&text[begin..]);
    parts
}
