/* t_types.c: data of every type, in every mode */
#include "survey.h"

#define N 7

/* one call of a function of one value */
#define ONE(name, type, value, same) do {			\
	grpc_function_handle_t h_;				\
	type x = (value), y;					\
	memset(&y, 0, sizeof y);				\
	G(grpc_function_handle_default(&h_, "types/" name));	\
	G(grpc_call(&h_, x, &y));				\
	TRUTH(same);						\
	G(grpc_function_handle_destruct(&h_));			\
    } while (0)

typedef char *text;

static scomplex sc(float r, float i) { scomplex z; z.r = r; z.i = i; return z; }
static dcomplex dc(double r, double i) { dcomplex z; z.r = r; z.i = i; return z; }

void test_types(void)
{
    grpc_function_handle_t h;
    char c[N], oc[N];
    short s[N], os[N];
    int i[N], oi[N], k, sum, dim[2], len[3];
    long l[N], ol[N];
    float f[N], of[N];
    double d[N], od[N], dsum;
    scomplex z[N], oz[N];
    dcomplex w[N], ow[N];
    char *t[3];

    ONE("inChar", char, -7, x == y);
    ONE("inChar", char, '\0', x == y);
    ONE("inShort", short, -32768, x == y);
    ONE("inInt", int, INT_MIN, x == y);
    ONE("inInt", int, INT_MAX, x == y);
    ONE("inLong", long, LONG_MIN, x == y);
    ONE("inFloat", float, 0.1f, x == y);
    ONE("inDouble", double, 1e-300, x == y);
    ONE("inScomplex", scomplex, sc(1.5, -2), x.r == y.r && x.i == y.i);
    ONE("inDcomplex", dcomplex, dc(-1e200, 2), x.r == y.r && x.i == y.i);
    ONE("inString", text, "a text with \"quotes\" & <signs>\n", strcmp(x, y) == 0);
    ONE("inString", text, "", *y == '\0');

    for (k = 0; k < N; k++) {
	c[k] = s[k] = i[k] = l[k] = f[k] = d[k] = k - 3;
	z[k] = sc(k, -k);
	w[k] = dc(-k, k);
    }
    G(grpc_function_handle_default(&h, "types/incAll"));
    G(grpc_call(&h, N, c, s, i, l, f, d));
    for (k = 0; k < N; k++)
	TRUTH(c[k] == k - 2 && s[k] == k - 2 && i[k] == k - 2 && l[k] == k - 2
	      && f[k] == k - 2 && d[k] == k - 2);
    G(grpc_function_handle_destruct(&h));

    G(grpc_function_handle_default(&h, "types/copyAll"));
    G(grpc_call(&h, (long)N, c, s, i, l, f, d, z, w, oc, os, oi, ol, of, od, oz, ow));
    TRUTH(!memcmp(c, oc, sizeof c) && !memcmp(s, os, sizeof s) && !memcmp(i, oi, sizeof i)
	  && !memcmp(l, ol, sizeof l) && !memcmp(f, of, sizeof f) && !memcmp(d, od, sizeof d)
	  && !memcmp(z, oz, sizeof z) && !memcmp(w, ow, sizeof w));
    G(grpc_function_handle_destruct(&h));

    G(grpc_function_handle_default(&h, "types/byChar"));
    G(grpc_call(&h, (char)N, i, &sum));
    TRUTH(sum == 7);
    G(grpc_function_handle_destruct(&h));
    G(grpc_function_handle_default(&h, "types/byShort"));
    G(grpc_call(&h, (short)N, i, &sum));
    TRUTH(sum == 7);
    G(grpc_function_handle_destruct(&h));
    dim[0] = 2; dim[1] = 3;
    G(grpc_function_handle_default(&h, "types/byFirst"));
    G(grpc_call(&h, dim, i, &sum));
    TRUTH(sum == -2 - 1 + 0 + 1 + 2 + 3);
    G(grpc_function_handle_destruct(&h));

    G(grpc_function_handle_default(&h, "types/work"));
    G(grpc_call(&h, N, d, NULL, od));
    for (k = 0; k < N; k++)
	TRUTH(od[k] == d[k] + 1);
    G(grpc_function_handle_destruct(&h));

    t[0] = "zero"; t[1] = ""; t[2] = "two two";
    G(grpc_function_handle_default(&h, "types/textArray"));
    G(grpc_call(&h, 3, t, len));
    TRUTH(len[0] == 4 && len[1] == 0 && len[2] == 7);
    TRUTH(!strcmp(t[0], "even") && !strcmp(t[1], "odd") && !strcmp(t[2], "even"));
    G(grpc_function_handle_destruct(&h));

    G(grpc_function_handle_default(&h, "types/many"));
    G(grpc_call(&h, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0,
		18.0, 19.0, 20.0, &dsum));
    TRUTH(dsum == 210);
    G(grpc_function_handle_destruct(&h));
}
