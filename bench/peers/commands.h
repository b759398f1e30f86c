/* The client's side of every peer in C or C++: reads commands on standard input, answers each with one line.
 *
 *   roundtrip BYTES        seconds for one array there and back
 *   pingpong COUNT         seconds per small call
 *   pipeline COUNT DEPTH   calls per second, with DEPTH of them under way
 *
 * So the driver takes turns between a peer, Farcall and the raw program in the same way (bench/processes.py).
 */
#ifndef PEERS_COMMANDS_H
#define PEERS_COMMANDS_H

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

/* What a peer can do; NULL: it is not measured in that. A negative result or NULL means that it
   failed. */
struct client {
    /* Before an array travels; not timed. */
    void (*prepare)(void);
    /* Sends the array and returns where the answer lies: in the array itself, or in memory of the
       peer's library. */
    const double *(*roundtrip)(double *array, size_t bytes);
    /* Afterwards; not timed: a program may give memory back when it likes. */
    void (*release)(void);
    double (*pingpong)(int calls);
    double (*pipeline)(int calls, int depth);
};

static inline double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* A server under measurement never outlives the bench. It does not look at standard input for that,
 * as the raw server does: a second thing to wait for would cost it time. */
static inline void end_with_parent(void)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
}

/* One reused array, which is written before it travels for the first time. */
static inline double timed_roundtrip(const struct client *client, size_t bytes)
{
    static double *array;
    static size_t length;
    size_t count = bytes / sizeof *array;

    if (count == 0)
        return -1;
    if (length != bytes) {
        free(array);
        array = (double *)malloc(bytes);
        length = array ? bytes : 0;
        if (array == NULL)
            return -1;
        for (size_t i = 0; i < count; i++)
            array[i] = (double)i;
    }
    if (client->prepare != NULL)
        client->prepare();
    double begin = now();
    const double *result = client->roundtrip(array, bytes);
    double seconds = now() - begin;
    int same = result != NULL && result[count / 2] == (double) (count / 2) &&
               result[count - 1] == (double) (count - 1);
    if (client->release != NULL)
        client->release();
    return same ? seconds : -1;
}

/* Answers until standard input ends; the exit status of the program. */
static inline int answer(const struct client *client)
{
    char line[128];
    size_t bytes;
    int calls, depth;

    while (fgets(line, sizeof line, stdin) != NULL) {
        double figure = -1;
        if (client->roundtrip != NULL && sscanf(line, "roundtrip %zu", &bytes) == 1)
            figure = timed_roundtrip(client, bytes);
        else if (client->pingpong != NULL && sscanf(line, "pingpong %d", &calls) == 1)
            figure = client->pingpong(calls);
        else if (client->pipeline != NULL && sscanf(line, "pipeline %d %d", &calls, &depth) == 2)
            figure = client->pipeline(calls, depth);
        if (figure < 0) {
            fprintf(stderr, "peer: failed at: %s", line);
            return 1;
        }
        printf("%.9f\n", figure);
        fflush(stdout);
    }
    return 0;
}

#endif
