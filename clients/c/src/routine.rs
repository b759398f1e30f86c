//! Routines: what their interfaces say, as text and numbers.

use std::ffi::{CString, c_char, c_int};
use std::sync::OnceLock;

use farcall_base::abi::element::VOID;
use farcall_base::abi::parameter_kind::{ARRAY, CALLBACK, FILE, NUMBER, TEXT, TEXTS};
use farcall_client::Routine;
use farcall_client::idl::element::element_bytes;
use farcall_client::idl::help::help_page;
use farcall_client::idl::interface::{ElementType, Interface, Order, Shape};
use farcall_client::idl::json::to_json;
use farcall_client::idl::signature::{positional, signature};

use crate::boundary::{c_text, free, quietly, text};
use crate::passing::passing;

/// `farcall_routine`. Texts are made when they are first asked for.
pub struct RoutineObject {
    pub routine: Routine,
    name: CString,
    contract: [u8; 32],
    json: OnceLock<CString>,
    help: OnceLock<CString>,
    signature: OnceLock<CString>,
    parameters: OnceLock<Vec<CString>>,
}

/// `farcall_declared`.
#[repr(C)]
pub struct RawDeclared {
    name: *const c_char,
    kind: u32,
    mode: u32,
    element: u32,
    rank: u32,
    element_bytes: u64,
    column: u32,
    reserved: [u32; 3],
}

impl RoutineObject {
    pub fn new(routine: Routine) -> RoutineObject {
        let name = c_text(routine.name());
        let contract = routine.contract();
        let json = OnceLock::new();
        let help = OnceLock::new();
        let signature = OnceLock::new();
        RoutineObject {
            routine,
            name,
            contract,
            json,
            help,
            signature,
            parameters: OnceLock::new(),
        }
    }

    /// What the interface declares of a parameter.
    fn declared(&self, index: usize) -> Option<RawDeclared> {
        let interface = self.routine.interface();
        let parameter = interface.parameters.get(index)?;
        let names = || interface.parameters.iter().map(|one| c_text(&one.name)).collect();
        let name = self.parameters.get_or_init(names).get(index)?.as_ptr();
        let (kind, rank) = match (&parameter.shape, parameter.element) {
            (Shape::Callback { .. }, _) => (CALLBACK, 0),
            (Shape::Scalar, ElementType::String) => (TEXT, 0),
            (Shape::Scalar, ElementType::Filename) => (FILE, 0),
            (Shape::Scalar, _) => (NUMBER, 0),
            (Shape::Array { dimensions, .. }, ElementType::String | ElementType::Filename) => {
                (TEXTS, dimensions.len())
            }
            (Shape::Array { dimensions, .. }, _) => (ARRAY, dimensions.len()),
        };
        let is_number = matches!(kind, NUMBER | ARRAY);
        let element = if is_number { parameter.element.abi_number() } else { VOID };
        let element_bytes = if is_number { element_bytes(interface, parameter.element) } else { 0 };
        let column =
            u32::from(matches!(parameter.shape, Shape::Array { order: Order::Column, .. }));
        Some(RawDeclared {
            name,
            kind,
            mode: parameter.mode.abi_number(),
            element,
            rank: rank as u32,
            element_bytes,
            column,
            reserved: [0; 3],
        })
    }
}

