//! Calls a routine's code through libffi: `Prepared` is made once per routine, `invoke` runs it on
//! the slots of a call.
//!
//! The machine arguments are read from where they already lie. libffi wants, for each argument, the
//! address of its value: that is the slot's memory for a value, the slot's own `memory` field for a
//! pointer, and its `bytes` field for a hidden length. So a call copies no value and, up to
//! `INLINE_ARGUMENTS` arguments, allocates nothing.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use farcall_base::{Error, ErrorKind, Result};
use farcall_idl::interface::{ElementType, Routine, StructType};
use libffi::middle::{Cif, Type};

use crate::entry::EntryPoint;
use crate::signature::{Passing, Returned, Signature};

/// Calls with at most this many machine arguments need no heap.
const INLINE_ARGUMENTS: usize = 64;
/// Largest number of scalars in a struct that travels by value: libffi describes each of them.
const VALUE_STRUCT_SCALARS_MAX: usize = 1024;
/// Results up to this size come back through a scratch; libffi widens small integers to a full
/// register there.
const SCRATCH_BYTES: usize = 32;

/// Where the value of one parameter lies. A call has one slot per parameter of the interface, WORK
/// ones included.
///
/// | parameter | `memory` | `bytes` |
/// |---|---|---|
/// | scalar | its element, naturally aligned; never NULL | not read |
/// | array | element 0 of the full array, or scratch; NULL where it has no elements | Fortran `char` arrays: see below |
/// | function | its code, or NULL | not read |
/// | `string`, `filename` | NUL-terminated text, or NULL | length without the NUL (Fortran reads it) |
/// | array of `string`, `filename` | array of `char *` | not read |
///
/// Fortran `char` arrays: `bytes` is the length of one CHARACTER, the extent of the fastest
/// dimension; of a one-dimensional array that is all of it.
///
/// An OUT or INOUT `string` of C is a `char **`, and a function's result a `char *`: after the call
/// `memory` is the routine's text, which may be static or alias an input. Measure and copy it,
/// never free it; keep your own pointer to the memory that you passed in. Before the call an OUT
/// one is [`Slot::null`], so that a routine which leaves it alone answers NULL.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// Address of the value.
    pub memory: *mut u8,
    /// Length of a text.
    pub bytes: usize,
}

impl Slot {
    /// A slot for a value at `memory`.
    pub fn new(memory: *mut u8, bytes: usize) -> Slot {
        Slot { memory, bytes }
    }

    /// A slot for an array without elements, or a text that is NULL.
    pub fn null() -> Slot {
        Slot { memory: std::ptr::null_mut(), bytes: 0 }
    }
}

/// A routine that is ready to run: its address, its calling convention and the order of its
/// arguments.
#[derive(Debug)]
pub struct Prepared {
    name: String,
    entry: EntryPoint,
    cif: Cif,
    signature: Signature,
    /// Number of parameters of the interface, hence of slots.
    parameters: usize,
    /// Size of the function's result; 0 for none.
    returned_bytes: usize,
}

// SAFETY: a `Cif` is a description that nobody changes after `ffi_prep_cif`; its raw pointers lead
// to types it owns. Whether two threads may run the *routine* at once is for the caller of `invoke`
// to know.
unsafe impl Send for Prepared {}
// SAFETY: as above; `ffi_call` only reads it.
unsafe impl Sync for Prepared {}

impl Prepared {
    /// Prepares `routine`, whose code begins at `entry`.
    ///
    /// Fails for what no calling convention offers (see `spec/idl.md`, section 7): Fortran
    /// CHARACTER functions, Fortran strings of unknown length, structs of more than 1024 scalars by
    /// value.
    pub fn new(routine: &Routine, entry: EntryPoint) -> Result<Prepared> {
        let name = routine.interface.full_name();
        let structs = &routine.interface.structs;
        let signature = Signature::of(routine)?;
        let types = signature
            .arguments
            .iter()
            .map(|argument| argument_type(argument, structs))
            .collect::<Result<Vec<_>>>()
            .map_err(|error| error.with("routine", &name))?;
        let returned = returned_type(signature.returned, structs)
            .map_err(|error| error.with("routine", &name))?;
        let cif = Cif::try_new(types, returned).map_err(|error| {
            Error::internal(
                "prepare the routine",
                format!("libffi rejects the signature: {error:?}"),
            )
            .with("routine", &name)
        })?;
        let returned_bytes = returned_bytes(&cif, signature.returned);
        Ok(Prepared {
            name,
            entry,
            cif,
            signature,
            parameters: routine.interface.parameters.len(),
            returned_bytes,
        })
    }

