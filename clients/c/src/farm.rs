//! Task farming: many calls of one routine, started and collected many at a time.

use std::ffi::{CString, c_char, c_int};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use farcall_base::abi::argument_kind;
use farcall_base::abi::status::{OK, PENDING};
use farcall_client::idl::element::element_bytes;
use farcall_client::idl::interface::{ElementType, Interface, Parameter, Shape};
use farcall_client::idl::scalar::ScalarValue;
use farcall_client::{
    Argument, Destination, Error, ErrorKind, Farm, Outcome, Output, Outputs, Result, Routine,
};

use crate::argument::{RawArgument, read_all};
use crate::boundary::{Place, c_text, elements, free, guard, object, patience};
use crate::call::{RawOptions, of_call, read_options};
use crate::error::ErrorObject;
use crate::results::{RawTimes, ResultsObject};
use crate::routine::RoutineObject;

/// Bytes of one number that is given apart from results.
const NUMBER_BYTES: usize = 16;

/// `farcall_farm`: used by one thread at a time.
pub struct FarmObject {
    farm: Mutex<Farmed>,
}

struct Farmed {
    farm: Farm,
    timeout: Option<Duration>,
    servers: Servers,
}

/// The names of the servers that calls ran on, in the order in which they came up.
#[derive(Default)]
struct Servers(Vec<(Arc<str>, CString)>);

impl Servers {
    fn number(&mut self, outputs: &Outputs) -> u32 {
        let known = self.0.iter().position(|(name, _)| **name == *outputs.server());
        let place = known.unwrap_or_else(|| {
            self.0.push((outputs.server().into(), c_text(outputs.server())));
            self.0.len() - 1
        });
        place as u32
    }
}

/// `farcall_step`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct RawStep {
    data: i64,
    into: i64,
}

/// `farcall_outcome`.
#[repr(C)]
pub struct RawOutcome {
    element: u64,
    status: c_int,
    server: u32,
    results: *mut ResultsObject,
    error: *mut ErrorObject,
    times: RawTimes,
}

/// The arguments of elements: those of the first, and where those of the next lie; or each one's own.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    pub arguments: &'a [RawArgument],
    pub steps: Option<&'a [RawStep]>,
}

/// One argument per parameter, and as many destinations.
type Row<'a> = (Vec<Argument<'a>>, Vec<Destination<'a>>);

impl Rows<'_> {
    /// As they were passed.
    ///
    /// # Safety
    /// NULL, or as many as are said.
    pub unsafe fn of<'a>(
        interface: &Interface,
        arguments: *const RawArgument,
        steps: *const RawStep,
        (parameters, count): (usize, usize),
    ) -> Result<Rows<'a>> {
        if parameters != interface.parameters.len() {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                "call",
                "the wrong number of arguments for each element",
            )
            .with("routine", interface.full_name())
            .with("given", parameters)
            .with("parameters", interface.parameters.len())
            .fix("pass one per parameter, FARCALL_UNSET for WORK ones"));
        }
        if steps.is_null() {
            let all = parameters.saturating_mul(count);
            // SAFETY: the caller's promise, here and below.
            let arguments = unsafe { elements(arguments, all, "the arguments") }?;
            return Ok(Rows { arguments, steps: None });
        }
        // SAFETY: as above.
        let arguments = unsafe { elements(arguments, parameters, "the arguments") }?;
        // SAFETY: as above.
        let steps = Some(unsafe { elements(steps, parameters, "the steps") }?);
        Ok(Rows { arguments, steps })
    }

    /// The arguments of an element.
    ///
    /// # Safety
    /// What they point to is as farcall.h says, through `'a`.
    pub unsafe fn read<'a>(&self, interface: &Interface, element: usize) -> Result<Row<'a>> {
        let count = interface.parameters.len();
        let Some(steps) = self.steps else {
            let own = self.arguments.get(element * count..(element + 1) * count);
            let own = own.ok_or_else(|| Error::internal("call", "an element has no arguments"))?;
            // SAFETY: the caller's promise, here and below.
            return unsafe { read_all(interface, own) };
        };
        let moved = self.arguments.iter().zip(steps).map(|(raw, step)| {
            // The sum of two offsets within one array lies within it.
            let by = |step: i64| step.wrapping_mul(element as i64) as isize;
            raw.moved(by(step.data), by(step.into))
        });
        let mut moved: Vec<RawArgument> = moved.collect();
        let mut numbers: Vec<(usize, Argument<'_>)> = Vec::new();
        for (index, parameter) in interface.parameters.iter().enumerate() {
            if is_number(parameter) && moved[index].kind() == argument_kind::ARRAY {
                // SAFETY: as above.
                let number = unsafe { number_at(interface, parameter, &moved[index]) };
                let number = number.map_err(|error| error.with("parameter", &parameter.name))?;
                numbers.push((index, number));
                moved[index] = RawArgument::UNSET;
            }
        }
        // SAFETY: as above.
        let (mut arguments, destinations) = unsafe { read_all(interface, &moved) }?;
        for (index, number) in numbers {
            arguments[index] = number;
        }
        Ok((arguments, destinations))
    }
}

