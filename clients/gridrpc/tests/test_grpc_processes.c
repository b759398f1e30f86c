/* Which processes calls run in: a handle that is bound to a named server has its own, and a default
   one has none. */
#include "grpc_check.h"

#define HANDLES 6

static int tally(grpc_function_handle_t *handle)
{
    int number = -1;
    CHECK_OK(grpc_call(handle, &number));
    return number;
}

/* Static variables live on from call to call of a handle, and are no other handle's. */
static void each_counts_for_itself(char *server)
{
    grpc_function_handle_t one, other;
    CHECK_OK(grpc_function_handle_init(&one, server, "tally"));
    CHECK_OK(grpc_function_handle_init(&other, server, "tally"));
    CHECK(tally(&one) == 1 && tally(&one) == 2 && tally(&other) == 1 && tally(&one) == 3 &&
          tally(&other) == 2);
    CHECK_OK(grpc_function_handle_destruct(&one));
    CHECK(tally(&other) == 3);
    CHECK_OK(grpc_function_handle_destruct(&other));
}

/* More than there are processors sleep at the same time. */
static void all_run_at_once(char *server)
{
    grpc_function_handle_t handles[HANDLES];
    grpc_sessionid_t session;
    int index, done[HANDLES] = {0};
    double begun;
    for (index = 0; index < HANDLES; index++) {
        CHECK_OK(grpc_function_handle_init(&handles[index], server, "nap"));
        CHECK_OK(grpc_call(&handles[index], 0.0, &done[index]));
    }
    begun = check_now();
    for (index = 0; index < HANDLES; index++)
        CHECK_OK(grpc_call_async(&handles[index], &session, 1.0, &done[index]));
    CHECK_OK(grpc_wait_all());
    CHECK(check_now() - begun < HANDLES / 2.0);
    for (index = 0; index < HANDLES; index++)
        CHECK_OK(grpc_function_handle_destruct(&handles[index]));
}

/* Of two calls with one handle, the second does not wait for the first. */
static void a_busy_process_keeps_no_call_waiting(char *server)
{
    grpc_function_handle_t nap;
    grpc_sessionid_t slow, fast;
    int done = 0, also = 0;
    CHECK_OK(grpc_function_handle_init(&nap, server, "nap"));
    CHECK_OK(grpc_call_async(&nap, &slow, 20.0, &done));
    CHECK_OK(grpc_call_async(&nap, &fast, 0.0, &also));
    CHECK_OK(grpc_wait(fast));
    CHECK(also == 1);
    CHECK_CODE(grpc_probe(slow), GRPC_NOT_COMPLETED);
    CHECK_OK(grpc_cancel(slow));
    CHECK_CODE(grpc_wait(slow), GRPC_SESSION_FAILED);
    CHECK_OK(grpc_call(&nap, 0.0, &also));
    CHECK_OK(grpc_function_handle_destruct(&nap));
}

/* A process that ended costs the call that ended it; the next one has another. */
static void a_process_that_ends_is_replaced(char *server)
{
    grpc_function_handle_t leave;
    int count;
    CHECK_OK(grpc_function_handle_init(&leave, server, "leave"));
    for (count = 0; count < 3; count++)
        CHECK_CODE(grpc_call(&leave, 3), GRPC_SESSION_FAILED);
    CHECK_OK(grpc_function_handle_destruct(&leave));
}

int main(void)
{
    farcall_server *server = check_begin(0, NULL);
    char *address = getenv("FARCALL_SERVER");
    CHECK_OK(grpc_initialize(NULL));
    each_counts_for_itself(address);
    all_run_at_once(address);
    a_busy_process_keeps_no_call_waiting(address);
    a_process_that_ends_is_replaced(address);
    CHECK_OK(grpc_finalize());
    return check_end(server);
}
