/* What goes wrong, and which code says so. */
#include <grpc.h>
#include "check.h"

static void wrong_names(char *host)
{
    grpc_function_handle_t handle;
    EXPECT(GRPC_FUNCTION_NOT_FOUND, grpc_function_handle_init(&handle, host, "basic/nothing"));
    EXPECT(GRPC_FUNCTION_NOT_FOUND, grpc_function_handle_default(&handle, "nowhere/nothing"));
    EXPECT(GRPC_SERVER_NOT_FOUND,
        grpc_function_handle_init(&handle, "no-such-host.invalid", "basic/add"));
}

static void routines_that_die(char *host)
{
    int how;
    for (how = 0; how < 3; how++) {
        grpc_function_handle_t handle, other;
        grpc_sessionid_t id, good, failed;
        int answer = 0;
        EXPECT(GRPC_NO_ERROR, grpc_function_handle_init(&handle, host, "basic/dies"));
        EXPECT(GRPC_NO_ERROR, grpc_function_handle_init(&other, host, "basic/wait_for"));
        EXPECT(GRPC_NO_ERROR, grpc_call_async(&handle, &id, how));
        EXPECT(GRPC_NO_ERROR, grpc_call_async(&other, &good, 0.3, 9, &answer));
        EXPECT(GRPC_SESSION_FAILED, grpc_wait_all());
        CHECK(answer == 9); /* wait_all waited for the good one, too */
        EXPECT(GRPC_NO_ERROR, grpc_get_error(good));
        CHECK(grpc_get_error(id) != GRPC_NO_ERROR);
        EXPECT(GRPC_NO_ERROR, grpc_get_failed_sessionid(&failed));
        CHECK(failed == id);
        EXPECT(GRPC_NO_ERROR, grpc_get_failed_sessionid(&failed));
        CHECK(failed == GRPC_SESSIONID_VOID);
        grpc_function_handle_destruct(&handle); /* whatever it says, it returns */
        EXPECT(GRPC_NO_ERROR, grpc_function_handle_destruct(&other));
    }
}

static void cancelling(char *host)
{
    grpc_function_handle_t handle;
    grpc_sessionid_t id;
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_init(&handle, host, "basic/dies"));
    EXPECT(GRPC_NO_ERROR, grpc_call_async(&handle, &id, 3)); /* never ends by itself */
    usleep(100000);
    EXPECT(GRPC_NOT_COMPLETED, grpc_probe(id));
    EXPECT(GRPC_NO_ERROR, grpc_cancel(id));
    EXPECT(GRPC_SESSION_FAILED, grpc_wait(id));
    EXPECT(GRPC_CANCELED_NP, grpc_get_error(id));
    EXPECT(GRPC_INVALID_SESSION_ID, grpc_cancel(98765));
    grpc_function_handle_destruct(&handle);

    EXPECT(GRPC_NO_ERROR, grpc_function_handle_init(&handle, host, "basic/dies"));
    EXPECT(GRPC_NO_ERROR, grpc_call_async(&handle, &id, 3));
    EXPECT(GRPC_NO_ERROR, grpc_cancel_all());
    EXPECT(GRPC_SESSION_FAILED, grpc_wait_all());
    EXPECT(GRPC_CANCELED_NP, grpc_get_error(id));
    grpc_function_handle_destruct(&handle);
}

static void strings(void)
{
    int code;
    for (code = GRPC_NO_ERROR; code <= 16; code++)
        CHECK(grpc_error_string(code) != NULL && *grpc_error_string(code) != '\0');
    CHECK(strcmp(grpc_error_string(-1), "GRPC_UNKNOWN_ERROR_CODE") == 0);
    CHECK(strcmp(grpc_error_string(100000), "GRPC_UNKNOWN_ERROR_CODE") == 0);
}

int main(int argc, char *argv[])
{
    grpc_function_handle_t handle, *pointer;
    grpc_sessionid_t id;
    int sum;
    memset(&handle, 0, sizeof handle);

    EXPECT(GRPC_NOT_INITIALIZED, grpc_finalize());
    EXPECT(GRPC_NOT_INITIALIZED, grpc_function_handle_default(&handle, "basic/add"));
    EXPECT(GRPC_NOT_INITIALIZED, grpc_function_handle_init(&handle, argv[2], "basic/add"));
    EXPECT(GRPC_NOT_INITIALIZED, grpc_function_handle_destruct(&handle));
    EXPECT(GRPC_NOT_INITIALIZED, grpc_get_handle(&pointer, 0));
    EXPECT(GRPC_NOT_INITIALIZED, grpc_call(&handle, 1, 2, &sum));
    EXPECT(GRPC_NOT_INITIALIZED, grpc_call_async(&handle, &id, 1, 2, &sum));
    EXPECT(GRPC_NOT_INITIALIZED, grpc_probe(0));
    EXPECT(GRPC_NOT_INITIALIZED, grpc_probe_or(&id, 1, &id));
    EXPECT(GRPC_NOT_INITIALIZED, grpc_cancel(0));
    EXPECT(GRPC_NOT_INITIALIZED, grpc_cancel_all());
    EXPECT(GRPC_NOT_INITIALIZED, grpc_wait(0));
    EXPECT(GRPC_NOT_INITIALIZED, grpc_wait_and(&id, 1));
    EXPECT(GRPC_NOT_INITIALIZED, grpc_wait_or(&id, 1, &id));
    EXPECT(GRPC_NOT_INITIALIZED, grpc_wait_all());
    EXPECT(GRPC_NOT_INITIALIZED, grpc_wait_any(&id));
    EXPECT(GRPC_NOT_INITIALIZED, grpc_get_error(0));
    EXPECT(GRPC_NOT_INITIALIZED, grpc_get_failed_sessionid(&id));

    EXPECT(GRPC_CONFIGFILE_NOT_FOUND, grpc_initialize("/no/such/file.conf"));
    EXPECT(GRPC_NO_ERROR, grpc_initialize(argv[1]));
    EXPECT(GRPC_ALREADY_INITIALIZED, grpc_initialize(argv[1]));
    EXPECT(GRPC_INVALID_SESSION_ID, grpc_wait(4711));
    EXPECT(GRPC_INVALID_SESSION_ID, grpc_probe(4711));
    EXPECT(GRPC_INVALID_SESSION_ID, grpc_get_error(4711));
    EXPECT(GRPC_INVALID_SESSION_ID, grpc_get_handle(&pointer, 4711));
    EXPECT(GRPC_INVALID_FUNCTION_HANDLE, grpc_function_handle_destruct(&handle));
    EXPECT(GRPC_INVALID_FUNCTION_HANDLE, grpc_call(&handle, 1, 2, &sum));
    wrong_names(argv[2]);
    routines_that_die(argv[2]);
    cancelling(argv[2]);
    strings();
    EXPECT(GRPC_NO_ERROR, grpc_finalize());
    EXPECT(GRPC_NOT_INITIALIZED, grpc_finalize());
    return check_summary();
}
