//! Made from spec/numbers.txt by tools/make-numbers.py:
//! the numbers of the C interface, a module for each group.

#![allow(dead_code)]

/// No session.
pub mod grpc_sessionid {
    /// `GRPC_SESSIONID_VOID`.
    pub const VOID: i32 = -1;
}

/// Codes. Their numbers differ between implementations, their names do not.
pub mod grpc_code {
    /// `GRPC_NO_ERROR`.
    pub const NO_ERROR: i32 = 0;
    /// `GRPC_NOT_INITIALIZED`: grpc_initialize has not been called
    pub const NOT_INITIALIZED: i32 = 1;
    /// `GRPC_CONFIGFILE_NOT_FOUND`: the configuration file cannot be read
    pub const CONFIGFILE_NOT_FOUND: i32 = 2;
    /// `GRPC_CONFIGFILE_ERROR`: a mistake in it; the log has file, line and words
    pub const CONFIGFILE_ERROR: i32 = 3;
    /// `GRPC_SERVER_NOT_FOUND`: no such server, or nobody answers there
    pub const SERVER_NOT_FOUND: i32 = 4;
    /// `GRPC_FUNCTION_NOT_FOUND`: the server has no such routine
    pub const FUNCTION_NOT_FOUND: i32 = 5;
    /// `GRPC_INVALID_FUNCTION_HANDLE`: the handle is not initialized, was destructed, or timed out
    pub const INVALID_FUNCTION_HANDLE: i32 = 6;
    /// `GRPC_INVALID_SESSION_ID`: no such session
    pub const INVALID_SESSION_ID: i32 = 7;
    /// `GRPC_RPC_REFUSED`: no permission, a limit of the server, or it is going away
    pub const RPC_REFUSED: i32 = 8;
    /// `GRPC_COMMUNICATION_FAILED`: the connection ended, or the server was silent for too long
    pub const COMMUNICATION_FAILED: i32 = 9;
    /// `GRPC_SESSION_FAILED`: the routine failed, crashed or called exit(); see grpc_get_error
    pub const SESSION_FAILED: i32 = 10;
    /// `GRPC_NOT_COMPLETED`: the session is running
    pub const NOT_COMPLETED: i32 = 11;
    /// `GRPC_NONE_COMPLETED`: all sessions of the set are running
    pub const NONE_COMPLETED: i32 = 12;
    /// `GRPC_OTHER_ERROR_CODE`: anything else: too few arguments, NULL, no memory
    pub const OTHER_ERROR_CODE: i32 = 13;
    /// `GRPC_UNKNOWN_ERROR_CODE`: what grpc_error_string calls a number that is no code
    pub const UNKNOWN_ERROR_CODE: i32 = 14;
    /// `GRPC_ALREADY_INITIALIZED`: grpc_initialize was called, and not grpc_finalize
    pub const ALREADY_INITIALIZED: i32 = 15;
    /// `GRPC_LAST_ERROR_CODE`: the end of the standard's codes; never returned
    pub const LAST_ERROR_CODE: i32 = 16;
    /// `GRPC_INVALID_OBJECT_HANDLE_NP`: as GRPC_INVALID_FUNCTION_HANDLE
    pub const INVALID_OBJECT_HANDLE_NP: i32 = 17;
    /// `GRPC_CLASS_NOT_FOUND_NP`: the server has no such class
    pub const CLASS_NOT_FOUND_NP: i32 = 18;
    /// `GRPC_TIMEOUT_NP`: the session, its transfer, or the start of the handle timed out
    pub const TIMEOUT_NP: i32 = 19;
    /// `GRPC_CANCELED_NP`: grpc_cancel ended the session
    pub const CANCELED_NP: i32 = 20;
}

/// What grpc_session_info_get_np says of a session.
pub mod grpc_session_status {
    /// `GRPC_SESSION_DONE`.
    pub const DONE: i32 = 1;
    /// `GRPC_SESSION_ARG_IS_NOT_TRANSMITED`.
    pub const ARG_IS_NOT_TRANSMITED: i32 = 2;
    /// `GRPC_SESSION_EXECUTING`.
    pub const EXECUTING: i32 = 3;
    /// `GRPC_SESSION_DOWN`.
    pub const DOWN: i32 = 4;
    /// `GRPC_SESSION_UNKNOWN_STATUS`.
    pub const UNKNOWN_STATUS: i32 = 5;
}

