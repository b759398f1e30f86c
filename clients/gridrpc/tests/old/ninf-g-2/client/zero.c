/*
 * zero.c: arrays without elements
 */
#include "check.h"

int
main(argc, argv)
	int argc;
	char *argv[];
{
	grpc_function_handle_t h;
	double a[1], b[1];
	int c[1], i, isnull[6];
	float d[1];
	char *s[1], *t[1];

	b[0] = 8; c[0] = 9; d[0] = 10;
	s[0] = "there"; t[0] = "unchanged";
	START(argc, argv);
	CALL(grpc_function_handle_default(&h, "numeric/nothing"));

	/* addresses, but no elements behind them */
	CALL(grpc_call(&h, 0, a, b, c, s, t, 3, d, isnull));
	for (i = 0; i < 6; i++)
		CHECK(isnull[i] == 1);
	CHECK(b[0] == 8 && c[0] == 9 && d[0] == 10);
	CHECK(strcmp(t[0], "unchanged") == 0);

	/* no addresses, either */
	CALL(grpc_call(&h, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, isnull));
	for (i = 0; i < 6; i++)
		CHECK(isnull[i] == 1);

	/* one of each */
	CALL(grpc_call(&h, 1, a, b, c, s, t, 1, d, isnull));
	for (i = 0; i < 6; i++)
		CHECK(isnull[i] == 0);
	CALL(grpc_function_handle_destruct(&h));
	FINISH("zero");
}
