//! Calls: arguments are asked for one by one, as the interface says, and the call is made or
//! started.

use std::ffi::c_int;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::{Duration, Instant};

use farcall_base::abi::element;
use farcall_base::abi::tag::POINTER;
use farcall_c::{Form, Prepared, TaggedValue, check_count, prepare};
use farcall_client::idl::interface::{ElementType, Interface, Mode, Parameter, Shape};
use farcall_client::{
    Argument, CallOptions, Destination, Error, News, Outputs, PendingCall, Resources, Routine,
};
use smallvec::SmallVec;

use crate::attributes::{ArgumentTransfer, SessionAttributes};
use crate::code::{Code, Failure, Outcome};
use crate::connecting::Connection;
use crate::context::Context;
use crate::fortran::make_procedures;
use crate::handles::{Handle, Process};
use crate::information::{Began, MeasuredCall};
use crate::log;
use crate::own::Turn;
use crate::pointers::RawHandle;
use crate::printing::{Passed, pass_on, printing};
use crate::sessions::{Beginning, Running};
use crate::transfers::{LOOK, Limits, Watch};
use crate::within;

/// How often it is looked whether arguments have left that did not at once.
const SENDING: Duration = Duration::from_millis(1);

/// More arguments than most calls have.
const FEW: usize = 8;

/// Tags of numbers that have more than one byte.
const WIDE_NUMBERS: RangeInclusive<u32> = element::INT16..=element::COMPLEX128;

/// A call in the making.
pub struct Wanted<'a> {
    pub context: Arc<Context>,
    pub handle: Arc<Handle>,
    /// The caller's own struct of it.
    pub given: *mut RawHandle,
    /// Of an object; none of a function.
    pub method: Option<&'a str>,
    pub attributes: Option<SessionAttributes>,
    /// How many arguments there are, where that is known.
    pub count: Option<usize>,
    /// Whether the configuration may have scalars passed by address.
    pub by_address: bool,
    /// Ninf's own rules: a `long` has 32 bits, and it is told whether arguments or results were
    /// lost.
    pub classic: bool,
    /// Functions that are passed are Fortran procedures.
    pub fortran: bool,
}

/// What a call needs beside its arguments.
struct Bound<'w> {
    wanted: &'w Wanted<'w>,
    handle: &'w Arc<Handle>,
    routine: Routine,
    connection: Arc<Connection>,
    attributes: SessionAttributes,
    options: CallOptions,
    /// With the handle's own process.
    turn: Option<Turn>,
}

