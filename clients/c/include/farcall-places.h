/* For other languages: places that own what the library makes, and where GridRPC's handles go (what a
 * client configuration of Ninf-G's says of servers). farcall.h includes this header. */
#ifndef FARCALL_PLACES_H
#define FARCALL_PLACES_H

#include "farcall.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A place that owns what a function of this header puts into it, for languages whose collector runs
 * a C function at the end of an object: no code of the language runs then, which an interrupt could
 * end halfway. Pass the address of `object`, which is the place's own, to whatever makes the
 * object. */
typedef struct farcall_place {
    void *object;                /* NULL: nothing */
    void (*free)(void *object);  /* the function that frees it, such as farcall_call_free */
    int64_t process; /* getpid() of the process that uses it: a forked one frees nothing */
} farcall_place;
/* Frees what lies in a farcall_place, if anything does, and leaves NULL there. NULL does
 * nothing. */
void farcall_place_clear(void *place);

/* What a client configuration of Ninf-G's says of servers. Any thread may use it; private servers
 * that it has started end with it. These functions return codes of grpc.h; *words is then what is
 * wrong, otherwise the answer: to be freed by farcall_text_free. The log is that of the
 * configuration. */
typedef struct farcall_grpc_places farcall_grpc_places;
/* Reads a file; "": that of $NG_CONFIG_FILE or $HOME/.ngconf, where there is one; NULL: none. */
int farcall_grpc_places_read(const char *file, farcall_grpc_places **places, char **words);
/* Connects to the server that a handle of this function, or class, goes to: the first one that has
 * it. `wanted` is NULL, or has attributes of the handle: NAME=VALUE in each line, of hostname, port,
 * job_startTimeout, job_stopTimeout, mpi_runNoOfCPUs, job_queue, jobmanager and subject, as a SERVER
 * section has them. The client is as the configuration says: launcher, heartbeat, compression and
 * tries; farcall_disconnect gives it back. The answer is a JSON object of what holds for calls
 * there, which the caller sees to: the numbers `place`, of the server among those of the
 * configuration, and `connection`, another one for every connection to it; seconds, 0 for no limit,
 * in `start_timeout`, `session_timeout`, and in the array `transfer_timeouts` those of arguments,
 * results, callbacks' arguments and callbacks' results; in `stop_timeout`, -1 for none; `ranks`
 * (0: not said); whether output is printed (`prints`), and whether lines are noted (`notes`). */
int farcall_grpc_places_connect(const farcall_grpc_places *places, const char *wanted,
    const char *name, int of_class, farcall_client **client, char **words);
/* Notes a line in the log of what goes to the server at this place and comes from it. */
void farcall_grpc_places_note(const farcall_grpc_places *places, int place, const char *line);
void farcall_grpc_places_free(farcall_grpc_places *places);

#ifdef __cplusplus
}
#endif

#endif
