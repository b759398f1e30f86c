//! Calls: blocking ones, and those under way.

mod beside;
mod options;

use std::ffi::{c_char, c_int};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use farcall_base::abi::news_kind;
use farcall_base::abi::status::{OK, PENDING};
use farcall_client::{
    Argument, CallId, CallOptions, Client, Data, Destination, Error, ErrorKind, News, Outputs,
    PendingCall, Result, Routine,
};

use crate::argument::{RawArgument, read_all};
use crate::boundary::{Place, elements, free, guard, object, patience};
use crate::error::ErrorObject;
use crate::results::ResultsObject;
use crate::routine::RoutineObject;
use crate::streams::StreamPlace;
use crate::strings::TextPlace;

pub use options::read_options;

/// `farcall_call`. Whoever waits holds the lock; cancelling needs none.
pub struct CallObject {
    client: Client,
    routine: Routine,
    number: u64,
    timeout: Option<Duration>,
    id: Option<CallId>,
    pending: Mutex<PendingCall>,
    /// What was told last.
    told: Mutex<Option<Box<[u8]>>>,
    places: Places,
}

/// `farcall_call_options`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawOptions {
    size: usize,
    timeout_seconds: f64,
    announced: u32,
    wanted: u32,
    on: *const u8,
    keep_seconds: f64,
    durable: u32,
    ranks: u32,
    label: *const c_char,
    run_timeout_seconds: f64,
    resources: *const c_char,
    at: *const c_char,
    stay: *const c_char,
    lease_seconds: f64,
}

/// `farcall_news`.
#[repr(C)]
pub struct RawNews {
    kind: u32,
    before: u32,
    done: f64,
    text: *const u8,
    bytes: usize,
    reserved: [u64; 2],
}

/// What a call needs beside its routine.
pub struct Prepared<'a> {
    /// One per parameter.
    pub arguments: Vec<Argument<'a>>,
    /// Where results go, for as many parameters.
    pub destinations: Vec<Destination<'a>>,
    /// Where strings and open files go when it is over.
    pub places: Places,
}

/// Where results go that are no arrays of the caller's.
#[derive(Default)]
pub struct Places {
    /// Strings.
    pub texts: Vec<TextPlace>,
    /// Open files.
    pub files: Vec<StreamPlace>,
}

impl Places {
    /// Fills them with a call's results.
    ///
    /// # Safety
    /// They may be written to, and files are open.
    pub unsafe fn fill(&self, outputs: &Outputs) -> Result<()> {
        // SAFETY: the caller's promise, here and below.
        self.texts.iter().try_for_each(|place| unsafe { place.fill(outputs) })?;
        // SAFETY: as above.
        self.files.iter().try_for_each(|place| unsafe { place.fill(outputs) })
    }
}

/// What the errors of a call do not know themselves: the routine, and the time that was over.
pub fn of_call(routine: &Routine, timeout: Option<Duration>) -> impl Fn(Error) -> Error {
    move |error| {
        let lacks = |error: &Error, fact: &str| error.context().iter().all(|(key, _)| key != fact);
        let error =
            if lacks(&error, "routine") { error.with("routine", routine.name()) } else { error };
        match timeout {
            Some(timeout) if error.kind() == ErrorKind::TimedOut && lacks(&error, "timeout") => {
                error.with("timeout", format!("{} s", timeout.as_secs_f64()))
            }
            _ => error,
        }
    }
}

/// Calls and waits.
///
/// # Safety
/// The places of strings may be written to.
pub unsafe fn call(
    routine: &Routine,
    prepared: Prepared<'_>,
    options: &CallOptions,
) -> Result<Outputs> {
    let outputs = routine.call_positional(prepared.arguments, prepared.destinations, options);
    let outputs = outputs.map_err(of_call(routine, options.timeout))?;
    // SAFETY: the caller's promise.
    unsafe { prepared.places.fill(&outputs) }?;
    Ok(outputs)
}

/// Starts a call.
///
/// # Safety
/// All memory that the arguments name is as farcall.h says until the call is over or freed.
pub unsafe fn start(
    client: &Client,
    routine: &Routine,
    prepared: Prepared<'_>,
    options: &CallOptions,
) -> Result<CallObject> {
    // SAFETY: the caller's promise.
    let pending =
        unsafe { routine.start_borrowed(prepared.arguments, prepared.destinations, options) };
    let pending = pending.map_err(of_call(routine, options.timeout))?;
    Ok(CallObject::new(client, routine, pending, options, prepared.places))
}

