//! Errors by Ninf's numbers, and which one an error of the client is.

use farcall_client::{Error, ErrorKind};

use super::Code;
use crate::numbers::ninf_error;

/// The numbers of ninf.h: those that are ever returned. Up to 33 they are those of Ninf 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Number {
    CantFindStub = ninf_error::CANTFINDSTUB,
    CantExecuteStub = ninf_error::CANTEXECUTESTUB,
    StubRemoved = ninf_error::STUBREMOVED,
    StubReadFail = ninf_error::STUBREADFAIL,
    DataSendFail = ninf_error::DATASENDFAIL,
    DataReceiveFail = ninf_error::DATARECVFAIL,
    CantConnectServer = ninf_error::CANTCONNECTSERVER,
    CantFindSession = ninf_error::CANTFINDSESSION,
    CantAllocateSession = ninf_error::CANTALLOCSESSION,
    ServerCannotAllocate = ninf_error::SERVER_CANNOT_ALLOC,
    HttpCannotConnect = ninf_error::HTTP_CANNOT_CONNECT,
    HttpNotFound = ninf_error::HTTP_NOT_FOUND,
    HttpHeaderReadError = ninf_error::HTTP_HEADER_READ_ERROR,
    HttpUnknownFormat = ninf_error::HTTP_UNKNOWN_FORMAT,
    HttpFormatError = ninf_error::HTTP_FORMAT_ERROR,
    HttpTypeMismatch = ninf_error::HTTP_TYPE_MISMATCH,
    ProtocolError = ninf_error::NINF_PROTOCOL_ERROR,
    InternalError = ninf_error::NINF_INTERNAL_ERROR,
    AuthenticationFailed = ninf_error::AUTHENTICATION_FAILED,
    SessionIsNotDone = ninf_error::SESSION_ISNOT_DONE,
    SessionCanceled = ninf_error::SESSION_CANCELED,
    SessionFinished = ninf_error::SESSION_FINISHED,
    FileCannotOpen = ninf_error::FILE_CANNOT_OPEN,
    FileCannotWrite = ninf_error::FILE_CANNOT_WRITE,
    MalformedUrl = ninf_error::MALFORMED_URL,
    CimNotDefined = ninf_error::CIM_ERROR_NOT_DEFINED,
    CimTypeMismatch = ninf_error::CIM_ERROR_TYPE_MISMATCH,
    CimCannotAllocate = ninf_error::CIM_ERROR_CANNOT_ALLOC,
    CimArrayBound = ninf_error::CIM_ERROR_ARRAY_BOUND,
    CannotSchedule = ninf_error::CPROXY_CANNOT_SCHEDULE,
    StorageNotFound = ninf_error::STORAGE_NOT_FOUND,
    StorageCannotOpen = ninf_error::STORAGE_CANNOT_OPEN,
    StorageTypeMismatch = ninf_error::STORAGE_TYPE_MISMATCH,
    SignalFpe = ninf_error::STUB_ERROR_SIGFPE,
    SignalSegv = ninf_error::STUB_ERROR_SIGSEGV,
    ComputationRefused = ninf_error::COMPUTATION_REFUSED,
    StubError = ninf_error::STUB_ERROR,
    SignalBus = ninf_error::STUB_ERROR_SIGBUS,
    SignalIll = ninf_error::STUB_ERROR_SIGILL,
    Signal = ninf_error::STUB_ERROR_SIGNAL,
    Timeout = ninf_error::NINF_TIMEOUT,
    InvalidArgument = ninf_error::INVALID_ARGUMENT,
    TransactionNested = ninf_error::TRANSACTION_NESTED,
    TransactionNotBegun = ninf_error::TRANSACTION_NOT_BEGUN,
    TransactionFailed = ninf_error::TRANSACTION_FAILED,
    TransactionCanceled = ninf_error::TRANSACTION_CANCELED,
}

impl Number {
    /// What a code stands for of which nothing more is known.
    pub fn of_code(code: Code) -> Number {
        match code {
            Code::FunctionNotFound | Code::ClassNotFound => Number::CantFindStub,
            Code::ServerNotFound => Number::CantConnectServer,
            Code::InvalidSessionId => Number::CantFindSession,
            Code::CommunicationFailed => Number::DataReceiveFail,
            Code::Canceled => Number::SessionCanceled,
            Code::SessionFailed => Number::StubError,
            Code::RpcRefused => Number::ComputationRefused,
            Code::Timeout => Number::Timeout,
            Code::NotCompleted | Code::NoneCompleted => Number::SessionIsNotDone,
            _ => Number::InvalidArgument,
        }
    }