    /// `module/name` of the routine.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Guards the call against slots that do not fit: the only mistakes that can be seen from here.
    fn check(&self, slots: &[Slot]) -> Result<()> {
        if slots.len() != self.parameters {
            let message = format!("{} slots for {} parameters", slots.len(), self.parameters);
            return Err(Error::internal("call the routine", message).with("routine", &self.name));
        }
        if let Returned::Value(index, _) | Returned::TextAt(index) = self.signature.returned {
            self.check_memory(slots, index)?;
        }
        for argument in &self.signature.arguments {
            if let Passing::Value(index, _) = *argument {
                self.check_memory(slots, index)?;
            }
        }
        Ok(())
    }

    fn check_memory(&self, slots: &[Slot], index: usize) -> Result<()> {
        if !slots[index].memory.is_null() {
            return Ok(());
        }
        Err(Error::new(ErrorKind::InvalidArgument, "call the routine", "a value is missing")
            .with("routine", &self.name)
            .with("parameter", index + 1))
    }
}

/// Runs the routine on `slots`, one per parameter of its interface, and stores a function's result
/// in its slot.
///
/// Costs some tens of nanoseconds plus the routine itself. Fails only before the routine starts: a
/// wrong number of slots, or NULL for a value.
///
/// # Safety
/// Each slot describes memory as its table says, valid for the call, with the extents that the
/// interface's expressions give. The code behind `prepared` has the interface that its IDL claims;
/// nothing can check that, so it runs in a process that may crash. Routines that are not
/// thread-safe run one at a time.
pub unsafe fn invoke(prepared: &Prepared, slots: &mut [Slot]) -> Result<()> {
    prepared.check(slots)?;
    let count = prepared.signature.arguments.len();
    if count <= INLINE_ARGUMENTS {
        let mut addresses = [MaybeUninit::<*mut c_void>::uninit(); INLINE_ARGUMENTS];
        let mut indirect = [MaybeUninit::<*mut c_void>::uninit(); INLINE_ARGUMENTS];
        // SAFETY: the caller's promise, passed on; both arrays hold `count` entries.
        unsafe { run(prepared, slots, &mut addresses[..count], &mut indirect[..count]) };
    } else {
        let mut addresses = vec![MaybeUninit::uninit(); count];
        let mut indirect = vec![MaybeUninit::uninit(); count];
        // SAFETY: as above.
        unsafe { run(prepared, slots, &mut addresses, &mut indirect) };
    }
    Ok(())
}

/// Fills in the addresses, calls, and takes the result. `addresses` and `indirect` have one entry
/// per argument.
unsafe fn run(
    prepared: &Prepared,
    slots: &mut [Slot],
    addresses: &mut [MaybeUninit<*mut c_void>],
    indirect: &mut [MaybeUninit<*mut c_void>],
) {
    let slots_begin = slots.as_mut_ptr();
    for (position, argument) in prepared.signature.arguments.iter().enumerate() {
        // SAFETY: `check` saw one slot per parameter, and `Signature` only names existing
        // parameters.
        let address = unsafe { argument_address(slots_begin, *argument, &mut indirect[position]) };
        addresses[position].write(address);
    }
    let mut scratch = [0u64; SCRATCH_BYTES / 8];
    // SAFETY: `check` saw memory for a value; a result too big for the scratch goes straight there.
    let result = unsafe { result_address(prepared, slots_begin, &mut scratch) };
    // SAFETY: the cif describes exactly these arguments; their addresses stay valid; the code is
    // the caller's promise.
    unsafe {
        libffi::raw::ffi_call(
            prepared.cif.as_raw_ptr(),
            Some(prepared.entry.function()),
            result,
            addresses.as_mut_ptr().cast(),
        );
        take_result(prepared, slots_begin, &scratch);
    }
}

/// Address of the argument's value, as libffi wants it.
///
/// Works on raw pointers throughout: the addresses of several fields of one slot stay in use until
/// the call is over.
unsafe fn argument_address(
    slots: *mut Slot,
    argument: Passing,
    indirect: &mut MaybeUninit<*mut c_void>,
) -> *mut c_void {
    /// Length of a single CHARACTER.
    static ONE: usize = 1;
    // SAFETY: the caller's promise: the index is that of a slot.
    unsafe {
        match argument {
            Passing::Value(index, _) => (*slots.add(index)).memory.cast(),
            Passing::Pointer(index) => (&raw mut (*slots.add(index)).memory).cast(),
            Passing::TextLength(index) => (&raw mut (*slots.add(index)).bytes).cast(),
            Passing::LengthOne => (&raw const ONE).cast_mut().cast(),
            Passing::PointerToPointer(index) => {
                let own = indirect.write((&raw mut (*slots.add(index)).memory).cast());
                (own as *mut *mut c_void).cast()
            }
        }
    }
}

