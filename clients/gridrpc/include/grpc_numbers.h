/* Made from spec/numbers.txt by tools/make-numbers.py: the numbers of the C interface. */
#ifndef FARCALL_GRPC_NUMBERS_H
#define FARCALL_GRPC_NUMBERS_H

/* No session. */
#define GRPC_SESSIONID_VOID (-1)

/* Codes. Their numbers differ between implementations, their names do not. */
#define GRPC_NO_ERROR 0
#define GRPC_NOT_INITIALIZED 1 /* grpc_initialize has not been called */
#define GRPC_CONFIGFILE_NOT_FOUND 2 /* the configuration file cannot be read */
#define GRPC_CONFIGFILE_ERROR 3 /* a mistake in it; the log has file, line and words */
#define GRPC_SERVER_NOT_FOUND 4 /* no such server, or nobody answers there */
#define GRPC_FUNCTION_NOT_FOUND 5 /* the server has no such routine */
/* the handle is not initialized, was destructed, or timed out */
#define GRPC_INVALID_FUNCTION_HANDLE 6
#define GRPC_INVALID_SESSION_ID 7 /* no such session */
#define GRPC_RPC_REFUSED 8 /* no permission, a limit of the server, or it is going away */
/* the connection ended, or the server was silent for too long */
#define GRPC_COMMUNICATION_FAILED 9
/* the routine failed, crashed or called exit(); see grpc_get_error */
#define GRPC_SESSION_FAILED 10
#define GRPC_NOT_COMPLETED 11 /* the session is running */
#define GRPC_NONE_COMPLETED 12 /* all sessions of the set are running */
#define GRPC_OTHER_ERROR_CODE 13 /* anything else: too few arguments, NULL, no memory */
#define GRPC_UNKNOWN_ERROR_CODE 14 /* what grpc_error_string calls a number that is no code */
#define GRPC_ALREADY_INITIALIZED 15 /* grpc_initialize was called, and not grpc_finalize */
#define GRPC_LAST_ERROR_CODE 16 /* the end of the standard's codes; never returned */
#define GRPC_INVALID_OBJECT_HANDLE_NP 17 /* as GRPC_INVALID_FUNCTION_HANDLE */
#define GRPC_CLASS_NOT_FOUND_NP 18 /* the server has no such class */
#define GRPC_TIMEOUT_NP 19 /* the session, its transfer, or the start of the handle timed out */
#define GRPC_CANCELED_NP 20 /* grpc_cancel ended the session */

/* What grpc_session_info_get_np says of a session. */
#define GRPC_SESSION_DONE 1
#define GRPC_SESSION_ARG_IS_NOT_TRANSMITED 2
#define GRPC_SESSION_EXECUTING 3
#define GRPC_SESSION_DOWN 4
#define GRPC_SESSION_UNKNOWN_STATUS 5

/* When grpc_call_async returns: arguments sent (the arrays may change); at once (they may not until
 * the session has ended); at once, with arrays copied. */
typedef enum grpc_argument_transfer_e_np {
    GRPC_ARGUMENT_TRANSFER_WAIT = 1,
    GRPC_ARGUMENT_TRANSFER_NOWAIT = 2,
    GRPC_ARGUMENT_TRANSFER_COPY = 3
} grpc_argument_transfer_t_np;

/* Attributes of handles. */
typedef enum grpc_handle_attr_name_e_np {
    GRPC_HANDLE_ATTR_HOSTNAME = 0, /* char *: the server, as for grpc_function_handle_init */
    GRPC_HANDLE_ATTR_PORT = 1, /* int * */
    GRPC_HANDLE_ATTR_JOBMANAGER = 2, /* char * */
    GRPC_HANDLE_ATTR_SUBJECT = 3, /* char * */
    GRPC_HANDLE_ATTR_FUNCNAME = 4, /* char *: the routine or class */
    GRPC_HANDLE_ATTR_JOBSTARTTIMEOUT = 5, /* int *: seconds, 0 for ever */
    GRPC_HANDLE_ATTR_JOBSTOPTIMEOUT = 6, /* int *: seconds, -1 for ever, 0 does not wait */
    GRPC_HANDLE_ATTR_WAIT_ARG_TRANSFER = 7, /* grpc_argument_transfer_t_np * */
    GRPC_HANDLE_ATTR_QUEUENAME = 8, /* char * */
    GRPC_HANDLE_ATTR_MPI_NCPUS = 9, /* int * */
    /* char *: what each process is given, such as "cores=4, memory=2 GB" */
    GRPC_HANDLE_ATTR_RESOURCES = 10
} grpc_handle_attr_name_t_np;

/* Attributes of sessions. */
typedef enum grpc_session_attr_name_e_np {
    GRPC_SESSION_ATTR_WAIT_ARG_TRANSFER = 0, /* grpc_argument_transfer_t_np * */
    GRPC_SESSION_ATTR_SESSION_TIMEOUT = 1, /* int *: seconds, 0 never; this and the following */
    GRPC_SESSION_ATTR_TRANSFER_TIMEOUT_ARGUMENT = 2,
    GRPC_SESSION_ATTR_TRANSFER_TIMEOUT_RESULT = 3,
    GRPC_SESSION_ATTR_TRANSFER_TIMEOUT_CALLBACK_ARGUMENT = 4,
    GRPC_SESSION_ATTR_TRANSFER_TIMEOUT_CALLBACK_RESULT = 5
} grpc_session_attr_name_t_np;

#endif
