/* sweep.c: the parameter sweep of Ninf-G2 (section 4.3) by the GridRPC interface: one thread, one
 * array of handles.
 *
 * Handle after handle is given a call, and the next one when its result is there. What is lost with
 * a handle or with the server is called again, by the same handle made again, if the routine may
 * run twice; every other failure is reported. */
#include <getopt.h>
#include <grpc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    PARAMETERS = 448,
    FIELDS = 51200,
    STEPS = 512,
    CALLS_MAX = 1000000,
    HANDLES_MAX = 10000,
    TRIES_MAX = 4
};
enum { RETRY_MS = 500 };

/* What the command line says. */
static struct {
    int calls, handles, once, quiet;
    double seconds, patience;
    char *server;
} options = {1000, 200, 0, 0, 0.5, 60.0, NULL};

/* One handle, and the call that it has. */
typedef struct worker {
    grpc_function_handle_t handle; /* first: a session's handle leads to its worker */
    int lives, call;               /* call: its number, or -1 */
    double parameters[PARAMETERS];
    double *fields;
} worker;

static worker *workers;
static int *tries, *waiting, waiting_count; /* calls that are to be made, the next one last */
static int done, failed, repeated, lost, running;
static double begin;

/* Seconds of a clock that nobody sets. */
static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double) time.tv_sec + 1e-9 * (double) time.tv_nsec;
}

/* How far it is, on a terminal, ten times a second. */
static void show(int is_end)
{
    static double last;
    int width = 40, filled = options.calls ? (done + failed) * width / options.calls : width;
    if (options.quiet || (!is_end && now() - last < 0.1))
        return;
    last = now();
    fprintf(stderr, "\r[%.*s%.*s] %d of %d, %d running, %.1f s ", filled,
        "########################################", width - filled,
        "----------------------------------------", done + failed, options.calls, running,
        now() - begin);
    if (is_end)
        fputc('\n', stderr);
}

/* Tells of a call that is given up. */
static void report(int call, grpc_error_t error)
{
    fprintf(stderr, "%ssweep: call %d failed: %s\n", options.quiet ? "" : "\n", call,
        grpc_error_string(error));
    failed++;
}

/* Has handles made, `count` from this one on, in one request. */
static grpc_error_t bind(worker *first, int count)
{
    char name[] = "sweep/simulate_once";
    if (!options.once)
        name[strlen("sweep/simulate")] = 0;
    grpc_function_handle_t *handles = calloc((size_t) count, sizeof *handles);
    grpc_error_t error =
        options.server
            ? grpc_function_handle_array_init_np(handles, (size_t) count, options.server, name)
            : grpc_function_handle_array_default_np(handles, (size_t) count, name);
    for (int k = 0; k < count && error == GRPC_NO_ERROR; k++) {
        first[k].handle = handles[k];
        first[k].lives = 1;
    }
    free(handles);
    return error;
}

/* Ends all handles in one request. */
static void unbind(void)
{
    grpc_function_handle_t *handles = calloc((size_t) options.handles, sizeof *handles);
    size_t count = 0;
    for (int k = 0; k < options.handles; k++)
        if (workers[k].lives)
            handles[count++] = workers[k].handle;
    if (count > 0)
        grpc_function_handle_array_destruct_np(handles, count);
    free(handles);
}

/* Gives up a handle whose process or connection is gone. */
static void drop(worker *one)
{
    if (one->lives)
        grpc_function_handle_destruct(&one->handle);
    lost += one->lives;
    one->lives = 0;
}

/* What becomes of a call that has ended badly: again, if that can help and does no harm. */
static void judge(int call, grpc_error_t error, int has_begun)
{
    int is_passing = error == GRPC_COMMUNICATION_FAILED || error == GRPC_SESSION_FAILED ||
                     error == GRPC_SERVER_NOT_FOUND || error == GRPC_RPC_REFUSED ||
                     error == GRPC_INVALID_FUNCTION_HANDLE;
    if (!is_passing || (has_begun && options.once) || tries[call] >= TRIES_MAX) {
        report(call, error);
    } else {
        repeated += has_begun;
        waiting[waiting_count++] = call;
    }
}