/// Where libffi must put the result: the scratch, or for a big struct the slot's memory.
unsafe fn result_address(
    prepared: &Prepared,
    slots: *mut Slot,
    scratch: &mut [u64],
) -> *mut c_void {
    match prepared.signature.returned {
        // SAFETY: the index is that of a slot, whose memory holds the struct.
        Returned::Value(index, _) if prepared.returned_bytes > SCRATCH_BYTES => unsafe {
            (*slots.add(index)).memory.cast()
        },
        _ => scratch.as_mut_ptr().cast(),
    }
}

/// Moves the result into its slot.
unsafe fn take_result(prepared: &Prepared, slots: *mut Slot, scratch: &[u64]) {
    // SAFETY: indexes are those of slots, and `check` saw memory for a value.
    unsafe {
        match prepared.signature.returned {
            Returned::Value(index, _) if prepared.returned_bytes <= SCRATCH_BYTES => {
                let target = (*slots.add(index)).memory;
                std::ptr::copy_nonoverlapping(
                    scratch.as_ptr().cast::<u8>(),
                    target,
                    prepared.returned_bytes,
                );
            }
            Returned::Text(index) => (*slots.add(index)).memory = text_of(scratch),
            Returned::TextAt(index) => {
                (*slots.add(index)).memory.cast::<*mut u8>().write_unaligned(text_of(scratch));
            }
            _ => {}
        }
    }
}

/// The pointer that a function returned.
fn text_of(scratch: &[u64]) -> *mut u8 {
    std::ptr::with_exposed_provenance_mut(scratch[0] as usize)
}

pub(crate) fn argument_type(argument: &Passing, structs: &[StructType]) -> Result<Type> {
    match *argument {
        Passing::Value(_, element) => element_type(element, structs),
        Passing::Pointer(_) | Passing::PointerToPointer(_) => Ok(Type::pointer()),
        Passing::TextLength(_) | Passing::LengthOne => Ok(Type::usize()),
    }
}

pub(crate) fn returned_type(returned: Returned, structs: &[StructType]) -> Result<Type> {
    match returned {
        Returned::Nothing => Ok(Type::void()),
        Returned::Text(_) | Returned::TextAt(_) => Ok(Type::pointer()),
        Returned::Value(_, element) => element_type(element, structs),
    }
}

fn returned_bytes(cif: &Cif, returned: Returned) -> usize {
    match returned {
        Returned::Nothing => 0,
        // SAFETY: `rtype` is the type that the cif owns; `ffi_prep_cif` filled in its size.
        _ => unsafe { (*(*cif.as_raw_ptr()).rtype).size },
    }
}

/// The C type of one element by value.
///
/// A complex number is the struct of two that bodies see. On x86-64 `float _Complex` and `struct {
/// float r, i; }` travel in the same registers, `double` likewise (a test holds this against the C
/// and Fortran compilers).
fn element_type(element: ElementType, structs: &[StructType]) -> Result<Type> {
    Ok(match element {
        ElementType::Char if std::ffi::c_char::MIN == 0 => Type::u8(),
        ElementType::Char | ElementType::Int8 => Type::i8(),
        ElementType::UInt8 => Type::u8(),
        ElementType::Int16 => Type::i16(),
        ElementType::UInt16 => Type::u16(),
        ElementType::Int32 => Type::i32(),
        ElementType::UInt32 => Type::u32(),
        ElementType::Int64 => Type::i64(),
        ElementType::UInt64 => Type::u64(),
        ElementType::Float32 => Type::f32(),
        ElementType::Float64 => Type::f64(),
        ElementType::Complex64 => Type::structure([Type::f32(), Type::f32()]),
        ElementType::Complex128 => Type::structure([Type::f64(), Type::f64()]),
        ElementType::Struct(index) => return struct_type(structs.get(usize::from(index)), structs),
        ElementType::String | ElementType::Filename => Type::pointer(),
    })
}

/// A struct by value: libffi knows no arrays, but N equal fields lie and travel like an array of N.
fn struct_type(found: Option<&StructType>, structs: &[StructType]) -> Result<Type> {
    let description = found
        .ok_or_else(|| Error::internal("prepare the routine", "a struct that is not described"))?;
    let scalars =
        description.fields.iter().try_fold(0usize, |sum, f| sum.checked_add(f.count as usize));
    if !matches!(scalars, Some(1..=VALUE_STRUCT_SCALARS_MAX)) {
        let message = format!("a struct by value has 1 to {VALUE_STRUCT_SCALARS_MAX} scalars");
        return Err(Error::new(ErrorKind::LimitExceeded, "prepare the routine", message)
            .with("struct", &description.name)
            .fix("pass it by pointer, as a one-element array"));
    }
    let mut types = Vec::new();
    for field in &description.fields {
        if matches!(
            field.element,
            ElementType::Struct(_) | ElementType::String | ElementType::Filename
        ) {
            return Err(Error::internal(
                "prepare the routine",
                "a struct field that is not a number",
            ));
        }
        for _ in 0..field.count {
            types.push(element_type(field.element, structs)?);
        }
    }
    Ok(Type::structure(types))
}
