/* The C interface of Farcall: call numerical routines that run on a server (spec/c-abi.md).
 *
 *     farcall_error *error;
 *     farcall_client *client;
 *     if (farcall_connect(NULL, &client, &error) != FARCALL_OK) { puts(farcall_error_message(error)); exit(1); }
 *     farcall_call(client, &error, "lapack/dgesv", n, nrhs, a, lda, ipiv, b, ldb, &info);
 *
 * Rules for all functions:
 *
 * - Functions that can fail return FARCALL_OK (0) or the number of the kind of error (enum farcall_status). Waiting
 *   functions may also return FARCALL_PENDING. `error` may be NULL; otherwise *error becomes NULL on success and an
 *   error object on failure, which the caller frees with farcall_error_free. What *error held before is not looked
 *   at.
 * - On failure, other results (`client`, `routine`, `call`, `results`, …) are NULL.
 * - Each object is freed once, by the function that is named after it (farcall_client by farcall_disconnect, a
 *   server by farcall_server_stop). Freeing NULL does nothing. NULL for any other object gives
 *   FARCALL_INVALID_ARGUMENT, or 0 or NULL from functions that return no status. Objects may be freed in any order:
 *   each keeps alive what it stands on.
 * - Text that goes in is NUL-terminated UTF-8 unless a length stands beside it. Text that comes out is
 *   NUL-terminated and belongs to the object that it was asked of, as long as that lives.
 * - Every function may be called from any thread. Clients, routines, errors, results and memory may be used by
 *   several threads at once; so may calls and servers, but for freeing. An object may be freed when no other thread
 *   uses it.
 * - Nothing throws or raises a signal. After fork() the child connects again: a client of the parent's gives it
 *   FARCALL_CONNECTION_LOST, and nothing that the child does with one, freeing it included, reaches the server.
 */
#ifndef FARCALL_H
#define FARCALL_H

#include <stddef.h>
#include <stdint.h>

#include "farcall-numbers.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header. The library's own is farcall_version(). */
#define FARCALL_VERSION_MAJOR 0
#define FARCALL_VERSION_MINOR 1

typedef struct farcall_client farcall_client;   /* a connection to a server */
typedef struct farcall_server farcall_server;   /* a private server: a child of this process */
/* A routine's interface, and the client it came from. */
typedef struct farcall_routine farcall_routine;
/* A call under way. With arguments in parentheses, farcall_call is the native call. */
typedef struct farcall_call farcall_call;
typedef struct farcall_results farcall_results; /* what a call gave back */
typedef struct farcall_data farcall_data;       /* a value that stays at a server */
/* calls that run at a server as one graph */
typedef struct farcall_transaction farcall_transaction;
typedef struct farcall_memory farcall_memory;   /* the memory of one result array */
typedef struct farcall_hold farcall_hold; /* executables that are held: an object, or several */
typedef struct farcall_error farcall_error;     /* what went wrong */

/* The library's version, "0.1.0"; never freed. */
const char *farcall_version(void);

/* ---- Errors: immutable, freed by farcall_error_free. ----------------------------------------- */

/* enum farcall_status; 0 for NULL. */
int farcall_error_kind(const farcall_error *error);
/* The kind as text: "invalid-argument". */
const char *farcall_error_kind_name(const farcall_error *error);
/* All of it for a person: "operation: message (key: value, …); advice". Never NULL. */
const char *farcall_error_message(const farcall_error *error);
/* Parts of the message: what was tried, and what to do about it (NULL if nobody knows). */
const char *farcall_error_operation(const farcall_error *error);
const char *farcall_error_advice(const farcall_error *error);
/* 1 if nothing ran and the same request may succeed later. */
int farcall_error_retryable(const farcall_error *error);
/* 1 if the routine is known to have begun whose call has failed; 0 if it did not, or that is
 * unknown */
int farcall_error_began(const farcall_error *error);
void farcall_error_free(farcall_error *error);

/* ---- Connections ----------------------------------------------------------------------------- */

