//! `farcall_argument`: what bindings pass for each parameter.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use farcall_base::abi::layout::RAW_LAYOUT;
use farcall_base::abi::rank::RANK_MAX;
use farcall_base::abi::{argument_kind, destination};
use farcall_client::idl::element::element_bytes;
use farcall_client::idl::interface::{ElementType, Interface, Order, Parameter, Shape};
use farcall_client::idl::layout::packed_strides;
use farcall_client::{
    Answer, Argument, Callback, Destination, Error, ErrorKind, NativeFunction, Result, Running,
    Taken, View,
};

use crate::boundary::elements;
use crate::data::DataObject;
use crate::element::of_number;

/// More strings than this in one argument are a mistake.
const TEXTS_MAX: usize = 1 << 24;

/// `farcall_text`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawText {
    data: *const c_void,
    bytes: usize,
}

/// `farcall_complex`.
#[repr(C)]
#[derive(Clone, Copy)]
struct RawComplex {
    real: f64,
    imaginary: f64,
}

/// `farcall_texts`.
#[repr(C)]
#[derive(Clone, Copy)]
struct RawTexts {
    items: *const RawText,
    count: usize,
}

/// `farcall_callback_body`.
type RawBody = unsafe extern "C" fn(*mut c_void, *mut Running<'_>);

/// `farcall_callback`.
#[repr(C)]
#[derive(Clone, Copy)]
struct RawCallback {
    body: Option<RawBody>,
    context: *mut c_void,
}

/// A function that asks for its parameters.
struct Body {
    body: RawBody,
    context: *mut c_void,
}

// SAFETY: farcall.h says that it is called by any thread that waits for its call.
unsafe impl Send for Body {}
// SAFETY: as above.
unsafe impl Sync for Body {}

impl Callback for Body {
    fn run(&self, call: &Taken) -> Result<Answer> {
        call.run(|running| {
            // SAFETY: whoever passed it promised that it takes these.
            unsafe { (self.body)(self.context, running) };
            Ok(())
        })
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
union RawValue {
    integer: i64,
    real: f64,
    complex: RawComplex,
    text: RawText,
    texts: RawTexts,
    function: *const c_void,
    callback: RawCallback,
}

/// `farcall_argument`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawArgument {
    kind: u32,
    element: u32,
    value: RawValue,
    data: *mut u8,
    rank: i64,
    shape: *const u64,
    strides: *const i64,
    destination: u32,
    into_element: u32,
    into: *mut u8,
    into_rank: i64,
    into_shape: *const u64,
    into_strides: *const i64,
    reserved: [u64; 4],
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<RawArgument>() == 128, "farcall.h says 128 bytes");

impl RawArgument {
    /// `enum farcall_element`, of an array.
    pub fn element(&self) -> u32 {
        self.element
    }

    /// Where its result goes, of `enum farcall_destination`.
    pub fn destination(&self) -> u32 {
        self.destination
    }

    /// Dimensions of an array.
    pub fn rank(&self) -> i64 {
        self.rank
    }
}

/// The members that describe an array, of the argument or of its destination.
struct RawArray {
    data: *mut u8,
    element: u32,
    rank: i64,
    shape: *const u64,
    strides: *const i64,
}

/// Reads one argument per parameter.
///
/// # Safety
/// What the arguments point to is as farcall.h says, through `'a`.
pub unsafe fn read_all<'a>(
    interface: &Interface,
    given: &[RawArgument],
) -> Result<(Vec<Argument<'a>>, Vec<Destination<'a>>)> {
    if given.len() != interface.parameters.len() {
        return Err(Error::new(
            ErrorKind::InvalidArgument,
            "call",
            "the wrong number of arguments",
        )
        .with("routine", interface.full_name())
        .with("given", given.len())
        .with("parameters", interface.parameters.len())
        .fix("pass one per parameter, FARCALL_UNSET for WORK ones"));
    }
    let mut all = (Vec::with_capacity(given.len()), Vec::with_capacity(given.len()));
    for (parameter, raw) in interface.parameters.iter().zip(given) {
        let reading = Reading { interface, parameter, raw };
        // SAFETY: the caller's promise, here and below.
        let argument = unsafe { reading.argument() };
        // SAFETY: as above.
        let destination = unsafe { reading.destination() };
        let named = |error: Error| error.with("parameter", &parameter.name);
        all.0.push(argument.map_err(named)?);
        all.1.push(destination.map_err(named)?);
    }
    Ok(all)
}

fn wrong(message: &'static str) -> Error {
    Error::new(ErrorKind::InvalidArgument, "call", message)
}

struct Reading<'a> {
    interface: &'a Interface,
    parameter: &'a Parameter,
    raw: &'a RawArgument,
}

