//! `farcall_running`: a call while code that asks for its parameters runs it
//! (farcall-executable.h), be that a routine of a program in another language or a callback of a
//! client.

mod back;

use std::ffi::{CStr, CString, c_char, c_int};

use farcall_base::abi::parameter_kind;
use farcall_base::abi::rank::RANK_MAX;
use farcall_base::{Error, Result};
use farcall_idl::expression::Expression;
use farcall_idl::interface::{ElementType, Interface, Parameter, Shape};
use farcall_idl::layout::{ArrayLayout, CallLayout, ParameterLayout};

use crate::invoke::Slot;
pub use back::say;

/// What is sent of the words in which a routine fails.
pub const WORDS_BYTES_MAX: usize = 16 << 10;

/// The names of an interface's parameters, as C wants them.
pub struct Names(Vec<CString>);

impl Names {
    /// Of all parameters.
    ///
    /// # Errors
    /// `Internal` for a name with a NUL byte, which no interface has.
    pub fn of(interface: &Interface) -> Result<Names> {
        let text = |name: &str| {
            CString::new(name)
                .map_err(|_| Error::internal("load a module", "a name contains a NUL byte"))
        };
        interface
            .parameters
            .iter()
            .map(|parameter| text(&parameter.name))
            .collect::<Result<_>>()
            .map(Names)
    }
}

/// One call, while it runs.
pub struct Running<'a> {
    names: &'a Names,
    interface: &'a Interface,
    layout: &'a CallLayout,
    slots: &'a mut [Slot],
    texts: Vec<CString>,
    failure: Option<String>,
    known: back::Known,
}

impl<'a> Running<'a> {
    /// A call whose values lie in these slots.
    pub fn new(
        names: &'a Names,
        interface: &'a Interface,
        layout: &'a CallLayout,
        slots: &'a mut [Slot],
    ) -> Running<'a> {
        Running {
            names,
            interface,
            layout,
            slots,
            texts: Vec::new(),
            failure: None,
            known: back::Known::default(),
        }
    }

    /// What is called.
    pub fn interface(&self) -> &Interface {
        self.interface
    }

    /// Where the value of a parameter lies, and how.
    pub fn value(&self, index: usize) -> Option<(Slot, &ParameterLayout)> {
        Some((*self.slots.get(index)?, self.layout.parameters.get(index)?))
    }

    /// What it gave back of texts, which must live as long as the slots are read.
    ///
    /// # Errors
    /// The words in which it failed.
    pub fn end(self) -> std::result::Result<Vec<CString>, String> {
        match self.failure {
            None => Ok(self.texts),
            Some(words) => Err(words),
        }
    }
}

/// `farcall_parameter`.
#[repr(C)]
pub struct RawParameter {
    name: *const c_char,
    data: *mut u8,
    kind: u32,
    mode: u32,
    element: u32,
    rank: u32,
    element_bytes: u64,
    shape: [u64; RANK_MAX],
    strides: [i64; RANK_MAX],
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<RawParameter>() == 552, "farcall-executable.h says 552 bytes");

impl Running<'_> {
    fn view(&self, index: usize) -> Option<RawParameter> {
        let parameter = self.interface.parameters.get(index)?;
        let slot = self.slots.get(index)?;
        let layout = self.layout.parameters.get(index)?;
        let mut view = RawParameter {
            name: self.names.0.get(index)?.as_ptr(),
            data: slot.memory,
            kind: parameter_kind::ABSENT,
            mode: parameter.mode.abi_number(),
            element: parameter.element.abi_number(),
            rank: 0,
            element_bytes: 0,
            shape: [0; RANK_MAX],
            strides: [0; RANK_MAX],
        };
        match layout {
            ParameterLayout::Scalar { bytes } => {
                (view.kind, view.element_bytes) = (parameter_kind::NUMBER, *bytes);
            }
            ParameterLayout::Array(array) => show_array(&mut view, array),
            ParameterLayout::Text if parameter.element == ElementType::Filename => {
                (view.kind, view.element_bytes, view.rank) = (parameter_kind::FILE, 1, 1);
                view.shape[0] = slot.bytes as u64;
            }
            ParameterLayout::Text => {
                (view.kind, view.element_bytes, view.rank) = (parameter_kind::TEXT, 1, 1);
                view.shape[0] = slot.bytes as u64;
            }
            ParameterLayout::TextArray { count } if !is_one(parameter) => {
                (view.kind, view.element_bytes, view.rank) =
                    (parameter_kind::TEXTS, size_of::<*mut u8>() as u64, 1);
                (view.shape[0], view.strides[0]) = (*count, size_of::<*mut u8>() as i64);
            }
            ParameterLayout::TextArray { .. } => {
                (view.kind, view.element_bytes, view.rank) = (parameter_kind::TEXT, 1, 1);
                view.data = self.text_at(slot);
                view.shape[0] = if view.data.is_null() {
                    0
                } else {
                    // SAFETY: a text that came with the call ends with a NUL.
                    unsafe { libc::strlen(view.data.cast()) as u64 }
                };
            }
            ParameterLayout::Callback => view.kind = parameter_kind::CALLBACK,
            ParameterLayout::Absent => {
                view.data = std::ptr::null_mut();
            }
        }
        Some(view)
    }

    /// The text that an array of one of them leads to.
    fn text_at(&self, slot: &Slot) -> *mut u8 {
        if slot.memory.is_null() {
            slot.memory
        } else {
            // SAFETY: the slot has as many pointers as texts, and there is one.
            unsafe { slot.memory.cast::<*mut u8>().read() }
        }
    }

    /// Gives a text as the result of a parameter, or as one of those of an array; none is NULL.
    /// False where that is no OUT or INOUT string, or the text contains a NUL.
    pub fn answer(&mut self, index: usize, element: usize, text: Option<&[u8]>) -> bool {
        let Some(parameter) = self.interface.parameters.get(index) else { return false };
        let is_wanted = parameter.mode.is_output() && parameter.element != ElementType::Filename;
        let (true, Ok(text)) = (is_wanted, text.map(CString::new).transpose()) else {
            return false;
        };
        let address = text
            .as_ref()
            .map_or(std::ptr::null_mut(), |text| text.as_ptr().cast_mut().cast::<u8>());
        match (self.layout.parameters.get(index), self.slots.get_mut(index)) {
            (Some(ParameterLayout::Text), Some(slot)) if element == 0 => slot.memory = address,
            (Some(ParameterLayout::TextArray { count }), Some(slot))
                if (element as u64) < *count && !slot.memory.is_null() =>
            {
                // SAFETY: as in `text_at`.
                unsafe { slot.memory.cast::<*mut u8>().add(element).write(address) };
            }
            _ => return false,
        }
        self.texts.extend(text);
        true
    }
}