impl<'w> Bound<'w> {
    fn new(wanted: &'w Wanted<'w>, announced: bool) -> Outcome<Bound<'w>> {
        let handle = &wanted.handle;
        let (routine, connection) =
            handle.routine(wanted.method).map_err(|failure| handle.noted(failure))?;
        let attributes =
            wanted.attributes.unwrap_or_else(|| SessionAttributes::of_handle(&handle.attributes));
        let timeout = attributes.timeout();
        let output = connection.prints;
        let (on, turn) = handle.take(&connection).map_err(|failure| handle.noted(failure))?;
        let copied = announced && attributes.transfer == ArgumentTransfer::Copy;
        // What of it `grpc_session_info_get_np` tells.
        let processor_time = announced;
        // The first session of a handle may have to wait for its process.
        let progress = announced && !handle.is_warm();
        let ranks = handle.attributes.ranks();
        // A process that is held was given them when it began.
        let resources = handle.attributes.resources();
        let resources = if on.is_some() { Resources::default() } else { resources };
        let options = CallOptions {
            timeout,
            announced,
            progress,
            output,
            processor_time,
            on,
            copied,
            ranks,
            resources,
            ..CallOptions::default()
        };
        Ok(Bound { wanted, handle, routine, connection, attributes, options, turn })
    }

    /// Asks for the arguments.
    ///
    /// # Safety
    /// What comes is as the interface says, through `'a`.
    unsafe fn prepare<'a>(
        &self,
        mut next: impl FnMut(u32) -> TaggedValue,
    ) -> Outcome<Prepared<'a>> {
        let Wanted { count, classic, fortran, .. } = *self.wanted;
        let interface = self.routine.interface();
        let form = Form::of(&self.routine).map_err(|error| self.failed(error))?;
        let is_exact = count == Some(form.passed);
        let has_places = !is_exact && has_places_for_work(interface, count);
        if let Some(count) = count.filter(|_| !is_exact && !has_places) {
            check_given(self.handle, interface, count).map_err(|error| self.failed(error))?;
        }
        // IN scalars go by address then, as Fortran passes them.
        let by_address = self.wanted.by_address && self.wanted.context.servers.fortran_compatible();
        let mut values = SmallVec::<[TaggedValue; FEW]>::new();
        for (parameter, tag) in interface.parameters.iter().zip(&form.tags) {
            let Some(tag) = *tag else {
                // Nothing is in it: the array exists on the server alone.
                let _place = (has_places && is_work_array(parameter)).then(|| next(POINTER));
                continue;
            };
            values.push(if by_address {
                // SAFETY: the caller's promise: where scalars go by address, this is one's.
                unsafe { TaggedValue::at(tag, next(POINTER).pointer()) }
            } else if classic && !parameter.wide {
                next(tag).narrowed(tag)
            } else {
                next(tag)
            });
        }
        // SAFETY: the caller's promise.
        let mut prepared =
            unsafe { prepare(&self.routine, &values) }.map_err(|error| self.failed(error))?;
        if fortran {
            // SAFETY: as above: procedures.
            unsafe { make_procedures(interface, &values, &mut prepared.arguments) };
        }
        for (parameter, argument) in interface.parameters.iter().zip(&mut prepared.arguments) {
            // A number is what it is, and most arguments of small calls are numbers.
            if !matches!(argument, Argument::Real(_) | Argument::Integer(_) | Argument::Unset) {
                // SAFETY: as above.
                unsafe { adapt(parameter, argument) };
            }
        }
        if let Some(object) = self.options.on {
            within::belong(&mut prepared.arguments, object);
        }
        Ok(prepared)
    }

    fn failed(&self, error: farcall_client::Error) -> Failure {
        self.handle.server.note(&self.connection, &error);
        self.handle.failed(error)
    }

    /// Starts a session's call.
    ///
    /// # Safety
    /// As for [`Routine::start_borrowed`].
    unsafe fn start(
        &self,
        arguments: Vec<Argument<'_>>,
        destinations: Vec<Destination<'_>>,
    ) -> farcall_client::Result<PendingCall> {
        if self.attributes.transfer == ArgumentTransfer::Wait {
            // SAFETY: the caller's promise, here and below.
            return unsafe { self.routine.start_borrowed(arguments, destinations, &self.options) };
        }
        // SAFETY: as above.
        unsafe { self.open(arguments, destinations) }?.ok_or_else(never_started)
    }

    /// Starts a call. What does not leave at once leaves while somebody waits for it.
    ///
    /// # Safety
    /// As for [`Routine::start_borrowed`].
    unsafe fn open(
        &self,
        arguments: Vec<Argument<'_>>,
        destinations: Vec<Destination<'_>>,
    ) -> farcall_client::Result<Option<PendingCall>> {
        // SAFETY: the caller's promise.
        unsafe { self.routine.start_within(arguments, destinations, &self.options, Duration::MAX) }
    }

    /// Waits until the arguments have left, or the call is over; not where they need not have left.
    /// False when they have not, and never will.
    fn see_off(&self, pending: &mut PendingCall, watch: Option<&mut Watch>) -> Outcome<bool> {
        if self.attributes.transfer != ArgumentTransfer::Wait {
            return Ok(true);
        }
        let mut watch = watch;
        loop {
            let transfer = pending.transfer();
            if transfer.sent >= transfer.to_send {
                return Ok(true);
            }
            if let Some(words) = watch.as_mut().and_then(|watch| watch.late(pending)) {
                return Err(self.too_late(words));
            }
            if matches!(pending.next_news(Some(SENDING)), Ok(Some(News::Over)) | Err(_)) {
                return Ok(false);
            }
        }
    }
}

#[cold]
fn never_started() -> Error {
    Error::internal("start a call", "the wait for a free place ended early")
}

