/* The classic Ninf interface on Farcall.
 *
 *     Ninf_call("dmmul", n, A, B, C);
 *     Ninf_call("ninf://host:3000/linpack/dgefa", …);
 *
 * Rules for all functions:
 *
 * - An entry is "function", "module/function", or either after ninf://HOST:PORT/ or http://HOST:PORT/; "()" at its end
 *   is left out. Without a host it is the server of Ninf_set_server, of -server and -port (Ninf_parse_arg), of
 *   $NINF_SERVER and $NINF_SERVER_PORT, or Farcall's default; in place of a host, Ninf_set_server, -server, $NINF_SERVER and
 *   the lines of -map also take HOST:PORT or an address (unix:PATH, ssh://HOST, tls://HOST:PORT, farcall://HOST:PORT). A port
 *   without a host is one of this host. Nothing has to be initialised.
 * - Arguments go as in grpc.h, but for `long`: of an IN one the low 32 bits count, so that an int will do. In place of an
 *   IN array of numbers other than char, the text of a URL ("http://…", "https://…", "file:/…") has the server fetch it
 *   from there, if its manifest allows the source.
 * - What returns int returns NINF_OK or NINF_ERROR, and the error is in Ninf_error_code() and Ninf_perror() of the same
 *   thread. Asynchronous calls return a session's number, above 0, and sessions end by themselves.
 * - Every function may be called from any thread; a transaction, a set, a group and an any_t belong to one at a time. A
 *   child of a fork starts over.
 *
 * Names are bound to symbols that begin with farcall_; GCC counts arguments unless GRPC_NO_COUNT is defined (grpc.h).
 */
#ifndef FARCALL_NINF_H
#define FARCALL_NINF_H

#include "grpc.h"
#include "ninf_numbers.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FARCALL_NINF_SYMBOL(name) FARCALL_GRPC_SYMBOL(name)

#ifndef TRUE
#define TRUE 1
#endif
#ifndef FALSE
#define FALSE 0
#endif

/* As Java programs know them. */
#define NINF_AUTHENTICATION_FAILED AUTHENTICATION_FAILED
#define NINF_ERROR_SESSION_ISNOT_DONE SESSION_ISNOT_DONE
#define NINF_ERROR_SESSION_CANCELED SESSION_CANCELED
#define NINF_ERROR_SESSION_FINISHED SESSION_FINISHED
#define NINF_FILE_CANNOT_OPEN FILE_CANNOT_OPEN
#define NINF_FILE_CANNOT_WRITE FILE_CANNOT_WRITE

/* The last error of any thread, for programs that declare it themselves: ask Ninf_error_code() in
 * programs with threads. Whether the program wants to be debugged: nothing looks at it. */
extern int ninf_error_code;
extern int ninf_debug_flag;

/* This thread's last error; printed to standard error as "text: words". */
int Ninf_error_code(void) FARCALL_NINF_SYMBOL(Ninf_error_code);
void Ninf_perror(farcall_grpc_char *text) FARCALL_NINF_SYMBOL(Ninf_perror);
#define grpc_perror(text) Ninf_perror(text)

/* ---- Where ----------------------------------------------------------------------------------- */

/* The server of entries without a host, from now on. NULL or "" for `port`: the usual one. */
void Ninf_set_server(farcall_grpc_char *host, farcall_grpc_char *port)
    FARCALL_NINF_SYMBOL(Ninf_set_server);

/* Takes -server HOST, -port PORT and -map FILE (a line per host, for groups) out of the program's
 * arguments, and -debug, -privileged, -shell, -log_record and the like, which have no effect; how
 * many arguments are left, or NINF_ERROR. */
int Ninf_parse_arg(int argc, char **argv) FARCALL_NINF_SYMBOL(Ninf_parse_arg);

/* ---- Calls ----------------------------------------------------------------------------------- */

int Ninf_call(farcall_grpc_char *entry, ...) FARCALL_NINF_SYMBOL(Ninf_call);
int Ninf_call_async(farcall_grpc_char *entry, ...) FARCALL_NINF_SYMBOL(Ninf_call_async);

/* Arguments as values of their own, one per parameter. */
typedef struct _any_t_struct {
    int type;
    union {
        long i;
        double d;
        void *p;
        void (*f)(void);
    } value;
} any_t;

