/* One client in eight threads. */
#include <pthread.h>

#include "check.h"

enum { THREADS = 8, CALLS = 100 };

struct work {
    farcall_client *client;
    int number;
    int wrong;
};

static void *thread(void *argument)
{
    struct work *work = argument;
    int call;
    for (call = 0; call < CALLS; call++) {
        double sum = 0, a[4] = {2, 0, 0, 4}, b[2] = {2.0 * call, 4.0 * work->number};
        int ipiv[2], info = 99;
        farcall_error *error;
        int status = farcall_call(work->client, &error, "add", call, (double)work->number, &sum);
        work->wrong += status != FARCALL_OK || sum != call + work->number;
        farcall_error_free(error);
        status = farcall_call(work->client, &error, "dgesv", 2, 1, a, 2, ipiv, b, 2, &info);
        work->wrong += status != FARCALL_OK || b[0] != call || b[1] != work->number;
        farcall_error_free(error);
    }
    return NULL;
}

int main(void)
{
    farcall_client *client;
    farcall_server *server = check_begin(&client);
    pthread_t threads[THREADS];
    struct work work[THREADS];
    int index;
    for (index = 0; index < THREADS; index++) {
        work[index] = (struct work){client, index, 0};
        if (pthread_create(&threads[index], NULL, thread, &work[index]) != 0)
            return 1;
    }
    for (index = 0; index < THREADS; index++) {
        pthread_join(threads[index], NULL);
        CHECK(work[index].wrong == 0);
    }
    return check_end(server, client);
}
