/* Arguments that cannot be right are refused, and say so; the next call is fine. */
#include <grpc.h>
#include "check.h"

int main(int argc, char *argv[])
{
    grpc_function_handle_t h;
    double a[4] = {1, 2, 3, 4}, sum = 0;
    EXPECT(GRPC_NO_ERROR, grpc_initialize(argv[1]));
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_init(&h, argv[2], "data/word_order"));
    CHECK(grpc_call(&h, -1L, a, &sum) != GRPC_NO_ERROR);          /* a negative size */
    CHECK(grpc_call(&h, 4611686018427387904L, a, &sum) != GRPC_NO_ERROR); /* one that overflows */
    CHECK(
        grpc_call(&h, 4L, NULL, &sum) != GRPC_NO_ERROR); /* nothing where four elements should be */
    CHECK(grpc_call(&h, 4L, a) != GRPC_NO_ERROR);                 /* too few arguments */
    CHECK(grpc_call(&h, 4L, a, &sum, 5) == GRPC_NO_ERROR);        /* more than enough */
    EXPECT(GRPC_NO_ERROR, grpc_call(&h, 4L, a, &sum));
    CHECK(sum == 10);
    EXPECT(GRPC_NO_ERROR, grpc_finalize());
    return check_summary();
}
