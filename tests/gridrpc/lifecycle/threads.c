/* Threads that call at the same time, and one that only waits. */
#include <grpc.h>
#include "check.h"

#define THREADS 8
#define ROUNDS 50

static char *config;
static int wrong;

static void *works(void *number)
{
    grpc_function_handle_t handle;
    int k, sum, mine = *(int *)number;
    if (grpc_function_handle_default(&handle, "lifecycle/add") != GRPC_NO_ERROR)
        __sync_fetch_and_add(&wrong, 1);
    for (k = 0; k < ROUNDS; k++) {
        grpc_sessionid_t id;
        sum = 0;
        if (grpc_call(&handle, k, mine, &sum) != GRPC_NO_ERROR || sum != k + mine)
            __sync_fetch_and_add(&wrong, 1);
        sum = 0;
        if (grpc_call_async(&handle, &id, k, mine, &sum) != GRPC_NO_ERROR ||
            grpc_wait(id) != GRPC_NO_ERROR || sum != k + mine)
            __sync_fetch_and_add(&wrong, 1);
    }
    if (grpc_function_handle_destruct(&handle) != GRPC_NO_ERROR)
        __sync_fetch_and_add(&wrong, 1);
    return NULL;
}

int main(int argc, char *argv[])
{
    pthread_t threads[THREADS];
    grpc_function_handle_t handle;
    grpc_sessionid_t slow;
    int numbers[THREADS], k, napped = 0;
    config = argv[1];
    EXPECT(GRPC_NO_ERROR, grpc_initialize(config));
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_default(&handle, "lifecycle/nap"));
    EXPECT(GRPC_NO_ERROR, grpc_call_async(&handle, &slow, 700, &napped));
    for (k = 0; k < THREADS; k++) {
        numbers[k] = k;
        CHECK(pthread_create(&threads[k], NULL, works, &numbers[k]) == 0);
    }
    EXPECT(GRPC_NO_ERROR, grpc_wait(slow));
    CHECK(napped == 700);
    for (k = 0; k < THREADS; k++)
        pthread_join(threads[k], NULL);
    CHECK(wrong == 0);
    EXPECT(GRPC_NO_ERROR, grpc_finalize());
    return check_summary();
}
