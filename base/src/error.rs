//! The one error type: closed kind, retryable or not, operation, context, source (STYLE.md,
//! "Safety").

use std::borrow::Cow;
use std::fmt;

use crate::abi::status;
use crate::printable::{printable, printable_line};

/// "Too many open files", as Linux numbers it (errno.h).
const EMFILE: i32 = 24;

/// Result with the house's error.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong, as a closed set: programs match on it, the wire and the C ABI carry its number.
///
/// The numbers are part of `spec/wire.md` (section 10) and never change their meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum ErrorKind {
    /// The caller passed something that does not fit the interface: count, type, rank, size, order,
    /// value.
    InvalidArgument = status::INVALID_ARGUMENT as u16,
    /// No such routine, module, handle or file.
    NotFound = status::NOT_FOUND as u16,
    /// A name that more than one module publishes.
    Ambiguous = status::AMBIGUOUS as u16,
    /// The peer is not allowed to do this (uid, token, table of rights).
    PermissionDenied = status::PERMISSION_DENIED as u16,
    /// Nobody listens there, or the name does not resolve.
    Unreachable = status::UNREACHABLE as u16,
    /// The connection ended while something was under way.
    ConnectionLost = status::CONNECTION_LOST as u16,
    /// The peer broke the wire protocol.
    Protocol = status::PROTOCOL as u16,
    /// The peer speaks another version of the wire, or needs a feature we lack.
    Version = status::VERSION as u16,
    /// A named limit of the manifest or the interface would be exceeded.
    LimitExceeded = status::LIMIT_EXCEEDED as u16,
    /// The deadline passed.
    TimedOut = status::TIMED_OUT as u16,
    /// The call was cancelled.
    Cancelled = status::CANCELLED as u16,
    /// The routine ended by a signal.
    RoutineCrashed = status::ROUTINE_CRASHED as u16,
    /// The routine called `exit()`.
    RoutineExited = status::ROUTINE_EXITED as u16,
    /// The routine ran and reported failure itself.
    RoutineFailed = status::ROUTINE_FAILED as u16,
    /// The interface changed since the client fetched it: fetch it again.
    InterfaceChanged = status::INTERFACE_CHANGED as u16,
    /// An interface file or a manifest with mistakes in it.
    InvalidSource = status::INVALID_SOURCE as u16,
    /// A shared library, a symbol or a compiler is missing on the server.
    Unavailable = status::UNAVAILABLE as u16,
    /// The other end is going away.
    ShuttingDown = status::SHUTTING_DOWN as u16,
    /// A system call failed for a reason of its own.
    System = status::SYSTEM as u16,
    /// A broken invariant of ours: please report it.
    Internal = status::INTERNAL as u16,
    /// Data came that are not what was sent: their checksum differs.
    Damaged = status::DAMAGED as u16,
}

impl ErrorKind {
    /// Every kind, in the order of their numbers.
    pub const ALL: [ErrorKind; 21] = [
        ErrorKind::InvalidArgument,
        ErrorKind::NotFound,
        ErrorKind::Ambiguous,
        ErrorKind::PermissionDenied,
        ErrorKind::Unreachable,
        ErrorKind::ConnectionLost,
        ErrorKind::Protocol,
        ErrorKind::Version,
        ErrorKind::LimitExceeded,
        ErrorKind::TimedOut,
        ErrorKind::Cancelled,
        ErrorKind::RoutineCrashed,
        ErrorKind::RoutineExited,
        ErrorKind::RoutineFailed,
        ErrorKind::InterfaceChanged,
        ErrorKind::InvalidSource,
        ErrorKind::Unavailable,
        ErrorKind::ShuttingDown,
        ErrorKind::System,
        ErrorKind::Internal,
        ErrorKind::Damaged,
    ];

    /// The number on the wire and in the C ABI.
    pub fn code(self) -> u16 {
        self as u16
    }

