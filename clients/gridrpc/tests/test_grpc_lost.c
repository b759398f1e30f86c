/* A server that is killed: its sessions fail at once and with the right code, and others' go on. */
#include "grpc_check.h"

int main(void)
{
    static const char *const files[] = {"clients/gridrpc/tests/checks.idl"};
    farcall_server_options options = {sizeof options, NULL, files, 1, NULL, 0, 0};
    farcall_server *server = check_begin(0, NULL), *other;
    farcall_error *error;
    grpc_function_handle_t here, there;
    grpc_object_handle_t_np object;
    grpc_sessionid_t fine, lost[3], any;
    int done = 0, y = 0, index, sum, status = 0;
    double begun;
    pid_t child;

    CHECK(farcall_server_start(&options, &other, &error) == FARCALL_OK);
    child = check_youngest_child();
    CHECK_OK(grpc_initialize(NULL));
    CHECK_OK(grpc_function_handle_default(&here, "nap"));
    CHECK_OK(grpc_function_handle_init(&there, (char *)farcall_server_address(other), "spin"));
    CHECK_OK(grpc_object_handle_init_np(
        &object, (char *) farcall_server_address(other), "grpcchecks/Counter"));
    CHECK_OK(grpc_call_async(&here, &fine, 1.0, &done));
    CHECK_OK(grpc_call_async(&there, &lost[0]));
    CHECK_OK(grpc_call_async(&there, &lost[1]));
    CHECK_OK(grpc_invoke_async_np(&object, "spin", &lost[2]));
    CHECK(child > 0 && kill(child, SIGKILL) == 0);
    begun = check_now();
    for (index = 0; index < 3; index++) {
        CHECK_CODE(grpc_wait(lost[index]), GRPC_COMMUNICATION_FAILED);
        CHECK_CODE(grpc_get_error(lost[index]), GRPC_COMMUNICATION_FAILED);
        CHECK_OK(grpc_session_info_get_np(lost[index], NULL, &status));
        CHECK(status == GRPC_SESSION_DOWN);
    }
    CHECK(check_now() - begun < 0.9);
    CHECK_CODE(grpc_probe(fine), GRPC_NOT_COMPLETED);
    for (index = 0; index < 3; index++)
        CHECK_OK(grpc_get_failed_sessionid(&any));
    CHECK(any == lost[0]);
    CHECK_CODE(grpc_call(&there), GRPC_SERVER_NOT_FOUND);
    CHECK_CODE(grpc_invoke_np(&object, "add", 1, &sum), GRPC_SERVER_NOT_FOUND);
    CHECK_OK(grpc_function_handle_destruct(&there));
    CHECK_OK(grpc_object_handle_destruct_np(&object));
    CHECK_OK(grpc_wait(fine));
    CHECK(done == 1);
    CHECK_OK(grpc_function_handle_destruct(&here));
    CHECK_OK(grpc_function_handle_default(&here, "succeed"));
    CHECK_OK(grpc_call(&here, 1, &y));
    CHECK_OK(grpc_finalize());
    farcall_server_stop(other);
    return check_end(server);
}
