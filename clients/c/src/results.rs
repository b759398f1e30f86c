//! Results: arrays by address, strings with a NUL behind them.

use std::ffi::{CString, c_char, c_int};
use std::sync::OnceLock;

use farcall_base::abi::rank::RANK_MAX;
use farcall_base::abi::result_kind;
use farcall_base::abi::status::OK;
use farcall_client::idl::element::element_bytes;
use farcall_client::idl::interface::ElementType;
use farcall_client::{
    ArrayMemory, CallTimes, Error, ErrorKind, Output, Outputs, OwnedArray, Phases, Result, Routine,
};

use crate::boundary::{Place, c_text, free, guard, object};
use crate::error::ErrorObject;

/// `farcall_results`.
pub struct ResultsObject {
    routine: Routine,
    pub(crate) outputs: Outputs,
    /// By parameter, the strings with a NUL behind them.
    texts: Vec<Vec<Option<Vec<u8>>>>,
    /// The name of the server, once somebody has asked for it.
    server: OnceLock<CString>,
}

/// `farcall_memory`: keeps memory as long as it lives.
pub enum MemoryObject {
    /// A clone of a result.
    Result(#[allow(dead_code, reason = "kept for its memory")] OwnedArray),
    /// The program's own.
    Own(#[allow(dead_code, reason = "kept for its memory")] ArrayMemory),
}

/// `farcall_array_view`.
#[repr(C)]
pub struct RawView {
    data: *mut u8,
    element: u32,
    rank: u32,
    element_bytes: u64,
    shape: [u64; RANK_MAX],
    strides: [i64; RANK_MAX],
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<RawView>() == 536, "farcall.h says 536 bytes");

/// `farcall_times`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct RawTimes {
    queued: u64,
    started: u64,
    finished: u64,
}

/// `farcall_phases`.
#[repr(C)]
pub struct RawPhases {
    send: f64,
    wait: f64,
    run: f64,
    back: f64,
}

/// `farcall_placed`.
#[repr(C)]
pub struct RawPlaced {
    predicted: RawPhases,
    measured: RawPhases,
    error: f64,
}

impl From<CallTimes> for RawTimes {
    fn from(times: CallTimes) -> RawTimes {
        let CallTimes { queued_ns, started_ns, finished_ns, .. } = times;
        RawTimes { queued: queued_ns, started: started_ns, finished: finished_ns }
    }
}

impl From<Phases> for RawPhases {
    fn from(Phases { wait_s, send_s, run_s, return_s }: Phases) -> RawPhases {
        RawPhases { send: send_s, wait: wait_s, run: run_s, back: return_s }
    }
}

impl ResultsObject {
    pub fn new(routine: &Routine, outputs: Outputs) -> ResultsObject {
        let terminated = |text: &Vec<u8>| {
            let mut text = text.clone();
            text.push(0);
            text
        };
        let texts = |output: &Output| match output {
            Output::Text(text) => vec![text.as_ref().map(terminated)],
            Output::Texts(texts) => {
                texts.iter().map(|text| text.as_ref().map(terminated)).collect()
            }
            Output::None
            | Output::Null
            | Output::Array(_)
            | Output::Written(_)
            | Output::Stayed(_)
            | Output::Data(_) => Vec::new(),
        };
        ResultsObject {
            routine: routine.clone(),
            texts: outputs.all().iter().map(texts).collect(),
            outputs,
            server: OnceLock::new(),
        }
    }

    /// An array result: where it lies (`None` for one that was written to the caller's), and its
    /// description.
    fn array(&self, parameter: usize) -> Result<(Option<OwnedArray>, RawView)> {
        match self.outputs.all().get(parameter) {
            Some(Output::Array(array)) => {
                let view = self.view(
                    parameter,
                    array.element,
                    array.address(),
                    &array.shape,
                    &array.strides,
                )?;
                Ok((Some(array.clone()), view))
            }
            Some(Output::Written(shape)) => {
                let element = self.routine.interface().parameters[parameter].element;
                let strides = vec![0; shape.len()];
                Ok((None, self.view(parameter, element, std::ptr::null_mut(), shape, &strides)?))
            }
            _ => Err(self.no_array(parameter)),
        }
    }

    fn view(
        &self,
        parameter: usize,
        element: ElementType,
        data: *mut u8,
        shape: &[u64],
        strides: &[i64],
    ) -> Result<RawView> {
        if shape.len() > RANK_MAX || strides.len() != shape.len() {
            let name = &self.routine.interface().parameters[parameter].name;
            let message = format!("the array has more than {RANK_MAX} dimensions");
            return Err(Error::new(ErrorKind::LimitExceeded, "read a result", message)
                .with("parameter", name));
        }
        let element_bytes = element_bytes(self.routine.interface(), element);
        let rank = shape.len() as u32;
        let element = element.abi_number();
        let mut view = RawView {
            data,
            element,
            rank,
            element_bytes,
            shape: [0; RANK_MAX],
            strides: [0; RANK_MAX],
        };
        view.shape[..shape.len()].copy_from_slice(shape);
        view.strides[..strides.len()].copy_from_slice(strides);
        Ok(view)
    }

