/* What routines and the main programs of executables need of libfarcall.so: what a routine asks and
 * says while it runs, the main program of a linked executable, which `farcall serve` generates, and
 * that of another language, which runs all routines with one function. */
#ifndef FARCALL_EXECUTABLE_H
#define FARCALL_EXECUTABLE_H

#include <stddef.h>
#include <stdint.h>

#include "farcall-numbers.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- For routines: callable from any thread of the process while one runs -------------------- */

/* 1 if the running call must end, because it was cancelled, it timed out or its client has
 * disconnected; 0 if not; -1 where no call runs. A routine that asks has `cancel_grace_ms` of the
 * server's farcall.toml to return; any other is ended at once, with its process. Cheap enough for
 * the outer loops of a routine. What it returns after that is thrown away. */
int farcall_is_cancelled(void);

/* Says how far the call is that runs: the fraction that is done, 0 to 1, and a word on it (UTF-8,
 * or NULL; 256 bytes of it). Whoever watches the call sees it. Returns 0, or -1 where no call runs.
 * May be called as often as is convenient: what comes faster than fifty times a second is left out.
 */
int farcall_progress(double done, const char *words);

/* 1 if a callback that this thread called has failed since it last asked, 0 if none has, -1 where
 * no call runs. Who asks has heard of it; a routine that returns without having asked, each thread
 * for itself, has failed, too, and its caller is told why. A callback that fails leaves its results
 * as they were. */
int farcall_callback_failed(void);

/* The same, and why: at most words_bytes bytes of UTF-8 with a NUL go to `words`, which may be
   NULL. */
int farcall_callback_failure(char *words, size_t words_bytes);

/* ---- For main programs ----------------------------------------------------------------------- */

/* A routine of the executable: its name in the server's tables, and its code. */
struct farcall_entry {
    const char *name;
    void (*function)(void);
};

/* Serves the server that started this process, and returns main's exit status. The table must live
   as long. */
int farcall_executable_main(
    int argc, char **argv, const struct farcall_entry *entries, size_t count);

/* What a program that MPI starts several times tells of its MPI, before either of the functions
 * around this: the first process serves, the others run what it is sent. Each returns 0, or an
 * error number of MPI's; the server's generated code has them. */
struct farcall_ranks {
    size_t size;                                              /* of this struct */
    int (*begin)(int *rank, int *count); /* MPI_Init_thread, and a communicator of its own */
    int (*announce)(long long *word);    /* MPI_Ibcast of rank 0's, waiting without computing */
    int (*broadcast)(void *bytes, size_t count, int root); /* MPI_Bcast, of any number of bytes */
    int (*agree)(int *failed);                                /* MPI_Iallreduce, MPI_MIN */
    int (*end)(void);                                         /* MPI_Finalize */
    void (*abort)(int status);                                /* MPI_Abort */
};
void farcall_executable_ranks(const struct farcall_ranks *ranks);

/* The same of a stub executable, which ng_gen generates: it carries its compiled module
 * (spec/idl.md, section 6), and tells it to whoever starts it with the argument --module. */
int farcall_stub_main(int argc, char **argv, const struct farcall_entry *entries, size_t count,
                      const unsigned char *module, size_t module_bytes);

/* A call that this process runs, as a routine or as a callback of a client's. It is valid until the
 * function that was given it returns. */
typedef struct farcall_running farcall_running;

/* A parameter of a call: 552 bytes. Of arrays it shows what travels. IN memory is not to be written
   to. */
typedef struct farcall_parameter {
    const char *name;       /* as the interface has it; lives as long as the process */
    void *data;             /* aligned for any element; NULL where there is nothing */
    uint32_t kind;          /* enum farcall_parameter_kind */
    uint32_t mode;          /* enum farcall_mode */
    uint32_t element;       /* enum farcall_element */
    uint32_t rank;          /* of arrays */
    uint64_t element_bytes; /* bytes of one element */
    uint64_t shape[FARCALL_RANK_MAX];  /* extents, in logical order */
    int64_t strides[FARCALL_RANK_MAX]; /* bytes between neighbours */
} farcall_parameter;

