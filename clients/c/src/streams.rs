//! Open files of the C library (`FILE *`) in a native call: their content is read when it begins,
//! and written when it has ended, from where they stand.

use std::ffi::{c_int, c_long, c_void};

use farcall_client::{Error, ErrorKind, Output, Outputs, Result};
use libc::FILE;

/// Longest content: it is held in memory.
const BYTES_MAX: usize = 1 << 30;
/// Bytes read at a time.
const PIECE_BYTES: usize = 256 << 10;

/// Where the file of one parameter goes when the call is over.
pub struct StreamPlace {
    /// Index of the parameter.
    parameter: usize,
    file: *mut FILE,
    /// Where an INOUT file stood before it was read: what comes back takes the place of all behind
    /// it.
    from: Option<c_long>,
}

impl StreamPlace {
    /// For a result.
    pub fn new(parameter: usize, file: *mut FILE, from: Option<c_long>) -> StreamPlace {
        StreamPlace { parameter, file, from }
    }

    /// Writes what came for it.
    ///
    /// # Safety
    /// The file is open.
    pub unsafe fn fill(&self, outputs: &Outputs) -> Result<()> {
        let Some(Output::Text(content)) = outputs.all().get(self.parameter) else { return Ok(()) };
        let content = content.as_deref().unwrap_or_default();
        // SAFETY: the caller's promise; the content is as long as it says.
        let done = unsafe { self.write(content) };
        if done { Ok(()) } else { Err(trouble("written")) }
    }

    /// # Safety
    /// The file is open.
    unsafe fn write(&self, content: &[u8]) -> bool {
        // SAFETY: the caller's promise, for all of these.
        unsafe {
            if let Some(from) = self.from
                && libc::fseek(self.file, from, libc::SEEK_SET) != 0
            {
                return false;
            }
            let written = libc::fwrite(content.as_ptr().cast(), 1, content.len(), self.file);
            let done = written == content.len() && libc::fflush(self.file) == 0;
            done && (self.from.is_none() || self.cut() == 0)
        }
    }

    /// Ends the file where it stands.
    ///
    /// # Safety
    /// The file is open.
    unsafe fn cut(&self) -> c_int {
        // SAFETY: the caller's promise.
        unsafe { libc::ftruncate(libc::fileno(self.file), libc::ftell(self.file)) }
    }
}

/// Where a file stands.
///
/// # Errors
/// `InvalidArgument` for one that cannot go back, as a pipe.
///
/// # Safety
/// The file is open.
pub unsafe fn position(file: *mut FILE) -> Result<c_long> {
    // SAFETY: the caller's promise.
    match unsafe { libc::ftell(file) } {
        -1 => {
            let message = "the open file cannot seek, so the returned content cannot replace it";
            Err(Error::new(ErrorKind::InvalidArgument, "call", message).fix("pass a regular file"))
        }
        at => Ok(at),
    }
}

/// What is in a file from where it stands.
///
/// # Errors
/// `InvalidArgument` when it cannot be read; `LimitExceeded` above 1 GiB.
///
/// # Safety
/// The file is open.
pub unsafe fn rest(file: *mut FILE) -> Result<Vec<u8>> {
    let mut content = Vec::new();
    loop {
        let old = content.len();
        content.try_reserve(PIECE_BYTES).map_err(|_| too_long())?;
        content.resize(old + PIECE_BYTES, 0);
        let space: *mut c_void = content[old..].as_mut_ptr().cast();
        // SAFETY: the caller's promise, here and below; there is so much room.
        let read = unsafe { libc::fread(space, 1, PIECE_BYTES, file) };
        content.truncate(old + read);
        if content.len() > BYTES_MAX {
            return Err(too_long());
        }
        if read < PIECE_BYTES {
            // SAFETY: as above.
            return if unsafe { libc::ferror(file) } == 0 {
                Ok(content)
            } else {
                Err(trouble("read"))
            };
        }
    }
}

fn trouble(what: &str) -> Error {
    let message = format!("the open file cannot be {what}: {}", std::io::Error::last_os_error());
    Error::new(ErrorKind::InvalidArgument, "call", message)
        .fix("open it with \"r\" for IN, \"w\" for OUT and \"r+\" for INOUT")
}

fn too_long() -> Error {
    Error::new(
        ErrorKind::LimitExceeded,
        "call",
        "the content of an open file is kept in memory, and this file is too large",
    )
    .with("limit", BYTES_MAX)
    .fix("declare the parameter as filename: files passed by path may have any size")
}