/* Connects to `address`: "unix:PATH", "ssh://HOST", "tls://HOST:PORT" or "farcall://HOST:PORT".
 * Several with blanks between are used as one server; "here" among them is this host. NULL:
 * $FARCALL_SERVER, or this user's default server. A TCP server's token is read from the file that
 * $FARCALL_TOKEN_FILE names, this user's certificate for a TLS server from $FARCALL_CREDENTIALS (a
 * file, or a directory with one for each authority) or ~/.config/farcall/credentials.pem. Waits for
 * at most 30 seconds. */
int farcall_connect(const char *address, farcall_client **client, farcall_error **error);

typedef struct farcall_connect_options {
    size_t size;             /* sizeof(farcall_connect_options) */
    const char *address;     /* as for farcall_connect */
    /* NULL: $FARCALL_TOKEN_FILE; over TLS the file with the certificate instead, or a directory
     * with one for each authority */
    const char *token_file;
    /* for connecting, and for each look-up and list later on; 0: 30 seconds */
    double timeout_seconds;
    /* after so long without a sign of life, while somebody waits, a server is taken for lost: at
     * least 1; 0: $FARCALL_HEARTBEAT, or 30 seconds; < 0: never. Any traffic counts */
    double heartbeat_seconds;
    /* for so long, calls wait for a connection over TCP or TLS that was lost and is made again, and
     * then go on; 0: $FARCALL_RECONNECT, or 30 seconds; < 0: they end at once */
    double reconnect_seconds;
    /* NULL, or what a server that is begun on a host which ssh reaches is told, and what is kept
     * there for later ones: NAME=VALUE in each line, of config (a file of this host, which is
     * copied), account, partition, time-limit, memory, gpus, load (a module; may be repeated),
     * source (a script there) and python. No value takes one back */
    const char *settings;
    /* the private server of a list of addresses: as in farcall_server_options; NULL: all defaults */
    const struct farcall_server_options *here;
} farcall_connect_options;

int farcall_connect_with(
    const farcall_connect_options *options, farcall_client **client, farcall_error **error);

/* In a routine that Farcall runs: a connection to its own server, for calls of other routines. They
 * are part of the call that runs: made with its caller's rights, over when its time is over, and
 * ended with it. Needs no address and no right to the network. To be asked for again in each call,
 * by any thread; free it as any other. FARCALL_UNAVAILABLE where no call runs. */
int farcall_running_server(farcall_client **client, farcall_error **error);

/* Ends the connection now, though routines, calls, data and transactions of it live: calls that run
 * end with FARCALL_CONNECTION_LOST, data and transactions as if all that names them were freed. All
 * is still to be freed, and nothing else can be done with it. By any thread. */
void farcall_close(const farcall_client *client);

/* Frees the client. The connection closes when the last routine and call of it is freed too. */
void farcall_disconnect(farcall_client *client);

/* Where the server is; belongs to the client. */
const char *farcall_address(const farcall_client *client);

typedef struct farcall_server_options {
    size_t size;                   /* sizeof(farcall_server_options) */
    /* NULL: $FARCALL_PROGRAM, the one installed with this library, or `farcall` on the path */
    const char *program;
    const char *const *files;      /* interface files to publish; none: what Farcall comes with */
    size_t file_count;
    const char *const *arguments;  /* more arguments of `farcall serve` */
    size_t argument_count;
    double timeout_seconds; /* until it listens, then FARCALL_TIMED_OUT; 0: as long as it takes */
} farcall_server_options;

/* Starts a server of one's own and waits until it listens. It ends with farcall_server_stop or with
 * this process, at once also while it looks into its files still. NULL options: all defaults. */
int farcall_server_start(
    const farcall_server_options *options, farcall_server **server, farcall_error **error);
/* Where it listens, for farcall_connect; belongs to the server. */
const char *farcall_server_address(const farcall_server *server);
/* Ends the server, waiting for it (at most 5 seconds, then it is killed), and frees it. */
void farcall_server_stop(farcall_server *server);

/* ---- Routines -------------------------------------------------------------------------------- */

