/* ck_data.c: data of every type, sizes that are computed, Fortran */
#include "ck.h"

#define N 1000

int main(int argc, char **argv)
{
    static char c[N], oc[N];
    static short s[N], os[N];
    static int i[N], oi[N];
    static long l[N], ol[N];
    static float f[N], of[N];
    static double d[N], od[N];
    static scomplex z[N], oz[N];
    static dcomplex w[N], ow[N];
    static char *t[N], *ot[N], words[N][12];
    scomplex z1 = { 1.5f, -2 };
    dcomplex w1 = { 0, 1e3 };
    double x[6] = { 1, 2, 3, 4, 5, 6 }, y[6] = { 0 }, a[2][4] = { { 1, 2, 3, -1 }, { 4, 5, 6, -1 } };
    grpc_function_handle_t *h, fh;
    char *line = NULL;
    int isnull = -1;

    ck_begin(argc, argv);
    for (int k = 0; k < N; k++) {
	c[k] = k; s[k] = -k; i[k] = k << 16; l[k] = (long)k << 40; f[k] = k / 8.0f; d[k] = 1.0 / (k + 1);
	z[k].r = w[k].r = k; z[k].i = w[k].i = 0.25;
	sprintf(words[k], "%d", k);
	t[k] = words[k];
    }
    h = ck_handle("echo");
    OK(grpc_call(h, (long)N, c, s, i, l, f, d, z, w, t, oc, os, oi, ol, of, od, oz, ow, ot, &isnull));
    ASSERT(isnull == 0);
    ASSERT(!memcmp(c, oc, sizeof c) && !memcmp(s, os, sizeof s) && !memcmp(i, oi, sizeof i));
    ASSERT(!memcmp(l, ol, sizeof l) && !memcmp(f, of, sizeof f) && !memcmp(d, od, sizeof d));
    ASSERT(!memcmp(z, oz, sizeof z) && !memcmp(w, ow, sizeof w));
    for (int k = 0; k < N; k++) {
	ASSERT(ot[k] != NULL && ot[k] != t[k] && strcmp(ot[k], t[k]) == 0);
	free(ot[k]);
    }
    ck_release(h);

    h = ck_handle("one");
    OK(grpc_call(h, 'x', -5, 123456, 1L << 50, 2.5f, 1e-10, z1, w1, "last", &line));
    ASSERT(line && !strcmp(line, "x -5 123456 1125899906842624 2.500 1.000e-10 1.5-2.0i 0.0+1000.0i last"));
    free(line);
    ck_release(h);

    h = ck_handle("sizes");
    memset(oi, -1, sizeof oi); memset(os, -1, sizeof os); memset(ol, -1, sizeof ol);
    memset(od, -1, sizeof od); memset(oc, -1, sizeof oc);
    OK(grpc_call(h, 4, 3, oi, os, ol, od, oc));
    ASSERT(oi[12] == 24 && oi[13] == -1);
    ASSERT(os[3] == 6 && os[4] == -1);
    ASSERT(ol[15] == 30 && ol[16] == -1);
    ASSERT(od[5] == 10 && od[6] != 12);
    ASSERT(oc[7] == 14 && oc[8] == -1);
    ck_release(h);

    OK(grpc_function_handle_default(&fh, "f2c/dscal"));
    OK(grpc_call(&fh, 3, 10.0, x, 2));
    ASSERT(x[0] == 10 && x[1] == 2 && x[2] == 30 && x[3] == 4 && x[4] == 50 && x[5] == 6);
    OK(grpc_function_handle_destruct(&fh));
    OK(grpc_function_handle_init(&fh, "desk", "f2c/daxpy"));
    OK(grpc_call(&fh, 3, 0.5, x, 2, y, 1));
    ASSERT(y[0] == 5 && y[1] == 15 && y[2] == 25 && y[3] == 0);
    OK(grpc_function_handle_destruct(&fh));
    OK(grpc_function_handle_default(&fh, "f2c/dgemvx"));
    x[0] = x[1] = x[2] = 1;
    OK(grpc_call(&fh, 'N', 3, 2, a, 4, x, y));
    ASSERT(y[0] == 5 && y[1] == 7 && y[2] == 9);
    OK(grpc_call(&fh, 'T', 3, 2, a, 4, x, y));
    ASSERT(y[0] == 6 && y[1] == 15 && y[2] == 9);
    OK(grpc_function_handle_destruct(&fh));
    return ck_end();
}
