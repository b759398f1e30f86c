//! Calls of entries, stubs and executables.

use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

use farcall_c::{TaggedValue, passing};
use farcall_client::idl::interface::Shape;

use crate::calling::{Wanted, call, check_given, start};
use crate::code::{Failure, Outcome};
use crate::fortran::RawFortran;
use crate::handles::Handle;
use crate::held::Held;
use crate::pointers::{place, text};

use super::any::Any;
use super::failure::{OK, enter, enter_or};
use super::groups::Group;
use super::lookup::write_types;
use super::transactions::{self, Recorded};
use super::{lock, ninf};

/// `Ninf_stub_t` and `Ninf_executable_t`: a function that was looked up.
pub struct Stub {
    handle: Arc<Handle>,
}

/// A call in the making.
pub(super) struct Made {
    pub handle: Arc<Handle>,
    /// How many arguments there are, where that is known.
    pub count: Option<usize>,
    pub starts: bool,
    /// Functions that are passed are Fortran procedures.
    pub fortran: bool,
}

impl Made {
    /// Makes it, starts it and gives its session, or writes it down where a transaction is under
    /// way.
    ///
    /// # Safety
    /// Arguments as the interface says, until the call is over.
    pub unsafe fn act(&self, mut next: impl FnMut(u32) -> TaggedValue) -> Outcome<c_int> {
        // That is a rule of GridRPC.
        self.handle.forgive();
        if transactions::is_under_way() {
            let interface = self.handle.routine(None)?.0.interface().clone();
            let given = |count| check_given(&self.handle, &interface, count);
            self.count.map_or(Ok(()), given)?;
            let values = interface
                .caller_parameters()
                .map(|(_, parameter)| {
                    let tag = passing(parameter);
                    if parameter.wide { next(tag) } else { next(tag).narrowed(tag) }
                })
                .collect();
            // SAFETY: the caller's promise; ninf.h has arguments stay until the transaction's end.
            unsafe { transactions::record(Recorded { handle: self.handle.clone(), values }) }?;
            return Ok(OK);
        }
        let context = ninf().context()?;
        let handle = self.handle.clone();
        let count = self.count;
        let fortran = self.fortran;
        let given = std::ptr::null_mut();
        let wanted = Wanted {
            context,
            handle,
            given,
            method: None,
            attributes: None,
            count,
            by_address: false,
            classic: true,
            fortran,
        };
        // SAFETY: the caller's promise, here and below.
        unsafe { if self.starts { start(&wanted, next) } else { call(&wanted, next).map(|()| OK) } }
    }
}

/// What a variadic entry wants: `struct ninf_request` of variadic_ninf.c.
#[repr(C)]
pub struct RawRequest {
    name: *const c_char,
    /// Below 0: not known.
    count: c_int,
    asynchronous: c_int,
    entry: *const c_char,
    program: *const c_char,
    stub: *const Stub,
    executable: *const Stub,
    group: *const Group,
    fetch: unsafe extern "C" fn(tag: u32, arguments: *mut c_void, value: *mut TaggedValue),
    arguments: *mut c_void,
}

impl RawRequest {
    /// # Safety
    /// One of what can be called, or all NULL.
    unsafe fn handle(&self, group: Option<&Group>) -> Outcome<Arc<Handle>> {
        if !self.stub.is_null() {
            return of_stub(self.stub);
        }
        if !self.executable.is_null() {
            return Ok(ninf().executables.find(self.executable, "the executable")?.handle.clone());
        }
        if let Some(group) = group {
            return Ok(group.next());
        }
        if !self.program.is_null() {
            // SAFETY: the caller's promise, here and below.
            return ninf().program(unsafe { text(self.program, "the program") }?);
        }
        // SAFETY: as above.
        ninf().handle(unsafe { text(self.entry, "what is to be called") }?)
    }

