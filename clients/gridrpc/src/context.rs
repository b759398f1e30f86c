//! Everything between `grpc_initialize` and `grpc_finalize`.

use std::ffi::{c_char, c_int};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use farcall_client::{PerProcess, keep_standard_streams};

use crate::attributes::{Attributes, HandleAttributes, SessionAttributes};
use crate::code::{Code, Failure, Outcome};
use crate::entry::{enter, optional_text};
use crate::handles::{Handles, Kind};
use crate::log;
use crate::servers::Servers;
use crate::sessions::Sessions;
use crate::signals::Signals;

/// What the library knows while it is initialised.
pub struct Context {
    pub servers: Servers,
    pub handles: Handles,
    pub objects: Handles,
    pub handle_attributes: Attributes<HandleAttributes>,
    pub session_attributes: Attributes<SessionAttributes>,
    pub signals: Signals,
    pub sessions: Arc<Sessions>,
}

impl Context {
    /// Those of objects, or of functions.
    pub fn handles(&self, of_objects: bool) -> &Handles {
        if of_objects { &self.objects } else { &self.handles }
    }

    /// A context with what a configuration file says, where there is one.
    pub fn new(file: Option<&Path>) -> Outcome<Context> {
        keep_standard_streams();
        let servers = Servers::read(file)?;
        let sessions: Arc<Sessions> = Arc::default();
        sessions.lock().set_information_max(servers.sessions_kept());
        Ok(Context {
            servers,
            handles: Handles::new(Kind::Function),
            objects: Handles::new(Kind::Object),
            handle_attributes: Attributes::new("handle"),
            session_attributes: Attributes::new("session"),
            signals: Signals::default(),
            sessions,
        })
    }
}

/// The one context of a process. A child of a fork has none: its parent's connections, and locks that a thread of the
/// parent may hold, are not touched there.
static CONTEXT: PerProcess<RwLock<Option<Arc<Context>>>> = PerProcess::new();

fn place() -> &'static RwLock<Option<Arc<Context>>> {
    CONTEXT.get(|| RwLock::new(None))
}

/// The context, if there is one.
pub fn current() -> Outcome<Arc<Context>> {
    let context = place().read().unwrap_or_else(PoisonError::into_inner);
    context.clone().ok_or_else(|| Failure::new(Code::NotInitialized, "call grpc_initialize first"))
}

/// The configuration file to read: as given, or where the environment has one.
fn configuration(given: Option<&str>) -> Option<PathBuf> {
    let named = |text: &str| Some(text).filter(|text| !text.is_empty()).map(PathBuf::from);
    let variable = |name| std::env::var(name).ok().and_then(|text| named(&text));
    // That somebody has no file of his own is no mistake; that a named one is missing is.
    let home = || variable("HOME").map(|home| home.join(".ngconf")).filter(|file| file.exists());
    given.and_then(named).or_else(|| variable("NG_CONFIG_FILE")).or_else(home)
}

fn initialize(given: Option<&str>) -> Outcome<()> {
    let mut place = place().write().unwrap_or_else(PoisonError::into_inner);
    if place.is_some() {
        return Err(Failure::new(Code::AlreadyInitialized, "call grpc_finalize first"));
    }
    let context = Context::new(configuration(given).as_deref())?;
    context.signals.handle(&context.servers.handling_signals());
    *place = Some(Arc::new(context));
    Ok(())
}

pub fn finalize() -> Outcome<()> {
    let context = place().write().unwrap_or_else(PoisonError::into_inner).take();
    let context = context.ok_or_else(|| Failure::new(Code::NotInitialized, "call grpc_initialize first"))?;
    context.sessions.end();
    context.signals.restore();
    log::end();
    Ok(())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_initialize(file: *const c_char) -> c_int {
    // SAFETY: grpc.h: NULL or text.
    enter("grpc_initialize", || initialize(unsafe { optional_text(file, "the configuration file") }?))
}

#[unsafe(no_mangle)]
extern "C" fn farcall_grpc_finalize() -> c_int {
    enter("grpc_finalize", finalize)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_grpc_config_file_read_np(file: *const c_char) -> c_int {
    enter("grpc_config_file_read_np", || {
        let context = current()?;
        // SAFETY: grpc.h: NULL or text.
        let given = unsafe { optional_text(file, "the configuration file") }?;
        match configuration(given) {
            Some(file) => context.servers.read_also(&file),
            None => Err(Failure::new(Code::ConfigfileNotFound, "no file is named, and there is no $HOME/.ngconf")),
        }
    })
}
