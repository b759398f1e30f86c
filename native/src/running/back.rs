//! Functions of the caller's, as programs call them that ask for their parameters
//! (farcall-executable.h): such a program has values and shapes, and neither a compiler nor the
//! sizes of the callback.

use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_int};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use farcall_base::abi::parameter_kind;
use farcall_base::{Bytes, Error, ErrorKind, Result};
use farcall_idl::callback::CallbackType;
use farcall_idl::element::element_bytes;
use farcall_idl::infer::{Given, complete};
use farcall_idl::interface::{
    ElementType, Implementation, Language, Parameter, Routine, Shape, StringConvention,
};
use farcall_idl::json::to_json;

use super::{Names, RawParameter, Running};
use crate::entry::EntryPoint;
use crate::invoke::{Prepared, Slot, invoke};

/// Arrays of one callback.
const BYTES_MAX: Bytes = Bytes(4 << 30);

/// What is worked out once in a call, whichever of its threads asks.
#[derive(Default)]
pub(super) struct Known {
    json: OnceLock<CString>,
    callbacks: Mutex<BTreeMap<usize, Arc<Back>>>,
}

/// A callback of the routine that runs.
struct Back {
    kind: CallbackType,
    names: Names,
    entry: EntryPoint,
    prepared: OnceLock<Prepared>,
}

impl Back {
    fn new(running: &Running<'_>, index: usize) -> Result<Back> {
        let kind = CallbackType::of(running.interface, index)
            .ok_or_else(|| wrong("the parameter is not a callback"))?;
        let memory = running.slots.get(index).map_or(std::ptr::null_mut(), |slot| slot.memory);
        // SAFETY: such a parameter's slot is the address of a function with the callback's
        // prototype, or NULL.
        let entry = unsafe { EntryPoint::new(memory.cast()) }
            .ok_or_else(|| wrong("the function is NULL"))?;
        Ok(Back { names: Names::of(&kind.interface)?, kind, entry, prepared: OnceLock::new() })
    }

    /// As routines of C take it: IN scalars by value, all else by pointer.
    fn prepared(&self) -> Result<&Prepared> {
        if let Some(prepared) = self.prepared.get() {
            return Ok(prepared);
        }
        let interface = &self.kind.interface;
        let implementation = Implementation {
            language: Language::C,
            strings: StringConvention::None,
            code: interface.function(),
            required: Vec::new(),
            backend: String::new(),
            distribution: Vec::new(),
        };
        let made =
            Prepared::new(&Routine { interface: interface.clone(), implementation }, self.entry)?;
        Ok(self.prepared.get_or_init(|| made))
    }
}