/// Text of a routine, made by `make` unless it is there.
///
/// # Safety
/// NULL, or a routine.
unsafe fn lazy(
    routine: *const RoutineObject,
    cell: impl FnOnce(&RoutineObject) -> &OnceLock<CString>,
    make: impl FnOnce(&Interface) -> String,
) -> *const c_char {
    // SAFETY: the caller's promise.
    let Some(routine) = (unsafe { routine.as_ref() }) else { return std::ptr::null() };
    let made = || cell(routine).get_or_init(|| c_text(&make(routine.routine.interface()))).as_ptr();
    quietly(std::ptr::null(), made)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_routine_free(routine: *mut RoutineObject) {
    // SAFETY: farcall.h: NULL or a routine that the caller gives up.
    unsafe { free(routine) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_routine_name(routine: *const RoutineObject) -> *const c_char {
    // SAFETY: farcall.h: NULL or a routine.
    unsafe { routine.as_ref() }.map_or(std::ptr::null(), |routine| routine.name.as_ptr())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_routine_json(routine: *const RoutineObject) -> *const c_char {
    // SAFETY: farcall.h: NULL or a routine.
    unsafe { lazy(routine, |routine| &routine.json, |interface| to_json(interface).to_string()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_routine_help(routine: *const RoutineObject) -> *const c_char {
    // SAFETY: farcall.h: NULL or a routine.
    unsafe { lazy(routine, |routine| &routine.help, help_page) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_routine_signature(routine: *const RoutineObject) -> *const c_char {
    // SAFETY: farcall.h: NULL or a routine.
    unsafe { lazy(routine, |routine| &routine.signature, signature) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_routine_contract(routine: *const RoutineObject) -> *const u8 {
    // SAFETY: farcall.h: NULL or a routine.
    unsafe { routine.as_ref() }.map_or(std::ptr::null(), |routine| routine.contract.as_ptr())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_routine_parameters(routine: *const RoutineObject) -> usize {
    // SAFETY: farcall.h: NULL or a routine.
    unsafe { routine.as_ref() }.map_or(0, |routine| routine.routine.interface().parameters.len())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_routine_find(
    routine: *const RoutineObject,
    parameter: *const c_char,
) -> c_int {
    // SAFETY: farcall.h: NULL or a routine, NULL or text.
    let (Some(routine), Ok(name)) =
        (unsafe { (routine.as_ref(), text(parameter, "the parameter's name")) })
    else {
        return -1;
    };
    let index = routine.routine.interface().parameters.iter().position(|one| one.name == name);
    index.and_then(|index| c_int::try_from(index).ok()).unwrap_or(-1)
}

/// Writes as many numbers as there is room for, and says how many there are.
///
/// # Safety
/// `place` has room for `capacity` numbers; or it is NULL.
unsafe fn write_numbers(numbers: &[u32], place: *mut u32, capacity: usize) -> usize {
    let room = if place.is_null() { 0 } else { capacity.min(numbers.len()) };
    if room > 0 {
        // SAFETY: room for that many, by the caller's promise.
        unsafe { std::ptr::copy_nonoverlapping(numbers.as_ptr(), place, room) };
    }
    numbers.len()
}

/// Numbers that an interface says.
///
/// # Safety
/// NULL or a routine; a place as for [`write_numbers`].
unsafe fn numbers(
    routine: *const RoutineObject,
    place: *mut u32,
    capacity: usize,
    find: impl FnOnce(&Interface) -> Vec<u32>,
) -> usize {
    // SAFETY: the caller's promise, here and below.
    let Some(routine) = (unsafe { routine.as_ref() }) else { return 0 };
    let found = quietly(Vec::new(), || find(routine.routine.interface()));
    // SAFETY: as above.
    unsafe { write_numbers(&found, place, capacity) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_routine_positional(
    routine: *const RoutineObject,
    indexes: *mut u32,
    capacity: usize,
) -> usize {
    let find = |interface: &Interface| {
        positional(interface).into_iter().map(|index| index as u32).collect()
    };
    // SAFETY: farcall.h: NULL or a routine, and room for `capacity` numbers.
    unsafe { numbers(routine, indexes, capacity, find) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_routine_passing(
    routine: *const RoutineObject,
    tags: *mut u32,
    capacity: usize,
) -> usize {
    let find = |interface: &Interface| {
        interface.caller_parameters().map(|(_, one)| passing(one)).collect()
    };
    // SAFETY: farcall.h: NULL or a routine, and room for `capacity` numbers.
    unsafe { numbers(routine, tags, capacity, find) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_routine_declared(
    routine: *const RoutineObject,
    index: usize,
    declared: *mut RawDeclared,
) -> c_int {
    // SAFETY: farcall.h: NULL or a routine, here and below.
    let found =
        quietly(None, || unsafe { routine.as_ref() }.and_then(|routine| routine.declared(index)));
    match found {
        Some(found) if !declared.is_null() => {
            // SAFETY: as above; a place for the answer.
            unsafe { declared.write(found) };
            0
        }
        _ => -1,
    }
}
