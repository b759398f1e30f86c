//! Calls of FORTRAN 77 programs (`include/grpc_fortran.h`): every argument is an address, and
//! behind all of them stand the lengths of those that are CHARACTERs.

use std::ffi::{CString, c_char, c_int};
use std::sync::Arc;

use farcall_c::TaggedValue;
use farcall_client::idl::interface::{ElementType, Interface, Mode, Parameter, Shape};
use farcall_client::{Argument, NativeFunction};

use crate::code::{Failure, Outcome};
use crate::pointers::RawHandle;

/// What is longer is no CHARACTER's length, but whatever lies behind too few arguments.
const LENGTH_MAX: usize = 1 << 30;

/// `farcall_fortran_request`.
#[repr(C)]
pub struct RawFortran {
    pub name: *const c_char,
    pub function: *mut RawHandle,
    pub object: *mut RawHandle,
    /// The program's variable of the handle: the number alone, which `grpc_get_handle` leads back
    /// to.
    pub variable: *mut RawHandle,
    /// Of an object, the method; for Ninf, the entry.
    pub called: *const c_char,
    /// NULL for a call that is waited for.
    pub session: *mut c_int,
    pub words: *const *mut u8,
    pub count: usize,
    /// Lengths that come before those of the arguments.
    pub before: usize,
    /// Of the session; NULL: the handle's.
    pub attributes: *const RawHandle,
}

/// The arguments of a call, in the order in which they are asked for.
pub struct Passed {
    all: Vec<(*mut u8, Option<CString>)>,
}

/// What an argument is.
enum Kind {
    Plain,
    /// A CHARACTER whose length says how long the text is.
    Text,
    /// A CHARACTER whose length says nothing new.
    Characters,
}

fn kind_of(parameter: &Parameter) -> Outcome<Kind> {
    let refused = |what: &str| {
        let words = format!(
            "{}: {what} cannot be passed from FORTRAN: declare characters, as char text[80]",
            parameter.name
        );
        Err(Failure::other(words))
    };
    match (&parameter.shape, parameter.element) {
        (Shape::Callback { .. }, _) => Ok(Kind::Plain),
        (Shape::Scalar, _) if parameter.stream => refused("a FILE *"),
        (Shape::Scalar, ElementType::Filename) => Ok(Kind::Text),
        (Shape::Scalar, ElementType::String) if parameter.mode == Mode::In => Ok(Kind::Text),
        (_, ElementType::String | ElementType::Filename) => {
            refused("a string that is a result, or an array of strings,")
        }
        (_, ElementType::Char) => Ok(Kind::Characters),
        _ => Ok(Kind::Plain),
    }
}

impl RawFortran {
    /// The arguments that an interface wants; places of WORK arrays are among them, as in Ninf-G.
    ///
    /// # Safety
    /// So many words, of which those that the interface asks for are addresses and lengths.
    pub unsafe fn passed(&self, interface: &Interface) -> Outcome<Passed> {
        // SAFETY: the caller's promise.
        let words = unsafe { std::slice::from_raw_parts(self.words, self.count) };
        let asked =
            |one: &&Parameter| one.mode != Mode::Work || matches!(one.shape, Shape::Array { .. });
        let asked: Vec<&Parameter> = interface.parameters.iter().filter(asked).collect();
        let kinds: Vec<Kind> = asked.iter().map(|one| kind_of(one)).collect::<Outcome<_>>()?;
        let mut length = kinds.len() + self.before;
        let lengths = kinds.iter().filter(|kind| !matches!(kind, Kind::Plain)).count();
        if length + lengths > words.len() {
            let most = words.len();
            return Err(Failure::other(format!(
                "{}: more than {most} arguments and lengths",
                interface.full_name()
            )));
        }
        for (one, address) in asked.iter().zip(words) {
            let is_procedure = matches!(one.shape, Shape::Callback { .. });
            if one.mode.is_output() && !is_procedure && is_constant(*address) {
                let words = format!("{} is a result: pass a variable, not a constant", one.name);
                return Err(Failure::other(words));
            }
        }
        let mut all = Vec::with_capacity(kinds.len());
        for (kind, address) in kinds.iter().zip(words) {
            let text = match kind {
                // SAFETY: as above: a CHARACTER of this length.
                Kind::Text => Some(unsafe { text_at(*address, words[length] as usize) }?),
                _ => None,
            };
            length += usize::from(!matches!(kind, Kind::Plain));
            all.push((*address, text));
        }
        Ok(Passed { all })
    }
}

