//! A remote routine: its interface, fetched once, and calls to it.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use farcall_base::{CallId, Error, ErrorKind, Result};
use farcall_idl::interface::{Interface, Mode};

use crate::argument::{Argument, Destination, Passed};
use crate::client::{CallOptions, Client, Keep};
use crate::contract::Contract;
use crate::pending::{News, PendingCall};
use crate::results::Outputs;

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

    /// Whether the value of a parameter travels inside the call: see
    /// [`Interface::inline_parameters`].
    pub fn is_inline(&self, parameter: usize) -> bool {
        self.contract.sizer.is_inline(parameter)
    }

    /// Whether there is any parameter of which [`Routine::is_inline`] is true.
    pub fn has_inline(&self) -> bool {
        self.contract.sizer.has_inline()
    }

    /// What a binding works out from the interface once, for all calls: of one type in a process.
    /// `None` for a second type.
    pub fn bound<T: Any + Send + Sync>(&self, bind: impl FnOnce(&Interface) -> T) -> Option<&T> {
        let bound = self.contract.binding.get_or_init(|| Box::new(bind(self.interface())));
        bound.downcast_ref()
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

    /// Calls it with named arguments: IN and INOUT arrays, and whatever scalars do not follow from
    /// their extents. Results that no array was given for are allocated.
    ///
    /// # Errors
    /// `InvalidArgument` for arguments that do not fit, or whatever became of the call.
    pub fn call<'n, 'a>(
        &self,
        arguments: impl IntoIterator<Item = (&'n str, Argument<'a>)>,
    ) -> Result<Outputs> {
        self.call_with(arguments, &CallOptions::default())
    }

    /// The same with a timeout.
    ///
    /// # Errors
    /// As [`Routine::call`], and `TimedOut`.
    pub fn call_with<'n, 'a>(
        &self,
        arguments: impl IntoIterator<Item = (&'n str, Argument<'a>)>,
        options: &CallOptions,
    ) -> Result<Outputs> {
        self.call_positional(self.by_name(arguments)?, Vec::new(), options)
    }

    /// The same, and gives what is told of the call meanwhile to `watch`: as far as the options
    /// want it, and all of it before this returns. After every `pause` without news it is asked,
    /// too, and may look how far the call's arrays are.
    ///
    /// # Errors
    /// As [`Routine::call_with`].
    pub fn call_watched<'n, 'a>(
        &self,
        arguments: impl IntoIterator<Item = (&'n str, Argument<'a>)>,
        options: &CallOptions,
        pause: Option<Duration>,
        mut watch: impl FnMut(&PendingCall, Option<News>),
    ) -> Result<Outputs> {
        // SAFETY: the arrays are borrowed until this returns, or unwinds, when the call is over or
        // was given up.
        let passed = unsafe { Passed::borrowed(self.by_name(arguments)?, Vec::new()) };
        let mut call = self.open(passed, options)?;
        loop {
            match call.next_news(pause)? {
                Some(News::Over) => return call.wait(),
                news => watch(&call, news),
            }
        }
    }

    /// Starts a call that goes on without this program, and returns when the server has said that
    /// it does: what
    /// [`Client::fetch`] finds it by.
    ///
    /// # Errors
    /// As [`Routine::call`], as far as they are known before it runs; what became of a call of
    /// which the server never said that it keeps it.
    pub fn submit<'n, 'a>(
        &self,
        arguments: impl IntoIterator<Item = (&'n str, Argument<'a>)>,
        keep: Keep,
    ) -> Result<CallId> {
        self.submit_with(arguments, keep, CallOptions::default())
    }

    /// The same with other options of a call: its label, what it is given.
    ///
    /// # Errors
    /// As [`Routine::submit`]; `InvalidArgument` for a label of more than 200 bytes.
    pub fn submit_with<'n, 'a>(
        &self,
        arguments: impl IntoIterator<Item = (&'n str, Argument<'a>)>,
        keep: Keep,
        options: CallOptions,
    ) -> Result<CallId> {
        // SAFETY: the arrays are borrowed until this returns, when the server has them, or the call
        // was given up.
        let passed = unsafe { Passed::borrowed(self.by_name(arguments)?, Vec::new()) };
        let options = CallOptions { keep: Some(keep), ..options };
        let mut call = self.open(passed, &options)?.push();
        let is_told = call.wait_kept(Some(self.client.session().patience()))?;
        if !is_told {
            return Err(Error::new(
                ErrorKind::TimedOut,
                "submit a call",
                "the server has not confirmed that it keeps the call",
            )
            .with("routine", self.name())
            .fix("try again when the server is less busy, or connect with a larger timeout="));
        }
        call.id().ok_or_else(|| Error::internal("submit a call", "it has no id"))
    }

    pub(crate) fn by_name<'n, 'a>(
        &self,
        arguments: impl IntoIterator<Item = (&'n str, Argument<'a>)>,
    ) -> Result<Vec<Argument<'a>>> {
        let parameters = &self.interface().parameters;
        let mut all: Vec<Argument<'a>> = parameters.iter().map(|_| Argument::Unset).collect();
        for (name, argument) in arguments {
            let index = parameters.iter().position(|p| p.name == name && p.mode != Mode::Work);
            let index = index.ok_or_else(|| {
                let names =
                    parameters.iter().filter(|p| p.mode != Mode::Work).map(|p| p.name.as_str());
                Error::new(
                    ErrorKind::InvalidArgument,
                    "call",
                    format!("{} has no parameter \"{name}\"", self.name()),
                )
                .fix(format!("it takes {}", names.collect::<Vec<_>>().join(", ")))
            })?;
            all[index] = argument;
        }
        Ok(all)
    }

    /// Calls it with one argument per parameter of the interface (WORK ones `Unset`) and waits for
    /// its end. Results of INOUT parameters go to their `destinations`; into memory of their own
    /// where there are fewer of these.
    ///
    /// # Errors
    /// As [`Routine::call_with`].
    pub fn call_positional(
        &self,
        arguments: Vec<Argument<'_>>,
        destinations: Vec<Destination<'_>>,
        options: &CallOptions,
    ) -> Result<Outputs> {
        // SAFETY: the arrays are borrowed until this returns, which it does when the call is over.
        let passed = unsafe { Passed::borrowed(arguments, destinations) };
        let client = self.client.clone();
        match &mut PendingCall::open(client, &self.contract, passed, options, None, None)? {
            Some(call) => call.wait_in_place(),
            None => Err(never_opened()),
        }
    }

    /// Starts a call with named arguments, while the program goes on. Its arrays are kept by the
    /// call, or live for ever:
    ///
    /// ```no_run
    /// # fn start(dnrm2: farcall_client::Routine) -> farcall_client::Result<()> {
    /// use farcall_client::{Array, CallOptions, idl::interface::Order};
    ///
    /// let x = std::sync::Arc::new(vec![3.0, 4.0]);
    /// let call = dnrm2.start([("x", Array::shared(x, &[2], Order::Row).into())], &CallOptions::default())?;
    /// println!("{}", call.wait()?.scalar::<f64>("r")?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Borrowed ones do not compile: a [`PendingCall`] may be leaked, and then nothing would end
    /// the borrow.
    ///
    /// ```compile_fail,E0597
    /// # fn start(dnrm2: farcall_client::Routine) -> farcall_client::Result<()> {
    /// use farcall_client::{Array, CallOptions};
    ///
    /// let x = vec![3.0, 4.0];
    /// let call = dnrm2.start([("x", Array::vector(&x).into())], &CallOptions::default())?;
    /// println!("{}", call.wait()?.scalar::<f64>("r")?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Routine::call`], as far as they are known before it runs.
    pub fn start<'n>(
        &self,
        arguments: impl IntoIterator<Item = (&'n str, Argument<'static>)>,
        options: &CallOptions,
    ) -> Result<PendingCall> {
        Ok(self.open(Passed::owned(self.by_name(arguments)?), options)?.push())
    }

    /// Starts a call with arguments as for [`Routine::call_positional`].
    ///
    /// # Errors
    /// As [`Routine::start`].
    ///
    /// # Safety
    /// All arrays stay as [`View::new`](crate::View::new) says until the call is over or the
    /// returned value is dropped; if it is leaked, for ever.
    pub unsafe fn start_borrowed(
        &self,
        arguments: Vec<Argument<'_>>,
        destinations: Vec<Destination<'_>>,
        options: &CallOptions,
    ) -> Result<PendingCall> {
        // SAFETY: the caller's promise.
        let passed = unsafe { Passed::borrowed(arguments, destinations) };
        Ok(self.open(passed, options)?.push())
    }

    /// The same without waiting for longer than `wait`: `None` when the server does not take one
    /// more call by then. What does not leave at once leaves while somebody waits.
    ///
    /// # Errors
    /// As [`Routine::start`].
    ///
    /// # Safety
    /// As for [`Routine::start_borrowed`].
    pub unsafe fn start_within(
        &self,
        arguments: Vec<Argument<'_>>,
        destinations: Vec<Destination<'_>>,
        options: &CallOptions,
        wait: Duration,
    ) -> Result<Option<PendingCall>> {
        // SAFETY: the caller's promise.
        let passed = unsafe { Passed::borrowed(arguments, destinations) };
        PendingCall::open(self.client.clone(), &self.contract, passed, options, Some(wait), None)
    }

    fn open(&self, passed: Passed, options: &CallOptions) -> Result<PendingCall> {
        let opened =
            PendingCall::open(self.client.clone(), &self.contract, passed, options, None, None)?;
        opened.ok_or_else(never_opened)
    }
}

#[cold]
fn never_opened() -> Error {
    Error::internal("call", "the wait for a free place ended early")
}
