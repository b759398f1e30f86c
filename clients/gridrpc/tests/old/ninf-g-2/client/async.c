/*
 * async.c: sessions, and all ways to wait for them
 */
#include "check.h"

#define N 4

static grpc_function_handle_t h[N];
static grpc_sessionid_t id[N];
static int r[N];

static
start(msec)
	int msec;
{
	int i;

	for (i = 0; i < N; i++) {
		r[i] = -1;
		CALL(grpc_call_async(&h[i], &id[i], msec * (i + 1), 10 + i, &r[i]));
		CHECK(id[i] != GRPC_SESSIONID_VOID);
	}
}

static
finished()
{
	int i;

	for (i = 0; i < N; i++)
		CHECK(r[i] == 10 + i);
}

main(argc, argv)
	int argc;
	char *argv[];
{
	grpc_sessionid_t which;
	grpc_function_handle_t *hp;
	grpc_exec_info_t_np info;
	int i, seen, status;

	START(argc, argv);
	for (i = 0; i < N; i++)
		CALL(grpc_function_handle_default(&h[i], "control/nap"));

	/* one after the other */
	start(5);
	for (i = 0; i < N; i++)
		CALL(grpc_wait(id[i]));
	finished();

	/* all of them, two ways */
	start(5);
	CALL(grpc_wait_all());
	finished();
	start(5);
	CALL(grpc_wait_and(id, N));
	finished();

	/* any of them */
	start(5);
	for (seen = i = 0; i < N; i++) {
		CALL(grpc_wait_any(&which));
		for (status = 0; status < N; status++)
			if (id[status] == which)
				seen |= 1 << status;
	}
	CHECK(seen == (1 << N) - 1);
	CALL(grpc_wait_any(&which));
	CHECK(which == GRPC_SESSIONID_VOID);
	finished();

	/* one of a set */
	start(5);
	CALL(grpc_wait_or(id, N, &which));
	for (i = 0; i < N && id[i] != which; i++)
		;
	CHECK(i < N && r[i] == 10 + i);
	CALL(grpc_wait_all());
	finished();

	/* asking, without waiting */
	start(20);
	while ((rc = grpc_probe(id[N - 1])) == GRPC_NOT_COMPLETED)
		;
	CHECK(rc == GRPC_NO_ERROR);
	CALL(grpc_wait(id[N - 1]));
	CHECK(r[N - 1] == 10 + N - 1);
	while ((rc = grpc_probe_or(id, N, &which)) == GRPC_NONE_COMPLETED)
		CHECK(which == GRPC_SESSIONID_VOID);
	CHECK(rc == GRPC_NO_ERROR && which != GRPC_SESSIONID_VOID);
	CALL(grpc_wait_all());
	finished();

	/* what is known of a session */
	CALL(grpc_call_async(&h[0], &id[0], 30, 1, &r[0]));
	CALL(grpc_get_handle(&hp, id[0]));
	CHECK(hp == &h[0]);
	CHECK_RC(grpc_get_error(id[0]), GRPC_NO_ERROR);
	CALL(grpc_wait(id[0]));
	CALL(grpc_get_info_np(id[0], &info, &status));
	CHECK(status == GRPC_SESSION_DONE);
	CHECK(info.gei_measureExecutable.calculationRealTime.tv_sec > 0
		|| info.gei_measureExecutable.calculationRealTime.tv_usec >= 25000);

	/* no such session */
	CHECK_RC(grpc_wait(12345), GRPC_INVALID_SESSION_ID);
	CHECK_RC(grpc_probe(12345), GRPC_INVALID_SESSION_ID);
	id[1] = 12345;
	CHECK_RC(grpc_wait_and(id, 2), GRPC_INVALID_SESSION_ID);

	for (i = 0; i < N; i++)
		CALL(grpc_function_handle_destruct(&h[i]));
	FINISH("async");
}