    /// What an error stands for.
    pub fn of_error(error: &Error, code: Code) -> Number {
        if let Some(url) =
            error.context().iter().find_map(|(key, url)| (key == "url").then_some(url))
        {
            return of_fetching(error, url);
        }
        match error.kind() {
            ErrorKind::RoutineCrashed => of_signal(error.message()),
            ErrorKind::Unavailable => Number::CantExecuteStub,
            ErrorKind::InterfaceChanged | ErrorKind::Ambiguous => Number::StubReadFail,
            ErrorKind::PermissionDenied => Number::AuthenticationFailed,
            ErrorKind::Protocol | ErrorKind::Version | ErrorKind::Damaged => Number::ProtocolError,
            ErrorKind::LimitExceeded
                if error.advice().is_some_and(|advice| advice.contains("call_bytes_max")) =>
            {
                Number::ServerCannotAllocate
            }
            _ => of_file(error.message()).unwrap_or(match error.kind() {
                ErrorKind::Internal => Number::InternalError,
                ErrorKind::System => Number::ServerCannotAllocate,
                _ => Number::of_code(code),
            }),
        }
    }
}

/// A file of the caller's own.
fn of_file(message: &str) -> Option<Number> {
    let known = [
        ("the file cannot be read", Number::FileCannotOpen),
        ("the file cannot be written", Number::FileCannotWrite),
    ];
    known.into_iter().find(|(words, _)| message.starts_with(words)).map(|(_, number)| number)
}

/// An array that the server was to fetch.
fn of_fetching(error: &Error, url: &str) -> Number {
    let message = error.message();
    let is_file = url.starts_with("file:");
    let of_either = |storage, http| if is_file { storage } else { http };
    match error.kind() {
        ErrorKind::PermissionDenied => Number::AuthenticationFailed,
        ErrorKind::TimedOut => Number::Timeout,
        ErrorKind::LimitExceeded => Number::ServerCannotAllocate,
        ErrorKind::NotFound => of_either(Number::StorageNotFound, Number::HttpNotFound),
        ErrorKind::InvalidArgument if message.starts_with("its URL cannot be used") => {
            Number::MalformedUrl
        }
        ErrorKind::InvalidArgument if error.operation() == "name a file" => {
            of_either(Number::StorageTypeMismatch, Number::HttpUnknownFormat)
        }
        ErrorKind::InvalidArgument
            if error.operation() == "convert an array" || is_of_shape(message) =>
        {
            of_either(Number::StorageTypeMismatch, Number::HttpTypeMismatch)
        }
        ErrorKind::InvalidArgument if error.operation().starts_with("read a ") => {
            of_either(Number::StorageTypeMismatch, Number::HttpFormatError)
        }
        // It answers, though with something else.
        ErrorKind::Unreachable
            if ["status", "http", "protocol"].iter().any(|word| message.contains(word)) =>
        {
            Number::HttpHeaderReadError
        }
        _ => of_either(Number::StorageCannotOpen, Number::HttpCannotConnect),
    }
}

/// Whether an array that was fetched has another shape: in the words of this version's servers, or
/// of earlier ones.
fn is_of_shape(message: &str) -> bool {
    message.contains("its shape differs") || message.contains("another shape")
}

/// A function that ended by a signal.
fn of_signal(message: &str) -> Number {
    let known = [
        ("SIGFPE", Number::SignalFpe),
        ("SIGSEGV", Number::SignalSegv),
        ("SIGBUS", Number::SignalBus),
        ("SIGILL", Number::SignalIll),
        ("SIG", Number::Signal),
    ];
    known
        .into_iter()
        .find(|(word, _)| message.contains(word))
        .map_or(Number::StubError, |(_, number)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(
        kind: ErrorKind,
        operation: &'static str,
        message: &str,
        url: Option<&str>,
    ) -> Number {
        let error = Error::new(kind, operation, message);
        Number::of_error(
            &url.into_iter().fold(error, |error, url| error.with("url", url)),
            Code::OtherError,
        )
    }

    #[test]
    fn what_is_fetched_fails_by_where_it_lies() {
        let http = Some("http://h/a.npy");
        let file = Some("file:/a.npy");
        let wrong = ErrorKind::InvalidArgument;
        let shape = "its shape differs from the shape in the call";
        assert_eq!(number(ErrorKind::NotFound, "fetch an array", "", http), Number::HttpNotFound);
        assert_eq!(
            number(ErrorKind::NotFound, "fetch an array", "", file),
            Number::StorageNotFound
        );
        assert_eq!(number(wrong, "fetch an array", shape, http), Number::HttpTypeMismatch);
        assert_eq!(number(wrong, "fetch an array", shape, file), Number::StorageTypeMismatch);
        assert_eq!(number(wrong, "name a file", "", http), Number::HttpUnknownFormat);
        assert_eq!(number(wrong, "read a NumPy file", "", http), Number::HttpFormatError);
        assert_eq!(
            number(ErrorKind::Unreachable, "fetch an array", "refused", http),
            Number::HttpCannotConnect
        );
        assert_eq!(
            number(ErrorKind::System, "fetch an array", "", file),
            Number::StorageCannotOpen
        );
    }

    #[test]
    fn what_dies_is_told_by_its_signal() {
        let of = |message| number(ErrorKind::RoutineCrashed, "run a routine", message, None);
        assert_eq!(of("the routine ended by SIGFPE"), Number::SignalFpe);
        assert_eq!(of("the routine ended by SIGKILL"), Number::Signal);
        assert_eq!(of("the routine closed its connection to the server"), Number::StubError);
    }
}
