/* Sessions: every way to wait for them. */
#include <grpc.h>
#include "check.h"

#define CALLS 5

static grpc_function_handle_t handles[CALLS];
static grpc_sessionid_t ids[CALLS];
static int answers[CALLS];

static void start_all(double seconds)
{
    int i;
    for (i = 0; i < CALLS; i++) {
        answers[i] = -1;
        EXPECT(GRPC_NO_ERROR,
            grpc_call_async(&handles[i], &ids[i], seconds * (i + 1), i * 11, &answers[i]));
        CHECK(ids[i] != GRPC_SESSIONID_VOID);
    }
}

static void check_answers(void)
{
    int i;
    for (i = 0; i < CALLS; i++)
        CHECK(answers[i] == i * 11);
}

static void wait_one_by_one(void)
{
    int i;
    start_all(0.05);
    for (i = CALLS - 1; i >= 0; i--)
        EXPECT(GRPC_NO_ERROR, grpc_wait(ids[i]));
    check_answers();
}

static void wait_for_all(void)
{
    start_all(0.02);
    EXPECT(GRPC_NO_ERROR, grpc_wait_all());
    check_answers();
    EXPECT(GRPC_NO_ERROR, grpc_wait_all()); /* nothing is left */
}

static void wait_for_any(void)
{
    int i, seen[CALLS] = {0};
    grpc_sessionid_t id;
    start_all(0.05);
    for (i = 0; i < CALLS; i++) {
        int k;
        EXPECT(GRPC_NO_ERROR, grpc_wait_any(&id));
        for (k = 0; k < CALLS; k++)
            if (ids[k] == id)
                seen[k]++;
    }
    for (i = 0; i < CALLS; i++)
        CHECK(seen[i] == 1);
    id = 7;
    EXPECT(GRPC_NO_ERROR, grpc_wait_any(&id));
    CHECK(id == GRPC_SESSIONID_VOID);
    check_answers();
}

static void wait_and_or(void)
{
    grpc_sessionid_t id = GRPC_SESSIONID_VOID, bad[3];
    start_all(0.05);
    EXPECT(GRPC_NO_ERROR, grpc_wait_or(ids, 3, &id));
    CHECK(id == ids[0] || id == ids[1] || id == ids[2]);
    EXPECT(GRPC_NO_ERROR, grpc_wait_and(ids, CALLS));
    check_answers();
    bad[0] = ids[0], bad[1] = 123456, bad[2] = ids[1];
    EXPECT(GRPC_INVALID_SESSION_ID, grpc_wait_and(bad, 3));
    EXPECT(GRPC_INVALID_SESSION_ID, grpc_wait_or(bad, 3, &id));
    EXPECT(GRPC_INVALID_SESSION_ID, grpc_probe_or(bad, 3, &id));
}

static void probing(void)
{
    grpc_sessionid_t id = 5;
    grpc_function_handle_t *handle = NULL;
    int spins = 0;
    start_all(0.2);
    EXPECT(GRPC_NOT_COMPLETED, grpc_probe(ids[CALLS - 1]));
    EXPECT(GRPC_NO_ERROR, grpc_get_error(ids[CALLS - 1])); /* while it runs */
    EXPECT(GRPC_NONE_COMPLETED, grpc_probe_or(ids + 3, 2, &id));
    CHECK(id == GRPC_SESSIONID_VOID);
    while (grpc_probe(ids[0]) == GRPC_NOT_COMPLETED && spins++ < 10000)
        usleep(1000);
    EXPECT(GRPC_NO_ERROR, grpc_probe(ids[0]));
    EXPECT(GRPC_NO_ERROR, grpc_probe_or(ids, CALLS, &id));
    CHECK(id != GRPC_SESSIONID_VOID);
    EXPECT(GRPC_NO_ERROR, grpc_get_handle(&handle, ids[2]));
    CHECK(handle != NULL);
    EXPECT(GRPC_NO_ERROR, grpc_wait_all()); /* also those that probe said are done */
    check_answers();
}

/* Looks once and then computes without calling the library: the calls go on all the same. */
static void spin_without_library(void)
{
    struct timeval begin, now;
    grpc_sessionid_t id;
    start_all(0.05);
    grpc_probe_or(ids, CALLS, &id);
    gettimeofday(&begin, NULL);
    do
        gettimeofday(&now, NULL);
    while ((now.tv_sec - begin.tv_sec) + (now.tv_usec - begin.tv_usec) * 1e-6 < 1.0);
    gettimeofday(&begin, NULL);
    EXPECT(GRPC_NO_ERROR, grpc_wait_all());
    gettimeofday(&now, NULL);
    CHECK((now.tv_sec - begin.tv_sec) + (now.tv_usec - begin.tv_usec) * 1e-6 < 0.1);
    check_answers();
}

static void reuse_handle_of_session(void)
{
    grpc_function_handle_t *handle;
    int answer = 0;
    start_all(0.01);
    EXPECT(GRPC_NO_ERROR, grpc_get_handle(&handle, ids[1]));
    EXPECT(GRPC_NO_ERROR, grpc_wait_all());
    EXPECT(GRPC_NO_ERROR, grpc_call(handle, 0.0, 321, &answer));
    CHECK(answer == 321);
}

/* A Define with the name of a function of libc calls that function. */
static void define_called_sleep(char *host)
{
    grpc_function_handle_t handle;
    int slept = 0;
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_init(&handle, host, "basic/sleep"));
    EXPECT(GRPC_NO_ERROR, grpc_call(&handle, 1, &slept));
    CHECK(slept == 1);
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_destruct(&handle));
}

int main(int argc, char *argv[])
{
    int i;
    EXPECT(GRPC_NO_ERROR, grpc_initialize(argv[1]));
    for (i = 0; i < CALLS; i++)
        EXPECT(GRPC_NO_ERROR, grpc_function_handle_init(&handles[i], argv[2], "basic/wait_for"));
    wait_one_by_one();
    wait_for_all();
    wait_for_any();
    wait_and_or();
    probing();
    spin_without_library();
    reuse_handle_of_session();
    define_called_sleep(argv[2]);
    for (i = 0; i < CALLS; i++)
        EXPECT(GRPC_NO_ERROR, grpc_function_handle_destruct(&handles[i]));
    EXPECT(GRPC_NO_ERROR, grpc_finalize());
    return check_summary();
}
