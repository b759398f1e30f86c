//! Functions that are made while the program runs: what C or Fortran code calls, and ends in code
//! of ours.

use std::ffi::c_void;

use farcall_base::{Error, Result};
use farcall_idl::interface::{ElementType, Implementation, Interface, Routine};
use libffi::low::ffi_cif;
use libffi::middle::{Cif, Type};

use crate::entry::EntryPoint;
use crate::invoke::{Slot, argument_type, returned_type};
use crate::signature::{Passing, Returned, Signature};

/// What a made function does.
pub trait Entered: Send + Sync {
    /// It was called: one slot per parameter of its interface. `memory` is where a value or an
    /// array lies, the text of an IN string, and of an OUT or INOUT string of C the `char *` that
    /// the caller reads afterwards. What the function returns lies there, too, zero at first.
    fn enter(&self, slots: &mut [Slot]);
}

/// A function made for a caller with the calling convention of `implementation`. It exists for the
/// rest of the process: code that was given its address may keep it.
#[derive(Clone, Copy, Debug)]
pub struct Closure(EntryPoint);

/// What the function knows.
struct Site {
    passings: Vec<Passing>,
    returned: Returned,
    parameters: usize,
    entered: Box<dyn Entered>,
}

impl Closure {
    /// Makes a function with the parameters of `interface`, which a routine with this
    /// implementation calls, and with the value that one of them is marked as.
    ///
    /// # Errors
    /// For what no calling convention offers; see [`Signature::of`].
    pub fn new(
        interface: &Interface,
        implementation: &Implementation,
        entered: Box<dyn Entered>,
    ) -> Result<Closure> {
        let implementation =
            Implementation { code: interface.function(), ..implementation.clone() };
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
        let value = returned_type(signature.returned, &interface.structs)?;
        let cif = Cif::try_new(types?, value).map_err(refused)?;
        let site = Site {
            passings: signature.arguments,
            returned: signature.returned,
            parameters: interface.parameters.len(),
            entered,
        };
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
    cif: &ffi_cif,
    result: &mut u8,
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
    let value = std::ptr::from_mut(result);
    if let Returned::Value(index, _) = site.returned {
        // SAFETY: libffi has memory for the value there, and for a whole register at least.
        unsafe { value.write_bytes(0, (*cif.rtype).size.max(REGISTER_BYTES)) };
        slots[index].memory = value;
    }
    // A panic must not cross the caller's frames, which are C's; it was said on standard error.
    let entered = std::panic::AssertUnwindSafe(|| site.entered.enter(&mut slots));
    if std::panic::catch_unwind(entered).is_err() {
        std::process::abort();
    }
    if let Returned::Value(_, element) = site.returned {
        // SAFETY: as above.
        unsafe { widen(value, element) };
    }
}

/// Bytes of the register in which an integer is returned.
const REGISTER_BYTES: usize = 8;

/// Fills the register that a small integer is returned in, as libffi demands.
///
/// # Safety
/// `value` is the place of such an element, with room for a register.
unsafe fn widen(value: *mut u8, element: ElementType) {
    // SAFETY: the caller's promise. Unsigned ones are wide already: the place was zero.
    unsafe {
        let wide = match element {
            ElementType::Char if std::ffi::c_char::MIN != 0 => i64::from(value.cast::<i8>().read()),
            ElementType::Int8 => i64::from(value.cast::<i8>().read()),
            ElementType::Int16 => i64::from(value.cast::<i16>().read_unaligned()),
            ElementType::Int32 => i64::from(value.cast::<i32>().read_unaligned()),
            _ => return,
        };
        value.cast::<i64>().write_unaligned(wide);
    }
}
