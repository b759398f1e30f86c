//! Everything between `grpc_initialize` and `grpc_finalize`.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use farcall_client::{PerProcess, keep_standard_streams};

use crate::attributes::members::KnownHandleAttributes;
use crate::attributes::{Attributes, SessionAttributes};
use crate::code::{Code, Failure, Outcome};
use crate::handles::{Handles, Kind};
use crate::held::Held;
use crate::log;
use crate::servers::Servers;
use crate::sessions::Sessions;
use crate::signals::Signals;

/// What the library knows while it is initialised.
pub struct Context {
    pub servers: Servers,
    pub handles: Handles,
    pub objects: Handles,
    pub handle_attributes: KnownHandleAttributes,
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
            handle_attributes: KnownHandleAttributes::default(),
            session_attributes: Attributes::new("session"),
            signals: Signals::default(),
            sessions,
        })
    }
}

/// The one context of a process. A child of a fork has none: its parent's connections, and locks
/// that a thread of the parent may hold, are not touched there.
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
pub fn configuration(given: Option<&str>) -> Option<PathBuf> {
    let named = |text: &str| Some(text).filter(|text| !text.is_empty()).map(PathBuf::from);
    let variable = |name| std::env::var(name).ok().and_then(|text| named(&text));
    // That somebody has no file of his own is no mistake; that a named one is missing is.
    let home = || variable("HOME").map(|home| home.join(".ngconf")).filter(|file| file.exists());
    given.and_then(named).or_else(|| variable("NG_CONFIG_FILE")).or_else(home)
}

/// Begins, with what a configuration file says.
pub fn initialize(given: Option<&str>) -> Outcome<()> {
    let mut place = place().write().unwrap_or_else(PoisonError::into_inner);
    if place.is_some() {
        return Err(Failure::new(Code::AlreadyInitialized, "call grpc_finalize first"));
    }
    let context = Context::new(configuration(given).as_deref())?;
    context.signals.handle(&context.servers.handling_signals(), end_all);
    *place = Some(Arc::new(context));
    Ok(())
}

/// Ends all that was begun.
pub fn finalize() -> Outcome<()> {
    let context = place().write().unwrap_or_else(PoisonError::into_inner).take();
    let context =
        context.ok_or_else(|| Failure::new(Code::NotInitialized, "call grpc_initialize first"))?;
    context.sessions.end();
    context.signals.restore();
    log::end();
    Ok(())
}

/// Ends what the program has started, before a signal ends the program. Connections do not close in
/// order before the program's own threads let go of them, and those may be waiting: the end of all
/// sessions and processes is asked for first.
fn end_all() {
    if let Ok(context) = current() {
        context.sessions.cancel_all();
        for handles in [&context.objects, &context.handles] {
            let _ = Held::release(&handles.all_held(), Some(Duration::ZERO));
        }
    }
    let _ = finalize();
}
