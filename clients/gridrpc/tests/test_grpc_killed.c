/* The server, or the routine's process, is killed at every step of a call: before, in and after
 * each transfer, while it runs, and in its call back. The program gets the right result or the
 * right code in time, others go on, and nothing runs on. */
#include "grpc_exchange.h"

/* More processes than this no server here has. */
enum { PROCESSES = 100 };

/* What a call ends with whose server was killed: before it, the program may know already. */
static const int server_killed[] = {GRPC_COMMUNICATION_FAILED, EXCHANGE_ELSE};
static const int server_killed_late[] = {GRPC_COMMUNICATION_FAILED, EXCHANGE_WELL};
static const int server_killed_before[] = {
    GRPC_COMMUNICATION_FAILED, GRPC_SERVER_NOT_FOUND, EXCHANGE_ELSE};
/* The same of its process. Before it, the server may know already, and has another one, but not for
   an object or an array. */
static const int process_killed[] = {GRPC_SESSION_FAILED, EXCHANGE_ELSE};
static const int process_killed_late[] = {GRPC_SESSION_FAILED, EXCHANGE_WELL};
static const int process_killed_before[][4] = {
    [EXCHANGE_CALL] = {GRPC_SESSION_FAILED, EXCHANGE_WELL},
    [EXCHANGE_ASYNC] = {GRPC_SESSION_FAILED, EXCHANGE_WELL},
    [EXCHANGE_ARRAY] = {GRPC_SESSION_FAILED, GRPC_INVALID_FUNCTION_HANDLE, EXCHANGE_ELSE},
    [EXCHANGE_OBJECT] = {GRPC_SESSION_FAILED, GRPC_INVALID_OBJECT_HANDLE_NP, EXCHANGE_ELSE},
};

static pid_t server_process, victims[PROCESSES];
static int victim_count, has_killed;

/* Kills the server, or all processes of routines. */
static void kill_victims(void)
{
    int index;
    if (__sync_fetch_and_add(&has_killed, 1))
        return;
    for (index = 0; index < victim_count; index++)
        kill(victims[index], SIGKILL);
}

/* A step: at a byte of a transfer, in the call back, or before the call. */
struct step {
    const char *name;
    int way;
    double part;
    int in_callback, before;
};

static const struct step steps[] = {
    {"before it", 0, 0, 0, 1},
    {"at its first byte", 0, 0, 0, 0},
    {"in its arguments", 0, 0.5, 0, 0},
    {"at their end", 0, 0.999, 0, 0},
    {"in its call back", 0, 0, 1, 0},
    {"at the answer's begin", 1, 0.0005, 0, 0},
    {"in its results", 1, 0.5, 0, 0},
    {"at their end", 1, 0.999, 0, 0},
};

static int steps_count = sizeof steps / sizeof *steps;

/* One call in which the victims are killed at a step: its code, and how long it took. */
static int run_step(struct exchange *it, const struct step *step, double *seconds)
{
    double begun = check_now();
    long bytes = it->mode == EXCHANGE_ARRAY ? 640448 : 320200;
    int status;
    has_killed = 0;
    if (step->before)
        kill_victims();
    else if (step->in_callback)
        exchange_in_callback = kill_victims;
    else
        proxy_plan(step->way, (long)(step->part * (double)bytes), PROXY_CALL, kill_victims);
    status = exchange_make(it);
    *seconds = check_now() - begun;
    check_that(has_killed, step->name, __LINE__);
    if (!has_killed)
        printf("    %s: %d after %ld and %ld bytes\n", exchange_names[it->mode], status,
            proxy_passed(0), proxy_passed(1));
    exchange_in_callback = NULL;
    proxy_plan(0, -1, PROXY_PASS, NULL);
    return status;
}

/* The server is killed: its processes end, too. */
static void kill_server(enum exchange_mode mode, const struct step *step)
{
    farcall_server *server = exchange_begin();
    pid_t processes[PROCESSES];
    struct exchange it;
    int status, count, index, left;
    double seconds, begun;
    server_process = check_youngest_child();
    status = exchange_bind(&it, mode, 4);
    CHECK_OK(status);
    if (status == GRPC_NO_ERROR) {
        count = exchange_processes(server_process, processes, PROCESSES);
        CHECK(count >= 0);
        victims[0] = server_process;
        victim_count = 1;
        status = run_step(&it, step, &seconds);
        exchange_check(step->name, mode, 0, status, seconds, 6,
            step->before ? server_killed_before
            : step->way  ? server_killed_late
                         : server_killed);
        for (begun = check_now(), left = 1; left && check_now() - begun < 5; usleep(10000))
            for (left = 0, index = 0; index < count; index++)
                left += exchange_runs(processes[index]);
        check_that(!left, "the killed server's processes have ended", __LINE__);
    }
    exchange_free(&it);
    /* What is known of a routine may do for a moment, until it is seen that the connection has
       ended. */
    for (begun = check_now();
        (status = exchange_bind(&it, mode, 1)) == GRPC_NO_ERROR && check_now() - begun < 5;
        usleep(20000))
        exchange_free(&it);
    CHECK_CODE(status, GRPC_SERVER_NOT_FOUND);
    farcall_server_stop(server);
}

/* The process in which the routine runs is killed: the server has another one for the next call. */
static void kill_process(enum exchange_mode mode, const struct step *step)
{
    struct exchange it;
    double seconds;
    int status = exchange_bind(&it, mode, 10);
    CHECK_OK(status);
    if (status != GRPC_NO_ERROR)
        return;
    /* Then a process of the routine runs and waits. */
    CHECK_OK(exchange_make(&it));
    victim_count = exchange_processes(server_process, victims, PROCESSES);
    CHECK(victim_count > 0);
    status = run_step(&it, step, &seconds);
    exchange_check(step->name, mode, 1, status, seconds, 6,
        step->before ? process_killed_before[mode]
        : step->way  ? process_killed_late
                     : process_killed);
    exchange_free(&it);
    CHECK_OK(exchange_bind(&it, mode, 10));
    CHECK_OK(exchange_make(&it));
    exchange_free(&it);
}

int main(void)
{
    grpc_function_handle_t other;
    grpc_sessionid_t fine;
    farcall_server *bystander = check_begin(0, NULL), *server;
    int mode, step, done = 0;
    CHECK_OK(grpc_initialize(NULL));
    /* Somebody else's, at another server. */
    CHECK_OK(grpc_function_handle_init(&other, (char *)farcall_server_address(bystander), "spin"));
    CHECK_OK(grpc_call_async(&other, &fine));

    server = exchange_begin();
    server_process = check_youngest_child();
    for (mode = 0; mode < EXCHANGE_MODES; mode++)
        for (step = 0; step < steps_count; step++)
            kill_process(mode, &steps[step]);
    exchange_settles("calls_open", 0, 10);
    exchange_settles("objects_held", 0, 10);
    farcall_server_stop(server);

    for (mode = 0; mode < EXCHANGE_MODES; mode++)
        for (step = 0; step < steps_count; step++)
            kill_server(mode, &steps[step]);

    CHECK_CODE(grpc_probe(fine), GRPC_NOT_COMPLETED);
    CHECK_OK(grpc_cancel(fine));
    CHECK_CODE(grpc_wait(fine), GRPC_SESSION_FAILED);
    CHECK_OK(grpc_function_handle_init(&other, (char *)farcall_server_address(bystander), "nap"));
    CHECK_OK(grpc_call(&other, 0.0, &done));
    CHECK_OK(grpc_finalize());
    exchange_end();
    return check_end(bystander);
}
