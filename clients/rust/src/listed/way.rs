//! How a listed server is reached. Servers are dialed side by side, but those of one host one after
//! the other, since they share its `ssh`; and what hosts ask the user comes one after the other.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use farcall_base::{ErrorKind, Result};

use crate::address::Address;
use crate::dial::{self, ConnectOptions};
use crate::session::Session;
use crate::ssh::asking::AskingSsh;
use crate::standard_streams::tell;
use crate::view::dial_one;

/// The host that has it may have `ssh` ask the user.
static TURN: Mutex<()> = Mutex::new(());

/// A host that `ssh` reaches, and that several servers of a list may be on.
#[derive(Default)]
pub struct SharedHost {
    dialing: Mutex<()>,
    /// Whether it waits for an answer of the user, or for its turn to ask.
    asks: AtomicBool,
}

/// How a listed server is reached.
pub struct Way {
    address: Address,
    options: ConnectOptions,
    host: Arc<SharedHost>,
    /// Whether the user was asked already: once is enough.
    has_asked: AtomicBool,
    /// Whether the client has made calls there.
    has_called: AtomicBool,
}

impl Way {
    /// With these options, as they are for its kind of address.
    pub fn new(address: &Address, options: ConnectOptions, host: Arc<SharedHost>) -> Way {
        let address = address.clone();
        let options = ConnectOptions { asking: Some(AskingSsh::default()), ..options };
        Way { address, options, host, has_asked: false.into(), has_called: false.into() }
    }

    /// Nobody waits for an answer of the user any more.
    pub fn ends(&self) {
        self.options.asking.iter().for_each(AskingSsh::end);
    }

    /// A call is made there.
    pub fn calls(&self) {
        self.has_called.store(true, Ordering::Relaxed);
    }

    /// Whether one was.
    pub fn has_called(&self) -> bool {
        self.has_called.load(Ordering::Relaxed)
    }

    /// Whether its host waits for an answer of the user.
    pub fn is_asking(&self) -> bool {
        self.host.asks.load(Ordering::Relaxed)
    }

    /// Connects; the calls of the connection have numbers from `first` on. What the user has to be
    /// asked is asked once, when it is this host's turn.
    ///
    /// # Errors
    /// Why it cannot be reached.
    pub fn go(&self, name: &str, first: u64) -> Result<Arc<Session>> {
        if !matches!(self.address, Address::Ssh(_)) {
            return self.dial(false, first);
        }
        let _one = self.host.dialing.lock().unwrap_or_else(PoisonError::into_inner);
        match self.dial(false, first) {
            Err(error) if error.kind() == ErrorKind::PermissionDenied && self.may_ask() => {
                self.host.asks.store(true, Ordering::Relaxed);
                let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
                tell(&format!("{name}: ssh asks for this host:"));
                let asked = self.dial(true, first);
                drop(turn);
                self.host.asks.store(false, Ordering::Relaxed);
                asked
            }
            outcome => outcome,
        }
    }

    fn may_ask(&self) -> bool {
        self.options.asks && dial::can_ask() && !self.has_asked.swap(true, Ordering::Relaxed)
    }

    fn dial(&self, asks: bool, first: u64) -> Result<Arc<Session>> {
        dial_one(&self.address, &ConnectOptions { asks, ..self.options.clone() }, first)
    }
}
