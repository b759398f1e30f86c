//! Arguments that are objects of another system (Lisp, Mathematica): functions of the program's
//! turn them into numbers and back.

use std::ffi::{c_char, c_int, c_long, c_void};
use std::sync::Arc;

use farcall_c::{TaggedValue, passing, spans};
use farcall_client::Routine;
use farcall_client::idl::element::element_bytes;
use farcall_client::idl::interface::{Interface, Mode, Parameter, Shape};

use crate::code::{Failure, Number, Outcome};
use crate::handles::Handle;
use crate::numbers::ninf_error;
use crate::numbers::ninf_type::{FILENAME, STRING};
use crate::pointers::{missing, text};

use super::calls::call_values;
use super::failure::{OK, enter};
use super::lookup::type_of;
use super::{lock, ninf, transactions};

/// `ninf_cim_get`: writes elements of an object.
type Get = unsafe extern "C" fn(
    object: *mut c_void,
    kind: c_int,
    count: c_long,
    elements: *mut c_void,
) -> c_int;
/// `ninf_cim_put`: makes an object of elements.
type Put = unsafe extern "C" fn(
    object: *mut c_void,
    kind: c_int,
    count: c_long,
    elements: *const c_void,
) -> c_int;

/// Arrays have places apart while their sizes are not known. Nothing is read there.
const APART: usize = 1 << 44;

/// What the program gave.
#[derive(Clone, Copy, Default)]
pub struct Functions {
    get: Option<Get>,
    put: Option<Put>,
}

fn undefined(what: &str) -> Failure {
    Failure::other(format!("{what}: call Ninf_set_cim_funcs first")).numbered(Number::CimNotDefined)
}

/// What one of the functions answered.
fn answer(status: c_int, parameter: &Parameter) -> Outcome<()> {
    let number = match status {
        // 0 is as good.
        OK | ninf_error::CIM_OK => return Ok(()),
        ninf_error::CIM_ERROR_NOT_DEFINED => Number::CimNotDefined,
        ninf_error::CIM_ERROR_CANNOT_ALLOC => Number::CimCannotAllocate,
        ninf_error::CIM_ERROR_ARRAY_BOUND => Number::CimArrayBound,
        _ => Number::CimTypeMismatch,
    };
    Err(Failure::other(format!("{}: the program's function returned {status}", parameter.name))
        .numbered(number))
}

/// One argument.
struct Given<'a> {
    object: *mut c_void,
    parameter: &'a Parameter,
    /// Its elements; of a string the address of its text.
    memory: Vec<u64>,
    count: c_long,
}

impl Given<'_> {
    fn is_array(&self) -> bool {
        matches!(self.parameter.shape, Shape::Array { .. })
    }

    fn is_text(&self) -> bool {
        !self.is_array() && type_of(self.parameter) >= STRING
    }

    /// # Safety
    /// As ninf.h says of the function and the objects.
    unsafe fn get(&mut self, functions: Functions) -> Outcome<()> {
        if !self.parameter.mode.is_input() && type_of(self.parameter) != FILENAME {
            return Ok(());
        }
        let get = functions.get.ok_or_else(|| undefined("no function gets values"))?;
        let kind = type_of(self.parameter).min(STRING);
        // SAFETY: the caller's promise; there is room for so many.
        let status = unsafe { get(self.object, kind, self.count, self.memory.as_mut_ptr().cast()) };
        answer(status, self.parameter)
    }

    /// # Safety
    /// As ninf.h says of the function and the objects.
    unsafe fn put(&self, functions: Functions) -> Outcome<()> {
        if !self.parameter.mode.is_output() || type_of(self.parameter) == FILENAME {
            return Ok(());
        }
        let put = functions.put.ok_or_else(|| undefined("no function puts values"))?;
        // SAFETY: as above.
        answer(
            unsafe {
                put(self.object, type_of(self.parameter), self.count, self.memory.as_ptr().cast())
            },
            self.parameter,
        )
    }

    /// What the call is to have of it.
    fn value(&mut self) -> TaggedValue {
        if self.is_text() && !self.is_result_text() {
            return TaggedValue::of_pointer(self.memory[0] as *mut u8);
        }
        // SAFETY: 16 bytes and more lie there, whatever the type is.
        unsafe { TaggedValue::at(passing(self.parameter), self.memory.as_mut_ptr().cast()) }
    }

    fn is_result_text(&self) -> bool {
        type_of(self.parameter) == STRING && self.parameter.mode.is_output()
    }

    /// Frees what the call has made.
    fn free(&self) {
        let texts = if self.is_result_text() { self.count as usize } else { 0 };
        for text in &self.memory[..texts] {
            // SAFETY: NULL, or a text that the call made, as it does for programs that free it.
            unsafe { libc::free(*text as *mut c_void) };
        }
    }
}

