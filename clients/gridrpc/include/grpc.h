/* The GridRPC interface (GFD-R.052, and the extensions of Ninf-G that end in _np) on Farcall.
 *
 *     grpc_function_handle_t handle;
 *     grpc_initialize(argv[1]);
 *     grpc_function_handle_default(&handle, "lapack/dgesv");
 *     grpc_call(&handle, n, nrhs, a, lda, ipiv, b, ldb, &info);
 *     grpc_function_handle_destruct(&handle);
 *     grpc_finalize();
 *
 * Rules for all functions:
 *
 * - What returns grpc_error_t returns GRPC_NO_ERROR or says what went wrong; besides what stands at a function, each
 *   may return GRPC_NOT_INITIALIZED (before grpc_initialize, and in a process forked from the one that called it) and
 *   GRPC_OTHER_ERROR_CODE (NULL where a pointer is wanted, a wrong argument, no memory). The words to a code go to the
 *   log, which is standard error unless the configuration says otherwise; grpc_perror_np repeats the last ones.
 * - Every function may be called from any thread at any time, but grpc_initialize and grpc_finalize not while
 *   another thread is inside one of these functions for the first time. No call waits because another one is under way.
 * - Handles, attributes and sessions are numbers inside fixed structs of 64 bytes: copy them by value as you like.
 *   All copies are the same handle, and destructing one ends all of them.
 * - Arguments follow in the interface's order; WORK arrays may be left out, or have a place as in Ninf-G (where the
 *   arguments are not counted, they have one). IN scalars go by value with C's promotions (float
 *   becomes double); arrays and all that is OUT or INOUT by pointer; a string is a char *, an OUT string a char **
 *   that receives memory to free(); a file is its path. GCC and Clang count the arguments, so that too few are
 *   an error and no crash, and too many a warning; GRPC_NO_COUNT before the include switches that off.
 * - The names are bound to symbols that begin with farcall_, so that a library with these names may be in the same
 *   process. Numbers of codes are those of GFD-R.052, with the _NP ones above them: compare names.
 *
 * Without GRPC_STRICT_HEADERS before it, this header includes what programs for Ninf-G have always got with it.
 */
#ifndef FARCALL_GRPC_H
#define FARCALL_GRPC_H

#include <stddef.h>
#include <sys/time.h>

#ifndef GRPC_STRICT_HEADERS
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* A declared name's symbol. */
#define FARCALL_GRPC_TEXT(x) FARCALL_GRPC_TEXT_OF(x)
#define FARCALL_GRPC_TEXT_OF(x) #x
#define FARCALL_GRPC_SYMBOL(name) __asm__(FARCALL_GRPC_TEXT(__USER_LABEL_PREFIX__) "farcall_" #name)

/* Text that goes in is only read. C++ does not pass literals as `char *`. */
#ifdef __cplusplus
typedef const char farcall_grpc_char;
#else
typedef char farcall_grpc_char;
#endif

/* ---- Types ----------------------------------------------------------------------------------- */

/* 64 bits wherever Farcall runs, and in every standard of C and C++. */
typedef unsigned long farcall_grpc_word;

/* grpc_executable.h has it, too. */
#ifndef GRPC_ERROR_T_DEFINED
#define GRPC_ERROR_T_DEFINED
typedef int grpc_error_t;
#endif
typedef int grpc_sessionid_t;

/* Complex numbers as Ninf-G has them; grpc_executable.h has them, too. */
#ifndef FARCALL_COMPLEX_TYPES
#define FARCALL_COMPLEX_TYPES
typedef struct { float r, i; } scomplex;
typedef struct { double r, i; } dcomplex;
#endif

#include "grpc_numbers.h"

#define GRPC_TRUE 1
#define GRPC_FALSE 0

/* A function handle: what grpc_call calls, and where. */
typedef struct grpc_function_handle_s {
    farcall_grpc_word farcall_id;
    farcall_grpc_word farcall_reserved[7];
} grpc_function_handle_t;

/* An object handle: a process of its own that keeps state between calls. */
typedef struct grpc_object_handle_s_np {
    farcall_grpc_word farcall_id;
    farcall_grpc_word farcall_reserved[7];
} grpc_object_handle_t_np;

