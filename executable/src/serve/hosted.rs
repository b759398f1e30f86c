//! Routines that one function runs for all: what a program in another language serves with. It is
//! told the routine's name and asks for the arguments, instead of being called through a C
//! signature (farcall-executable.h).

use std::ffi::{CStr, CString, c_char, c_void};

use farcall_base::{Error, ErrorKind, Result};
use farcall_idl::expression::Expression;
use farcall_idl::interface::{Dimension, ElementType, Interface, Module, Parameter, Shape};
use farcall_idl::layout::CallLayout;
use farcall_native::running::{Names, Running, WORDS_BYTES_MAX};

use farcall_native::invoke::Slot;

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
    /// Both may be called with `context` as long as this process serves; `load` returns NULL or a
    /// text with an end.
    pub unsafe fn new(load: RawLoad, body: RawBody, context: *mut c_void) -> Function {
        Function { load, body, context }
    }

    /// Hands over the source that came with the module.
    ///
    /// # Errors
    /// `InvalidSource` in the words of the program.
    pub fn load(self, module: &Module) -> Result<()> {
        let without_nul =
            |text: &str| CString::new(text).map_err(|_| refused("it contains a NUL", module));
        let (source, file, _) =
            module.globals.first().ok_or_else(|| refused("it has none", module))?;
        let source = without_nul(source)?;
        let file = without_nul(file)?;
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
    Error::new(ErrorKind::InvalidSource, "load a module's source", words)
        .with("module", &module.name)
}

/// A routine of such a program.
pub struct Hosted {
    function: Function,
    name: CString,
    names: Names,
}

impl Hosted {
    /// Fails for what a parameter's view cannot show.
    pub fn new(function: Function, interface: &Interface) -> Result<Hosted> {
        let text = |name: &str| {
            CString::new(name)
                .map_err(|_| Error::internal("load a module", "a name contains a NUL byte"))
        };
        check_interface(interface)?;
        Ok(Hosted { function, name: text(&interface.name)?, names: Names::of(interface)? })
    }

    /// Runs the routine. What it gives back of texts is returned, and must live as long as the
    /// slots are read.
    pub fn run(
        &self,
        interface: &Interface,
        layout: &CallLayout,
        slots: &mut [Slot],
    ) -> Result<Vec<CString>> {
        let mut running = Running::new(&self.names, interface, layout, slots);
        // SAFETY: whoever made the function promised that it takes this; the call outlives it.
        unsafe {
            (self.function.body)(self.function.context, self.name.as_ptr(), &raw mut running)
        };
        running.end().map_err(|words| {
            Error::new(ErrorKind::RoutineFailed, "run a routine", words)
                .with("routine", interface.full_name())
        })
    }
}

/// Checks that a program of its own can be given what each routine of a module takes: numbers,
/// texts, arrays of them, and files.
///
/// # Errors
/// `InvalidSource` that names the parameter.
pub fn check_hosted(module: &Module) -> Result<()> {
    module.routines.iter().try_for_each(|routine| check_interface(&routine.interface))
}

fn check_interface(interface: &Interface) -> Result<()> {
    for parameter in &interface.parameters {
        check_parameter(interface, parameter)?;
        if let Shape::Callback { parameters } = &parameter.shape {
            parameters.iter().try_for_each(|one| {
                check_callback_value(interface, one)?;
                check_parameter(interface, one)
            })?;
        }
    }
    Ok(())
}

fn check_parameter(interface: &Interface, parameter: &Parameter) -> Result<()> {
    let what = match (&parameter.shape, parameter.element) {
        _ if parameter.stream => "an open file",
        (Shape::Array { .. }, ElementType::Filename) => "an array of files",
        (_, ElementType::Struct(_)) => "a struct",
        _ => return Ok(()),
    };
    Err(unfit(interface, parameter, what))
}

/// Nobody has a function's texts laid out for it, unless it is one.
fn check_callback_value(interface: &Interface, parameter: &Parameter) -> Result<()> {
    // An OUT scalar is an array of one element, to C.
    let one = |dimension: &Dimension| dimension.size == Expression::Integer(1);
    match (&parameter.shape, parameter.element) {
        (Shape::Array { dimensions, .. }, ElementType::String) if !dimensions.iter().all(one) => {
            Err(unfit(interface, parameter, "an array of strings in a callback"))
        }
        _ => Ok(()),
    }
}

fn unfit(interface: &Interface, parameter: &Parameter, what: &str) -> Error {
    Error::new(
        ErrorKind::InvalidSource,
        "load a module",
        format!("a stub executable cannot receive {what}"),
    )
    .with("routine", interface.full_name())
    .with("parameter", &parameter.name)
    .fix("pass numbers, strings, arrays of them, and files")
}
