/* ck_zero.c: zero elements */
#include "ck.h"

int main(int argc, char **argv)
{
    grpc_function_handle_t *h;
    char c[1] = { 'c' }, oc[1] = { 'o' }, *t[1] = { "t" }, *ot[1] = { "kept" };
    short s[1], os[1];
    int i[1], oi[1], isnull = 0;
    long l[1], ol[1];
    float f[1], of[1];
    double d[1], od[1];
    scomplex z[1], oz[1];
    dcomplex w[1], ow[1] = { { 1, 2 } };

    ck_begin(argc, argv);
    h = ck_handle("echo");
    OK(grpc_call(h, 0L, c, s, i, l, f, d, z, w, t, oc, os, oi, ol, of, od, oz, ow, ot, &isnull));
    ASSERT(isnull == 18);
    ASSERT(oc[0] == 'o' && strcmp(ot[0], "kept") == 0 && ow[0].i == 2);
    isnull = 0;
    OK(grpc_call(h, 0L, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
		 NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &isnull));
    ASSERT(isnull == 18);
    ck_release(h);
    return ck_end();
}
