/* Sessions: starting, probing, waiting, cancelling, their errors, and what becomes of them in odd
   moments. */
#include <sys/wait.h>

#include "grpc_check.h"

#define COUNT 5

/* Waits without a call of the library, as a program that computes does. */
static void compute(double seconds)
{
    double end = check_now() + seconds;
    while (check_now() < end) {
    }
}

static void one_session(void)
{
    grpc_function_handle_t handle, *found = NULL;
    grpc_sessionid_t session, any = 7, both[2];
    volatile int y = 0;
    int done = 0;
    CHECK_OK(grpc_function_handle_default(&handle, "succeed"));
    CHECK_OK(grpc_call_async(&handle, &session, 41, &y));
    CHECK(session > 0);
    CHECK_OK(grpc_get_handle(&found, session));
    CHECK(found == &handle);
    /* It ends whether anybody asks or not. */
    compute(0.5);
    CHECK(y == 42);
    CHECK_OK(grpc_probe(session));
    CHECK_OK(grpc_probe_or(&session, 1, &any));
    CHECK(any == session);
    CHECK_OK(grpc_wait(session));
    CHECK_OK(grpc_wait(session));
    CHECK_OK(grpc_get_error(session));
    CHECK_OK(grpc_call(found, 1, &y));
    CHECK_OK(grpc_function_handle_destruct(&handle));
    both[0] = session;

    CHECK_OK(grpc_function_handle_default(&handle, "nap"));
    CHECK_OK(grpc_call_async(&handle, &session, 0.4, &done));
    CHECK_CODE(grpc_probe(session), GRPC_NOT_COMPLETED);
    CHECK_CODE(grpc_probe_or(&session, 1, &any), GRPC_NONE_COMPLETED);
    CHECK(any == GRPC_SESSIONID_VOID);
    /* One that was waited for has ended, too. */
    both[1] = session;
    CHECK_OK(grpc_probe_or(both, 2, &any));
    CHECK(any == both[0]);
    CHECK_OK(grpc_get_error(session));
    CHECK_OK(grpc_wait(session));
    CHECK(done == 1);
    CHECK_OK(grpc_function_handle_destruct(&handle));
}

static void sets(void)
{
    grpc_function_handle_t handle;
    grpc_sessionid_t sessions[COUNT], any, seen[COUNT];
    int y[COUNT], index, other;
    CHECK_OK(grpc_function_handle_default(&handle, "succeed"));
    for (index = 0; index < COUNT; index++)
        CHECK_OK(grpc_call_async(&handle, &sessions[index], index, &y[index]));
    CHECK_OK(grpc_wait_and(sessions, COUNT));
    for (index = 0; index < COUNT; index++)
        CHECK(y[index] == index + 1);

    for (index = 0; index < COUNT; index++)
        CHECK_OK(grpc_call_async(&handle, &sessions[index], index, &y[index]));
    /* Each once, though the set stays the same. */
    for (index = 0; index < COUNT; index++) {
        CHECK_OK(grpc_wait_or(sessions, COUNT, &seen[index]));
        for (other = 0; other < index; other++)
            CHECK(seen[other] != seen[index]);
    }
    CHECK_OK(grpc_wait_or(sessions, COUNT, &any));
    CHECK_OK(grpc_wait_any(&any));
    CHECK(any == GRPC_SESSIONID_VOID);

    for (index = 0; index < COUNT; index++)
        CHECK_OK(grpc_call_async(&handle, &sessions[index], index, &y[index]));
    for (index = 0; index < COUNT; index++) {
        CHECK_OK(grpc_wait_any(&any));
        CHECK(any >= sessions[0] && any <= sessions[COUNT - 1]);
    }
    CHECK_OK(grpc_wait_any(&any));
    CHECK(any == GRPC_SESSIONID_VOID);
    CHECK_OK(grpc_wait_all());

    CHECK_OK(grpc_call_async(&handle, &sessions[0], 1, &y[0]));
    CHECK_OK(grpc_wait_all());
    CHECK_OK(grpc_get_failed_sessionid(&any));
    CHECK(any == GRPC_SESSIONID_VOID);
    CHECK_OK(grpc_function_handle_destruct(&handle));
}