/* Finds a routine by "module/name", by its bare name where that is unique, or by an alias. The
 * client keeps interfaces: only the first look-up of a name asks the server. FARCALL_TIMED_OUT when
 * that has not answered within the timeout of the connect options. */
int farcall_lookup(
    farcall_client *client, const char *name, farcall_routine **routine, farcall_error **error);
/* The same for at most timeout_seconds (< 0: as farcall_lookup), for programs that look after
 * something else while they wait. FARCALL_PENDING if there is no answer by then: ask again to go on
 * waiting for it, or do not. */
int farcall_lookup_within(farcall_client *client, const char *name, double timeout_seconds,
    farcall_routine **routine, farcall_error **error);
void farcall_routine_free(farcall_routine *routine);

/* The interfaces of all routines as a JSON array of objects as farcall_routine_json gives them, in
 * order of their full names. The caller frees *json with farcall_text_free. */
int farcall_list(farcall_client *client, char **json, farcall_error **error);
/* The same for at most timeout_seconds, as farcall_lookup_within. */
int farcall_list_within(
    farcall_client *client, double timeout_seconds, char **json, farcall_error **error);
void farcall_text_free(char *text);

/* Text about a routine; belongs to it. */
const char *farcall_routine_name(const farcall_routine *routine);      /* "lapack/dgesv" */
const char *farcall_routine_json(
    const farcall_routine *routine); /* the interface (spec/idl.md, section 7) */
const char *farcall_routine_help(const farcall_routine *routine);      /* a page for people */
const char *farcall_routine_signature(
    const farcall_routine *routine); /* "dgesv(a, b, *, n=None, …) -> (…)" */
/* 32 bytes: hash of what changes a call. */
const uint8_t *farcall_routine_contract(const farcall_routine *routine);
/* Number of parameters, WORK ones included: what `count` of farcall_call_arguments must be. */
size_t farcall_routine_parameters(const farcall_routine *routine);

/* What the interface declares of a parameter: 48 bytes. */
typedef struct farcall_declared {
    const char *name;       /* belongs to the routine */
    uint32_t kind;          /* enum farcall_parameter_kind. OUT and INOUT numbers are arrays */
    uint32_t mode;          /* enum farcall_mode */
    uint32_t element;       /* enum farcall_element, of numbers and arrays */
    uint32_t rank;          /* of arrays */
    uint64_t element_bytes; /* of one element; 0 where there is none */
    uint32_t column;        /* of arrays: 1 if the first index varies fastest */
    uint32_t reserved[3];   /* zero */
} farcall_declared;

/* Describes parameter number `index`, WORK ones included; returns 0, or -1 if there is none. */
int farcall_routine_declared(
    const farcall_routine *routine, size_t index, farcall_declared *declared);
/* Index of the parameter, or -1. */
int farcall_routine_find(const farcall_routine *routine, const char *parameter);
/* Indexes of the parameters that go by position in languages with keywords (arrays and what they do
 * not determine, then what has a constant default and stands behind those). Writes at most `capacity` of them and returns how many there are. */
size_t farcall_routine_positional(
    const farcall_routine *routine, uint32_t *indexes, size_t capacity);
/* How a C call passes each parameter but the WORK ones, in order: tags as in farcall-native.h. As
   above. */
size_t farcall_routine_passing(const farcall_routine *routine, uint32_t *tags, size_t capacity);

/* ---- Calls with an array of arguments: for bindings, and where shapes are known -------------- */

/* `bytes` of a farcall_text whose end a NUL marks. */
#define FARCALL_NUL_TERMINATED SIZE_MAX

typedef struct farcall_text {
    const void *data; /* NULL is the NULL string */
    size_t bytes;     /* without the NUL, or FARCALL_NUL_TERMINATED */
} farcall_text;

typedef struct farcall_complex {
    double real;
    double imaginary;
} farcall_complex;

typedef struct farcall_texts {
    const farcall_text *items;
    size_t count;
} farcall_texts;

