/*
 * types.c: data of every type
 */
#include "check.h"

#define N 5

main(argc, argv)
	int argc;
	char *argv[];
{
	grpc_function_handle_t h;
	char c = 'a';
	short s = -300;
	int i = 70000, k, j;
	long l = 1L << 40;
	float f = 1.25;
	double d = -2.5e100;
	scomplex z;
	dcomplex w;
	char *t = "text", *in[3], *out[3];
	char ca[N];
	short sa[N];
	int ia[N];
	long la[N];
	float fa[N];
	double da[N], A[3][3], B[3][3], C[3][3], sum;
	scomplex za[N];
	dcomplex wa[N];

	z.r = 1; z.i = 2;
	w.r = 3; w.i = 4;
	START(argc, argv);

	/* one of each */
	CALL(grpc_function_handle_default(&h, "numeric/scalars"));
	CALL(grpc_call(&h, c, s, i, l, f, d, z, w, t, &c, &s, &i, &l, &f, &d, &z, &w, &t));
	CHECK(c == 'b');
	CHECK(s == -299);
	CHECK(i == 70001);
	CHECK(l == (1L << 40) + 1);
	CHECK(f == 2.25);
	CHECK(d == -2.5e100);
	CHECK(z.r == 2 && z.i == 1);
	CHECK(w.r == 4 && w.i == 3);
	CHECK(strcmp(t, "text!") == 0);
	free(t);
	CALL(grpc_function_handle_destruct(&h));

	/* arrays */
	for (k = 0; k < N; k++) {
		ca[k] = sa[k] = ia[k] = la[k] = k - 2;
		fa[k] = da[k] = k + 0.5;
		za[k].r = wa[k].r = k;
		za[k].i = wa[k].i = -k;
	}
	CALL(grpc_function_handle_init(&h, "here", "numeric/vectors"));
	CALL(grpc_call(&h, N, ca, sa, ia, la, fa, da, za, wa));
	for (k = 0; k < N; k++) {
		CHECK(ca[k] == 2 * (k - 2));
		CHECK(sa[k] == 2 * (k - 2));
		CHECK(ia[k] == 2 * (k - 2));
		CHECK(la[k] == 2 * (k - 2));
		CHECK(fa[k] == 2 * k + 1);
		CHECK(da[k] == 2 * k + 1);
		CHECK(za[k].r == 2 * k && za[k].i == -2 * k);
		CHECK(wa[k].r == 2 * k && wa[k].i == -2 * k);
	}
	CALL(grpc_function_handle_destruct(&h));

	/* texts */
	in[0] = "abc"; in[1] = ""; in[2] = "stressed";
	CALL(grpc_function_handle_default(&h, "numeric/reverse"));
	CALL(grpc_call(&h, 3, in, out));
	CHECK(strcmp(out[0], "desserts") == 0);
	CHECK(strcmp(out[1], "") == 0);
	CHECK(strcmp(out[2], "cba") == 0);
	for (k = 0; k < 3; k++)
		free(out[k]);
	CALL(grpc_function_handle_destruct(&h));

	/* a matrix, and a function of a library */
	for (k = 0; k < 3; k++)
		for (j = 0; j < 3; j++) {
			A[k][j] = k + j;
			B[k][j] = k == j ? 2 : 0;
			C[k][j] = -1;
		}
	CALL(grpc_function_handle_default(&h, "numeric/dmmul"));
	CALL(grpc_call(&h, 3, A, B, C));
	for (k = 0; k < 3; k++)
		for (j = 0; j < 3; j++)
			CHECK(C[k][j] == 2 * (k + j));
	CALL(grpc_function_handle_destruct(&h));

	CALL(grpc_function_handle_default(&h, "numeric/vsum"));
	CALL(grpc_call(&h, 9, &A[0][0], &sum));
	CHECK(sum == 18);
	CALL(grpc_function_handle_destruct(&h));
	FINISH("types");
}
