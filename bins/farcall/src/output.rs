//! Where this program prints: text of others is shown, never obeyed, and a reader may close the
//! output at any time, as in `farcall ls | head -1`, or never read. Other files of the program
//! print by what is here; tools/tidy/printing.txt has the exceptions.
//!
//! No command waits forever for a reader (docs/explanation/waiting.md). Standard output waits for
//! as long as the command's time limit or `$FARCALL_OUTPUT_TIMEOUT` says; a message on standard
//! error waits for a moment, and is counted where it is lost.

use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use farcall_base::{Error, Result, printable, printable_json, printable_output};
use farcall_rpc_server::{LogFormat, moment};
use farcall_system::outlet;
use serde_json::{Value, json};

use crate::inherited::is_without_output;

/// Whether notices are lines of a log in JSON: set once, before anything is said.
static SPEAKS_JSON: AtomicBool = AtomicBool::new(false);
/// The time limit of this command, if it has one.
static LIMIT: OnceLock<Duration> = OnceLock::new();
/// When it is over, where it is for all that the command does.
static END: OnceLock<Instant> = OnceLock::new();
/// Messages that nobody took since the last that somebody did.
static LOST: AtomicU64 = AtomicU64::new(0);

/// The variable with the time limit of commands, in seconds.
const LIMIT_VARIABLE: &str = "FARCALL_TIMEOUT";
/// The variable with the time for which standard output is waited for, in seconds; 0: forever.
const VARIABLE: &str = "FARCALL_OUTPUT_TIMEOUT";
/// What that is by default.
const OUTPUT_MAX: Duration = Duration::from_secs(30);
/// The same where a pager may stand between this command and a person: people read slowly.
const PAGER_MAX: Duration = Duration::from_secs(600);
/// Time for a reader that is there when the command's time limit is over.
const LAST_MOMENT: Duration = Duration::from_millis(300);
/// Time for which a message waits for its reader.
const MESSAGE_MAX: Duration = Duration::from_millis(300);

/// The time limit of commands, `$FARCALL_TIMEOUT`: for all that this one does, or for each answer
/// and each page of one that `goes_on` until it is told to end.
///
/// # Errors
/// `InvalidArgument` for what is no number of seconds.
pub fn limit_command(goes_on: bool) -> Result<()> {
    let Some(text) = std::env::var_os(LIMIT_VARIABLE).filter(|text| !text.is_empty()) else {
        return Ok(());
    };
    let limit =
        text.to_str().and_then(|text| Duration::try_from_secs_f64(text.trim().parse().ok()?).ok());
    let limit = limit.filter(|limit| !limit.is_zero()).ok_or_else(|| {
        let message = format!("{} is not a number of seconds", text.display());
        Error::new(farcall_base::ErrorKind::InvalidArgument, "set a command's time limit", message)
            .fix("write seconds above 0, such as 30")
            .with("variable", LIMIT_VARIABLE)
    })?;
    let _ = LIMIT.set(limit);
    if let Some(end) = Instant::now().checked_add(limit).filter(|_| !goes_on) {
        end_by(end);
    }
    Ok(())
}

/// The command's time limit is over then, for its output, too. Of several, the first counts.
pub fn end_by(at: Instant) {
    let _ = END.set(at);
}

/// When the command is to have ended.
pub fn end() -> Option<Instant> {
    END.get().copied()
}

/// This time, or the command's limit where that is less.
pub fn at_most(time: Duration) -> Duration {
    LIMIT.get().map_or(time, |limit| time.min(*limit))
}

/// For how long standard output may take nothing.
fn patience() -> Duration {
    if let Some(end) = END.get() {
        return end.saturating_duration_since(Instant::now()).max(LAST_MOMENT);
    }
    let given = std::env::var(VARIABLE).ok().and_then(|text| text.trim().parse().ok());
    match given.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()) {
        Some(Duration::ZERO) => Duration::MAX,
        Some(time) => time,
        None if is_before_pager() => at_most(PAGER_MAX),
        None => at_most(OUTPUT_MAX),
    }
}

/// Whether a person at a terminal may read the output through another program.
fn is_before_pager() -> bool {
    let stderr = rustix::stdio::stderr();
    !rustix::termios::isatty(rustix::stdio::stdout())
        && rustix::termios::tcgetpgrp(stderr).is_ok_and(|front| front == rustix::process::getpgrp())
}