/* A call of a callback, while its body runs: to be asked with the functions of farcall-executable.h
 * (farcall_running_parameter and its like). */
typedef struct farcall_running farcall_running;

/* A function that is called for every call of a callback, and reads and writes its parameters by
 * number. Functions that are passed run in the thread that waits for their call (farcall_call_wait,
 * _poll and _news, or the blocking call), and in no other: no call that calls back goes on while
 * nobody waits. They may make calls themselves, and pass functions. */
typedef void (*farcall_callback_body)(void *context, farcall_running *running);

typedef struct farcall_callback {
    farcall_callback_body body; /* NULL is the NULL function */
    /* must live until the call is over, or freed where no other thread waits for it */
    void *context;
} farcall_callback;

/* One argument: 128 bytes, all of them zero for an unset one. Offsets are in spec/c-abi.md. */
typedef struct farcall_argument {
    uint32_t kind;               /* enum farcall_argument_kind */
    uint32_t element;            /* enum farcall_element, of arrays */
    union {
        int64_t integer;
        double real;
        farcall_complex parts;
        farcall_text text;
        farcall_texts texts;
        void (*function)(void); /* cast to its own prototype when it is called */
        farcall_callback callback;
    } value;
    void *data;                  /* the element whose indexes are all 0 */
    int64_t rank;                /* number of dimensions, or FARCALL_RAW_LAYOUT */
    /* `rank` extents in logical order; what travels, leading dimensions left out */
    const uint64_t *shape;
    /* `rank` distances in bytes; NULL: no gaps, in the parameter's storage order */
    const int64_t *strides;
    uint32_t destination;        /* enum farcall_destination, of INOUT arrays */
    /* element, data, rank, shape and strides of the other array for FARCALL_INTO */
    uint32_t into_element;
    void *into;
    int64_t into_rank;
    const uint64_t *into_shape;
    const int64_t *into_strides;
    uint64_t reserved[4];        /* zero */
} farcall_argument;

typedef struct farcall_call_options {
    size_t size;             /* sizeof(farcall_call_options) */
    /* for the whole call; 0: none. FARCALL_TIMED_OUT when it is over, at most 0.25 seconds later:
     * the call's arrays are the caller's again, whatever the server does */
    double timeout_seconds;
    uint32_t announced;      /* 1: farcall_next_finished tells of the call's end, and of its news */
    uint32_t wanted;         /* sum of enum farcall_wanted: what farcall_call_news tells */
    /* the 16 bytes of an object's id (farcall_hold_id); NULL for a call on none */
    const unsigned char *on;
    /* > 0: the call goes on without this program (farcall_call_id), and its outcome is kept for so
     * long after its end */
    double keep_seconds;
    uint32_t durable;        /* 1: and is to survive the server */
    /* processes that MPI starts for it, of a routine that it starts; 0: as many as the interface or
     * the server says */
    uint32_t ranks;
    /* what farcall_kept and `farcall kept` show beside a call that is kept: NULL, or at most 200
     * bytes of UTF-8 */
    const char *label;
    /* for the routine from when it begins, each time that the server runs it: the time in the queue
     * does not count. 0: none. FARCALL_TIMED_OUT when it has passed; FARCALL_VERSION from a
     * server that does not know such times */
    double run_timeout_seconds;
    /* what each of its processes is given: NULL, or some of "cores=4, memory=2 GB, gpus=1,
     * wall_time=30 min". What is not said is as the interface says, or the server.
     * FARCALL_INVALID_ARGUMENT for what is no such value, FARCALL_LIMIT_EXCEEDED for more than there
     * can be, FARCALL_VERSION from a server that does not know of them */
    const char *resources;
    /* the server that the call is to run on, and no other: its name or one of its addresses, as
     * `farcall servers` lists them. NULL: where it is expected to end first. FARCALL_NOT_FOUND with
     * the nearest names for any other name */
    const char *at;
    /* results that stay at the server as data (FARCALL_RESULT_DATA): NULL for none, names of results
     * separated by commas, or "*" for all arrays of numbers and characters for which no array is
     * given */
    const char *stay;
    double lease_seconds; /* for how long these stay when the connection has ended; 0: not at all */
} farcall_call_options;

