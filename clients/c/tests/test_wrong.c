/* Mistakes of callers: each is an error that says what and where, and none ends the program. */
#include "check.h"

#include <unistd.h>

static void counts(farcall_client *client)
{
    double a[4] = {1, 0, 0, 1}, b[2] = {1, 1};
    int ipiv[2], info;
    farcall_error *error;
    CHECK_ERROR(farcall_call(client, &error, "dgesv", 2, 1, a, 2, ipiv, b, 2), error,
        FARCALL_INVALID_ARGUMENT, "lapack/dgesv takes 8 arguments, not 7");
    CHECK_ERROR(farcall_call(client, &error, "dgesv", 2, 1, a, 2, ipiv, b, 2, &info, 0), error,
                FARCALL_INVALID_ARGUMENT,
                "pass n, nrhs, a, lda, ipiv, b, ldb, info");
    CHECK_ERROR(farcall_call(client, &error, "nothing", 1), error, FARCALL_INVALID_ARGUMENT,
                "takes 0 arguments, not 1");
    CHECK_ERROR(farcall_call(client, &error, "dgesv"), error, FARCALL_INVALID_ARGUMENT, "not 0");
}

static void types(farcall_client *client)
{
    double a[4] = {1, 0, 0, 1}, b[2] = {1, 1}, sum;
    const double fixed[2] = {1, 1};
    float single[4] = {1, 0, 0, 1};
    int ipiv[2], info;
    unsigned natural[2];
    char *text = NULL;
    FILE *stream = stdout;
    farcall_error *error;
    /* Half the bytes that the routine reads and writes. */
    CHECK_ERROR(farcall_call(client, &error, "dgesv", 2, 1, single, 2, ipiv, b, 2, &info), error,
        FARCALL_INVALID_ARGUMENT, "argument 3 (a) is float *, the interface wants double *");
    /* A number where an address is wanted, and the other way round: each would crash a local call.
       */
    CHECK_ERROR(farcall_call(client, &error, "dgesv", 2, 1, a, 2, ipiv, b, 2, info = 0), error,
                FARCALL_INVALID_ARGUMENT, "argument 8 (info) is int, the interface wants int *");
    CHECK_ERROR(farcall_call(client, &error, "dgesv", &info, 1, a, 2, ipiv, b, 2, &info), error,
                FARCALL_INVALID_ARGUMENT, "argument 1 (n) is int *, the interface wants int");
    CHECK_ERROR(farcall_call(client, &error, "dgesv", 2, 1, a, 2, natural, b, 2, &info), error,
                FARCALL_INVALID_ARGUMENT, "argument 5 (ipiv) is unsigned int *");
    /* Memory that the routine would write to. */
    CHECK_ERROR(farcall_call(client, &error, "dgesv", 2, 1, a, 2, ipiv, fixed, 2, &info), error,
                FARCALL_INVALID_ARGUMENT, "pass memory that is not const");
    /* A fraction would be lost. */
    CHECK_ERROR(farcall_call(client, &error, "add", 2.5, 1.0, &sum), error,
        FARCALL_INVALID_ARGUMENT, "argument 1 (a) is double, the interface wants int");
    CHECK_ERROR(farcall_call(client, &error, "add", 1, 1.0, stream), error,
        FARCALL_INVALID_ARGUMENT, "argument 3 (sum) is a pointer to something else");
    CHECK_ERROR(farcall_call(client, &error, "greet", "x", text), error, FARCALL_INVALID_ARGUMENT,
                "argument 2 (greeting) is char *, the interface wants char **");
    CHECK_ERROR(farcall_call(client, &error, "dlange", "F", 1, 1, a, 1, &sum), error,
        FARCALL_INVALID_ARGUMENT, "'N', not \"N\"");
}

