//! What is wrong with an interface file: every mistake with its place, its line and the fix
//! (spec/idl.md, section 4).

use std::fmt;

use farcall_base::{Error, ErrorKind, is_obeyed, printable_line};

use crate::lexer::UNREADABLE;
use crate::nearest::nearest;
use crate::source::{Source, Span};

/// More mistakes than this are counted, not kept: nobody reads them, and output stays bounded.
pub const DIAGNOSTICS_MAX: usize = 50;

/// Columns of a source line that are shown at most.
const LINE_WIDTH_MAX: usize = 120;

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// File, as named to the compiler or by the preprocessor's line marks.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// Number of characters that are wrong, at least 1; never beyond the line.
    pub length: u32,
    /// What is wrong, in one clause.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// The line of text that holds the mistake.
    pub source_line: String,
}

/// All mistakes of a file, in the order of the text; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    omitted: usize,
}

impl Diagnostics {
    /// The mistakes, in the order of the text; at most [`DIAGNOSTICS_MAX`].
    pub fn list(&self) -> &[Diagnostic] {
        &self.list
    }

    /// Number of further mistakes that are not in the list.
    pub fn omitted(&self) -> usize {
        self.omitted
    }
}

impl Diagnostic {
    /// The part of the line to show and the caret's distance from its begin: a preprocessed line
    /// may be very long.
    fn window(&self) -> (String, usize) {
        let column = self.column.saturating_sub(1) as usize;
        let skip = if column + 20 > LINE_WIDTH_MAX {
            column.saturating_sub(LINE_WIDTH_MAX / 2)
        } else {
            0
        };
        // A tab counts as one column, so it is shown as one space.
        let shown = |c: char| if is_obeyed(c) { ' ' } else { c };
        let mut text: String =
            self.source_line.chars().skip(skip).take(LINE_WIDTH_MAX).map(shown).collect();
        let mut caret = column - skip;
        if skip > 0 {
            text.insert(0, '…');
            caret += 1;
        }
        (text.trim_end().to_string(), caret)
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        let (text, caret) = self.window();
        let width = (self.length as usize).clamp(1, LINE_WIDTH_MAX);
        writeln!(f, "error: {}", self.message)?;
        writeln!(f, "{margin}--> {}:{}:{}", self.file, self.line, self.column)?;
        writeln!(f, "{margin} |")?;
        writeln!(f, "{number} | {text}")?;
        write!(f, "{margin} | {}{}", " ".repeat(caret), "^".repeat(width))?;
        if let Some(help) = &self.help {
            write!(f, "\n{margin} = help: {help}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for diagnostic in &self.list {
            writeln!(f, "{diagnostic}\n")?;
        }
        let total = self.list.len() + self.omitted;
        write!(f, "{total} {}", if total == 1 { "error" } else { "errors" })?;
        if self.omitted > 0 {
            write!(f, ", the first {} are shown", self.list.len())?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}

impl From<Diagnostics> for Error {
    /// The first mistake as the house's error; the whole list is its source.
    fn from(diagnostics: Diagnostics) -> Error {
        let Some(first) = diagnostics.list.first() else {
            return Error::internal(
                "compile the interface",
                "the compilation failed without a mistake",
            );
        };
        let place = format!("{}:{}:{}", first.file, first.line, first.column);
        let mut error =
            Error::new(ErrorKind::InvalidSource, "compile the interface", first.message.clone());
        error =
            error.with("at", place).with("errors", diagnostics.list.len() + diagnostics.omitted);
        if let Some(help) = &first.help {
            error = error.fix(help.clone());
        }
        error.source(diagnostics)
    }
}

/// A mistake before its place is looked up.
struct Problem {
    span: Span,
    message: String,
    help: Option<String>,
}

/// Collects mistakes while a file is read.
#[derive(Default)]
pub(crate) struct Problems {
    list: Vec<Problem>,
    warnings: Vec<Problem>,
    omitted: usize,
}

impl Problems {
    /// Adds a mistake. Only the first one at a place counts: what follows is mostly its echo.
    pub(crate) fn add(&mut self, span: Span, message: impl Into<String>) {
        self.push(span, message.into(), None);
    }

    /// Adds a mistake with advice.
    pub(crate) fn add_with_help(
        &mut self,
        span: Span,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.push(span, message.into(), Some(help.into()));
    }

    /// Adds a mistake with advice where there is some.
    pub(crate) fn add_with(
        &mut self,
        span: Span,
        message: impl Into<String>,
        help: Option<String>,
    ) {
        self.push(span, message.into(), help);
    }

    /// Adds that at byte `at` of `text` something was no UTF-8.
    pub(crate) fn unreadable(&mut self, text: &str, at: usize) {
        let length =
            text[at..].chars().take_while(|c| *c == UNREADABLE).map(char::len_utf8).sum::<usize>();
        self.add_with_help(
            Span::new(at, at + length),
            "these bytes are not UTF-8 text",
            "convert the file, for instance: iconv -f latin1 -t utf-8 (old Japanese files: -f \
                euc-jp)",
        );
    }

    /// Adds what a dialect takes although it may be a mistake; what is too much to read is dropped.
    pub(crate) fn warn(&mut self, span: Span, message: impl Into<String>) {
        if self.warnings.len() < DIAGNOSTICS_MAX {
            self.warnings.push(Problem { span, message: message.into(), help: None });
        }
    }

    /// What the first of them says.
    pub(crate) fn first_message(&self) -> Option<&str> {
        self.list.first().map(|problem| problem.message.as_str())
    }

    /// Keeps the mistake, counts it, or drops it as an echo.
    fn push(&mut self, span: Span, message: String, help: Option<String>) {
        if self.list.iter().any(|problem| problem.span.start == span.start) {
            return;
        }
        if self.is_full() {
            self.omitted += 1;
        } else {
            self.list.push(Problem { span, message, help });
        }
    }

    /// Whether there is any mistake.
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether further mistakes are only counted: what is costly to say about them need not be
    /// worked out.
    pub(crate) fn is_full(&self) -> bool {
        self.list.len() >= DIAGNOSTICS_MAX
    }

    /// `did you mean 'x'?`, if any candidate is near and the advice will be shown.
    pub(crate) fn did_you_mean<'a>(
        &self,
        word: &str,
        candidates: impl IntoIterator<Item = &'a str>,
    ) -> Option<String> {
        if self.is_full() {
            return None;
        }
        nearest(word, candidates).map(|found| format!("did you mean '{}'?", shown(found)))
    }

    /// All mistakes with their places.
    pub(crate) fn finish(mut self, source: &Source<'_>) -> Diagnostics {
        self.list.sort_by_key(|problem| problem.span.start);
        let list = self.list.into_iter().map(|problem| located(problem, source)).collect();
        Diagnostics { list, omitted: self.omitted }
    }
}

impl Problems {
    /// What was taken although it may be a mistake, in the order of the text.
    pub(crate) fn warnings(mut self, source: &Source<'_>) -> Vec<Diagnostic> {
        self.warnings.sort_by_key(|problem| problem.span.start);
        self.warnings.into_iter().map(|problem| located(problem, source)).collect()
    }
}

/// Looks the place up and takes the line along, so that diagnostics outlive the text.
fn located(problem: Problem, source: &Source<'_>) -> Diagnostic {
    let place = source.place(problem.span.start);
    let line = source.line_text(problem.span.start);
    let length = source.slice(problem.span).lines().next().map_or(1, |text| text.chars().count());
    // Long lines come from macros: what is kept is enough for `window` and bounded.
    let kept = place.column as usize + LINE_WIDTH_MAX;
    let source_line = line.chars().take(kept.min(64 * 1024)).collect();
    Diagnostic {
        file: place.file,
        line: place.line,
        column: place.column,
        length: (length.clamp(1, LINE_WIDTH_MAX)) as u32,
        message: problem.message,
        help: problem.help,
        source_line,
    }
}

/// A name for a message: short, and printable.
pub(crate) fn shown(name: &str) -> String {
    const SHOWN_MAX: usize = 48;
    let mut text = String::new();
    for c in name.chars().take(SHOWN_MAX) {
        text.push_str(&printable_line(c.encode_utf8(&mut [0; 4])));
    }
    if name.chars().nth(SHOWN_MAX).is_some() {
        text.push('…');
    }
    text
}
