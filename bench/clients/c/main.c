/* The C client under measurement: the same commands as the Rust one (bench/clients/rust/main.rs).
   Small calls go to all servers that are named, in turn. */
#include <farcall.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void must(int status, farcall_error *error)
{
    if (status == FARCALL_OK)
        return;
    fprintf(stderr, "farcall-bench-client-c: %s\n", farcall_error_message(error));
    exit(1);
}

/* One ordinary array both ways: it comes back over itself. */
static double roundtrip(farcall_client *client, size_t bytes)
{
    static double *array;
    static size_t length;
    farcall_error *error = NULL;
    long n = (long)(bytes / sizeof *array);

    if (length != bytes) {
        free(array);
        array = malloc(bytes);
        length = bytes;
        for (long i = 0; array != NULL && i < n; i++)
            array[i] = (double)i;
    }
    if (array == NULL)
        exit(1);
    double begin = now();
    int status = farcall_call(client, &error, "bench/touch", n, array);
    double seconds = now() - begin;
    must(status, error);
    if (n > 0 && array[n / 2] != (double)(n / 2)) {
        fputs("farcall-bench-client-c: the array came back changed\n", stderr);
        exit(1);
    }
    return seconds;
}

/* The servers that small calls go to, one after the other. */
enum { SERVERS_MAX = 16 };
static farcall_client *clients[SERVERS_MAX];
static int servers;

static double pingpong(int count)
{
    farcall_error *error = NULL;
    double sum = 0, begin = now();

    for (int i = 0; i < count; i++) {
        int status = farcall_call(
            clients[i % servers], &error, "bench/add", (double) i, 1.0, &sum);
        must(status, error);
    }
    return (now() - begin) / count;
}

/* Calls per second with `depth` of them under way: whenever the oldest is over, another is started.
   */
static double pipeline(int count, int depth)
{
    enum { DEPTH_MAX = 4096 };
    static farcall_call *calls[DEPTH_MAX];
    static double sums[DEPTH_MAX];
    farcall_error *error = NULL;
    double begin = now();
    int status;

    if (depth < 1 || depth > DEPTH_MAX)
        exit(1);
    for (int i = 0; i < count + depth; i++) {
        int slot = i % depth;
        if (i >= depth) {
            status = farcall_call_wait(calls[slot], -1, NULL, &error);
            must(status, error);
            farcall_call_free(calls[slot]);
            if (sums[slot] != (double)(i - depth) + 1.0) {
                fputs("farcall-bench-client-c: a wrong sum\n", stderr);
                exit(1);
            }
        }
        if (i < count) {
            status = farcall_start_call(clients[i % servers], &error, &calls[slot], "bench/add",
                (double) i, 1.0, &sums[slot]);
            must(status, error);
        }
    }
    return count / (now() - begin);
}

int main(int argc, char **argv)
{
    farcall_error *error = NULL;
    char line[256];
    int count, depth;

    do {
        const char *address = argc > 1 ? argv[1 + servers] : NULL;
        int status = farcall_connect(address, &clients[servers], &error);
        must(status, error);
        servers++;
    } while (servers < argc - 1 && servers < SERVERS_MAX);
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (strncmp(line, "roundtrip ", 10) == 0)
            printf("%.9f\n", roundtrip(clients[0], strtoull(line + 10, NULL, 10)));
        else if (strncmp(line, "pingpong ", 9) == 0)
            printf("%.9f\n", pingpong(atoi(line + 9)));
        else if (sscanf(line, "pipeline %d %d", &count, &depth) == 2)
            printf("%.1f\n", pipeline(count, depth));
        else {
            fprintf(stderr, "farcall-bench-client-c: no command %s", line);
            return 2;
        }
        fflush(stdout);
    }
    while (servers > 0)
        farcall_disconnect(clients[--servers]);
    return 0;
}
