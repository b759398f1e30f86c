//! Statements of a source: comments and continuations of free and fixed form, and what is included
//! (Fortran 2018, sections 6.3 and 6.4).

use crate::fixed::respaced;
use crate::{FILE_BYTES_MAX, Problem};

/// Gives the text of a file that this source includes.
pub type Included<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// Columns that count in fixed form, unless a compiler is told otherwise.
pub const FIXED_WIDTH: usize = 72;

/// How a source is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Comments begin with `!`, and `&` continues a line.
    Free,
    /// Columns have meanings: comment, label, continuation, text up to this column.
    Fixed(usize),
}

impl Form {
    /// The form that a file's ending stands for.
    pub fn of(name: &str) -> Form {
        let ending = name.rsplit('.').next().unwrap_or("").to_ascii_lowercase();
        if ["f", "for", "ftn", "f77"].contains(&ending.as_str()) {
            Form::Fixed(FIXED_WIDTH)
        } else {
            Form::Free
        }
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
    /// Fixed form's label; that of free form is the first word of the text.
    pub label: String,
}

/// Lines of one statement at most; the standard has 255, compilers more.
const LINES_MAX: usize = 2000;

/// Files that include one another go at most so deep.
const INCLUDES_MAX: usize = 20;

/// Cuts a source into statements. An INCLUDE of which there is no text stays a statement, with the
/// reason for its comment.
pub fn statements(
    text: &str,
    form: Form,
    includes: Included<'_>,
) -> Result<Vec<Statement>, Problem> {
    let mut reader = Reader {
        form,
        includes,
        statements: Vec::new(),
        open: None,
        heading_may_follow: true,
        lines: 0,
        depth: 0,
        bytes: 0,
    };
    reader.file(text)?;
    Ok(reader.statements)
}

/// Whether a line asks something of the preprocessor; marks that it left itself ask nothing.
pub fn is_directive(line: &str) -> bool {
    line.strip_prefix('#').is_some_and(|rest| line_mark(rest).is_none())
}

/// `# 12 "file.F90" 2`: the number and the file of the next line.
fn line_mark(behind: &str) -> Option<(usize, &str)> {
    let (number, rest) = behind.trim_start().split_once(' ').unwrap_or((behind.trim(), ""));
    Some((number.parse().ok()?, rest.split('"').nth(1).unwrap_or("")))
}

/// Numbers of lines, as marks give them: what came from other files stands where those were
/// included.
#[derive(Default)]
struct Numbers<'a> {
    line: usize,
    own_file: Option<&'a str>,
    elsewhere: bool,
}

impl<'a> Numbers<'a> {
    /// That of the next line.
    fn next(&mut self) -> usize {
        self.line += usize::from(!self.elsewhere);
        self.line
    }

    /// Goes where a mark says. The first one names the file itself.
    fn mark(&mut self, number: usize, file: &'a str) {
        self.elsewhere = *self.own_file.get_or_insert(file) != file;
        if !self.elsewhere {
            self.line = number.saturating_sub(1);
        }
    }
}

struct Reader<'a> {
    form: Form,
    includes: Included<'a>,
    statements: Vec<Statement>,
    /// A statement that may go on, and whether it must (free form).
    open: Option<(Statement, bool)>,
    /// Whether `REALFUNCTIONX(N)` is the heading of a function here, or declares an array.
    heading_may_follow: bool,
    lines: usize,
    /// Of files that include one another.
    depth: usize,
    /// Of all that was read.
    bytes: usize,
}

/// The file that an INCLUDE line names.
fn included(statement: &str) -> Option<&str> {
    let (word, rest) = statement.split_at_checked("include".len())?;
    let name = rest.trim();
    let quote = name
        .chars()
        .next()
        .filter(|first| ['\'', '"'].contains(first) && word.eq_ignore_ascii_case("include"))?;
    name[1..].strip_suffix(quote)
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
                return (
                    &line[..index],
                    line[index + 1..].trim_start_matches(['!', '<', '>', ' ']).trim(),
                );
            }
            None => {}
        }
    }
    (line, "")
}

