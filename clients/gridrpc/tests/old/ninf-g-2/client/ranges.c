/*
 * ranges.c: ranges, strides, leading dimensions, expressions
 */
#include "check.h"

#define N 20
#define LDA 7

static int
selected(i, first, last, step)
	int i, first, last, step;
{
	return i >= first && i < last && (i - first) % step == 0;
}

static
try(h, first, last, step)
	grpc_function_handle_t *h;
	int first, last, step;
{
	double x[N], sum = -1, want = 0;
	int y[N], z[N], i;

	for (i = 0; i < N; i++) {
		x[i] = i * i;
		y[i] = i + 1;
		z[i] = -7;
		if (selected(i, first, last, step))
			want += x[i];
	}
	CALL(grpc_call(h, N, first, last, step, x, &sum, y, z));
	CHECK(sum == want);
	for (i = 0; i < N; i++) {
		CHECK(y[i] == (selected(i, first, last, step) ? -(i + 1) : i + 1));
		CHECK(z[i] == (i >= first && i < last ? 100 + i : -7));
	}
	return ng;
}

main(argc, argv)
	int argc;
	char **argv;
{
	grpc_function_handle_t h;
	float a[3][LDA], colsum[5];
	double packed[10], diag[4];
	int i, j;

	START(argc, argv);
	CALL(grpc_function_handle_default(&h, "numeric/parts"));
	try(&h, 0, N, 1);
	try(&h, 2, 15, 3);
	try(&h, 5, 6, 1);
	try(&h, 0, N, N);
	try(&h, 19, 20, 4);
	CALL(grpc_function_handle_destruct(&h));

	for (i = 0; i < 3; i++)
		for (j = 0; j < LDA; j++)
			a[i][j] = 10 * i + j;
	CALL(grpc_function_handle_default(&h, "numeric/submatrix"));
	CALL(grpc_call(&h, 3, 5, LDA, a, colsum));
	for (j = 0; j < 5; j++)
		CHECK(colsum[j] == 30 + 3 * j);
	for (i = 0; i < 3; i++)
		for (j = 0; j < LDA; j++)
			CHECK(a[i][j] == 10 * i + j + (j < 5 ? 0.5 : 0));
	CALL(grpc_function_handle_destruct(&h));

	for (i = 0; i < 10; i++)
		packed[i] = i;
	CALL(grpc_function_handle_default(&h, "numeric/triangle"));
	CALL(grpc_call(&h, 4, packed, diag));
	CHECK(diag[0] == 0 && diag[1] == 2 && diag[2] == 5 && diag[3] == 9);
	CALL(grpc_function_handle_destruct(&h));
	FINISH("ranges");
}
