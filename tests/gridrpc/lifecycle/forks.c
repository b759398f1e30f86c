/* A child of the client neither hangs nor disturbs its parent, and may start over. */
#include <grpc.h>
#include <sys/wait.h>
#include "check.h"

int main(int argc, char *argv[])
{
    grpc_function_handle_t handle;
    grpc_sessionid_t id;
    int sum = 0, napped = 0, status;
    pid_t child;
    EXPECT(GRPC_NO_ERROR, grpc_initialize(argv[1]));
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_default(&handle, "lifecycle/nap"));
    EXPECT(GRPC_NO_ERROR, grpc_call_async(&handle, &id, 300, &napped));
    fflush(stdout);
    child = fork();
    if (child == 0) {
        grpc_function_handle_t own;
        int good;
        alarm(20);
        grpc_finalize(); /* whatever it says, it returns */
        good = grpc_initialize(argv[1]) == GRPC_NO_ERROR &&
               grpc_function_handle_default(&own, "lifecycle/add") == GRPC_NO_ERROR &&
               grpc_call(&own, 1, 2, &sum) == GRPC_NO_ERROR && sum == 3 &&
               grpc_finalize() == GRPC_NO_ERROR;
        _exit(good ? 0 : 1);
    }
    EXPECT(GRPC_NO_ERROR, grpc_wait(id));
    CHECK(napped == 300);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT(GRPC_NO_ERROR, grpc_finalize());
    return check_summary();
}
