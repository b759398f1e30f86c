//! Routines that one function runs for all: what a program in another language serves with. It is told the routine's name
//! and asks for the arguments, instead of being called through a C signature (farcall-executable.h).

use std::ffi::{CStr, CString, c_char, c_int, c_void};

use farcall_base::{Error, ErrorKind, Result};
use farcall_idl::expression::Expression;
use farcall_idl::interface::{Dimension, ElementType, Interface, Mode, Module, Parameter, Shape};
use farcall_idl::layout::{ArrayLayout, CallLayout, ParameterLayout};

use crate::invoke::Slot;

/// Dimensions of an array, at most (spec/idl.md, 3.3).
const RANK_MAX: usize = 32;
/// What is sent of the words in which a routine fails.
const WORDS_BYTES_MAX: usize = 16 << 10;

/// `farcall_load`.
pub type RawLoad = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char) -> *const c_char;
/// `farcall_body`.
pub type RawBody = unsafe extern "C" fn(*mut c_void, *const c_char, *mut Running<'_>);

/// What runs routines, what takes the module's source before, and what both want to be told.
#[derive(Clone, Copy)]
pub struct Function {
    load: RawLoad,
    body: RawBody,
    context: *mut c_void,
}

impl Function {
    /// One that runs routines from now on.
    ///
    /// # Safety
    /// Both may be called with `context` as long as this process serves; `load` returns NULL or a text with an end.
    pub unsafe fn new(load: RawLoad, body: RawBody, context: *mut c_void) -> Function {
        Function { load, body, context }
    }

    /// Hands over the source that came with the module.
    ///
    /// # Errors
    /// `InvalidSource` in the words of the program.
    pub fn load(self, module: &Module) -> Result<()> {
        let without_nul = |text: &str| CString::new(text).map_err(|_| refused("it has a NUL inside", module));
        let (source, file, _) = module.globals.first().ok_or_else(|| refused("it has none", module))?;
        let (source, file) = (without_nul(source)?, without_nul(file)?);
        // SAFETY: whoever made the function promised that it takes this.
        let words = unsafe { (self.load)(self.context, file.as_ptr(), source.as_ptr()) };
        if words.is_null() {
            return Ok(());
        }
        // SAFETY: the same promise.
        let words = unsafe { CStr::from_ptr(words) }.to_bytes();
        Err(refused(String::from_utf8_lossy(&words[..words.len().min(WORDS_BYTES_MAX)]), module))
    }
}

fn refused(words: impl Into<String>, module: &Module) -> Error {
    Error::new(ErrorKind::InvalidSource, "load a module's source", words).with("module", &module.name)
}

/// A routine of such a program.
pub struct Hosted {
    function: Function,
    name: CString,
    /// Of the parameters.
    names: Vec<CString>,
}

/// `farcall_running`: one call, while the function runs it.
pub struct Running<'a> {
    hosted: &'a Hosted,
    interface: &'a Interface,
    layout: &'a CallLayout,
    slots: &'a mut [Slot],
    texts: Vec<CString>,
    failure: Option<String>,
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

/// `enum farcall_parameter_kind`.
#[derive(Clone, Copy)]
enum Kind {
    Absent = 0,
    Number = 1,
    Array = 2,
    Text = 3,
    File = 4,
}

impl Hosted {
    /// Fails for what a parameter's view cannot show.
    pub fn new(function: Function, interface: &Interface) -> Result<Hosted> {
        let text = |name: &str| CString::new(name).map_err(|_| Error::internal("load a module", "a name with a NUL"));
        check_interface(interface)?;
        let names = interface.parameters.iter().map(|parameter| text(&parameter.name)).collect::<Result<_>>()?;
        Ok(Hosted { function, name: text(&interface.name)?, names })
    }

    /// Runs the routine. What it gives back of texts is returned, and must live as long as the slots are read.
    pub fn run(&self, interface: &Interface, layout: &CallLayout, slots: &mut [Slot]) -> Result<Vec<CString>> {
        let mut running = Running { hosted: self, interface, layout, slots, texts: Vec::new(), failure: None };
        // SAFETY: whoever made the function promised that it takes this; the call outlives it.
        unsafe { (self.function.body)(self.function.context, self.name.as_ptr(), &raw mut running) };
        match running.failure {
            None => Ok(running.texts),
            Some(words) => {
                Err(Error::new(ErrorKind::RoutineFailed, "run a routine", words).with("routine", interface.full_name()))
            }
        }
    }
}

/// Checks that a program of its own can be given what each routine of a module takes: numbers, arrays of numbers, texts
/// and files.
///
/// # Errors
/// `InvalidSource` that names the parameter.
pub fn check_hosted(module: &Module) -> Result<()> {
    module.routines.iter().try_for_each(|routine| check_interface(&routine.interface))
}

fn check_interface(interface: &Interface) -> Result<()> {
    interface.parameters.iter().try_for_each(|parameter| check_parameter(interface, parameter))
}

fn check_parameter(interface: &Interface, parameter: &Parameter) -> Result<()> {
    // An OUT scalar is an array of one element, to C.
    let one = |dimension: &Dimension| dimension.size == Expression::Integer(1);
    let is_array = matches!(&parameter.shape, Shape::Array { dimensions, .. } if !dimensions.iter().all(one));
    let what = match (&parameter.shape, parameter.element) {
        (Shape::Callback { .. }, _) => "a callback",
        (Shape::Array { .. }, ElementType::Filename) => "an array of files",
        (_, ElementType::Struct(_)) => "a struct",
        (_, ElementType::String) if is_array => "an array of strings",
        _ => return Ok(()),
    };
    Err(Error::new(ErrorKind::InvalidSource, "load a module", format!("a program of its own is not given {what}"))
        .with("routine", interface.full_name())
        .with("parameter", &parameter.name)
        .fix("pass numbers, arrays of numbers, strings and files"))
}

impl Running<'_> {
    fn view(&self, index: usize) -> Option<RawParameter> {
        let parameter = self.interface.parameters.get(index)?;
        let (slot, layout) = (self.slots.get(index)?, self.layout.parameters.get(index)?);
        let mut view = RawParameter {
            name: self.hosted.names.get(index)?.as_ptr(),
            data: slot.memory,
            kind: Kind::Absent as u32,
            mode: mode_number(parameter.mode),
            element: parameter.element.abi_number(),
            rank: 0,
            element_bytes: 0,
            shape: [0; RANK_MAX],
            strides: [0; RANK_MAX],
        };
        match layout {
            ParameterLayout::Scalar { bytes } => {
                (view.kind, view.element_bytes) = (Kind::Number as u32, *bytes);
            }
            ParameterLayout::Array(array) => show_array(&mut view, array),
            ParameterLayout::Text if parameter.element == ElementType::Filename => {
                (view.kind, view.element_bytes, view.rank) = (Kind::File as u32, 1, 1);
                view.shape[0] = slot.bytes as u64;
            }
            ParameterLayout::Text => {
                (view.kind, view.element_bytes, view.rank) = (Kind::Text as u32, 1, 1);
                view.shape[0] = slot.bytes as u64;
            }
            ParameterLayout::TextArray { .. } => {
                (view.kind, view.element_bytes, view.rank) = (Kind::Text as u32, 1, 1);
                view.data = self.text_at(slot);
                // SAFETY: a text that came with the call ends with a NUL.
                view.shape[0] = if view.data.is_null() { 0 } else { unsafe { libc::strlen(view.data.cast()) as u64 } };
            }
            ParameterLayout::Absent | ParameterLayout::Callback => {
                view.data = std::ptr::null_mut();
            }
        }
        Some(view)
    }

    /// The text that an array of one of them leads to.
    fn text_at(&self, slot: &Slot) -> *mut u8 {
        // SAFETY: the slot has as many pointers as texts, and there is one.
        if slot.memory.is_null() { slot.memory } else { unsafe { slot.memory.cast::<*mut u8>().read() } }
    }

    fn answer(&mut self, index: usize, text: &[u8]) -> bool {
        let is_file = self.interface.parameters.get(index).is_some_and(|one| one.element == ElementType::Filename);
        let is_output = self.interface.parameters.get(index).is_some_and(|parameter| parameter.mode.is_output());
        let (true, Ok(text)) = (is_output, CString::new(text)) else { return false };
        let address: *mut u8 = text.as_ptr().cast_mut().cast();
        match (self.layout.parameters.get(index), self.slots.get_mut(index)) {
            (Some(ParameterLayout::Text), Some(slot)) if !is_file => slot.memory = address,
            (Some(ParameterLayout::TextArray { count: 1 }), Some(slot)) if !slot.memory.is_null() => {
                // SAFETY: as in `text_at`.
                unsafe { slot.memory.cast::<*mut u8>().write(address) };
            }
            _ => return false,
        }
        self.texts.push(text);
        true
    }
}

/// What travels of an array, as the caller knows it.
fn show_array(view: &mut RawParameter, array: &ArrayLayout) {
    view.kind = Kind::Array as u32;
    view.element_bytes = array.element_bytes;
    view.rank = array.dimensions.len().min(RANK_MAX) as u32;
    let mut first = 0;
    for (position, (dimension, stride)) in array.dimensions.iter().zip(array.strides_bytes()).enumerate().take(RANK_MAX)
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

fn mode_number(mode: Mode) -> u32 {
    match mode {
        Mode::In => 0,
        Mode::Out => 1,
        Mode::InOut => 2,
        Mode::Work => 3,
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

/// Gives a text as the result of parameter number `index`; returns -1 where that is no OUT or INOUT string, or the text
/// has a NUL inside.
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
    // SAFETY: the caller's promise.
    let Some(running) = (unsafe { running.as_mut() }).filter(|_| !text.is_null()) else { return -1 };
    // SAFETY: the caller's promise.
    let text = unsafe { std::slice::from_raw_parts(text, bytes) };
    if running.answer(index, text) { 0 } else { -1 }
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