/* Gives an idle handle the next call. */
static void start(worker *one)
{
    grpc_sessionid_t session;
    int call = waiting[--waiting_count];
    for (int k = 0; k < PARAMETERS; k++)
        one->parameters[k] = call + k / (double) STEPS; /* sums of these are exact */
    tries[call]++;
    grpc_error_t error =
        grpc_call_async(&one->handle, &session, options.seconds, one->parameters, one->fields);
    if (error == GRPC_NO_ERROR) {
        one->call = call;
        running++;
    } else {
        /* Nothing ran. */
        drop(one);
        judge(call, error, 0);
    }
}

/* Whether every number of a result is as sweep.idl says. */
static int is_right(const worker *one)
{
    for (int k = 0; k < FIELDS;)
        for (int i = 0; i < PARAMETERS && k < FIELDS; i++, k++)
            if (one->fields[k] != one->parameters[i] + k)
                return 0;
    return 1;
}

/* Takes what the next session to end has brought. */
static void collect(void)
{
    grpc_sessionid_t session;
    grpc_function_handle_t *handle = NULL;
    grpc_error_t error = grpc_wait_any(&session);
    if (grpc_function_handle_get_from_session_np(&handle, session) != GRPC_NO_ERROR || !handle) {
        fprintf(stderr, "sweep: wait for a call: %s\n", grpc_error_string(error));
        exit(1);
    }
    worker *one = (worker *) (void *) handle;
    int call = one->call;
    one->call = -1;
    running--;
    if (error != GRPC_NO_ERROR) {
        grpc_error_t why = grpc_get_error(session);
        drop(one);
        judge(call, why == GRPC_NO_ERROR ? error : why, 1);
    } else if (is_right(one)) {
        done++;
    } else {
        fprintf(stderr, "sweep: call %d gave a wrong result\n", call);
        failed++;
    }
}

/* Makes handles again that were lost. Fails if there is none, and no server for longer than our
   patience. */
static int revive(void)
{
    static double gone_since, last;
    int living = 0;
    for (int k = 0; k < options.handles; k++)
        living += workers[k].lives;
    if (living == options.handles) {
        gone_since = 0;
        return 1;
    }
    if (now() - last < RETRY_MS / 1e3) {
        if (running == 0 && living == 0)
            usleep(RETRY_MS * 1000);
        return 1;
    }
    last = now();
    for (int k = 0; k < options.handles; k++)
        if (!workers[k].lives && bind(&workers[k], 1) != GRPC_NO_ERROR) {
            /* What one is refused now, the next one is, too. */
            gone_since = gone_since > 0 ? gone_since : now();
            return living > 0 || running > 0 || now() - gone_since < options.patience;
        }
    return 1;
}

/* The master's loop: whoever is idle gets a call, whoever ends is looked at, what is lost is made
   again. */
static void sweep(void)
{
    for (int k = options.calls; k-- > 0;)
        waiting[waiting_count++] = k;
    while (running > 0 || waiting_count > 0) {
        for (int k = 0; k < options.handles && waiting_count > 0; k++)
            if (workers[k].lives && workers[k].call < 0)
                start(&workers[k]);
        show(0);
        if (running > 0)
            collect();
        if (waiting_count > 0 && !revive()) {
            while (waiting_count > 0)
                report(waiting[--waiting_count], GRPC_SERVER_NOT_FOUND);
        }
    }
}

/* A number of the command line, or the end with a word on what is wanted. */
static double positive(const char *option, const char *text, double most)
{
    char *end;
    double value = strtod(text, &end);
    if (*end || end == text || !(value >= 0) || value > most) {
        fprintf(stderr, "sweep: %s wants a number from 0 to %g, not \"%s\"\n", option, most, text);
        exit(2);
    }
    return value;
}

