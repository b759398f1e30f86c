//! Which memory of the caller a call reads and writes: what its place among other calls depends on.

use std::ffi::CStr;

use farcall_base::Bytes;
use farcall_base::abi::tag::{OTHER, POINTER, TEXT};
use farcall_client::idl::data::DataKind;
use farcall_client::idl::interface::Parameter;
use farcall_client::idl::layout::{ArrayLayout, ParameterLayout, certain_refusal, resolve};
use farcall_client::idl::values::ByteValues;
use farcall_client::{Result, Routine};

use crate::native::{known_of, prepare};
use crate::passing::passing;
use crate::tagged::TaggedValue;

/// Memory that a call uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Address of its first byte.
    pub start: usize,
    /// How many there are.
    pub bytes: usize,
    /// Whether the routine's results go there.
    pub written: bool,
    /// Whether the routine reads what is there.
    pub read: bool,
    /// Of which parameter, by its index.
    pub parameter: usize,
    /// What lies there, if it travels whole and can stay at a server.
    pub array: Option<WholeArray>,
}

/// What an array is: two that are equal are the same elements in the same order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WholeArray {
    /// Its type.
    pub kind: DataKind,
    /// Its extents.
    pub extents: Vec<u64>,
}

impl WholeArray {
    fn of(parameter: &Parameter, layout: &ArrayLayout) -> Option<WholeArray> {
        let kind = DataKind::of_parameter(parameter)?;
        let is_whole = layout.full_bytes == layout.transfer_bytes
            && layout.dimensions.iter().all(|one| one.count == one.size);
        let extents = layout.dimensions.iter().map(|one| one.size).collect();
        is_whole.then_some(WholeArray { kind, extents })
    }
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
/// As [`prepare`]; and for values that the interface does not allow, whatever is in memory when the
/// call runs.
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
    let mut known: Vec<Option<&[u8]>> = known.iter().map(Option::as_deref).collect();
    let Ok(layout) =
        resolve(interface, &ByteValues::new(interface, known.as_slice()), Bytes(u64::MAX))
    else {
        // Another call may still write to what is in memory, and make it fit.
        for (index, parameter) in interface.caller_parameters() {
            if passing(parameter) & POINTER != 0 {
                known[index] = None;
            }
        }
        let values = ByteValues::new(interface, known.as_slice());
        return certain_refusal(interface, &values).map_or(Ok(None), Err);
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
            ParameterLayout::Scalar { bytes } => *bytes as usize,
            // The routine does not refer to it.
            ParameterLayout::Absent => continue,
            _ if tag & TEXT != 0 => size_of::<usize>(),
            // SAFETY: the caller's promise: text.
            _ => unsafe { CStr::from_ptr(address.cast()) }.to_bytes_with_nul().len(),
        };
        let of = &layout.parameters[index];
        let array = match of {
            ParameterLayout::Array(array) => WholeArray::of(parameter, array),
            _ => None,
        };
        spans.push(Span {
            start: address as usize,
            bytes,
            written: parameter.mode.is_output(),
            read: of.mode(parameter).is_input(),
            parameter: index,
            array,
        });
    }
    Ok(Some(spans))
}
