/* Remote objects, and arrays of handles and objects. */
#include <grpc.h>
#include "check.h"

#define MANY 8

static void one_object(char *host)
{
    grpc_object_handle_t_np object;
    grpc_sessionid_t ids[3];
    int n = 0, begun = 0;
    EXPECT(GRPC_NO_ERROR, grpc_object_handle_init_np(&object, host, "objects/counter"));
    EXPECT(GRPC_NO_ERROR, grpc_invoke_np(&object, "get", &n, &begun));
    CHECK(n == 100 && begun == 1);
    EXPECT(GRPC_NO_ERROR, grpc_invoke_np(&object, "add", 5));
    EXPECT(GRPC_NO_ERROR, grpc_invoke_np(&object, "get", &n, &begun));
    CHECK(n == 105);
    EXPECT(GRPC_NO_ERROR, grpc_invoke_async_np(&object, "nap", &ids[0], 0.2));
    EXPECT(GRPC_NO_ERROR, grpc_invoke_async_np(&object, "add", &ids[1], 1));
    EXPECT(GRPC_NO_ERROR, grpc_invoke_async_np(&object, "get", &ids[2], &n, &begun));
    EXPECT(GRPC_NO_ERROR, grpc_wait_and(ids, 3));
    CHECK(n == 106); /* in the order of the calls */
    CHECK(grpc_invoke_np(&object, "no_such_method") != GRPC_NO_ERROR);
    EXPECT(GRPC_NO_ERROR, grpc_object_handle_destruct_np(&object));
    EXPECT(GRPC_INVALID_OBJECT_HANDLE_NP, grpc_object_handle_destruct_np(&object));
    EXPECT(GRPC_INVALID_OBJECT_HANDLE_NP, grpc_invoke_np(&object, "add", 5));
    EXPECT(GRPC_CLASS_NOT_FOUND_NP, grpc_object_handle_init_np(&object, host, "objects/nothing"));
}

static void two_of_a_class(void)
{
    grpc_object_handle_t_np a, b;
    int n = 0, begun, pa = 0, pb = 0;
    EXPECT(GRPC_NO_ERROR, grpc_object_handle_default_np(&a, "objects/counter"));
    EXPECT(GRPC_NO_ERROR, grpc_object_handle_default_np(&b, "objects/counter"));
    EXPECT(GRPC_NO_ERROR, grpc_invoke_np(&a, "add", 1));
    EXPECT(GRPC_NO_ERROR, grpc_invoke_np(&b, "get", &n, &begun));
    CHECK(n == 100);
    EXPECT(GRPC_NO_ERROR, grpc_invoke_np(&a, "pid", &pa));
    EXPECT(GRPC_NO_ERROR, grpc_invoke_np(&b, "pid", &pb));
    CHECK(pa != pb);
    CHECK(grpc_invoke_np(&a, "quits") != GRPC_NO_ERROR);
    CHECK(grpc_invoke_np(&a, "get", &n, &begun) != GRPC_NO_ERROR); /* it is gone for good */
    EXPECT(GRPC_NO_ERROR, grpc_invoke_np(&b, "get", &n, &begun));  /* the other goes on */
    grpc_object_handle_destruct_np(&a);
    EXPECT(GRPC_NO_ERROR, grpc_object_handle_destruct_np(&b));
}

static void heat(char *host)
{
    grpc_object_handle_t_np object;
    double t[5] = {100, 0, 0, 0, 0}, now[5] = {0, 0, 0, 0, 0};
    EXPECT(GRPC_NO_ERROR, grpc_object_handle_init_np(&object, host, "objects/heat"));
    EXPECT(GRPC_NO_ERROR, grpc_invoke_np(&object, "initialize", 5, t));
    EXPECT(GRPC_NO_ERROR, grpc_invoke_np(&object, "step", 1));
    EXPECT(GRPC_NO_ERROR, grpc_invoke_np(&object, "temperature", 5, now));
    CHECK(now[0] == 100 && now[1] == 25 && now[2] == 0);
    EXPECT(GRPC_NO_ERROR, grpc_invoke_np(&object, "step", 2000));
    EXPECT(GRPC_NO_ERROR, grpc_invoke_np(&object, "temperature", 5, now));
    CHECK(now[2] > 49.9 && now[2] < 50.1);
    EXPECT(GRPC_NO_ERROR, grpc_invoke_np(&object, "finalize"));
    EXPECT(GRPC_NO_ERROR, grpc_object_handle_destruct_np(&object));
}

static void arrays(char *host)
{
    grpc_object_handle_t_np objects[MANY];
    grpc_function_handle_t handles[MANY];
    grpc_sessionid_t ids[MANY];
    int k, n[MANY], begun[MANY], b;
    EXPECT(GRPC_NO_ERROR, grpc_object_handle_array_init_np(objects, MANY, host, "objects/counter"));
    for (k = 0; k < MANY; k++)
        EXPECT(GRPC_NO_ERROR, grpc_invoke_async_np(&objects[k], "add", &ids[k], k));
    EXPECT(GRPC_NO_ERROR, grpc_wait_all());
    for (k = 0; k < MANY; k++)
        EXPECT(GRPC_NO_ERROR, grpc_invoke_async_np(&objects[k], "get", &ids[k], &n[k], &begun[k]));
    EXPECT(GRPC_NO_ERROR, grpc_wait_all());
    for (k = 0; k < MANY; k++) {
        CHECK(n[k] == 100 + k);
        EXPECT(GRPC_NO_ERROR, grpc_object_handle_is_ready_np(&objects[k]));
    }
    EXPECT(GRPC_NO_ERROR, grpc_object_handle_array_destruct_np(objects, MANY));

    /* Each handle of an array is a process: its static variables live on. */
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_array_default_np(handles, MANY, "objects/plain"));
    for (k = 0; k < MANY; k++) {
        EXPECT(GRPC_NO_ERROR, grpc_call(&handles[k], 10, &b));
        CHECK(b == 10);
        EXPECT(GRPC_NO_ERROR, grpc_call(&handles[k], 10, &b));
        CHECK(b == 11);
    }
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_array_destruct_np(handles, MANY));
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_array_init_np(handles, MANY, host, "objects/plain"));
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_array_destruct_np(handles, MANY));
}

int main(int argc, char *argv[])
{
    EXPECT(GRPC_NO_ERROR, grpc_initialize(argv[1]));
    one_object(argv[2]);
    two_of_a_class();
    heat(argv[2]);
    arrays(argv[2]);
    EXPECT(GRPC_NO_ERROR, grpc_finalize());
    return check_summary();
}