    fn no_array(&self, parameter: usize) -> Error {
        let parameters = &self.routine.interface().parameters;
        let message = match parameters.get(parameter) {
            Some(one) => format!("{} is not an array result", one.name),
            None => {
                format!(
                    "there is no parameter {parameter}; the last one is {}",
                    parameters.len().saturating_sub(1)
                )
            }
        };
        Error::new(ErrorKind::NotFound, "read a result", message)
            .with("routine", self.routine.name())
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_results_kind(
    results: *const ResultsObject,
    parameter: usize,
) -> c_int {
    // SAFETY: farcall.h: NULL or results.
    match unsafe { results.as_ref() }.and_then(|results| results.outputs.all().get(parameter)) {
        None | Some(Output::None) => result_kind::NONE,
        Some(Output::Null) => result_kind::NULL,
        Some(Output::Array(_)) => result_kind::ARRAY,
        Some(Output::Written(_)) => result_kind::WRITTEN,
        Some(Output::Text(_)) => result_kind::TEXT,
        Some(Output::Texts(_)) => result_kind::TEXTS,
        Some(Output::Stayed(_) | Output::Data(_)) => result_kind::DATA,
    }
}

/// Writes a description to the caller's place.
///
/// # Safety
/// NULL, or a place for one.
unsafe fn give_view(place: *mut RawView, view: RawView) -> Result<()> {
    if place.is_null() {
        return Err(Error::new(
            ErrorKind::InvalidArgument,
            "call Farcall",
            "the pointer for the view is NULL",
        ));
    }
    // SAFETY: not NULL, so it is a place for one.
    unsafe { place.write(view) };
    Ok(())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_results_array(
    results: *const ResultsObject,
    parameter: usize,
    view: *mut RawView,
    error: *mut *mut ErrorObject,
) -> c_int {
    guard(error, || {
        // SAFETY: farcall.h: results, and a place for the view.
        let (_, found) = unsafe { object(results, "the results") }?.array(parameter)?;
        // SAFETY: as above.
        unsafe { give_view(view, found) }?;
        Ok(OK)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_results_take(
    results: *const ResultsObject,
    parameter: usize,
    view: *mut RawView,
    memory: *mut *mut MemoryObject,
    error: *mut *mut ErrorObject,
) -> c_int {
    guard(error, || {
        // SAFETY: farcall.h: results, and places for the memory and the view.
        let place = unsafe { Place::new(memory, "the pointer for the memory") }?;
        // SAFETY: as above.
        let results = unsafe { object(results, "the results") }?;
        let (array, found) = results.array(parameter)?;
        let array = array.ok_or_else(|| {
            results.no_array(parameter).fix("read it from the array that you passed")
        })?;
        // SAFETY: as above.
        unsafe { give_view(view, found) }?;
        place.fill(MemoryObject::Result(array));
        Ok(OK)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_memory_allocate(
    bytes: usize,
    data: *mut *mut u8,
    memory: *mut *mut MemoryObject,
    error: *mut *mut ErrorObject,
) -> c_int {
    guard(error, || {
        // SAFETY: farcall.h: a place for the memory.
        let place = unsafe { Place::new(memory, "the pointer for the memory") }?;
        if data.is_null() {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                "call Farcall",
                "the pointer for the address is NULL",
            ));
        }
        let allocated = ArrayMemory::allocate(bytes)?;
        // SAFETY: not NULL, so it is a place for an address.
        unsafe { data.write(allocated.base()) };
        place.fill(MemoryObject::Own(allocated));
        Ok(OK)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_memory_free(memory: *mut MemoryObject) {
    // SAFETY: farcall.h: NULL or memory that the caller gives up.
    unsafe { free(memory) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_results_text(
    results: *const ResultsObject,
    parameter: usize,
    index: usize,
    bytes: *mut usize,
) -> *const c_char {
    // SAFETY: farcall.h: NULL or results.
    let texts = unsafe { results.as_ref() }.and_then(|results| results.texts.get(parameter));
    let text = texts.and_then(|texts| texts.get(index)).and_then(Option::as_ref);
    if !bytes.is_null() {
        // SAFETY: not NULL, so it is a place for the length.
        unsafe { bytes.write(text.map_or(0, |text| text.len() - 1)) };
    }
    text.map_or(std::ptr::null(), |text| text.as_ptr().cast())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_results_text_count(
    results: *const ResultsObject,
    parameter: usize,
) -> usize {
    // SAFETY: farcall.h: NULL or results.
    unsafe { results.as_ref() }.and_then(|results| results.texts.get(parameter)).map_or(0, Vec::len)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_results_server(results: *const ResultsObject) -> *const c_char {
    // SAFETY: farcall.h: NULL or results.
    let Some(results) = (unsafe { results.as_ref() }) else { return std::ptr::null() };
    results.server.get_or_init(|| c_text(results.outputs.server())).as_ptr()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_results_placed(
    results: *const ResultsObject,
    placed: *mut RawPlaced,
) -> c_int {
    // SAFETY: farcall.h: NULL or results, NULL or a place for the times.
    let (Some(results), Some(place)) = (unsafe { (results.as_ref(), placed.as_mut()) }) else {
        return ErrorKind::InvalidArgument.code().into();
    };
    let Some(found) = results.outputs.placed() else { return ErrorKind::NotFound.code().into() };
    *place = RawPlaced {
        predicted: found.predicted.into(),
        measured: found.measured.into(),
        error: found.error_s,
    };
    OK
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_results_times(
    results: *const ResultsObject,
    times: *mut RawTimes,
) -> c_int {
    // SAFETY: farcall.h: NULL or results, NULL or a place for the times.
    let (Some(results), Some(place)) = (unsafe { (results.as_ref(), times.as_mut()) }) else {
        return ErrorKind::InvalidArgument.code().into();
    };
    let found = results.outputs.times();
    *place = RawTimes {
        queued: found.queued_ns,
        started: found.started_ns,
        finished: found.finished_ns,
    };
    OK
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_results_free(results: *mut ResultsObject) {
    // SAFETY: farcall.h: NULL or results that the caller gives up.
    unsafe { free(results) }
}