    /// # Safety
    /// As ninf.h says of the entry.
    unsafe fn act(&self) -> Outcome<c_int> {
        let count = usize::try_from(self.count).ok();
        let group = (!self.group.is_null())
            .then(|| ninf().groups.find(self.group, "the group"))
            .transpose()?;
        // SAFETY: the caller's promise, here and below.
        let handle = unsafe { self.handle(group.as_deref()) }?;
        let made = Made { handle, count, starts: self.asynchronous != 0, fortran: false };
        let next = |tag| {
            let mut value = TaggedValue::of_pointer(std::ptr::null_mut());
            // SAFETY: as above.
            unsafe { (self.fetch)(tag, self.arguments, &mut value) };
            value
        };
        // SAFETY: as above; ninf.h has arguments stay until the group's end.
        let session = unsafe {
            match &group {
                Some(group) => group.start(&made, next),
                None => made.act(next),
            }
        }?;
        if made.starts && !self.executable.is_null() {
            lock(&ninf().started).insert(session, self.executable as usize);
        }
        Ok(session)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ninf_request(request: *const RawRequest) -> c_int {
    // SAFETY: variadic_ninf.c: a request with the entry's name, here and below.
    let Some(request) = (unsafe { request.as_ref() }) else { return super::failure::ERROR };
    // SAFETY: as above.
    let name = unsafe { text(request.name, "the entry's name") }.unwrap_or("Ninf_call");
    // SAFETY: as above.
    enter_call(name, || unsafe { request.act() })
}

/// Runs an entry that makes a call, or writes it down.
pub fn enter_call(name: &str, body: impl FnOnce() -> Outcome<c_int>) -> c_int {
    enter(name, || body().inspect_err(transactions::miss))
}

/// Makes a call with these values.
///
/// # Safety
/// As many as the function has parameters, each as the interface says.
pub unsafe fn call_values(handle: Arc<Handle>, values: &[TaggedValue]) -> Outcome<c_int> {
    let mut values = values.iter();
    let next =
        |_| values.next().copied().unwrap_or_else(|| TaggedValue::of_pointer(std::ptr::null_mut()));
    // SAFETY: the caller's promise.
    unsafe { Made { handle, count: None, starts: false, fortran: false }.act(next) }
}

/// Makes or starts the call of a FORTRAN program.
///
/// # Safety
/// Arguments as the interface says, until the call is over.
pub unsafe fn call_fortran(entry: &str, request: &RawFortran) -> Outcome<c_int> {
    let handle = ninf().handle(entry)?;
    let interface = handle.routine(None)?.0.interface().clone();
    // SAFETY: the caller's promise, here and below.
    let passed = unsafe { request.passed(&interface) }?;
    let calls_back =
        interface.parameters.iter().any(|one| matches!(one.shape, Shape::Callback { .. }));
    if transactions::is_under_way() && (calls_back || passed.has_texts()) {
        let words = "a transaction of a FORTRAN program cannot keep texts or procedures: call \
            this function outside the transaction";
        return Err(Failure::other(words));
    }
    let made = Made { handle, count: None, starts: !request.session.is_null(), fortran: true };
    // SAFETY: as above.
    unsafe { made.act(passed.in_turn()) }
}

/// A call with an array of values.
///
/// # Safety
/// As many values as the function has parameters, each as the interface says.
unsafe fn call_with(handle: Arc<Handle>, arguments: *const Any, starts: bool) -> Outcome<c_int> {
    let mut index = 0;
    // SAFETY: the caller's promise, here and below. None is looked at of a function without
    // parameters.
    unsafe {
        Made { handle, count: None, starts, fortran: false }.act(|tag| {
            let value = arguments.wrapping_add(index);
            index += 1;
            if arguments.is_null() {
                TaggedValue::of_pointer(std::ptr::null_mut())
            } else {
                (*value).tagged(tag)
            }
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_Ninf_call_v(entry: *const c_char, arguments: *const Any) -> c_int {
    enter_call("Ninf_call_v", || {
        // SAFETY: ninf.h: text, and a value per parameter, here and below.
        let handle = ninf().handle(unsafe { text(entry, "the entry") }?)?;
        // SAFETY: as above.
        unsafe { call_with(handle, arguments, false) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_Ninf_call_v_async(
    entry: *const c_char,
    arguments: *const Any,
) -> c_int {
    enter_call("Ninf_call_v_async", || {
        // SAFETY: as above.
        let handle = ninf().handle(unsafe { text(entry, "the entry") }?)?;
        // SAFETY: as above.
        unsafe { call_with(handle, arguments, true) }
    })
}

fn of_stub(stub: *const Stub) -> Outcome<Arc<Handle>> {
    Ok(ninf().stubs.find(stub, "the stub")?.handle.clone())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_Ninf_call_body_v(stub: *const Stub, arguments: *const Any) -> c_int {
    // SAFETY: ninf.h: a value per parameter.
    enter_call("Ninf_call_body_v", || unsafe { call_with(of_stub(stub)?, arguments, false) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_Ninf_call_body_v_async(
    stub: *const Stub,
    arguments: *const Any,
) -> c_int {
    // SAFETY: ninf.h: a value per parameter.
    enter_call("Ninf_call_body_v_async", || unsafe { call_with(of_stub(stub)?, arguments, true) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_Ninf_get_stub(
    entry: *const c_char,
    types: *mut c_int,
    stub: *mut *mut Stub,
) -> c_int {
    enter("Ninf_get_stub", || {
        // SAFETY: ninf.h: a place for the stub, text, and NULL or room for the types, here and
        // below.
        let place = unsafe { place(stub, "the pointer for the stub") }?;
        *place = std::ptr::null_mut();
        // SAFETY: as above.
        let handle = ninf().handle(unsafe { text(entry, "the entry") }?)?;
        let routine = handle.routine(None)?.0;
        // SAFETY: as above.
        unsafe { write_types(routine.interface(), types) };
        *place = ninf().stubs.give(Stub { handle });
        Ok(OK)
    })
}

#[unsafe(no_mangle)]
extern "C" fn farcall_Ninf_free_stub(stub: *mut Stub) -> c_int {
    enter("Ninf_free_stub", || ninf().stubs.take(stub, "the stub").map(|_| OK))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_Ninf_get_executable(entry: *const c_char) -> *mut Stub {
    enter_or("Ninf_get_executable", std::ptr::null_mut(), || {
        // SAFETY: ninf.h: text.
        let made =
            unsafe { text(entry, "the entry") }.and_then(|entry| ninf().executable(entry))?;
        Ok(ninf().executables.give(Stub { handle: made }))
    })
}

#[unsafe(no_mangle)]
extern "C" fn farcall_Ninf_executable_finalize(executable: *mut Stub) -> c_int {
    lock(&ninf().started).retain(|_, address| *address != executable as usize);
    enter("Ninf_executable_finalize", || {
        let handle = ninf().executables.take(executable, "the executable")?.handle.clone();
        let context = ninf().context()?;
        context.handles.remove(handle.id);
        context.sessions.cancel_of(handle.id);
        let held: Vec<_> = handle.held().into_iter().collect();
        Held::release(&held, None).map(|()| OK)
    })
}