static void values(farcall_client *client)
{
    double a[4] = {1, 0, 0, 1}, b[2] = {1, 1}, sum;
    int ipiv[2], info;
    farcall_error *error;
    CHECK_ERROR(farcall_call(client, &error, "add", 1L << 40, 1.0, &sum), error,
        FARCALL_INVALID_ARGUMENT, "1099511627776");
    CHECK_ERROR(farcall_call(client, &error, "add", ~0UL, 1.0, &sum), error,
        FARCALL_INVALID_ARGUMENT, "18446744073709551615 does not fit int");
    /* A whole number that a double does not hold would be another one. */
    CHECK_ERROR(farcall_call(client, &error, "add", 1, (1L << 53) + 1, &sum), error,
        FARCALL_INVALID_ARGUMENT, "9007199254740993 cannot be represented exactly as double");
    CHECK_ERROR(farcall_call(client, &error, "add", 1, ~0UL, &sum), error, FARCALL_INVALID_ARGUMENT,
                "18446744073709551615 cannot be represented exactly as double");
    CHECK_OK(farcall_call(client, &error, "add", 1, 1UL << 63, &sum), error);
    CHECK(sum == 0x1p63 + 1);
    /* A negative extent, and a leading dimension too short for its rows. */
    CHECK_ERROR(farcall_call(client, &error, "dgesv", -2, 1, a, 2, ipiv, b, 2, &info), error,
        FARCALL_INVALID_ARGUMENT, "-2");
    CHECK_ERROR(farcall_call(client, &error, "dgesv", 2, 1, a, 1, ipiv, b, 2, &info), error,
        FARCALL_INVALID_ARGUMENT, "a");
}

/* NULL for an array with elements would end the routine by a signal. */
static void null_arrays(farcall_client *client)
{
    double b[2] = {1, 1};
    float x[1] = {1};
    int ipiv[2], info = 9;
    farcall_error *error;
    CHECK_ERROR(farcall_call(client, &error, "doubled", 3, NULL), error, FARCALL_INVALID_ARGUMENT,
                "argument 2 (x) is NULL");
    CHECK_ERROR(farcall_call(client, &error, "dgesv", 2, 1, NULL, 2, ipiv, b, 2, &info), error,
                FARCALL_INVALID_ARGUMENT, "argument 3 (a) is NULL");
    CHECK_OK(farcall_call(client, &error, "doubled", 0, NULL), error); /* no elements */
    CHECK_OK(farcall_call(client, &error, "dgesv", 0, 1, NULL, 1, ipiv, NULL, 1, &info), error);
    CHECK(info == 0);
    CHECK_OK(
        farcall_call(client, &error, "count", 3, NULL), error); /* a result that is not wanted */
    CHECK_OK(farcall_call(client, &error, "doubled", 1, x), error);
    CHECK(x[0] == 2);
}

/* Strides that no memory has: refused, in whatever way they would overflow. */
static void strides(farcall_client *client)
{
    const uint64_t shape[2] = {3, 3};
    const int64_t wild[] = {INT64_MIN, INT64_MIN / 2, INT64_MAX, INT64_MAX / 2 + 1};
    float x[3] = {1, 2, 3};
    farcall_argument arguments[2] = {{0}, {0}};
    farcall_routine *routine;
    farcall_error *error;
    CHECK_OK(farcall_lookup(client, "doubled", &routine, &error), error);
    arguments[0].kind = FARCALL_INTEGER;
    arguments[0].value.integer = 3;
    arguments[1].kind = FARCALL_ARRAY;
    arguments[1].data = x;
    arguments[1].rank = 1;
    arguments[1].shape = shape;
    for (size_t index = 0; index < sizeof wild / sizeof *wild; index++) {
        arguments[1].strides = &wild[index];
        CHECK_ERROR(farcall_call_arguments(routine, arguments, 2, NULL, NULL, &error), error,
                    FARCALL_INVALID_ARGUMENT, "impossible strides");
    }
    CHECK(x[0] == 1 && x[2] == 3);
    farcall_routine_free(routine);
}

static void names(farcall_client *client)
{
    farcall_error *error;
    farcall_routine *routine = (farcall_routine *)&error;
    CHECK_ERROR(farcall_call(client, &error, "lapack/dgesw", 1), error, FARCALL_NOT_FOUND, "dgesv");
    CHECK_ERROR(farcall_lookup(client, "no \xff text", &routine, &error), error,
        FARCALL_INVALID_ARGUMENT, "is not UTF-8");
    CHECK(routine == NULL);
    CHECK_ERROR(farcall_lookup(client, NULL, &routine, &error), error, FARCALL_INVALID_ARGUMENT,
        "name is NULL");
    CHECK_ERROR(farcall_lookup(client, "", &routine, &error), error, FARCALL_NOT_FOUND, "");
    CHECK_ERROR(farcall_lookup(NULL, "dgesv", &routine, &error), error, FARCALL_INVALID_ARGUMENT,
        "client is NULL");
    CHECK(farcall_call(client, NULL, "dgesw") ==
          FARCALL_NOT_FOUND); /* nobody wants the error object */
}

