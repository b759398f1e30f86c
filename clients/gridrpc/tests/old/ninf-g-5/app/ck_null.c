/* ck_null.c: null arguments */
#include "ck.h"

int main(int argc, char **argv)
{
    grpc_function_handle_t *h, no;
    double x[2] = { 1, 2 };
    long y[2] = { 3, 4 };
    int which[4];

    ck_begin(argc, argv);
    h = ck_handle("nothing");
    OK(grpc_call(h, NULL, NULL, 0, NULL, NULL, which));
    ASSERT(which[0] == 1 && which[1] == 1 && which[2] == 1 && which[3] == 1);
    OK(grpc_call(h, "", "", 2, x, y, which));
    ASSERT(which[0] == 0 && which[1] == 0 && which[2] == 0 && which[3] == 0);
    OK(grpc_call(h, "text", NULL, 0, x, y, which));
    ASSERT(which[0] == 0 && which[1] == 1 && which[2] == 1 && which[3] == 1);
    ck_release(h);

    FAILS(grpc_function_handle_default(&no, "check/nobody"), GRPC_FUNCTION_NOT_FOUND);
    FAILS(grpc_function_handle_init(&no, "no-such-host.invalid", "check/nothing"), GRPC_SERVER_NOT_FOUND);
    return ck_end();
}
