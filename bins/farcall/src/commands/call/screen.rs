//! Standard error as a person sees it: what the routine prints, and below it a line that changes.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use farcall_base::printable_output;
use farcall_client::Transfer;
use farcall_system::outlet;

use super::bar::{Bar, told, waiting};
use crate::output::{is_screen, json_line, say, show};

/// Columns of a terminal that does not know.
const COLUMNS: usize = 80;
/// A call that waits for less than this is soon over.
const QUIET: Duration = Duration::from_secs(1);

/// What is on the screen.
pub struct Screen {
    /// Whether anything may be drawn there that is not to stay.
    draws: bool,
    begun: Instant,
    bar: Bar,
    /// Columns of the line that is drawn now.
    drawn: usize,
    /// Whether the routine left the cursor behind text of its own.
    inside_line: bool,
    /// How many calls are before it in the queue, while that was not said.
    queued: Option<u32>,
    /// What the routine said last of its progress: its arrays are all there then.
    told: Option<(f64, String)>,
    /// Whether the routine began: before, it is told what the call waits for.
    has_begun: bool,
    progress: ProgressForm,
}

/// How a routine's progress is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ProgressForm {
    /// Not at all.
    None,
    /// As a bar, where a person looks at standard error.
    Bar,
    /// As lines of text where nobody does: into a log.
    Lines,
    /// As a JSON object a line.
    Json,
}

impl Screen {
    /// The screen of this process, if a person looks at it.
    pub fn new(wanted: bool, progress: ProgressForm) -> Screen {
        let draws = wanted && is_screen(&stderr());
        Screen {
            draws,
            begun: Instant::now(),
            bar: Bar::default(),
            drawn: 0,
            inside_line: false,
            queued: None,
            told: None,
            has_begun: false,
            progress,
        }
    }

    /// The routine begins: what was said before is what the call waited for.
    pub fn begin(&mut self) {
        self.queued = None;
        self.has_begun = true;
        if self.told.take().is_some() {
            self.clear();
        }
    }

    /// Takes what the routine says of its progress; and before it begins, what the server says that
    /// it waits for.
    pub fn tell(&mut self, done: f64, words: String) {
        let line = match self.progress {
            ProgressForm::Json if !self.has_begun => {
                json_line(&serde_json::json!({"waits": words}))
            }
            ProgressForm::Json => json_line(&serde_json::json!({"progress": done, "words": words})),
            ProgressForm::Lines if !self.draws => self.line(done, &words, COLUMNS),
            _ => {
                self.told = Some((done, words));
                return self.draw_told();
            }
        };
        say(&line);
    }

    fn line(&self, done: f64, words: &str, columns: usize) -> String {
        if self.has_begun { told(done, words, columns) } else { waiting(words, columns) }
    }

    fn draw_told(&mut self) {
        if let Some((done, words)) = self.told.clone()
            && self.draws
            && !self.inside_line
            && is_in_front()
        {
            self.put(&self.line(done, &words, columns().saturating_sub(1)));
        }
    }

    /// The call waits behind so many others: that is said if it lasts.
    pub fn queue(&mut self, before: u32) {
        self.queued = Some(before);
    }

    /// Says that the call waits, if it has for long, and nothing else was said of it.
    pub fn look(&mut self) {
        if self.begun.elapsed() < QUIET || self.told.is_some() {
            return;
        }
        let Some(before) = self.queued.take() else { return };
        let words = match before {
            0 => "waits in the queue: it is the next".to_owned(),
            1 => "waits in the queue: 1 call before it".to_owned(),
            _ => format!("waits in the queue: {before} calls before it"),
        };
        self.tell(0.0, words);
    }

    /// Whether it wants to hear how far the call is.
    pub fn draws(&self) -> bool {
        self.draws
    }

    /// Shows how far the call's arrays are.
    pub fn draw(&mut self, transfer: &Transfer) {
        // One column less than there are: some terminals wrap as soon as the last is written to.
        let line = self.bar.line(transfer, self.begun.elapsed(), columns().saturating_sub(1));
        match line {
            // A shell that has put us into the background wants its line for itself.
            Some(line) if !self.inside_line && is_in_front() => self.put(&line),
            _ if self.told.is_some() => self.draw_told(),
            _ => self.clear(),
        }
    }

    /// Only a carriage return and blanks: every terminal knows these.
    fn put(&mut self, line: &str) {
        draw(&format!("\r{line:0$}", self.drawn));
        self.drawn = line.chars().count();
    }

    /// Takes away what is drawn.
    pub fn clear(&mut self) {
        if self.drawn > 0 {
            draw(&format!("\r{:1$}\r", "", self.drawn));
            self.drawn = 0;
        }
    }

    /// Shows what the routine prints, of which none belongs into the results. To a terminal goes
    /// nothing that would command it.
    pub fn show(&mut self, bytes: &[u8]) {
        self.clear();
        match stderr().is_terminal() {
            true => show(printable_output(bytes).as_bytes()),
            false => show(bytes),
        }
        self.inside_line = bytes.last().map_or(self.inside_line, |last| *last != b'\n');
    }
}

/// Writes what is not to stay: a terminal that was stopped does without it, as does who closed it.
fn draw(text: &str) {
    let _ = outlet::error().write(text.as_bytes(), Duration::ZERO);
}

fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(stderr()).ok();
    size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0).unwrap_or(COLUMNS)
}

fn is_in_front() -> bool {
    // A terminal that is not ours to ask (of another session) shows everything.
    rustix::termios::tcgetpgrp(stderr()).map_or(true, |front| front == rustix::process::getpgrp())
}