void any_set_char(any_t *any, int value) FARCALL_NINF_SYMBOL(any_set_char);
void any_set_short(any_t *any, int value) FARCALL_NINF_SYMBOL(any_set_short);
void any_set_int(any_t *any, int value) FARCALL_NINF_SYMBOL(any_set_int);
void any_set_long(any_t *any, long value) FARCALL_NINF_SYMBOL(any_set_long);
void any_set_float(any_t *any, double value) FARCALL_NINF_SYMBOL(any_set_float);
void any_set_double(any_t *any, double value) FARCALL_NINF_SYMBOL(any_set_double);
void any_set_pointer(any_t *any, void *value) FARCALL_NINF_SYMBOL(any_set_pointer);
void any_set_function(any_t *any, void (*value)(void)) FARCALL_NINF_SYMBOL(any_set_function);

int Ninf_call_v(farcall_grpc_char *entry, any_t *arguments) FARCALL_NINF_SYMBOL(Ninf_call_v);
int Ninf_call_v_async(farcall_grpc_char *entry, any_t *arguments)
    FARCALL_NINF_SYMBOL(Ninf_call_v_async);

/* A function looked up beforehand. `types` is NULL, or has room for one of enum ninf_type per
 * argument, which are written there. Freed by Ninf_free_stub. */
typedef struct ninf_stub_information Ninf_stub_t;
typedef Ninf_stub_t stub_info;
int Ninf_get_stub(farcall_grpc_char *entry, int *types, Ninf_stub_t **stub)
    FARCALL_NINF_SYMBOL(Ninf_get_stub);
int Ninf_free_stub(Ninf_stub_t *stub) FARCALL_NINF_SYMBOL(Ninf_free_stub);
int Ninf_call_body(Ninf_stub_t *stub, ...) FARCALL_NINF_SYMBOL(Ninf_call_body);
int Ninf_call_body_async(Ninf_stub_t *stub, ...) FARCALL_NINF_SYMBOL(Ninf_call_body_async);
int Ninf_call_body_v(Ninf_stub_t *stub, any_t *arguments) FARCALL_NINF_SYMBOL(Ninf_call_body_v);
int Ninf_call_body_v_async(Ninf_stub_t *stub, any_t *arguments)
    FARCALL_NINF_SYMBOL(Ninf_call_body_v_async);

/* A process of its own for a function, whose static variables live on. Ninf_executable_finalize
   ends it. */
typedef struct ninf_executable Ninf_executable_t;
Ninf_executable_t *Ninf_get_executable(farcall_grpc_char *entry)
    FARCALL_NINF_SYMBOL(Ninf_get_executable);
int Ninf_call_executable(Ninf_executable_t *executable, ...)
    FARCALL_NINF_SYMBOL(Ninf_call_executable);
int Ninf_call_executable_async(Ninf_executable_t *executable, ...)
    FARCALL_NINF_SYMBOL(Ninf_call_executable_async);
int Ninf_executable_finalize(Ninf_executable_t *executable)
    FARCALL_NINF_SYMBOL(Ninf_executable_finalize);
/* The one that a session was started with; NULL for others. */
Ninf_executable_t *Ninf_get_executable_from_session(int session)
    FARCALL_NINF_SYMBOL(Ninf_get_executable_from_session);

/* Calls the one function of a stub executable of this host ("./_stub_dmmul"), which needs no
 * server: a private one runs it, and ends with this process. Two names of one function. */
int Ninf_local_exec(farcall_grpc_char *program, ...) FARCALL_NINF_SYMBOL(Ninf_local_exec);
int Ninf_call_exec(farcall_grpc_char *program, ...) FARCALL_NINF_SYMBOL(Ninf_call_exec);

/* How many functions of a server have all of these words in their names or descriptions. `found` is
 * NULL, or the place of a text with a line for each, which the caller frees.
 * "ninf://HOST:PORT/words" asks another server than the default one; NULL and "" are all functions.
 */
int Ninf_find(farcall_grpc_char *words, char **found) FARCALL_NINF_SYMBOL(Ninf_find);

/* Numbers of the tables that a server publishes (its module `tables`), by a query in SQL: *rows and
 * *columns say how many, *values has them as doubles row by row (NaN for NULL), and *names the names
 * of the columns, one on each line. The caller frees both with free(). Each place may be NULL.
 * "ninf://HOST:PORT/SELECT ..." asks another server than the default one. Binaries of the time when
 * this function was the search above keep it: they have the symbol farcall_Ninf_query. */
int Ninf_query(farcall_grpc_char *query, int *rows, int *columns, double **values, char **names)
    FARCALL_NINF_SYMBOL(Ninf_query_numbers);

/* Calls of one function, spread over the hosts of -map. Ninf_group_wait_all waits for all of them,
 * and makes those again whose routine crashed, twice at most: arguments stay until then. The group may take others then, and stays until the program ends. */
