/* The calls in C that those of main.f90 are compared with: of the same program, over a connection
   of its own. */
#include <farcall.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static farcall_client *client;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* A bench that measures something else than it says is of no use. */
static void check(int is_right, const char *what)
{
    if (!is_right) {
        fprintf(stderr, "farcall-bench-client-fortran: %s\n", what);
        exit(1);
    }
}

void native_begin(const char *address)
{
    check(farcall_connect(address, &client, NULL) == FARCALL_OK, "no connection");
}

/* Seconds per call of two scalars. */
double native_pingpong(int count)
{
    farcall_error *error = NULL;
    double sum = 0, begin = now();
    for (int i = 0; i < count; i++)
        check(farcall_call(client, &error, "bench/add", (double) i, 1.0, &sum) == FARCALL_OK,
            "bench/add");
    check(sum == count, "a wrong sum");
    return (now() - begin) / count;
}

/* Seconds for an array there and back into itself. */
double native_roundtrip(int64_t n, double *array)
{
    farcall_error *error = NULL;
    double begin = now();
    check(farcall_call(client, &error, "bench/touch", (long)n, array) == FARCALL_OK, "bench/touch");
    begin = now() - begin;
    check(array[n - 1] == 1, "a wrong array came back");
    return begin;
}
