//! Errors on the wire (spec/wire.md, section 10).

use farcall_base::{Error, ErrorKind, printable};
use minicbor::{Decode, Encode};

/// An error of the other end.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Failure {
    /// Number of the kind.
    #[n(1)]
    pub kind: u16,
    /// What was being done.
    #[n(2)]
    pub operation: String,
    /// What went wrong.
    #[n(3)]
    pub message: String,
    /// What to do about it.
    #[n(4)]
    pub fix: Option<String>,
    /// Facts, in order.
    #[n(5)]
    pub context: Vec<(String, String)>,
    /// Nothing ran; the same call may be sent again.
    #[n(6)]
    pub retryable: bool,
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        Failure {
            kind: error.kind().code(),
            operation: error.operation().to_owned(),
            message: error.message().to_owned(),
            fix: error.advice().map(str::to_owned),
            context: error
                .context()
                .iter()
                .map(|(key, value)| (key.to_string(), value.clone()))
                .collect(),
            retryable: error.is_retryable(),
        }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        let kind = ErrorKind::from_code(failure.kind).unwrap_or(ErrorKind::Internal);
        // A routine's words, and a stranger's: they are shown on terminals and stand in logs.
        let shown = |text: &str| printable(text).into_owned();
        let mut error = Error::new(kind, shown(&failure.operation), shown(&failure.message));
        for (key, value) in failure.context {
            error = error.with(shown(&key), shown(&value));
        }
        if let Some(fix) = failure.fix {
            error = error.fix(shown(&fix));
        }
        if failure.retryable { error.retryable() } else { error }
    }
}