/* ---- Objects --------------------------------------------------------------------------------- */

typedef struct farcall_hold_options {
    size_t size;          /* sizeof(farcall_hold_options) */
    double lease_seconds; /* how long they stay when the connection is lost; 0: a minute */
    /* how long their start may take; 0: as long as the server lets it. farcall_hold_ready then
     * gives FARCALL_TIMED_OUT, at most 0.25 seconds later, whatever the server does */
    double start_seconds;
    /* 1: they stay for their lease also when the connection is closed or the hold freed */
    uint32_t detached;
    /* processes of which each consists, where MPI starts it; 0: as many as the server says */
    uint32_t ranks;
    /* what each of its processes is given, as in farcall_call_options */
    const char *resources;
} farcall_hold_options;

/* Has the server hold `count` executables of a class ("module/Class") or a routine, each for the
 * calls that name it in farcall_call_options. `options` may be NULL. Waits for none of them; calls
 * may follow at once. The caller frees *hold with farcall_hold_free. Any number of threads may use
 * it. */
int farcall_hold_start(const farcall_client *client, const char *name, uint32_t count,
    const farcall_hold_options *options, farcall_hold **hold, farcall_error **error);
/* Waits until all take calls, for ever if timeout_seconds < 0. FARCALL_PENDING if they do not by
   then. */
int farcall_hold_ready(const farcall_hold *hold, double timeout_seconds, farcall_error **error);
/* What is held, in full; the hold's. */
const char *farcall_hold_name(const farcall_hold *hold);
/* The name of the server that has them; the hold's. */
const char *farcall_hold_server(const farcall_hold *hold);
uint32_t farcall_hold_count(const farcall_hold *hold);
/* Writes the 16 bytes of the id of the one of this index, from 0. */
int farcall_hold_id(
    const farcall_hold *hold, uint32_t index, unsigned char *id, farcall_error **error);
/* Ends all of them, and the calls on them, and waits until they have, for ever if timeout_seconds <
 * 0. What goes wrong in _finalize is told; they have ended all the same. The second time it does
 * nothing. */
int farcall_hold_release(const farcall_hold *hold, double timeout_seconds, farcall_error **error);
/* Frees it; unless they are detached or released, they end, and this does not wait for that. */
void farcall_hold_free(farcall_hold *hold);

/* Calls a routine with one argument per parameter of its interface, in order, WORK ones
 * FARCALL_UNSET, and waits for its end. `options` and `results` may be NULL. The caller frees
 * *results with farcall_results_free. Arrays must stay valid and unchanged by others until this
 * returns; only results are written to. */
int farcall_call_arguments(const farcall_routine *routine, const farcall_argument *arguments,
    size_t count, const farcall_call_options *options, farcall_results **results,
    farcall_error **error);

/* Starts such a call. The argument array, shapes, strides, numbers and text are copied; the memory
 * of arrays must stay valid and unchanged by others until the call is over or freed. The caller
 * frees *call with farcall_call_free. */
int farcall_start_arguments(const farcall_routine *routine, const farcall_argument *arguments,
    size_t count, const farcall_call_options *options, farcall_call **call, farcall_error **error);
/* The same for event loops: waits no longer than wait_seconds (0: not at all; < 0: for ever) while
 * the server takes no more calls of this connection. FARCALL_PENDING, and no call, if it takes none
 * by then: nothing was read of the arrays. What the connection does not take at once leaves while
 * somebody waits or processes. */
int farcall_start_within(const farcall_routine *routine, const farcall_argument *arguments,
    size_t count, const farcall_call_options *options, double wait_seconds, farcall_call **call,
    farcall_error **error);

/* Where such a call would run, and why; nothing is called. A JSON array of objects, the best first:
 * server (its name), is_self (it is the one that was connected to), excluded, chosen, wait, send, run,
 * return, total and error (in seconds; of one that is excluded they mean nothing), note (why it is
 * excluded, or what else is to be known). Arrays may be unset where their sizes are given. Waits as
 * farcall_lookup. FARCALL_UNAVAILABLE from a server that does not tell. The caller frees *json with
 * farcall_text_free. */
