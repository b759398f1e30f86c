/* Solves A x = b by GridRPC, as programs do that know nothing of several servers. */
#include <grpc.h>
#include <math.h>
#include <stdio.h>

int main(void)
{
    double a[] = {4, 1, 1, 3}, b[] = {1, 2};
    int pivots[2], info;
    grpc_function_handle_t handle;
    grpc_error_t code = grpc_initialize(NULL);
    if (code == GRPC_NO_ERROR)
        code = grpc_function_handle_default(&handle, "lapack/dgesv");
    if (code == GRPC_NO_ERROR)
        code = grpc_call(&handle, 2, 1, a, 2, pivots, b, 2, &info);
    if (code != GRPC_NO_ERROR) {
        fprintf(stderr, "gridrpc: %s\n", grpc_error_string(code));
        return 1;
    }
    grpc_function_handle_destruct(&handle);
    grpc_finalize();
    return fabs(b[0] - 1.0 / 11) < 1e-12 && fabs(b[1] - 7.0 / 11) < 1e-12 ? 0 : 1;
}