/* Takes the source of the module, once and before any routine runs: the text that was published,
 * and the file that it came from. Returns NULL; or why it cannot be used, in UTF-8, valid until the
 * next call. */
typedef const char *(*farcall_load)(void *context, const char *file, const char *source);

/* Runs the routine of this name: reads the parameters of `running`, writes to those that are OUT or
 * INOUT, or says that it failed. */
typedef void (*farcall_body)(void *context, const char *routine, farcall_running *running);

/* Serves the server that started this process with two functions, which are called by this thread,
 * one call at a time; returns main's exit status. */
int farcall_executable_serve(farcall_load load, farcall_body body, void *context);

/* How many parameters the routine has, WORK ones included. */
size_t farcall_running_parameters(const farcall_running *running);

/* Describes parameter number `index`; returns 0, or -1 if there is none. */
int farcall_running_parameter(
    const farcall_running *running, size_t index, farcall_parameter *parameter);

/* Gives the text of an OUT or INOUT string, which is copied; returns 0, or -1 for another parameter
   or a NUL inside. */
int farcall_running_answer(farcall_running *running, size_t index, const char *text, size_t bytes);

/* The same of one string of an array, by its number in memory, 0 the first; NULL for none. */
int farcall_running_answer_at(
    farcall_running *running, size_t index, size_t element, const char *text, size_t bytes);

/* The routine has failed: the caller gets a `routine-failed` error in these words (UTF-8) and no
   results. */
void farcall_running_fail(farcall_running *running, const char *words);

/* The interface of what runs as JSON (spec/idl.md, section 7), callbacks with their own parameters.
   */
const char *farcall_running_json(const farcall_running *running);

/* Calls a callback of the routine, from any of its threads, in two steps.
 *
 * First `parameters` has one entry for each of the callback's own parameters. The caller sets
 * `kind` and where the value lies: of numbers `data`, of arrays `data`, `rank` and `shape` (without
 * gaps, in the callback's storage order), of texts `data` and `shape[0]`, data NULL for no text.
 * FARCALL_PARAMETER_ABSENT is what is OUT, and a number that follows from the extents of arrays: it
 * is written to `data`, which has room for it. Then each entry says how the value is to lie in the
 * call. `data` of an array is no address now: so many bytes lie before its first element. Returns
 * 0, or -1 and why not, in `words`. */
int farcall_running_arrange(const farcall_running *running, size_t index,
    farcall_parameter *parameters, size_t count, char *words, size_t words_bytes);

/* Then the call: the address of each value, of numbers and arrays that of memory that lies so, of
 * texts the text itself, or NULL. OUT and INOUT texts are replaced by the answer, which the caller
 * frees with free(). Returns 0, or -1 and why not; whether the function itself has failed is what
 * farcall_callback_failure says. */
int farcall_running_call(const farcall_running *running, size_t index, void **addresses,
    size_t count, char *words, size_t words_bytes);

/* Gives a connected socket to the server for calls inside the call that runs; or -1, and why not,
 * in `words`: at most `words_bytes` bytes of UTF-8 with a NUL. */
typedef int (*farcall_door)(char *words, size_t words_bytes);

/* A host that loads a library which is linked with libfarcall.so tells it where
   farcall_running_server() is to ask, once. */
void farcall_executable_door(farcall_door door);

/* What a host does for such a library. */
typedef struct farcall_host {
    size_t size;                                      /* sizeof(farcall_host) */
    farcall_door server;                              /* for farcall_running_server */
    int (*is_cancelled)(void);                        /* for farcall_is_cancelled */
    int (*progress)(double done, const char *words);  /* for farcall_progress */
    int (*callback_failed)(void);                     /* for farcall_callback_failed */
    int (*callback_failure)(char *words, size_t words_bytes); /* for farcall_callback_failure */
} farcall_host;

/* As farcall_executable_door, for all of it: a host looks for this first. What it does not have is
 * NULL or lies beyond `size`. The struct need not live longer than the call. */
void farcall_executable_host(const farcall_host *host);

#ifdef __cplusplus
}
#endif

#endif
