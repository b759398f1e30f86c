/* ck_cancel.c: cancel, time-outs, signals */
#include "ck.h"

static volatile sig_atomic_t alarms = 0;
static grpc_sessionid_t running;

static void on_alarm(int sig)
{
    alarms++;
    (void)sig;
}

int main(int argc, char **argv)
{
    grpc_function_handle_t *h, *s;
    grpc_sessionid_t id[2], failed;
    struct itimerval soon = { { 0, 0 }, { 0, 20000 } };
    int pid = 0, n = 0;

    ck_begin(argc, argv);
    h = ck_handle("wait");
    OK(grpc_call_async(h, &id[0], 3600.0, &pid));
    OK(grpc_cancel(id[0]));
    FAILS(grpc_wait(id[0]), GRPC_SESSION_FAILED);
    FAILS(grpc_get_error(id[0]), GRPC_CANCELED_NP);

    /* when the alarm comes */
    OK(grpc_signal_handler_set_np(SIGALRM, on_alarm));
    OK(grpc_call_async(h, &running, 3600.0, &pid));
    setitimer(ITIMER_REAL, &soon, NULL);
    while (alarms == 0)
	FAILS(grpc_probe(running), GRPC_NOT_COMPLETED);
    OK(grpc_cancel(running));
    FAILS(grpc_wait(running), GRPC_SESSION_FAILED);
    FAILS(grpc_get_error(running), GRPC_CANCELED_NP);

    /* one that does not look is ended by its server; the handle goes on with another process */
    s = ck_handle("stubborn");
    OK(grpc_call_async(s, &id[0], 3600.0));
    OK(grpc_call_async(h, &id[1], 0.01, &pid));
    OK(grpc_cancel(id[0]));
    FAILS(grpc_wait_and(id, 2), GRPC_SESSION_FAILED);
    FAILS(grpc_get_error(id[0]), GRPC_CANCELED_NP);
    OK(grpc_get_error(id[1]));
    while (grpc_get_failed_sessionid(&failed) == GRPC_NO_ERROR && failed != GRPC_SESSIONID_VOID)
	n++;
    ASSERT(n == 3);
    grpc_function_handle_destruct(s);

    /* session_timeout of the configuration */
    s = ck_handle("stubborn");
    FAILS(grpc_call(s, 3600.0), GRPC_TIMEOUT_NP);
    FAILS(grpc_call(s, 0.0), GRPC_INVALID_FUNCTION_HANDLE);
    grpc_function_handle_destruct(s);
    ck_release(h);
    return ck_end();
}