/// Whether the address is in memory of the program, or of a library that is loaded now, that may
/// only be read: to write a result there ends the program by a signal. FORTRAN passes a constant,
/// such as `0`, by its address.
fn is_constant(address: *mut u8) -> bool {
    unsafe extern "C" fn look(
        object: *mut libc::dl_phdr_info,
        _size: usize,
        address: *mut libc::c_void,
    ) -> c_int {
        // SAFETY: the linker's list, which it holds meanwhile.
        let (base, segments) = unsafe {
            let object = &*object;
            (
                object.dlpi_addr,
                std::slice::from_raw_parts(object.dlpi_phdr, usize::from(object.dlpi_phnum)),
            )
        };
        let is_within = |one: &&libc::Elf64_Phdr| {
            (address as u64).wrapping_sub(base.wrapping_add(one.p_vaddr)) < one.p_memsz
        };
        let read_only =
            |one: &libc::Elf64_Phdr| one.p_type == libc::PT_LOAD && one.p_flags & libc::PF_W == 0;
        c_int::from(segments.iter().filter(is_within).any(read_only))
    }
    // SAFETY: it looks at the list while it is called, and at nothing that the address names.
    unsafe { libc::dl_iterate_phdr(Some(look), address.cast()) != 0 }
}

/// The text of a CHARACTER: up to a NUL, or without the blanks at its end.
///
/// # Safety
/// So many characters.
unsafe fn text_at(address: *const u8, length: usize) -> Outcome<CString> {
    if address.is_null() || length > LENGTH_MAX {
        let words = "a text is not CHARACTER, or there are too few arguments";
        return Err(Failure::other(words));
    }
    // SAFETY: the caller's promise.
    let bytes = unsafe { std::slice::from_raw_parts(address, length) };
    let end =
        bytes.iter().position(|byte| *byte == 0).unwrap_or_else(|| bytes.trim_ascii_end().len());
    CString::new(&bytes[..end]).map_err(|_| Failure::other("a text contains a NUL"))
}

impl Passed {
    /// Whether any is a text.
    pub fn has_texts(&self) -> bool {
        self.all.iter().any(|(_, text)| text.is_some())
    }

    /// Gives one after the other.
    ///
    /// # Safety
    /// Each is as the interface says, in its order.
    pub unsafe fn in_turn(&self) -> impl FnMut(u32) -> TaggedValue {
        let mut left = self.all.iter();
        move |tag| match left.next() {
            Some((_, Some(text))) => TaggedValue::of_pointer(text.as_ptr().cast_mut().cast()),
            // SAFETY: the caller's promise: a value of the tag's type, or what is passed by
            // address.
            Some((address, None)) => unsafe { TaggedValue::at(tag, *address) },
            None => TaggedValue::of_pointer(std::ptr::null_mut()),
        }
    }
}

/// Has functions called as Fortran procedures are.
///
/// # Safety
/// `values`, one per parameter that a caller passes, are such procedures where the interface has
/// callbacks.
pub unsafe fn make_procedures(
    interface: &Interface,
    values: &[TaggedValue],
    arguments: &mut [Argument<'_>],
) {
    for ((index, parameter), value) in interface.caller_parameters().zip(values) {
        if matches!(parameter.shape, Shape::Callback { .. }) {
            // SAFETY: the caller's promise.
            let function = unsafe { NativeFunction::fortran(value.pointer().cast_const().cast()) };
            arguments[index] =
                function.map_or(Argument::Null, |function| Argument::Callback(Arc::new(function)));
        }
    }
}
