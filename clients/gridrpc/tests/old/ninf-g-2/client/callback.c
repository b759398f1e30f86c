/*
 * callback.c: functions of the client that the server calls
 */
#include "check.h"

static int ncalls, ndone;
static double last[8];

void
square(x, y)
	double x, *y;
{
	ncalls++;
	*y = x * x;
}

void
watch(it, u, stop)
	int it;
	double *u;
	int *stop;
{
	int i;

	for (i = 0; i < 8; i++)
		last[i] = u[i];
	*stop = it >= 4;
}

void
tell(i, name, answer, len)
	int i;
	char *name, **answer;
	int *len;
{
	char buf[64];

	sprintf(buf, "%s is number %d", name, i);
	*answer = strdup(buf);
	*len = strlen(buf);
}

void
done(n)
	int n;
{
	ndone = n;
}

main(argc, argv)
	int argc;
	char *argv[];
{
	grpc_function_handle_t h;
	grpc_sessionid_t id;
	double s, u[8];
	int iter, i, total = 0;

	START(argc, argv);
	CALL(grpc_function_handle_default(&h, "control/integrate"));
	CALL(grpc_call(&h, 0.0, 1.0, 10, &s, square));
	CHECK(ncalls == 11);
	CHECK(s > 0.334 && s < 0.336);
	CALL(grpc_function_handle_destruct(&h));

	for (i = 0; i < 8; i++)
		u[i] = i == 7;
	CALL(grpc_function_handle_default(&h, "control/relax"));
	CALL(grpc_call_async(&h, &id, 8, u, 100, &iter, watch));
	CALL(grpc_wait(id));
	CHECK(iter == 5);
	for (i = 0; i < 8; i++)
		CHECK(u[i] == last[i]);
	CHECK(u[2] > 0 && u[2] < 0.1 && u[6] > 0.5);
	CALL(grpc_function_handle_destruct(&h));

	CALL(grpc_function_handle_default(&h, "control/names"));
	CALL(grpc_call(&h, 3, &total, tell, done));
	CHECK(total == 3 * strlen("item-0 is number 0"));
	CHECK(ndone == 3);
	CALL(grpc_function_handle_destruct(&h));
	FINISH("callback");
}
