/* Made from spec/numbers.txt by tools/make-numbers.py: the numbers of the C interface. */
#ifndef FARCALL_NUMBERS_H
#define FARCALL_NUMBERS_H

/* Kinds of errors: a closed set whose numbers never change their meaning. */
enum farcall_status {
    FARCALL_PENDING = -1, /* no error: what is waited for has not happened yet */
    FARCALL_OK = 0,
    FARCALL_INVALID_ARGUMENT = 1, /* count, type, rank, size, order or value of an argument */
    FARCALL_NOT_FOUND = 2, /* no such routine, parameter or file */
    FARCALL_AMBIGUOUS = 3, /* several modules publish the name */
    FARCALL_PERMISSION_DENIED = 4, /* another user, or a wrong token */
    FARCALL_UNREACHABLE = 5, /* nobody listens at the address */
    FARCALL_CONNECTION_LOST = 6, /* the connection ended during a call or a request */
    FARCALL_PROTOCOL = 7, /* the server broke the wire protocol */
    FARCALL_VERSION = 8, /* the server speaks another version */
    FARCALL_LIMIT_EXCEEDED = 9, /* a named limit of the server or the interface */
    FARCALL_TIMED_OUT = 10, /* the call timed out */
    FARCALL_CANCELLED = 11, /* farcall_call_cancel ended the call */
    FARCALL_ROUTINE_CRASHED = 12, /* the routine ended by a signal */
    FARCALL_ROUTINE_EXITED = 13, /* the routine called exit() */
    FARCALL_ROUTINE_FAILED = 14, /* the routine itself reported failure */
    FARCALL_INTERFACE_CHANGED = 15, /* the routine was published again: look it up again */
    FARCALL_INVALID_SOURCE = 16, /* mistakes in an interface file */
    FARCALL_UNAVAILABLE = 17, /* a library, symbol, compiler or program is missing */
    FARCALL_SHUTTING_DOWN = 18, /* the server is going away */
    FARCALL_SYSTEM = 19, /* a system call failed */
    FARCALL_INTERNAL = 20, /* a bug in Farcall: please report it */
    FARCALL_DAMAGED = 21 /* data arrived damaged: their checksum differs */
};

/* Types of elements. */
enum farcall_element {
    FARCALL_VOID = 0, /* the type that the interface declares: the library trusts the caller */
    FARCALL_CHAR = 1, /* one byte of text */
    FARCALL_INT8 = 2,
    FARCALL_UINT8 = 3,
    FARCALL_INT16 = 4,
    FARCALL_UINT16 = 5,
    FARCALL_INT32 = 6,
    FARCALL_UINT32 = 7,
    FARCALL_INT64 = 8,
    FARCALL_UINT64 = 9,
    FARCALL_FLOAT32 = 10,
    FARCALL_FLOAT64 = 11,
    FARCALL_COMPLEX64 = 12, /* two float: real, imaginary */
    FARCALL_COMPLEX128 = 13, /* two double */
    FARCALL_STRUCT = 14 /* the struct that the interface declares for the parameter */
};

/* Which way a parameter goes. */
enum farcall_mode {
    FARCALL_MODE_IN = 0, /* to the routine */
    FARCALL_MODE_OUT = 1, /* from the routine */
    FARCALL_MODE_INOUT = 2, /* both ways */
    FARCALL_MODE_WORK = 3 /* memory of the routine's own, which no caller passes */
};

/* How the value of a parameter lies. */
enum farcall_parameter_kind {
    FARCALL_PARAMETER_ABSENT = 0, /* nowhere: the routine does not refer to it */
    FARCALL_PARAMETER_NUMBER = 1, /* one element at `data` */
    /* `rank` extents and strides; the element with all indexes 0 at `data` */
    FARCALL_PARAMETER_ARRAY = 2,
    FARCALL_PARAMETER_TEXT = 3, /* `shape[0]` bytes at `data`, and a NUL; NULL for no text */
    /* the same: the path of a file of this call alone, in any mode; NULL for none */
    FARCALL_PARAMETER_FILE = 4,
    /* a function of the caller's at `data`, with the callback's C prototype; NULL for none */
    FARCALL_PARAMETER_CALLBACK = 5,
    /* an array of strings: `shape[0]` pointers at `data`, each to a text with a NUL, or NULL */
    FARCALL_PARAMETER_TEXTS = 6
};

