//! `farcall_value`: a value with the tag that the compiler gave it.

use std::ffi::c_char;

use farcall_base::abi::element;
use farcall_base::abi::tag::{ELEMENT, POINTER};
use farcall_client::idl::element::element_bytes;
use farcall_client::idl::interface::{ElementType, Interface, Parameter};
use farcall_client::idl::scalar::ScalarValue;
use farcall_client::{Argument, Error, Result};

use crate::element::{is_complex, is_real, is_unsigned, is_whole};

#[repr(C)]
#[derive(Clone, Copy)]
union Untagged {
    integer: i64,
    natural: u64,
    real: [f64; 2],
    pointer: *mut u8,
}

impl Untagged {
    /// # Safety
    /// A value of this type lies there.
    unsafe fn read(&mut self, number: u32, address: *const u8) {
        // SAFETY: the caller's promise, for the type of each number.
        unsafe {
            match number {
                element::INT8 => self.integer = address.cast::<i8>().read_unaligned().into(),
                element::UINT8 => self.natural = address.read().into(),
                element::INT16 => self.integer = address.cast::<i16>().read_unaligned().into(),
                element::UINT16 => self.natural = address.cast::<u16>().read_unaligned().into(),
                element::INT32 => self.integer = address.cast::<i32>().read_unaligned().into(),
                element::UINT32 => self.natural = address.cast::<u32>().read_unaligned().into(),
                element::INT64 => self.integer = address.cast::<i64>().read_unaligned(),
                element::UINT64 => self.natural = address.cast::<u64>().read_unaligned(),
                element::FLOAT32 => self.real[0] = address.cast::<f32>().read_unaligned().into(),
                element::FLOAT64 => self.real[0] = address.cast::<f64>().read_unaligned(),
                element::COMPLEX64 => {
                    self.real = address.cast::<[f32; 2]>().read_unaligned().map(f64::from)
                }
                element::COMPLEX128 => self.real = address.cast::<[f64; 2]>().read_unaligned(),
                // A char, signed or not, as C passes it.
                _ => self.integer = address.cast::<c_char>().read().into(),
            }
        }
    }
}

/// `farcall_value`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TaggedValue {
    /// How it is passed, and what it is: see [`crate::passing`].
    pub tag: u32,
    reserved: u32,
    value: Untagged,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<TaggedValue>() == 24, "farcall-native.h says 24 bytes");

impl TaggedValue {
    /// An address, taken on trust.
    pub fn of_pointer(pointer: *mut u8) -> TaggedValue {
        TaggedValue { tag: POINTER, reserved: 0, value: Untagged { pointer } }
    }

    /// A whole number.
    pub fn of_integer(integer: i64) -> TaggedValue {
        TaggedValue { tag: element::INT64, reserved: 0, value: Untagged { integer } }
    }

    /// A real number.
    pub fn of_real(real: f64) -> TaggedValue {
        TaggedValue { tag: element::FLOAT64, reserved: 0, value: Untagged { real: [real, 0.0] } }
    }

    /// What an interface wants with this tag, where an address stands for every argument: the value
    /// there, or for what is passed by address the address itself.
    ///
    /// # Safety
    /// For a value: a value of the tag's type, or NULL, which is zero.
    pub unsafe fn at(tag: u32, address: *mut u8) -> TaggedValue {
        if tag & POINTER != 0 {
            return TaggedValue::of_pointer(address);
        }
        let mut value = Untagged { real: [0.0; 2] };
        if !address.is_null() {
            // SAFETY: the caller's promise.
            unsafe { value.read(tag & ELEMENT, address) };
        }
        TaggedValue { tag, reserved: 0, value }
    }

    /// The low 32 bits of a whole number of this tag: a `long` of Ninf 1, which may have been
    /// passed as an `int`. The rest of its place says nothing then.
    pub fn narrowed(self, tag: u32) -> TaggedValue {
        let value = match self.tag {
            element::INT64 => Untagged { integer: (self.integer() as i32).into() },
            element::UINT64 => Untagged { natural: (self.natural() as u32).into() },
            _ => return self,
        };
        if self.tag == tag { TaggedValue { value, ..self } } else { self }
    }

    /// The value as a signed whole number.
    pub fn integer(&self) -> i64 {
        // SAFETY: any bits are a value of a plain number, here and below; the tag says which one is
        // meant.
        unsafe { self.value.integer }
    }

    /// The value as an unsigned whole number.
    pub fn natural(&self) -> u64 {
        // SAFETY: as above.
        unsafe { self.value.natural }
    }

    /// The value as a real number, or a complex one.
    pub fn real(&self) -> [f64; 2] {
        // SAFETY: as above. Of real numbers, the second is 0 or unset bits, and not looked at.
        unsafe { self.value.real }
    }

    /// The address of one.
    pub fn pointer(&self) -> *mut u8 {
        // SAFETY: as above; what it points to is another matter.
        unsafe { self.value.pointer }
    }
}

/// A value of the parameter's type or one that converts to it.
pub fn scalar<'a>(
    interface: &Interface,
    parameter: &Parameter,
    given: &TaggedValue,
) -> Result<Argument<'a>> {
    let element = given.tag & ELEMENT;
    if is_complex(element) {
        let [re, im] = given.real();
        return Ok(Argument::Complex(re, im));
    }
    if is_real(element) {
        return Ok(Argument::Real(given.real()[0]));
    }
    if !is_whole(element) {
        return Err(Error::internal("call", "a value has an unknown tag"));
    }
    if !is_unsigned(element) {
        return Ok(Argument::Integer(as_byte(parameter.element, given.integer())));
    }
    if let Ok(value) = i64::try_from(given.natural()) {
        return Ok(Argument::Integer(value));
    }
    let mut bytes = vec![0; element_bytes(interface, parameter.element) as usize];
    let written =
        ScalarValue::Unsigned(given.natural()).write_exactly(parameter.element, &mut bytes);
    written.map(|()| Argument::Raw(bytes)).map_err(|error| error.with("parameter", &parameter.name))
}

/// C's `char` is a byte that may have a sign; here it has none. Other numbers stay as they are.
fn as_byte(element: ElementType, given: i64) -> i64 {
    if element == ElementType::Char && given < 0 {
        i8::try_from(given).map_or(given, |byte| byte.cast_unsigned().into())
    } else {
        given
    }
}