/// What GridRPC has otherwise than the native call.
///
/// # Safety
/// An argument as the parameter says.
#[inline]
unsafe fn adapt(parameter: &Parameter, argument: &mut Argument<'_>) {
    match argument {
        // Where an array of numbers begins as a URL does, the server is to fetch it from there.
        // Characters may be a URL that the routine itself is to have.
        Argument::Array(view)
            if parameter.mode.is_input()
                && WIDE_NUMBERS.contains(&parameter.element.abi_number()) =>
        {
            // SAFETY: the caller's promise: an array of numbers, or a text.
            unsafe { view.or_url() };
        }
        // Its texts stay until the program frees them, as with the reference.
        Argument::Callback(function) => function.own_texts(),
        _ if parameter.element == ElementType::Filename => empty_file(parameter, argument),
        _ => {}
    }
}

/// A file without a name is an empty one, and one that nobody keeps: the reference has it so.
fn empty_file(parameter: &Parameter, argument: &mut Argument<'_>) {
    match argument {
        Argument::Text(name) if name.is_empty() && parameter.mode.is_input() => {
            *argument = Argument::Raw(Vec::new());
        }
        Argument::Text(name) if name.is_empty() => *argument = Argument::Unset,
        Argument::Texts(names) if !parameter.mode.is_output() => {
            let empty = names.iter_mut().flatten().filter(|name| name.is_empty());
            empty.for_each(|name| *name = b"/dev/null".to_vec());
        }
        _ => {}
    }
}

impl Bound<'_> {
    fn too_late(&self, words: String) -> Failure {
        self.handle.noted(Failure::new(Code::Timeout, format!("{}: {words}", self.handle.name)))
    }

    /// Waits for the end of a call, prints what its routine prints, and looks after its times.
    fn finish(&self, pending: &mut PendingCall, watch: Option<Watch>) -> Outcome<Outputs> {
        let failed = |error| self.failed(error);
        let Some(mut watch) = watch else {
            return if self.options.output { printing(pending) } else { pending.wait_in_place() }
                .map_err(failed);
        };
        loop {
            let outcome = if self.options.output {
                let passed = pass_on(pending, Some(LOOK)).map_err(failed)?;
                if passed != Passed::Nothing { Ok(None) } else { pending.wait_for(Duration::ZERO) }
            } else {
                pending.wait_for(LOOK)
            };
            if let Some(outputs) = outcome.map_err(failed)? {
                return Ok(outputs);
            }
            if let Some(words) = watch.late(pending) {
                return Err(self.too_late(words));
            }
        }
    }
}

/// Refuses too few arguments. Nobody looks at more than enough of them, as with the references, but
/// that is said once of a handle.
pub fn check_given(handle: &Handle, interface: &Interface, given: usize) -> Result<(), Error> {
    let Err(error) = check_count(interface, given) else { return Ok(()) };
    if given < interface.caller_parameters().count() {
        return Err(error);
    }
    if handle.is_first_surplus() {
        log::warn_once(&format!("{}; the rest has no effect", error.message()));
    }
    Ok(())
}

fn is_work_array(parameter: &Parameter) -> bool {
    parameter.mode == Mode::Work && matches!(parameter.shape, Shape::Array { .. })
}

/// Whether WORK arrays have a place among the arguments, as in Ninf-G; the number of arguments
/// tells.
fn has_places_for_work(interface: &Interface, count: Option<usize>) -> bool {
    let places = interface.parameters.iter().filter(|parameter| is_work_array(parameter)).count();
    places > 0 && count.is_none_or(|count| count == interface.caller_parameters().count() + places)
}