static void bad_ids(void)
{
    grpc_function_handle_t handle, *found;
    grpc_session_info_t_np *info;
    grpc_sessionid_t sessions[2] = {0, 123456789}, any = 3;
    int y;
    CHECK_OK(grpc_function_handle_default(&handle, "succeed"));
    CHECK_OK(grpc_call_async(&handle, &sessions[0], 1, &y));
    CHECK_CODE(grpc_wait_and(sessions, 2), GRPC_INVALID_SESSION_ID);
    CHECK_CODE(grpc_wait_or(sessions, 2, &any), GRPC_INVALID_SESSION_ID);
    CHECK_CODE(grpc_probe_or(sessions, 2, &any), GRPC_INVALID_SESSION_ID);
    CHECK(any == GRPC_SESSIONID_VOID);
    CHECK_CODE(grpc_wait(-1), GRPC_INVALID_SESSION_ID);
    CHECK_CODE(grpc_wait(0), GRPC_INVALID_SESSION_ID);
    CHECK_CODE(grpc_probe(123456789), GRPC_INVALID_SESSION_ID);
    CHECK_CODE(grpc_cancel(123456789), GRPC_INVALID_SESSION_ID);
    CHECK_CODE(grpc_get_error(123456789), GRPC_INVALID_SESSION_ID);
    CHECK_CODE(grpc_get_handle(&found, 123456789), GRPC_INVALID_SESSION_ID);
    CHECK_CODE(grpc_session_info_get_np(123456789, &info, NULL), GRPC_INVALID_SESSION_ID);
    CHECK_CODE(grpc_wait_or(NULL, 2, &any), GRPC_OTHER_ERROR_CODE);
    CHECK_CODE(grpc_wait_or(sessions, 1, NULL), GRPC_OTHER_ERROR_CODE);
    CHECK_CODE(grpc_call_async(&handle, NULL, 1, &y), GRPC_OTHER_ERROR_CODE);
    CHECK_OK(grpc_wait_all());
    CHECK_OK(grpc_function_handle_destruct(&handle));
}

static void failed_ones(void)
{
    grpc_function_handle_t good, bad;
    grpc_sessionid_t sessions[COUNT], any;
    int y[COUNT], index;
    CHECK_OK(grpc_function_handle_default(&good, "succeed"));
    CHECK_OK(grpc_function_handle_default(&bad, "leave"));
    for (index = 0; index < COUNT; index++) {
        if (index % 2)
            CHECK_OK(grpc_call_async(&bad, &sessions[index], index));
        else
            CHECK_OK(grpc_call_async(&good, &sessions[index], index, &y[index]));
    }
    CHECK_CODE(grpc_wait_all(), GRPC_SESSION_FAILED);
    for (index = 0; index < COUNT; index++)
        CHECK_CODE(
            grpc_get_error(sessions[index]), index % 2 ? GRPC_SESSION_FAILED : GRPC_NO_ERROR);
    CHECK(y[0] == 1 && y[2] == 3 && y[4] == 5);
    CHECK_OK(grpc_get_failed_sessionid(&any));
    CHECK(any == sessions[3]);
    CHECK_OK(grpc_get_failed_sessionid(&any));
    CHECK(any == sessions[1]);
    CHECK_OK(grpc_get_failed_sessionid(&any));
    CHECK(any == GRPC_SESSIONID_VOID);

    CHECK_OK(grpc_call_async(&bad, &sessions[0], 1));
    CHECK_CODE(grpc_wait_any(&any), GRPC_SESSION_FAILED);
    CHECK(any == sessions[0]);
    CHECK_OK(grpc_call_async(&bad, &sessions[0], 1));
    CHECK_CODE(grpc_wait_or(sessions, 1, &any), GRPC_SESSION_FAILED);
    CHECK(any == sessions[0]);
    CHECK_OK(grpc_function_handle_destruct(&good));
    CHECK_OK(grpc_function_handle_destruct(&bad));
}

