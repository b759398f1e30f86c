//! The object that this process is: how it begins, what it may be called for, how it ends
//! (spec/call.md, section 11).

use farcall_base::{CallId, Error, ErrorKind, Instant, Result};
use farcall_idl::interface::{FINALIZE, INITIALIZE};
use farcall_wire::Open;

use super::call::PendingCall;
use super::memory::{Arenas, Segments};
use super::module::LoadedModule;

/// An object of a class.
pub struct Object {
    /// Full names of the methods that begin and end it, where the class has them.
    initialize: Option<String>,
    finalize: Option<String>,
    /// Whether the first has returned, or there is none.
    begun: bool,
}

impl Object {
    /// Begins one: runs `_initialize`, if the class has one that takes nothing.
    pub fn begin(
        module: &LoadedModule,
        class: &str,
        segments: &Segments,
        arenas: &mut Arenas,
    ) -> Result<Object> {
        let hook = |name: &str| {
            let dot = if module.name.is_empty() { "" } else { "/" };
            Some(format!("{}{dot}{class}.{name}", module.name)).filter(|name| module.has(name))
        };
        let mut object =
            Object { initialize: hook(INITIALIZE), finalize: hook(FINALIZE), begun: false };
        match &object.initialize {
            None => object.begun = true,
            Some(name) if module.find(name)?.routine.interface.is_hook() => {
                run(module, name, segments, arenas)?;
                object.begun = true;
            }
            Some(_) => {}
        }
        Ok(object)
    }

    /// Why a method may not be called now, if it may not.
    pub fn refusal(&self, method: &str) -> Option<Error> {
        let is_initialize = self.initialize.as_deref() == Some(method);
        let refused = |what: &str| {
            Error::new(ErrorKind::InvalidArgument, "call an object", what.to_owned())
                .with("method", method)
        };
        match (is_initialize, self.begun) {
            (true, true) => Some(refused("it was initialized before").fix("hold another object")),
            (false, false) => Some(
                refused("it is not initialized yet")
                    .with("call first", self.initialize.as_deref().unwrap_or(INITIALIZE))
                    .fix("call it once, before any other method"),
            ),
            _ => None,
        }
    }

    /// A method has returned.
    pub fn has_run(&mut self, method: &str) {
        self.begun |= self.initialize.as_deref() == Some(method);
    }

    /// Ends it: runs `_finalize`, if the class has one and the object ever began.
    pub fn end(
        self,
        module: &LoadedModule,
        segments: &Segments,
        arenas: &mut Arenas,
    ) -> Result<()> {
        match self.finalize.filter(|_| self.begun) {
            Some(name) => run(module, &name, segments, arenas),
            None => Ok(()),
        }
    }
}

/// Runs a method that takes nothing.
fn run(module: &LoadedModule, name: &str, segments: &Segments, arenas: &mut Arenas) -> Result<()> {
    let open = Open {
        call: CallId([0; 16]),
        routine: name.to_owned(),
        contract: module.find(name)?.contract,
        arguments: Vec::new(),
        wanted: None,
        remaining_us: None,
        result_credit: None,
        parent: None,
        principal: None,
        trace: None,
        attributes: None,
    };
    let mut call = PendingCall::new(module, &open, segments, arenas, Instant::default())?;
    call.run(module).map(drop)
}
