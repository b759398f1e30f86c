//! Attributes of handles as programs for Ninf-G have them: a struct whose members they set and read
//! themselves.

use std::ffi::{CString, c_char, c_int};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use super::{ArgumentTransfer, HandleAttributes};
use crate::code::{Failure, Outcome};
use crate::pointers::optional_text;

/// `grpc_handle_attr_t_np`.
#[repr(C)]
pub struct RawHandleAttributes {
    id: u32,
    port: c_int,
    host: *mut c_char,
    job_manager: *mut c_char,
    subject: *mut c_char,
    function: *mut c_char,
    queue: *mut c_char,
    start_timeout: c_int,
    stop_timeout: c_int,
    transfer: c_int,
    processors: c_int,
}

const _: () = assert!(size_of::<RawHandleAttributes>() == 64, "grpc.h says 64 bytes");

/// What is known of one struct beside its members.
struct Known {
    attributes: HandleAttributes,
    texts: Texts,
}

/// What the members point to, each until it is set to something else: host, job manager, subject,
/// function, queue.
type Texts = [Option<CString>; 5];

/// Where a member's text lies; one that is as it was stays where it is.
fn kept(text: Option<&str>, place: &mut Option<CString>) -> *mut c_char {
    if place.as_ref().map(|kept| kept.as_bytes()) != text.map(str::as_bytes) {
        *place = text.and_then(|text| CString::new(text).ok());
    }
    place.as_ref().map_or(null_mut(), |kept| kept.as_ptr().cast_mut())
}

/// All that a program has initialised, by number.
#[derive(Default)]
pub struct KnownHandleAttributes {
    known: Mutex<FxHashMap<u32, Known>>,
}

/// Far from what memory holds by chance.
static NEXT: AtomicU32 = AtomicU32::new(0xfa2c_a117);

fn unknown() -> Failure {
    Failure::other("these are not attributes of a handle: initialize them first")
}

impl RawHandleAttributes {
    /// Its members as these attributes have them.
    fn write(&mut self, attributes: &HandleAttributes, texts: &mut Texts) {
        let [host, job_manager, subject, function, queue] = texts;
        self.host = kept(attributes.host.as_deref(), host);
        self.job_manager = kept(attributes.job_manager.as_deref(), job_manager);
        self.subject = kept(attributes.subject.as_deref(), subject);
        self.function = kept(attributes.function.as_deref(), function);
        self.queue = kept(attributes.queue.as_deref(), queue);
        self.port = attributes.port;
        self.start_timeout = attributes.start_timeout;
        self.stop_timeout = attributes.stop_timeout;
        self.transfer = attributes.transfer as c_int;
        self.processors = attributes.processors;
    }

    /// The attributes as its members say.
    ///
    /// # Safety
    /// Texts, or NULL.
    unsafe fn read(&self, attributes: &mut HandleAttributes) -> Outcome<()> {
        // SAFETY: the caller's promise.
        let text = |member: *mut c_char, what| unsafe {
            optional_text(member, what).map(|text| text.map(str::to_owned))
        };
        attributes.host = text(self.host, "gha_remoteHostName")?;
        attributes.job_manager = text(self.job_manager, "gha_jobManager")?;
        attributes.subject = text(self.subject, "gha_subject")?;
        attributes.function = text(self.function, "gha_functionName")?;
        attributes.queue = text(self.queue, "gha_queueName")?;
        attributes.port = self.port;
        attributes.start_timeout = self.start_timeout;
        attributes.stop_timeout = self.stop_timeout;
        attributes.transfer = ArgumentTransfer::of(self.transfer)?;
        attributes.processors = self.processors;
        Ok(())
    }
}

impl KnownHandleAttributes {
    fn lock(&self) -> MutexGuard<'_, FxHashMap<u32, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A struct of the caller's is initialised.
    pub fn add(&self, raw: &mut RawHandleAttributes, attributes: HandleAttributes) {
        let mut texts = Texts::default();
        raw.id = NEXT.fetch_add(1, Ordering::Relaxed);
        raw.write(&attributes, &mut texts);
        self.lock().insert(raw.id, Known { attributes, texts });
    }

    /// What it says now.
    ///
    /// # Safety
    /// NULL, or a struct of the caller's whose members are texts or NULL, here and below.
    pub unsafe fn find(&self, raw: *const RawHandleAttributes) -> Outcome<HandleAttributes> {
        // SAFETY: the caller's promise, here and below; its words may be anything.
        let raw = unsafe { raw.as_ref() }.ok_or_else(unknown)?;
        let mut found = self.lock().get(&raw.id).ok_or_else(unknown)?.attributes.clone();
        // SAFETY: as above.
        unsafe { raw.read(&mut found) }?;
        Ok(found)
    }

    /// Gives a struct of which only the number was kept its members back.
    pub fn restore(&self, raw: &mut RawHandleAttributes) {
        if let Some(known) = self.lock().get_mut(&raw.id) {
            raw.write(&known.attributes, &mut known.texts);
        }
    }

    /// # Safety
    /// As above.
    pub unsafe fn change(
        &self,
        raw: *mut RawHandleAttributes,
        change: impl FnOnce(&mut HandleAttributes) -> Outcome<()>,
    ) -> Outcome<()> {
        // SAFETY: the caller's promise, here and below.
        let mut changed = unsafe { self.find(raw) }?;
        change(&mut changed)?;
        // SAFETY: as above.
        let raw = unsafe { raw.as_mut() }.ok_or_else(unknown)?;
        let mut all = self.lock();
        let known = all.get_mut(&raw.id).ok_or_else(unknown)?;
        raw.write(&changed, &mut known.texts);
        known.attributes = changed;
        Ok(())
    }

    /// # Safety
    /// As above.
    pub unsafe fn remove(&self, raw: *const RawHandleAttributes) -> Outcome<()> {
        // SAFETY: the caller's promise.
        let id = unsafe { raw.as_ref() }.map(|raw| raw.id);
        id.and_then(|id| self.lock().remove(&id)).map(drop).ok_or_else(unknown)
    }
}