impl Reader<'_> {
    /// All lines of a file.
    fn file(&mut self, text: &str) -> Result<(), Problem> {
        self.bytes = self.bytes.saturating_add(text.len());
        if self.bytes > FILE_BYTES_MAX {
            return Err(Problem::new(
                1,
                format!("the file has more than {FILE_BYTES_MAX} bytes, with what it includes"),
            ));
        }
        let mut numbers = Numbers::default();
        for line in text.lines() {
            let number = numbers.next();
            if is_directive(line) {
                let advice = "run the preprocessor first: gfortran -E -cpp file.F90 > file.f90";
                return Err(Problem::new(number, format!("a line for the preprocessor; {advice}")));
            }
            match (line.strip_prefix('#').and_then(line_mark), self.form) {
                (Some((number, file)), _) => numbers.mark(number, file),
                (None, Form::Free) => self.free(number, line)?,
                (None, Form::Fixed(width)) => self.fixed(number, line, width)?,
            }
        }
        self.end()
    }

    /// Puts the statements of another file in the place of an INCLUDE line, at whose number they
    /// stand.
    fn include(&mut self, statement: &Statement, name: &str) -> Result<(), Problem> {
        let text = match (self.includes)(name) {
            Ok(text) => text,
            Err(why) => {
                self.statements.push(Statement { comment: why, ..statement.clone() });
                return Ok(());
            }
        };
        if self.depth == INCLUDES_MAX {
            let message = format!(
                "{name} is included in {INCLUDES_MAX} files, one in the other; does it include \
                    itself?"
            );
            return Err(Problem::new(statement.line, message));
        }
        let begin = self.statements.len();
        self.depth += 1;
        let read = self.file(&text);
        self.depth -= 1;
        read.map_err(|problem| {
            Problem::new(
                statement.line,
                format!("{name}, line {}: {}", problem.line, problem.message),
            )
        })?;
        self.statements[begin..].iter_mut().for_each(|one| one.line = statement.line);
        Ok(())
    }

    /// A line of free form.
    fn free(&mut self, number: usize, line: &str) -> Result<(), Problem> {
        let (code, comment) = split_comment(line);
        let mut code = code.trim();
        if code.is_empty() {
            // Comments and blank lines may stand between continued ones.
            return Ok(());
        }
        let continues = self.open.as_ref().is_some_and(|(_, more)| *more);
        if !continues {
            self.end()?;
        } else if let Some(rest) = code.strip_prefix('&') {
            // What is broken within a word goes on without a blank.
            code = rest;
            if let Some((statement, _)) = &mut self.open {
                statement.text.pop();
            }
        }
        let more = code.ends_with('&');
        let code = code.strip_suffix('&').unwrap_or(code);
        self.add(number, code, comment, more)
    }

    /// A line of fixed form.
    fn fixed(&mut self, number: usize, line: &str, width: usize) -> Result<(), Problem> {
        let first = line.bytes().next().unwrap_or(b' ');
        if matches!(first, b'c' | b'C' | b'*' | b'!' | b'd' | b'D') || line.trim().is_empty() {
            return Ok(());
        }
        // An INCLUDE line may begin anywhere.
        let (continues, code) = match included(split_comment(line).0.trim()) {
            Some(_) => (false, line),
            None => fixed_columns(line, width),
        };
        let (code, comment) = split_comment(code);
        if continues || !code.trim().is_empty() {
            check_label(number, line, code)?;
        }
        if !continues {
            self.end()?;
        }
        if code.trim().is_empty() {
            return Ok(());
        }
        self.add(number, code, comment, false)?;
        if let (false, Some((statement, _))) = (continues, &mut self.open) {
            statement.label = label(line);
        }
        Ok(())
    }

    /// Puts a line behind what is open. The comment is the last line's: it stands beside what it
    /// describes.
    fn add(&mut self, number: usize, code: &str, comment: &str, more: bool) -> Result<(), Problem> {
        let (statement, must) = self.open.get_or_insert_with(|| {
            self.lines = 0;
            (Statement { line: number, ..Statement::default() }, false)
        });
        self.lines += 1;
        if self.lines > LINES_MAX {
            return Err(Problem::new(
                number,
                format!("a statement of more than {LINES_MAX} lines"),
            ));
        }
        statement.text.push_str(code);
        statement.text.push(' ');
        statement.comment = comment.to_owned();
        *must = more;
        Ok(())
    }

    /// Ends the statement that is open: one, or several between semicolons.
    fn end(&mut self) -> Result<(), Problem> {
        let Some((statement, _)) = self.open.take() else { return Ok(()) };
        for part in split_semicolons(&statement.text) {
            let mut part = Statement { text: part.trim().to_owned(), ..statement.clone() };
            if self.form != Form::Free && included(&part.text).is_none() {
                part.text = respaced(&part.text, self.heading_may_follow);
                self.heading_may_follow = heading_may_follow(&part.text);
            }
            match included(&part.text) {
                Some(name) => self.include(&part, name)?,
                None if part.text.is_empty() => {}
                None => self.statements.push(part),
            }
        }
        Ok(())
    }
}

/// Refuses letters where fixed form has labels: the line is of free form, and read as fixed form it
/// would lose them.
fn check_label(number: usize, line: &str, code: &str) -> Result<(), Problem> {
    let is_whole = code.len() == line.len();
    let label = line.split('\t').next().unwrap_or_default();
    if is_whole || !label.chars().take(5).any(|one| one.is_ascii_alphabetic()) {
        return Ok(());
    }
    let message = "letters before column 6, where fixed form has labels: a name that ends in .f, \
                   .for, .ftn or .f77 stands for fixed form; end that of a source of free form in \
                   .f90, or set FC='gfortran -ffree-form'";
    Err(Problem::new(number, message))
}

/// The number in the first columns of a line of fixed form.
fn label(line: &str) -> String {
    line.chars().take(5).take_while(|one| *one != '\t').filter(char::is_ascii_digit).collect()
}

/// Whether a unit may begin behind this statement.
fn heading_may_follow(statement: &str) -> bool {
    let words: Vec<&str> = statement.split_whitespace().take(2).collect();
    match words.first().map(|word| word.to_ascii_lowercase()).as_deref() {
        Some("end") => {
            let parts = ["do", "if", "select", "where", "forall", "type", "associate", "interface"];
            !words.get(1).is_some_and(|word| parts.contains(&word.to_ascii_lowercase().as_str()))
        }
        Some("contains" | "interface" | "abstract") => true,
        _ => false,
    }
}

/// Whether a line of fixed form continues the last one, and its columns from 7 to the last that
/// counts.
fn fixed_columns(line: &str, width: usize) -> (bool, &str) {
    if let Some(rest) = line.strip_prefix('\t') {
        // A tab stands for the first columns; a digit behind it continues.
        let digit = rest.starts_with(|one: char| ('1'..='9').contains(&one));
        return (digit, if digit { &rest[1..] } else { rest });
    }
    let mark = line.chars().nth(5).is_some_and(|one| one != ' ' && one != '0');
    let from = |count: usize| line.char_indices().nth(count).map_or(line.len(), |(index, _)| index);
    (mark, &line[from(6)..from(width)])
}

/// Statements of one line; a semicolon in a text parts nothing.
fn split_semicolons(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut begin = 0;
    let mut quote = None;
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