/// Takes up a call by its id: it, and what it calls.
///
/// # Safety
/// NULL, or options with their size.
pub unsafe fn fetch(
    client: &Client,
    id: CallId,
    given: *const RawOptions,
) -> Result<(CallObject, Routine)> {
    // SAFETY: the caller's promise.
    let options = unsafe { read_options(given) }?;
    let pending = client.fetch(id, &options)?;
    let routine = pending.routine();
    Ok((CallObject::new(client, &routine, pending, &options, Places::default()), routine))
}

/// The value of data that is fetched, as a call, and what that calls.
pub fn taken_up(pending: PendingCall, options: &CallOptions) -> (CallObject, Routine) {
    let routine = pending.routine();
    let client = routine.client().clone();
    (CallObject::new(&client, &routine, pending, options, Places::default()), routine)
}

impl CallObject {
    /// A result that stays at the server.
    pub fn data(&self, parameter: usize) -> Option<Data> {
        let pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        pending.data(parameter).cloned()
    }

    /// Its id, if it goes on without this program.
    pub fn id(&self) -> Option<CallId> {
        self.id
    }

    /// Waits until the server has said that it does.
    pub fn wait_kept(&self, timeout: Option<Duration>) -> Result<bool> {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        pending.wait_kept(timeout).map_err(of_call(&self.routine, self.timeout))
    }

    fn new(
        client: &Client,
        routine: &Routine,
        pending: PendingCall,
        options: &CallOptions,
        places: Places,
    ) -> CallObject {
        let number = pending.number();
        let timeout = options.timeout;
        let id = pending.id();
        let client = client.clone();
        let routine = routine.clone();
        let pending = Mutex::new(pending);
        CallObject { client, routine, number, timeout, id, pending, told: Mutex::new(None), places }
    }

    /// News as C has them; their text lies here until the next ones.
    fn tell(&self, news: News) -> RawNews {
        let raw = |kind| RawNews {
            kind,
            before: 0,
            done: 0.0,
            text: std::ptr::null(),
            bytes: 0,
            reserved: [0; 2],
        };
        let with_text = |raw: RawNews, text: Vec<u8>| {
            // A NUL behind it does no harm to those who know the length, and good to those who
            // print a word.
            let bytes = text.len();
            let text = [text.as_slice(), &[0]].concat().into_boxed_slice();
            let place = text.as_ptr();
            *self.told.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
            RawNews { text: place, bytes, ..raw }
        };
        match news {
            News::Queued(before) => RawNews { before, ..raw(news_kind::QUEUED) },
            News::Started => raw(news_kind::STARTED),
            News::Progress(done, word) => {
                with_text(RawNews { done, ..raw(news_kind::PROGRESS) }, word.into_bytes())
            }
            News::Stdout(bytes) => with_text(raw(news_kind::STDOUT), bytes),
            News::Stderr(bytes) => with_text(raw(news_kind::STDERR), bytes),
            News::Over => raw(news_kind::OVER),
            News::Kept => raw(news_kind::KEPT),
        }
    }
}