    /// The kind with this number; `None` for a number of a later version.
    pub fn from_code(code: u16) -> Option<ErrorKind> {
        Self::ALL.get(usize::from(code).checked_sub(1)?).copied()
    }

    /// The kind's name in lower case with dashes, as JSON output and the C ABI spell it.
    pub fn name(self) -> &'static str {
        match self {
            ErrorKind::InvalidArgument => "invalid-argument",
            ErrorKind::NotFound => "not-found",
            ErrorKind::Ambiguous => "ambiguous",
            ErrorKind::PermissionDenied => "permission-denied",
            ErrorKind::Unreachable => "unreachable",
            ErrorKind::ConnectionLost => "connection-lost",
            ErrorKind::Protocol => "protocol",
            ErrorKind::Version => "version",
            ErrorKind::LimitExceeded => "limit-exceeded",
            ErrorKind::TimedOut => "timed-out",
            ErrorKind::Cancelled => "cancelled",
            ErrorKind::RoutineCrashed => "routine-crashed",
            ErrorKind::RoutineExited => "routine-exited",
            ErrorKind::RoutineFailed => "routine-failed",
            ErrorKind::InterfaceChanged => "interface-changed",
            ErrorKind::InvalidSource => "invalid-source",
            ErrorKind::Unavailable => "unavailable",
            ErrorKind::ShuttingDown => "shutting-down",
            ErrorKind::System => "system",
            ErrorKind::Internal => "internal",
            ErrorKind::Damaged => "damaged",
        }
    }
}

