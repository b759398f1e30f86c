/* Attributes of handles and sessions, information about sessions, output of routines. */
#include <grpc.h>
#include "check.h"

static void handle_attributes(char *host)
{
    grpc_handle_attr_t_np attr;
    grpc_function_handle_t handle;
    char *text = NULL;
    int *timeout, seconds = 20, done = 0;
    EXPECT(GRPC_NO_ERROR, grpc_handle_attr_initialize_np(&attr));
    EXPECT(GRPC_NO_ERROR, grpc_handle_attr_set_np(&attr, GRPC_HANDLE_ATTR_HOSTNAME, host));
    EXPECT(GRPC_NO_ERROR, grpc_handle_attr_set_np(&attr, GRPC_HANDLE_ATTR_FUNCNAME, "stacks/slow"));
    EXPECT(
        GRPC_NO_ERROR, grpc_handle_attr_set_np(&attr, GRPC_HANDLE_ATTR_JOBSTARTTIMEOUT, &seconds));
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_init_with_attr_np(&handle, &attr));
    EXPECT(GRPC_NO_ERROR, grpc_handle_attr_destruct_np(&attr));
    EXPECT(GRPC_NO_ERROR, grpc_call(&handle, 5, &done));
    CHECK(done == 5);
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_get_attr_np(&handle, &attr));
    EXPECT(
        GRPC_NO_ERROR, grpc_handle_attr_get_np(&attr, GRPC_HANDLE_ATTR_FUNCNAME, (void **) &text));
    CHECK(text && strcmp(text, "stacks/slow") == 0);
    EXPECT(GRPC_NO_ERROR, grpc_handle_attr_release_np(text));
    EXPECT(GRPC_NO_ERROR,
        grpc_handle_attr_get_np(&attr, GRPC_HANDLE_ATTR_JOBSTARTTIMEOUT, (void **) &timeout));
    CHECK(timeout && *timeout == 20);
    EXPECT(GRPC_NO_ERROR, grpc_handle_attr_release_np(timeout));
    EXPECT(GRPC_NO_ERROR, grpc_handle_attr_destruct_np(&attr));
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_destruct(&handle));
}

static void session_attributes(char *host)
{
    grpc_function_handle_t handle;
    grpc_session_attr_t_np attr;
    grpc_sessionid_t id;
    grpc_argument_transfer_t_np mode = GRPC_ARGUMENT_TRANSFER_COPY;
    int timeout = 1, done = 0;
    int *back;
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_init(&handle, host, "stacks/slow"));
    EXPECT(GRPC_NO_ERROR, grpc_session_attr_initialize_np(&handle, &attr));
    EXPECT(
        GRPC_NO_ERROR, grpc_session_attr_set_np(&attr, GRPC_SESSION_ATTR_WAIT_ARG_TRANSFER, &mode));
    EXPECT(GRPC_NO_ERROR, grpc_call_async_with_attr_np(&handle, &id, &attr, 10, &done));
    EXPECT(GRPC_NO_ERROR, grpc_wait(id));
    CHECK(done == 10);
    EXPECT(GRPC_NO_ERROR,
        grpc_session_attr_set_np(&attr, GRPC_SESSION_ATTR_SESSION_TIMEOUT, &timeout));
    EXPECT(GRPC_NO_ERROR,
        grpc_session_attr_get_np(&attr, GRPC_SESSION_ATTR_SESSION_TIMEOUT, (void **) &back));
    CHECK(back && *back == 1);
    EXPECT(GRPC_NO_ERROR, grpc_session_attr_release_np(back));
    EXPECT(GRPC_TIMEOUT_NP, grpc_call_with_attr_np(&handle, &attr, 30000, &done));
    EXPECT(GRPC_NO_ERROR, grpc_session_attr_destruct_np(&attr));
    CHECK(grpc_call(&handle, 1, &done) !=
          GRPC_NO_ERROR); /* a handle that timed out cannot be used any more */
    grpc_function_handle_destruct(&handle);
}

static void information(char *host)
{
    grpc_function_handle_t handle;
    grpc_session_info_t_np *info = NULL;
    grpc_sessionid_t id;
    int done, status = 0;
    double real;
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_init(&handle, host, "stacks/slow"));
    EXPECT(GRPC_NO_ERROR, grpc_call_async(&handle, &id, 300, &done));
    usleep(100000);
    EXPECT(GRPC_NO_ERROR, grpc_session_info_get_np(id, &info, &status));
    CHECK(status == GRPC_SESSION_EXECUTING);
    if (info)
        EXPECT(GRPC_NO_ERROR, grpc_session_info_release_np(info));
    EXPECT(GRPC_NO_ERROR, grpc_wait(id));
    info = NULL;
    EXPECT(GRPC_NO_ERROR, grpc_session_info_get_np(id, &info, &status));
    CHECK(status == GRPC_SESSION_DONE);
    CHECK(info != NULL);
    if (info) {
        real = info->gei_measureExecutable.calculationRealTime.tv_sec +
               info->gei_measureExecutable.calculationRealTime.tv_usec * 1e-6;
        CHECK(real > 0.28 && real < 1.0);
        EXPECT(GRPC_NO_ERROR, grpc_session_info_release_np(info));
    }
    EXPECT(GRPC_NO_ERROR, grpc_session_info_remove_np(id));
    EXPECT(GRPC_INVALID_SESSION_ID, grpc_session_info_get_np(id, &info, &status));
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_destruct(&handle));
}

static void settings_of_the_server(void)
{
    grpc_function_handle_t handle;
    char *value = NULL;
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_init(
                              &handle, "main", "stacks/environment")); /* by the section's tag */
    EXPECT(GRPC_NO_ERROR, grpc_call(&handle, "FROM_CONFIG", &value));
    CHECK(value && strcmp(value, "yes") == 0);
    free(value);
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_destruct(&handle));
}

/* What the routine prints comes out here. */
static void output(char *host)
{
    grpc_function_handle_t handle;
    char line[100] = "";
    int saved = dup(1), ends[2];
    ssize_t n;
    fflush(stdout);
    CHECK(pipe(ends) == 0);
    dup2(ends[1], 1);
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_init(&handle, host, "stacks/talks"));
    EXPECT(GRPC_NO_ERROR, grpc_call(&handle, "hello from afar"));
    fflush(stdout);
    dup2(saved, 1);
    close(ends[1]);
    n = read(ends[0], line, sizeof line - 1);
    close(ends[0]);
    CHECK(n > 0 && strstr(line, "out: hello from afar") != NULL);
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_destruct(&handle));
}

int main(int argc, char *argv[])
{
    EXPECT(GRPC_NO_ERROR, grpc_initialize(argv[1]));
    handle_attributes(argv[2]);
    session_attributes(argv[2]);
    information(argv[2]);
    settings_of_the_server();
    output(argv[2]);
    EXPECT(GRPC_NO_ERROR, grpc_finalize());
    return check_summary();
}
