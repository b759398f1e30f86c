//! Where code begins.

use std::ffi::c_void;

/// Address of a routine's first instruction.
#[derive(Clone, Copy, Debug)]
pub struct EntryPoint(unsafe extern "C" fn());

impl EntryPoint {
    /// The entry at `address`, or `None` for NULL.
    ///
    /// # Safety
    /// The address is that of a function that stays loaded for the rest of the process.
    pub unsafe fn new(address: *const c_void) -> Option<EntryPoint> {
        // SAFETY: a function pointer and a data pointer have one size here, `Option` makes NULL
        // `None`; the rest is the caller's promise.
        unsafe { std::mem::transmute::<*const c_void, Option<unsafe extern "C" fn()>>(address) }
            .map(EntryPoint)
    }

    /// That of a function.
    pub fn of(function: unsafe extern "C" fn()) -> EntryPoint {
        EntryPoint(function)
    }

    /// The function, to be called through its own signature only.
    pub fn function(self) -> unsafe extern "C" fn() {
        self.0
    }
}