/// When grpc_call_async returns: arguments sent (the arrays may change); at once (they may not
/// until the session has ended); at once, with arrays copied.
pub mod grpc_argument_transfer {
    /// `GRPC_ARGUMENT_TRANSFER_WAIT`.
    pub const WAIT: i32 = 1;
    /// `GRPC_ARGUMENT_TRANSFER_NOWAIT`.
    pub const NOWAIT: i32 = 2;
    /// `GRPC_ARGUMENT_TRANSFER_COPY`.
    pub const COPY: i32 = 3;
}

/// Attributes of handles.
pub mod grpc_handle_attr_name {
    /// `GRPC_HANDLE_ATTR_HOSTNAME`: char *: the server, as for grpc_function_handle_init
    pub const HOSTNAME: u32 = 0;
    /// `GRPC_HANDLE_ATTR_PORT`: int *
    pub const PORT: u32 = 1;
    /// `GRPC_HANDLE_ATTR_JOBMANAGER`: char *
    pub const JOBMANAGER: u32 = 2;
    /// `GRPC_HANDLE_ATTR_SUBJECT`: char *
    pub const SUBJECT: u32 = 3;
    /// `GRPC_HANDLE_ATTR_FUNCNAME`: char *: the routine or class
    pub const FUNCNAME: u32 = 4;
    /// `GRPC_HANDLE_ATTR_JOBSTARTTIMEOUT`: int *: seconds, 0 for ever
    pub const JOBSTARTTIMEOUT: u32 = 5;
    /// `GRPC_HANDLE_ATTR_JOBSTOPTIMEOUT`: int *: seconds, -1 for ever, 0 does not wait
    pub const JOBSTOPTIMEOUT: u32 = 6;
    /// `GRPC_HANDLE_ATTR_WAIT_ARG_TRANSFER`: grpc_argument_transfer_t_np *
    pub const WAIT_ARG_TRANSFER: u32 = 7;
    /// `GRPC_HANDLE_ATTR_QUEUENAME`: char *
    pub const QUEUENAME: u32 = 8;
    /// `GRPC_HANDLE_ATTR_MPI_NCPUS`: int *
    pub const MPI_NCPUS: u32 = 9;
    /// `GRPC_HANDLE_ATTR_RESOURCES`: char *: what each process is given, such as "cores=4, memory=2
    /// GB"
    pub const RESOURCES: u32 = 10;
}

/// Attributes of sessions.
pub mod grpc_session_attr_name {
    /// `GRPC_SESSION_ATTR_WAIT_ARG_TRANSFER`: grpc_argument_transfer_t_np *
    pub const WAIT_ARG_TRANSFER: u32 = 0;
    /// `GRPC_SESSION_ATTR_SESSION_TIMEOUT`: int *: seconds, 0 never; this and the following
    pub const SESSION_TIMEOUT: u32 = 1;
    /// `GRPC_SESSION_ATTR_TRANSFER_TIMEOUT_ARGUMENT`.
    pub const TRANSFER_TIMEOUT_ARGUMENT: u32 = 2;
    /// `GRPC_SESSION_ATTR_TRANSFER_TIMEOUT_RESULT`.
    pub const TRANSFER_TIMEOUT_RESULT: u32 = 3;
    /// `GRPC_SESSION_ATTR_TRANSFER_TIMEOUT_CALLBACK_ARGUMENT`.
    pub const TRANSFER_TIMEOUT_CALLBACK_ARGUMENT: u32 = 4;
    /// `GRPC_SESSION_ATTR_TRANSFER_TIMEOUT_CALLBACK_RESULT`.
    pub const TRANSFER_TIMEOUT_CALLBACK_RESULT: u32 = 5;
}

/// What functions return.
pub mod ninf_result {
    /// `NINF_OK`.
    pub const OK: i32 = 0;
    /// `NINF_ERROR`.
    pub const ERROR: i32 = -1;
}

