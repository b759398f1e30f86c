/* The spellings of the first draft and of NetSolve. */
#include "netsolve_grpc.h"

#include "grpc_check.h"

int main(void)
{
    farcall_server *server = check_begin(0, NULL);
    grpc_function_handle_t handle;
    ArgStack *stack;
    grpc_sessionid_t session;
    int x = 4, y = 0;
    CHECK(grpc_initialize(NULL) == GRPC_OK);
    CHECK_OK(grpc_function_handle_default(&handle, "succeed"));
    stack = newArgStack(2);
    CHECK(stack && pushArg(stack, &x) == 0 && pushArg(stack, &y) == 0 &&
          pushArg(stack, &y) == GRPC_ERROR);
    CHECK(grpc_call_argstack(&handle, stack) == GRPC_OK && y == 5);
    x = 6;
    CHECK(grpc_call_argstack_async(&handle, &session, stack) == GRPC_OK &&
          grpc_wait(session) == GRPC_OK && y == 7);
    CHECK(popArg(stack) == &y && popArg(stack) == &x && popArg(stack) == NULL);
    CHECK(destructArgStack(stack) == 0);
    CHECK_OK(grpc_function_handle_destruct(&handle));
    CHECK_OK(grpc_finalize());
    return check_end(server);
}