/// Whether it is one value, which lies in memory where elements have their own.
fn is_number(parameter: &Parameter) -> bool {
    let is_text = matches!(parameter.element, ElementType::String | ElementType::Filename);
    parameter.shape == Shape::Scalar && parameter.mode.is_input() && !is_text
}

/// The value that lies where an array would.
///
/// # Safety
/// It may be read.
unsafe fn number_at<'a>(
    interface: &Interface,
    parameter: &Parameter,
    raw: &RawArgument,
) -> Result<Argument<'a>> {
    let wrong = |message: &'static str| Error::new(ErrorKind::InvalidArgument, "call", message);
    if raw.element_type(parameter) != Some(parameter.element) {
        return Err(wrong("the values have another type than the parameter"));
    }
    if raw.data().is_null() {
        return Err(wrong("the pointer to the values is NULL"));
    }
    let bytes = element_bytes(interface, parameter.element) as usize;
    // SAFETY: the caller's promise: not NULL, so a value of the parameter's type lies there.
    let bytes = unsafe { std::slice::from_raw_parts(raw.data(), bytes) };
    Ok(match ScalarValue::read(parameter.element, bytes, 0) {
        Some(ScalarValue::Integer(value)) => Argument::Integer(value),
        Some(ScalarValue::Real(value)) => Argument::Real(value),
        Some(ScalarValue::Complex(real, imaginary)) => Argument::Complex(real, imaginary),
        _ => Argument::Raw(bytes.to_vec()),
    })
}

impl FarmObject {
    fn new(routine: &Routine, options: farcall_client::CallOptions) -> FarmObject {
        let timeout = options.timeout;
        let farm = Farm::new(routine, options);
        FarmObject { farm: Mutex::new(Farmed { farm, timeout, servers: Servers::default() }) }
    }
}

