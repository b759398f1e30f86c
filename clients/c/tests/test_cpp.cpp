/* The native call from C++: templates instead of _Generic. */
#include <vector>

#include "check.h"

static void calls(farcall_client *client)
{
    std::vector<double> a{4, 1, 1, 3}, b{1, 2};
    std::vector<int> ipiv(2);
    int info = 99;
    farcall_error *error;
    CHECK_OK(farcall_call(client, &error, "lapack/dgesv", 2, 1, a.data(), 2, ipiv.data(), b.data(), 2, &info), error);
    CHECK(info == 0 && b[1] > 7 / 11.0 - 1e-12 && b[1] < 7 / 11.0 + 1e-12);
    const std::vector<std::complex<double>> z{{1, 2}, {3, -1}};
    std::complex<double> dot;
    CHECK_OK(farcall_call(client, &error, "zdotu", 2, z.data(), 1, z.data(), 1, &dot), error);
    CHECK(dot == std::complex<double>(5, -2));
    double seen[11];
    CHECK_OK(farcall_call(client, &error, "kinds", 'A', short(-2), -3, -4L, 1UL << 62, 0.25f, 1e300,
                          std::complex<float>(1, 2), std::complex<double>(3, 4), seen), error);
    CHECK(seen[0] == 65 && seen[4] == 0x1p62 && seen[5] == 0.25 && seen[8] == 2 && seen[9] == 3);
    char *greeting = nullptr;
    CHECK_OK(farcall_call(client, &error, "greet", nullptr, &greeting), error);
    CHECK(greeting && strcmp(greeting, "hello, nobody") == 0);
    free(greeting);
    double matrix[2][3] = {{1, 2, 3}, {4, 5, 6}}, transposed[3][2];
    CHECK_OK(farcall_call(client, &error, "transpose", 2, 3, matrix, transposed), error);
    CHECK(transposed[0][1] == 4 && transposed[2][1] == 6);
    CHECK_OK(farcall_call(client, &error, "nothing"), error);
}

static void mistakes(farcall_client *client)
{
    float a[4] = {4, 1, 1, 3};
    const double fixed[2] = {1, 2};
    double b[2] = {1, 2};
    int ipiv[2], info;
    farcall_error *error;
    CHECK_ERROR(farcall_call(client, &error, "dgesv", 2, 1, a, 2, ipiv, b, 2, &info), error, FARCALL_INVALID_ARGUMENT,
                "argument 3 (a) is float *");
    CHECK_ERROR(farcall_call(client, &error, "dgesv", 2, 1), error, FARCALL_INVALID_ARGUMENT,
                "takes 8 arguments, not 2");
    CHECK_ERROR(farcall_call(client, &error, "dgesv", 2, 1, b, 2, ipiv, fixed, 2, &info), error,
                FARCALL_INVALID_ARGUMENT, "not const");
    /* NULL is a number in C++; nullptr is not. */
    CHECK_ERROR(farcall_call(client, &error, "dgesv", 2, 1, b, 2, 0, b, 2, &info), error, FARCALL_INVALID_ARGUMENT,
                "argument 5 (ipiv) is int");
}

static void pending(farcall_client *client)
{
    double sum = 0;
    farcall_call *call;
    farcall_error *error;
    CHECK_OK(farcall_start_call(client, &error, &call, "add", 1, 2.0, &sum), error);
    CHECK_OK(farcall_call_wait(call, -1, nullptr, &error), error);
    CHECK(sum == 3);
    farcall_call_free(call);
}

int main()
{
    farcall_client *client;
    farcall_server *server = check_begin(&client);
    calls(client);
    mistakes(client);
    pending(client);
    return check_end(server, client);
}
