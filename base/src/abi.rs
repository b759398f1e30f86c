//! Made from spec/numbers.txt by tools/make-numbers.py:
//! the numbers of the C interface, a module for each group.

/// Kinds of errors: a closed set whose numbers never change their meaning.
pub mod status {
    /// `FARCALL_PENDING`: no error: what is waited for has not happened yet
    pub const PENDING: i32 = -1;
    /// `FARCALL_OK`.
    pub const OK: i32 = 0;
    /// `FARCALL_INVALID_ARGUMENT`: count, type, rank, size, order or value of an argument
    pub const INVALID_ARGUMENT: i32 = 1;
    /// `FARCALL_NOT_FOUND`: no such routine, parameter or file
    pub const NOT_FOUND: i32 = 2;
    /// `FARCALL_AMBIGUOUS`: several modules publish the name
    pub const AMBIGUOUS: i32 = 3;
    /// `FARCALL_PERMISSION_DENIED`: another user, or a wrong token
    pub const PERMISSION_DENIED: i32 = 4;
    /// `FARCALL_UNREACHABLE`: nobody listens at the address
    pub const UNREACHABLE: i32 = 5;
    /// `FARCALL_CONNECTION_LOST`: the connection ended during a call or a request
    pub const CONNECTION_LOST: i32 = 6;
    /// `FARCALL_PROTOCOL`: the server broke the wire protocol
    pub const PROTOCOL: i32 = 7;
    /// `FARCALL_VERSION`: the server speaks another version
    pub const VERSION: i32 = 8;
    /// `FARCALL_LIMIT_EXCEEDED`: a named limit of the server or the interface
    pub const LIMIT_EXCEEDED: i32 = 9;
    /// `FARCALL_TIMED_OUT`: the call timed out
    pub const TIMED_OUT: i32 = 10;
    /// `FARCALL_CANCELLED`: farcall_call_cancel ended the call
    pub const CANCELLED: i32 = 11;
    /// `FARCALL_ROUTINE_CRASHED`: the routine ended by a signal
    pub const ROUTINE_CRASHED: i32 = 12;
    /// `FARCALL_ROUTINE_EXITED`: the routine called exit()
    pub const ROUTINE_EXITED: i32 = 13;
    /// `FARCALL_ROUTINE_FAILED`: the routine itself reported failure
    pub const ROUTINE_FAILED: i32 = 14;
    /// `FARCALL_INTERFACE_CHANGED`: the routine was published again: look it up again
    pub const INTERFACE_CHANGED: i32 = 15;
    /// `FARCALL_INVALID_SOURCE`: mistakes in an interface file
    pub const INVALID_SOURCE: i32 = 16;
    /// `FARCALL_UNAVAILABLE`: a library, symbol, compiler or program is missing
    pub const UNAVAILABLE: i32 = 17;
    /// `FARCALL_SHUTTING_DOWN`: the server is going away
    pub const SHUTTING_DOWN: i32 = 18;
    /// `FARCALL_SYSTEM`: a system call failed
    pub const SYSTEM: i32 = 19;
    /// `FARCALL_INTERNAL`: a bug in Farcall: please report it
    pub const INTERNAL: i32 = 20;
    /// `FARCALL_DAMAGED`: data arrived damaged: their checksum differs
    pub const DAMAGED: i32 = 21;
}

/// Types of elements.
pub mod element {
    /// `FARCALL_VOID`: the type that the interface declares: the library trusts the caller
    pub const VOID: u32 = 0;
    /// `FARCALL_CHAR`: one byte of text
    pub const CHAR: u32 = 1;
    /// `FARCALL_INT8`.
    pub const INT8: u32 = 2;
    /// `FARCALL_UINT8`.
    pub const UINT8: u32 = 3;
    /// `FARCALL_INT16`.
    pub const INT16: u32 = 4;
    /// `FARCALL_UINT16`.
    pub const UINT16: u32 = 5;
    /// `FARCALL_INT32`.
    pub const INT32: u32 = 6;
    /// `FARCALL_UINT32`.
    pub const UINT32: u32 = 7;
    /// `FARCALL_INT64`.
    pub const INT64: u32 = 8;
    /// `FARCALL_UINT64`.
    pub const UINT64: u32 = 9;
    /// `FARCALL_FLOAT32`.
    pub const FLOAT32: u32 = 10;
    /// `FARCALL_FLOAT64`.
    pub const FLOAT64: u32 = 11;
    /// `FARCALL_COMPLEX64`: two float: real, imaginary
    pub const COMPLEX64: u32 = 12;
    /// `FARCALL_COMPLEX128`: two double
    pub const COMPLEX128: u32 = 13;
    /// `FARCALL_STRUCT`: the struct that the interface declares for the parameter
    pub const STRUCT: u32 = 14;
}

