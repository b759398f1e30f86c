/* t_null.c: null arguments, zero elements */
#include "survey.h"

void test_null(void)
{
    grpc_function_handle_t h;
    char a[1];
    short b[1];
    int c[1], x[1], mask = -1;
    long d[1];
    float e[1];
    double f[1], w[1];
    scomplex g[1];
    dcomplex z[1];
    char *t[1] = { "t" }, *u[1] = { "u" }, *v[1] = { NULL }, *files[1] = { "" };

    memset(a, 0, sizeof a); memset(b, 0, sizeof b); memset(c, 0, sizeof c); memset(d, 0, sizeof d);
    memset(e, 0, sizeof e); memset(f, 0, sizeof f); memset(g, 0, sizeof g); memset(z, 0, sizeof z);
    w[0] = 3; x[0] = 4;
    G(grpc_function_handle_default(&h, "xfer/nullNumbers"));
    G(grpc_call(&h, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &mask));
    TRUTH(mask == 0xff);
    G(grpc_call(&h, 0, a, b, c, d, e, f, g, z, &mask));
    TRUTH(mask == 0xff);
    G(grpc_call(&h, 1, a, b, c, d, e, f, g, z, &mask));
    TRUTH(mask == 0);
    G(grpc_function_handle_destruct(&h));

    G(grpc_function_handle_default(&h, "xfer/nullOthers"));
    G(grpc_call(&h, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &mask));
    TRUTH(mask == 0xff);
    G(grpc_call(&h, 0, "", t, u, v, "", files, w, x, &mask));
    TRUTH(mask == 0xff - 1 - (1 << 4));
    TRUTH(w[0] == 3 && x[0] == 4 && v[0] == NULL && strcmp(u[0], "u") == 0);
    G(grpc_call(&h, 1, "s", t, u, v, "", files, w, x, &mask));
    TRUTH(mask == 0);
    G(grpc_function_handle_destruct(&h));
}