typedef struct ninf_group Ninf_group_t;
Ninf_group_t *Ninf_group_init(farcall_grpc_char *entry) FARCALL_NINF_SYMBOL(Ninf_group_init);
int Ninf_group_call_async(Ninf_group_t *group, ...) FARCALL_NINF_SYMBOL(Ninf_group_call_async);
int Ninf_group_wait_all(Ninf_group_t *group) FARCALL_NINF_SYMBOL(Ninf_group_wait_all);

/* ---- Sessions -------------------------------------------------------------------------------- */

/* NINF_OK, or NINF_ERROR when one failed. */
int Ninf_wait(int session) FARCALL_NINF_SYMBOL(Ninf_wait);
int Ninf_wait_all(void) FARCALL_NINF_SYMBOL(Ninf_wait_all);
int Ninf_wait_and(int *sessions, int count) FARCALL_NINF_SYMBOL(Ninf_wait_and);
/* One that was not waited for yet: its number, and *session. NINF_OK, and -1 there, when none is
 * left; NINF_ERROR where it failed. */
int Ninf_wait_any(int *session) FARCALL_NINF_SYMBOL(Ninf_wait_any);
int Ninf_wait_or(int *sessions, int count, int *session) FARCALL_NINF_SYMBOL(Ninf_wait_or);
/* TRUE while it runs, FALSE when it has ended, and, with an error, for no session. */
int Ninf_session_probe(int session) FARCALL_NINF_SYMBOL(Ninf_session_probe);
/* Asks for its end; it is still to be waited for. One that has ended is SESSION_FINISHED. */
int Ninf_session_cancel(int session) FARCALL_NINF_SYMBOL(Ninf_session_cancel);
/* Cancels it, waits for it, and forgets it. */
int Ninf_session_remove(int session) FARCALL_NINF_SYMBOL(Ninf_session_remove);
/* Waits for all sessions, whatever becomes of them. */
int Ninf_sync(void) FARCALL_NINF_SYMBOL(Ninf_sync);

/* Sets of sessions. Freed by free_id_set. */
typedef struct ninf_id_set id_set;
id_set *new_id_set(void) FARCALL_NINF_SYMBOL(new_id_set);
void free_id_set(id_set *set) FARCALL_NINF_SYMBOL(free_id_set);
void id_set_add(id_set *set, int session) FARCALL_NINF_SYMBOL(id_set_add);
void id_set_rm(id_set *set, int session) FARCALL_NINF_SYMBOL(id_set_rm);
/* The session at a place from 0 on; -1 where there is none. */
int id_set_get_id(id_set *set, int place) FARCALL_NINF_SYMBOL(id_set_get_id);
int id_set_length(id_set *set) FARCALL_NINF_SYMBOL(id_set_length);
/* Wait for all of a set, and for one of it (*session), and take them out of it. They return a new
 * set of those that have ended, to be freed like the other, or NULL when one failed. */
id_set *Ninf_wait_and_set(id_set *set) FARCALL_NINF_SYMBOL(Ninf_wait_and_set);
id_set *Ninf_wait_or_set(id_set *set, int *session) FARCALL_NINF_SYMBOL(Ninf_wait_or_set);

/* Seconds of a session that has ended; of the last call or session. Static memory of the thread;
   NULL for no such session. */
struct _exec_info_struct {
    int session;         /* 0: a call that was none */
    double send_time;    /* until the arguments had left */
    double wait_time;    /* in the server's queue */
    double exec_time;    /* of the function */
    double recv_time;    /* until the results were here */
    double total_time;
};
typedef struct _exec_info_struct Ninf_exec_info_t;
Ninf_exec_info_t *Ninf_get_info(int session) FARCALL_NINF_SYMBOL(Ninf_get_info);
Ninf_exec_info_t *Ninf_get_last_info(void) FARCALL_NINF_SYMBOL(Ninf_get_last_info);

/* ---- Transactions ---------------------------------------------------------------------------- */

/* Calls of this thread between the two are written down. The end runs them: those that use the same
 * memory, where one of them writes to it, in their order, others at once; and waits for all. One
 * that fails keeps back those that depend on it, and the end is NINF_ERROR. Asynchronous calls
 * return NINF_OK meanwhile. One within another is an error. Where all go to one server, it may run
 * them as a graph: an array that one call writes and another reads does not come here in between. */
int Ninf_transaction_begin(void) FARCALL_NINF_SYMBOL(Ninf_transaction_begin);
int Ninf_transaction_end(void) FARCALL_NINF_SYMBOL(Ninf_transaction_end);
int Ninf_check_in(void) FARCALL_NINF_SYMBOL(Ninf_check_in);
int Ninf_check_out(void) FARCALL_NINF_SYMBOL(Ninf_check_out);
/* The array at this address is not needed when this thread's transaction has ended: it need not come,
 * and what is there then is not defined. */
