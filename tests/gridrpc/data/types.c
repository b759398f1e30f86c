/* Every type there and back. */
#include <grpc.h>
#include "check.h"

typedef struct { float r, i; } single_complex;
typedef struct { double r, i; } double_complex;

static char *host;

static void bind(grpc_function_handle_t *handle, char *name)
{
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_init(handle, host, name));
}

static void scalars(void)
{
    grpc_function_handle_t h;
    char c = 0;
    short s = 0;
    int i = 0;
    long l = 0;
    float f = 0;
    double d = 0;
    bind(&h, "data/scalars");
    EXPECT(GRPC_NO_ERROR,
        grpc_call(&h, 'a', (short) -300, 70000, 1L << 40, 1.5f, 2.25, &c, &s, &i, &l, &f, &d));
    CHECK(c == 'b' && s == -299 && i == 70001 && l == (1L << 40) + 1 && f == 2.5f && d == 3.25);
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_destruct(&h));
}

static void vectors(void)
{
    grpc_function_handle_t h;
    enum { N = 1000 };
    static char c[N];
    static short s[N];
    static int i[N];
    static long l[N];
    static float f[N];
    static double d[N];
    int k, good = 1;
    for (k = 0; k < N; k++)
        c[k] = 1, s[k] = (short)k, i[k] = k, l[k] = -k, f[k] = (float)k, d[k] = k;
    bind(&h, "data/vectors");
    EXPECT(GRPC_NO_ERROR, grpc_call(&h, (int)N, c, s, i, l, f, d));
    for (k = 0; k < N; k++)
        good = good && c[k] == (char) (1 + k) && s[k] == 0 && i[k] == 2 * k &&
               l[k] == (1L << 40) - k && f[k] == k / 2.0f && d[k] == -k;
    CHECK(good);
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_destruct(&h));
}

static void complexes(void)
{
    grpc_function_handle_t h;
    single_complex s = {1, 2}, os = {0, 0};
    double_complex d = {3, 4}, od = {0, 0}, v[3] = {{1, 1}, {2, -2}, {3, 3}};
    bind(&h, "data/complexes");
    EXPECT(GRPC_NO_ERROR, grpc_call(&h, s, d, &os, &od, 3, v));
    CHECK(os.r == 2 && os.i == 1 && od.r == 4 && od.i == 3);
    CHECK(v[0].i == -1 && v[1].i == 2 && v[2].i == -3 && v[2].r == 3);
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_destruct(&h));
}

static void sizes(void)
{
    grpc_function_handle_t h;
    int a[5] = {1, 2, 3, 4, 5}, b[2] = {10, 20}, n[2] = {5, 2}, sum = 0, sums[2] = {0, 0};
    double x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, total = 0, U[6] = {1, 9, 9, 2, 9, 3};
    double A[2][3] = {{1, 2, 3}, {4, 5, 6}}, B[3][2];
    bind(&h, "data/by_char");
    EXPECT(GRPC_NO_ERROR, grpc_call(&h, (char)5, a, &sum));
    CHECK(sum == 15);
    bind(&h, "data/by_short");
    EXPECT(GRPC_NO_ERROR, grpc_call(&h, (short)4, a, &sum));
    CHECK(sum == 10);
    bind(&h, "data/by_long");
    EXPECT(GRPC_NO_ERROR, grpc_call(&h, 3L, a, &sum));
    CHECK(sum == 6);
    bind(&h, "data/word_order");
    EXPECT(GRPC_NO_ERROR, grpc_call(&h, 8L, x, &total));
    CHECK(total == 36);
    bind(&h, "data/transpose");
    EXPECT(GRPC_NO_ERROR, grpc_call(&h, 2, 3, A, B));
    CHECK(B[0][1] == 4 && B[2][0] == 3 && B[2][1] == 6);
    bind(&h, "data/packed");
    EXPECT(GRPC_NO_ERROR, grpc_call(&h, 3, U, &total));
    CHECK(total == 6);
    bind(&h, "data/by_element");
    EXPECT(GRPC_NO_ERROR, grpc_call(&h, n, a, b, sums));
    CHECK(sums[0] == 15 && sums[1] == 30);
    bind(&h, "data/choice");
    EXPECT(GRPC_NO_ERROR, grpc_call(&h, 1, 4, x, &total));
    CHECK(total == 10);
    EXPECT(GRPC_NO_ERROR, grpc_call(&h, 0, 4, x, &total));
    CHECK(total == 36);
}

static void many(void)
{
    grpc_function_handle_t h;
    double sum = 0;
    bind(&h, "data/many");
    EXPECT(
        GRPC_NO_ERROR, grpc_call(&h, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18,
                           19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 0.5, 0.25f, &sum));
    CHECK(sum == 465.75);
}

int main(int argc, char *argv[])
{
    host = argv[2];
    EXPECT(GRPC_NO_ERROR, grpc_initialize(argv[1]));
    scalars();
    vectors();
    complexes();
    sizes();
    many();
    EXPECT(GRPC_NO_ERROR, grpc_finalize()); /* handles that are left are released */
    return check_summary();
}
