/* A hundred thousand sessions under way from one thread, threads that do the same at a time, and a
   large array of handles. */
#include "grpc_check.h"

#define COUNT 100000
#define THREADS 4

static void under_way(void)
{
    grpc_function_handle_t handle;
    grpc_sessionid_t *sessions = malloc(COUNT * sizeof *sessions);
    int *done = calloc(COUNT, sizeof *done), index, started = 0, running = 0, cancelled = 0, failed;
    grpc_sessionid_t session;
    CHECK_OK(grpc_function_handle_default(&handle, "nap"));
    for (index = 0; index < COUNT; index++)
        started += grpc_call_async(&handle, &sessions[index], 30.0, &done[index]) == GRPC_NO_ERROR;
    for (index = 0; index < COUNT; index++)
        running += grpc_probe(sessions[index]) == GRPC_NOT_COMPLETED;
    CHECK(started == COUNT && running == COUNT);
    /* The last first, so that each leaves its line from the middle; and they are waited for in the
       other order. */
    for (index = COUNT; index-- > COUNT / 2;)
        cancelled += grpc_cancel(sessions[index]) == GRPC_NO_ERROR;
    CHECK(cancelled == COUNT - COUNT / 2);
    CHECK_CODE(grpc_wait_and(sessions + COUNT / 2, COUNT - COUNT / 2), GRPC_SESSION_FAILED);
    CHECK_OK(grpc_cancel_all());
    CHECK_CODE(grpc_wait_and(sessions, COUNT), GRPC_SESSION_FAILED);
    for (index = cancelled = 0; index < COUNT; index++)
        cancelled += grpc_get_error(sessions[index]) == GRPC_CANCELED_NP;
    CHECK(cancelled == COUNT);
    for (failed = 0;
        grpc_get_failed_sessionid(&session) == GRPC_NO_ERROR && session != GRPC_SESSIONID_VOID;)
        failed++;
    CHECK(failed == COUNT);
    /* Finalising ends those that are under way. */
    for (index = started = 0; index < COUNT; index++)
        started += grpc_call_async(&handle, &sessions[index], 30.0, &done[index]) == GRPC_NO_ERROR;
    CHECK(started == COUNT);
    CHECK_OK(grpc_finalize());
    CHECK_OK(grpc_initialize(NULL));
    free(sessions);
    free(done);
}

static void *calls(void *place)
{
    enum { CALLS = 500 };
    grpc_function_handle_t handle;
    grpc_sessionid_t sessions[CALLS];
    int y[CALLS], index, right = 0, one = 0;
    if (grpc_function_handle_default(&handle, "succeed") != GRPC_NO_ERROR)
        return NULL;
    for (index = 0; index < CALLS; index++) {
        grpc_call_async(&handle, &sessions[index], index, &y[index]);
        if (index % 50 == 0)
            right -= grpc_call(&handle, index, &one) != GRPC_NO_ERROR || one != index + 1;
    }
    if (grpc_wait_and(sessions, CALLS) == GRPC_NO_ERROR)
        for (index = 0; index < CALLS; index++)
            right += y[index] == index + 1;
    grpc_function_handle_destruct(&handle);
    *(int *)place = right == CALLS;
    return NULL;
}

static void from_threads(void)
{
    pthread_t threads[THREADS];
    int right[THREADS] = {0}, index;
    for (index = 0; index < THREADS; index++)
        pthread_create(&threads[index], NULL, calls, &right[index]);
    for (index = 0; index < THREADS; index++) {
        pthread_join(threads[index], NULL);
        CHECK(right[index]);
    }
}

/* More processes at once, whose output comes to the program, than the server's spawner has room for
   questions. */
static void an_array(void)
{
    enum { HANDLES = 300 };
    static grpc_function_handle_t handles[HANDLES];
    grpc_sessionid_t session;
    int numbers[HANDLES] = {0}, index, right = 0;
    char path[] = "/tmp/farcall-many-XXXXXX";
    FILE *file = fdopen(mkstemp(path), "w");
    fprintf(file, "<SERVER>\nhostname %s\n</SERVER>\n", getenv("FARCALL_SERVER"));
    fclose(file);
    CHECK_OK(grpc_initialize(path));
    CHECK_OK(grpc_function_handle_array_default_np(handles, HANDLES, "tally"));
    /* The first calls wait for their processes; then all can begin at once. */
    for (index = 0; index < 2 * HANDLES; index++) {
        if (index == HANDLES)
            CHECK_OK(grpc_wait_all());
        CHECK_OK(grpc_call_async(&handles[index % HANDLES], &session, &numbers[index % HANDLES]));
    }
    CHECK_OK(grpc_wait_all());
    for (index = 0; index < HANDLES; index++)
        right += numbers[index] == 2;
    CHECK(right == HANDLES);
    CHECK_OK(grpc_function_handle_array_destruct_np(handles, HANDLES));
    CHECK_OK(grpc_finalize());
    unlink(path);
}

int main(void)
{
    farcall_server *server = check_begin(0, NULL);
    an_array();
    CHECK_OK(grpc_initialize(NULL));
    under_way();
    from_threads();
    CHECK_OK(grpc_finalize());
    return check_end(server);
}
