//! Where this program prints: text of others is shown, never obeyed, and a reader may close the output at any time, as in
//! `farcall ls | head -1`. Other files of the program print by what is here; tools/tidy/printing.txt has the exceptions.

use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use farcall_base::{Error, Result, printable, printable_json, printable_output};
use farcall_rpc_server::{LogFormat, moment};
use serde_json::{Value, json};

use crate::inherited::is_without_output;

/// Whether notices are lines of a log in JSON: set once, before anything is said.
static SPEAKS_JSON: AtomicBool = AtomicBool::new(false);

/// Writes text to standard output, printable; a reader that has seen enough is no error.
///
/// # Errors
/// `System` for anything else, such as a full disk.
pub fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    written(|out| write(&mut Printable(out)))
}

fn written(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    if is_without_output() {
        let message = "standard output is closed, and what was to be written there is lost";
        return Err(Error::new(farcall_base::ErrorKind::System, "write the output", message)
            .fix("who wants none writes it to /dev/null"));
    }
    let mut out = BufWriter::new(io::stdout().lock());
    let done = write(&mut out).and_then(|()| out.flush());
    // What is left in the buffer must not be written again when it is dropped.
    drop(out.into_parts());
    match done {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            // What could not be made into text has an error of its own.
            Err(error.downcast::<Error>().unwrap_or_else(|error| Error::system("write the output", error)))
        }
        _ => Ok(()),
    }
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

/// Writes what is a file's content to standard output: byte by byte as it is for a program, printable on a terminal.
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

/// A line for the person as it is, such as warnings of a compiler. Nobody may be reading: there is nobody to tell that
/// either.
pub fn tell(text: &str) {
    let _ = writeln!(io::stderr(), "{}", printable(text));
}

/// Notices from now on are written as the server's log is.
pub fn speak_as(format: LogFormat) {
    SPEAKS_JSON.store(format == LogFormat::Json, Ordering::Relaxed);
}

/// Says something to the person, not to the program that reads the output.
pub fn notice(text: &str) {
    let line = match SPEAKS_JSON.load(Ordering::Relaxed) {
        true => {
            let time = moment(SystemTime::now());
            json_line(&json!({"time": time, "level": "info", "event": "server", "message": text}))
        }
        false => format!("farcall: {}", printable(text)),
    };
    let _ = writeln!(io::stderr(), "{line}");
}

/// Whether a person looks at it, through a terminal on which one can go back: `dumb` is what editors and typewriters are.
pub fn is_screen(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("TERM").is_some_and(|name| !name.is_empty() && name != "dumb")
}

/// Two columns, the first as wide as its widest entry.
pub fn table(out: &mut dyn Write, rows: &[(String, String)]) -> io::Result<()> {
    let width = rows.iter().map(|(first, _)| first.chars().count()).max().unwrap_or(0);
    rows.iter().try_for_each(|(first, second)| {
        let line = format!("{first:width$}  {second}");
        writeln!(out, "{}", line.trim_end())
    })
}

/// A number of bytes for people.
pub fn bytes(count: u64) -> String {
    let (mut value, mut unit) = (count as f64, "B");
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
        let (one, two) = ("\x1b[2J\u{202e}", "\u{9b}");
        write!(printing, "a {one}\n\t{two:5}|").and_then(|()| printing.write_all(b"\xff\x1b")).expect("room");
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