/* What a farcall_argument holds. */
enum farcall_argument_kind {
    FARCALL_UNSET = 0, /* inferred, defaulted, WORK, or a result that the call allocates */
    FARCALL_INTEGER = 1, /* value.integer */
    FARCALL_REAL = 2, /* value.real */
    FARCALL_COMPLEX = 3, /* value.parts */
    /* value.text: the bytes of one value of the parameter's type (a struct, an unsigned 64-bit) */
    FARCALL_RAW = 4,
    FARCALL_TEXT = 5, /* value.text */
    FARCALL_TEXTS = 6, /* value.texts */
    FARCALL_NULL = 7, /* a NULL string, array or function */
    /* data, element, rank, shape, strides; for OUT parameters: where the result goes */
    FARCALL_ARRAY = 8,
    FARCALL_FUNCTION = 9, /* value.function: a function with the callback's own C prototype */
    /* value.callback: a function that asks for its parameters, for bindings */
    FARCALL_CALLBACK = 10,
    /* value.text: from where the server fetches the array, if its configuration file allows the
     * source */
    FARCALL_URL = 11,
    /* value.function: as FARCALL_FUNCTION, a Fortran procedure: everything by reference, and the
     * lengths of CHARACTERs at the end, as size_t */
    FARCALL_PROCEDURE = 12,
    FARCALL_DATA = 13 /* data: a farcall_data */
};

/* Where an INOUT result goes. */
enum farcall_destination {
    FARCALL_NEW = 0, /* the result gets memory of its own */
    FARCALL_IN_PLACE = 1, /* it goes over the argument */
    FARCALL_INTO = 2 /* it goes to `into` */
};

/* Rank of an array in the interface's own layout, leading dimensions included: a plain C or Fortran
 * pointer. */
#define FARCALL_RAW_LAYOUT (-1)

/* Arrays have at most this many dimensions. */
#define FARCALL_RANK_MAX 32

/* What the server is to tell of a call while it is running: a sum of these. */
enum farcall_wanted {
    /* its place in the queue, its start, and the progress that the routine reports */
    FARCALL_WANT_PROGRESS = 1,
    FARCALL_WANT_OUTPUT = 2 /* what the routine writes to its standard output and error */
};

/* What the server tells of a call. */
enum farcall_news_kind {
    FARCALL_NEWS_QUEUED = 1, /* it waits in the queue behind `before` calls */
    FARCALL_NEWS_STARTED = 2, /* its routine began */
    /* `done`, from 0 to 1, and a word on it; before it began: 0, and what the call waits for */
    FARCALL_NEWS_PROGRESS = 3,
    /* bytes that the routine wrote to its standard output, cut anywhere */
    FARCALL_NEWS_STDOUT = 4,
    FARCALL_NEWS_STDERR = 5, /* the same of its standard error */
    FARCALL_NEWS_OVER = 6, /* it has finished: farcall_call_wait gives its outcome */
    FARCALL_NEWS_KEPT = 7 /* from now on it runs without this program (keep_seconds) */
};

/* What a result is. */
enum farcall_result_kind {
    FARCALL_RESULT_NONE = 0, /* of an IN parameter, or of one that was not referenced */
    FARCALL_RESULT_NULL = 1, /* NULL */
    /* an array in memory of its own; OUT scalars are arrays of one element */
    FARCALL_RESULT_ARRAY = 2,
    FARCALL_RESULT_WRITTEN = 3, /* the caller's array was written */
    FARCALL_RESULT_TEXT = 4, /* a string */
    FARCALL_RESULT_TEXTS = 5, /* strings */
    FARCALL_RESULT_DATA = 6 /* data at the server */
};

/* Tags of the native call (farcall-native.h): an element type, and how it is passed. */
#define FARCALL_TAG_ELEMENT 0xffu /* mask of the element type */
#define FARCALL_TAG_POINTER 0x100u /* a pointer to it */
#define FARCALL_TAG_CONST 0x200u /* to memory that must not be written to */
#define FARCALL_TAG_TEXT 0x400u /* char **: the place of a string */
#define FARCALL_TAG_OTHER 0x800u /* a pointer to something that is no number */

#endif
