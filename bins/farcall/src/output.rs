//! Standard output that a reader may close at any time: `farcall ls | head -1`.

use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use farcall_base::{Error, Result, printable};
use farcall_rpc_server::{LogFormat, moment};
use serde_json::json;

use crate::inherited::is_without_output;

/// Whether notices are lines of a log in JSON: set once, before anything is said.
static SPEAKS_JSON: AtomicBool = AtomicBool::new(false);

/// Writes to standard output; a reader that has seen enough is no error.
///
/// # Errors
/// `System` for anything else, such as a full disk.
pub fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
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

/// Notices from now on are written as the server's log is.
pub fn speak_as(format: LogFormat) {
    SPEAKS_JSON.store(format == LogFormat::Json, Ordering::Relaxed);
}

/// Says something to the person, not to the program that reads the output.
pub fn notice(text: &str) {
    let line = match SPEAKS_JSON.load(Ordering::Relaxed) {
        true => {
            let time = moment(SystemTime::now());
            json!({"time": time, "level": "info", "event": "server", "message": text}).to_string()
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