/* Members may be set and read in the place of grpc_handle_attr_set_np and _get_np; texts stay the
 * caller's. A copy has members of its own. */
typedef struct grpc_handle_attr_s_np {
    unsigned farcall_id;
    int gha_remotePortNo;
    char *gha_remoteHostName;
    char *gha_jobManager;
    char *gha_subject;
    char *gha_functionName;
    char *gha_queueName;
    int gha_jobStartTimeout; /* seconds, here and below */
    int gha_jobStopTimeout;
    int gha_waitArgTransfer; /* a GRPC_ARGUMENT_TRANSFER_… */
    int gha_mpiNcpus;
} grpc_handle_attr_t_np;

typedef struct grpc_session_attr_s_np {
    farcall_grpc_word farcall_id;
    farcall_grpc_word farcall_reserved[7];
} grpc_session_attr_t_np;

/* A stack of arguments; every element is an address. */
typedef struct farcall_grpc_arg_stack grpc_arg_stack_t;
typedef void diet_grpc_arg_t;

/* Times of a session. Members with two names have the second one from older releases. */
#define FARCALL_GRPC_TIME(name) struct timeval name##RealTime, name##CpuTime
#define FARCALL_GRPC_TIMES(name, older) \
    union { struct timeval name##RealTime, older##RealTime; }; \
    union { struct timeval name##CpuTime, older##CpuTime; }

#if defined __GNUC__
__extension__
#endif
typedef struct grpc_exec_info_executable_s_np {
    int callbackNtimesCalled;
    FARCALL_GRPC_TIMES(transferArgumentToRemote, transferArgument);
    FARCALL_GRPC_TIMES(transferFileToRemote, transferFileClientToRemote);
    FARCALL_GRPC_TIMES(calculation, executable);
    FARCALL_GRPC_TIMES(transferResultToClient, transferResult);
    FARCALL_GRPC_TIMES(transferFileToClient, transferFileRemoteToClient);
    FARCALL_GRPC_TIMES(callbackTransferArgumentToClient, callbackTransferArgument);
    FARCALL_GRPC_TIME(callbackCalculation);
    FARCALL_GRPC_TIMES(callbackTransferResultToRemote, callbackTransferResult);
} grpc_exec_info_executable_t_np;

#if defined __GNUC__
__extension__
#endif
typedef struct grpc_exec_info_client_s_np {
    int callbackNtimesCalled;
    FARCALL_GRPC_TIME(remoteMachineInfoRequest);
    FARCALL_GRPC_TIME(remoteClassInfoRequest);
    FARCALL_GRPC_TIME(gramInvoke);
    FARCALL_GRPC_TIMES(transferArgumentToRemote, transferArgument);
    FARCALL_GRPC_TIMES(calculation, client);
    FARCALL_GRPC_TIMES(transferResultToClient, transferResult);
    FARCALL_GRPC_TIMES(callbackTransferArgumentToClient, callbackTransferArgument);
    FARCALL_GRPC_TIME(callbackCalculation);
    FARCALL_GRPC_TIMES(callbackTransferResultToRemote, callbackTransferResult);
} grpc_exec_info_client_t_np;

typedef struct grpc_compression_info_s_np {
    int valid; /* 1: the array travelled compressed */
    size_t originalNbytes;
    size_t compressionNbytes;
    FARCALL_GRPC_TIME(compression);
    FARCALL_GRPC_TIME(decompression);
} grpc_compression_info_t_np;

typedef struct grpc_session_info_s_np {
    grpc_exec_info_executable_t_np gei_measureExecutable; /* by the server */
    grpc_exec_info_client_t_np gei_measureClient;         /* by this process */
    struct {
        /* of each: one per argument, WORK ones included; 0 until the session has ended well */
        int nElements;
        grpc_compression_info_t_np *toRemote;
        grpc_compression_info_t_np *toClient;
    } gei_compressionInformation;
} grpc_session_info_t_np;

/* The older name. */
typedef struct grpc_session_info_s_np grpc_exec_info_t_np;

/* ---- Beginning and end ----------------------------------------------------------------------- */

/* Reads the configuration: NULL or "" is $NG_CONFIG_FILE, or $HOME/.ngconf; without either, the
 * server is $FARCALL_SERVER or this user's own. May follow a grpc_finalize any number of times.
 * GRPC_CONFIGFILE_NOT_FOUND, GRPC_CONFIGFILE_ERROR, GRPC_ALREADY_INITIALIZED. */
grpc_error_t grpc_initialize(farcall_grpc_char *config_file) FARCALL_GRPC_SYMBOL(grpc_initialize);

/* Cancels the sessions that are under way, lets threads that wait for them return
 * GRPC_NOT_INITIALIZED, frees all handles, attributes and sessions, and closes the connections. */
grpc_error_t grpc_finalize(void) FARCALL_GRPC_SYMBOL(grpc_finalize);

/* Reads one more configuration file, or the same one again. Handles that exist stay as they are. */
grpc_error_t grpc_config_file_read_np(farcall_grpc_char *config_file)
    FARCALL_GRPC_SYMBOL(grpc_config_file_read_np);

/* ---- Function handles ------------------------------------------------------------------------ */

/* Binds a handle to `function` ("module/routine", or a name that is unique) at the first server
 * that has it. GRPC_SERVER_NOT_FOUND, GRPC_FUNCTION_NOT_FOUND, GRPC_RPC_REFUSED. */
grpc_error_t grpc_function_handle_default(grpc_function_handle_t *handle,
    farcall_grpc_char *function) FARCALL_GRPC_SYMBOL(grpc_function_handle_default);

/* The same at `server`: the tag or a host name of a SERVER section, or an address (unix:PATH,
 * ssh://HOST, tls://HOST:PORT, farcall://HOST:PORT). */
grpc_error_t grpc_function_handle_init(grpc_function_handle_t *handle, farcall_grpc_char *server,
    farcall_grpc_char *function) FARCALL_GRPC_SYMBOL(grpc_function_handle_init);
grpc_error_t grpc_function_handle_init_with_attr_np(grpc_function_handle_t *handle,
    grpc_handle_attr_t_np *attr) FARCALL_GRPC_SYMBOL(grpc_function_handle_init_with_attr_np);

/* Frees a handle. Sessions under way with it are cancelled; they are still to be waited for.
 * GRPC_INVALID_FUNCTION_HANDLE, GRPC_TIMEOUT_NP when the remote process of an array's handle did
 * not end in time. */
grpc_error_t grpc_function_handle_destruct(grpc_function_handle_t *handle)
    FARCALL_GRPC_SYMBOL(grpc_function_handle_destruct);

/* `count` handles in one step, each with a remote process of its own. */
grpc_error_t grpc_function_handle_array_default_np(grpc_function_handle_t *handles, size_t count,
                                                   farcall_grpc_char *function)
    FARCALL_GRPC_SYMBOL(grpc_function_handle_array_default_np);
grpc_error_t grpc_function_handle_array_init_np(grpc_function_handle_t *handles, size_t count,
    farcall_grpc_char *server, farcall_grpc_char *function)
    FARCALL_GRPC_SYMBOL(grpc_function_handle_array_init_np);
grpc_error_t grpc_function_handle_array_init_with_attr_np(
    grpc_function_handle_t *handles, size_t count, grpc_handle_attr_t_np *attr)
    FARCALL_GRPC_SYMBOL(grpc_function_handle_array_init_with_attr_np);
grpc_error_t grpc_function_handle_array_destruct_np(grpc_function_handle_t *handles, size_t count)
    FARCALL_GRPC_SYMBOL(grpc_function_handle_array_destruct_np);

/* The attributes that a handle has, to be freed by grpc_handle_attr_destruct_np. */
grpc_error_t grpc_function_handle_get_attr_np(grpc_function_handle_t *handle,
    grpc_handle_attr_t_np *attr) FARCALL_GRPC_SYMBOL(grpc_function_handle_get_attr_np);

/* The handle that a session was started with: the very pointer. GRPC_INVALID_SESSION_ID. */
grpc_error_t grpc_get_handle(grpc_function_handle_t **handle, grpc_sessionid_t session)
    FARCALL_GRPC_SYMBOL(grpc_get_handle);
grpc_error_t grpc_function_handle_get_from_session_np(grpc_function_handle_t **handle,
    grpc_sessionid_t session) FARCALL_GRPC_SYMBOL(grpc_function_handle_get_from_session_np);

/* The last error with a handle: printed to standard error as "text: words"; as a code. */
grpc_error_t grpc_function_handle_perror_np(grpc_function_handle_t *handle, farcall_grpc_char *text)
    FARCALL_GRPC_SYMBOL(grpc_function_handle_perror_np);
grpc_error_t grpc_function_handle_get_error_np(grpc_function_handle_t *handle)
    FARCALL_GRPC_SYMBOL(grpc_function_handle_get_error_np);

/* GRPC_NO_ERROR when it can take a call now, GRPC_NOT_COMPLETED while it starts. Never waits. */
grpc_error_t grpc_function_handle_is_ready_np(grpc_function_handle_t *handle)
    FARCALL_GRPC_SYMBOL(grpc_function_handle_is_ready_np);

/* ---- Object handles: as function handles, with the name of a class. GRPC_CLASS_NOT_FOUND_NP,
 * GRPC_INVALID_OBJECT_HANDLE_NP.
 * ----------------------------------------------------------------------------------- */

grpc_error_t grpc_object_handle_default_np(grpc_object_handle_t_np *handle,
    farcall_grpc_char *class_name) FARCALL_GRPC_SYMBOL(grpc_object_handle_default_np);
grpc_error_t grpc_object_handle_init_np(grpc_object_handle_t_np *handle, farcall_grpc_char *server,
    farcall_grpc_char *class_name) FARCALL_GRPC_SYMBOL(grpc_object_handle_init_np);
grpc_error_t grpc_object_handle_init_with_attr_np(grpc_object_handle_t_np *handle,
    grpc_handle_attr_t_np *attr) FARCALL_GRPC_SYMBOL(grpc_object_handle_init_with_attr_np);
grpc_error_t grpc_object_handle_destruct_np(grpc_object_handle_t_np *handle)
    FARCALL_GRPC_SYMBOL(grpc_object_handle_destruct_np);
grpc_error_t grpc_object_handle_array_default_np(grpc_object_handle_t_np *handles, size_t count,
                                                 farcall_grpc_char *class_name)
    FARCALL_GRPC_SYMBOL(grpc_object_handle_array_default_np);
grpc_error_t grpc_object_handle_array_init_np(grpc_object_handle_t_np *handles, size_t count,
    farcall_grpc_char *server, farcall_grpc_char *class_name)
    FARCALL_GRPC_SYMBOL(grpc_object_handle_array_init_np);
grpc_error_t grpc_object_handle_array_init_with_attr_np(
    grpc_object_handle_t_np *handles, size_t count, grpc_handle_attr_t_np *attr)
    FARCALL_GRPC_SYMBOL(grpc_object_handle_array_init_with_attr_np);
grpc_error_t grpc_object_handle_array_destruct_np(grpc_object_handle_t_np *handles, size_t count)
    FARCALL_GRPC_SYMBOL(grpc_object_handle_array_destruct_np);
grpc_error_t grpc_object_handle_get_attr_np(grpc_object_handle_t_np *handle,
    grpc_handle_attr_t_np *attr) FARCALL_GRPC_SYMBOL(grpc_object_handle_get_attr_np);
grpc_error_t grpc_object_handle_get_from_session_np(grpc_object_handle_t_np **handle,
    grpc_sessionid_t session) FARCALL_GRPC_SYMBOL(grpc_object_handle_get_from_session_np);
grpc_error_t grpc_object_handle_perror_np(grpc_object_handle_t_np *handle, farcall_grpc_char *text)
    FARCALL_GRPC_SYMBOL(grpc_object_handle_perror_np);
grpc_error_t grpc_object_handle_get_error_np(grpc_object_handle_t_np *handle)
    FARCALL_GRPC_SYMBOL(grpc_object_handle_get_error_np);
grpc_error_t grpc_object_handle_is_ready_np(grpc_object_handle_t_np *handle)
    FARCALL_GRPC_SYMBOL(grpc_object_handle_is_ready_np);

/* ---- Attributes of handles and sessions ------------------------------------------------------ */

/* `_get_np` gives a copy, for `_release_np` to free. `_set_np` takes the text itself for strings,
 * and the address of an int or a grpc_argument_transfer_t_np for the others; it copies them. */
grpc_error_t grpc_handle_attr_initialize_np(grpc_handle_attr_t_np *attr)
    FARCALL_GRPC_SYMBOL(grpc_handle_attr_initialize_np);
grpc_error_t grpc_handle_attr_destruct_np(grpc_handle_attr_t_np *attr)
    FARCALL_GRPC_SYMBOL(grpc_handle_attr_destruct_np);
grpc_error_t grpc_handle_attr_get_np(grpc_handle_attr_t_np *attr, grpc_handle_attr_name_t_np name,
    void **value) FARCALL_GRPC_SYMBOL(grpc_handle_attr_get_np);
grpc_error_t grpc_handle_attr_set_np(grpc_handle_attr_t_np *attr, grpc_handle_attr_name_t_np name,
    void *value) FARCALL_GRPC_SYMBOL(grpc_handle_attr_set_np);
grpc_error_t grpc_handle_attr_release_np(void *value)
    FARCALL_GRPC_SYMBOL(grpc_handle_attr_release_np);

/* Attributes for a session, as they are for those of the handle by default. */
grpc_error_t grpc_session_attr_initialize_np(grpc_function_handle_t *handle,
    grpc_session_attr_t_np *attr) FARCALL_GRPC_SYMBOL(grpc_session_attr_initialize_np);
grpc_error_t grpc_session_attr_initialize_with_object_handle_np(grpc_object_handle_t_np *handle,
                                                                grpc_session_attr_t_np *attr)
    FARCALL_GRPC_SYMBOL(grpc_session_attr_initialize_with_object_handle_np);
grpc_error_t grpc_session_attr_destruct_np(grpc_session_attr_t_np *attr)
    FARCALL_GRPC_SYMBOL(grpc_session_attr_destruct_np);
grpc_error_t grpc_session_attr_get_np(grpc_session_attr_t_np *attr,
    grpc_session_attr_name_t_np name, void **value) FARCALL_GRPC_SYMBOL(grpc_session_attr_get_np);
grpc_error_t grpc_session_attr_set_np(grpc_session_attr_t_np *attr,
    grpc_session_attr_name_t_np name, void *value) FARCALL_GRPC_SYMBOL(grpc_session_attr_set_np);
grpc_error_t grpc_session_attr_release_np(void *value)
    FARCALL_GRPC_SYMBOL(grpc_session_attr_release_np);

/* ---- Calls ----------------------------------------------------------------------------------- */

/* Calls and waits for the end. GRPC_SERVER_NOT_FOUND, GRPC_FUNCTION_NOT_FOUND,
 * GRPC_INVALID_FUNCTION_HANDLE, GRPC_RPC_REFUSED, GRPC_COMMUNICATION_FAILED, GRPC_SESSION_FAILED,
 * GRPC_TIMEOUT_NP. */
grpc_error_t grpc_call(grpc_function_handle_t *handle, ...) FARCALL_GRPC_SYMBOL(grpc_call);

/* Starts a session: *session is its number, GRPC_SESSIONID_VOID when it could not be started.
 * Returns when IN arrays may be changed again (unless attributes say otherwise); results are there
 * when it was waited for. Waits for room when the server takes no more. Sessions end by themselves,
 * whether the program calls this library or not. */
grpc_error_t grpc_call_async(grpc_function_handle_t *handle, grpc_sessionid_t *session, ...)
    FARCALL_GRPC_SYMBOL(grpc_call_async);
grpc_error_t grpc_call_with_attr_np(grpc_function_handle_t *handle, grpc_session_attr_t_np *attr,
    ...) FARCALL_GRPC_SYMBOL(grpc_call_with_attr_np);
grpc_error_t grpc_call_async_with_attr_np(grpc_function_handle_t *handle, grpc_sessionid_t *session,
                                          grpc_session_attr_t_np *attr, ...)
    FARCALL_GRPC_SYMBOL(grpc_call_async_with_attr_np);

/* The same with a method of an object. */
grpc_error_t grpc_invoke_np(grpc_object_handle_t_np *handle, farcall_grpc_char *method, ...)
    FARCALL_GRPC_SYMBOL(grpc_invoke_np);
grpc_error_t grpc_invoke_async_np(grpc_object_handle_t_np *handle, farcall_grpc_char *method,
    grpc_sessionid_t *session, ...) FARCALL_GRPC_SYMBOL(grpc_invoke_async_np);
grpc_error_t grpc_invoke_with_attr_np(grpc_object_handle_t_np *handle, farcall_grpc_char *method,
    grpc_session_attr_t_np *attr, ...) FARCALL_GRPC_SYMBOL(grpc_invoke_with_attr_np);
grpc_error_t grpc_invoke_async_with_attr_np(grpc_object_handle_t_np *handle,
    farcall_grpc_char *method, grpc_sessionid_t *session, grpc_session_attr_t_np *attr, ...)
    FARCALL_GRPC_SYMBOL(grpc_invoke_async_with_attr_np);

/* ---- Stacks of arguments, in the spellings of Ninf-G and DIET (the drafts' are in
   netsolve_grpc.h) --------------- */

/* A stack that grows to `max` elements; NULL on error. Not to be used by two threads at once. */
grpc_arg_stack_t *grpc_arg_stack_new(int max) FARCALL_GRPC_SYMBOL(grpc_arg_stack_new);
/* Pushes the address of an argument: of scalars theirs, of strings and arrays the pointer itself.
   0, or -1 when full. */
int grpc_arg_stack_push_arg(grpc_arg_stack_t *stack, void *argument)
    FARCALL_GRPC_SYMBOL(grpc_arg_stack_push_arg);
/* Takes the last one; NULL when there is none. */
void *grpc_arg_stack_pop_arg(grpc_arg_stack_t *stack) FARCALL_GRPC_SYMBOL(grpc_arg_stack_pop_arg);
int grpc_arg_stack_destruct(grpc_arg_stack_t *stack) FARCALL_GRPC_SYMBOL(grpc_arg_stack_destruct);

grpc_arg_stack_t *grpc_stack_create(size_t max) FARCALL_GRPC_SYMBOL(grpc_stack_create);
grpc_error_t grpc_stack_push(grpc_arg_stack_t *stack, void *argument)
    FARCALL_GRPC_SYMBOL(grpc_stack_push);
grpc_error_t grpc_stack_pop(grpc_arg_stack_t *stack, diet_grpc_arg_t **argument)
    FARCALL_GRPC_SYMBOL(grpc_stack_pop);
grpc_error_t grpc_stack_destruct(grpc_arg_stack_t *stack) FARCALL_GRPC_SYMBOL(grpc_stack_destruct);

/* Calls with the arguments of a stack, in the order in which they were pushed. Those that return
 * int: 0 or -1, with the code in grpc_last_error_get_np. Their asynchronous forms have no place for
 * the session's number: wait for all. */
int grpc_call_arg_stack(grpc_function_handle_t *handle, grpc_arg_stack_t *stack)
    FARCALL_GRPC_SYMBOL(grpc_call_arg_stack);
int grpc_call_arg_stack_async(grpc_function_handle_t *handle, grpc_arg_stack_t *stack)
    FARCALL_GRPC_SYMBOL(grpc_call_arg_stack_async);
int grpc_call_arg_stack_with_attr_np(grpc_function_handle_t *handle, grpc_session_attr_t_np *attr,
    grpc_arg_stack_t *stack) FARCALL_GRPC_SYMBOL(grpc_call_arg_stack_with_attr_np);
int grpc_call_arg_stack_async_with_attr_np(
    grpc_function_handle_t *handle, grpc_session_attr_t_np *attr, grpc_arg_stack_t *stack)
    FARCALL_GRPC_SYMBOL(grpc_call_arg_stack_async_with_attr_np);
grpc_error_t grpc_call_argstack(grpc_function_handle_t *handle, grpc_arg_stack_t *stack)
    FARCALL_GRPC_SYMBOL(grpc_call_argstack);
grpc_error_t grpc_call_argstack_async(grpc_function_handle_t *handle, grpc_sessionid_t *session,
    grpc_arg_stack_t *stack) FARCALL_GRPC_SYMBOL(grpc_call_argstack_async);
int grpc_invoke_arg_stack_np(grpc_object_handle_t_np *handle, farcall_grpc_char *method,
    grpc_arg_stack_t *stack) FARCALL_GRPC_SYMBOL(grpc_invoke_arg_stack_np);
int grpc_invoke_arg_stack_async_np(grpc_object_handle_t_np *handle, farcall_grpc_char *method,
    grpc_arg_stack_t *stack) FARCALL_GRPC_SYMBOL(grpc_invoke_arg_stack_async_np);
int grpc_invoke_arg_stack_with_attr_np(grpc_object_handle_t_np *handle, farcall_grpc_char *method,
                                       grpc_session_attr_t_np *attr, grpc_arg_stack_t *stack)
    FARCALL_GRPC_SYMBOL(grpc_invoke_arg_stack_with_attr_np);
int grpc_invoke_arg_stack_async_with_attr_np(grpc_object_handle_t_np *handle,
    farcall_grpc_char *method, grpc_session_attr_t_np *attr, grpc_arg_stack_t *stack)
    FARCALL_GRPC_SYMBOL(grpc_invoke_arg_stack_async_with_attr_np);

/* ---- Sessions -------------------------------------------------------------------------------- */

/* GRPC_NO_ERROR: it has ended. GRPC_NOT_COMPLETED, GRPC_INVALID_SESSION_ID. Never waits. */
grpc_error_t grpc_probe(grpc_sessionid_t session) FARCALL_GRPC_SYMBOL(grpc_probe);
/* One of the set that has ended; or GRPC_NONE_COMPLETED, and *session = GRPC_SESSIONID_VOID. One id
 * of the set that is none gives GRPC_INVALID_SESSION_ID, here and below. */
grpc_error_t grpc_probe_or(grpc_sessionid_t *sessions, size_t count, grpc_sessionid_t *session)
    FARCALL_GRPC_SYMBOL(grpc_probe_or);

/* Asks for the end of a session, and waits for nothing: it is still to be waited for, fails, and
 * its error is GRPC_CANCELED_NP. One that has ended stays as it is. GRPC_INVALID_SESSION_ID. */
grpc_error_t grpc_cancel(grpc_sessionid_t session) FARCALL_GRPC_SYMBOL(grpc_cancel);
grpc_error_t grpc_cancel_all(void) FARCALL_GRPC_SYMBOL(grpc_cancel_all);

/* Wait for the end of a session; of all of a set; of all there are. GRPC_SESSION_FAILED when one
 * failed, but GRPC_COMMUNICATION_FAILED (of one session) and GRPC_TIMEOUT_NP (when nothing else
 * went wrong). A session may be waited for again, and has the same outcome. grpc_wait_all with no
 * session under way is GRPC_NO_ERROR. */
grpc_error_t grpc_wait(grpc_sessionid_t session) FARCALL_GRPC_SYMBOL(grpc_wait);
grpc_error_t grpc_wait_and(grpc_sessionid_t *sessions, size_t count)
    FARCALL_GRPC_SYMBOL(grpc_wait_and);
grpc_error_t grpc_wait_all(void) FARCALL_GRPC_SYMBOL(grpc_wait_all);

/* Wait for any of a set, and for any at all, that was not waited for before; *session is the one
 * that ended, failed or not. Where all of a set were waited for before, it is one of them.
 * grpc_wait_any with none left gives GRPC_NO_ERROR and GRPC_SESSIONID_VOID. */
grpc_error_t grpc_wait_or(grpc_sessionid_t *sessions, size_t count, grpc_sessionid_t *session)
    FARCALL_GRPC_SYMBOL(grpc_wait_or);
grpc_error_t grpc_wait_any(grpc_sessionid_t *session) FARCALL_GRPC_SYMBOL(grpc_wait_any);

/* ---- Errors ---------------------------------------------------------------------------------- */

/* What a code means, in English; "GRPC_UNKNOWN_ERROR_CODE" for a number that is none. Static: not
 * to be changed or freed. Also before grpc_initialize. */
char *grpc_error_string(grpc_error_t code) FARCALL_GRPC_SYMBOL(grpc_error_string);

/* The error of a session; GRPC_NO_ERROR while it is under way. GRPC_INVALID_SESSION_ID. */
grpc_error_t grpc_get_error(grpc_sessionid_t session) FARCALL_GRPC_SYMBOL(grpc_get_error);

/* Takes one of the sessions that failed, the latest first; GRPC_SESSIONID_VOID when none is left.
   */
grpc_error_t grpc_get_failed_sessionid(grpc_sessionid_t *session)
    FARCALL_GRPC_SYMBOL(grpc_get_failed_sessionid);

/* The last error of this thread: printed to standard error as "text: words"; as a code. Also before
 * grpc_initialize. */
grpc_error_t grpc_perror_np(farcall_grpc_char *text) FARCALL_GRPC_SYMBOL(grpc_perror_np);
grpc_error_t grpc_last_error_get_np(void) FARCALL_GRPC_SYMBOL(grpc_last_error_get_np);
grpc_error_t grpc_get_last_error_np(void) FARCALL_GRPC_SYMBOL(grpc_last_error_get_np);

/* ---- Information on sessions, and signals ---------------------------------------------------- */

/* What was measured of a session, for grpc_session_info_release_np to free, and its status
 * (GRPC_SESSION_DONE …); either place may be NULL. Kept of the last sessions that ended, as many as
 * save_sessionInfo says (256). GRPC_INVALID_SESSION_ID. */
grpc_error_t grpc_session_info_get_np(grpc_sessionid_t session, grpc_session_info_t_np **info,
    int *status) FARCALL_GRPC_SYMBOL(grpc_session_info_get_np);
grpc_error_t grpc_session_info_release_np(grpc_session_info_t_np *info)
    FARCALL_GRPC_SYMBOL(grpc_session_info_release_np);
/* Writes the name of the server that a session ran on, with a NUL behind it, into so many bytes; what
 * has no room is cut off. 0 is the call that ended last, of grpc_call, too. Of Farcall's own. */
grpc_error_t grpc_session_server_get_np(grpc_sessionid_t session, char *server, size_t bytes)
    FARCALL_GRPC_SYMBOL(grpc_session_server_get_np);
/* Forgets a session that has ended; -1: all of them. */
grpc_error_t grpc_session_info_remove_np(grpc_sessionid_t session)
    FARCALL_GRPC_SYMBOL(grpc_session_info_remove_np);
/* How many are kept: 0 none, below 0 all. */
grpc_error_t grpc_session_info_set_threshold_np(int count)
    FARCALL_GRPC_SYMBOL(grpc_session_info_set_threshold_np);
/* The older forms, which fill the caller's struct; without what was compressed. */
grpc_error_t grpc_get_info_np(grpc_sessionid_t session, grpc_exec_info_t_np *info, int *status)
    FARCALL_GRPC_SYMBOL(grpc_get_info_np);
grpc_error_t grpc_get_last_info_np(grpc_exec_info_t_np *info, int *status)
    FARCALL_GRPC_SYMBOL(grpc_get_last_info_np);

/* Calls `handler` when the signal comes, until grpc_finalize; NULL takes it off. It runs as any
   signal handler does. */
grpc_error_t grpc_signal_handler_set_np(int signal_number, void (*handler)(int))
    FARCALL_GRPC_SYMBOL(grpc_signal_handler_set_np);

/* ---- The variadic calls, with the number of their arguments before them ---------------------- */

grpc_error_t farcall_grpc_call_counted(int count, grpc_function_handle_t *handle, ...);
grpc_error_t farcall_grpc_call_async_counted(
    int count, grpc_function_handle_t *handle, grpc_sessionid_t *session, ...);
grpc_error_t farcall_grpc_call_with_attr_counted(int count, grpc_function_handle_t *handle,
                                                 grpc_session_attr_t_np *attr, ...);
grpc_error_t farcall_grpc_call_async_with_attr_counted(int count, grpc_function_handle_t *handle,
    grpc_sessionid_t *session, grpc_session_attr_t_np *attr, ...);
grpc_error_t farcall_grpc_invoke_counted(
    int count, grpc_object_handle_t_np *handle, const char *method, ...);
grpc_error_t farcall_grpc_invoke_async_counted(
    int count, grpc_object_handle_t_np *handle, const char *method, grpc_sessionid_t *session, ...);
grpc_error_t farcall_grpc_invoke_with_attr_counted(int count, grpc_object_handle_t_np *handle,
    const char *method, grpc_session_attr_t_np *attr, ...);
grpc_error_t farcall_grpc_invoke_async_with_attr_counted(int count, grpc_object_handle_t_np *handle,
    const char *method, grpc_sessionid_t *session, grpc_session_attr_t_np *attr, ...);

#ifndef GRPC_NO_COUNT
#include "grpc_counting.h"
#endif

#ifdef __cplusplus
}
#endif

#endif