impl Reading<'_> {
    /// # Safety
    /// What the argument points to is as farcall.h says, through `'a`.
    unsafe fn argument<'a>(&self) -> Result<Argument<'a>> {
        let raw = self.raw;
        if raw.reserved != [0; 4] {
            return Err(wrong("reserved members of farcall_argument are not zero")
                .fix("set unused members to zero"));
        }
        // SAFETY: all members are plain words, of which any bits are values; `kind` says which one
        // the caller set. What pointers among them point to is the caller's promise.
        unsafe {
            Ok(match raw.kind {
                argument_kind::UNSET => Argument::Unset,
                argument_kind::INTEGER => Argument::Integer(raw.value.integer),
                argument_kind::REAL => Argument::Real(raw.value.real),
                argument_kind::COMPLEX => {
                    Argument::Complex(raw.value.complex.real, raw.value.complex.imaginary)
                }
                argument_kind::RAW => Argument::Raw(self.raw_value(raw.value.text)?),
                argument_kind::TEXT => {
                    read_text(raw.value.text)?.map_or(Argument::Null, Argument::Text)
                }
                argument_kind::TEXTS => read_texts(raw.value.texts)?,
                argument_kind::NULL => Argument::Null,
                argument_kind::ARRAY => {
                    self.view(&raw.array())?.map_or(Argument::Null, Argument::Array)
                }
                argument_kind::DATA => match raw.data.cast::<DataObject>().as_ref() {
                    Some(data) => Argument::Data(data.0.clone()),
                    None => return Err(wrong("the pointer for the data is NULL")),
                },
                argument_kind::URL => Argument::Url(read_url(raw.value.text)?),
                argument_kind::FUNCTION => match NativeFunction::new(raw.value.function) {
                    Some(function) => Argument::Callback(Arc::new(function)),
                    None => Argument::Null,
                },
                argument_kind::PROCEDURE => match NativeFunction::fortran(raw.value.function) {
                    Some(function) => Argument::Callback(Arc::new(function)),
                    None => Argument::Null,
                },
                argument_kind::CALLBACK => match raw.value.callback {
                    RawCallback { body: Some(body), context } => {
                        Argument::Callback(Arc::new(Body { body, context }))
                    }
                    RawCallback { body: None, .. } => Argument::Null,
                },
                kind => return Err(wrong("unknown kind of argument").with("kind", kind)),
            })
        }
    }

    /// # Safety
    /// As for [`Reading::argument`].
    unsafe fn destination<'a>(&self) -> Result<Destination<'a>> {
        match self.raw.destination {
            destination::NEW => Ok(Destination::New),
            destination::IN_PLACE => Ok(Destination::InPlace),
            // SAFETY: the caller's promise.
            destination::INTO => match unsafe { self.view(&self.raw.into_array()) }? {
                Some(view) => Ok(Destination::Into(view)),
                None => Err(wrong("the array for the result is NULL")),
            },
            other => Err(wrong("unknown destination").with("destination", other)),
        }
    }

    /// The bytes of one value, as many as the parameter's type has.
    ///
    /// # Safety
    /// As for [`Reading::argument`].
    unsafe fn raw_value(&self, text: RawText) -> Result<Vec<u8>> {
        let needed = match self.parameter.element {
            ElementType::String => return Err(wrong("a raw value was passed instead of text")),
            // SAFETY: the caller's promise. A file's content may be empty, and of any length.
            ElementType::Filename => return Ok(unsafe { read_text(text) }?.unwrap_or_default()),
            element => element_bytes(self.interface, element),
        };
        // SAFETY: the caller's promise.
        let bytes = unsafe { read_text(text) }?.ok_or_else(|| wrong("a raw value has no data"))?;
        if bytes.len() as u64 == needed {
            return Ok(bytes);
        }
        Err(wrong("a raw value has the wrong length")
            .with("bytes", bytes.len())
            .with("needed", needed))
    }

    /// `None` for a NULL pointer that is not just an array without elements.
    ///
    /// # Safety
    /// As for [`Reading::argument`].
    unsafe fn view<'a>(&self, raw: &RawArray) -> Result<Option<View<'a>>> {
        let element = of_number(raw.element, self.parameter.element)
            .ok_or_else(|| wrong("unknown element type").with("element", raw.element))?;
        if raw.rank == RAW_LAYOUT {
            // SAFETY: the caller's promise: memory as the interface lays it out.
            return Ok((!raw.data.is_null()).then(|| unsafe { View::new(raw.data, element, None) }));
        }
        let rank = usize::try_from(raw.rank).ok().filter(|rank| *rank <= RANK_MAX);
        let rank = rank.ok_or_else(|| wrong("the rank is invalid").with("rank", raw.rank))?;
        // SAFETY: the caller's promise, here and below.
        let shape = unsafe { elements(raw.shape, rank, "the shape") }?.to_vec();
        let strides = if raw.strides.is_null() {
            let order = if let Shape::Array { order, .. } = self.parameter.shape {
                order
            } else {
                Order::Row
            };
            packed_strides(&shape, element_bytes(self.interface, self.parameter.element), order)
                .ok_or_else(|| wrong("the shape is invalid").with("shape", format!("{shape:?}")))?
        } else {
            // SAFETY: as above.
            unsafe { elements(raw.strides, rank, "the strides") }?.to_vec()
        };
        if !self.in_memory(&shape, &strides) {
            let error = wrong("impossible strides").with("strides", format!("{strides:?}"));
            return Err(error
                .with("shape", format!("{shape:?}"))
                .fix("pass the bytes between neighboring elements"));
        }
        if raw.data.is_null() && !shape.contains(&0) {
            return Ok(None);
        }
        let base = if raw.data.is_null() { std::ptr::dangling_mut() } else { raw.data };
        // SAFETY: the caller's promise: elements as shape and strides say.
        Ok(Some(unsafe { View::new(base, element, Some((shape, strides))) }))
    }

    /// Whether an array that is laid out like this can lie in a memory of 64 bits.
    fn in_memory(&self, shape: &[u64], strides: &[i64]) -> bool {
        if shape.contains(&0) {
            return true;
        }
        // As wide as the sum of 32 products of 63 bits each.
        let span =
            |(extent, stride): (&u64, &i64)| (i128::from(*extent) - 1) * i128::from(*stride).abs();
        let element = i128::from(element_bytes(self.interface, self.parameter.element));
        let sum =
            shape.iter().zip(strides).try_fold(element, |sum, axis| sum.checked_add(span(axis)));
        sum.is_some_and(|sum| sum <= i128::from(i64::MAX))
    }
}

