//! Functions of the client that a routine calls: made for it before the call, they open a call on
//! the connection to the server and wait for its outcome (spec/call.md, section 6.1). Any thread of
//! the routine may call them, and several at once.

mod entry;
mod table;

use std::collections::BTreeMap;
use std::ffi::{c_char, c_int};
use std::sync::Arc;

use farcall_base::{Bytes, Error, ErrorKind, Result};
use farcall_idl::callback::CallbackType;
use farcall_idl::element::element_bytes;
use farcall_idl::evaluate::Values;
use farcall_idl::interface::{ElementType, Interface, Mode, Parameter, Shape};
use farcall_idl::layout::{ArrayLayout, CallLayout, ParameterLayout, resolve};
use farcall_idl::scalar::ScalarValue;
use farcall_link::memory::{Block, BorrowedRegion, Region, Space};
use farcall_link::packing::Packing;
use farcall_link::strided::Strided;
use farcall_native::Closure;
use farcall_native::invoke::Slot;
use farcall_native::running::say;
use farcall_native::taken::{gather, scatter, text_at, texts_at};
use farcall_wire::{Argument, CallResult};

use super::results::INLINE_MAX;
use super::{CALL_BYTES_MAX, running};
use entry::Entry;
pub use entry::{closures, keep_slots};
pub use table::Callbacks;

/// The functions that a routine gets for its callbacks, by parameter.
pub type Closures = Vec<Option<Closure>>;

/// Checks that each callback of a routine can be called.
pub(crate) fn check_callbacks(interface: &Interface) -> Result<()> {
    CallbackType::all(interface).iter().try_for_each(|(_, kind)| check(kind))
}

fn check(kind: &CallbackType) -> Result<()> {
    let is_file = |parameter: &&Parameter| parameter.element == ElementType::Filename;
    match kind.interface.parameters.iter().find(is_file) {
        None => Ok(()),
        Some(parameter) => Err(Error::new(
            ErrorKind::InvalidSource,
            "prepare the routine",
            "a callback cannot have files",
        )
        .with("callback", kind.interface.full_name())
        .with("parameter", &parameter.name)
        .fix("pass the content as a char array")),
    }
}

/// A call of a client's function, under way. Its memory is the routine's, which waits for it.
pub struct Outgoing {
    ticket: u64,
    kind: Arc<CallbackType>,
    layout: Arc<CallLayout>,
    slots: Vec<Slot>,
    sending: BTreeMap<u16, Packing>,
    receiving: BTreeMap<u16, Packing>,
    trouble: Option<Error>,
}

impl Outgoing {
    fn new(entry: &Entry, slots: &[Slot]) -> Result<(Outgoing, Vec<Argument>)> {
        let interface = &entry.kind.interface;
        let values = SlotValues { interface, slots, fortran: entry.fortran };
        let layout = Arc::new(resolve(interface, &values, Bytes(CALL_BYTES_MAX))?);
        let mut sending = BTreeMap::new();
        let mut arguments = Vec::with_capacity(slots.len());
        for (index, parameter) in interface.parameters.iter().enumerate() {
            let argument = if parameter.mode.is_input() {
                let is_inline = entry.kind.sizer.is_inline(index);
                argument(&values, index, &layout.parameters[index], is_inline, &mut sending)
            } else {
                Ok(Argument::Absent)
            };
            arguments.push(argument.map_err(|error| error.with("parameter", &parameter.name))?);
        }
        let call = Outgoing {
            ticket: 0,
            kind: entry.kind.clone(),
            layout,
            slots: slots.to_vec(),
            sending,
            receiving: BTreeMap::new(),
            trouble: None,
        };
        Ok((call, arguments))
    }

    /// The next bytes of an argument.
    pub fn blocks(&mut self, slot: u16, length: u32) -> Result<Vec<Block>> {
        let packing = self.sending.get_mut(&slot);
        packing
            .ok_or_else(|| Error::internal("send a callback's argument", "nobody wants it"))?
            .blocks(length as usize)
    }

    /// Where the next bytes of a result go.
    pub fn result_space(&mut self, slot: u16, max: usize) -> Result<Space> {
        let packing = self.receiving.get_mut(&slot);
        packing
            .ok_or_else(|| Error::internal("receive a callback's result", "it is not expected"))?
            .space(max)
    }

    /// They are there.
    pub fn result_arrived(&mut self, slot: u16, count: usize) -> Result<()> {
        self.receiving.get_mut(&slot).map_or(Ok(()), |packing| packing.arrived(count))
    }

