/* Calls inside of calls, and calls that wait for each other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <grpc.h>
#include "check.h"

#define MANY 9

static void calls_inside_calls(char *config, char *host)
{
    grpc_function_handle_t squares, deeper;
    int total = 0, code = -1, reached = -1, again;
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_init(&squares, host, "cascade/squares"));
    for (again = 0; again < 3; again++) {
        EXPECT(GRPC_NO_ERROR, grpc_call(&squares, config, host, 10, &total, &code));
        CHECK(code == GRPC_NO_ERROR && total == 385);
    }
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_destruct(&squares));
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_default(&deeper, "cascade/deeper"));
    EXPECT(GRPC_NO_ERROR, grpc_call(&deeper, config, host, 3, &reached));
    CHECK(reached == 0);
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_destruct(&deeper));
}

static void a_handle_is_a_process(char *host)
{
    grpc_function_handle_t a, b;
    int calls = 0;
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_init(&a, host, "cascade/count"));
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_init(&b, host, "cascade/count"));
    EXPECT(GRPC_NO_ERROR, grpc_call(&a, &calls));
    EXPECT(GRPC_NO_ERROR, grpc_call(&a, &calls));
    CHECK(calls == 2);
    EXPECT(GRPC_NO_ERROR, grpc_call(&b, &calls));
    CHECK(calls == 1);
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_destruct(&a));
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_destruct(&b));
}

/* They end only if all of them run at the same time. */
static void all_meet(grpc_function_handle_t *handles)
{
    char folder[] = "/tmp/meet-XXXXXX", path[100];
    int k;
    grpc_sessionid_t ids[MANY];
    CHECK(mkdtemp(folder) != NULL);
    for (k = 0; k < MANY; k++)
        EXPECT(GRPC_NO_ERROR, grpc_call_async(&handles[k], &ids[k], folder, k, MANY));
    EXPECT(GRPC_NO_ERROR, grpc_wait_all());
    for (k = 0; k < MANY; k++) {
        snprintf(path, sizeof path, "%s/%d.here", folder, k);
        CHECK(unlink(path) == 0);
        EXPECT(GRPC_NO_ERROR, grpc_function_handle_destruct(&handles[k]));
    }
    rmdir(folder);
}

int main(int argc, char **argv)
{
    grpc_function_handle_t handles[MANY];
    char config[4096];
    int k;
    if (argc < 3 || realpath(argv[1], config) == NULL || chdir("/") != 0) return 2;
    EXPECT(GRPC_NO_ERROR, grpc_initialize(config));
    calls_inside_calls(config, argv[2]);
    a_handle_is_a_process(argv[2]);
    for (k = 0; k < MANY; k++)
        EXPECT(GRPC_NO_ERROR, grpc_function_handle_init(&handles[k], argv[2], "cascade/meet"));
    all_meet(handles);
    for (k = 0; k < MANY; k++)
        EXPECT(GRPC_NO_ERROR, grpc_function_handle_default(&handles[k], "cascade/meet"));
    all_meet(handles);
    EXPECT(GRPC_NO_ERROR, grpc_finalize());
    return check_summary();
}
