/* The connection ends or stands still at every step of a call: before, in and after each transfer,
 * while the routine runs, and in its call back. The program gets the right result or the right code
 * in time, others go on, and the server forgets. */
#include "grpc_exchange.h"

/* What a call ends with whose connection was lost; at the last bytes, it may have been over. */
static const int lost[] = {GRPC_COMMUNICATION_FAILED, EXCHANGE_ELSE};
static const int lost_or_over[] = {GRPC_COMMUNICATION_FAILED, EXCHANGE_WELL};
static const int none[] = {EXCHANGE_WELL};
static const int late[] = {GRPC_TIMEOUT_NP, EXCHANGE_ELSE};

/* One exchange on which something happens at a byte: its code. Afterwards another one succeeds. */
static void one(const char *what, enum exchange_mode mode, int way, long at, enum proxy_act act,
    int seconds, const int *allowed)
{
    struct exchange it, again;
    int status = exchange_bind(&it, mode, seconds);
    double begun;
    CHECK_OK(status);
    if (status != GRPC_NO_ERROR) {
        exchange_free(&it);
        return;
    }
    proxy_plan(way, at, act, NULL);
    begun = check_now();
    status = exchange_make(&it);
    exchange_check(what, mode, at, status, check_now() - begun, seconds + 2, allowed);
    proxy_plan(0, -1, PROXY_PASS, NULL);
    exchange_in_callback = NULL;
    exchange_free(&it);
    CHECK_OK(exchange_bind(&again, mode, 20));
    CHECK_OK(exchange_make(&again));
    exchange_free(&again);
}

/* How many bytes an exchange has, of each direction. */
static void measure(enum exchange_mode mode, long *bytes)
{
    struct exchange it;
    CHECK_OK(exchange_bind(&it, mode, 20));
    proxy_plan(0, -1, PROXY_PASS, NULL);
    exchange_told = 0;
    CHECK_OK(exchange_make(&it));
    bytes[0] = proxy_passed(0);
    bytes[1] = proxy_passed(1);
    CHECK(bytes[0] > 300000 && bytes[1] > 300000 && exchange_told >= 1);
    exchange_free(&it);
}

static void at_every_step(enum exchange_mode mode)
{
    long bytes[2], at;
    int way, part;
    measure(mode, bytes);
    for (way = 0; way < 2; way++) {
        const long early[] = {0, 1, 17, 200};
        for (part = 0; part < 4; part++)
            one(way ? "cut, first of results" : "cut, first of arguments", mode, way, early[part],
                PROXY_CUT, 5, lost);
        for (part = 1; part < 4; part++)
            one(way ? "cut in results" : "cut in arguments", mode, way, bytes[way] * part / 4,
                PROXY_CUT, 5, lost);
        for (at = 1; at < 300; at += 140)
            one(way ? "cut, last of results" : "cut, last of arguments", mode, way, bytes[way] - at,
                PROXY_CUT, 5, lost_or_over);
        one(way ? "still, results" : "still, arguments", mode, way, bytes[way] / 2, PROXY_HOLD, 1,
            late);
    }
}

static void in_the_callback(enum exchange_mode mode)
{
    exchange_in_callback = proxy_cut;
    one("cut in the call back", mode, 0, -1, PROXY_PASS, 5, lost);
    exchange_in_callback = NULL;
}

static void *cut_soon(void *nothing)
{
    usleep(100000);
    proxy_cut();
    return nothing;
}

/* While it runs: it makes no difference to the routine, and its result comes, or its caller is
   told. */
static void while_it_runs(const int *allowed)
{
    grpc_function_handle_t handle;
    grpc_sessionid_t session;
    pthread_t thread;
    int done = 0, status;
    double begun = check_now();
    CHECK_OK(grpc_function_handle_init(&handle, exchange_proxied, "grpcfaults/linger"));
    CHECK_OK(grpc_call_async(&handle, &session, 0.5, &done));
    pthread_create(&thread, NULL, cut_soon, NULL);
    status = grpc_wait(session);
    pthread_join(thread, NULL);
    exchange_check("cut while it runs", EXCHANGE_ASYNC, 0, status, check_now() - begun, 5, allowed);
    CHECK((status == GRPC_NO_ERROR) == (done == 1));
    CHECK_CODE(grpc_get_error(session), status);
    CHECK_OK(grpc_function_handle_destruct(&handle));
}

static void close_and_cut(void)
{
    proxy_close(1);
    proxy_cut();
}

/* Nobody gets through any more: the call ends no later than its time. */
static void for_good(enum exchange_mode mode)
{
    struct exchange it, never;
    int status = exchange_bind(&it, mode, 2);
    double begun;
    CHECK_OK(status);
    if (status == GRPC_NO_ERROR) {
        exchange_in_callback = close_and_cut;
        begun = check_now();
        status = exchange_make(&it);
        exchange_check("cut for good", mode, 0, status, check_now() - begun, 5, lost);
    }
    exchange_in_callback = NULL;
    CHECK(exchange_bind(&never, mode, 2) != GRPC_NO_ERROR);
    exchange_free(&never);
    /* Its processes are let go when they can be reached. */
    proxy_close(0);
    exchange_free(&it);
}

int main(void)
{
    grpc_function_handle_t other;
    grpc_sessionid_t fine;
    farcall_server *server = exchange_begin();
    int mode, done = 0;
    CHECK_OK(grpc_initialize(NULL));
    /* Somebody else's, over a connection of its own. */
    CHECK_OK(grpc_function_handle_init(&other, exchange_direct, "grpcchecks/spin"));
    CHECK_OK(grpc_call_async(&other, &fine));
    for (mode = 0; mode < EXCHANGE_MODES; mode++) {
        at_every_step(mode);
        in_the_callback(mode);
        for_good(mode);
    }
    while_it_runs(lost);
    CHECK_CODE(grpc_probe(fine), GRPC_NOT_COMPLETED);
    /* What is left on the server is that one, and its process. */
    exchange_settles("calls_open", 1, 40);
    exchange_settles("objects_held", 1, 10);
    CHECK_OK(grpc_cancel(fine));
    CHECK_CODE(grpc_wait(fine), GRPC_SESSION_FAILED);
    CHECK_OK(grpc_function_handle_destruct(&other));
    CHECK_OK(grpc_function_handle_init(&other, exchange_direct, "linger"));
    CHECK_OK(grpc_call(&other, 0.0, &done));
    CHECK_OK(grpc_finalize());
    /* Who asks for it has calls go on, over another connection. */
    setenv("FARCALL_RECONNECT", "20", 1);
    CHECK_OK(grpc_initialize(NULL));
    while_it_runs(none);
    CHECK_OK(grpc_finalize());
    exchange_end();
    return check_end(server);
}
