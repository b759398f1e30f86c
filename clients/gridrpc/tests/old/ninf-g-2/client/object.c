/*
 * object.c: remote objects
 */
#include "check.h"

#define N 2

main(argc, argv)
	int argc;
	char *argv[];
{
	grpc_object_handle_t_np o[N];
	grpc_sessionid_t id[N];
	double h[4];
	int i, r[N], len;

	START(argc, argv);
	CALL(grpc_object_handle_array_default_np(o, N, "counter/counter"));
	for (i = 0; i < N; i++)
		CALL(grpc_invoke_np(&o[i], "init", 100 * i));
	for (i = 0; i < N; i++)
		CALL(grpc_invoke_async_np(&o[i], "add", &id[i], 5, &r[i]));
	CALL(grpc_wait_and(id, N));
	CHECK(r[0] == 5 && r[1] == 105);
	CALL(grpc_invoke_np(&o[1], "add", -5, &r[1]));
	CHECK(r[1] == 100);
	CALL(grpc_invoke_np(&o[1], "getHistory", 4, h));
	CHECK(h[0] == 105 && h[1] == 100 && h[2] == -1 && h[3] == -1);
	CALL(grpc_invoke_np(&o[1], "finalize", &len));
	CHECK(len == 2);
	CALL(grpc_object_handle_array_destruct_np(o, N));

	CALL(grpc_object_handle_init_np(&o[0], "here", "counter/counter"));
	CALL(grpc_invoke_np(&o[0], "init", -1));
	CALL(grpc_invoke_np(&o[0], "add", 2, &r[0]));
	CHECK(r[0] == 1);
	CALL(grpc_object_handle_destruct_np(&o[0]));
	CHECK_RC(grpc_object_handle_default_np(&o[0], "counter/nobody"), GRPC_CLASS_NOT_FOUND_NP);
	FINISH("object");
}
