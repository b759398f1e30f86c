/* Made from spec/numbers.txt by tools/make-numbers.py: the numbers of the C interface. */
#ifndef FARCALL_NINF_NUMBERS_H
#define FARCALL_NINF_NUMBERS_H

/* What functions return. */
#define NINF_OK 0
#define NINF_ERROR (-1)

/* Errors. Compare names: up to 33 the numbers are those of Ninf 1, above they are ours. */
enum ninf_error {
    NINF_NO_ERROR = 0,
    CANTFINDSTUB = 1, /* the server has no such function */
    CANTEXECUTESTUB = 2, /* its code cannot be started */
    STUBREMOVED = 3, /* it was there, and is not any more; an executable that has ended */
    STUBALREADY = 4, /* never: a stub takes any number of calls */
    /* its interface is not available, or has changed; two modules have the name */
    STUBREADFAIL = 5,
    DATASENDFAIL = 6, /* the connection ended while arguments were sent */
    DATARECVFAIL = 7, /* the connection ended before the results were here */
    CANTCONNECTSERVER = 8, /* nobody answers there */
    CANTFINDSESSION = 9, /* no such session */
    CANTALLOCSESSION = 10, /* more calls than a transaction may have */
    /* the server has no memory for the arrays, or may not have so much */
    SERVER_CANNOT_ALLOC = 11,
    HTTP_CANNOT_CONNECT = 12, /* of an array by URL: nobody answers there */
    HTTP_NOT_FOUND = 13, /* there is no such page */
    HTTP_HEADER_READ_ERROR = 14, /* what answers is no web server, or refuses */
    HTTP_UNKNOWN_FORMAT = 15, /* its name must end in .npy or .mtx */
    HTTP_FORMAT_ERROR = 16, /* it is damaged */
    HTTP_TYPE_MISMATCH = 17, /* it has another shape or type than the argument */
    NINF_PROTOCOL_ERROR = 18, /* what answers is no Farcall server, or one of another version */
    NINF_INTERNAL_ERROR = 19, /* a bug in Farcall: please report it */
    AUTHENTICATION_FAILED = 20, /* no permission */
    SESSION_ISNOT_DONE = 21, /* it is running */
    SESSION_CANCELED = 22, /* Ninf_session_cancel */
    SESSION_FINISHED = 23, /* it has ended: there is nothing to cancel */
    FILE_CANNOT_OPEN = 24, /* a file that is an argument, or that of -map */
    FILE_CANNOT_WRITE = 25,
    MALFORMED_URL = 26, /* an invalid entry or URL */
    CIM_OK = 28, /* what functions of Ninf_set_cim_funcs return; 0 will do */
    CIM_ERROR_NOT_DEFINED = 29, /* there is no function for it */
    CIM_ERROR_TYPE_MISMATCH = 30,
    CIM_ERROR_CANNOT_ALLOC = 31,
    CIM_ERROR_ARRAY_BOUND = 32,
    CPROXY_CANNOT_SCHEDULE = 33, /* no host of -map has the function */
    STORAGE_NOT_FOUND = 34, /* of an array by file: URL: the server has no such file */
    STORAGE_CANNOT_OPEN = 35,
    STORAGE_TYPE_MISMATCH = 36, /* it is not an array of this shape and type */
    STUB_ERROR_SIGFPE = 37, /* the function ended by this signal */
    STUB_ERROR_SIGSEGV = 38,
    COMPUTATION_REFUSED = 39, /* a limit of the server, or it is going away */
    STUB_ERROR = 40, /* the function failed or called exit() */
    STUB_ERROR_SIGBUS = 41,
    STUB_ERROR_SIGILL = 42,
    STUB_ERROR_SIGNAL = 43, /* by another signal */
    NINF_TIMEOUT = 44, /* the call timed out */
    INVALID_ARGUMENT = 45, /* too few arguments, NULL, … */
    TRANSACTION_NESTED = 46, /* begun twice */
    TRANSACTION_NOT_BEGUN = 47, /* ended, and not begun */
    TRANSACTION_FAILED = 48, /* one of its calls failed */
    TRANSACTION_CANCELED = 49 /* Ninf_transaction_cancel */
};

/* Types of arguments; an array has that of its elements. */
enum ninf_type {
    NINF_CHAR = 1,
    NINF_INT8 = 2,
    NINF_UNSIGNED_CHAR = 3,
    NINF_SHORT = 4,
    NINF_UNSIGNED_SHORT = 5,
    NINF_INT = 6,
    NINF_UNSIGNED_INT = 7,
    NINF_LONG = 8,
    NINF_UNSIGNED_LONG = 9,
    NINF_FLOAT = 10,
    NINF_DOUBLE = 11,
    NINF_SCOMPLEX = 12,
    NINF_DCOMPLEX = 13,
    NINF_STRING = 64,
    NINF_FILENAME = 65,
    NINF_FUNCTION = 66,
    NINF_STRUCT = 67
};

#endif
