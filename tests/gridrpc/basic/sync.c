/* Blocking calls through handles of both kinds. */
#include <grpc.h>
#include "check.h"

static void call_add(grpc_function_handle_t *handle)
{
    int a, sum;
    for (a = -3; a <= 3; a++) {
        sum = 99;
        EXPECT(GRPC_NO_ERROR, grpc_call(handle, a, 40, &sum));
        CHECK(sum == a + 40);
    }
}

static void multiply(char *host)
{
    grpc_function_handle_t handle;
    int n = 17, i, j;
    double *A = malloc(n * n * sizeof *A), *B = malloc(n * n * sizeof *B),
           *C = calloc(n * n, sizeof *C);
    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++) {
            A[i * n + j] = i + j;
            B[i * n + j] = i == j;
        }
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_init(&handle, host, "basic/mmul"));
    EXPECT(GRPC_NO_ERROR, grpc_call(&handle, n, A, B, C));
    CHECK(memcmp(A, C, n * n * sizeof *A) == 0);
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_destruct(&handle));
    free(A);
    free(B);
    free(C);
}

static void pi(void)
{
    grpc_function_handle_t handle;
    long times = 200000, count = 0;
    double pi;
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_default(&handle, "basic/pi_trial"));
    EXPECT(GRPC_NO_ERROR, grpc_call(&handle, 10, times, &count));
    pi = 4.0 * (double)count / (double)times;
    CHECK(pi > 3.10 && pi < 3.18);
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_destruct(&handle));
}

static void promotions(char *host)
{
    grpc_function_handle_t handle;
    float x = 1.25f;
    double y = 0;
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_init(&handle, host, "basic/scaled"));
    EXPECT(GRPC_NO_ERROR, grpc_call(&handle, x, &y)); /* a float goes as a double */
    CHECK(y == 2.5);
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_destruct(&handle));
}

int main(int argc, char *argv[])
{
    grpc_function_handle_t by_name, by_default, copy;
    if (argc < 3) {
        fprintf(stderr, "Usage: %s CONFIG HOST\n", argv[0]);
        exit(2);
    }
    EXPECT(GRPC_NO_ERROR, grpc_initialize(argv[1]));
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_init(&by_name, argv[2], "basic/add"));
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_default(&by_default, "basic/add"));
    call_add(&by_name);
    call_add(&by_default);
    memcpy(&copy, &by_name, sizeof copy); /* programs keep handles in structures of their own */
    call_add(&copy);
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_destruct(&by_name));
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_destruct(&by_default));
    multiply(argv[2]);
    pi();
    promotions(argv[2]);
    EXPECT(GRPC_NO_ERROR, grpc_finalize());
    return check_summary();
}