/// An error with what a person needs to act: what, where, and where known the fix.
///
/// Reads as `operation: message (key: value, …); fix`. The box keeps `Result<T>` small on the hot
/// path.
///
/// Much of it is what others wrote: names, paths, words of routines and servers. It is printable
/// from the start, whoever shows it: see [`printable`].
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    retryable: bool,
    began: bool,
    operation: Cow<'static, str>,
    message: String,
    fix: Option<String>,
    context: Vec<(Cow<'static, str>, String)>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// An error of `kind` met while doing `operation` (a verb phrase: "connect", "read the
    /// configuration file").
    pub fn new(
        kind: ErrorKind,
        operation: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
    ) -> Self {
        Error(Box::new(Inner {
            kind,
            retryable: false,
            began: false,
            operation: shown_line(operation.into()),
            message: shown(message.into()),
            fix: None,
            context: Vec::new(),
            source: None,
        }))
    }

    /// What the reader should do about it, as a full clause.
    #[must_use]
    pub fn fix(mut self, fix: impl Into<String>) -> Self {
        self.0.fix = Some(shown(fix.into()));
        self
    }

    /// One more fact: `("routine", "lapack/dgesv")`. What two layers on the way say alike is said
    /// once.
    #[must_use]
    pub fn with(mut self, key: impl Into<Cow<'static, str>>, value: impl fmt::Display) -> Self {
        let fact = (shown_line(key.into()), shown(value.to_string()));
        if !self.0.context.contains(&fact) {
            self.0.context.push(fact);
        }
        self
    }

    /// The error underneath.
    #[must_use]
    pub fn source(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Marks that the same request may succeed later and that nothing has run.
    #[must_use]
    pub fn retryable(mut self) -> Self {
        self.0.retryable = true;
        self
    }

    /// Says whether the routine is known to have begun whose call has failed.
    #[must_use]
    pub fn began(mut self, began: bool) -> Self {
        self.0.began = began;
        self
    }

    /// A failed system call.
    pub fn system(operation: &'static str, source: std::io::Error) -> Self {
        let message = source.to_string();
        let number = source.raw_os_error();
        let error = Error::new(ErrorKind::System, operation, message).source(source);
        if number == Some(EMFILE) {
            error.fix("raise its limit on open files (ulimit -n)")
        } else {
            error
        }
    }

    /// A broken invariant of ours.
    pub fn internal(operation: &'static str, message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Internal, operation, message)
    }

    /// The closed kind.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Whether the same request may be sent again.
    pub fn is_retryable(&self) -> bool {
        self.0.retryable
    }

    /// Whether the routine is known to have begun whose call has failed: then the call is to blame,
    /// or the routine, and not the way to it.
    pub fn has_begun(&self) -> bool {
        use ErrorKind::{RoutineCrashed, RoutineExited, RoutineFailed};
        self.0.began || matches!(self.0.kind, RoutineCrashed | RoutineExited | RoutineFailed)
    }

    /// The operation that failed.
    pub fn operation(&self) -> &str {
        &self.0.operation
    }

    /// The message alone, without operation, context and fix.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The advice alone.
    pub fn advice(&self) -> Option<&str> {
        self.0.fix.as_deref()
    }

    /// The facts, in the order they were added.
    pub fn context(&self) -> &[(Cow<'static, str>, String)] {
        &self.0.context
    }
}

fn shown(text: String) -> String {
    match printable(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(spelled) => spelled,
    }
}

fn shown_line(text: Cow<'static, str>) -> Cow<'static, str> {
    match printable_line(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(spelled) => Cow::Owned(spelled),
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let e = &*self.0;
        if e.operation.is_empty() {
            f.write_str(&e.message)?;
        } else {
            write!(f, "{}: {}", e.operation, e.message)?;
        }
        for (index, (key, value)) in e.context.iter().enumerate() {
            write!(f, "{}{key}: {value}", if index == 0 { " (" } else { ", " })?;
        }
        if !e.context.is_empty() {
            f.write_str(")")?;
        }
        if let Some(fix) = &e.fix {
            write!(f, "; {fix}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_kinds_are_inverse() {
        for kind in ErrorKind::ALL {
            assert_eq!(ErrorKind::from_code(kind.code()), Some(kind));
        }
        assert_eq!(ErrorKind::from_code(0), None);
        assert_eq!(ErrorKind::from_code(22), None);
    }

    #[test]
    fn what_a_routine_did_it_began() {
        let error = |kind| Error::new(kind, "call", "no");
        assert!(!error(ErrorKind::TimedOut).has_begun());
        assert!(error(ErrorKind::TimedOut).began(true).has_begun());
        assert!(error(ErrorKind::RoutineCrashed).began(false).has_begun());
    }

    #[test]
    fn a_fact_is_said_once() {
        let error = Error::new(ErrorKind::NotFound, "call", "none")
            .with("routine", "f")
            .with("routine", "f");
        assert_eq!(error.with("routine", "g").to_string(), "call: none (routine: f, routine: g)");
    }

    #[test]
    fn nothing_in_it_is_obeyed_by_a_terminal() {
        let foreign = "\x1b]0;x\x07\u{9b}\u{202e}".to_owned();
        let error = Error::new(ErrorKind::NotFound, foreign.clone(), foreign.clone() + "\nline");
        let error = error.with(foreign.clone() + "\n", &foreign).fix(foreign);
        let text = error.to_string();
        assert!(!text.contains(|c| crate::is_obeyed(c) && c != '\n'), "{text:?}");
        assert_eq!(text.matches("\\x1b]0;x\\x07\\x9b\\u{202e}").count(), 5, "{text}");
        assert_eq!(
            text.matches('\n').count(),
            1,
            "a message may have lines, an operation and a key none: {text}"
        );
    }

    #[test]
    fn reads_as_what_where_fix() {
        let error = Error::new(ErrorKind::NotFound, "call", "no routine \"dgesw\"")
            .with("server", "unix:/run/x")
            .fix("did you mean dgesv?");
        assert_eq!(
            error.to_string(),
            "call: no routine \"dgesw\" (server: unix:/run/x); did you mean dgesv?"
        );
    }

    #[test]
    fn want_of_descriptors_has_its_fix() {
        let error = Error::system("accept", std::io::Error::from_raw_os_error(EMFILE));
        assert!(
            error.to_string().ends_with("; raise its limit on open files (ulimit -n)"),
            "{error}"
        );
    }
}