static void addresses(void)
{
    farcall_client *client;
    farcall_error *error;
    farcall_connect_options options = {.address = "unix:/nowhere"};
    CHECK_ERROR(
        farcall_connect("nonsense", &client, &error), error, FARCALL_INVALID_ARGUMENT, "unix:PATH");
    CHECK_ERROR(farcall_connect("unix:/nowhere/at/all", &client, &error), error,
        FARCALL_UNREACHABLE, "/nowhere/at/all");
    CHECK_ERROR(farcall_connect_with(&options, &client, &error), error, FARCALL_INVALID_ARGUMENT,
        "size is not set");
    options.size = sizeof options;
    options.timeout_seconds = -1;
    CHECK_ERROR(farcall_connect_with(&options, &client, &error), error, FARCALL_INVALID_ARGUMENT,
        "the timeout is negative");
    options.timeout_seconds = 1;
    CHECK_ERROR(
        farcall_connect_with(&options, &client, &error), error, FARCALL_UNREACHABLE, "/nowhere");
    CHECK_ERROR(farcall_connect("x", NULL, &error), error, FARCALL_INVALID_ARGUMENT, "is NULL");
}

static void servers(void)
{
    static const char *const missing[] = {"/nowhere.idl"};
    farcall_server_options options = {sizeof options, "/nowhere/farcall", NULL, 0, NULL, 0, 0};
    farcall_server *server;
    farcall_error *error;
    CHECK_ERROR(farcall_server_start(&options, &server, &error), error, FARCALL_UNAVAILABLE,
        "/nowhere/farcall");
    options.program = NULL;
    options.files = missing;
    options.file_count = 1;
    CHECK_ERROR(farcall_server_start(&options, &server, &error), error, FARCALL_UNAVAILABLE,
        "/nowhere.idl");
    CHECK(server == NULL);
    options.timeout_seconds = -1;
    CHECK_ERROR(farcall_server_start(&options, &server, &error), error, FARCALL_INVALID_ARGUMENT,
        "the timeout is negative");
}

/* NULL for every object: no crash. */
static void nulls(void)
{
    farcall_error *error;
    farcall_results *results;
    farcall_array_view view;
    CHECK(farcall_error_kind(NULL) == 0 && farcall_error_message(NULL) &&
          !farcall_error_advice(NULL));
    CHECK(!farcall_routine_name(NULL) && !farcall_routine_json(NULL) &&
          farcall_routine_find(NULL, "n") == -1);
    CHECK(farcall_events(NULL) == -1 && farcall_call_number(NULL) == 0 && !farcall_address(NULL));
    CHECK(farcall_results_kind(NULL, 0) == 0 && !farcall_results_text(NULL, 0, 0, NULL));
    CHECK_ERROR(farcall_call_wait(NULL, 0, &results, &error), error, FARCALL_INVALID_ARGUMENT,
        "call is NULL");
    CHECK_ERROR(
        farcall_results_array(NULL, 0, &view, &error), error, FARCALL_INVALID_ARGUMENT, "NULL");
    CHECK_ERROR(
        farcall_call_tagged(NULL, &error, NULL, 0), error, FARCALL_INVALID_ARGUMENT, "NULL");
    farcall_error_free(NULL);
    farcall_disconnect(NULL);
    farcall_server_stop(NULL);
    farcall_routine_free(NULL);
    farcall_call_free(NULL);
    farcall_results_free(NULL);
    farcall_memory_free(NULL);
    farcall_text_free(NULL);
    farcall_place_clear(NULL);
}

static int freed;

static void count(void *object)
{
    freed += object == &freed;
}

static void clears_places(void)
{
    farcall_place place = {NULL, count, getpid()};
    farcall_place_clear(&place);
    CHECK(freed == 0);
    place.object = &freed;
    farcall_place_clear(&place);
    CHECK(freed == 1 && place.object == NULL);
    farcall_place_clear(&place);
    CHECK(freed == 1);
    /* Of another process, such as the one that this one was forked from. */
    farcall_place parents = {&freed, count, getppid()};
    farcall_place_clear(&parents);
    CHECK(freed == 1 && parents.object == NULL);
}

static void crashes(farcall_client *client)
{
    double sum = 0;
    farcall_error *error;
    CHECK_ERROR(farcall_call(client, &error, "crash"), error, FARCALL_ROUTINE_CRASHED, "crash");
    CHECK_OK(
        farcall_call(client, &error, "add", 1, 1.0, &sum), error); /* and it harmed nothing else */
    CHECK(sum == 2);
}

int main(void)
{
    farcall_client *client;
    farcall_server *server = check_begin(&client);
    counts(client);
    types(client);
    values(client);
    null_arrays(client);
    strides(client);
    names(client);
    addresses();
    servers();
    nulls();
    clears_places();
    crashes(client);
    return check_end(server, client);
}
