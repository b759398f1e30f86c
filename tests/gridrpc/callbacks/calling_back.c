/* Routines that call functions of this program. */
#include <grpc.h>
#include "check.h"

static char *host;
static int asked, sum_of_k;
static grpc_function_handle_t inner;

static grpc_function_handle_t *bound(char *name)
{
    static grpc_function_handle_t handle;
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_init(&handle, host, name));
    return &handle;
}

static void count(int k, int *answer)
{
    asked++;
    sum_of_k += k;
    *answer = k;
}

static void multiply(double left, double right, double *both) { *both = left * right; }

static void fill(int n, double *v)
{
    int k;
    for (k = 0; k < n; k++)
        v[k] = k;
}

static void twice(int n, double *v)
{
    int k;
    for (k = 0; k < n; k++)
        v[k] *= 2;
}

static void last(int n, char **w, char **which) { *which = w[n - 1]; }

static void all(int a0, int a1, int a2, int a3, int a4, int a5, int a6, int a7, int a8, int a9,
    int b0, int b1, int b2, int b3, int b4, int b5, int b6, int b7, int b8, int b9, int c0, int c1,
    int c2, int c3, int c4, int c5, int c6, int c7, int c8, int c9, double d, int *s)
{
    *s = a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9 + b0 + b1 + b2 + b3 + b4 + b5 + b6 + b7 +
         b8 + b9 + c0 + c1 + c2 + c3 + c4 + c5 + c6 + c7 + c8 + c9 + (d == 0.5);
}

static void add(int a, int b, int *c) { *c = a + b; }
static void third(double a, double *c) { *c = a / 3; }

/* Calls another routine, which calls back here. */
static void nested(int k, int *answer)
{
    double a[3] = {1, 2, 3}, result = 0;
    asked++;
    EXPECT(GRPC_NO_ERROR, grpc_call(&inner, 3, a, &result, multiply));
    CHECK(result == 6);
    *answer = k;
}

int main(int argc, char *argv[])
{
    double a[5] = {1, 2, 3, 4, 5}, result = 0;
    grpc_sessionid_t ids[3];
    grpc_function_handle_t handles[3];
    char *word = NULL;
    int sum = 0, k;
    host = argv[2];
    EXPECT(GRPC_NO_ERROR, grpc_initialize(argv[1]));

    EXPECT(GRPC_NO_ERROR, grpc_call(bound("callbacks/each"), 10, count));
    CHECK(asked == 10 && sum_of_k == 45);
    EXPECT(GRPC_NO_ERROR, grpc_call(bound("callbacks/each"), 0, count));
    EXPECT(GRPC_NO_ERROR, grpc_call(bound("callbacks/fold"), 5, a, &result, multiply));
    CHECK(result == 120);
    EXPECT(GRPC_NO_ERROR, grpc_call(bound("callbacks/arrays"), 1000, &result, fill, twice));
    CHECK(result == 999000);
    EXPECT(GRPC_NO_ERROR, grpc_call(bound("callbacks/arrays"), 2000000, &result, fill, twice));
    CHECK(result == 2000000.0 * 1999999.0);
    EXPECT(GRPC_NO_ERROR, grpc_call(bound("callbacks/words"), &word, last));
    CHECK(word && strcmp(word, "gamma") == 0);
    free(word);
    EXPECT(GRPC_NO_ERROR, grpc_call(bound("callbacks/many"), &sum, all));
    CHECK(sum == 436);
    EXPECT(GRPC_NO_ERROR, grpc_call(bound("other/one"), &sum, add));
    CHECK(sum == 42);
    EXPECT(GRPC_NO_ERROR, grpc_call(bound("other/two"), &result, third));
    CHECK(result == 0.5);

    EXPECT(GRPC_NO_ERROR, grpc_function_handle_init(&inner, host, "callbacks/fold"));
    asked = 0;
    EXPECT(GRPC_NO_ERROR, grpc_call(bound("callbacks/each"), 4, nested));
    CHECK(asked == 4);

    /* Several at once, while this program waits for them all, or computes. */
    asked = 0;
    for (k = 0; k < 3; k++) {
        EXPECT(GRPC_NO_ERROR, grpc_function_handle_init(&handles[k], host, "callbacks/each"));
        EXPECT(GRPC_NO_ERROR, grpc_call_async(&handles[k], &ids[k], 5, count));
    }
    EXPECT(GRPC_NO_ERROR, grpc_wait_all());
    CHECK(asked == 15);

    EXPECT(GRPC_NO_ERROR, grpc_finalize());
    return check_summary();
}
