//! Attributes of handles and of sessions: what may be asked for beside the routine and its server.

mod lines;
pub mod members;

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use farcall_c::allocated;
use farcall_client::Resources;
use farcall_configuration::config::{ArgumentTransfer as Configured, FunctionInfo, Server};
use rustc_hash::FxHashMap;

use crate::code::{Failure, Outcome};
use crate::held::Start;
use crate::numbers::grpc_session_attr_name::{
    self as session_attribute, SESSION_TIMEOUT, TRANSFER_TIMEOUT_CALLBACK_RESULT,
};
use crate::numbers::{grpc_argument_transfer, grpc_handle_attr_name};
use crate::pointers::{RawHandle, missing};
use crate::transfers::Limits;

/// When a call that is started returns (`grpc_argument_transfer_t_np`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(i32)]
pub enum ArgumentTransfer {
    /// When its arguments have left.
    #[default]
    Wait = grpc_argument_transfer::WAIT,
    /// At once: arrays stay as they are until it has ended.
    Nowait = grpc_argument_transfer::NOWAIT,
    /// At once, with copies of its arrays.
    Copy = grpc_argument_transfer::COPY,
}

impl From<Configured> for ArgumentTransfer {
    fn from(configured: Configured) -> Self {
        match configured {
            Configured::Wait => ArgumentTransfer::Wait,
            Configured::NoWait => ArgumentTransfer::Nowait,
            Configured::Copy => ArgumentTransfer::Copy,
        }
    }
}

impl ArgumentTransfer {
    fn of(number: i32) -> Outcome<ArgumentTransfer> {
        match number {
            grpc_argument_transfer::WAIT => Ok(ArgumentTransfer::Wait),
            grpc_argument_transfer::NOWAIT => Ok(ArgumentTransfer::Nowait),
            grpc_argument_transfer::COPY => Ok(ArgumentTransfer::Copy),
            _ => Err(Failure::other(format!("{number} is not a GRPC_ARGUMENT_TRANSFER_…"))),
        }
    }
}

/// What was asked for with a handle. Jobmanager, subject and queue are kept for whoever asks for
/// them.
#[derive(Clone, Debug)]
pub struct HandleAttributes {
    pub host: Option<String>,
    pub port: i32,
    job_manager: Option<String>,
    subject: Option<String>,
    pub function: Option<String>,
    pub start_timeout: i32,
    pub stop_timeout: i32,
    pub transfer: ArgumentTransfer,
    queue: Option<String>,
    processors: i32,
    /// What each of its processes is given.
    resources: Option<String>,
    /// Of its sessions, as SessionAttributes has them.
    seconds: [i32; 5],
}

impl Default for HandleAttributes {
    fn default() -> Self {
        HandleAttributes {
            host: None,
            port: 0,
            job_manager: None,
            subject: None,
            function: None,
            start_timeout: 0,
            stop_timeout: -1,
            transfer: ArgumentTransfer::Wait,
            queue: None,
            processors: 0,
            resources: None,
            seconds: [0; 5],
        }
    }
}

impl HandleAttributes {
    /// Those of a handle that is made without any.
    pub fn of(host: Option<String>, function: &str) -> HandleAttributes {
        HandleAttributes {
            host,
            function: Some(function.to_owned()),
            ..HandleAttributes::default()
        }
    }

    /// Completed by what the configuration says of the server and the function, where nothing else
    /// was asked for.
    pub fn completed(
        &self,
        server: Option<&Server>,
        function: Option<&FunctionInfo>,
    ) -> HandleAttributes {
        let mut all = self.clone();
        if let Some(server) = server {
            all.host.get_or_insert_with(|| server.hostname.clone());
            if all.start_timeout == 0 {
                all.start_timeout = seconds(server.start_timeout);
            }
            if all.stop_timeout == -1 {
                all.stop_timeout = server.stop_timeout.map_or(-1, |limit| seconds(Some(limit)));
            }
            if all.transfer == ArgumentTransfer::Wait {
                all.transfer = server.transfer.into();
            }
            if all.processors <= 0 {
                let ranks = server.ranks_of(all.function.as_deref().unwrap_or(""));
                all.processors = i32::try_from(ranks).unwrap_or(i32::MAX);
            }
        }
        if let Some(function) = function {
            all.seconds = [
                function.session_timeout,
                function.argument_timeout,
                function.result_timeout,
                function.callback_argument_timeout,
                function.callback_result_timeout,
            ]
            .map(seconds);
        }
        all
    }