    /// The outcome's head came.
    fn resulted(&mut self, result: CallResult) -> Result<()> {
        if let Some(failure) = result.failure {
            return Err(failure.into());
        }
        let kind = self.kind.clone();
        let parameters = &kind.interface.parameters;
        if result.results.len() != parameters.len() {
            return Err(wrong("it has the wrong number of results"));
        }
        let bytes = result.results.iter().map(|argument| match argument {
            Argument::Inline(bytes) => Some(bytes.as_slice()),
            _ => None,
        });
        let after = kind.sizer.resolve_results(&kind.interface, bytes, &self.layout)?;
        let after = after.unwrap_or_else(|| self.layout.clone());
        for (index, (parameter, result)) in parameters.iter().zip(result.results).enumerate() {
            if parameter.mode.is_output() && !self.slots[index].memory.is_null() {
                let taken = self.take(index, &after.parameters[index], result);
                taken.map_err(|error| error.with("parameter", &parameter.name))?;
            }
        }
        Ok(())
    }

    fn take(&mut self, index: usize, layout: &ParameterLayout, result: Argument) -> Result<()> {
        let slot = self.slots[index];
        match (layout, result) {
            (ParameterLayout::Array(array), Argument::Inline(bytes)) => {
                scatter(&mut packing(slot, array)?, &bytes)
            }
            (ParameterLayout::Array(array), Argument::Blocks(Some(length)))
                if length == array.transfer_bytes =>
            {
                self.receiving.insert(index as u16, packing(slot, array)?);
                Ok(())
            }
            (ParameterLayout::Text, Argument::Inline(text)) => {
                // SAFETY: the slot of such a parameter is the place of a pointer, which the routine
                // reads.
                unsafe { slot.memory.cast::<*mut u8>().write(copied(&text)) };
                Ok(())
            }
            (ParameterLayout::Text, Argument::Null) => {
                // SAFETY: as above.
                unsafe { slot.memory.cast::<*mut u8>().write(std::ptr::null_mut()) };
                Ok(())
            }
            (ParameterLayout::TextArray { count }, Argument::Texts(texts))
                if texts.len() as u64 == *count =>
            {
                for (index, text) in texts.iter().enumerate() {
                    let text = text.as_ref().map_or(std::ptr::null_mut(), |text| copied(text));
                    // SAFETY: the routine has as many pointers there.
                    unsafe { slot.memory.cast::<*mut u8>().add(index).write(text) };
                }
                Ok(())
            }
            (_, Argument::Null | Argument::Absent) => Ok(()),
            _ => Err(wrong("a result has the wrong kind or length")),
        }
    }
}

/// An argument as it leaves.
fn argument(
    values: &SlotValues<'_>,
    index: usize,
    layout: &ParameterLayout,
    is_inline: bool,
    sending: &mut BTreeMap<u16, Packing>,
) -> Result<Argument> {
    let slot = values.slots[index];
    match layout {
        ParameterLayout::Scalar { bytes } => {
            let present = !slot.memory.is_null();
            let bytes = usize::try_from(*bytes)
                .ok()
                .filter(|_| present)
                .ok_or_else(|| wrong("a value is missing"))?;
            // SAFETY: the routine's value of that type.
            Ok(Argument::Inline(unsafe { std::slice::from_raw_parts(slot.memory, bytes) }.into()))
        }
        ParameterLayout::Array(array) if slot.memory.is_null() => {
            Ok(if array.transfer_bytes == 0 {
                Argument::Inline(Default::default())
            } else {
                Argument::Null
            })
        }
        ParameterLayout::Array(array) => {
            let mut packing = packing(slot, array)?;
            if array.transfer_bytes <= INLINE_MAX || is_inline {
                return gather(&mut packing).map(Argument::Inline);
            }
            sending.insert(index as u16, packing);
            Ok(Argument::Blocks(Some(array.transfer_bytes)))
        }
        ParameterLayout::Text => Ok(values
            .text(index)?
            .map_or(Argument::Null, |text| Argument::Inline(text.as_slice().into()))),
        ParameterLayout::TextArray { .. } if slot.memory.is_null() => Ok(Argument::Null),
        ParameterLayout::TextArray { count } => {
            // SAFETY: the routine has as many pointers there, each to a text or NULL.
            unsafe { texts_at(slot.memory, *count) }.map(Argument::Texts)
        }
        ParameterLayout::Absent | ParameterLayout::Callback => Ok(Argument::Absent),
    }
}

/// An array of the routine's, at its place.
fn packing(slot: Slot, array: &ArrayLayout) -> Result<Packing> {
    let bytes = usize::try_from(array.full_bytes)
        .map_err(|_| wrong("an array is larger than the address space"))?;
    // SAFETY: the routine's interface says that so much lies there; it waits until nobody uses it
    // any more, or `Callbacks::end` has seen to that.
    let region: Arc<dyn Region> = Arc::new(unsafe { BorrowedRegion::new(slot.memory, bytes) });
    Packing::new(region, 0, &Strided::of_layout(array))
}