static void read_options(int count, char **arguments)
{
    static const struct option known[] = {
        {"calls", required_argument, NULL, 'c'}, {"handles", required_argument, NULL, 'n'},
        {"server", required_argument, NULL, 's'}, {"seconds", required_argument, NULL, 't'},
        {"patience", required_argument, NULL, 'p'}, {"once", no_argument, NULL, 'o'},
        {"quiet", no_argument, NULL, 'q'}, {NULL, 0, NULL, 0}};
    options.quiet = !isatty(STDERR_FILENO);
    for (int letter; (letter = getopt_long(count, arguments, "c:n:s:t:p:oq", known, NULL)) != -1;) {
        if (letter == 'c') options.calls = (int) positive("--calls", optarg, CALLS_MAX);
        else if (letter == 'n') options.handles = (int) positive("--handles", optarg, HANDLES_MAX);
        else if (letter == 't') options.seconds = positive("--seconds", optarg, 1e6);
        else if (letter == 'p') options.patience = positive("--patience", optarg, 1e6);
        else if (letter == 's') options.server = optarg;
        else if (letter == 'o') options.once = 1;
        else if (letter == 'q') options.quiet = 1;
        else exit(2);
    }
    if (options.handles < 1) {
        fprintf(stderr,
            "sweep: --handles wants a number from 1 to %d: each makes one call at a time\n",
            HANDLES_MAX);
        exit(2);
    }
    if (optind < count) {
        fprintf(stderr, "usage: sweep [--calls N] [--handles N] [--server ADDRESS] [--seconds S] "
                        "[--patience S] [--once] [--quiet]\n");
        exit(2);
    }
}

int main(int count, char **arguments)
{
    grpc_error_t error;
    read_options(count, arguments);
    workers = calloc((size_t) options.handles, sizeof *workers);
    tries = calloc((size_t) options.calls + 1, sizeof *tries);
    waiting = calloc((size_t) options.calls + 1, sizeof *waiting);
    for (int k = 0; k < options.handles; k++) {
        workers[k].fields = malloc(FIELDS * sizeof(double));
        for (int i = 0; i < FIELDS; i++)
            workers[k].fields[i] = NAN; /* what no call fills in is not a result */
        workers[k].call = -1;
    }
    begin = now();
    if ((error = grpc_initialize(NULL)) == GRPC_NO_ERROR)
        /* A server may still be ending the handles of the program before; what it refuses for good,
           the log says each time. */
        for (unsigned pause = RETRY_MS;
            (error = bind(workers, options.handles)) == GRPC_RPC_REFUSED &&
            now() - begin < options.patience;
            pause *= 2)
            usleep(pause * 1000);
    if (error != GRPC_NO_ERROR) {
        fprintf(stderr, "sweep: %s: %s\n", options.server ? options.server : "the default server",
            grpc_error_string(error));
        return 1;
    }
    for (int k = 0; k < options.handles; k++)
        while (grpc_function_handle_is_ready_np(&workers[k].handle) == GRPC_NOT_COMPLETED &&
               now() - begin < options.patience)
            usleep(1000);
    double ready = now();
    sweep();
    double end = now(), ideal = ceil((double) options.calls / options.handles) * options.seconds;
    show(1);
    printf("calls %d handles %d done %d failed %d repeated %d lost-handles %d\n", options.calls,
        options.handles, done, failed, repeated, lost);
    printf("ready %.3f s, calls %.3f s, ideal %.3f s: efficiency %.1f %%, with the start of the "
           "handles %.1f %%\n",
        ready - begin, end - ready, ideal, 100 * ideal / (end - ready),
        100 * ideal / (end - begin));
    unbind();
    grpc_finalize();
    for (int k = 0; k < options.handles; k++)
        free(workers[k].fields);
    free(workers);
    free(tries);
    free(waiting);
    return failed > 0;
}
