/* Ranges, strides, work arrays, arrays without elements. */
#include <grpc.h>
#include "check.h"

int main(int argc, char *argv[])
{
    grpc_function_handle_t h;
    double a[3][5], b[4] = {1, 2, 3, 4}, c[4];
    int v[10], i, j, sum = 0, is_null = 0;
    char *host = argv[2];
    EXPECT(GRPC_NO_ERROR, grpc_initialize(argv[1]));

    for (i = 0; i < 3; i++)
        for (j = 0; j < 5; j++)
            a[i][j] = 10 * i + j;
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_init(&h, host, "data/leading"));
    EXPECT(GRPC_NO_ERROR, grpc_call(&h, 5, 3, a));
    for (i = 0; i < 3; i++)
        for (j = 0; j < 5; j++)
            CHECK(a[i][j] == 10 * i + j + (j < 3 ? 100 : 0));

    for (i = 0; i < 10; i++)
        v[i] = i;
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_init(&h, host, "data/window"));
    EXPECT(GRPC_NO_ERROR, grpc_call(&h, 10, 3, 6, v));
    for (i = 0; i < 10; i++)
        CHECK(v[i] == (i >= 3 && i < 6 ? -i : i));
    CHECK(grpc_call(&h, 10, 6, 3, v) != GRPC_NO_ERROR);  /* it ends before it begins */
    CHECK(grpc_call(&h, 10, 3, 11, v) != GRPC_NO_ERROR); /* and beyond the array */

    for (i = 0; i < 10; i++)
        v[i] = -1;
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_init(&h, host, "data/found"));
    EXPECT(GRPC_NO_ERROR, grpc_call(&h, 10, 4, &sum, v));
    for (i = 0; i < 10; i++)
        CHECK(v[i] == (i >= 4 && i < 6 ? i : -1));

    for (i = 0; i < 10; i++)
        v[i] = i;
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_init(&h, host, "data/strided"));
    EXPECT(GRPC_NO_ERROR, grpc_call(&h, 10, 3, v, &sum));
    CHECK(sum == 0 + 3 + 6 + 9);
    for (i = 0; i < 10; i++)
        CHECK(v[i] == (i % 3 == 0 ? 1000 + i : i));

    EXPECT(GRPC_NO_ERROR, grpc_function_handle_init(&h, host, "data/work"));
    EXPECT(
        GRPC_NO_ERROR, grpc_call(&h, 4, b, NULL, c)); /* the work array has a place in the list */
    CHECK(c[0] == 16 && c[3] == 1);

    EXPECT(GRPC_NO_ERROR, grpc_function_handle_init(&h, host, "data/in_cpp"));
    EXPECT(GRPC_NO_ERROR, grpc_call(&h, 21, &sum));
    CHECK(sum == 42);

    EXPECT(GRPC_NO_ERROR, grpc_function_handle_init(&h, host, "data/empty"));
    EXPECT(GRPC_NO_ERROR, grpc_call(&h, 0, b, &is_null));
    CHECK(is_null == 1);
    is_null = 0;
    EXPECT(GRPC_NO_ERROR, grpc_call(&h, 0, NULL, &is_null));
    CHECK(is_null == 1);
    EXPECT(GRPC_NO_ERROR, grpc_call(&h, 1, b, &is_null));
    CHECK(is_null == 0);

    EXPECT(GRPC_NO_ERROR, grpc_finalize());
    return check_summary();
}
