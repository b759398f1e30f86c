//! Functions that are made while the program runs: what C or Fortran code calls, and ends in code
//! of ours.

use std::ffi::c_void;

use farcall_base::{Error, Result};
use farcall_idl::interface::{Implementation, Interface, Routine};
use libffi::low::ffi_cif;
use libffi::middle::{Cif, Type};

use crate::entry::EntryPoint;
use crate::invoke::{Slot, argument_type};
use crate::signature::{Passing, Signature};

/// What a made function does.
pub trait Entered: Send + Sync {
    /// It was called: one slot per parameter of its interface. `memory` is where a value or an
    /// array lies, the text of an IN string, and of an OUT or INOUT string of C the `char *` that
    /// the caller reads afterwards.
    fn enter(&self, slots: &mut [Slot]);
}

/// A function made for a caller with the calling convention of `implementation`. It exists for the
/// rest of the process: code that was given its address may keep it.
#[derive(Clone, Copy, Debug)]
pub struct Closure(EntryPoint);

/// What the function knows.
struct Site {
    passings: Vec<Passing>,
    parameters: usize,
    entered: Box<dyn Entered>,
}

impl Closure {
    /// Makes a function with the parameters of `interface`, which a routine with this
    /// implementation calls.
    ///
    /// # Errors
    /// For what no calling convention offers; see [`Signature::of`].
    pub fn new(
        interface: &Interface,
        implementation: &Implementation,
        entered: Box<dyn Entered>,
    ) -> Result<Closure> {
        let code = farcall_idl::interface::Code::Symbol {
            symbol: interface.name.clone(),
            arguments: (0..interface.parameters.len()).collect(),
            result: None,
        };
        let implementation = Implementation { code, ..implementation.clone() };
        let signature = Signature::of(&Routine { interface: interface.clone(), implementation })?;
        let types: Result<Vec<Type>> = signature
            .arguments
            .iter()
            .map(|argument| argument_type(argument, &interface.structs))
            .collect();
        let refused = |error| {
            Error::internal("make a callback", format!("libffi rejects the signature: {error:?}"))
                .with("callback", interface.full_name())
        };
        let cif = Cif::try_new(types?, Type::void()).map_err(refused)?;
        let site =
            Site { passings: signature.arguments, parameters: interface.parameters.len(), entered };
        let site: &'static Site = Box::leak(Box::new(site));
        let made = libffi::middle::Closure::try_new(cif, enter, site).map_err(refused)?;
        let code = EntryPoint::of(*made.code_ptr());
        std::mem::forget(made);
        Ok(Closure(code))
    }

    /// Its address.
    pub fn address(self) -> *mut u8 {
        self.0.function() as *mut u8
    }
}

/// Where every made function begins.
unsafe extern "C" fn enter(
    _cif: &ffi_cif,
    _result: &mut (),
    arguments: *const *const c_void,
    site: &Site,
) {
    let mut slots = vec![Slot::null(); site.parameters];
    for (position, passing) in site.passings.iter().enumerate() {
        // SAFETY: libffi gives the address of each argument's value, of the type that the cif says.
        unsafe {
            let value = *arguments.add(position);
            match *passing {
                Passing::Value(index, _) => slots[index].memory = value.cast_mut().cast(),
                Passing::Pointer(index) | Passing::PointerToPointer(index) => {
                    slots[index].memory = value.cast::<*mut u8>().read();
                }
                Passing::TextLength(index) => slots[index].bytes = value.cast::<usize>().read(),
                Passing::LengthOne => {}
            }
        }
    }
    // A panic must not cross the caller's frames, which are C's; it was said on standard error.
    let entered = std::panic::AssertUnwindSafe(|| site.entered.enter(&mut slots));
    if std::panic::catch_unwind(entered).is_err() {
        std::process::abort();
    }
}
