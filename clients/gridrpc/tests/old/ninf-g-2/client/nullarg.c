/*
 * nullarg.c: arguments that are not there
 */
#include "check.h"

int
main(argc, argv)
	int argc;
	char *argv[];
{
	grpc_function_handle_t h;
	int isnull[3], a, b;
	long l[2];
	double d[2];
	char *none[1];

	START(argc, argv);
	CALL(grpc_function_handle_default(&h, "numeric/nulls"));
	CALL(grpc_call(&h, NULL, 0, NULL, NULL, isnull));
	CHECK(isnull[0] && isnull[1] && isnull[2]);
	CALL(grpc_call(&h, "", 0, NULL, NULL, isnull));
	CHECK(!isnull[0]);
	l[0] = l[1] = 1; d[0] = d[1] = 2;
	CALL(grpc_call(&h, "", 2, l, d, isnull));
	CHECK(!isnull[0] && !isnull[1] && !isnull[2]);
	CALL(grpc_function_handle_destruct(&h));

	/* a file without a name */
	CALL(grpc_function_handle_default(&h, "transfer/isthere"));
	a = b = -1;
	CALL(grpc_call(&h, NULL, 0, none, &a, &b));
	CHECK(a == 1 && b == 1);
	none[0] = "";
	CALL(grpc_call(&h, "", 1, none, &a, &b));
	CHECK(a == 0 && b == 0);
	CALL(grpc_function_handle_destruct(&h));
	FINISH("nullarg");
}
