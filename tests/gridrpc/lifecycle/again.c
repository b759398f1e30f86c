/* A hundred lives in one process. */
#include <grpc.h>
#include <fcntl.h>
#include <unistd.h>
#include "check.h"

static int descriptors(void)
{
    int n = 0, fd;
    for (fd = 0; fd < 1024; fd++)
        n += fcntl(fd, F_GETFD) != -1;
    return n;
}

/* What the last life had may go on closing behind it for a moment. */
static int come_down_to(int before)
{
    int tries;
    for (tries = 0; tries < 1000 && descriptors() > before; tries++)
        usleep(10000);
    return descriptors() <= before;
}

int main(int argc, char *argv[])
{
    int round, sum, before = 0;
    for (round = 0; round < 100; round++) {
        grpc_function_handle_t handle;
        grpc_sessionid_t id;
        EXPECT(GRPC_NO_ERROR, grpc_initialize(argv[1]));
        EXPECT(GRPC_NO_ERROR, grpc_function_handle_default(&handle, "lifecycle/add"));
        EXPECT(GRPC_NO_ERROR, grpc_call(&handle, round, 1, &sum));
        CHECK(sum == round + 1);
        EXPECT(GRPC_NO_ERROR, grpc_call_async(&handle, &id, round, 2, &sum));
        if (round % 2)
            EXPECT(GRPC_NO_ERROR, grpc_wait(id));
        EXPECT(GRPC_NO_ERROR, grpc_finalize());
        if (round == 5)
            before = descriptors();
    }
    CHECK(come_down_to(before));
    return check_summary();
}