/// Calls and waits for the end.
///
/// # Safety
/// Arguments as the interface says until this returns.
pub unsafe fn call(wanted: &Wanted<'_>, next: impl FnMut(u32) -> TaggedValue) -> Outcome<()> {
    let begun = Instant::now();
    let mut bound = Bound::new(wanted, false)?;
    // SAFETY: the caller's promise, here and below.
    let Prepared { arguments, destinations, places } = unsafe { bound.prepare(next) }?;
    // SAFETY: as above.
    let started = unsafe { bound.open(arguments, destinations) };
    // In place: a call is large.
    let mut started = started.map_err(|error| bound.failed(error).in_sending(true))?;
    let pending = started.as_mut().ok_or_else(|| bound.failed(never_started()))?;
    let number = pending.number();
    let name = &bound.handle.name;
    bound.connection.log.write(|| format!("call {number} of {name} begins"));
    let measured = MeasuredCall::begun(begun);
    let mut known = wanted.context.sessions.enter(&bound.connection, number, measured)?;
    let mut watch = bound.attributes.limits().watch(begun);
    let sent = !wanted.classic || bound.see_off(pending, watch.as_mut())?;
    let outcome = bound.finish(pending, watch);
    if outcome.is_err() {
        // It may have run.
        bound.turn.iter_mut().for_each(Turn::fail);
    }
    let words = || {
        outcome.as_ref().err().map_or_else(|| "well".to_owned(), |failure| failure.words.clone())
    };
    bound.connection.log.write(|| format!("call {number} ends: {}", words()));
    // In place: outputs are large.
    let outputs = match &outcome {
        Ok(outputs) => outputs,
        Err(_) => return outcome.map(|_| ()).map_err(|failure| failure.in_sending(!sent)),
    };
    known.measured.ended(bound.handle.binding, bound.routine.interface(), outputs.times());
    known.server = outputs.server_name();
    // SAFETY: as above.
    unsafe { places.fill(outputs) }.map_err(|error| bound.failed(error))
}

/// A call whose arguments are known, for code that makes it another way.
pub struct Laid<'a> {
    pub routine: Routine,
    pub connection: Arc<Connection>,
    pub arguments: Vec<Argument<'a>>,
}

/// Asks for the arguments of a call and does not make it. `None` for one that has limits, a process
/// of its own, or results that are neither arrays nor numbers.
///
/// # Safety
/// Arguments as the interface says, through `'a`.
pub unsafe fn lay<'a>(
    wanted: &Wanted<'_>,
    next: impl FnMut(u32) -> TaggedValue,
) -> Outcome<Option<Laid<'a>>> {
    if !matches!(wanted.handle.process, Process::Shared) {
        return Ok(None);
    }
    let bound = Bound::new(wanted, false)?;
    let CallOptions { timeout, ranks, resources, output, .. } = &bound.options;
    let has_limits = timeout.is_some() || bound.attributes.limits() != Limits::default();
    if has_limits || *ranks > 0 || !resources.is_empty() || *output {
        return Ok(None);
    }
    // SAFETY: the caller's promise.
    let Prepared { arguments, places, .. } = unsafe { bound.prepare(next) }?;
    let Bound { routine, connection, .. } = bound;
    let is_plain = places.texts.is_empty() && places.files.is_empty();
    Ok(is_plain.then_some(Laid { routine, connection, arguments }))
}

/// Starts a session: its number.
///
/// # Safety
/// Arguments as the interface says until the session has ended.
pub unsafe fn start(wanted: &Wanted<'_>, next: impl FnMut(u32) -> TaggedValue) -> Outcome<c_int> {
    let began = Began::now();
    let bound = Bound::new(wanted, true)?;
    // SAFETY: the caller's promise, here and below.
    let Prepared { arguments, destinations, places } = unsafe { bound.prepare(next) }?;
    let deadline = bound.options.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    // SAFETY: as above.
    let pending = unsafe { bound.start(arguments, destinations) };
    let mut pending = pending.map_err(|error| bound.failed(error).in_sending(true))?;
    let mut watch = bound.attributes.limits().watch(began.real);
    let sent = bound.see_off(&mut pending, watch.as_mut())?;
    let transfer = pending.transfer();
    bound.connection.log.write(|| {
        let number = pending.number();
        let name = &bound.handle.name;
        format!(
            "call {number} of {name} begins: {} of {} bytes of arguments were sent",
            transfer.sent, transfer.to_send
        )
    });
    let measured = began.sent(bound.handle.binding, bound.routine.interface());
    let is_function = |parameter: &Parameter| matches!(parameter.shape, Shape::Callback { .. });
    let calls_back = bound.routine.interface().parameters.iter().any(is_function);
    let routine = if bound.options.progress { Beginning::Awaited } else { Beginning::Untold };
    let handle = bound.handle.clone();
    let Bound { connection, turn, .. } = bound;
    let number = pending.number();
    let given = wanted.given;
    let pending = Some(pending);
    let begun = began.real;
    wanted.context.sessions.add(Running {
        pending,
        places,
        handle,
        given,
        connection,
        number,
        deadline,
        begun,
        measured,
        sent,
        turn,
        watch,
        calls_back,
        again: false,
        routine,
    })
}
