// grpc.h in C++: literals as text, members with the names of functions, and arguments that are counted.
#include "grpc_check.h"

namespace {

struct Farm {
    int grpc_wait = 3;
    int grpc_call(int x) const { return x + grpc_wait; }
};

} // namespace

int main()
{
    farcall_server *server = check_begin(0, nullptr);
    grpc_function_handle_t handle;
    grpc_sessionid_t session;
    int y = 0;
    CHECK_OK(grpc_initialize(nullptr));
    CHECK_OK(grpc_function_handle_default(&handle, "succeed"));
    CHECK_OK(grpc_call(&handle, Farm().grpc_call(4), &y));
    CHECK(y == 8);
    CHECK_CODE(grpc_call(&handle, 4), GRPC_OTHER_ERROR_CODE);
    CHECK_OK(grpc_call_async(&handle, &session, 5, &y));
    CHECK_OK(grpc_wait(session));
    CHECK(y == 6);
    CHECK_OK(grpc_function_handle_destruct(&handle));
    CHECK_OK(grpc_finalize());
    return check_end(server);
}
