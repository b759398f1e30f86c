/* What serves the calls is killed, as by a system without memory: the session fails, and the next
   call finds another. */
#include <grpc.h>
#include "check.h"

/* Kills the processes that this program has started; how many there were. */
static int kill_children(void)
{
    char path[100];
    FILE *file;
    long child;
    int count = 0;
    snprintf(path, sizeof path, "/proc/self/task/%ld/children", (long)getpid());
    file = fopen(path, "r");
    while (file && fscanf(file, "%ld", &child) == 1)
        count += kill((pid_t)child, SIGKILL) == 0;
    if (file)
        fclose(file);
    return count;
}

int main(int argc, char *argv[])
{
    grpc_function_handle_t handle, array[2];
    grpc_sessionid_t id;
    int napped = 0, sum = 0;
    EXPECT(GRPC_NO_ERROR, grpc_initialize(argv[1]));
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_default(&handle, "lifecycle/nap"));
    EXPECT(GRPC_NO_ERROR, grpc_call_async(&handle, &id, 20000, &napped));
    CHECK(kill_children() > 0);
    EXPECT(GRPC_COMMUNICATION_FAILED, grpc_wait(id));
    /* The same handle, and new ones. */
    EXPECT(GRPC_NO_ERROR, grpc_call(&handle, 1, &napped));
    CHECK(napped == 1);
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_destruct(&handle));
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_array_init_np(array, 2, argv[2], "lifecycle/add"));
    EXPECT(GRPC_NO_ERROR, grpc_call(&array[1], 1, 2, &sum));
    CHECK(sum == 3);
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_array_destruct_np(array, 2));
    EXPECT(GRPC_NO_ERROR, grpc_finalize());
    return check_summary();
}
