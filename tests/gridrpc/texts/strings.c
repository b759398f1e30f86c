/* Strings in and out, NULL and empty ones, arrays of them. */
#include <grpc.h>
#include "check.h"

static char *host;

static grpc_function_handle_t *bound(char *name)
{
    static grpc_function_handle_t handle;
    EXPECT(GRPC_NO_ERROR, grpc_function_handle_init(&handle, host, name));
    return &handle;
}

int main(int argc, char *argv[])
{
    char *out = NULL, *second = NULL, *words[3] = {"one", NULL, ""},
         *letters[3] = {NULL, NULL, NULL};
    char *pairs[2][2] = {{"a", "b"}, {NULL, "d"}};
    char *big = malloc(500001);
    int n = 0, at[2] = {2, 3};
    short counts[1] = {2};
    host = argv[2];
    EXPECT(GRPC_NO_ERROR, grpc_initialize(argv[1]));

    EXPECT(GRPC_NO_ERROR, grpc_call(bound("texts/length"), "four", &n));
    CHECK(n == 4);
    EXPECT(GRPC_NO_ERROR, grpc_call(bound("texts/length"), "", &n));
    CHECK(n == 0);
    EXPECT(GRPC_NO_ERROR, grpc_call(bound("texts/length"), (char *)NULL, &n));
    CHECK(n == -1);
    memset(big, 'y', 500000);
    big[500000] = 0;
    EXPECT(GRPC_NO_ERROR, grpc_call(bound("texts/length"), big, &n));
    CHECK(n == 500000);

    EXPECT(GRPC_NO_ERROR, grpc_call(bound("texts/shout"), "quiet please", &out));
    CHECK(out && strcmp(out, "QUIET PLEASE") == 0);
    free(out);
    EXPECT(GRPC_NO_ERROR, grpc_call(bound("texts/alias"), "itself", &out));
    CHECK(out && strcmp(out, "itself") == 0);
    free(out);
    EXPECT(GRPC_NO_ERROR, grpc_call(bound("texts/made"), 1000000, &out));
    CHECK(out && strlen(out) == 1000000 && out[999999] == 'x');
    free(out);
    out = big;
    EXPECT(GRPC_NO_ERROR, grpc_call(bound("texts/nothing"), &out));
    CHECK(out == NULL);

    EXPECT(GRPC_NO_ERROR, grpc_call(bound("texts/two"), "a", "b", &out, &second));
    CHECK(out && second && strcmp(out, "b") == 0 && strcmp(second, "a") == 0);
    free(out);
    free(second);

    EXPECT(GRPC_NO_ERROR, grpc_call(bound("texts/join"), 3, words, &out));
    CHECK(out && strcmp(out, "one (null) ") == 0);
    free(out);
    EXPECT(GRPC_NO_ERROR, grpc_call(bound("texts/pick"), words, at, counts, &out));
    CHECK(out && strcmp(out, "") == 0);
    free(out);
    EXPECT(GRPC_NO_ERROR, grpc_call(bound("texts/last"), words, &out));
    CHECK(out && strcmp(out, "") == 0);
    free(out);
    EXPECT(GRPC_NO_ERROR, grpc_call(bound("texts/split"), "xyz", 3, letters));
    CHECK(letters[0] && letters[2] && strcmp(letters[0], "x") == 0 && strcmp(letters[2], "z") == 0);
    for (n = 0; n < 3; n++)
        free(letters[n]);
    EXPECT(GRPC_NO_ERROR, grpc_call(bound("texts/swap"), 2, pairs, letters));
    CHECK(strcmp(pairs[0][0], "b") == 0 && strcmp(pairs[0][1], "a") == 0 &&
          strcmp(pairs[1][0], "d") == 0 && !pairs[1][1]);
    CHECK(letters[0] && strcmp(letters[0], "a") == 0 && letters[1] == NULL);

    EXPECT(GRPC_NO_ERROR, grpc_finalize());
    free(big);
    return check_summary();
}