/// Which way a parameter goes.
pub mod mode {
    /// `FARCALL_MODE_IN`: to the routine
    pub const IN: u32 = 0;
    /// `FARCALL_MODE_OUT`: from the routine
    pub const OUT: u32 = 1;
    /// `FARCALL_MODE_INOUT`: both ways
    pub const INOUT: u32 = 2;
    /// `FARCALL_MODE_WORK`: memory of the routine's own, which no caller passes
    pub const WORK: u32 = 3;
}

/// How the value of a parameter lies.
pub mod parameter_kind {
    /// `FARCALL_PARAMETER_ABSENT`: nowhere: the routine does not refer to it
    pub const ABSENT: u32 = 0;
    /// `FARCALL_PARAMETER_NUMBER`: one element at `data`
    pub const NUMBER: u32 = 1;
    /// `FARCALL_PARAMETER_ARRAY`: `rank` extents and strides; the element with all indexes 0 at
    /// `data`
    pub const ARRAY: u32 = 2;
    /// `FARCALL_PARAMETER_TEXT`: `shape[0]` bytes at `data`, and a NUL; NULL for no text
    pub const TEXT: u32 = 3;
    /// `FARCALL_PARAMETER_FILE`: the same: the path of a file of this call alone, in any mode; NULL
    /// for none
    pub const FILE: u32 = 4;
    /// `FARCALL_PARAMETER_CALLBACK`: a function of the caller's at `data`, with the callback's C
    /// prototype; NULL for none
    pub const CALLBACK: u32 = 5;
    /// `FARCALL_PARAMETER_TEXTS`: an array of strings: `shape[0]` pointers at `data`, each to a
    /// text with a NUL, or NULL
    pub const TEXTS: u32 = 6;
}

/// What a farcall_argument holds.
pub mod argument_kind {
    /// `FARCALL_UNSET`: inferred, defaulted, WORK, or a result that the call allocates
    pub const UNSET: u32 = 0;
    /// `FARCALL_INTEGER`: value.integer
    pub const INTEGER: u32 = 1;
    /// `FARCALL_REAL`: value.real
    pub const REAL: u32 = 2;
    /// `FARCALL_COMPLEX`: value.parts
    pub const COMPLEX: u32 = 3;
    /// `FARCALL_RAW`: value.text: the bytes of one value of the parameter's type (a struct, an
    /// unsigned 64-bit)
    pub const RAW: u32 = 4;
    /// `FARCALL_TEXT`: value.text
    pub const TEXT: u32 = 5;
    /// `FARCALL_TEXTS`: value.texts
    pub const TEXTS: u32 = 6;
    /// `FARCALL_NULL`: a NULL string, array or function
    pub const NULL: u32 = 7;
    /// `FARCALL_ARRAY`: data, element, rank, shape, strides; for OUT parameters: where the result
    /// goes
    pub const ARRAY: u32 = 8;
    /// `FARCALL_FUNCTION`: value.function: a function with the callback's own C prototype
    pub const FUNCTION: u32 = 9;
    /// `FARCALL_CALLBACK`: value.callback: a function that asks for its parameters, for bindings
    pub const CALLBACK: u32 = 10;
    /// `FARCALL_URL`: value.text: from where the server fetches the array, if its configuration
    /// file allows the source
    pub const URL: u32 = 11;
    /// `FARCALL_PROCEDURE`: value.function: as FARCALL_FUNCTION, a Fortran procedure: everything by
    /// reference, and the lengths of CHARACTERs at the end, as size_t
    pub const PROCEDURE: u32 = 12;
    /// `FARCALL_DATA`: data: a farcall_data
    pub const DATA: u32 = 13;
}