/// The same for a screen that a person may hold still, to read it.
pub fn screen() -> outlet::Patient<'static> {
    outlet::output().patient(at_most(PAGER_MAX))
}

/// A writer to standard output that fails when its reader takes nothing for too long.
pub fn output() -> outlet::Patient<'static> {
    outlet::output().patient(patience())
}

/// Tables of several servers, each below its server's name, without those that are empty; of one
/// server its table alone.
pub fn of_servers(tables: &[(&str, bool, String)]) -> String {
    if let [(_, _, table)] = tables {
        return table.clone();
    }
    let shown = tables.iter().filter(|(_, is_empty, _)| !is_empty);
    let text: Vec<String> = shown.map(|(server, _, table)| format!("{server}\n{table}")).collect();
    if text.is_empty() {
        return tables.first().map_or_else(String::new, |(_, _, table)| table.clone());
    }
    text.join("\n")
}

/// Writes text to standard output, printable; a reader that has seen enough is no error.
///
/// # Errors
/// `TimedOut` when its reader takes nothing; `System` for anything else, such as a full disk.
pub fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    written(|out| write(&mut Printable(out)))
}

/// Writes a text of this program alone to standard output, with its colors.
///
/// # Errors
/// As [`print`].
pub fn print_own(text: &str) -> Result<()> {
    written(|out| out.write_all(text.as_bytes()))
}

fn written(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    if is_without_output() {
        let message = "standard output is closed, and the output is lost";
        return Err(Error::new(farcall_base::ErrorKind::System, "write the output", message)
            .fix("to discard the output, write it to /dev/null"));
    }
    let mut out = BufWriter::new(output());
    let done = write(&mut out).and_then(|()| out.flush());
    // What is left in the buffer must not be written again when it is dropped.
    drop(out.into_parts());
    match done {
        Err(error) if error.kind() == ErrorKind::TimedOut => Err(not_read()),
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            // What could not be made into text has an error of its own.
            Err(error
                .downcast::<Error>()
                .unwrap_or_else(|error| Error::system("write the output", error)))
        }
        _ => Ok(()),
    }
}

/// Why output is lost that nobody reads.
pub fn not_read() -> Error {
    let message = "nobody reads standard output: the rest of the output is lost";
    Error::new(farcall_base::ErrorKind::TimedOut, "write the output", message).fix(format!(
        "write it to a file, or wait longer for its reader: --timeout, or {VARIABLE} in seconds"
    ))
}

/// Writes JSON to standard output, over several lines.
///
/// # Errors
/// As [`print`].
pub fn print_json(value: &Value) -> Result<()> {
    print(|out| writeln!(out, "{}", printable_json(&format!("{value:#}"))))
}

/// A value as JSON on one line, for a terminal as well as for a program.
pub fn json_line(value: &Value) -> String {
    printable_json(&value.to_string()).into_owned()
}

/// Writes what is a file's content to standard output: byte by byte as it is for a program,
/// printable on a terminal.
///
/// # Errors
/// As [`print`].
pub fn print_content(content: &[u8]) -> Result<()> {
    if io::stdout().is_terminal() {
        return print(|out| out.write_all(content));
    }
    written(|out| out.write_all(content))
}

/// Makes text printable on its way. A character is never split: it comes from `write!`, or whole.
pub struct Printable<W>(pub W);

impl<W: Write> Write for Printable<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.0.write_all(printable(text).as_bytes())?,
            Err(_) => self.0.write_all(printable_output(bytes).as_bytes())?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// A line for the person as it is, such as warnings of a compiler.
pub fn tell(text: &str) {
    say(&printable(text));
}

/// Notices from now on are written as the server's log is.
pub fn speak_as(format: LogFormat) {
    SPEAKS_JSON.store(format == LogFormat::Json, Ordering::Relaxed);
}

/// Says something to the person, not to the program that reads the output.
pub fn notice(text: &str) {
    match SPEAKS_JSON.load(Ordering::Relaxed) {
        true => say(&json_notice(text)),
        false => say(&format!("farcall: {}", printable(text))),
    }
}

fn json_notice(text: &str) -> String {
    let time = moment(SystemTime::now());
    json_line(&json!({"time": time, "level": "info", "event": "server", "message": text}))
}

