//! Places of strings (`char **`): where a native call wants text, made with the C library's
//! `malloc`.

use std::ffi::{c_char, c_void};

use farcall_client::{Error, ErrorKind, Output, Outputs, Result};

unsafe extern "C" {
    /// The C library's: callers free what it gives with `free`.
    fn malloc(bytes: usize) -> *mut c_void;
}

/// Where the strings of one parameter go.
pub struct TextPlace {
    /// Index of the parameter.
    pub parameter: usize,
    /// The first place.
    pub place: *mut *mut c_char,
    /// How many there are.
    pub count: u64,
}

impl TextPlace {
    /// Fills the places with a call's results.
    ///
    /// # Safety
    /// They may be written to.
    pub unsafe fn fill(&self, outputs: &Outputs) -> Result<()> {
        let texts: Vec<Option<&[u8]>> = match outputs.all().get(self.parameter) {
            Some(Output::Text(text)) => vec![text.as_deref()],
            Some(Output::Texts(texts)) => texts.iter().map(Option::as_deref).collect(),
            _ => Vec::new(),
        };
        if texts.len() as u64 > self.count {
            return Err(Error::new(
                ErrorKind::Protocol,
                "receive the results",
                "more strings than the interface declares",
            )
            .with("strings", texts.len())
            .with("declared", self.count));
        }
        // SAFETY: as many places as `count` says may be written to, by the caller's promise.
        unsafe { fill(self.place, &texts) }
    }
}

/// # Safety
/// As many places as texts.
unsafe fn fill(place: *mut *mut c_char, texts: &[Option<&[u8]>]) -> Result<()> {
    for (index, text) in texts.iter().enumerate() {
        let copied = text.map_or(Ok(std::ptr::null_mut()), allocated)?;
        // SAFETY: the caller's promise.
        unsafe { place.add(index).write(copied) };
    }
    Ok(())
}

/// A copy that ends with a NUL, made with the C library's `malloc`.
///
/// # Errors
/// `System` when there is no memory.
pub fn allocated(text: &[u8]) -> Result<*mut c_char> {
    // SAFETY: `malloc` takes any size.
    let memory = unsafe { malloc(text.len() + 1) }.cast::<u8>();
    if memory.is_null() {
        return Err(Error::system("receive the results", std::io::ErrorKind::OutOfMemory.into()));
    }
    // SAFETY: the memory has one byte more than the text, and is new.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), memory, text.len());
        memory.add(text.len()).write(0);
    }
    Ok(memory.cast())
}