int farcall_explain(const farcall_routine *routine, const farcall_argument *arguments, size_t count,
    char **json, farcall_error **error);

/* Waits for the call's end, for ever if timeout_seconds < 0. FARCALL_PENDING if it is not over by
 * then; it goes on. At its end, its outcome is given once: results (which may be NULL), or the
 * error that ended it. */
int farcall_call_wait(farcall_call *call, double timeout_seconds, farcall_results **results,
                      farcall_error **error);
/* The same without waiting. */
int farcall_call_poll(farcall_call *call, farcall_results **results, farcall_error **error);

typedef struct farcall_news {
    uint32_t kind;             /* enum farcall_news_kind */
    uint32_t before;
    double done;
    /* `bytes` bytes and a NUL; the call's, until the next news or its end. NULL for none */
    const char *text;
    size_t bytes;
    uint64_t reserved[2];      /* zero */
} farcall_news;

/* The next news of a call that wants some, in order; the last are FARCALL_NEWS_OVER, and all there
 * is comes before. Waits for at most timeout_seconds (< 0: for ever; then FARCALL_PENDING). What a
 * routine writes faster than it is taken is left out, and how much is said in its place. */
int farcall_call_news(
    farcall_call *call, double timeout_seconds, farcall_news *news, farcall_error **error);

/* Asks the server to end the call, while another thread waits or not. Its outcome still comes by
 * farcall_call_wait: FARCALL_CANCELLED, or results if it was over before. */
int farcall_call_cancel(farcall_call *call, farcall_error **error);
/* The call's number in its client, from 1; 0 for NULL. */
uint64_t farcall_call_number(const farcall_call *call);

/* How far a call is: 64 bytes. Bytes of arrays and files that travel through its connection; those
 * in memory that both ends share do not. */
typedef struct farcall_transfer {
    uint64_t sent;          /* bytes of arguments that have left this process */
    uint64_t to_send;       /* of all that leave it */
    uint64_t received;      /* bytes of results that have come */
    uint64_t to_receive;    /* of all that come; 0 until the routine has ended */
    /* for how long the arguments of a callback have been on their way here, and the results of one
     * to the routine; -1: none are */
    double callback_arguments_seconds;
    double callback_results_seconds;
    uint64_t reserved[2];   /* zero */
} farcall_transfer;

/* Tells how far a call is, while another thread waits or not. All zero once it has ended. */
int farcall_call_transfer(
    const farcall_call *call, farcall_transfer *transfer, farcall_error **error);
/* Frees a call. If it is not over, the server is asked to end it, unless it keeps it. This waits
 * for nothing; its arrays are neither read nor written to any more when it returns. */
void farcall_call_free(farcall_call *call);

/* ---- Calls in two phases: submit, go away, come back for the results ------------------------- */

/* Waits until the server has said that a call with keep_seconds goes on without this program: all
 * its arguments are there, and what is to be durable is on its disk. FARCALL_PENDING after
 * timeout_seconds (< 0: for ever). FARCALL_OK, too, for a call that returned before. Such a call
 * may be freed, and the program may end: the call does not. If the call is over and the server
 * never said so, the error is why: nobody finds it by its id. */
int farcall_call_wait_kept(farcall_call *call, double timeout_seconds, farcall_error **error);
/* What farcall_fetch finds the call by: 32 hexadecimal digits and a NUL, 33 bytes. 1 if the call
 * has such an id; 0 if it ends with this program, and for NULL. It is given before the server has
 * the call: only what farcall_call_wait_kept says is kept can be found by it. */
