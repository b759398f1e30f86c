/* Says where sessions of GridRPC run: placed one by one with a default handle, together where
 * handles were made in an array. */
#include <stdio.h>
#include <string.h>
#include "grpc.h"

#define COUNT 3

static void tell(const char *what, grpc_sessionid_t session)
{
    char server[256];
    if (grpc_session_server_get_np(session, server, sizeof server) == GRPC_NO_ERROR)
        printf("%s %s\n", what, server);
    else
        printf("%s nowhere\n", what);
}

int main(int count, char **words)
{
    grpc_function_handle_t handle, handles[COUNT];
    grpc_sessionid_t session;
    int n = 0, sums[COUNT];
    char cut[5];
    if (count < 2 || grpc_initialize(words[1]) != GRPC_NO_ERROR)
        return 1;
    tell("before", 0);
    grpc_function_handle_default(&handle, "where/double_it");
    grpc_call(&handle, 21, &n);
    tell("called", 0);
    grpc_call_async(&handle, &session, 4, &n);
    grpc_wait(session);
    tell("session", session);
    printf("cut %d %s\n", grpc_session_server_get_np(session, cut, sizeof cut), cut);
    printf("no place %d\n", grpc_session_server_get_np(session, NULL, 0) == GRPC_OTHER_ERROR_CODE);
    printf("no session %d\n",
        grpc_session_server_get_np(session + 99, cut, sizeof cut) == GRPC_INVALID_SESSION_ID);
    grpc_function_handle_array_default_np(handles, COUNT, "where/double_it");
    for (int index = 0; index < COUNT; index++) {
        grpc_call_async(&handles[index], &session, index, &sums[index]);
        grpc_wait(session);
        tell("array", session);
    }
    grpc_function_handle_array_destruct_np(handles, COUNT);
    grpc_finalize();
    return 0;
}
