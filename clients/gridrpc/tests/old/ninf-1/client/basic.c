/* basic.c -- Ninf_call with data of every type */
#include "ck.h"

#define N 8

double A[N][N], B[N][N], C[N][N], b[N];

main(argc, argv)
int argc;
char **argv;
{
    int i, j, info = -1, null = -1, len[3], ia[3];
    char *r = NULL, ca[3];
    static char *words[] = { "", "a", "Tsukuba" };
    short sa[3];
    float fa[3], x[4];
    double da[3], y[4], sum = 0;
    any_t arg[3];
    Ninf_stub_t *stub;
    int types[4];

    argc = Ninf_parse_arg(argc, argv);
    if (argc == NINF_ERROR) {
	fprintf(stderr, "usage: basic [-server host] [-port port]\n");
	exit(1);
    }

    for (i = 0; i < N; i++)
	for (j = 0; j < N; j++) {
	    A[i][j] = i + 2 * j;
	    B[i][j] = i == j;
	}
    must(Ninf_call("dmmul", N, A, B, C));
    for (i = 0; i < N; i++)
	for (j = 0; j < N; j++)
	    check(C[i][j] == A[i][j]);
    must(Ninf_call("linalg/dscale", N, 0.5, C));
    check(C[3][2] == A[3][2] / 2);

    /* by columns, with a leading dimension */
    for (i = 0; i < N; i++) {
	b[i] = 0;
	for (j = 0; j < N; j++)
	    A[j][i] = (i == j ? 10.0 : 1.0) + (i * j) % 3;
    }
    for (i = 0; i < 5; i++)
	for (j = 0; j < 5; j++)
	    b[i] += A[j][i] * (j + 1);
    must(Ninf_call("linpack", A, N, 5, b, &info));
    check(info == 0);
    for (i = 0; i < 5; i++)
	check(b[i] > i + 1 - 1e-9 && b[i] < i + 1 + 1e-9);

    for (i = 0; i < 3; i++)
	ca[i] = sa[i] = ia[i] = fa[i] = da[i] = 10 * i;
    must(Ninf_call("alltypes", 1, 2, 3, 4, 5, 6.0, 7.0, 3, ca, sa, ia, fa, da, &sum));
    check(sum == 28);
    for (i = 0; i < 3; i++)
	check(ca[i] == 10 * i + 1 && sa[i] == ca[i] && ia[i] == ca[i] && fa[i] == ca[i] && da[i] == ca[i]);

    x[0] = 3; x[1] = 4; x[2] = 0; x[3] = 1;
    y[0] = 1; y[1] = 1; y[2] = 2; y[3] = 2;
    must(Ninf_call("cnorm", 2, x, y, &sum));
    check(sum == 36);
    check(x[1] == -4 && x[3] == -1 && y[1] == -1 && y[3] == -2);

    must(Ninf_call("capitals", "Ninf is not Finn", &r, &null));
    check(null == 0 && strcmp(r, "NINF IS NOT FINN") == 0);
    free(r);
    must(Ninf_call("lengths", 3, words, len));
    check(len[0] == 0 && len[1] == 1 && len[2] == 7);

    /* arguments in a vector */
    i = 0;
    any_set_int(&arg[0], 1);
    any_set_int(&arg[1], 77);
    any_set_pointer(&arg[2], &i);
    must(Ninf_call_v("control/rest", arg));
    check(i == 77);
    must(Ninf_get_stub("control/rest", types, &stub));
    must(Ninf_call_body(stub, 1, 78, &i));
    check(i == 78);

    /* what is not there */
    check(Ninf_call("no_such_function", 1) == NINF_ERROR);
    check(ninf_error_code == CANTFINDSTUB);
    done("basic");
}