/// Whether objects can stand for it at all.
fn check(routine: &Routine, index: usize, parameter: &Parameter) -> Outcome<()> {
    let is_array = matches!(parameter.shape, Shape::Array { .. });
    let fits = match type_of(parameter) {
        kind if kind < STRING => !is_array || !routine.is_inline(index),
        // Texts that an array has are read before its size is known here.
        STRING => parameter.mode == Mode::Out || parameter.mode == Mode::In && !is_array,
        kind => kind == FILENAME && !is_array,
    };
    if fits {
        return Ok(());
    }
    let words =
        format!("{}: an object cannot be this kind of argument; use Ninf_call", parameter.name);
    Err(Failure::other(words).numbered(Number::CimTypeMismatch))
}

/// How many bytes each array has, now that the scalars are known.
fn measure(routine: &Routine, given: &mut [Given<'_>]) -> Outcome<()> {
    let place = |index: usize| (APART * (index + 1)) as *mut u8;
    let value = |(index, one): (usize, &mut Given<'_>)| {
        if one.is_array() { TaggedValue::of_pointer(place(index)) } else { one.value() }
    };
    let values: Vec<TaggedValue> = given.iter_mut().enumerate().map(value).collect();
    // SAFETY: scalars as the interface says. Arrays are not looked at: none of them is one that
    // sizes depend on.
    let spans = unsafe { spans(routine, &values) }?.unwrap_or_default();
    for (index, one) in given.iter_mut().enumerate().filter(|(_, one)| one.is_array()) {
        let bytes = spans
            .iter()
            .find(|span| span.start == place(index) as usize)
            .map_or(0, |span| span.bytes);
        let full = || {
            Failure::other(format!("no memory for {bytes} bytes"))
                .numbered(Number::CimCannotAllocate)
        };
        one.memory.try_reserve_exact(bytes / 8 + 2).map_err(|_| full())?;
        one.memory.resize(bytes / 8 + 2, 0);
        let is_text = type_of(one.parameter) == STRING;
        let bytes_of = || element_bytes(routine.interface(), one.parameter.element).max(1) as usize;
        let width = if is_text { size_of::<*mut c_char>() } else { bytes_of() };
        one.count = (bytes / width) as c_long;
    }
    Ok(())
}

/// # Safety
/// As many objects as the interface has arguments.
unsafe fn given_of<'a>(
    interface: &'a Interface,
    objects: *const *mut c_void,
) -> Outcome<Vec<Given<'a>>> {
    let one = |(at, (_, parameter)): (usize, (usize, &'a Parameter))| {
        if objects.is_null() {
            return Err(missing("the array of objects"));
        }
        // SAFETY: the caller's promise.
        let object = unsafe { objects.add(at).read() };
        Ok(Given { object, parameter, memory: vec![0; 2], count: 1 })
    };
    interface.caller_parameters().enumerate().map(one).collect()
}

/// Calls with objects.
///
/// # Safety
/// As ninf.h says of the functions and the objects.
unsafe fn call(handle: Arc<Handle>, objects: *const *mut c_void) -> Outcome<c_int> {
    if transactions::is_under_way() {
        return Err(Failure::other("calls with objects cannot be part of a transaction"));
    }
    let functions = *lock(&ninf().foreign);
    let routine = handle.routine(None)?.0;
    routine
        .interface()
        .caller_parameters()
        .try_for_each(|(index, one)| check(&routine, index, one))?;
    // SAFETY: the caller's promise, here and below.
    let mut given = unsafe { given_of(routine.interface(), objects) }?;
    for one in given.iter_mut().filter(|one| !one.is_array()) {
        // SAFETY: as above.
        unsafe { one.get(functions) }?;
    }
    measure(&routine, &mut given)?;
    for one in given.iter_mut().filter(|one| one.is_array()) {
        // SAFETY: as above.
        unsafe { one.get(functions) }?;
    }
    let values: Vec<TaggedValue> = given.iter_mut().map(Given::value).collect();
    // SAFETY: memory of our own, as large as the interface says.
    let outcome = unsafe { call_values(handle, &values) };
    // SAFETY: as above.
    let put = outcome.and_then(|_| given.iter().try_for_each(|one| unsafe { one.put(functions) }));
    given.iter().for_each(Given::free);
    put.map(|()| OK)
}

#[unsafe(no_mangle)]
extern "C" fn farcall_Ninf_set_cim_funcs(get: Option<Get>, put: Option<Put>) -> c_int {
    enter("Ninf_set_cim_funcs", || {
        *lock(&ninf().foreign) = Functions { get, put };
        Ok(OK)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_Ninf_cim_main(
    entry: *const c_char,
    objects: *const *mut c_void,
) -> c_int {
    enter("Ninf_cim_main", || {
        // SAFETY: ninf.h: text, and an object per argument, here and below.
        let handle = ninf().handle(unsafe { text(entry, "the entry") }?)?;
        // SAFETY: as above.
        unsafe { call(handle, objects) }
    })
}
