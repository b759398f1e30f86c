//! `farcall_map`: one call for many elements, which waits for all of them.

use std::collections::VecDeque;
use std::ffi::{c_int, c_void};
use std::time::Duration;

use farcall_base::abi::status::{OK, PENDING};
use farcall_client::{Error, ErrorKind, Farm, Outcome, Result, Routine};

use crate::argument::RawArgument;
use crate::boundary::{elements, guard, object, options};
use crate::call::{RawOptions, of_call, read_options};
use crate::error::ErrorObject;
use crate::farm::{RawStep, Rows, start};
use crate::results::ResultsObject;
use crate::routine::RoutineObject;

/// Running calls at a time, where nothing else is said.
const WINDOW: usize = 1024;
/// How long a call is waited for that cannot be started: then running ones are looked after.
const SLICE: Duration = Duration::from_millis(50);

/// `farcall_map_done`.
type Done = unsafe extern "C" fn(
    *mut c_void,
    usize,
    c_int,
    *const ResultsObject,
    *const ErrorObject,
) -> c_int;

/// `farcall_map_options`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawMapOptions {
    size: usize,
    call: *const RawOptions,
    window: usize,
    goes_on: u32,
    reserved: u32,
    done: Option<Done>,
    context: *mut c_void,
}

/// One call of `farcall_map`.
struct Mapping<'a> {
    routine: &'a Routine,
    timeout: Option<Duration>,
    goes_on: bool,
    done: Option<(Done, *mut c_void)>,
    /// By element.
    statuses: Option<&'a mut [c_int]>,
}

impl Mapping<'_> {
    /// Tells of an outcome.
    ///
    /// # Errors
    /// The element's, if that ends all; `Cancelled` where the program wants no more.
    fn tell(&mut self, outcome: Outcome) -> Result<()> {
        let Outcome { element, results } = outcome;
        let element = element as usize;
        let results = results.map_err(of_call(self.routine, self.timeout));
        let (outputs, failed) = match results {
            Ok(outputs) => (Some(outputs), None),
            Err(error) => (None, Some(error.with("element", element))),
        };
        let status = failed.as_ref().map_or(OK, |error| error.kind().code().into());
        if let Some(place) = self.statuses.as_mut().and_then(|all| all.get_mut(element)) {
            *place = status;
        }
        if let Some((done, context)) = self.done {
            let results = outputs.map(|outputs| ResultsObject::new(self.routine, outputs));
            let error = failed.as_ref().map(ErrorObject::from);
            let results = results.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
            let error = error.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
            // SAFETY: farcall.h says that it takes these, which live until it returns.
            if unsafe { done(context, element, status, results, error) } != 0 {
                let message = "the program wanted no more of it";
                return Err(Error::new(ErrorKind::Cancelled, "map", message));
            }
        }
        failed.filter(|_| !self.goes_on).map_or(Ok(()), Err)
    }

    /// Makes all calls.
    ///
    /// # Safety
    /// All memory that the arguments name is as farcall.h says until this returns.
    unsafe fn run(
        &mut self,
        farm: &mut Farm,
        rows: Rows<'_>,
        count: usize,
        window: usize,
    ) -> Result<()> {
        let mut next = 0;
        while next < count || farm.under_way() > 0 {
            let room = window.saturating_sub(farm.under_way()).min(count - next);
            // SAFETY: the caller's promise.
            next += unsafe { start(farm, rows, (next as u64, room), next, SLICE) };
            // What found no room is tried again soon, and what is running makes some.
            let patience =
                if next < count && farm.under_way() < window { Some(SLICE) } else { None };
            let mut outcomes: VecDeque<Outcome> = farm.next(patience).into_iter().collect();
            while let Some(outcome) = outcomes.pop_front() {
                self.tell(outcome)?;
                outcomes.extend(farm.next_received());
            }
        }
        Ok(())
    }
}

/// # Safety
/// NULL, or options with their size.
unsafe fn read(given: *const RawMapOptions) -> Result<RawMapOptions> {
    let none = RawMapOptions {
        size: size_of::<RawMapOptions>(),
        call: std::ptr::null(),
        window: 0,
        goes_on: 0,
        reserved: 0,
        done: None,
        context: std::ptr::null_mut(),
    };
    // SAFETY: the caller's promise.
    let given = unsafe { options(given, "farcall_map_options") }?.unwrap_or(none);
    let window = if given.window == 0 { WINDOW } else { given.window };
    Ok(RawMapOptions { window, ..given })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_map(
    routine: *const RoutineObject,
    count: usize,
    arguments: *const RawArgument,
    steps: *const RawStep,
    parameters: usize,
    given: *const RawMapOptions,
    statuses: *mut c_int,
    error: *mut *mut ErrorObject,
) -> c_int {
    guard(error, || {
        // SAFETY: farcall.h says what all of them are, here and below.
        let routine = &unsafe { object(routine, "the routine") }?.routine;
        // SAFETY: as above.
        let given = unsafe { read(given) }?;
        // SAFETY: as above.
        let options = unsafe { read_options(given.call) }?;
        let counts = (parameters, count);
        // SAFETY: as above.
        let rows = unsafe { Rows::of(routine.interface(), arguments, steps, counts) };
        let rows = rows.map_err(of_call(routine, None))?;
        let statuses = if statuses.is_null() {
            None
        } else {
            // SAFETY: as above: as many as there are elements.
            unsafe { elements(statuses, count, "the statuses") }?;
            // SAFETY: as above, and nobody else uses them meanwhile.
            Some(unsafe { std::slice::from_raw_parts_mut(statuses, count) })
        };
        let done = given.done.map(|done| (done, given.context));
        let timeout = options.timeout;
        let goes_on = given.goes_on != 0;
        let mut mapping = Mapping { routine, timeout, goes_on, done, statuses };
        mapping.statuses.iter_mut().for_each(|all| all.fill(PENDING));
        let mut farm = Farm::new(routine, options);
        // SAFETY: as above.
        unsafe { mapping.run(&mut farm, rows, count, given.window) }?;
        Ok(OK)
    })
}
