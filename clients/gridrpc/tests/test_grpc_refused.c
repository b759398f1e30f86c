/* A server that gives handles no processes of their own serves them all the same. */
#include "grpc_check.h"

int main(void)
{
    static const char *const arguments[] = {"--manifest", "clients/gridrpc/tests/few.toml"};
    farcall_server *server = check_begin(2, arguments);
    grpc_function_handle_t handles[4];
    int index, y = 0;
    CHECK_OK(grpc_initialize(NULL));
    for (index = 0; index < 4; index++)
        CHECK_OK(grpc_function_handle_init(&handles[index], getenv("FARCALL_SERVER"), "succeed"));
    for (index = 0; index < 4; index++) {
        CHECK_OK(grpc_call(&handles[index], index, &y));
        CHECK(y == index + 1);
        CHECK_OK(grpc_function_handle_is_ready_np(&handles[index]));
    }
    for (index = 0; index < 4; index++)
        CHECK_OK(grpc_function_handle_destruct(&handles[index]));
    CHECK_OK(grpc_finalize());
    return check_end(server);
}