int farcall_call_id(const farcall_call *call, char *id);
/* Takes up a call by its id, from any process of the same user: its outcome is collected as that of
 * any call, as often as it is kept; its arrays have memory of their own. *routine (unless NULL) is
 * what it calls, for the indexes of results; the caller frees both. Whoever waited for the call
 * elsewhere hears FARCALL_CONNECTION_LOST. FARCALL_NOT_FOUND for one that was never accepted, is
 * forgotten, or is another user's. Of the options, keep_seconds means nothing. */
int farcall_fetch(farcall_client *client, const char *id, const farcall_call_options *options,
    farcall_routine **routine, farcall_call **call, farcall_error **error);
/* Has the server forget a kept call; one that is open ends as if cancelled. */
int farcall_forget(farcall_client *client, const char *id, farcall_error **error);
/* This user's calls that are kept, as a JSON array of objects: id, routine, state ("waiting",
 * "running", "returned", "failed"), bytes, seconds_left (after its end, of one that is open),
 * durable, principal, submitted (in seconds since 1970, by the clock of the program that submitted
 * it; 0 if that said nothing), arguments (in short), label. At most 1000, those that are forgotten
 * next first. The caller frees the texts with farcall_text_free. By server: those of all servers that
 * the server knows, each with its `server`; *silent: server and error of what does not answer. */
int farcall_kept(farcall_client *client, char **json, farcall_error **error);
int farcall_kept_by_server(
    farcall_client *client, char **json, char **silent, farcall_error **error);

/* ---- Publishing: files go to the server, which makes a module of them ------------------------ */

typedef struct farcall_publish_options {
    size_t size;            /* sizeof(farcall_publish_options) */
    const char *source;     /* what the file contains, if it is not to be read; else NULL */
    double timeout_seconds; /* 0: an hour: the server may have to compile */
    uint32_t stay;          /* 1: it is published again whenever the server is started again */
    uint32_t reserved;      /* zero */
    /* the path by which messages call the file, if its source was taken from another: else NULL */
    const char *known_as;
} farcall_publish_options;

/* Has the server publish an interface file or a Python file of this host. With it go the files that
 * it refers to, as far as they lie in its folder or below: what stands in quotes in an interface
 * file or a C source, and modules that Python imports. All together may have as many bytes as
 * the data of a call (call_bytes_max). A module of the same name is replaced, if it is this user's. *json is
 * an array of objects: module, routines (their number), warnings. The caller frees it with
 * farcall_text_free. `options` may be NULL. */
int farcall_publish(farcall_client *client, const char *file,
    const farcall_publish_options *options, char **json, farcall_error **error);

/* ---- Event loops ----------------------------------------------------------------------------- */

/* A descriptor that poll() finds readable when farcall_process has something to do or
 * farcall_next_finished something to tell. It belongs to the client: never read from it or close
 * it. -1 for NULL. */
int farcall_events(const farcall_client *client);
/* Handles what has arrived; never waits. */
int farcall_process(farcall_client *client, farcall_error **error);
/* The number of an announced call that is over: each is told once, whether collected already or
 * not; or of one that has news, if it wants some: take them with farcall_call_news and a timeout of
 * 0 until there are none. FARCALL_PENDING after timeout_seconds (< 0: for ever; 0: at once, after
 * what farcall_process does). */
int farcall_next_finished(
    farcall_client *client, double timeout_seconds, uint64_t *number, farcall_error **error);

/* ---- Results: immutable ---------------------------------------------------------------------- */

/* Where an array lies: 536 bytes. */
typedef struct farcall_array_view {
    void *data; /* the element whose indexes are all 0; aligned for its type */
    uint32_t element;                   /* enum farcall_element */
    uint32_t rank;
    uint64_t element_bytes;
    uint64_t shape[FARCALL_RANK_MAX];   /* `rank` extents, in logical order */
    int64_t strides[FARCALL_RANK_MAX];  /* `rank` distances in bytes */
} farcall_array_view;

/* Server's times in nanoseconds since it accepted the call. */
typedef struct farcall_times {
    uint64_t queued;
    uint64_t started;
    uint64_t finished;
} farcall_times;

/* enum farcall_result_kind of the result of a parameter, by its index; FARCALL_RESULT_NONE outside
   the interface. */
