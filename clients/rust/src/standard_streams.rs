//! A program's standard streams: their descriptors, which are to stay what they are, and what
//! others print there.

use std::fs::File;
use std::io::{IsTerminal, Read, Write};
use std::os::fd::{AsRawFd, IntoRawFd};
use std::time::Duration;

use farcall_base::{printable, printable_output};
use farcall_system::outlet;

/// Time for which what others print waits for a reader that takes nothing.
const READER_MAX: Duration = Duration::from_secs(1);

/// Opens nothing in place of those that the program has closed, as daemons do. Connections would
/// have their numbers otherwise, and what is printed would go into them.
pub fn keep_standard_streams() {
    // Opening takes the lowest number that is free.
    while let Ok(nothing) = File::options().read(true).write(true).open("/dev/null") {
        if nothing.as_raw_fd() > 2 {
            break;
        }
        let _ = nothing.into_raw_fd();
    }
}

/// Prints what a routine or another program wrote: to a terminal with all that it would obey
/// spelled, elsewhere byte by byte as it is. Where nobody reads it is no reason to fail.
pub fn print_output(stream: &mut (impl Write + IsTerminal), bytes: &[u8]) {
    let written = match stream.is_terminal() {
        true => stream.write_all(printable_output(bytes).as_bytes()),
        false => stream.write_all(bytes),
    };
    let _ = written.and_then(|()| stream.flush());
}

/// Prints what another program writes to `from` on standard error until it writes no more, as
/// [`print_output`] does, and shows each piece to `seen`. Somebody has to read it: a full pipe
/// would stop the program.
pub fn pass_on_output(mut from: impl Read, mut seen: impl FnMut(&[u8])) {
    let mut buffer = [0; 4096];
    let mut kept = 0;
    while let Ok(count @ 1..) = from.read(&mut buffer[kept..]) {
        seen(&buffer[kept..kept + count]);
        let end = kept + count;
        let whole = end - begun_character(&buffer[..end]);
        pass_on(&buffer[..whole]);
        buffer.copy_within(whole..end, 0);
        kept = end - whole;
    }
    pass_on(&buffer[..kept]);
}

/// The same as [`print_output`], on standard error; a reader that takes nothing is not waited for
/// without end.
fn pass_on(bytes: &[u8]) {
    let written = match std::io::stderr().is_terminal() {
        true => outlet::error().write(printable_output(bytes).as_bytes(), READER_MAX),
        false => outlet::error().write(bytes, READER_MAX),
    };
    // Where nobody reads it is no reason to fail.
    let _ = written;
}

/// Tells the user something on standard error, in a line of its own.
pub fn tell(message: &str) {
    let line = format!("farcall: {}\n", printable(message));
    // Where nobody reads it is no reason to fail.
    let _ = outlet::error().write(line.as_bytes(), READER_MAX);
}

/// Bytes at the end that are the start of a character of UTF-8, of which the rest is to come.
fn begun_character(bytes: &[u8]) -> usize {
    let longest = bytes.len().min(3);
    let is_begin = |count: &usize| {
        let wanted = match bytes[bytes.len() - count] {
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf7 => 4,
            _ => 0,
        };
        wanted > *count
    };
    (1..=longest).find(is_begin).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::begun_character;

    #[test]
    fn a_character_that_is_cut_waits_for_its_rest() {
        let text = "a\u{e9}\u{6f22}\u{1f6e0}";
        for end in 0..=text.len() {
            let bytes = &text.as_bytes()[..end];
            let whole = &bytes[..end - begun_character(bytes)];
            assert!(std::str::from_utf8(whole).is_ok_and(|text| end - text.len() < 4), "{end}");
        }
        assert_eq!(begun_character(b"\xff\xff\xff"), 0);
    }
}