/// Errors. Compare names: up to 33 the numbers are those of Ninf 1, above they are ours.
pub mod ninf_error {
    /// `NINF_NO_ERROR`.
    pub const NINF_NO_ERROR: i32 = 0;
    /// `CANTFINDSTUB`: the server has no such function
    pub const CANTFINDSTUB: i32 = 1;
    /// `CANTEXECUTESTUB`: its code cannot be started
    pub const CANTEXECUTESTUB: i32 = 2;
    /// `STUBREMOVED`: it was there, and is not any more; an executable that has ended
    pub const STUBREMOVED: i32 = 3;
    /// `STUBALREADY`: never: a stub takes any number of calls
    pub const STUBALREADY: i32 = 4;
    /// `STUBREADFAIL`: its interface is not available, or has changed; two modules have the name
    pub const STUBREADFAIL: i32 = 5;
    /// `DATASENDFAIL`: the connection ended while arguments were sent
    pub const DATASENDFAIL: i32 = 6;
    /// `DATARECVFAIL`: the connection ended before the results were here
    pub const DATARECVFAIL: i32 = 7;
    /// `CANTCONNECTSERVER`: nobody answers there
    pub const CANTCONNECTSERVER: i32 = 8;
    /// `CANTFINDSESSION`: no such session
    pub const CANTFINDSESSION: i32 = 9;
    /// `CANTALLOCSESSION`: more calls than a transaction may have
    pub const CANTALLOCSESSION: i32 = 10;
    /// `SERVER_CANNOT_ALLOC`: the server has no memory for the arrays, or may not have so much
    pub const SERVER_CANNOT_ALLOC: i32 = 11;
    /// `HTTP_CANNOT_CONNECT`: of an array by URL: nobody answers there
    pub const HTTP_CANNOT_CONNECT: i32 = 12;
    /// `HTTP_NOT_FOUND`: there is no such page
    pub const HTTP_NOT_FOUND: i32 = 13;
    /// `HTTP_HEADER_READ_ERROR`: what answers is no web server, or refuses
    pub const HTTP_HEADER_READ_ERROR: i32 = 14;
    /// `HTTP_UNKNOWN_FORMAT`: its name must end in .npy or .mtx
    pub const HTTP_UNKNOWN_FORMAT: i32 = 15;
    /// `HTTP_FORMAT_ERROR`: it is damaged
    pub const HTTP_FORMAT_ERROR: i32 = 16;
    /// `HTTP_TYPE_MISMATCH`: it has another shape or type than the argument
    pub const HTTP_TYPE_MISMATCH: i32 = 17;
    /// `NINF_PROTOCOL_ERROR`: what answers is no Farcall server, or one of another version
    pub const NINF_PROTOCOL_ERROR: i32 = 18;
    /// `NINF_INTERNAL_ERROR`: a bug in Farcall: please report it
    pub const NINF_INTERNAL_ERROR: i32 = 19;
    /// `AUTHENTICATION_FAILED`: no permission
    pub const AUTHENTICATION_FAILED: i32 = 20;
    /// `SESSION_ISNOT_DONE`: it is running
    pub const SESSION_ISNOT_DONE: i32 = 21;
    /// `SESSION_CANCELED`: Ninf_session_cancel
    pub const SESSION_CANCELED: i32 = 22;
    /// `SESSION_FINISHED`: it has ended: there is nothing to cancel
    pub const SESSION_FINISHED: i32 = 23;
    /// `FILE_CANNOT_OPEN`: a file that is an argument, or that of -map
    pub const FILE_CANNOT_OPEN: i32 = 24;
    /// `FILE_CANNOT_WRITE`.
    pub const FILE_CANNOT_WRITE: i32 = 25;
    /// `MALFORMED_URL`: an invalid entry or URL
    pub const MALFORMED_URL: i32 = 26;
    /// `CIM_OK`: what functions of Ninf_set_cim_funcs return; 0 will do
    pub const CIM_OK: i32 = 28;
    /// `CIM_ERROR_NOT_DEFINED`: there is no function for it
    pub const CIM_ERROR_NOT_DEFINED: i32 = 29;
    /// `CIM_ERROR_TYPE_MISMATCH`.
    pub const CIM_ERROR_TYPE_MISMATCH: i32 = 30;
    /// `CIM_ERROR_CANNOT_ALLOC`.
    pub const CIM_ERROR_CANNOT_ALLOC: i32 = 31;
    /// `CIM_ERROR_ARRAY_BOUND`.
    pub const CIM_ERROR_ARRAY_BOUND: i32 = 32;
    /// `CPROXY_CANNOT_SCHEDULE`: no host of -map has the function
    pub const CPROXY_CANNOT_SCHEDULE: i32 = 33;
    /// `STORAGE_NOT_FOUND`: of an array by file: URL: the server has no such file
    pub const STORAGE_NOT_FOUND: i32 = 34;
    /// `STORAGE_CANNOT_OPEN`.
    pub const STORAGE_CANNOT_OPEN: i32 = 35;
    /// `STORAGE_TYPE_MISMATCH`: it is not an array of this shape and type
    pub const STORAGE_TYPE_MISMATCH: i32 = 36;
    /// `STUB_ERROR_SIGFPE`: the function ended by this signal
    pub const STUB_ERROR_SIGFPE: i32 = 37;
    /// `STUB_ERROR_SIGSEGV`.
    pub const STUB_ERROR_SIGSEGV: i32 = 38;
    /// `COMPUTATION_REFUSED`: a limit of the server, or it is going away
    pub const COMPUTATION_REFUSED: i32 = 39;
    /// `STUB_ERROR`: the function failed or called exit()
    pub const STUB_ERROR: i32 = 40;
    /// `STUB_ERROR_SIGBUS`.
    pub const STUB_ERROR_SIGBUS: i32 = 41;
    /// `STUB_ERROR_SIGILL`.
    pub const STUB_ERROR_SIGILL: i32 = 42;
    /// `STUB_ERROR_SIGNAL`: by another signal
    pub const STUB_ERROR_SIGNAL: i32 = 43;
    /// `NINF_TIMEOUT`: the call timed out
    pub const NINF_TIMEOUT: i32 = 44;
    /// `INVALID_ARGUMENT`: too few arguments, NULL, …
    pub const INVALID_ARGUMENT: i32 = 45;
    /// `TRANSACTION_NESTED`: begun twice
    pub const TRANSACTION_NESTED: i32 = 46;
    /// `TRANSACTION_NOT_BEGUN`: ended, and not begun
    pub const TRANSACTION_NOT_BEGUN: i32 = 47;
    /// `TRANSACTION_FAILED`: one of its calls failed
    pub const TRANSACTION_FAILED: i32 = 48;
    /// `TRANSACTION_CANCELED`: Ninf_transaction_cancel
    pub const TRANSACTION_CANCELED: i32 = 49;
}

