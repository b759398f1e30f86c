//! Which memory of the caller a call reads and writes: what its place among other calls depends on.

use std::ffi::CStr;

use farcall_base::Bytes;
use farcall_base::abi::tag::{OTHER, POINTER, TEXT};
use farcall_client::idl::layout::{ParameterLayout, resolve};
use farcall_client::idl::values::ByteValues;
use farcall_client::{Result, Routine};

use crate::native::{known_of, prepare};
use crate::passing::passing;
use crate::tagged::TaggedValue;

/// Memory that a call uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Address of its first byte.
    pub start: usize,
    /// How many there are.
    pub bytes: usize,
    /// Whether the routine's results go there.
    pub written: bool,
}

impl Span {
    /// Whether a call that uses the one must not run beside a call that uses the other.
    pub fn conflicts(&self, other: &Span) -> bool {
        let meets = self.start < other.start.saturating_add(other.bytes)
            && other.start < self.start.saturating_add(self.bytes);
        meets && (self.written || other.written)
    }
}

/// The memory that a call with these values uses. `None` when that depends on elements of arrays,
/// which another call may still write to, or on open files.
///
/// # Errors
/// As [`prepare`].
///
/// # Safety
/// As for [`prepare`].
pub unsafe fn spans(routine: &Routine, values: &[TaggedValue]) -> Result<Option<Vec<Span>>> {
    let interface = routine.interface();
    // To look into an open file is to read it; two may be of the same.
    if interface.parameters.iter().any(|parameter| parameter.stream) {
        return Ok(None);
    }
    // SAFETY: the caller's promise.
    let prepared = unsafe { prepare(routine, values) }?;
    let count = interface.parameters.len();
    let known: Vec<Option<Vec<u8>>> =
        (0..count).map(|index| known_of(interface, &prepared, index)).collect();
    let known: Vec<Option<&[u8]>> = known.iter().map(Option::as_deref).collect();
    let Ok(layout) =
        resolve(interface, &ByteValues::new(interface, known.as_slice()), Bytes(u64::MAX))
    else {
        return Ok(None);
    };
    let mut spans = Vec::new();
    for ((index, parameter), value) in interface.caller_parameters().zip(values) {
        let tag = passing(parameter);
        let address = value.pointer();
        if tag & POINTER == 0 || tag & OTHER != 0 || address.is_null() {
            continue;
        }
        let bytes = match &layout.parameters[index] {
            // Places of strings, one for each.
            ParameterLayout::Array(array) if tag & TEXT != 0 => {
                array.dimensions.iter().map(|one| one.size as usize).product::<usize>()
                    * size_of::<usize>()
            }
            ParameterLayout::Array(array) => array.full_bytes as usize,
            _ if tag & TEXT != 0 => size_of::<usize>(),
            // SAFETY: the caller's promise: text.
            _ => unsafe { CStr::from_ptr(address.cast()) }.to_bytes_with_nul().len(),
        };
        spans.push(Span { start: address as usize, bytes, written: parameter.mode.is_output() });
    }
    Ok(Some(spans))
}