/// Where an INOUT result goes.
pub mod destination {
    /// `FARCALL_NEW`: the result gets memory of its own
    pub const NEW: u32 = 0;
    /// `FARCALL_IN_PLACE`: it goes over the argument
    pub const IN_PLACE: u32 = 1;
    /// `FARCALL_INTO`: it goes to `into`
    pub const INTO: u32 = 2;
}

/// Rank of an array in the interface's own layout, leading dimensions included: a plain C or
/// Fortran pointer.
pub mod layout {
    /// `FARCALL_RAW_LAYOUT`.
    pub const RAW_LAYOUT: i64 = -1;
}

/// Arrays have at most this many dimensions.
pub mod rank {
    /// `FARCALL_RANK_MAX`.
    pub const RANK_MAX: usize = 32;
}

/// What the server is to tell of a call while it is running: a sum of these.
pub mod wanted {
    /// `FARCALL_WANT_PROGRESS`: its place in the queue, its start, and the progress that the
    /// routine reports
    pub const PROGRESS: u32 = 1;
    /// `FARCALL_WANT_OUTPUT`: what the routine writes to its standard output and error
    pub const OUTPUT: u32 = 2;
}

/// What the server tells of a call.
pub mod news_kind {
    /// `FARCALL_NEWS_QUEUED`: it waits in the queue behind `before` calls
    pub const QUEUED: u32 = 1;
    /// `FARCALL_NEWS_STARTED`: its routine began
    pub const STARTED: u32 = 2;
    /// `FARCALL_NEWS_PROGRESS`: `done`, from 0 to 1, and a word on it; before it began: 0, and what
    /// the call waits for
    pub const PROGRESS: u32 = 3;
    /// `FARCALL_NEWS_STDOUT`: bytes that the routine wrote to its standard output, cut anywhere
    pub const STDOUT: u32 = 4;
    /// `FARCALL_NEWS_STDERR`: the same of its standard error
    pub const STDERR: u32 = 5;
    /// `FARCALL_NEWS_OVER`: it has finished: farcall_call_wait gives its outcome
    pub const OVER: u32 = 6;
    /// `FARCALL_NEWS_KEPT`: from now on it runs without this program (keep_seconds)
    pub const KEPT: u32 = 7;
}

/// What a result is.
pub mod result_kind {
    /// `FARCALL_RESULT_NONE`: of an IN parameter, or of one that was not referenced
    pub const NONE: i32 = 0;
    /// `FARCALL_RESULT_NULL`: NULL
    pub const NULL: i32 = 1;
    /// `FARCALL_RESULT_ARRAY`: an array in memory of its own; OUT scalars are arrays of one element
    pub const ARRAY: i32 = 2;
    /// `FARCALL_RESULT_WRITTEN`: the caller's array was written
    pub const WRITTEN: i32 = 3;
    /// `FARCALL_RESULT_TEXT`: a string
    pub const TEXT: i32 = 4;
    /// `FARCALL_RESULT_TEXTS`: strings
    pub const TEXTS: i32 = 5;
    /// `FARCALL_RESULT_DATA`: data at the server
    pub const DATA: i32 = 6;
}

/// Tags of the native call (farcall-native.h): an element type, and how it is passed.
pub mod tag {
    /// `FARCALL_TAG_ELEMENT`: mask of the element type
    pub const ELEMENT: u32 = 0xff;
    /// `FARCALL_TAG_POINTER`: a pointer to it
    pub const POINTER: u32 = 0x100;
    /// `FARCALL_TAG_CONST`: to memory that must not be written to
    pub const CONST: u32 = 0x200;
    /// `FARCALL_TAG_TEXT`: char **: the place of a string
    pub const TEXT: u32 = 0x400;
    /// `FARCALL_TAG_OTHER`: a pointer to something that is no number
    pub const OTHER: u32 = 0x800;
}
