/*
 * cancel.c: sessions that do not come to their end
 */
#include "check.h"

main(argc, argv)
	int argc;
	char *argv[];
{
	grpc_function_handle_t h, deaf, quit;
	grpc_sessionid_t id, id2, failed;
	int polls = -1, n;

	START(argc, argv);
	CALL(grpc_function_handle_default(&h, "control/patient"));
	CALL(grpc_function_handle_default(&deaf, "control/deaf"));
	CALL(grpc_function_handle_default(&quit, "control/quit"));

	/* nobody cancels */
	CALL(grpc_call(&h, 0.05, &polls));
	CHECK(polls > 1);

	/* one that asks */
	CALL(grpc_call_async(&h, &id, 600.0, &polls));
	CALL(grpc_cancel(id));
	CHECK_RC(grpc_wait(id), GRPC_SESSION_FAILED);
	CHECK_RC(grpc_get_error(id), GRPC_CANCELED_NP);
	CALL(grpc_get_failed_sessionid(&failed));
	CHECK(failed == id);

	/* one that does not */
	CALL(grpc_call_async(&deaf, &id));
	CALL(grpc_cancel(id));
	CHECK_RC(grpc_wait(id), GRPC_SESSION_FAILED);
	CHECK_RC(grpc_get_error(id), GRPC_CANCELED_NP);
	CALL(grpc_get_failed_sessionid(&failed));
	CHECK(failed == id);
	CALL(grpc_get_failed_sessionid(&failed));
	CHECK(failed == GRPC_SESSIONID_VOID);

	/* all of them */
	CALL(grpc_function_handle_destruct(&h));
	CALL(grpc_function_handle_default(&h, "control/patient"));
	CALL(grpc_function_handle_destruct(&deaf));
	CALL(grpc_function_handle_default(&deaf, "control/deaf"));
	CALL(grpc_call_async(&h, &id, 600.0, &polls));
	CALL(grpc_call_async(&deaf, &id2));
	CALL(grpc_cancel_all());
	CHECK_RC(grpc_wait_all(), GRPC_SESSION_FAILED);
	for (n = 0; ; n++) {
		CALL(grpc_get_failed_sessionid(&failed));
		if (failed == GRPC_SESSIONID_VOID)
			break;
		CHECK(failed == id || failed == id2);
		CHECK_RC(grpc_get_error(failed), GRPC_CANCELED_NP);
	}
	CHECK(n == 2);

	/* a process that ends by itself fails its session, and no other */
	CHECK_RC(grpc_call(&quit, 0), GRPC_SESSION_FAILED);
	grpc_function_handle_destruct(&quit);
	CALL(grpc_function_handle_default(&quit, "control/quit"));
	CALL(grpc_call_async(&quit, &id, SIGSEGV));
	CHECK_RC(grpc_wait(id), GRPC_SESSION_FAILED);
	grpc_function_handle_destruct(&quit);
	grpc_function_handle_destruct(&deaf);
	grpc_function_handle_destruct(&h);
	FINISH("cancel");
}