static void cancelled_ones(void)
{
    grpc_function_handle_t handle, other;
    grpc_sessionid_t session, second;
    int y = 0;
    CHECK_OK(grpc_function_handle_default(&handle, "spin"));
    CHECK_OK(grpc_function_handle_default(&other, "succeed"));
    CHECK_OK(grpc_call_async(&handle, &session));
    CHECK_OK(grpc_cancel(session));
    CHECK_CODE(grpc_wait(session), GRPC_SESSION_FAILED);
    CHECK_CODE(grpc_get_error(session), GRPC_CANCELED_NP);
    CHECK_CODE(grpc_wait(session), GRPC_SESSION_FAILED);
    CHECK_OK(grpc_cancel(session));

    CHECK_OK(grpc_call_async(&handle, &session));
    CHECK_OK(grpc_call_async(&handle, &second));
    CHECK_OK(grpc_cancel_all());
    CHECK_CODE(grpc_wait_all(), GRPC_SESSION_FAILED);
    CHECK_CODE(grpc_get_error(session), GRPC_CANCELED_NP);
    CHECK_CODE(grpc_get_error(second), GRPC_CANCELED_NP);

    /* A handle that goes takes its sessions along; they are there to be waited for. */
    CHECK_OK(grpc_call_async(&handle, &session));
    CHECK_OK(grpc_function_handle_destruct(&handle));
    CHECK_CODE(grpc_wait(session), GRPC_SESSION_FAILED);
    CHECK_OK(grpc_call(&other, 1, &y));
    CHECK_OK(grpc_function_handle_destruct(&other));
}

static void *wait_for_any(void *place)
{
    grpc_sessionid_t any;
    *(int *)place = grpc_wait_any(&any);
    return NULL;
}

static void *call_for_ever(void *handle)
{
    return (void *)(long)grpc_call(handle);
}

static void finalize_meanwhile(void)
{
    grpc_function_handle_t handle;
    grpc_sessionid_t session;
    pthread_t thread, caller;
    void *called = NULL;
    int status = -1;
    double begun = check_now();
    CHECK_OK(grpc_function_handle_default(&handle, "spin"));
    CHECK_OK(grpc_call_async(&handle, &session));
    pthread_create(&thread, NULL, wait_for_any, &status);
    pthread_create(&caller, NULL, call_for_ever, &handle);
    compute(0.1);
    CHECK_OK(grpc_finalize());
    pthread_join(thread, NULL);
    pthread_join(caller, &called);
    CHECK_CODE(status, GRPC_NOT_INITIALIZED);
    CHECK_CODE((long)called, GRPC_CANCELED_NP);
    CHECK(check_now() - begun < 5);
    CHECK_CODE(grpc_wait(session), GRPC_NOT_INITIALIZED);
    CHECK_OK(grpc_initialize(NULL));
    CHECK_CODE(grpc_wait(session), GRPC_INVALID_SESSION_ID);
}

static void time_limits(void)
{
    grpc_function_handle_t handle;
    grpc_session_attr_t_np attributes;
    grpc_sessionid_t session;
    void *value = NULL;
    int seconds = 1;
    CHECK_OK(grpc_function_handle_default(&handle, "spin"));
    CHECK_OK(grpc_session_attr_initialize_np(&handle, &attributes));
    CHECK_OK(grpc_session_attr_set_np(&attributes, GRPC_SESSION_ATTR_SESSION_TIMEOUT, &seconds));
    CHECK_OK(grpc_session_attr_get_np(&attributes, GRPC_SESSION_ATTR_SESSION_TIMEOUT, &value));
    CHECK(value && *(int *)value == 1);
    CHECK_OK(grpc_session_attr_release_np(value));
    CHECK_OK(grpc_call_async_with_attr_np(&handle, &session, &attributes));
    CHECK_CODE(grpc_wait(session), GRPC_TIMEOUT_NP);
    CHECK_CODE(grpc_get_error(session), GRPC_TIMEOUT_NP);
    CHECK_CODE(grpc_call(&handle), GRPC_INVALID_FUNCTION_HANDLE);
    CHECK_OK(grpc_function_handle_destruct(&handle));
    CHECK_OK(grpc_function_handle_default(&handle, "spin"));
    CHECK_CODE(grpc_call_with_attr_np(&handle, &attributes), GRPC_TIMEOUT_NP);
    CHECK_OK(grpc_function_handle_destruct(&handle));
    CHECK_OK(grpc_session_attr_destruct_np(&attributes));
    CHECK_CODE(grpc_session_attr_destruct_np(&attributes), GRPC_OTHER_ERROR_CODE);
}

