//! A remote routine: its interface, fetched once, and calls to it.

use std::sync::Arc;

use farcall_base::{Error, ErrorKind, Result};
use farcall_idl::interface::{Interface, Mode};

use crate::client::{CallOptions, Client, PendingCall};
use crate::marshal::{Argument, Destination};
use crate::results::Outputs;
use crate::session::Contract;

/// A routine of a server.
#[derive(Clone)]
pub struct Routine {
    pub(crate) client: Client,
    pub(crate) contract: Arc<Contract>,
}

impl Routine {
    /// What it takes and gives.
    pub fn interface(&self) -> &Interface {
        &self.contract.interface
    }

    /// The connection it came from.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// `module/name`.
    pub fn name(&self) -> &str {
        &self.contract.name
    }

    /// Hash of what changes a call.
    pub fn contract(&self) -> [u8; 32] {
        self.contract.hash
    }

    /// Calls it with named arguments: IN and INOUT arrays, and whatever scalars do not follow from their extents.
    /// Results that no array was given for are allocated.
    ///
    /// # Errors
    /// `InvalidArgument` for arguments that do not fit, or whatever became of the call.
    pub fn call<'a>(&self, arguments: impl IntoIterator<Item = (&'a str, Argument)>) -> Result<Outputs> {
        self.call_with(arguments, &CallOptions::default())
    }

    /// The same with a timeout.
    ///
    /// # Errors
    /// As [`Routine::call`], and `TimedOut`.
    pub fn call_with<'a>(
        &self,
        arguments: impl IntoIterator<Item = (&'a str, Argument)>,
        options: &CallOptions,
    ) -> Result<Outputs> {
        let arguments = self.by_name(arguments)?;
        // SAFETY: arrays borrow from the caller, who cannot touch them before this returns, and it returns only when
        // nothing of the call is under way.
        unsafe { self.call_positional(&arguments, &[], options) }
    }

    fn by_name<'a>(&self, arguments: impl IntoIterator<Item = (&'a str, Argument)>) -> Result<Vec<Argument>> {
        let parameters = &self.interface().parameters;
        let mut all = vec![Argument::Unset; parameters.len()];
        for (name, argument) in arguments {
            let index = parameters.iter().position(|p| p.name == name && p.mode != Mode::Work);
            let index = index.ok_or_else(|| {
                let names = parameters.iter().filter(|p| p.mode != Mode::Work).map(|p| p.name.as_str());
                Error::new(ErrorKind::InvalidArgument, "call", format!("{} takes no argument \"{name}\"", self.name()))
                    .fix(format!("it takes {}", names.collect::<Vec<_>>().join(", ")))
            })?;
            all[index] = argument;
        }
        Ok(all)
    }

    /// Calls it with one argument per parameter of the interface (WORK ones `Unset`) and waits for its end.
    ///
    /// # Errors
    /// As [`Routine::call_with`].
    ///
    /// # Safety
    /// The memory of all arrays is valid, and nobody else changes it during the call.
    pub unsafe fn call_positional(
        &self,
        arguments: &[Argument],
        destinations: &[Destination],
        options: &CallOptions,
    ) -> Result<Outputs> {
        // SAFETY: the caller's promise; the call is waited for below.
        match unsafe { self.start(arguments, destinations, options) }.and_then(PendingCall::wait) {
            Err(error) if error.kind() == ErrorKind::InterfaceChanged && error.is_retryable() => {
                // Nothing ran: the server wants its interface fetched first, or has a newer one.
                let fresh = self.client.fetch(self.name())?;
                if fresh.contract.hash != self.contract.hash {
                    return Err(error.fix("look the routine up again: its interface is another one now"));
                }
                // SAFETY: as above.
                unsafe { fresh.start(arguments, destinations, options) }?.wait()
            }
            outcome => outcome,
        }
    }

    /// Starts a call.
    ///
    /// # Errors
    /// As [`Routine::call`], as far as they are known before it runs.
    ///
    /// # Safety
    /// The memory of all arrays stays valid, and nobody else changes it, until the call is over or the returned value
    /// is dropped; if it is leaked, for ever.
    pub unsafe fn start(
        &self,
        arguments: &[Argument],
        destinations: &[Destination],
        options: &CallOptions,
    ) -> Result<PendingCall> {
        // SAFETY: the caller's promise, passed on.
        unsafe { PendingCall::open(self.client.clone(), &self.contract, arguments, destinations, options) }
    }
}