impl RawArgument {
    /// Nothing.
    pub const UNSET: RawArgument = RawArgument {
        kind: argument_kind::UNSET,
        element: 0,
        value: RawValue { integer: 0 },
        data: std::ptr::null_mut(),
        rank: 0,
        shape: std::ptr::null(),
        strides: std::ptr::null(),
        destination: 0,
        into_element: 0,
        into: std::ptr::null_mut(),
        into_rank: 0,
        into_shape: std::ptr::null(),
        into_strides: std::ptr::null(),
        reserved: [0; 4],
    };

    /// Its kind, of `enum farcall_argument_kind`.
    pub fn kind(&self) -> u32 {
        self.kind
    }

    /// Where its elements lie.
    pub fn data(&self) -> *const u8 {
        self.data
    }

    /// The type of its elements, for a parameter; `None` for a number that no version has.
    pub fn element_type(&self, parameter: &Parameter) -> Option<ElementType> {
        of_number(self.element, parameter.element)
    }

    /// The same so many bytes further on. NULL stays NULL.
    pub fn moved(mut self, data: isize, into: isize) -> RawArgument {
        if !self.data.is_null() {
            self.data = self.data.wrapping_offset(data);
        }
        if !self.into.is_null() {
            self.into = self.into.wrapping_offset(into);
        }
        self
    }

    fn array(&self) -> RawArray {
        RawArray {
            data: self.data,
            element: self.element,
            rank: self.rank,
            shape: self.shape,
            strides: self.strides,
        }
    }

    fn into_array(self) -> RawArray {
        RawArray {
            data: self.into,
            element: self.into_element,
            rank: self.into_rank,
            shape: self.into_shape,
            strides: self.into_strides,
        }
    }
}

/// `None` for NULL.
///
/// # Safety
/// As long as it says, or NUL-terminated.
unsafe fn read_text(text: RawText) -> Result<Option<Vec<u8>>> {
    if text.data.is_null() {
        return Ok(None);
    }
    if text.bytes == usize::MAX {
        // SAFETY: the caller's promise, here and below.
        return Ok(Some(
            unsafe { std::ffi::CStr::from_ptr(text.data.cast::<c_char>()) }.to_bytes().to_vec(),
        ));
    }
    // SAFETY: as above.
    Ok(Some(unsafe { elements(text.data.cast::<u8>(), text.bytes, "text") }?.to_vec()))
}

/// # Safety
/// A text of that many bytes, or NUL-terminated.
unsafe fn read_url(text: RawText) -> Result<String> {
    // SAFETY: the caller's promise.
    let url = unsafe { read_text(text) }?.ok_or_else(|| wrong("a URL is NULL"))?;
    String::from_utf8(url).map_err(|_| wrong("a URL is not text"))
}

/// # Safety
/// As many strings as it says.
unsafe fn read_texts<'a>(texts: RawTexts) -> Result<Argument<'a>> {
    if texts.count > TEXTS_MAX {
        return Err(wrong("too many strings").with("count", texts.count).with("limit", TEXTS_MAX));
    }
    // SAFETY: the caller's promise, here and below.
    let items = unsafe { elements(texts.items, texts.count, "the strings") }?;
    // SAFETY: as above.
    let read: Result<Vec<_>> = items.iter().map(|item| unsafe { read_text(*item) }).collect();
    Ok(Argument::Texts(read?))
}
