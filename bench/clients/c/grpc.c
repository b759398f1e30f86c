/* The GridRPC client under measurement: a program that knows grpc.h alone, but for the call that grpc_call is compared with.
 *
 * Usage: farcall-bench-client-grpc ADDRESS
 *
 * pingpong COUNT         seconds per grpc_call
 * native COUNT           seconds per farcall_call of the same routine, over a connection of its own
 * flight COUNT           sessions per second, when so many are under way at once: all are started while the object that
 *                        they are for is busy, counted, and waited for
 * objects COUNT HOW      seconds until so many object handles take calls: `together` as an array, or `singly`
 * state BYTES WHERE      seconds per call of a routine with so much state: `kept` in an object, or `sent` with each call */
#include <farcall.h>
#include <grpc.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void must(grpc_error_t code, const char *what)
{
    if (code == GRPC_NO_ERROR)
        return;
    grpc_perror_np((char *)what);
    exit(1);
}

/* A bench that measures something else than it says is of no use. */
static void check(int is_right, const char *what)
{
    if (!is_right) {
        fprintf(stderr, "farcall-bench-client-grpc: %s\n", what);
        exit(1);
    }
}

static double pingpong(int count)
{
    static grpc_function_handle_t add;
    static int is_bound;
    double sum = 0, begin;
    if (!is_bound)
        must(grpc_function_handle_default(&add, "bench/add"), "bench/add");
    is_bound = 1;
    begin = now();
    for (int i = 0; i < count; i++)
        must(grpc_call(&add, (double)i, 1.0, &sum), "add");
    check(sum == count, "a wrong sum");
    return (now() - begin) / count;
}

static double native(int count)
{
    static farcall_client *client;
    farcall_error *error = NULL;
    double sum = 0, begin;
    check(client != NULL || farcall_connect(NULL, &client, &error) == FARCALL_OK, "no connection");
    begin = now();
    for (int i = 0; i < count; i++)
        check(farcall_call(client, &error, "bench/add", (double) i, 1.0, &sum) == FARCALL_OK,
            "bench/add");
    check(sum == count, "a wrong sum");
    return (now() - begin) / count;
}

static double flight(int count)
{
    grpc_object_handle_t_np gate;
    grpc_sessionid_t shut, *sessions = malloc((size_t)count * sizeof *sessions);
    double *sums = calloc((size_t)count, sizeof *sums), begin, seconds;
    char path[] = "/tmp/farcall-bench-XXXXXX";
    int under_way = 0, right = 0, file = mkstemp(path);
    check(sessions != NULL && sums != NULL && file >= 0, "no memory, or no file in /tmp");
    close(file);
    must(grpc_object_handle_default_np(&gate, "gate/Gate"), "gate/Gate");
    must(grpc_invoke_async_np(&gate, "shut", &shut, path), "shut");
    begin = now();
    for (int i = 0; i < count; i++)
        must(grpc_invoke_async_np(&gate, "add", &sessions[i], (double)i, 1.0, &sums[i]), "add");
    for (int i = 0; i < count; i++)
        under_way += grpc_probe(sessions[i]) == GRPC_NOT_COMPLETED;
    check(under_way == count, "not all were under way at once");
    unlink(path);
    must(grpc_wait_and(sessions, (size_t)count), "add");
    seconds = now() - begin;
    for (int i = 0; i < count; i++)
        right += sums[i] == i + 1.0;
    check(right == count, "a wrong sum");
    must(grpc_wait(shut), "shut");
    must(grpc_object_handle_destruct_np(&gate), "gate/Gate");
    free(sessions);
    free(sums);
    return count / seconds;
}

static double objects(int count, int together)
{
    grpc_object_handle_t_np *handles = malloc((size_t)count * sizeof *handles);
    double begin = now(), seconds;
    check(handles != NULL, "no memory");
    if (together)
        must(grpc_object_handle_array_default_np(handles, (size_t)count, "gate/Gate"), "gate/Gate");
    for (int i = 0; i < count && !together; i++)
        must(grpc_object_handle_default_np(&handles[i], "gate/Gate"), "gate/Gate");
    for (int i = 0; i < count; i++)
        must(grpc_object_handle_is_ready_np(&handles[i]), "gate/Gate");
    seconds = now() - begin;
    must(grpc_object_handle_array_destruct_np(handles, (size_t)count), "gate/Gate");
    free(handles);
    return seconds;
}

/* The state goes there and comes back: the routine changes it. */
static double sent(long n)
{
    enum { CALLS = 3 };
    static grpc_function_handle_t touch;
    static double *array;
    double begin;
    if (array == NULL) {
        must(grpc_function_handle_default(&touch, "bench/touch_state"), "bench/touch_state");
        array = calloc((size_t)n, sizeof *array);
        check(array != NULL, "no memory");
        /* Its pages are there, as those of a state that was computed would be. */
        for (long i = 0; i < n; i++)
            array[i] = (double)i;
    }
    double before = array[n / 2];
    begin = now();
    for (int i = 0; i < CALLS; i++)
        must(grpc_call(&touch, n, array), "touch_state");
    begin = (now() - begin) / CALLS;
    check(array[n / 2] == before + CALLS && array[n - 1] == (double) (n - 1),
        "a wrong state came back");
    return begin;
}

static double kept(long n)
{
    enum { CALLS = 1000 };
    grpc_object_handle_t_np state;
    double begin, middle = 0;
    must(grpc_object_handle_default_np(&state, "bench/State"), "bench/State");
    must(grpc_invoke_np(&state, "_initialize", n), "_initialize");
    begin = now();
    for (int i = 0; i < CALLS; i++)
        must(grpc_invoke_np(&state, "touch"), "touch");
    begin = (now() - begin) / CALLS;
    must(grpc_invoke_np(&state, "middle", &middle), "middle");
    check(middle == CALLS, "a wrong state was kept");
    must(grpc_object_handle_destruct_np(&state), "bench/State");
    return begin;
}

int main(int argc, char **argv)
{
    char line[256], how[32];
    long count;

    if (argc > 1)
        setenv("FARCALL_SERVER", argv[1], 1);
    must(grpc_initialize(NULL), "grpc_initialize");
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (sscanf(line, "pingpong %ld", &count) == 1)
            printf("%.9f\n", pingpong((int)count));
        else if (sscanf(line, "native %ld", &count) == 1)
            printf("%.9f\n", native((int)count));
        else if (sscanf(line, "flight %ld", &count) == 1)
            printf("%.1f\n", flight((int)count));
        else if (sscanf(line, "objects %ld %31s", &count, how) == 2)
            printf("%.9f\n", objects((int)count, strcmp(how, "together") == 0));
        else if (sscanf(line, "state %ld %31s", &count, how) == 2)
            printf("%.9f\n", strcmp(how, "kept") == 0 ? kept(count / 8) : sent(count / 8));
        else {
            fprintf(stderr, "farcall-bench-client-grpc: no command %s", line);
            return 2;
        }
        fflush(stdout);
    }
    must(grpc_finalize(), "grpc_finalize");
    return 0;
}
