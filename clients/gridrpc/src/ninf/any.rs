//! `any_t`: arguments as values of their own.

use std::ffi::{c_int, c_long, c_void};

use farcall_base::abi::tag::POINTER;
use farcall_c::TaggedValue;

/// What lies in an `any_t`.
const INTEGER: c_int = 1;
const REAL: c_int = 2;
const ADDRESS: c_int = 3;

#[repr(C)]
#[derive(Clone, Copy)]
union Value {
    integer: c_long,
    real: f64,
    address: *mut c_void,
}

/// `any_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Any {
    kind: c_int,
    value: Value,
}

impl Any {
    /// As the interface wants it with this tag, where it can be; what is of another kind is refused
    /// later.
    pub fn tagged(&self, tag: u32) -> TaggedValue {
        // SAFETY: any bits are a value of each of the three, and the kind says which one was set.
        let (integer, real, address) =
            unsafe { (self.value.integer, self.value.real, self.value.address) };
        match self.kind {
            ADDRESS => TaggedValue::of_pointer(address.cast()),
            REAL => TaggedValue::of_real(real),
            _ if tag & POINTER != 0 && integer == 0 => {
                TaggedValue::of_pointer(std::ptr::null_mut())
            }
            _ => TaggedValue::of_integer(integer),
        }
    }
}

/// # Safety
/// NULL, or a place for one.
unsafe fn set(place: *mut Any, kind: c_int, value: Value) {
    // SAFETY: the caller's promise.
    if let Some(place) = unsafe { place.as_mut() } {
        *place = Any { kind, value };
    }
}

/// The entries that take a whole number, a real one, or an address. ninf.h: NULL or a place, for
/// all of them.
macro_rules! setters {
    ($($name:ident $type:ty, $kind:ident $member:ident;)*) => {
        $(#[unsafe(no_mangle)]
        unsafe extern "C" fn $name(place: *mut Any, value: $type) {
            // SAFETY: as above.
            unsafe { set(place, $kind, Value { $member: value.into() }) }
        })*
    };
}

setters! {
    farcall_any_set_char c_int, INTEGER integer;
    farcall_any_set_short c_int, INTEGER integer;
    farcall_any_set_int c_int, INTEGER integer;
    farcall_any_set_long c_long, INTEGER integer;
    farcall_any_set_float f64, REAL real;
    farcall_any_set_double f64, REAL real;
    farcall_any_set_pointer *mut c_void, ADDRESS address;
    farcall_any_set_function *mut c_void, ADDRESS address;
}
