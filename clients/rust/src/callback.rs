//! Functions that a caller passes to a routine: they run here, in the thread that waits for the
//! call.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use farcall_base::{Error, ErrorKind, Result};
use farcall_idl::callback::CallbackType;
use farcall_idl::interface::{Implementation, Language, Routine, StringConvention};
use farcall_idl::layout::ParameterLayout;
use farcall_link::memory::{BorrowedRegion, Region};
use farcall_link::packing::Packing;
use farcall_link::strided::Strided;
use farcall_native::EntryPoint;
use farcall_native::invoke::{Prepared, invoke};
pub use farcall_native::running::Running;
pub use farcall_native::taken::{Answer, Taken};
use farcall_native::taken::{gather, scatter};

use crate::array::Element;

/// A function of the caller's. It runs in the thread that waits for the call, and may make calls
/// and pass functions itself.
pub trait Callback: Send + Sync {
    /// Runs it.
    ///
    /// # Errors
    /// Why it failed: the routine is told so, and its call fails unless it looks.
    fn run(&self, call: &Taken) -> Result<Answer>;

    /// A C function is given texts in memory of its own, which it frees or keeps; others take copies
    /// anyway.
    fn own_texts(&self) {}
}

impl std::fmt::Debug for dyn Callback {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a function")
    }
}

/// A Rust function as a callback.
pub fn callback(
    run: impl Fn(&mut CallbackCall<'_, '_>) -> Result<()> + Send + Sync + 'static,
) -> Arc<dyn Callback> {
    Arc::new(Function(run))
}

struct Function<F>(F);

impl<F: Fn(&mut CallbackCall<'_, '_>) -> Result<()> + Send + Sync> Callback for Function<F> {
    fn run(&self, call: &Taken) -> Result<Answer> {
        call.run(|running| (self.0)(&mut CallbackCall { running }))
    }
}

/// A C function of the callback's own prototype: IN scalars by value, everything else by pointer.
/// As `void f(int n, double *x)` for `f(IN int n, INOUT double x[n])`, and `double f(double x)` for
/// `double f(IN double x)`.
pub struct NativeFunction {
    entry: EntryPoint,
    language: Language,
    strings: StringConvention,
    prepared: OnceLock<Prepared>,
    /// Texts that it gets are its own, see [`Callback::own_texts`].
    owns_texts: AtomicBool,
}

impl NativeFunction {
    /// The function at `address`; `None` for NULL.
    ///
    /// # Safety
    /// It is a function of the prototype of each callback that it is passed for, may be called by
    /// any thread that waits for such a call, and stays for as long as one is under way. It does
    /// not unwind.
    pub unsafe fn new(address: *const std::ffi::c_void) -> Option<NativeFunction> {
        // SAFETY: the caller's promise.
        let entry = unsafe { EntryPoint::new(address) }?;
        let language = Language::C;
        let strings = StringConvention::None;
        Some(NativeFunction {
            entry,
            language,
            strings,
            prepared: OnceLock::new(),
            owns_texts: AtomicBool::new(false),
        })
    }

    /// The same of a Fortran procedure: all parameters by reference, the lengths of CHARACTERs
    /// behind them.
    ///
    /// # Safety
    /// As for [`NativeFunction::new`].
    pub unsafe fn fortran(address: *const std::ffi::c_void) -> Option<NativeFunction> {
        // SAFETY: the caller's promise.
        let function = unsafe { NativeFunction::new(address) }?;
        Some(NativeFunction {
            language: Language::Fortran,
            strings: StringConvention::End,
            ..function
        })
    }

    fn prepared(&self, kind: &CallbackType) -> Result<&Prepared> {
        if let Some(prepared) = self.prepared.get() {
            return Ok(prepared);
        }
        let implementation = Implementation {
            language: self.language,
            strings: self.strings,
            code: kind.interface.function(),
            required: Vec::new(),
            backend: String::new(),
            distribution: Vec::new(),
        };
        let made = Prepared::new(
            &Routine { interface: kind.interface.clone(), implementation },
            self.entry,
        )?;
        Ok(self.prepared.get_or_init(|| made))
    }
}

impl Callback for NativeFunction {
    fn run(&self, call: &Taken) -> Result<Answer> {
        let prepared = self.prepared(call.kind())?;
        let mut slots = call.slots();
        if self.owns_texts.load(Ordering::Relaxed) {
            call.give_texts_away(&mut slots);
        }
        // SAFETY: the slots are as the interface says, and so is the function, by the word of
        // whoever made this.
        unsafe { invoke(prepared, &mut slots) }?;
        call.answer(&slots)
    }

    fn own_texts(&self) {
        self.owns_texts.store(true, Ordering::Relaxed);
    }
}