impl Running<'_> {
    fn back(&self, index: usize) -> Result<Arc<Back>> {
        let mut callbacks = self.known.callbacks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = callbacks.get(&index) {
            return Ok(known.clone());
        }
        let made = Arc::new(Back::new(self, index)?);
        callbacks.insert(index, made.clone());
        Ok(made)
    }

    /// Infers the scalars that were left out, and shows how each value is to lie.
    ///
    /// # Safety
    /// What the views say lies there.
    unsafe fn arrange(&self, index: usize, views: &mut [RawParameter]) -> Result<()> {
        let back = self.back(index)?;
        let interface = &back.kind.interface;
        check_count(views.len(), &back.kind)?;
        let size = |parameter: &Parameter| element_bytes(interface, parameter.element) as usize;
        let parameters = interface.parameters.iter();
        // SAFETY: the caller's promise.
        let given: Vec<Given<'_>> = parameters
            .clone()
            .zip(&*views)
            .map(|(one, view)| unsafe { view.given(one, size(one)) })
            .collect::<Result<_>>()?;
        let completed = complete(interface, &given)?;
        for ((parameter, scalar), view) in parameters.clone().zip(&completed.scalars).zip(&*views) {
            if let (Some(scalar), false) = (scalar, view.data.is_null()) {
                // SAFETY: the caller's promise: the place of a scalar has room for one.
                let place = unsafe { std::slice::from_raw_parts_mut(view.data, size(parameter)) };
                scalar.write(parameter.element, place)?;
            }
        }
        // SAFETY: the caller's promise; scalars have their values now.
        let values: Vec<Option<&[u8]>> = parameters
            .zip(&*views)
            .map(|(one, view)| unsafe { view.bytes(one, size(one)) })
            .collect();
        let layout = back.kind.sizer.resolve(interface, &values, BYTES_MAX)?;
        let place = |(one, view): (&Parameter, &RawParameter)| match one.shape {
            // What is shown of an array is where its first element lies in memory of the array's
            // own. Pointers to texts are made for the call alone.
            Shape::Array { .. } => Slot::null(),
            _ => Slot::new(view.data, view.shape[0] as usize),
        };
        let mut slots: Vec<Slot> = interface.parameters.iter().zip(&*views).map(place).collect();
        let shown = Running::new(&back.names, interface, &layout, &mut slots);
        for (index, view) in views.iter_mut().enumerate() {
            *view = shown
                .view(index)
                .ok_or_else(|| Error::internal("call back", "no such parameter"))?;
        }
        Ok(())
    }

    /// Calls the function.
    ///
    /// # Safety
    /// The addresses are those of values that [`Running::arrange`] has shown.
    unsafe fn call_back(&self, index: usize, addresses: &mut [*mut u8]) -> Result<()> {
        let back = self.back(index)?;
        check_count(addresses.len(), &back.kind)?;
        let parameters = &back.kind.interface.parameters;
        // A text that is an array of one, as OUT ones are, is a pointer that lies in memory.
        let is_place = |one: &Parameter| is_text(one) && matches!(one.shape, Shape::Array { .. });
        let mut texts = addresses.to_vec();
        let slot = |((one, address), place): ((&Parameter, &*mut u8), *mut *mut u8)| {
            Slot::new(if is_place(one) { place.cast() } else { *address }, 0)
        };
        let first = texts.as_mut_ptr();
        let places = (0..addresses.len()).map(|index| first.wrapping_add(index));
        let mut slots: Vec<Slot> =
            parameters.iter().zip(&*addresses).zip(places).map(slot).collect();
        // SAFETY: the caller's promise, for a function of this prototype.
        unsafe { invoke(back.prepared()?, &mut slots) }?;
        for (((parameter, slot), text), address) in
            parameters.iter().zip(slots).zip(texts).zip(addresses)
        {
            if is_text(parameter) && parameter.mode.is_output() {
                *address = if is_place(parameter) { text } else { slot.memory };
            }
        }
        Ok(())
    }
}

impl RawParameter {
    /// What the program has of it.
    ///
    /// # Safety
    /// What this says lies there.
    unsafe fn given(&self, parameter: &Parameter, size: usize) -> Result<Given<'_>> {
        let rank = (self.rank as usize).min(self.shape.len());
        if self.kind == parameter_kind::ABSENT {
            return Ok(Given::Unset);
        }
        if is_text(parameter) {
            if matches!(parameter.shape, Shape::Array { .. }) {
                return Ok(Given::Other);
            }
            // SAFETY: the caller's promise.
            let text = unsafe { self.bytes(parameter, size) }.map(std::str::from_utf8);
            return Ok(if let Some(Ok(text)) = text { Given::Text(text) } else { Given::Other });
        }
        let shape = &self.shape[..rank];
        let is_array = matches!(parameter.shape, Shape::Array { .. });
        // SAFETY: the caller's promise.
        match unsafe { self.bytes(parameter, size) } {
            Some(bytes) if is_array => Ok(Given::Elements { shape, bytes }),
            Some(bytes) => Ok(Given::Bytes(bytes)),
            None if is_array => Ok(Given::Array { shape }),
            None => Err(wrong("a value is missing").with("parameter", &parameter.name)),
        }
    }

    /// The bytes of its value, if it has one.
    ///
    /// # Safety
    /// As [`RawParameter::given`].
    unsafe fn bytes(&self, parameter: &Parameter, size: usize) -> Option<&[u8]> {
        let rank = (self.rank as usize).min(self.shape.len());
        let count = match parameter.shape {
            Shape::Array { .. } if is_text(parameter) => return None,
            _ if is_text(parameter) => self.shape[0],
            Shape::Array { .. } => {
                self.shape[..rank].iter().try_fold(1_u64, |all, one| all.checked_mul(*one))?
            }
            _ => 1,
        };
        let bytes =
            usize::try_from(count).ok()?.checked_mul(if is_text(parameter) { 1 } else { size })?;
        // SAFETY: the caller's promise.
        (!self.data.is_null()).then(|| unsafe { std::slice::from_raw_parts(self.data, bytes) })
    }
}