/// Types of arguments; an array has that of its elements.
pub mod ninf_type {
    /// `NINF_CHAR`.
    pub const CHAR: i32 = 1;
    /// `NINF_INT8`.
    pub const INT8: i32 = 2;
    /// `NINF_UNSIGNED_CHAR`.
    pub const UNSIGNED_CHAR: i32 = 3;
    /// `NINF_SHORT`.
    pub const SHORT: i32 = 4;
    /// `NINF_UNSIGNED_SHORT`.
    pub const UNSIGNED_SHORT: i32 = 5;
    /// `NINF_INT`.
    pub const INT: i32 = 6;
    /// `NINF_UNSIGNED_INT`.
    pub const UNSIGNED_INT: i32 = 7;
    /// `NINF_LONG`.
    pub const LONG: i32 = 8;
    /// `NINF_UNSIGNED_LONG`.
    pub const UNSIGNED_LONG: i32 = 9;
    /// `NINF_FLOAT`.
    pub const FLOAT: i32 = 10;
    /// `NINF_DOUBLE`.
    pub const DOUBLE: i32 = 11;
    /// `NINF_SCOMPLEX`.
    pub const SCOMPLEX: i32 = 12;
    /// `NINF_DCOMPLEX`.
    pub const DCOMPLEX: i32 = 13;
    /// `NINF_STRING`.
    pub const STRING: i32 = 64;
    /// `NINF_FILENAME`.
    pub const FILENAME: i32 = 65;
    /// `NINF_FUNCTION`.
    pub const FUNCTION: i32 = 66;
    /// `NINF_STRUCT`.
    pub const STRUCT: i32 = 67;
}