/// One call of a Rust callback: its parameters, by name.
pub struct CallbackCall<'r, 'a> {
    running: &'r mut Running<'a>,
}

impl CallbackCall<'_, '_> {
    fn find(&self, name: &str) -> Result<usize> {
        let interface = self.running.interface();
        let found = interface.parameters.iter().position(|parameter| parameter.name == name);
        found.ok_or_else(|| {
            Error::new(
                ErrorKind::NotFound,
                "run a callback",
                format!("no parameter is called \"{name}\""),
            )
            .with("callback", interface.full_name())
        })
    }

    /// Where elements of this type lie.
    fn elements<T: Element>(&self, name: &str) -> Result<Packing> {
        let index = self.find(name)?;
        let interface = self.running.interface();
        let element = interface.parameters[index].element;
        let (slot, layout) = self
            .running
            .value(index)
            .ok_or_else(|| Error::internal("run a callback", "unknown slot"))?;
        let array = match layout {
            ParameterLayout::Array(array) => (array.full_bytes, Strided::of_layout(array)),
            ParameterLayout::Scalar { bytes } => (*bytes, Strided::contiguous(*bytes)),
            _ => (0, Strided::contiguous(0)),
        };
        if element != T::TYPE || slot.memory.is_null() && array.0 > 0 {
            let message = format!("\"{name}\" has no elements of type {}", T::TYPE.name());
            return Err(Error::new(ErrorKind::InvalidArgument, "run a callback", message)
                .with("callback", interface.full_name())
                .with("type", element.name()));
        }
        // SAFETY: the callback's own memory, which nobody else uses while it runs.
        let region: Arc<dyn Region> =
            Arc::new(unsafe { BorrowedRegion::new(slot.memory, array.0 as usize) });
        Packing::new(region, 0, &array.1)
    }

    /// The elements of an array, or a number as one of them, in storage order: what travels.
    ///
    /// # Errors
    /// `NotFound` for no such parameter, `InvalidArgument` for another type.
    pub fn array<T: Element>(&self, name: &str) -> Result<Vec<T>> {
        let bytes = gather(&mut self.elements::<T>(name)?)?;
        let mut elements = vec![T::default(); bytes.len() / size_of::<T>()];
        // SAFETY: as many bytes as the vector holds; element types are plain numbers.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), elements.as_mut_ptr().cast(), bytes.len())
        };
        Ok(elements)
    }

    /// A number.
    ///
    /// # Errors
    /// As [`CallbackCall::array`].
    pub fn scalar<T: Element>(&self, name: &str) -> Result<T> {
        let first = self.array(name)?.first().copied();
        first.ok_or_else(|| {
            Error::new(ErrorKind::NotFound, "run a callback", format!("\"{name}\" has no elements"))
        })
    }

    /// Writes the elements of an OUT or INOUT array.
    ///
    /// # Errors
    /// As [`CallbackCall::array`]; `Protocol` for another number than there are.
    pub fn set<T: Element>(&mut self, name: &str, elements: &[T]) -> Result<()> {
        let index = self.find(name)?;
        if !self.running.interface().parameters[index].mode.is_output() {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                "run a callback",
                format!("\"{name}\" is not a result"),
            ));
        }
        // SAFETY: plain numbers, all of whose bytes are values.
        let bytes = unsafe {
            std::slice::from_raw_parts(elements.as_ptr().cast::<u8>(), size_of_val(elements))
        };
        scatter(&mut self.elements::<T>(name)?, bytes)
    }

    /// A text; `None` for NULL.
    ///
    /// # Errors
    /// `NotFound` for no such parameter.
    pub fn text(&self, name: &str) -> Result<Option<String>> {
        let index = self.find(name)?;
        let is_text = matches!(self.running.value(index), Some((_, ParameterLayout::Text)));
        let memory = self
            .running
            .value(index)
            .map_or(std::ptr::null(), |(slot, _)| slot.memory.cast_const());
        // SAFETY: a text that came with the call ends with a NUL.
        let text = if is_text { unsafe { farcall_native::taken::text_at(memory) }? } else { None };
        Ok(text.map(|text| String::from_utf8_lossy(&text).into_owned()))
    }

    /// Gives the text of an OUT or INOUT string.
    ///
    /// # Errors
    /// `NotFound` for no such parameter, `InvalidArgument` where it is none, or a NUL is in the
    /// text.
    pub fn answer(&mut self, name: &str, text: &str) -> Result<()> {
        let index = self.find(name)?;
        if self.running.answer(index, 0, Some(text.as_bytes())) {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::InvalidArgument,
            "run a callback",
            format!("\"{name}\" does not accept such a text"),
        ))
    }
}
