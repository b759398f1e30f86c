// Made from spec/numbers.txt by tools/make-numbers.py: the numbers of the C interface.
package org.farcall;

/** Numbers by the names of C, without FARCALL_. */
final class Numbers {
    private Numbers() {}

    // status: Kinds of errors: a closed set whose numbers never change their meaning.
    static final int PENDING = -1;
    static final int OK = 0;
    static final int INVALID_ARGUMENT = 1;
    static final int NOT_FOUND = 2;
    static final int AMBIGUOUS = 3;
    static final int PERMISSION_DENIED = 4;
    static final int UNREACHABLE = 5;
    static final int CONNECTION_LOST = 6;
    static final int PROTOCOL = 7;
    static final int VERSION = 8;
    static final int LIMIT_EXCEEDED = 9;
    static final int TIMED_OUT = 10;
    static final int CANCELLED = 11;
    static final int ROUTINE_CRASHED = 12;
    static final int ROUTINE_EXITED = 13;
    static final int ROUTINE_FAILED = 14;
    static final int INTERFACE_CHANGED = 15;
    static final int INVALID_SOURCE = 16;
    static final int UNAVAILABLE = 17;
    static final int SHUTTING_DOWN = 18;
    static final int SYSTEM = 19;
    static final int INTERNAL = 20;
    static final int DAMAGED = 21;

    // element: Types of elements.
    static final int VOID = 0;
    static final int CHAR = 1;
    static final int INT8 = 2;
    static final int UINT8 = 3;
    static final int INT16 = 4;
    static final int UINT16 = 5;
    static final int INT32 = 6;
    static final int UINT32 = 7;
    static final int INT64 = 8;
    static final int UINT64 = 9;
    static final int FLOAT32 = 10;
    static final int FLOAT64 = 11;
    static final int COMPLEX64 = 12;
    static final int COMPLEX128 = 13;
    static final int STRUCT = 14;

    // mode: Which way a parameter goes.
    static final int MODE_IN = 0;
    static final int MODE_OUT = 1;
    static final int MODE_INOUT = 2;
    static final int MODE_WORK = 3;

    // parameter_kind: How the value of a parameter lies.
    static final int PARAMETER_ABSENT = 0;
    static final int PARAMETER_NUMBER = 1;
    static final int PARAMETER_ARRAY = 2;
    static final int PARAMETER_TEXT = 3;
    static final int PARAMETER_FILE = 4;
    static final int PARAMETER_CALLBACK = 5;
    static final int PARAMETER_TEXTS = 6;

    // argument_kind: What a farcall_argument holds.
    static final int UNSET = 0;
    static final int INTEGER = 1;
    static final int REAL = 2;
    static final int COMPLEX = 3;
    static final int RAW = 4;
    static final int TEXT = 5;
    static final int TEXTS = 6;
    static final int NULL = 7;
    static final int ARRAY = 8;
    static final int FUNCTION = 9;
    static final int CALLBACK = 10;
    static final int URL = 11;
    static final int PROCEDURE = 12;
    static final int DATA = 13;

    // destination: Where an INOUT result goes.
    static final int NEW = 0;
    static final int IN_PLACE = 1;
    static final int INTO = 2;

    // layout: Rank of an array in the interface's own layout, leading dimensions included: a plain
    // C or Fortran pointer.
    static final int RAW_LAYOUT = -1;

    // rank: Arrays have at most this many dimensions.
    static final int RANK_MAX = 32;

    // wanted: What the server is to tell of a call while it is running: a sum of these.
    static final int WANT_PROGRESS = 1;
    static final int WANT_OUTPUT = 2;

    // news_kind: What the server tells of a call.
    static final int NEWS_QUEUED = 1;
    static final int NEWS_STARTED = 2;
    static final int NEWS_PROGRESS = 3;
    static final int NEWS_STDOUT = 4;
    static final int NEWS_STDERR = 5;
    static final int NEWS_OVER = 6;
    static final int NEWS_KEPT = 7;

    // result_kind: What a result is.
    static final int RESULT_NONE = 0;
    static final int RESULT_NULL = 1;
    static final int RESULT_ARRAY = 2;
    static final int RESULT_WRITTEN = 3;
    static final int RESULT_TEXT = 4;
    static final int RESULT_TEXTS = 5;
    static final int RESULT_DATA = 6;

    // tag: Tags of the native call (farcall-native.h): an element type, and how it is passed.
    static final int TAG_ELEMENT = 0xff;
    static final int TAG_POINTER = 0x100;
    static final int TAG_CONST = 0x200;
    static final int TAG_TEXT = 0x400;
    static final int TAG_OTHER = 0x800;

    // grpc_code: Codes. Their numbers differ between implementations, their names do not.
    static final int GRPC_NO_ERROR = 0;
    static final int GRPC_NOT_INITIALIZED = 1;
    static final int GRPC_CONFIGFILE_NOT_FOUND = 2;
    static final int GRPC_CONFIGFILE_ERROR = 3;
    static final int GRPC_SERVER_NOT_FOUND = 4;
    static final int GRPC_FUNCTION_NOT_FOUND = 5;
    static final int GRPC_INVALID_FUNCTION_HANDLE = 6;
    static final int GRPC_INVALID_SESSION_ID = 7;
    static final int GRPC_RPC_REFUSED = 8;
    static final int GRPC_COMMUNICATION_FAILED = 9;
    static final int GRPC_SESSION_FAILED = 10;
    static final int GRPC_NOT_COMPLETED = 11;
    static final int GRPC_NONE_COMPLETED = 12;
    static final int GRPC_OTHER_ERROR_CODE = 13;
    static final int GRPC_UNKNOWN_ERROR_CODE = 14;
    static final int GRPC_ALREADY_INITIALIZED = 15;
    static final int GRPC_LAST_ERROR_CODE = 16;
    static final int GRPC_INVALID_OBJECT_HANDLE_NP = 17;
    static final int GRPC_CLASS_NOT_FOUND_NP = 18;
    static final int GRPC_TIMEOUT_NP = 19;
    static final int GRPC_CANCELED_NP = 20;
}