/* Arguments may change as soon as a call was started. */
static void arrays_that_change(void)
{
    enum { LENGTH = 100000, CALLS = 20 };
    grpc_function_handle_t handle;
    grpc_sessionid_t sessions[CALLS];
    double *x = malloc(LENGTH * sizeof *x), total[CALLS];
    int call, index, right = 0;
    CHECK_OK(grpc_function_handle_default(&handle, "sum"));
    for (call = 0; call < CALLS; call++) {
        for (index = 0; index < LENGTH; index++)
            x[index] = call;
        CHECK_OK(grpc_call_async(&handle, &sessions[call], LENGTH, x, &total[call]));
    }
    CHECK_OK(grpc_wait_all());
    for (call = 0; call < CALLS; call++)
        right += total[call] == (double)call * LENGTH;
    CHECK(right == CALLS);
    free(x);
    CHECK_OK(grpc_function_handle_destruct(&handle));
}

static void in_a_fork(void)
{
    grpc_function_handle_t handle;
    grpc_sessionid_t session;
    int y = 0, done = 0, status = -1;
    pid_t child;
    CHECK_OK(grpc_function_handle_default(&handle, "nap"));
    CHECK_OK(grpc_call_async(&handle, &session, 0.5, &done));
    fflush(stdout);
    child = fork();
    if (child == 0) {
        grpc_function_handle_t own;
        int fine =
            grpc_wait(session) == GRPC_NOT_INITIALIZED &&
            grpc_call(&handle, 0.0, &done) == GRPC_NOT_INITIALIZED &&
            grpc_finalize() == GRPC_NOT_INITIALIZED && grpc_initialize(NULL) == GRPC_NO_ERROR &&
            grpc_function_handle_default(&own, "succeed") == GRPC_NO_ERROR &&
            grpc_call(&own, 1, &y) == GRPC_NO_ERROR && y == 2 && grpc_finalize() == GRPC_NO_ERROR;
        _exit(fine ? 0 : 1);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
          WEXITSTATUS(status) == 0);
    CHECK_OK(grpc_wait(session));
    CHECK(done == 1);
    CHECK_OK(grpc_function_handle_destruct(&handle));
}

static void information(void)
{
    grpc_function_handle_t handle;
    grpc_sessionid_t session;
    grpc_session_info_t_np *info = NULL;
    grpc_exec_info_t_np older;
    int done, status = 0;
    double seconds;
    CHECK_OK(grpc_function_handle_default(&handle, "nap"));
    CHECK_OK(grpc_call_async(&handle, &session, 0.3, &done));
    CHECK_OK(grpc_session_info_get_np(session, NULL, &status));
    CHECK(status == GRPC_SESSION_EXECUTING || status == GRPC_SESSION_ARG_IS_NOT_TRANSMITED);
    CHECK_OK(grpc_wait(session));
    CHECK_OK(grpc_session_info_get_np(session, &info, &status));
    CHECK(status == GRPC_SESSION_DONE && info);
    seconds = info->gei_measureExecutable.calculationRealTime.tv_sec +
        info->gei_measureExecutable.executableRealTime.tv_usec * 1e-6;
    CHECK(seconds > 0.29 && seconds < 3);
    seconds = info->gei_measureClient.clientRealTime.tv_sec +
              info->gei_measureClient.calculationRealTime.tv_usec * 1e-6;
    CHECK(seconds > 0.29 && seconds < 3);
    CHECK_OK(grpc_session_info_release_np(info));
    memset(&older, 0, sizeof older);
    CHECK_OK(grpc_get_info_np(session, &older, &status));
    CHECK(older.gei_measureExecutable.calculationRealTime.tv_usec > 0);
    CHECK_OK(grpc_get_last_info_np(&older, &status));
    CHECK_OK(grpc_session_info_remove_np(session));
    CHECK_CODE(grpc_session_info_get_np(session, &info, &status), GRPC_INVALID_SESSION_ID);
    CHECK_OK(grpc_session_info_set_threshold_np(0));
    CHECK_OK(grpc_call_async(&handle, &session, 0.0, &done));
    CHECK_OK(grpc_wait(session));
    CHECK_CODE(grpc_session_info_get_np(session, &info, &status), GRPC_INVALID_SESSION_ID);
    CHECK_OK(grpc_session_info_set_threshold_np(-1));
    CHECK_OK(grpc_session_info_remove_np(-1));
    CHECK_OK(grpc_function_handle_destruct(&handle));
}

int main(void)
{
    farcall_server *server = check_begin(0, NULL);
    CHECK_OK(grpc_initialize(NULL));
    one_session();
    sets();
    bad_ids();
    failed_ones();
    cancelled_ones();
    finalize_meanwhile();
    time_limits();
    arrays_that_change();
    in_a_fork();
    information();
    CHECK_OK(grpc_finalize());
    return check_end(server);
}