/// # Safety
/// As farcall.h says of `farcall_call_arguments`.
unsafe fn prepare<'a>(
    routine: &Routine,
    arguments: *const RawArgument,
    count: usize,
) -> Result<Prepared<'a>> {
    // SAFETY: the caller's promise, here and below.
    let arguments = unsafe { elements(arguments, count, "the arguments") }?;
    // SAFETY: as above.
    let read = unsafe { read_all(routine.interface(), arguments) };
    let (arguments, destinations) = read.map_err(of_call(routine, None))?;
    Ok(Prepared { arguments, destinations, places: Places::default() })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_call_arguments(
    routine: *const RoutineObject,
    arguments: *const RawArgument,
    count: usize,
    given: *const RawOptions,
    results: *mut *mut ResultsObject,
    error: *mut *mut ErrorObject,
) -> c_int {
    guard(error, || {
        // SAFETY: farcall.h says what all of them are, here and below.
        let place = unsafe { Place::optional(results) };
        // SAFETY: as above.
        let routine = &unsafe { object(routine, "the routine") }?.routine;
        // SAFETY: as above.
        let prepared = unsafe { prepare(routine, arguments, count) }?;
        // SAFETY: as above.
        let outputs = unsafe { call(routine, prepared, &read_options(given)?) }?;
        place.fill(ResultsObject::new(routine, outputs));
        Ok(OK)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_start_arguments(
    routine: *const RoutineObject,
    arguments: *const RawArgument,
    count: usize,
    given: *const RawOptions,
    started: *mut *mut CallObject,
    error: *mut *mut ErrorObject,
) -> c_int {
    guard(error, || {
        // SAFETY: farcall.h says what all of them are, here and below.
        let place = unsafe { Place::new(started, "the pointer for the call") }?;
        // SAFETY: as above.
        let routine = &unsafe { object(routine, "the routine") }?.routine;
        // SAFETY: as above.
        let prepared = unsafe { prepare(routine, arguments, count) }?;
        // SAFETY: as above.
        place.fill(unsafe { start(routine.client(), routine, prepared, &read_options(given)?) }?);
        Ok(OK)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_start_within(
    routine: *const RoutineObject,
    arguments: *const RawArgument,
    count: usize,
    given: *const RawOptions,
    wait_seconds: f64,
    started: *mut *mut CallObject,
    error: *mut *mut ErrorObject,
) -> c_int {
    guard(error, || {
        // SAFETY: farcall.h says what all of them are, here and below.
        let place = unsafe { Place::new(started, "the pointer for the call") }?;
        // SAFETY: as above.
        let routine = &unsafe { object(routine, "the routine") }?.routine;
        // SAFETY: as above.
        let Prepared { arguments, destinations, places } =
            unsafe { prepare(routine, arguments, count) }?;
        // SAFETY: as above.
        let options = unsafe { read_options(given) }?;
        let wait = patience(wait_seconds)?.unwrap_or(Duration::MAX);
        // SAFETY: as above.
        let started = unsafe { routine.start_within(arguments, destinations, &options, wait) };
        let Some(pending) = started.map_err(of_call(routine, options.timeout))? else {
            return Ok(PENDING);
        };
        place.fill(CallObject::new(routine.client(), routine, pending, &options, places));
        Ok(OK)
    })
}

/// Gives the call's outcome if it is over.
///
/// # Safety
/// As farcall.h says of `farcall_call_wait`.
unsafe fn collect(
    call: *const CallObject,
    patience: Option<Duration>,
    results: *mut *mut ResultsObject,
) -> Result<c_int> {
    // SAFETY: the caller's promise, here and below.
    let place = unsafe { Place::optional(results) };
    // SAFETY: as above.
    let call = unsafe { object(call, "the call") }?;
    let mut pending = call.pending.lock().unwrap_or_else(PoisonError::into_inner);
    let outputs = match patience {
        Some(Duration::ZERO) => pending.poll(),
        // More than a clock can tell is for ever.
        patience => pending.wait_for(patience.unwrap_or(Duration::MAX)),
    };
    let Some(outputs) = outputs.map_err(of_call(&call.routine, call.timeout))? else {
        return Ok(PENDING);
    };
    // SAFETY: as above.
    unsafe { call.places.fill(&outputs) }?;
    place.fill(ResultsObject::new(&call.routine, outputs));
    Ok(OK)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_call_wait(
    call: *const CallObject,
    timeout_seconds: f64,
    results: *mut *mut ResultsObject,
    error: *mut *mut ErrorObject,
) -> c_int {
    // SAFETY: farcall.h says what all of them are.
    guard(error, || unsafe { collect(call, patience(timeout_seconds)?, results) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_call_poll(
    call: *const CallObject,
    results: *mut *mut ResultsObject,
    error: *mut *mut ErrorObject,
) -> c_int {
    // SAFETY: farcall.h says what all of them are.
    guard(error, || unsafe { collect(call, Some(Duration::ZERO), results) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_call_news(
    call: *const CallObject,
    timeout_seconds: f64,
    news: *mut RawNews,
    error: *mut *mut ErrorObject,
) -> c_int {
    guard(error, || {
        // SAFETY: farcall.h: a call, here and below.
        let call = unsafe { object(call, "the call") }?;
        if news.is_null() {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                "wait for news of a call",
                "the pointer for the news is NULL",
            ));
        }
        let mut pending = call.pending.lock().unwrap_or_else(PoisonError::into_inner);
        let next = pending
            .next_news(patience(timeout_seconds)?)
            .map_err(of_call(&call.routine, call.timeout))?;
        let Some(next) = next else { return Ok(PENDING) };
        // SAFETY: not NULL, so it may be written to.
        unsafe { news.write(call.tell(next)) };
        Ok(OK)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_call_free(call: *mut CallObject) {
    // SAFETY: farcall.h: NULL or a call that the caller gives up.
    unsafe { free(call) }
}