/// Writes printable lines to standard error. Where nobody reads them within a moment they are lost,
/// and counted: the next that somebody reads says how many.
pub fn say(text: &str) {
    let lost = LOST.load(Ordering::Relaxed);
    // Whoever took nothing a moment ago is not waited for again.
    let time = if lost > 0 { Duration::ZERO } else { MESSAGE_MAX };
    let before = match lost {
        0 => String::new(),
        _ => {
            let words = format!("{lost} earlier messages are lost: nobody read standard error");
            if SPEAKS_JSON.load(Ordering::Relaxed) {
                json_notice(&words) + "\n"
            } else {
                format!("farcall: {words}\n")
            }
        }
    };
    match outlet::error().write(format!("{before}{text}\n").as_bytes(), time) {
        Err(error) if error.kind() == ErrorKind::TimedOut => {
            LOST.fetch_add(1, Ordering::Relaxed);
        }
        // Who closed it does not want to know.
        _ => {
            LOST.fetch_sub(lost, Ordering::Relaxed);
        }
    }
}

/// Shows bytes on standard error that somebody else wrote, such as what a routine prints: a slow
/// reader gets them all. A signal ends the wait, and one that takes nothing at all is not waited
/// for again until it does.
pub fn show(mut bytes: &[u8]) {
    let mut time = if LOST.load(Ordering::Relaxed) > 0 { Duration::ZERO } else { patience() };
    while !bytes.is_empty() {
        match outlet::error().write_some(bytes, time) {
            Ok(count) => (bytes, time) = (&bytes[count..], patience()),
            Err(error) => {
                if error.kind() == ErrorKind::TimedOut {
                    LOST.fetch_add(1, Ordering::Relaxed);
                }
                return;
            }
        }
    }
}

/// Whether a person looks at it, through a terminal on which one can go back: `dumb` is what
/// editors and typewriters are.
pub fn is_screen(stream: &impl IsTerminal) -> bool {
    stream.is_terminal()
        && std::env::var_os("TERM").is_some_and(|name| !name.is_empty() && name != "dumb")
}

/// Whether help has colors there: on a terminal, unless the user wants none.
pub fn is_colored(stream: &impl IsTerminal) -> bool {
    is_screen(stream) && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Two columns, the first as wide as its widest entry.
pub fn table(out: &mut dyn Write, rows: &[(String, String)]) -> io::Result<()> {
    let width = rows.iter().map(|(first, _)| first.chars().count()).max().unwrap_or(0);
    rows.iter().try_for_each(|(first, second)| {
        let line = format!("{first:width$}  {second}");
        writeln!(out, "{}", line.trim_end())
    })
}

/// Rows of cells in columns, the first to the left and the others to the right, each with what
/// follows the last one. A row may have fewer cells than others.
pub fn aligned(rows: &[(Vec<String>, String)]) -> String {
    let columns = rows.iter().map(|(cells, _)| cells.len()).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|(cells, _)| cells.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for (cells, rest) in rows {
        let mut line = String::new();
        for (column, (cell, width)) in cells.iter().zip(&widths).enumerate() {
            match column {
                0 => line.push_str(&format!("{cell:width$}")),
                _ => line.push_str(&format!("  {cell:>width$}")),
            }
        }
        line.push_str("  ");
        line.push_str(rest);
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// A number of bytes for people.
pub fn bytes(count: u64) -> String {
    let mut value = count as f64;
    let mut unit = "B";
    for next in ["KiB", "MiB", "GiB", "TiB", "PiB"] {
        if value < 1024.0 {
            break;
        }
        (value, unit) = (value / 1024.0, next);
    }
    if unit == "B" { format!("{count} B") } else { format!("{value:.1} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_printed_commands_no_terminal() {
        let mut out = Vec::new();
        let mut printing = Printable(&mut out);
        let one = "\x1b[2J\u{202e}";
        let two = "\u{9b}";
        write!(printing, "a {one}\n\t{two:5}|")
            .and_then(|()| printing.write_all(b"\xff\x1b"))
            .expect("room");
        assert_eq!(String::from_utf8_lossy(&out), "a \\x1b[2J\\u{202e}\n\t\\x9b    |\u{fffd}\\x1b");
    }

    #[test]
    fn json_stays_json() {
        let value = json!({"a\u{9b}": "\x1b]0;x\x07\u{202e}\u{e0041}\n"});
        let line = json_line(&value);
        assert!(line.is_ascii(), "{line}");
        assert_eq!(serde_json::from_str::<Value>(&line).expect("JSON"), value);
    }
}