/// A text for the routine, which frees it, as it would one that it got from C.
fn copied(text: &[u8]) -> *mut u8 {
    // SAFETY: as many bytes are written as were asked for; none where there is no memory.
    unsafe {
        let place = libc::malloc(text.len() + 1).cast::<u8>();
        if !place.is_null() {
            place.copy_from_nonoverlapping(text.as_ptr(), text.len());
            place.add(text.len()).write(0);
        }
        place
    }
}

fn wrong(message: &'static str) -> Error {
    Error::new(ErrorKind::InvalidArgument, "call back", message)
}

/// The values that the routine passes, where they lie.
struct SlotValues<'a> {
    interface: &'a Interface,
    slots: &'a [Slot],
    fortran: bool,
}

impl SlotValues<'_> {
    fn value(&self, parameter: u16, element: u64) -> Option<ScalarValue> {
        let index = usize::from(parameter);
        let element = usize::try_from(element).ok()?;
        let described = self.interface.parameters.get(index)?;
        let slot = self.slots.get(index).filter(|slot| !slot.memory.is_null())?;
        let is_text = matches!(described.element, ElementType::String | ElementType::Filename);
        if described.mode == Mode::Out
            || is_text
            || (described.shape == Shape::Scalar && element > 0)
        {
            return None;
        }
        let bytes = element_bytes(self.interface, described.element) as usize;
        // SAFETY: the interface refers to this element, so that the routine has it.
        let value = unsafe {
            std::slice::from_raw_parts(slot.memory.add(element.checked_mul(bytes)?), bytes)
        };
        ScalarValue::read(described.element, value, 0)
    }

    fn text(&self, index: usize) -> Result<Option<Vec<u8>>> {
        let slot = self.slots[index];
        let parameter = &self.interface.parameters[index];
        if slot.memory.is_null() {
            return Ok(None);
        }
        if self.fortran {
            // SAFETY: a CHARACTER of that length.
            return Ok(Some(
                unsafe { std::slice::from_raw_parts(slot.memory, slot.bytes) }.to_vec(),
            ));
        }
        let by_place = parameter.mode.is_output();
        // SAFETY: the interface says that it is a text, or the place of one.
        unsafe {
            text_at(if by_place { slot.memory.cast::<*const u8>().read() } else { slot.memory })
        }
    }
}

impl Values for SlotValues<'_> {
    fn integer(&self, parameter: u16, element: u64) -> Option<i64> {
        self.value(parameter, element)?.integer()
    }

    fn real(&self, parameter: u16, element: u64) -> Option<f64> {
        self.value(parameter, element)?.float()
    }

    fn length(&self, parameter: u16) -> Option<u64> {
        self.text(usize::from(parameter)).ok()?.map(|text| text.len() as u64)
    }

    fn name(&self, parameter: u16) -> Option<&str> {
        self.interface
            .parameters
            .get(usize::from(parameter))
            .map(|parameter| parameter.name.as_str())
    }
}

/// [`farcall_callback_failed`] of the process that runs the call.
pub(super) unsafe extern "C" fn own_callback_failed() -> c_int {
    // SAFETY: no room is none that is written to.
    unsafe { own_callback_failure(std::ptr::null_mut(), 0) }
}

/// [`farcall_callback_failure`] of the process that runs the call.
pub(super) unsafe extern "C" fn own_callback_failure(
    words: *mut c_char,
    words_bytes: usize,
) -> c_int {
    let Some(failure) = running::with(|running| running.way().session.callbacks.take_failure())
    else {
        return -1;
    };
    let Some(failure) = failure else { return 0 };
    // SAFETY: the caller's promise.
    unsafe { say(&failure.to_string(), words, words_bytes) };
    1
}

/// 1 if a callback that this thread called has failed since it last asked, 0 if none has, -1 where
/// no call runs. Who asks has heard of it: the call does not fail for it.
#[unsafe(no_mangle)]
pub extern "C" fn farcall_callback_failed() -> c_int {
    let host: Option<unsafe extern "C" fn() -> c_int> = running::callback_failed_of_host();
    // SAFETY: both take nothing.
    unsafe { host.map_or_else(|| own_callback_failed(), |host| host()) }
}

/// As [`farcall_callback_failed`], and says why: at most `words_bytes` bytes with a NUL go to
/// `words`.
///
/// # Safety
/// `words` is NULL or has room for as many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcall_callback_failure(words: *mut c_char, words_bytes: usize) -> c_int {
    // SAFETY: the caller's promise, passed on.
    unsafe {
        match running::callback_failure_of_host() {
            Some(host) => host(words, words_bytes),
            None => own_callback_failure(words, words_bytes),
        }
    }
}