/// Whether an array is declared to have one element: to a function it is that element.
fn is_one(parameter: &Parameter) -> bool {
    let Shape::Array { dimensions, .. } = &parameter.shape else { return false };
    dimensions.iter().all(|dimension| matches!(dimension.size, Expression::Integer(1)))
}

/// What travels of an array, as the caller knows it.
fn show_array(view: &mut RawParameter, array: &ArrayLayout) {
    view.kind = parameter_kind::ARRAY;
    view.element_bytes = array.element_bytes;
    view.rank = array.dimensions.len().min(RANK_MAX) as u32;
    let mut first = 0;
    for (position, (dimension, stride)) in
        array.dimensions.iter().zip(array.strides_bytes()).enumerate().take(RANK_MAX)
    {
        view.shape[position] = dimension.count;
        view.strides[position] = (stride * dimension.stride) as i64;
        first += stride * dimension.start;
    }
    // Where nothing travels there may be no memory either.
    if array.transfer_bytes > 0 {
        view.data = view.data.wrapping_add(first as usize);
    }
}

/// How many parameters the call's interface has, WORK ones included.
///
/// # Safety
/// `running` is what the body was given, and it has not returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcall_running_parameters(running: *const Running<'_>) -> usize {
    // SAFETY: the caller's promise.
    unsafe { running.as_ref() }.map_or(0, |running| running.interface.parameters.len())
}

/// Describes parameter number `index` in `view`; returns 0, or -1 if there is none.
///
/// # Safety
/// As [`farcall_running_parameters`]; `view` has room.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcall_running_parameter(
    running: *const Running<'_>,
    index: usize,
    view: *mut RawParameter,
) -> c_int {
    // SAFETY: the caller's promise.
    let found = unsafe { running.as_ref() }.and_then(|running| running.view(index));
    match found {
        Some(found) if !view.is_null() => {
            // SAFETY: the caller's promise.
            unsafe { view.write(found) };
            0
        }
        _ => -1,
    }
}

/// Gives a text as the result of parameter number `index`; returns -1 where that is no OUT or INOUT
/// string, or the text contains a NUL.
///
/// # Safety
/// As [`farcall_running_parameters`]; `text` has as many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcall_running_answer(
    running: *mut Running<'_>,
    index: usize,
    text: *const u8,
    bytes: usize,
) -> c_int {
    if text.is_null() {
        -1
    } else {
        // SAFETY: the caller's promise.
        unsafe { farcall_running_answer_at(running, index, 0, text, bytes) }
    }
}

/// The same of one string of an array, by its number in memory; `text` may be NULL.
///
/// # Safety
/// As [`farcall_running_answer`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcall_running_answer_at(
    running: *mut Running<'_>,
    index: usize,
    element: usize,
    text: *const u8,
    bytes: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    let Some(running) = (unsafe { running.as_mut() }) else { return -1 };
    // SAFETY: the caller's promise.
    let text = (!text.is_null()).then(|| unsafe { std::slice::from_raw_parts(text, bytes) });
    if running.answer(index, element, text) { 0 } else { -1 }
}

/// The routine has failed, and says so in these words: the caller gets them instead of results.
///
/// # Safety
/// As [`farcall_running_parameters`]; `words` is NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcall_running_fail(running: *mut Running<'_>, words: *const c_char) {
    // SAFETY: the caller's promise.
    let Some(running) = (unsafe { running.as_mut() }).filter(|_| !words.is_null()) else { return };
    // SAFETY: the caller's promise.
    let words = unsafe { CStr::from_ptr(words) }.to_bytes();
    let words = String::from_utf8_lossy(&words[..words.len().min(WORDS_BYTES_MAX)]).into_owned();
    running.failure = Some(words);
}