fn is_text(parameter: &Parameter) -> bool {
    matches!(parameter.element, ElementType::String | ElementType::Filename)
}

fn check_count(count: usize, kind: &CallbackType) -> Result<()> {
    let wanted = kind.interface.parameters.len();
    if count == wanted {
        return Ok(());
    }
    Err(wrong("the number of parameters differs").with("given", count).with("declared", wanted))
}

fn wrong(message: &'static str) -> Error {
    Error::new(ErrorKind::InvalidArgument, "call back", message)
}

/// Tells a C caller how it went: 0, or -1 and why, in `words`.
///
/// # Safety
/// `words` is NULL or has room for as many bytes.
unsafe fn told(outcome: Result<()>, words: *mut c_char, words_bytes: usize) -> c_int {
    let Err(error) = outcome else { return 0 };
    // SAFETY: the caller's promise.
    unsafe { say(&error.to_string(), words, words_bytes) };
    -1
}

/// Copies a text as far as it fits, and ends it with a NUL.
///
/// # Safety
/// `words` is NULL or has room for as many bytes.
pub unsafe fn say(text: &str, words: *mut c_char, words_bytes: usize) {
    if words.is_null() || words_bytes == 0 {
        return;
    }
    let end = (0..=text.len().min(words_bytes - 1))
        .rev()
        .find(|end| text.is_char_boundary(*end))
        .unwrap_or(0);
    // SAFETY: the caller's promise: `end` is less than the room.
    unsafe {
        words.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), end);
        words.add(end).write(0);
    }
}

/// The interface of what runs as JSON; valid until the function that was given `running` returns.
///
/// # Safety
/// `running` is what the body was given, and it has not returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcall_running_json(running: *const Running<'_>) -> *const c_char {
    // SAFETY: the caller's promise.
    let Some(running) = (unsafe { running.as_ref() }) else { return std::ptr::null() };
    let made = || CString::new(to_json(running.interface).to_string()).unwrap_or_default();
    running.known.json.get_or_init(made).as_ptr()
}

/// Completes the parameters of a call of the callback that is parameter number `index`: infers
/// scalars that were left out, and shows how each value is to lie. Returns 0, or -1 and why not, in
/// `words`.
///
/// # Safety
/// As [`farcall_running_json`]; `parameters` has `count` entries, whose values lie where they say;
/// `words` is NULL or has room for as many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcall_running_arrange(
    running: *const Running<'_>,
    index: usize,
    parameters: *mut RawParameter,
    count: usize,
    words: *mut c_char,
    words_bytes: usize,
) -> c_int {
    // SAFETY: the caller's promise, here and below.
    let Some(running) = (unsafe { running.as_ref() }).filter(|_| !parameters.is_null()) else {
        return -1;
    };
    // SAFETY: as above.
    unsafe {
        let outcome = running.arrange(index, std::slice::from_raw_parts_mut(parameters, count));
        told(outcome, words, words_bytes)
    }
}

/// Calls the callback that is parameter number `index` with values at these addresses, as
/// [`farcall_running_arrange`] has shown them. Returns 0, or -1 and why not, in `words`.
///
/// # Safety
/// As [`farcall_running_arrange`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcall_running_call(
    running: *const Running<'_>,
    index: usize,
    addresses: *mut *mut u8,
    count: usize,
    words: *mut c_char,
    words_bytes: usize,
) -> c_int {
    // SAFETY: the caller's promise, here and below.
    let Some(running) = (unsafe { running.as_ref() }).filter(|_| !addresses.is_null()) else {
        return -1;
    };
    // SAFETY: as above.
    unsafe {
        let outcome = running.call_back(index, std::slice::from_raw_parts_mut(addresses, count));
        told(outcome, words, words_bytes)
    }
}
