/* Cancel: noticed by the routine, or enforced. */
#include <grpc.h>
#include "check.h"

static double now(void)
{
    struct timeval t;
    gettimeofday(&t, NULL);
    return t.tv_sec + t.tv_usec * 1e-6;
}

static void polled(char *host, char *name, int with_result)
{
    grpc_function_handle_t handle;
    grpc_sessionid_t id;
    char path[200];
    int rounds;
    double begin;
    snprintf(path, sizeof path, "/tmp/cancel-note-%d", (int)getpid());
    unlink(path);
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_init(&handle, host, name));
    if (with_result)
        EXPECT(GRPC_NO_ERROR, grpc_call_async(&handle, &id, path, &rounds));
    else
        EXPECT(GRPC_NO_ERROR, grpc_call_async(&handle, &id, path));
    usleep(200000);
    begin = now();
    EXPECT(GRPC_NO_ERROR, grpc_cancel(id));
    EXPECT(GRPC_SESSION_FAILED, grpc_wait(id));
    CHECK(now() - begin < 1.0);
    EXPECT(GRPC_CANCELED_NP, grpc_get_error(id));
    CHECK(access(path, R_OK) == 0); /* it had the time to leave its note */
    unlink(path);
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_destruct(&handle));
}

int main(int argc, char *argv[])
{
    grpc_function_handle_t handle;
    grpc_sessionid_t id;
    char path[200];
    int rounds;
    double begin;
    EXPECT(GRPC_NO_ERROR, grpc_initialize(argv[1]));
    polled(argv[2], "cancel/polls", 1);
    polled(argv[2], "cancel/older", 0);

    EXPECT(GRPC_NO_ERROR, grpc_function_handle_init(&handle, argv[2], "cancel/deaf"));
    EXPECT(GRPC_NO_ERROR, grpc_call_async(&handle, &id, 3600));
    usleep(100000);
    begin = now();
    EXPECT(GRPC_NO_ERROR, grpc_cancel(id));
    EXPECT(GRPC_SESSION_FAILED, grpc_wait(id));
    CHECK(now() - begin < 5.0);
    EXPECT(GRPC_CANCELED_NP, grpc_get_error(id));
    EXPECT(GRPC_SESSION_FAILED, grpc_wait(id)); /* waited for twice */
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_destruct(&handle));

    /* At once, before it can have begun; then everything that is open. */
    snprintf(path, sizeof path, "/tmp/cancel-note-%d", (int)getpid());
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_init(&handle, argv[2], "cancel/polls"));
    EXPECT(GRPC_NO_ERROR, grpc_call_async(&handle, &id, path, &rounds));
    EXPECT(GRPC_NO_ERROR, grpc_cancel(id));
    EXPECT(GRPC_SESSION_FAILED, grpc_wait_all());
    EXPECT(GRPC_CANCELED_NP, grpc_get_error(id));
    EXPECT(GRPC_NO_ERROR, grpc_call_async(&handle, &id, path, &rounds));
    EXPECT(GRPC_NO_ERROR, grpc_finalize()); /* with a session that would run for ever */
    unlink(path);
    return check_summary();
}
