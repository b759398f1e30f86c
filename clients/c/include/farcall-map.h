/* Task farming: many calls of one routine, one for each element of something. farcall.h includes this
 * header. */
#ifndef FARCALL_MAP_H
#define FARCALL_MAP_H

#include "farcall.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How many bytes further on the arrays of the next element lie; 0: the same for all. */
typedef struct farcall_step {
    int64_t data; /* of `data` of an argument */
    int64_t into; /* of `into` of an argument */
} farcall_step;

/* Called by farcall_map when an element is done: `results` or, with another status than FARCALL_OK,
 * `error`; both end when it returns. What it returns is 0, or ends all. */
typedef int (*farcall_map_done)(void *context, size_t element, int status,
    const farcall_results *results, const farcall_error *error);

typedef struct farcall_map_options {
    size_t size;                      /* sizeof(farcall_map_options) */
    /* for each call; NULL: none. With keep_seconds, a label has the element behind it: "sweep[17]" */
    const farcall_call_options *call;
    size_t window;                    /* running calls at a time, at most; 0: 1024 */
    uint32_t goes_on;                 /* 1: an element that fails does not end the others */
    uint32_t reserved;                /* zero */
    farcall_map_done done;            /* NULL: nobody is told */
    void *context;                    /* what `done` is given */
} farcall_map_options;

/* Calls a routine once for each of `count` elements, and returns when all are done, or when the first
 * has failed: the calls that run then are cancelled, and the error names the element.
 * `arguments` are those of the first element, as for farcall_call_arguments; `steps`, one for each,
 * say where those of the others lie. Results go into arrays of the same kind: `data` of an OUT
 * parameter, a destination of an INOUT one. A number is an array here, too: FARCALL_ARRAY whose
 * `data` is where its values lie, of the parameter's own type. NULL steps: each element has
 * `parameters` arguments of its own, one behind the other. Elements must not share memory that is
 * written to. `options` may be NULL. `statuses`, unless NULL, has room for `count`: FARCALL_OK, the
 * kind of error, or FARCALL_PENDING for what has no outcome. With goes_on, FARCALL_OK says that each
 * element has one. Where there are several servers, each call goes where it is expected to end
 * first. */
int farcall_map(const farcall_routine *routine, size_t count, const farcall_argument *arguments,
    const farcall_step *steps, size_t parameters, const farcall_map_options *options, int *statuses,
    farcall_error **error);

/* The same in pieces, for bindings. A farm's calls are told to nobody else: farcall_next_finished
 * does not know them. */
typedef struct farcall_farm farcall_farm;

/* What became of an element's call: 56 bytes. */
typedef struct farcall_outcome {
    uint64_t element;
    int32_t status;           /* enum farcall_status */
    uint32_t server;          /* farcall_farm_server has its name */
    farcall_results *results; /* the caller's to free; NULL after a failure, and for numbers */
    farcall_error *error;     /* the caller's to free; NULL without one */
    farcall_times times;
} farcall_outcome;

/* A number that is a result, in its own type from the first byte on. */
typedef struct farcall_number {
    double bytes[2];
} farcall_number;

/* A farm without calls, all of which are made with these options (NULL: none). The caller frees it
 * with farcall_farm_free. One thread at a time may use it; others wait. */
int farcall_farm_open(const farcall_routine *routine, const farcall_call_options *options,
    farcall_farm **farm, farcall_error **error);
/* Starts the calls of the elements `first` to `first + count - 1`, as for farcall_map, as far as
 * there is room for them: *started of them, and FARCALL_PENDING if that is not all. While calls of
 * the farm are running, it waits for a server for at most wait_seconds, and for room not at all;
 * otherwise for both. Memory of arrays stays valid until the element's outcome was given. What is
 * wrong with an element's arguments is its outcome. */
int farcall_farm_start(farcall_farm *farm, uint64_t first, size_t count,
    const farcall_argument *arguments, const farcall_step *steps, size_t parameters,
    double wait_seconds, size_t *started, farcall_error **error);
/* Waits for an outcome, for at most timeout_seconds (< 0: for ever), and gives it and all others that
 * have come, at most `capacity`. FARCALL_PENDING if nothing has come by then, or no call is running.
 * Where `numbers` is not NULL, it has room for `capacity` times the results of the interface: an
 * element all of whose results are numbers gives them there, in order, and no results. */
int farcall_farm_next(farcall_farm *farm, double timeout_seconds, farcall_outcome *outcomes,
    size_t capacity, farcall_number *numbers, size_t *count, farcall_error **error);
/* Elements that were started and whose outcome was not given. 0 for NULL. */
size_t farcall_farm_under_way(const farcall_farm *farm);
/* The name of a server; the farm's. NULL for a number that no outcome had. */
const char *farcall_farm_server(const farcall_farm *farm, uint32_t server);
/* Frees a farm. The servers are asked to end calls that run, unless they keep them; this
 * waits for nothing. */
void farcall_farm_free(farcall_farm *farm);

#ifdef __cplusplus
}
#endif

#endif