    /// Processes that MPI is to start for it; 0 to leave that to the server.
    pub fn ranks(&self) -> u32 {
        u32::try_from(self.processors).unwrap_or(0)
    }

    /// How its processes are to start.
    pub fn start(&self) -> Start {
        Start { limit: self.start_limit(), ranks: self.ranks(), resources: self.resources() }
    }

    /// What each of its processes is given.
    pub fn resources(&self) -> Resources {
        // What cannot be read was refused.
        self.resources.as_deref().and_then(|text| text.parse().ok()).unwrap_or_default()
    }

    /// Time that a handle's process has to end.
    pub fn stop_limit(&self) -> Option<Duration> {
        u64::try_from(self.stop_timeout).ok().map(Duration::from_secs)
    }

    /// Time that a handle has to become ready.
    pub fn start_limit(&self) -> Option<Duration> {
        limit(self.start_timeout)
    }
}

/// What was asked for with a session.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SessionAttributes {
    pub transfer: ArgumentTransfer,
    /// Seconds for the session, for its arguments, its results, and those of its callbacks; 0: no
    /// limit.
    seconds: [i32; 5],
}

impl SessionAttributes {
    pub fn of_handle(attributes: &HandleAttributes) -> SessionAttributes {
        SessionAttributes { transfer: attributes.transfer, seconds: attributes.seconds }
    }

    /// Time for the session.
    pub fn timeout(&self) -> Option<Duration> {
        limit(self.seconds[0])
    }

    /// Times for what moves.
    pub fn limits(&self) -> Limits {
        let [_, arguments, results, callback_arguments, callback_results] = self.seconds.map(limit);
        Limits { arguments, results, callback_arguments, callback_results }
    }
}

/// Whole seconds, rounded up; 0 for no limit.
fn seconds(limit: Option<Duration>) -> i32 {
    limit.map_or(0, |limit| i32::try_from(limit.as_millis().div_ceil(1000)).unwrap_or(i32::MAX))
}

fn limit(seconds: i32) -> Option<Duration> {
    u64::try_from(seconds).ok().filter(|seconds| *seconds > 0).map(Duration::from_secs)
}

/// All attributes that a program has initialised, by number.
pub struct Attributes<T> {
    known: Mutex<FxHashMap<u64, T>>,
    what: &'static str,
}

/// As numbers of handles: far from what memory holds by chance.
static NEXT: AtomicU64 = AtomicU64::new(0xfa2c_a117_0000_0001);

impl<T: Clone> Attributes<T> {
    pub fn new(what: &'static str) -> Attributes<T> {
        Attributes { known: Mutex::default(), what }
    }

    fn lock(&self) -> MutexGuard<'_, FxHashMap<u64, T>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn add(&self, attributes: T) -> RawHandle {
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        self.lock().insert(id, attributes);
        RawHandle::new(id)
    }

    fn unknown(&self) -> Failure {
        Failure::other(format!(
            "these are not attributes of a {}: initialize them first",
            self.what
        ))
    }

    /// # Safety
    /// NULL, or a struct of the caller's, here and below.
    pub unsafe fn find(&self, raw: *const RawHandle) -> Outcome<T> {
        // SAFETY: the caller's promise; its words may be anything.
        let id = unsafe { raw.as_ref() }.map(|raw| raw.id);
        id.and_then(|id| self.lock().get(&id).cloned()).ok_or_else(|| self.unknown())
    }

    pub unsafe fn change(
        &self,
        raw: *const RawHandle,
        change: impl FnOnce(&mut T) -> Outcome<()>,
    ) -> Outcome<()> {
        // SAFETY: the caller's promise.
        let id = unsafe { raw.as_ref() }.map(|raw| raw.id);
        let mut known = self.lock();
        change(id.and_then(|id| known.get_mut(&id)).ok_or_else(|| self.unknown())?)
    }

    pub unsafe fn remove(&self, raw: *const RawHandle) -> Outcome<()> {
        // SAFETY: the caller's promise.
        let id = unsafe { raw.as_ref() }.map(|raw| raw.id);
        id.and_then(|id| self.lock().remove(&id)).map(drop).ok_or_else(|| self.unknown())
    }
}

