//! Error codes: their numbers, what they are called, and which one an error of the client is.

mod number;

use std::ffi::CStr;

use farcall_client::{Error, ErrorKind};

use crate::numbers::grpc_code;

pub use number::Number;

/// The codes of grpc.h that are ever returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Code {
    /// `GRPC_NO_ERROR`, and so on.
    NoError = grpc_code::NO_ERROR,
    NotInitialized = grpc_code::NOT_INITIALIZED,
    ConfigfileNotFound = grpc_code::CONFIGFILE_NOT_FOUND,
    ConfigfileError = grpc_code::CONFIGFILE_ERROR,
    ServerNotFound = grpc_code::SERVER_NOT_FOUND,
    FunctionNotFound = grpc_code::FUNCTION_NOT_FOUND,
    InvalidFunctionHandle = grpc_code::INVALID_FUNCTION_HANDLE,
    InvalidSessionId = grpc_code::INVALID_SESSION_ID,
    RpcRefused = grpc_code::RPC_REFUSED,
    CommunicationFailed = grpc_code::COMMUNICATION_FAILED,
    SessionFailed = grpc_code::SESSION_FAILED,
    NotCompleted = grpc_code::NOT_COMPLETED,
    NoneCompleted = grpc_code::NONE_COMPLETED,
    OtherError = grpc_code::OTHER_ERROR_CODE,
    AlreadyInitialized = grpc_code::ALREADY_INITIALIZED,
    InvalidObjectHandle = grpc_code::INVALID_OBJECT_HANDLE_NP,
    ClassNotFound = grpc_code::CLASS_NOT_FOUND_NP,
    Timeout = grpc_code::TIMEOUT_NP,
    Canceled = grpc_code::CANCELED_NP,
}

/// By number. 14 and 16 are never returned, but have names all the same.
const WORDS: [&CStr; 21] = [
    c"No error",
    c"GridRPC is not initialized",
    c"Configuration file is not found",
    c"Configuration file has an error",
    c"Server is not found",
    c"Function is not found",
    c"Function handle is not valid",
    c"Session ID is not valid",
    c"RPC was refused",
    c"Communication failed",
    c"Session failed",
    c"Session is not completed",
    c"No session is completed",
    c"Other error",
    c"GRPC_UNKNOWN_ERROR_CODE",
    c"GridRPC is initialized already",
    c"GRPC_LAST_ERROR_CODE",
    c"Object handle is not valid",
    c"Class is not found",
    c"Timed out",
    c"Session was canceled",
];

/// What a number means.
pub fn words(number: i32) -> &'static CStr {
    usize::try_from(number)
        .ok()
        .and_then(|number| WORDS.get(number))
        .copied()
        .unwrap_or(c"GRPC_UNKNOWN_ERROR_CODE")
}

/// What an entry reports: a code, and words on what happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// What the caller gets.
    pub code: Code,
    /// What the log and `grpc_perror_np` get.
    pub words: String,
    /// The same as Ninf numbers it.
    pub number: Number,
}

/// What an entry comes to.
pub type Outcome<T> = Result<T, Failure>;

impl Failure {
    pub fn new(code: Code, words: impl Into<String>) -> Failure {
        Failure { code, words: words.into(), number: Number::of_code(code) }
    }

    /// One that Ninf tells from others of its code.
    pub fn numbered(self, number: Number) -> Failure {
        Failure { number, ..self }
    }

    /// The same when it may have met a call whose arguments had not all left: then a lost
    /// connection is one that Ninf tells from another.
    pub fn in_sending(self, met: bool) -> Failure {
        if met && self.number == Number::DataReceiveFail {
            self.numbered(Number::DataSendFail)
        } else {
            self
        }
    }

    /// Something that nothing but `GRPC_OTHER_ERROR_CODE` stands for.
    pub fn other(words: impl Into<String>) -> Failure {
        Failure::new(Code::OtherError, words)
    }

    /// An error while a handle is bound to something that is `missing` when the server has it not.
    pub fn of_binding(error: &Error, missing: Code) -> Failure {
        let code = match error.kind() {
            ErrorKind::NotFound | ErrorKind::Ambiguous | ErrorKind::InterfaceChanged => missing,
            ErrorKind::InvalidArgument => Code::ServerNotFound,
            _ => code_of(error),
        };
        Failure::new(code, error.to_string()).numbered(Number::of_error(error, code))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let code = code_of(&error);
        Failure::new(code, error.to_string()).numbered(Number::of_error(&error, code))
    }
}

/// Whether it is about what an argument names, a file or a URL, and not about the call itself.
pub fn is_of_argument(error: &Error) -> bool {
    error.context().iter().any(|(key, _)| key == "parameter")
}

fn code_of(error: &Error) -> Code {
    match error.kind() {
        ErrorKind::Unreachable | ErrorKind::NotFound if is_of_argument(error) => Code::OtherError,
        ErrorKind::Unreachable => Code::ServerNotFound,
        ErrorKind::NotFound | ErrorKind::Ambiguous => Code::FunctionNotFound,
        ErrorKind::PermissionDenied
        | ErrorKind::LimitExceeded
        | ErrorKind::ShuttingDown
        | ErrorKind::Unavailable
        | ErrorKind::InterfaceChanged => Code::RpcRefused,
        ErrorKind::ConnectionLost
        | ErrorKind::Protocol
        | ErrorKind::Version
        | ErrorKind::Damaged => Code::CommunicationFailed,
        ErrorKind::TimedOut => Code::Timeout,
        ErrorKind::Cancelled => Code::Canceled,
        ErrorKind::RoutineCrashed | ErrorKind::RoutineExited | ErrorKind::RoutineFailed => {
            Code::SessionFailed
        }
        _ => Code::OtherError,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_words_and_others_are_unknown() {
        assert_eq!(words(0), c"No error");
        assert_eq!(words(Code::InvalidSessionId as i32), c"Session ID is not valid");
        assert_eq!(words(Code::Canceled as i32), c"Session was canceled");
        for unknown in [-1, i32::MIN, 21, i32::MAX] {
            assert_eq!(words(unknown), c"GRPC_UNKNOWN_ERROR_CODE");
        }
    }

    #[test]
    fn a_missing_routine_and_a_missing_class_differ() {
        let error = Error::new(ErrorKind::NotFound, "look up", "nothing of the name");
        assert_eq!(Failure::of_binding(&error, Code::ClassNotFound).code, Code::ClassNotFound);
        assert_eq!(Failure::from(error).code, Code::FunctionNotFound);
        let error = Error::new(ErrorKind::NotFound, "call", "the file cannot be read")
            .with("parameter", "from");
        assert_eq!(Failure::from(error).code, Code::OtherError);
    }
}
