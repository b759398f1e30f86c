/* t_cancel.c: sessions that are canceled, and processes that end */
#include "survey.h"

static void canceled(grpc_sessionid_t id)
{
    WANT(GRPC_SESSION_FAILED, grpc_wait(id));
    WANT(GRPC_CANCELED_NP, grpc_get_error(id));
}

void test_cancel(void)
{
    grpc_function_handle_t h, h2, e, b;
    grpc_sessionid_t id, id2, id3, failed;
    int polls = -1, nth = 0, n = 0;
    static int signals[] = { SIGKILL, SIGABRT, SIGFPE };
    int i;

    G(grpc_function_handle_default(&h, "work/cancelable"));
    G(grpc_function_handle_default(&h2, "work/cancelable"));
    G(grpc_function_handle_default(&e, "work/endless"));
    G(grpc_function_handle_default(&b, "work/busy"));

    G(grpc_call(&h, 20, &polls));
    TRUTH(polls == 20);

    G(grpc_call_async(&h, &id, 1000000, &polls));
    G(grpc_cancel(id));
    canceled(id);

    G(grpc_call_async(&e, &id));
    usleep(1000);
    G(grpc_cancel(id));
    canceled(id);

    /* one of three; the others are not touched */
    G(grpc_call_async(&h, &id, 1000000, &polls));
    G(grpc_call_async(&b, &id2, 30, &nth));
    G(grpc_call_async(&h2, &id3, 5, &polls));
    G(grpc_cancel(id));
    WANT(GRPC_SESSION_FAILED, grpc_wait_all());
    WANT(GRPC_CANCELED_NP, grpc_get_error(id));
    G(grpc_get_error(id2));
    G(grpc_get_error(id3));
    TRUTH(nth > 0 && polls == 5);
    for (;;) {
	G(grpc_get_failed_sessionid(&failed));
	if (failed == GRPC_SESSIONID_VOID)
	    break;
	n++;
    }
    TRUTH(n >= 1);

    /* one that has ended stays as it is */
    G(grpc_call_async(&b, &id, 1, &nth));
    G(grpc_wait(id));
    G(grpc_cancel(id));
    G(grpc_get_error(id));
    WANT(GRPC_INVALID_SESSION_ID, grpc_cancel(987654));

    /* all of them */
    G(grpc_call_async(&h, &id, 1000000, &polls));
    G(grpc_call_async(&e, &id2));
    G(grpc_cancel_all());
    WANT(GRPC_SESSION_FAILED, grpc_wait_all());
    WANT(GRPC_CANCELED_NP, grpc_get_error(id));
    WANT(GRPC_CANCELED_NP, grpc_get_error(id2));
    grpc_function_handle_destruct(&h);
    grpc_function_handle_destruct(&h2);
    grpc_function_handle_destruct(&e);
    grpc_function_handle_destruct(&b);

    for (i = 0; i < NUM(signals); i++) {
	G(grpc_function_handle_default(&h, "work/dies"));
	WANT(GRPC_SESSION_FAILED, grpc_call(&h, signals[i]));
	grpc_function_handle_destruct(&h);
    }
    G(grpc_function_handle_default(&h, "work/exits"));
    WANT(GRPC_SESSION_FAILED, grpc_call(&h, 1));
    TRUTH(grpc_last_error_get_np() == GRPC_SESSION_FAILED);
    grpc_function_handle_destruct(&h);
}