int farcall_results_kind(const farcall_results *results, size_t parameter);
/* Describes an array result. Its memory is the results': it lives until farcall_results_free. The
 * caller may write to it. Of FARCALL_RESULT_WRITTEN, data is NULL and the strides are 0.
 * FARCALL_NOT_FOUND for everything else. */
int farcall_results_array(const farcall_results *results, size_t parameter,
    farcall_array_view *view, farcall_error **error);
/* The same for FARCALL_RESULT_ARRAY alone, and a handle that keeps the memory after the results are
 * freed. The caller frees *memory with farcall_memory_free. May be done more than once; all handles
 * name the same memory. */
int farcall_results_take(const farcall_results *results, size_t parameter, farcall_array_view *view,
                         farcall_memory **memory, farcall_error **error);
/* At least `bytes` bytes of any value for arrays of the program's own, which travel without a copy
 * to a server on the same host, and anywhere else like any array: as FARCALL_ARRAY, with `data` (a
 * multiple of 16 bytes from *data on) and layout as the interface stores the array. Results are
 * written there by the routine itself, so that after a failure they are of any value.
 * FARCALL_INVALID_ARGUMENT if a call that is under way uses the same bytes, and one of the two
 * writes. One connection at a time has this; the others copy. The caller frees *memory with
 * farcall_memory_free; the bytes live until then. No connection is needed. */
int farcall_memory_allocate(
    size_t bytes, void **data, farcall_memory **memory, farcall_error **error);
void farcall_memory_free(farcall_memory *memory);
/* A string result: `index` 0 of FARCALL_RESULT_TEXT, any of FARCALL_RESULT_TEXTS. NULL for NULL and
 * for no such string. A NUL follows the text; *bytes (unless NULL) is its length. Belongs to the
 * results. */
const char *farcall_results_text(
    const farcall_results *results, size_t parameter, size_t index, size_t *bytes);
/* Number of strings: 1 for FARCALL_RESULT_TEXT, 0 for what is no text. */
size_t farcall_results_text_count(const farcall_results *results, size_t parameter);
int farcall_results_times(const farcall_results *results, farcall_times *times);
/* The name of the server that the call ran on; the results'. The address that the client is
 * connected to where no other server is known. NULL for NULL. */
const char *farcall_results_server(const farcall_results *results);

/* The seconds that a call needs for each part of its way: its arguments' way, from their arrival to
 * its beginning, the routine, and its results' way. */
typedef struct farcall_phases {
    double send;
    double wait;
    double run;
    double back;
} farcall_phases;

/* What was predicted of a call when it was placed, beside what it needed; `error` is by how much the
 * predicted total was expected to be wrong. */
typedef struct farcall_placed {
    farcall_phases predicted;
    farcall_phases measured;
    double error;
} farcall_placed;

/* FARCALL_NOT_FOUND where a server was chosen for many small calls together, or by nobody. */
int farcall_results_placed(const farcall_results *results, farcall_placed *placed);
void farcall_results_free(farcall_results *results);

/* ---- The plain variadic call ----------------------------------------------------------------- */

/* For function pointers and other languages. Arguments are all parameters but the WORK ones, in
 * interface order: IN scalars by value with C's promotions (complex ones as struct { float r, i; }
 * or struct { double r, i; }), everything else by pointer. NOTHING TELLS HOW MANY ARGUMENTS THERE
 * ARE AND OF WHICH TYPES: a mistake is undefined behaviour, as for printf. The native call of
 * farcall-native.h checks. */
int farcall_call_variadic(farcall_client *client, farcall_error **error, const char *name, ...);
/* Starts one; see farcall_start_arguments for the life of arrays, which holds for strings' places
   (char **) too. */
int farcall_start_variadic(
    farcall_client *client, farcall_error **error, farcall_call **call, const char *name, ...);

#ifdef __cplusplus
}
#endif

#include "farcall-data.h"
#include "farcall-transactions.h"
#include "farcall-native.h"
#include "farcall-map.h"
#include "farcall-places.h"

#endif