int Ninf_transaction_temporary(const void *array) FARCALL_NINF_SYMBOL(Ninf_transaction_temporary);
/* Throws away what this thread wrote down. In a thread without a transaction: cancels those whose
 * ends other threads wait for, which is TRANSACTION_CANCELED to them. */
int Ninf_transaction_cancel(void) FARCALL_NINF_SYMBOL(Ninf_transaction_cancel);

/* ---- Objects of other systems ---------------------------------------------------------------- */

/* Functions that turn an object of another system (Lisp, Mathematica) into `count` elements of a
 * type, and such elements into the object. A string is one element, a char *: the one that
 * ninf_cim_get gives stays until the call has ended. They return CIM_OK, or one of CIM_ERROR_…,
 * which the call then fails with. */
typedef int (*ninf_cim_get)(void *object, int type, long count, void *elements);
typedef int (*ninf_cim_put)(void *object, int type, long count, const void *elements);
int Ninf_set_cim_funcs(ninf_cim_get get, ninf_cim_put put) FARCALL_NINF_SYMBOL(Ninf_set_cim_funcs);
/* Calls a function with an object for each argument. Not for callbacks, structs and IN arrays of
 * strings, and not within a transaction. */
int Ninf_cim_main(farcall_grpc_char *entry, void **arguments) FARCALL_NINF_SYMBOL(Ninf_cim_main);

/* ---- The variadic calls, with the number of their arguments before them ---------------------- */

int farcall_Ninf_call_counted(int count, const char *entry, ...);
int farcall_Ninf_call_async_counted(int count, const char *entry, ...);
int farcall_Ninf_call_body_counted(int count, Ninf_stub_t *stub, ...);
int farcall_Ninf_call_body_async_counted(int count, Ninf_stub_t *stub, ...);
int farcall_Ninf_call_executable_counted(int count, Ninf_executable_t *executable, ...);
int farcall_Ninf_call_executable_async_counted(int count, Ninf_executable_t *executable, ...);
int farcall_Ninf_group_call_async_counted(int count, Ninf_group_t *group, ...);
int farcall_Ninf_local_exec_counted(int count, const char *program, ...);
int farcall_Ninf_call_exec_counted(int count, const char *program, ...);

#ifdef FARCALL_GRPC_COUNTED
FARCALL_GRPC_COUNTED Ninf_call(farcall_grpc_char *entry, ...)
{
    return farcall_Ninf_call_counted(FARCALL_GRPC_COUNT, entry, FARCALL_GRPC_REST);
}
FARCALL_GRPC_COUNTED Ninf_call_async(farcall_grpc_char *entry, ...)
{
    return farcall_Ninf_call_async_counted(FARCALL_GRPC_COUNT, entry, FARCALL_GRPC_REST);
}
FARCALL_GRPC_COUNTED Ninf_call_body(Ninf_stub_t *stub, ...)
{
    return farcall_Ninf_call_body_counted(FARCALL_GRPC_COUNT, stub, FARCALL_GRPC_REST);
}
FARCALL_GRPC_COUNTED Ninf_call_body_async(Ninf_stub_t *stub, ...)
{
    return farcall_Ninf_call_body_async_counted(FARCALL_GRPC_COUNT, stub, FARCALL_GRPC_REST);
}
FARCALL_GRPC_COUNTED Ninf_call_executable(Ninf_executable_t *executable, ...)
{
    return farcall_Ninf_call_executable_counted(FARCALL_GRPC_COUNT, executable, FARCALL_GRPC_REST);
}
FARCALL_GRPC_COUNTED Ninf_call_executable_async(Ninf_executable_t *executable, ...)
{
    return farcall_Ninf_call_executable_async_counted(
        FARCALL_GRPC_COUNT, executable, FARCALL_GRPC_REST);
}
FARCALL_GRPC_COUNTED Ninf_group_call_async(Ninf_group_t *group, ...)
{
    return farcall_Ninf_group_call_async_counted(FARCALL_GRPC_COUNT, group, FARCALL_GRPC_REST);
}
FARCALL_GRPC_COUNTED Ninf_local_exec(farcall_grpc_char *program, ...)
{
    return farcall_Ninf_local_exec_counted(FARCALL_GRPC_COUNT, program, FARCALL_GRPC_REST);
}
FARCALL_GRPC_COUNTED Ninf_call_exec(farcall_grpc_char *program, ...)
{
    return farcall_Ninf_call_exec_counted(FARCALL_GRPC_COUNT, program, FARCALL_GRPC_REST);
}
#endif

#ifdef __cplusplus
}
#endif

#endif