/// Starts the calls of elements, up to the first for which there is no room; how many.
///
/// # Safety
/// All memory that the arguments name is as farcall.h says until the outcomes were taken.
pub unsafe fn start(
    farm: &mut Farm,
    rows: Rows<'_>,
    (first, count): (u64, usize),
    offset: usize,
    wait: Duration,
) -> usize {
    let routine = farm.routine().clone();
    let mut started = 0;
    while started < count {
        let element = first + started as u64;
        // SAFETY: the caller's promise, here and below.
        match unsafe { rows.read(routine.interface(), offset + started) } {
            Ok((arguments, destinations)) => {
                // SAFETY: as above.
                if !unsafe { farm.start(element, arguments, destinations, wait) } {
                    break;
                }
            }
            Err(error) => farm.fail(element, error),
        }
        started += 1;
    }
    farm.send();
    started
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_farm_open(
    routine: *const RoutineObject,
    given: *const RawOptions,
    farm: *mut *mut FarmObject,
    error: *mut *mut ErrorObject,
) -> c_int {
    guard(error, || {
        // SAFETY: farcall.h says what all of them are, here and below.
        let place = unsafe { Place::new(farm, "the pointer for the farm") }?;
        // SAFETY: as above.
        let routine = &unsafe { object(routine, "the routine") }?.routine;
        // SAFETY: as above.
        place.fill(FarmObject::new(routine, unsafe { read_options(given) }?));
        Ok(OK)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_farm_start(
    farm: *const FarmObject,
    first: u64,
    count: usize,
    arguments: *const RawArgument,
    steps: *const RawStep,
    parameters: usize,
    wait_seconds: f64,
    started: *mut usize,
    error: *mut *mut ErrorObject,
) -> c_int {
    guard(error, || {
        if started.is_null() {
            let message = "the pointer for the number of calls is NULL";
            return Err(Error::new(ErrorKind::InvalidArgument, "call Farcall", message));
        }
        // SAFETY: not NULL, so it may be written to, here and below.
        unsafe { started.write(0) };
        // SAFETY: farcall.h says what all of them are, here and below.
        let farm = unsafe { object(farm, "the farm") }?;
        let mut farmed = farm.farm.lock().unwrap_or_else(PoisonError::into_inner);
        let routine = farmed.farm.routine().clone();
        let counts = (parameters, count);
        // SAFETY: as above.
        let rows = unsafe { Rows::of(routine.interface(), arguments, steps, counts) };
        let rows = rows.map_err(of_call(&routine, None))?;
        let wait = patience(wait_seconds)?.unwrap_or(Duration::MAX);
        // SAFETY: as above.
        let begun = unsafe { start(&mut farmed.farm, rows, (first, count), 0, wait) };
        // SAFETY: as above.
        unsafe { started.write(begun) };
        Ok(if begun < count { PENDING } else { OK })
    })
}

/// The numbers that an element gave, where these are all.
///
/// # Safety
/// There is room for as many as the interface has results.
unsafe fn give_numbers(outputs: &Outputs, place: *mut u8) -> bool {
    let mut number = 0;
    let is_measured = outputs.placed().is_some() || !outputs.compressed().is_empty();
    for output in outputs.all() {
        match output {
            Output::None => continue,
            Output::Array(array) if array.shape.iter().all(|extent| *extent == 1) => {
                let bytes = array.element_bytes as usize;
                if bytes > NUMBER_BYTES || matches!(array.element, ElementType::Struct(_)) {
                    return false;
                }
                // SAFETY: the array has one element; the caller has room for each result.
                unsafe {
                    let place = place.add(number * NUMBER_BYTES);
                    std::ptr::copy_nonoverlapping(array.address(), place, bytes);
                }
                number += 1;
            }
            _ => return false,
        }
    }
    !is_measured
}

impl Farmed {
    /// An outcome for C. Numbers are given apart if there is nothing else, and room for them.
    ///
    /// # Safety
    /// NULL, or room for as many numbers as the interface has results.
    unsafe fn raw(&mut self, outcome: Outcome, numbers: *mut u8) -> RawOutcome {
        let Outcome { element, results } = outcome;
        let mut raw = RawOutcome {
            element,
            status: OK,
            server: 0,
            results: std::ptr::null_mut(),
            error: std::ptr::null_mut(),
            times: RawTimes::default(),
        };
        let routine = self.farm.routine();
        match results {
            Ok(outputs) => {
                raw.server = self.servers.number(&outputs);
                raw.times = outputs.times().into();
                // SAFETY: the caller's promise.
                if numbers.is_null() || !unsafe { give_numbers(&outputs, numbers) } {
                    raw.results = Box::into_raw(Box::new(ResultsObject::new(routine, outputs)));
                }
            }
            Err(error) => {
                let error = of_call(routine, self.timeout)(error).with("element", element);
                raw.status = error.kind().code().into();
                raw.error = Box::into_raw(Box::new(ErrorObject::from(error)));
            }
        }
        raw
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_farm_next(
    farm: *const FarmObject,
    timeout_seconds: f64,
    outcomes: *mut RawOutcome,
    capacity: usize,
    numbers: *mut u8,
    count: *mut usize,
    error: *mut *mut ErrorObject,
) -> c_int {
    guard(error, || {
        if count.is_null() || outcomes.is_null() || capacity == 0 {
            let message = "there is no place for outcomes";
            return Err(Error::new(ErrorKind::InvalidArgument, "call Farcall", message));
        }
        // SAFETY: not NULL, so it may be written to, here and below.
        unsafe { count.write(0) };
        // SAFETY: farcall.h: a farm.
        let farm = unsafe { object(farm, "the farm") }?;
        let timeout = patience(timeout_seconds)?;
        let mut farmed = farm.farm.lock().unwrap_or_else(PoisonError::into_inner);
        let interface = farmed.farm.routine().interface();
        let results = interface.parameters.iter().filter(|one| one.mode.is_output()).count();
        let row = results * NUMBER_BYTES;
        let mut taken = 0;
        let mut next = farmed.farm.next(timeout);
        while let Some(outcome) = next {
            let place = if numbers.is_null() { numbers } else { numbers.wrapping_add(taken * row) };
            // SAFETY: farcall.h: room for so many outcomes, and for the numbers of each.
            unsafe { outcomes.add(taken).write(farmed.raw(outcome, place)) };
            taken += 1;
            // SAFETY: as above.
            unsafe { count.write(taken) };
            next = if taken < capacity { farmed.farm.next_received() } else { None };
        }
        Ok(if taken > 0 { OK } else { PENDING })
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_farm_under_way(farm: *const FarmObject) -> usize {
    // SAFETY: farcall.h: NULL or a farm.
    unsafe { farm.as_ref() }
        .map_or(0, |farm| farm.farm.lock().unwrap_or_else(PoisonError::into_inner).farm.under_way())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_farm_server(farm: *const FarmObject, server: u32) -> *const c_char {
    // SAFETY: farcall.h: NULL or a farm.
    unsafe { farm.as_ref() }.map_or(std::ptr::null(), |farm| {
        let farmed = farm.farm.lock().unwrap_or_else(PoisonError::into_inner);
        // Names stay until the farm is freed.
        farmed.servers.0.get(server as usize).map_or(std::ptr::null(), |(_, name)| name.as_ptr())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_farm_free(farm: *mut FarmObject) {
    // SAFETY: farcall.h: NULL or a farm that the caller gives up.
    unsafe { free(farm) }
}