/// The value of one attribute.
pub enum Value<'a> {
    Text(&'a mut Option<String>),
    Number(&'a mut i32),
    Transfer(&'a mut ArgumentTransfer),
    /// Text that says what processes are given.
    Resources(&'a mut Option<String>),
}

impl HandleAttributes {
    pub fn value(&mut self, name: u32) -> Outcome<Value<'_>> {
        Ok(match name {
            grpc_handle_attr_name::HOSTNAME => Value::Text(&mut self.host),
            grpc_handle_attr_name::PORT => Value::Number(&mut self.port),
            grpc_handle_attr_name::JOBMANAGER => Value::Text(&mut self.job_manager),
            grpc_handle_attr_name::SUBJECT => Value::Text(&mut self.subject),
            grpc_handle_attr_name::FUNCNAME => Value::Text(&mut self.function),
            grpc_handle_attr_name::JOBSTARTTIMEOUT => Value::Number(&mut self.start_timeout),
            grpc_handle_attr_name::JOBSTOPTIMEOUT => Value::Number(&mut self.stop_timeout),
            grpc_handle_attr_name::WAIT_ARG_TRANSFER => Value::Transfer(&mut self.transfer),
            grpc_handle_attr_name::QUEUENAME => Value::Text(&mut self.queue),
            grpc_handle_attr_name::MPI_NCPUS => Value::Number(&mut self.processors),
            grpc_handle_attr_name::RESOURCES => Value::Resources(&mut self.resources),
            _ => return Err(Failure::other(format!("{name} is not a GRPC_HANDLE_ATTR_…"))),
        })
    }
}

impl SessionAttributes {
    pub fn value(&mut self, name: u32) -> Outcome<Value<'_>> {
        Ok(match name {
            session_attribute::WAIT_ARG_TRANSFER => Value::Transfer(&mut self.transfer),
            SESSION_TIMEOUT..=TRANSFER_TIMEOUT_CALLBACK_RESULT => {
                Value::Number(&mut self.seconds[(name - SESSION_TIMEOUT) as usize])
            }
            _ => return Err(Failure::other(format!("{name} is not a GRPC_SESSION_ATTR_…"))),
        })
    }
}

impl Value<'_> {
    /// A copy that the caller frees; NULL for text that is not set.
    pub fn copy(self) -> Outcome<*mut c_void> {
        let copied = match self {
            Value::Text(None) | Value::Resources(None) => return Ok(std::ptr::null_mut()),
            Value::Text(Some(text)) | Value::Resources(Some(text)) => allocated(text.as_bytes()),
            Value::Number(number) => allocated(&number.to_ne_bytes()),
            Value::Transfer(transfer) => allocated(&(*transfer as i32).to_ne_bytes()),
        };
        Ok(copied?.cast())
    }

    /// # Safety
    /// NULL, or what the attribute's name asks for.
    pub unsafe fn set(self, given: *const c_void) -> Outcome<()> {
        if given.is_null() {
            return Err(missing("the attribute's value"));
        }
        // SAFETY: not NULL, so it is what the name asks for, here and below.
        let number = || unsafe { given.cast::<i32>().read_unaligned() };
        match self {
            // SAFETY: as above.
            Value::Text(text) => *text = Some(unsafe { text_of(given) }?),
            Value::Resources(text) => {
                // SAFETY: as above.
                let read = unsafe { text_of(given) }?;
                let checked = read.parse::<Resources>();
                checked.map_err(|error| Failure::other(error.to_string()))?;
                *text = Some(read);
            }
            Value::Number(place) => *place = number(),
            Value::Transfer(transfer) => *transfer = ArgumentTransfer::of(number())?,
        }
        Ok(())
    }
}

/// # Safety
/// NUL-terminated text.
unsafe fn text_of(given: *const c_void) -> Outcome<String> {
    // SAFETY: the caller's promise.
    let given = unsafe { CStr::from_ptr(given.cast::<c_char>()) };
    let read = given.to_str();
    read.map(str::to_owned).map_err(|_| Failure::other("the attribute's text is not UTF-8"))
}
